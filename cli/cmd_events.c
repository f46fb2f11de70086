/* dtctl events: what happened to a job, with reasons. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "cmds.h"
#include "follow.h"
#include "render.h"
#include "say.h"
#include "watch.h"

#define PAGE_MOST 1000

static const struct dt_column columns[] = {
    {.name = "TIME"}, {.name = "SEQ", .is_right = true, .is_wide = true},
    {.name = "GEN", .is_right = true}, {.name = "WHAT"}, {.name = "NODE", .is_wide = true},
    {.name = "RANK", .is_right = true, .is_wide = true}, {.name = "STATE", .is_wide = true},
    {.name = "TEXT", .is_cut = true},
};

static const struct dt_opt opts[] = {
    {.name = "follow", .letter = 'f', .type = DT_OPT_FLAG,
     .help = "go on with new events as they come, until Ctrl-C"},
    DT_LIST_ROWS,
    {.name = "limit", .letter = 'n', .type = DT_OPT_INT, .arg = "N", .unit = "",
     .initial = "1000", .least = 1, .most = 100000, .help = "show at most so many"},
    DT_API_ROWS,
};

static void event_row(struct dt_table *table, const struct dt_tree *event)
{
    static const char *const names[] = {"at", "seq", "gen", "what", "node", "rank", "state",
                                        "text"};

    for (size_t i = 0; i < DT_COUNT(names); i++)
        dt_table_cell(table, dt_cell_text(dt_tree_get(event, names[i])));
}

/* Pages of at most PAGE_MOST until --limit; items gathers them. *next is the cursor, 0 = no
 * more. */
static enum dt_code events_fetch(struct dt_api *api, const struct dt_args *args,
                                 struct dt_tree *items, uint64_t *next, struct dt_err *err)
{
    const int64_t limit = dt_args_int(args, "limit", PAGE_MOST);
    enum dt_code code = DT_OK;

    *next = 0;
    do {
        int64_t left = limit - (int64_t)items->count;
        struct dt_tree *page = NULL;
        struct dt_buf path = {0};
        char number[24];

        dt_api_path(&path, "/v1/jobs/", args->operands[0], "/events");
        snprintf(number, sizeof(number), "%llu", (unsigned long long)*next);
        if (*next)
            dt_api_query(&path, "from", number);
        snprintf(number, sizeof(number), "%lld",
                 (long long)(left < PAGE_MOST ? left : PAGE_MOST));
        dt_api_query(&path, "limit", number);
        code = dt_api_get(api, dt_buf_str(&path), &page, err);
        dt_buf_release(&path);
        if (code)
            return code;
        for (const struct dt_tree *item = dt_tree_get(page, "items")
                                              ? dt_tree_get(page, "items")->first : NULL;
             item; item = item->next)
            dt_tree_add(items, NULL, dt_tree_copy(item));
        *next = dt_tree_u64(page, "next", 0);
        dt_tree_free(page);
    } while (*next && (int64_t)items->count < limit);
    return DT_OK;
}

static enum dt_code events_print(const struct dt_args *args, struct dt_tree *list,
                                 uint64_t next, struct dt_err *err)
{
    struct dt_table table = {.columns = columns, .columns_count = DT_COUNT(columns)};
    const struct dt_tree *items = dt_tree_get(list, "items");
    enum dt_code code;

    if (dt_output_is(args, "json") || dt_output_is(args, "yaml")) {
        if (next)
            dt_tree_put_u64(list, "next", next);
        else
            dt_tree_put_str(list, "next", NULL);
        dt_output_tree(args, list);
        code = DT_OK;
    } else {
        for (const struct dt_tree *item = items->first; item; item = item->next)
            event_row(&table, item);
        code = dt_table_print(&table, args, err);
        dt_table_release(&table);
    }
    if (!code && next)
        dt_say("only the first %zu are shown; more: --limit N", items->count);
    return code;
}

static void event_put(const struct dt_args *args, const struct dt_tree *event)
{
    struct dt_buf line = {0};

    if (dt_output_is(args, "json"))
        dt_json_write(&line, event);
    else
        dt_event_line(&line, event);
    dt_buf_byte(&line, '\n');
    dt_put(&line);
    dt_buf_release(&line);
}

/* New events as lines until a signal. */
static int events_follow(struct dt_api *api, const struct dt_args *args, const char *id,
                         uint64_t seq)
{
    struct dt_watch watch;
    struct dt_err err = {0};
    enum dt_code code;

    dt_stop_watch();
    code = dt_watch_open(&watch, api, id, seq, &err);
    while (!code && !dt_stop_signal()) {
        struct dt_news news = {0};

        code = dt_watch_next(&watch, 60000, &news, &err);
        if (news.event)
            event_put(args, news.event);
        dt_tree_free(news.event);
    }
    dt_watch_close(&watch);
    return code ? dt_say_error(&err) : 128 + dt_stop_signal();
}

static int events_run(const struct dt_args *args)
{
    struct dt_tree *list = dt_tree_make(DT_TREE_MAP), *items;
    struct dt_err err = {0};
    struct dt_api api;
    uint64_t next = 0;
    enum dt_code code;
    int exit;

    items = dt_tree_put_new(list, "items", DT_TREE_LIST);
    if (!(code = dt_api_open(&api, args, &err)) &&
        !(code = events_fetch(&api, args, items, &next, &err)))
        code = events_print(args, list, next, &err);
    if (code)
        exit = dt_say_error(&err);
    else if (dt_args_has(args, "follow"))
        exit = events_follow(&api, args, dt_tree_str(items->last, "job", args->operands[0]),
                             dt_tree_u64(items->last, "seq", 0));
    else
        exit = 0;
    dt_tree_free(list);
    dt_api_release(&api);
    return exit;
}

const struct dt_cmd dt_cli_events = {
    .name = "events",
    .operands = "JOB",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "What happened to a job: states, generations, checkpoints, each with its reason.",
    .examples = "  dtctl events j-000042\n  dtctl events -f j-000042 -o json\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_JOBS,
    .run = events_run,
};
