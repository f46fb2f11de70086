/* dtctl why, describe: what a job waits for or died of, as a person reads it. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "cmds.h"
#include "follow.h"
#include "progress.h"
#include "render.h"
#include "say.h"

#define EVENTS_SHOWN 8

/* Only the forms a page can have. */
#define PAGE_OUTPUT                                                                           \
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",           \
     .initial = "text", .help = "form of the output", .words = "text json yaml"}

static const struct dt_opt page_opts[] = {
    PAGE_OUTPUT,
    DT_API_ROWS,
};

/* "label      text" with the text made harmless; nothing when it is absent or empty. */
static void row(struct dt_buf *page, const char *label, const char *text)
{
    if (!text || !*text || strcmp(text, "-") == 0)
        return;
    dt_buf_print(page, "%-13s ", label);
    dt_add_safe(page, text);
    dt_buf_byte(page, '\n');
}

/* " (drained 4, quarantined 2)" */
static void lost_add(struct dt_buf *page, const struct dt_tree *lost)
{
    if (!lost || !lost->count)
        return;
    dt_buf_text(page, "  (");
    for (const struct dt_tree *item = lost->first; item; item = item->next) {
        dt_buf_text(page, item == lost->first ? "" : ", ");
        dt_add_safe(page, item->key ? item->key : "");
        dt_buf_print(page, " %s", dt_cell_text(item));
    }
    dt_buf_byte(page, ')');
}

static void funnel_add(struct dt_buf *page, const struct dt_tree *funnel)
{
    if (!funnel || !funnel->count)
        return;
    dt_buf_text(page, "nodes, step by step:\n");
    for (const struct dt_tree *step = funnel->first; step; step = step->next) {
        const struct dt_tree *needed = dt_tree_get(step, "needed");

        dt_buf_print(page, "  %6s  ", dt_cell_text(dt_tree_get(step, "nodes")));
        dt_add_safe(page, dt_tree_str(step, "step", "?"));
        if (needed)
            dt_buf_print(page, "  (%s needed)", dt_cell_text(needed));
        lost_add(page, dt_tree_get(step, "lost"));
        dt_buf_byte(page, '\n');
    }
}

static void blockers_add(struct dt_buf *page, const struct dt_tree *why)
{
    const struct dt_tree *blockers = dt_tree_get(why, "blockers");
    const char *primary = dt_tree_str(why, "primary", "");

    if (!blockers || !blockers->count) {
        row(page, "because", primary);
        return;
    }
    for (const struct dt_tree *item = blockers->first; item; item = item->next) {
        const char *code = dt_tree_str(item, "code", "?");

        dt_buf_print(page, "%s ", strcmp(code, primary) == 0 ? "*" : "-");
        dt_add_safe(page, code);
        dt_buf_text(page, ": ");
        dt_add_safe(page, dt_tree_str(item, "text", ""));
        dt_buf_byte(page, '\n');
    }
}

static void remedies_add(struct dt_buf *page, const struct dt_tree *list)
{
    if (!list || !list->count)
        return;
    dt_buf_text(page, "would start now with:\n");
    for (const struct dt_tree *item = list->first; item; item = item->next) {
        const struct dt_tree *set = dt_tree_get(item, "set");

        dt_buf_text(page, " ");
        for (const struct dt_tree *one = set ? set->first : NULL; one; one = one->next) {
            dt_buf_text(page, " --set ");
            dt_add_safe(page, dt_cell_text(one));
        }
        dt_buf_byte(page, '\n');
    }
}

static void ahead_add(struct dt_buf *page, const struct dt_tree *why)
{
    const struct dt_tree *ahead = dt_tree_get(why, "ahead"), *eta = dt_tree_get(why, "eta");

    if (dt_tree_int(ahead, "jobs", 0) > 0) {
        dt_buf_print(page, "%-13s %lld job%s", "ahead", (long long)dt_tree_int(ahead, "jobs", 0),
                     dt_tree_int(ahead, "jobs", 0) == 1 ? "" : "s");
        if (dt_tree_int(ahead, "gpus", 0) > 0)
            dt_buf_print(page, " with %lld GPUs", (long long)dt_tree_int(ahead, "gpus", 0));
        dt_buf_byte(page, '\n');
    }
    if (dt_tree_str(eta, "earliest", NULL)) {
        dt_buf_print(page, "%-13s %s", "earliest", dt_tree_str(eta, "earliest", ""));
        dt_buf_print(page, "  (by %s, confidence %s)\n", dt_tree_str(eta, "basis", "?"),
                     dt_tree_str(eta, "confidence", "?"));
    }
}

