/* dtctl submit: job files to jobs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "cmds.h"
#include "dt/os/proc.h"
#include "follow.h"
#include "jobfile.h"
#include "render.h"
#include "say.h"

static const struct dt_opt opts[] = {
    {.name = "set", .type = DT_OPT_LIST, .arg = "PATH=VALUE", .unit = "",
     .help = "override a field, such as --set resources.nodes=4"},
    {.name = "env", .letter = 'e', .type = DT_OPT_LIST, .arg = "K[=V]", .unit = "",
     .help = "set a variable of the ranks; without =V it is taken from here"},
    {.name = "name", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .help = "name of the job"},
    {.name = "after", .type = DT_OPT_LIST, .arg = "JOB[:ok|any|failed]", .unit = "",
     .help = "start only after that job"},
    {.name = "count", .type = DT_OPT_INT, .arg = "N", .unit = "jobs", .initial = "1", .least = 1,
     .most = 10000, .help = "submit the same job so often"},
    {.name = "if-possible", .type = DT_OPT_FLAG,
     .help = "submit only what can start at once, else exit status 14"},
    {.name = "wait", .letter = 'w', .type = DT_OPT_FLAG,
     .help = "return when it has ended, with its exit status"},
    {.name = "follow", .letter = 'f', .type = DT_OPT_FLAG,
     .help = "as --wait, showing events and progress"},
    {.name = "dry-run", .type = DT_OPT_STR, .arg = "WHERE", .unit = "", .words = "client server",
     .help = "only check: the file here, or against the cluster as well"},
    {.name = "req-id", .type = DT_OPT_STR, .arg = "UUID", .unit = "",
     .help = "idempotency key; the same key submits once; else a new one"},
    {.name = "quiet", .letter = 'q', .type = DT_OPT_FLAG, .help = "nothing but the ids"},
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",
     .initial = "name", .help = "form of the output", .words = "name json yaml"},
    DT_API_ROWS,
};

struct submit {
    const struct dt_args *args;
    struct dt_api api;
    struct dt_jobfile *files; /* files_count, owned */
    size_t files_count;
    char **ids; /* ids_count, owned */
    size_t ids_count;
};

/* Problems of one file: as a report on stderr, or as JSON on stdout. */
static void problems_put(const struct submit *submit, const struct dt_jobfile *file)
{
    struct dt_buf buf = {0};
    struct dt_tree *tree;

    if (!file->problems.count)
        return;
    if (dt_output_is(submit->args, "json")) {
        tree = dt_problems_tree(&file->problems, file->path);
        dt_output_tree(submit->args, tree);
        dt_tree_free(tree);
        return;
    }
    dt_problems_report(&buf, &file->problems, file->path, dt_buf_str(&file->source),
                       file->source.size);
    while (buf.size && buf.data[buf.size - 1] == '\n')
        buf.data[--buf.size] = 0;
    dt_say("%s", dt_buf_str(&buf));
    dt_buf_release(&buf);
}

/* Read and check every file before anything is submitted. */
static enum dt_code files_read(struct submit *submit, struct dt_err *err)
{
    enum dt_code worst = DT_OK;

    submit->files_count = submit->args->operands_count;
    submit->files = dt_alloc(submit->files_count, sizeof(*submit->files));
    for (size_t i = 0; i < submit->files_count; i++) {
        struct dt_jobfile *file = &submit->files[i];
        enum dt_code code = dt_jobfile_read(file, submit->args->operands[i], submit->args, err);

        if (!dt_args_has(submit->args, "quiet") || code)
            problems_put(submit, file);
        if (code && !file->problems.count)
            return code;
        if (code)
            worst = dt_fail(err, DT_INVALID, "%s was not submitted", file->path);
    }
    return worst;
}

static void body_write(const struct submit *submit, const struct dt_jobfile *file,
                       struct dt_buf *body)
{
    const char *dry = dt_args_str(submit->args, "dry-run");
    int64_t count = dt_args_int(submit->args, "count", 1);
    char dir[4096];

    dt_buf_text(body, "{\"spec\":");
    dt_json_write_canonical(body, file->tree);
    dt_buf_text(body, ",\"source\":");
    dt_json_quote(body, dt_buf_str(&file->source), file->source.size);
    dt_buf_text(body, ",\"source_name\":");
    dt_json_quote(body, file->path, strlen(file->path));
    if (getcwd(dir, sizeof(dir))) {
        dt_buf_text(body, ",\"submit_dir\":");
        dt_json_quote(body, dir, strlen(dir));
    }
    if (count > 1)
        dt_buf_print(body, ",\"count\":%lld", (long long)count);
    if (dry)
        dt_buf_text(body, ",\"dry_run\":true");
    if (dt_args_has(submit->args, "if-possible"))
        dt_buf_text(body, ",\"if_possible\":true");
    dt_buf_byte(body, '}');
}

static void ids_take(struct submit *submit, const struct dt_tree *items)
{
    for (const struct dt_tree *item = items ? items->first : NULL; item; item = item->next) {
        const char *id = dt_tree_str(item, "id", NULL);

        if (!id)
            continue;
        submit->ids = dt_realloc(submit->ids, submit->ids_count + 1, sizeof(*submit->ids));
        submit->ids[submit->ids_count++] = dt_copy_text(id);
    }
}

/* Print what the controller answered: its body, or the bare ids. */
static enum dt_code answer_put(struct submit *submit, const struct dt_answer *answer,
                               struct dt_err *err)
{
    size_t before = submit->ids_count;
    struct dt_tree *tree = NULL;
    struct dt_buf out = {0};
    enum dt_code code = dt_api_tree(answer, &tree, err);

