/* dtctl ls, show, cancel: jobs as the API gives them. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "cmds.h"
#include "follow.h"
#include "render.h"
#include "say.h"
#include "slice.h"

#define PAGE_MOST 1000
#define LIVE "pending,held,starting,running,recovering,stopping,preempting"

static const struct dt_column columns[] = {
    {.name = "ID"},
    {.name = "NAME", .is_cut = true},
    {.name = "USER", .is_wide = true},
    {.name = "QUEUE", .is_wide = true},
    {.name = "STATE"},
    {.name = "REASON", .is_cut = true},
    {.name = "NODES", .is_right = true},
    {.name = "RANKS", .is_right = true},
    {.name = "GEN", .is_right = true},
    {.name = "STEP", .is_right = true},
    {.name = "LOSS", .is_right = true},
    {.name = "RESTARTS", .is_right = true, .is_wide = true},
    {.name = "CHECKPOINT", .is_right = true, .is_wide = true},
    {.name = "AGE", .is_right = true},
    {.name = "OUTPUT", .is_wide = true},
};

static const struct dt_opt ls_opts[] = {
    {.name = "all", .letter = 'a', .type = DT_OPT_FLAG, .help = "finished jobs too"},
    {.name = "mine", .type = DT_OPT_FLAG, .help = "only my jobs"},
    {.name = "state", .type = DT_OPT_STR, .arg = "STATE,...", .unit = "",
     .help = "only jobs in these states"},
    {.name = "queue", .type = DT_OPT_STR, .arg = "NAME", .unit = "",
     .help = "only jobs of this queue"},
    {.name = "name", .type = DT_OPT_STR, .arg = "NAME", .unit = "",
     .help = "only jobs of this name"},
    DT_LIST_ROWS,
    DT_OPT_ROW_LIMIT,
    DT_API_ROWS,
};

/* step/steps; sorted by step. */
static void step_cell(struct dt_table *table, struct dt_slice progress)
{
    char step[24], steps[24], text[64] = "-";
    int64_t key = -1;

    dt_slice_text(progress, "step", step, sizeof(step));
    dt_slice_text(progress, "steps", steps, sizeof(steps));
    if (dt_parse_int(step, 0, INT64_MAX, &key))
        snprintf(text, sizeof(text), "%s%s%s", step, atoll(steps) > 0 ? "/" : "",
                 atoll(steps) > 0 ? steps : "");
    dt_table_keyed(table, text, key);
}

static void loss_cell(struct dt_table *table, struct dt_slice progress)
{
    char loss[48], text[48];
    double value;

    if (!*dt_slice_text(progress, "loss", loss, sizeof(loss))) {
        dt_table_keyed(table, "-", INT64_MAX);
        return;
    }
    value = strtod(loss, NULL);
    snprintf(text, sizeof(text), "%.4f", value);
    dt_table_keyed(table, text, value < 1e12 && value > -1e12 ? (int64_t)(value * 1e6) : 0);
}

/* A job as the API shows it becomes the next row; straight from its text, as a tree for each of
 * thousands of jobs would take most of the time. */
static void job_row(struct dt_table *table, struct dt_slice job)
{
    static const char *const plain[] = {"id", "name", "user", "queue"}, *const numbers[] = {
        "nodes", "ranks", "gen"};
    struct dt_slice progress = {"", 0}, restarts = {"", 0}, checkpoint = {"", 0}, dirs = {"", 0};
    char text[640], age[32];
    int64_t ms;

    dt_slice_member(job, "progress", &progress);
    dt_slice_member(job, "restarts", &restarts);
    dt_slice_member(job, "checkpoint", &checkpoint);
    dt_slice_member(job, "dirs", &dirs);
    for (size_t i = 0; i < DT_COUNT(plain); i++)
        dt_table_cell(table, dt_slice_text(job, plain[i], text, sizeof(text)));
    dt_slice_text(job, "state", text, sizeof(text));
    dt_table_cell(table, text)->colour = dt_state_colour(text);
    dt_table_cell(table, dt_slice_text(job, "reason", text, sizeof(text)));
    for (size_t i = 0; i < DT_COUNT(numbers); i++)
        dt_table_cell(table, dt_slice_text(job, numbers[i], text, sizeof(text)));
    step_cell(table, progress);
    loss_cell(table, progress);
    dt_table_cell(table, dt_slice_text(restarts, "total", text, sizeof(text)));
    dt_table_cell(table, dt_slice_text(checkpoint, "step", text, sizeof(text)));
    dt_slice_text(job, "submitted", text, sizeof(text));
    dt_age_text(*text ? text : NULL, age, &ms);
    dt_table_keyed(table, age, -ms);
    dt_table_cell(table, dt_slice_text(dirs, "output", text, sizeof(text)));
}