/* Excerpts are several lines: each is indented and made harmless. */
static void excerpt_add(struct dt_buf *page, const char *text)
{
    if (!*text)
        return;
    dt_buf_text(page, "last lines of that rank:\n");
    while (*text) {
        size_t size = strcspn(text, "\n");
        struct dt_buf line = {0};

        dt_buf_add(&line, text, size);
        dt_buf_text(page, "  | ");
        dt_add_safe(page, dt_buf_str(&line));
        dt_buf_byte(page, '\n');
        dt_buf_release(&line);
        text += size + (text[size] == '\n');
    }
}

static void why_add(struct dt_buf *page, const struct dt_tree *why, const struct dt_tree *job)
{
    const char *state = dt_tree_str(why, "state", dt_tree_str(job, "state", ""));

    if (dt_tree_get(why, "blockers") || *dt_tree_str(why, "primary", ""))
        blockers_add(page, why);
    funnel_add(page, dt_tree_get(why, "funnel"));
    ahead_add(page, why);
    remedies_add(page, dt_tree_get(why, "would_start_now_with"));
    if (strcmp(state, "pending") == 0 && dt_tree_str(why, "last_failure", NULL))
        row(page, "last failure", dt_tree_str(why, "last_failure", ""));
    if (strcmp(state, "pending") == 0)
        row(page, "evaluated", dt_tree_str(why, "evaluated_at", ""));
    excerpt_add(page, dt_tree_str(dt_tree_get(job, "result"), "excerpt", ""));
}

static void title_add(struct dt_buf *page, const struct dt_tree *job)
{
    char age[32];

    dt_buf_print(page, "%s (", dt_tree_str(job, "id", "?"));
    dt_add_safe(page, dt_tree_str(job, "name", "?"));
    dt_buf_text(page, ") ");
    dt_job_sentence(page, job);
    if (dt_tree_str(job, "since", NULL))
        dt_buf_print(page, ", since %s", dt_age_text(dt_tree_str(job, "since", NULL), age, NULL));
    dt_buf_byte(page, '\n');
}

static enum dt_code job_get(struct dt_api *api, const char *id, const char *tail,
                            struct dt_tree **tree, struct dt_err *err)
{
    struct dt_buf path = {0};
    enum dt_code code;

    dt_api_path(&path, "/v1/jobs/", id, tail);
    code = dt_api_get(api, dt_buf_str(&path), tree, err);
    dt_buf_release(&path);
    return code;
}