    if (code)
        return code;
    ids_take(submit, dt_tree_get(tree, "items"));
    if (!dt_output_is(submit->args, "name")) {
        dt_output_tree(submit->args, tree);
    } else {
        for (size_t i = before; i < submit->ids_count; i++)
            dt_buf_print(&out, "%s\n", submit->ids[i]);
        dt_put(&out);
    }
    dt_buf_release(&out);
    dt_tree_free(tree);
    return DT_OK;
}

static enum dt_code file_submit(struct submit *submit, struct dt_jobfile *file,
                                struct dt_err *err)
{
    struct dt_call call = {.method = "POST", .path = "/v1/jobs"};
    struct dt_answer answer = {0};
    struct dt_buf body = {0};
    char key[37];
    enum dt_code code;

    body_write(submit, file, &body);
    dt_random_uuid(key);
    call.body = dt_buf_str(&body);
    call.body_size = body.size;
    call.key = dt_args_str(submit->args, "req-id");
    if (!call.key)
        call.key = key;
    call.timeout_ms = 30000;
    code = dt_api_call(&submit->api, &call, &answer, err);
    if (!code)
        code = answer_put(submit, &answer, err);
    else if (submit->api.client.was_sent && code == DT_UNREACHABLE && call.key == key)
        dt_hint(err, "in doubt whether it arrived: submit again with --req-id %s, or use --retry",
                key);
    else if (dt_jobfile_refused(file, submit->api.refusal))
        problems_put(submit, file);
    dt_answer_release(&answer);
    dt_buf_release(&body);
    return code;
}

/* On a terminal: what to do next. */
static void next_say(const struct submit *submit)
{
    const char *id = submit->ids_count ? submit->ids[0] : NULL;
    bool is_quiet = dt_args_has(submit->args, "quiet") || dt_args_has(submit->args, "wait") ||
                    dt_args_has(submit->args, "follow");

    if (!id || is_quiet || !dt_stdout_is_terminal() || !dt_stderr_is_terminal())
        return;
    if (submit->ids_count == 1)
        dt_say("submitted %s; it is stored and starts when its nodes are free", id);
    else
        dt_say("submitted %zu jobs, %s to %s", submit->ids_count, id,
               submit->ids[submit->ids_count - 1]);
    dt_say("  follow  dtctl logs -f %s\n  why     dtctl why %s\n  stop    dtctl cancel %s", id, id,
           id);
}

static enum dt_code submit_all(struct submit *submit, struct dt_err *err)
{
    const char *dry = dt_args_str(submit->args, "dry-run");
    enum dt_code code;

    if (dt_args_has(submit->args, "if-possible") &&
        (dry || dt_args_int(submit->args, "count", 1) > 1))
        return dt_fail(err, DT_USAGE, "--if-possible does not go with %s",
                       dry ? "--dry-run: nothing would start" : "--count: it asks for one job");
    if ((code = files_read(submit, err)))
        return code;
    if (dry && strcmp(dry, "client") == 0) {
        if (!dt_args_has(submit->args, "quiet"))
            dt_say("%zu file%s checked, nothing wrong", submit->files_count,
                   submit->files_count == 1 ? "" : "s");
        return DT_OK;
    }
    if (submit->files_count > 1 && dt_args_str(submit->args, "req-id"))
        return dt_fail(err, DT_USAGE, "--req-id takes one file");
    if ((code = dt_api_open(&submit->api, submit->args, err)))
        return code;
    for (size_t i = 0; i < submit->files_count && !code; i++)
        code = file_submit(submit, &submit->files[i], err);
    if (!code && dry && !dt_args_has(submit->args, "quiet"))
        dt_say("the cluster would take %s", submit->files_count == 1 ? "it" : "them");
    return code;
}

static void submit_release(struct submit *submit)
{
    for (size_t i = 0; i < submit->files_count; i++)
        dt_jobfile_release(&submit->files[i]);
    dt_free(submit->files);
    for (size_t i = 0; i < submit->ids_count; i++)
        dt_free(submit->ids[i]);
    dt_free(submit->ids);
    dt_api_release(&submit->api);
}

static int submit_run(const struct dt_args *args)
{
    struct submit submit = {.args = args, .api.client.fd = -1};
    struct dt_err err = {0};
    enum dt_code code = submit_all(&submit, &err);
    bool follows = dt_args_has(args, "follow");
    int exit = 0;

    if (code) {
        exit = dt_say_error(&err);
    } else if ((follows || dt_args_has(args, "wait")) && submit.ids_count) {
        struct dt_follow follow = {.api = &submit.api,
                                   .ids = (const char *const *)submit.ids,
                                   .ids_count = submit.ids_count,
                                   .shows_events = follows,
                                   .shows_progress = follows || dt_stderr_is_terminal()};

        exit = dt_follow_run(&follow);
    } else {
        next_say(&submit);
    }
    submit_release(&submit);
    return exit;
}

const struct dt_cmd dt_cli_submit = {
    .name = "submit",
    .operands = "FILE...",
    .operands_least = 1,
    .operands_most = -1,
    .summary = "Submit jobs; prints their ids, which are on disk by then.",
    .detail = "Every file is checked here first; nothing is submitted when one is wrong (exit "
              "status 3). FILE - reads standard input. With --wait or --follow the exit status is "
              "the job's: 0 succeeded, 10 failed, 11 cancelled, 12 a limit was exceeded, 13 lost; "
              "Ctrl-C leaves the job running.",
    .examples = "  dtctl submit job.yaml\n"
                "  dtctl submit --set resources.nodes=4 --follow job.yaml\n"
                "  dtctl submit --dry-run=server a.yaml b.yaml\n"
                "  id=$(dtctl submit --env DATA_ROOT=/data job.yaml)\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_JOBS,
    .run = submit_run,
};