static bool is_tree_output(const struct dt_args *args)
{
    return dt_output_is(args, "json") || dt_output_is(args, "yaml");
}

static void ls_path(const struct dt_args *args, const char *cursor, int64_t page,
                    struct dt_buf *path)
{
    static const char *const filters[] = {"queue", "name"};
    char number[24];

    dt_buf_text(path, "/v1/jobs");
    if (dt_args_str(args, "state"))
        dt_api_query(path, "state", dt_args_str(args, "state"));
    else if (!dt_args_has(args, "all"))
        dt_api_query(path, "state", LIVE);
    if (dt_args_has(args, "mine"))
        dt_api_query(path, "user", "me");
    for (size_t i = 0; i < DT_COUNT(filters); i++)
        if (dt_args_str(args, filters[i]))
            dt_api_query(path, filters[i], dt_args_str(args, filters[i]));
    snprintf(number, sizeof(number), "%lld", (long long)page);
    dt_api_query(path, "limit", number);
    if (!is_tree_output(args))
        dt_api_query(path, "view", "row");
    if (cursor)
        dt_api_query(path, "cursor", cursor);
}

/* What ls gathers from the pages of the answer. */
struct ls {
    const struct dt_args *args;
    struct dt_table table;
    struct dt_tree *list; /* -o json of several pages, -o yaml: {items, next}; owned */
    int64_t left;         /* of --limit */
    size_t count;
    char next[128];       /* cursor of the next page, or "" */
};

/* A row of the table, or a member of the tree that -o json prints. */
static enum dt_code item_take(struct ls *ls, struct dt_slice item, struct dt_err *err)
{
    static const struct dt_json_limits limits = {(size_t)1 << 20, 40, 100000};
    struct dt_tree *job = NULL;

    ls->count++;
    ls->left--;
    if (!is_tree_output(ls->args)) {
        job_row(&ls->table, item);
        return DT_OK;
    }
    if (dt_json_parse(item.at, item.size, &limits, &job, err)) {
        dt_prefix(err, "the controller's list of jobs");
        return err->code = DT_CORRUPT;
    }
    dt_tree_add(dt_tree_get(ls->list, "items"), NULL, job);
    return DT_OK;
}

static enum dt_code page_take(struct ls *ls, const struct dt_answer *answer, struct dt_err *err)
{
    struct dt_slice body = {dt_buf_str(&answer->body), answer->body.size}, items, item, next;
    enum dt_code code = DT_OK;
    size_t state = 0;

    ls->next[0] = 0;
    if (dt_slice_member(body, "next", &next) && next.size > 2 && next.at[0] == '"' &&
        next.size < sizeof(ls->next)) {
        memcpy(ls->next, next.at + 1, next.size - 2);
        ls->next[next.size - 2] = 0;
    }
    if (!dt_slice_member(body, "items", &items) || items.at[0] != '[')
        return dt_fail(err, DT_CORRUPT, "the controller's list of jobs has no items");
    while (!code && dt_slice_next(items, &state, &item))
        code = item_take(ls, item, err);
    return code;
}

/* All pages up to --limit. */
static enum dt_code ls_fetch(struct dt_api *api, struct ls *ls, struct dt_err *err)
{
    enum dt_code code = DT_OK;

    do {
        struct dt_call call = {.method = "GET"};
        struct dt_answer answer = {0};
        struct dt_buf path = {0};
        int64_t before = ls->left;

        ls_path(ls->args, ls->next[0] ? ls->next : NULL,
                ls->left < PAGE_MOST ? ls->left : PAGE_MOST, &path);
        call.path = dt_buf_str(&path);
        code = dt_api_call(api, &call, &answer, err);
        if (!code)
            code = page_take(ls, &answer, err);
        dt_answer_release(&answer);
        dt_buf_release(&path);
        if (ls->left == before)
            break; /* an empty page ends the list, whatever its cursor */
    } while (!code && ls->left > 0 && ls->next[0]);
    return code;
}

static void ls_notes(const struct ls *ls)
{
    if (ls->next[0])
        dt_say("only the first %zu are shown; more: --limit N", ls->count);
    else if (!ls->count && !is_tree_output(ls->args))
        dt_say(dt_args_has(ls->args, "all") || dt_args_str(ls->args, "state")
                   ? "no jobs"
                   : "no jobs are waiting or running; finished ones: dtctl ls --all");
}