static int why_run(const struct dt_args *args)
{
    struct dt_tree *why = NULL, *job = NULL;
    struct dt_buf page = {0};
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code;

    if ((code = dt_api_open(&api, args, &err)) ||
        (code = job_get(&api, args->operands[0], "/why", &why, &err)))
        goto out;
    if (!dt_output_is(args, "text")) {
        dt_output_tree(args, why);
        goto out;
    }
    code = job_get(&api, dt_tree_str(why, "job", args->operands[0]), "", &job, &err);
    if (code)
        goto out;
    title_add(&page, job);
    why_add(&page, why, job);
    dt_put(&page);
out:
    dt_tree_free(why);
    dt_tree_free(job);
    dt_buf_release(&page);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_why = {
    .name = "why",
    .operands = "JOB",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "Why a job waits, or what it died of.",
    .detail = "For a waiting job: what blocks it (the first reason is marked *), how many nodes "
              "are left after each condition, and what would start it now. For a failed one: the "
              "rank that failed first, its node, the reason and its last lines.",
    .examples = "  dtctl why j-000042\n",
    .opts = page_opts,
    .opts_count = DT_COUNT(page_opts),
    .group = DT_GROUP_JOBS,
    .run = why_run,
};

static void members_add(struct dt_buf *page, const struct dt_tree *members)
{
    for (const struct dt_tree *item = members ? members->first : NULL; item; item = item->next) {
        int64_t first = dt_tree_int(item, "rank_first", 0), count = dt_tree_int(item, "ranks", 0);

        dt_buf_print(page, "%-13s ", item == members->first ? "members" : "");
        dt_add_safe(page, dt_tree_str(item, "node", "?"));
        if (count == 1)
            dt_buf_print(page, "  rank %lld", (long long)first);
        else
            dt_buf_print(page, "  ranks %lld-%lld", (long long)first,
                         (long long)(first + count - 1));
        dt_buf_byte(page, '\n');
    }
}

static void times_add(struct dt_buf *page, const struct dt_tree *job)
{
    static const char *const names[] = {"submitted", "started", "finished"};

    for (size_t i = 0; i < DT_COUNT(names); i++)
        row(page, names[i], dt_tree_str(job, names[i], NULL));
}

static void counts_add(struct dt_buf *page, const struct dt_tree *job)
{
    const struct dt_tree *restarts = dt_tree_get(job, "restarts");
    const struct dt_tree *checkpoint = dt_tree_get(job, "checkpoint");
    struct dt_buf line = {0};

    dt_buf_print(&line, "%s nodes, %s ranks, launch %s", dt_cell_text(dt_tree_get(job, "nodes")),
                 dt_cell_text(dt_tree_get(job, "ranks")), dt_tree_str(job, "launch", "-"));
    row(page, "size", dt_buf_str(&line));
    row(page, "generation", dt_cell_text(dt_tree_get(job, "gen")));
    dt_buf_clear(&line);
    if (restarts) {
        dt_buf_print(&line, "%s, %s of %s counted", dt_cell_text(dt_tree_get(restarts, "total")),
                     dt_cell_text(dt_tree_get(restarts, "counted")),
                     dt_cell_text(dt_tree_get(restarts, "max")));
        row(page, "restarts", dt_buf_str(&line));
    }
    dt_buf_clear(&line);
    dt_progress_line(&line, dt_tree_get(job, "progress"), 0, 0);
    row(page, "progress", dt_buf_str(&line));
    dt_buf_clear(&line);
    if (checkpoint && checkpoint->kind == DT_TREE_MAP) {
        dt_buf_print(&line, "step %s, %s", dt_cell_text(dt_tree_get(checkpoint, "step")),
                     dt_tree_str(checkpoint, "path", "-"));
        row(page, "checkpoint", dt_buf_str(&line));
    }
    dt_buf_release(&line);
}

static void page_add(struct dt_buf *page, const struct dt_tree *job)
{
    const struct dt_tree *dirs = dt_tree_get(job, "dirs");
    const struct dt_tree *labels = dt_tree_get(job, "labels");

    title_add(page, job);
    row(page, "user", dt_tree_str(job, "user", NULL));
    row(page, "project", dt_tree_str(job, "project", NULL));
    row(page, "queue", dt_tree_str(job, "queue", NULL));
    row(page, "priority", dt_cell_text(dt_tree_get(job, "priority")));
    for (const struct dt_tree *item = labels ? labels->first : NULL; item; item = item->next) {
        struct dt_buf text = {0};

        dt_buf_print(&text, "%s=%s", item->key ? item->key : "", dt_cell_text(item));
        row(page, item == labels->first ? "labels" : "", dt_buf_str(&text));
        dt_buf_release(&text);
    }
    counts_add(page, job);
    times_add(page, job);
    members_add(page, dt_tree_get(job, "members"));
    for (const struct dt_tree *item = dirs ? dirs->first : NULL; item; item = item->next)
        row(page, item->key ? item->key : "", dt_cell_text(item));
}

/* The newest events; a job may have many: the last page is found by its seq. */
static void events_add(struct dt_buf *page, const struct dt_tree *events)
{
    const struct dt_tree *items = dt_tree_get(events, "items");
    size_t skip = items && items->count > EVENTS_SHOWN ? items->count - EVENTS_SHOWN : 0;

    if (!items || !items->count)
        return;
    dt_buf_text(page, "events:\n");
    for (const struct dt_tree *item = items->first; item; item = item->next) {
        if (skip) {
            skip--;
            continue;
        }
        dt_buf_text(page, "  ");
        dt_event_line(page, item);
        dt_buf_byte(page, '\n');
    }
}

static int describe_run(const struct dt_args *args)
{
    struct dt_tree *why = NULL, *job = NULL, *events = NULL;
    struct dt_buf page = {0};
    struct dt_err err = {0};
    struct dt_api api;
    const char *id;
    enum dt_code code;

    if ((code = dt_api_open(&api, args, &err)) ||
        (code = job_get(&api, args->operands[0], "", &job, &err)))
        goto out;
    if (!dt_output_is(args, "text")) {
        dt_output_tree(args, job);
        goto out;
    }
    id = dt_tree_str(job, "id", args->operands[0]);
    if ((code = job_get(&api, id, "/why", &why, &err)) ||
        (code = job_get(&api, id, "/events?limit=1000", &events, &err)))
        goto out;
    page_add(&page, job);
    why_add(&page, why, job);
    events_add(&page, events);
    dt_put(&page);
out:
    dt_tree_free(why);
    dt_tree_free(job);
    dt_tree_free(events);
    dt_buf_release(&page);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_describe = {
    .name = "describe",
    .operands = "JOB",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "One page about a job: what, where, how far, why, the newest events.",
    .examples = "  dtctl describe j-000042\n",
    .opts = page_opts,
    .opts_count = DT_COUNT(page_opts),
    .group = DT_GROUP_JOBS,
    .run = describe_run,
};