static enum dt_code ls_print(struct ls *ls, struct dt_err *err)
{
    enum dt_code code = DT_OK;

    if (is_tree_output(ls->args)) {
        dt_tree_put_str(ls->list, "next", ls->next[0] ? ls->next : NULL);
        dt_output_tree(ls->args, ls->list);
    } else {
        code = dt_table_print(&ls->table, ls->args, err);
    }
    if (!code)
        ls_notes(ls);
    return code;
}

static int ls_run(const struct dt_args *args)
{
    struct ls ls = {.args = args,
                    .table = {.columns = columns, .columns_count = DT_COUNT(columns)},
                    .list = dt_tree_make(DT_TREE_MAP),
                    .left = dt_args_int(args, "limit", 100)};
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code;

    dt_tree_put_new(ls.list, "items", DT_TREE_LIST);
    if (!(code = dt_api_open(&api, args, &err)) && !(code = ls_fetch(&api, &ls, &err)))
        code = ls_print(&ls, &err);
    dt_table_release(&ls.table);
    dt_tree_free(ls.list);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_ls = {
    .name = "ls",
    .operands = "",
    .summary = "List jobs that wait or run.",
    .examples = "  dtctl ls\n  dtctl ls --all --sort -age --limit 20\n"
                "  dtctl ls --state failed -o json\n",
    .opts = ls_opts,
    .opts_count = DT_COUNT(ls_opts),
    .group = DT_GROUP_JOBS,
    .run = ls_run,
};

static const struct dt_opt show_opts[] = {
    DT_LIST_ROWS,
    {.name = "source", .type = DT_OPT_FLAG, .help = "print the job file as it was submitted"},
    DT_API_ROWS,
};

/* The job file: as written (--source), or resolved with every default (-o yaml). */
static enum dt_code show_spec(struct dt_api *api, const struct dt_args *args, const char *id,
                              struct dt_err *err)
{
    bool is_source = dt_args_has(args, "source");
    struct dt_tree *spec = NULL;
    struct dt_buf path = {0};
    const char *source;
    enum dt_code code;

    dt_api_path(&path, "/v1/jobs/", id, is_source ? "/spec?source=1" : "/spec");
    code = dt_api_get(api, dt_buf_str(&path), &spec, err);
    dt_buf_release(&path);
    if (code)
        return code;
    source = dt_tree_str(spec, "source", NULL);
    if (!is_source && dt_tree_get(spec, "resolved"))
        dt_output_tree(args, dt_tree_get(spec, "resolved"));
    else if (is_source && source)
        dt_put_safe(source, strlen(source));
    else
        code = dt_fail(err, DT_NOT_FOUND, "%s was submitted without its file's text", id);
    dt_tree_free(spec);
    return code;
}

static void job_row_of_tree(struct dt_table *table, const struct dt_tree *job)
{
    struct dt_buf text = {0};

    dt_json_write(&text, job);
    job_row(table, (struct dt_slice){dt_buf_str(&text), text.size});
    dt_buf_release(&text);
}

static enum dt_code show_one(struct dt_api *api, const struct dt_args *args, const char *id,
                             struct dt_table *table, struct dt_err *err)
{
    struct dt_tree *job = NULL;
    struct dt_buf path = {0};
    enum dt_code code;

    if (dt_output_is(args, "yaml") || dt_args_has(args, "source"))
        return show_spec(api, args, id, err);
    dt_api_path(&path, "/v1/jobs/", id, "");
    code = dt_api_get(api, dt_buf_str(&path), &job, err);
    dt_buf_release(&path);
    if (code)
        return code;
    if (dt_output_is(args, "json"))
        dt_output_tree(args, job);
    else
        job_row_of_tree(table, job);
    dt_tree_free(job);
    return DT_OK;
}

static int show_run(const struct dt_args *args)
{
    struct dt_table table = {.columns = columns, .columns_count = DT_COUNT(columns)};
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code;
    int exit = 0;

    if (dt_api_open(&api, args, &err)) {
        exit = dt_say_error(&err);
        goto out;
    }
    for (size_t i = 0; i < args->operands_count; i++) {
        code = show_one(&api, args, args->operands[i], &table, &err);
        if (code) {
            int status = dt_say_error(&err);

            exit = exit ? exit : status;
            if (code == DT_UNREACHABLE)
                break;
        }
    }
    if (table.cells_count && dt_table_print(&table, args, &err))
        exit = dt_say_error(&err);
out:
    dt_table_release(&table);
    dt_api_release(&api);
    return exit;
}

const struct dt_cmd dt_cli_show = {
    .name = "show",
    .operands = "JOB...",
    .operands_least = 1,
    .operands_most = -1,
    .summary = "Show jobs: a line each, the object (-o json), the resolved job file (-o yaml).",
    .detail = "A job is named by its id, a unique prefix of it, or its name (your newest of that "
              "name).",
    .examples = "  dtctl show j-000042 -o json\n  dtctl show train -o yaml\n",
    .opts = show_opts,
    .opts_count = DT_COUNT(show_opts),
    .group = DT_GROUP_JOBS,
    .run = show_run,
};

static const struct dt_opt cancel_opts[] = {
    {.name = "grace", .type = DT_OPT_DURATION, .arg = "TIME", .unit = "",
     .help = "time between SIGTERM and SIGKILL; else the job's limits.grace"},
    {.name = "yes", .letter = 'y', .type = DT_OPT_FLAG, .help = "do not ask"},
    {.name = "wait", .type = DT_OPT_FLAG, .help = "return when nothing of it is left"},
    DT_API_ROWS,
};

/* Asks only when somebody can answer. */
static bool is_agreed(const struct dt_args *args)
{
    char answer[16] = "";

    if (dt_args_has(args, "yes") || !isatty(STDIN_FILENO) || !dt_stderr_is_terminal())
        return true;
    fprintf(stderr, "cancel %zu job%s? [y/N] ", args->operands_count,
            args->operands_count == 1 ? "" : "s");
    fflush(stderr);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static enum dt_code cancel_one(struct dt_api *api, const struct dt_args *args, const char *id,
                               struct dt_err *err)
{
    struct dt_tree *body = dt_tree_make(DT_TREE_MAP), *job = NULL;
    struct dt_buf path = {0}, line = {0};
    int64_t grace = dt_args_ms(args, "grace", -1);
    enum dt_code code;

    if (grace >= 0)
        dt_tree_put_int(body, "grace_ms", grace);
    dt_api_path(&path, "/v1/jobs/", id, "/cancel");
    code = dt_api_post(api, dt_buf_str(&path), body, &job, err);
    if (!code) {
        dt_buf_print(&line, "%s ", dt_tree_str(job, "id", id));
        dt_add_safe(&line, dt_tree_str(job, "state", "stopping"));
        dt_buf_byte(&line, '\n');
        dt_put(&line);
    }
    dt_tree_free(body);
    dt_tree_free(job);
    dt_buf_release(&path);
    dt_buf_release(&line);
    return code;
}

/* With --wait: until each is over; being cancelled is what was asked for. */
static int cancel_wait(struct dt_api *api, const struct dt_args *args)
{
    struct dt_follow follow = {.api = api, .ids = args->operands,
                               .ids_count = args->operands_count};
    int exit = dt_follow_run(&follow);

    return exit == 11 || exit == 10 || exit == 12 || exit == 13 ? 0 : exit;
}

static int cancel_run(const struct dt_args *args)
{
    struct dt_err err = {0};
    struct dt_api api;
    int exit = 0;

    if (!is_agreed(args)) {
        dt_say("nothing was cancelled");
        return 130;
    }
    if (dt_api_open(&api, args, &err)) {
        exit = dt_say_error(&err);
        goto out;
    }
    for (size_t i = 0; i < args->operands_count; i++) {
        enum dt_code code = cancel_one(&api, args, args->operands[i], &err);

        if (code) {
            int status = dt_say_error(&err);

            exit = exit ? exit : status;
            if (code == DT_UNREACHABLE)
                break;
        }
    }
    if (!exit && dt_args_has(args, "wait"))
        exit = cancel_wait(&api, args);
out:
    dt_api_release(&api);
    return exit;
}

const struct dt_cmd dt_cli_cancel = {
    .name = "cancel",
    .operands = "JOB...",
    .operands_least = 1,
    .operands_most = -1,
    .summary = "Stop jobs: SIGTERM, then SIGKILL after the grace time.",
    .detail = "Reports each job. A name that fits two live jobs is refused. On a terminal it asks "
              "first. A job is cancelled when nothing of it is left on any node; until then it is "
              "stopping.",
    .examples = "  dtctl cancel j-000042\n  dtctl cancel --grace 0s --yes j-000042 j-000043\n",
    .opts = cancel_opts,
    .opts_count = DT_COUNT(cancel_opts),
    .group = DT_GROUP_JOBS,
    .run = cancel_run,
};
