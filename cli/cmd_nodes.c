/* dtctl nodes: the machines, and what an operator wishes of them. */
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "cmds.h"
#include "dt/base/units.h"
#include "render.h"
#include "say.h"

static const struct dt_column columns[] = {
    {.name = "NAME"},
    {.name = "STATE"},
    {.name = "REASON", .is_cut = true},
    {.name = "GPUS", .is_right = true},
    {.name = "SLOTS", .is_right = true},
    {.name = "CPUS", .is_right = true},
    {.name = "MEMORY", .is_right = true},
    {.name = "HOST"},
    {.name = "VERSION", .is_wide = true},
    {.name = "USER", .is_wide = true},
    {.name = "HEARD", .is_right = true},
};

static const struct dt_opt list_opts[] = {
    DT_LIST_ROWS,
    DT_OPT_ROW_LIMIT,
    DT_API_ROWS,
};

/* "2/4": free of all, for devices of one kind counted from the list. */
static void devices_cell(struct dt_table *table, const struct dt_tree *node, const char *kind)
{
    const struct dt_tree *devices = dt_tree_get(node, "devices");
    int total = 0, free = 0;
    char text[32] = "-";

    for (const struct dt_tree *one = devices ? devices->first : NULL; one; one = one->next) {
        if (strcmp(dt_tree_str(one, "kind", ""), kind) != 0)
            continue;
        total++;
        free += strcmp(dt_tree_str(one, "state", ""), "free") == 0;
    }
    if (total)
        snprintf(text, sizeof(text), "%d/%d free", free, total);
    dt_table_keyed(table, text, free);
}

static void node_row(struct dt_table *table, const struct dt_tree *node)
{
    const char *state = dt_tree_str(node, "state", "?");
    int64_t memory = dt_tree_int(node, "memory_bytes", 0);
    int64_t heard = dt_tree_int(node, "heard_ms_ago", -1);
    char text[64];

    dt_table_cell(table, dt_tree_str(node, "name", "?"));
    dt_table_cell(table, state)->colour = dt_state_colour(state);
    dt_table_cell(table, dt_tree_str(node, "reason", NULL));
    devices_cell(table, node, "gpu");
    devices_cell(table, node, "cpu");
    dt_table_cell(table, dt_cell_text(dt_tree_get(node, "cpus")));
    snprintf(text, sizeof(text), "%.1fGiB", (double)memory / (1024.0 * 1024 * 1024));
    dt_table_keyed(table, memory > 0 ? text : NULL, memory);
    dt_table_cell(table, dt_tree_str(node, "host", NULL));
    dt_table_cell(table, dt_tree_str(node, "version", NULL));
    dt_table_cell(table, dt_tree_str(node, "user", NULL));
    snprintf(text, sizeof(text), "-");
    if (heard >= 0)
        dt_format_age(heard, text, sizeof(text));
    dt_table_keyed(table, text, heard);
}

static enum dt_code nodes_print(const struct dt_args *args, const struct dt_tree *list,
                                struct dt_err *err)
{
    struct dt_table table = {.columns = columns, .columns_count = DT_COUNT(columns)};
    const struct dt_tree *items = dt_tree_get(list, "items");
    int64_t left = dt_args_int(args, "limit", 100);
    enum dt_code code = DT_OK;

    if (!items)
        return dt_fail(err, DT_CORRUPT, "the controller's list of nodes has no items");
    if (dt_output_is(args, "json") || dt_output_is(args, "yaml")) {
        dt_output_tree(args, list);
        return DT_OK;
    }
    for (const struct dt_tree *node = items->first; node && left > 0; node = node->next, left--)
        node_row(&table, node);
    code = dt_table_print(&table, args, err);
    if (!code && !items->count)
        dt_say("no nodes are known");
    if (!code && (int64_t)items->count > dt_args_int(args, "limit", 100))
        dt_say("only the first %lld of %zu are shown; more: --limit N",
               (long long)dt_args_int(args, "limit", 100), items->count);
    dt_table_release(&table);
    return code;
}

static int ls_run(const struct dt_args *args)
{
    struct dt_tree *list = NULL;
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code;

    if (!(code = dt_api_open(&api, args, &err)) &&
        !(code = dt_api_get(&api, "/v1/nodes", &list, &err)))
        code = nodes_print(args, list, &err);
    dt_tree_free(list);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_nodes = {
    .name = "nodes",
    .operands = "",
    .summary = "List nodes with their state and free devices (the same as nodes ls).",
    .opts = list_opts,
    .opts_count = DT_COUNT(list_opts),
    .group = DT_GROUP_CLUSTER,
    .run = ls_run,
};

const struct dt_cmd dt_cli_nodes_ls = {
    .name = "nodes ls",
    .operands = "",
    .summary = "List nodes with their state and free devices.",
    .examples = "  dtctl nodes ls --sort -gpus -o wide\n",
    .opts = list_opts,
    .opts_count = DT_COUNT(list_opts),
    .group = DT_GROUP_CLUSTER,
    .run = ls_run,
};

static const struct dt_column device_columns[] = {
    {.name = "DEVICE"}, {.name = "KIND"}, {.name = "TYPE"}, {.name = "DOMAIN"},
    {.name = "STATE"}, {.name = "JOB"}, {.name = "GEN", .is_right = true},
};

static const struct dt_opt show_opts[] = {
    DT_LIST_ROWS,
    DT_API_ROWS,
};

static void addresses_add(struct dt_buf *line, const struct dt_tree *list)
{
    for (const struct dt_tree *one = list ? list->first : NULL; one; one = one->next) {
        dt_buf_text(line, one == list->first ? "" : ", ");
        dt_add_safe(line, dt_cell_text(one));
    }
}

static enum dt_code node_page(const struct dt_args *args, const struct dt_tree *node,
                              struct dt_err *err)
{
    static const char *const names[] = {"state", "wish", "reason", "host", "version", "user",
                                        "cpus", "boot_id"};
    struct dt_table table = {.columns = device_columns,
                             .columns_count = DT_COUNT(device_columns)};
    const struct dt_tree *devices = dt_tree_get(node, "devices");
    struct dt_buf page = {0};
    enum dt_code code;

    dt_buf_print(&page, "%s\n", dt_tree_str(node, "name", "?"));
    for (size_t i = 0; i < DT_COUNT(names); i++) {
        const char *text = dt_cell_text(dt_tree_get(node, names[i]));

        if (strcmp(text, "-") == 0)
            continue;
        dt_buf_print(&page, "%-13s ", names[i]);
        dt_add_safe(&page, text);
        dt_buf_byte(&page, '\n');
    }
    dt_buf_print(&page, "%-13s ", "addresses");
    addresses_add(&page, dt_tree_get(node, "addresses"));
    dt_buf_text(&page, "\n\n");
    dt_put(&page);
    dt_buf_release(&page);
    for (const struct dt_tree *one = devices ? devices->first : NULL; one; one = one->next) {
        static const char *const fields[] = {"id", "kind", "type", "domain", "state", "job",
                                             "gen"};

        for (size_t i = 0; i < DT_COUNT(fields); i++)
            dt_table_cell(&table, dt_cell_text(dt_tree_get(one, fields[i])));
    }
    code = dt_table_print(&table, args, err);
    dt_table_release(&table);
    return code;
}

static int show_run(const struct dt_args *args)
{
    struct dt_tree *node = NULL;
    struct dt_buf path = {0};
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code = dt_api_open(&api, args, &err);

    dt_api_path(&path, "/v1/nodes/", args->operands[0], "");
    if (!code)
        code = dt_api_get(&api, dt_buf_str(&path), &node, &err);
    if (!code && (dt_output_is(args, "json") || dt_output_is(args, "yaml")))
        dt_output_tree(args, node);
    else if (!code)
        code = node_page(args, node, &err);
    dt_tree_free(node);
    dt_buf_release(&path);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_nodes_show = {
    .name = "nodes show",
    .operands = "NODE",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "One node: state, addresses, each device and who holds it.",
    .opts = show_opts,
    .opts_count = DT_COUNT(show_opts),
    .group = DT_GROUP_CLUSTER,
    .run = show_run,
};

static const struct dt_column type_columns[] = {
    {.name = "TYPE"}, {.name = "KIND"}, {.name = "NODES", .is_right = true},
    {.name = "DEVICES", .is_right = true}, {.name = "FREE", .is_right = true},
};

/* Counts of one device type over the fleet. */
struct type_count {
    const char *type, *kind; /* borrowed from the list */
    const struct dt_tree *node_last;
    int nodes, devices, free;
};

static struct type_count *type_find(struct type_count **types, size_t *count, const char *type,
                                    const char *kind)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*types)[i].type, type) == 0 && strcmp((*types)[i].kind, kind) == 0)
            return &(*types)[i];
    *types = dt_realloc(*types, *count + 1, sizeof(**types));
    (*types)[*count] = (struct type_count){.type = type, .kind = kind};
    return &(*types)[(*count)++];
}

static void types_count(const struct dt_tree *items, struct type_count **types, size_t *count)
{
    for (const struct dt_tree *node = items ? items->first : NULL; node; node = node->next) {
        const struct dt_tree *devices = dt_tree_get(node, "devices");

        for (const struct dt_tree *one = devices ? devices->first : NULL; one; one = one->next) {
            const char *kind = dt_tree_str(one, "kind", "?");
            const char *name = dt_tree_str(one, "type", "");
            struct type_count *type = type_find(types, count, *name ? name : kind, kind);

            type->nodes += type->node_last != node;
            type->node_last = node;
            type->devices++;
            type->free += strcmp(dt_tree_str(one, "state", ""), "free") == 0;
        }
    }
}

static enum dt_code types_print(const struct dt_args *args, const struct dt_tree *list,
                                struct dt_err *err)
{
    struct dt_table table = {.columns = type_columns, .columns_count = DT_COUNT(type_columns)};
    struct dt_tree *out = dt_tree_make(DT_TREE_MAP), *items;
    struct type_count *types = NULL;
    size_t count = 0;
    enum dt_code code = DT_OK;

    items = dt_tree_put_new(out, "items", DT_TREE_LIST);
    types_count(dt_tree_get(list, "items"), &types, &count);
    for (size_t i = 0; i < count; i++) {
        struct dt_tree *item = dt_tree_put_new(items, NULL, DT_TREE_MAP);

        dt_table_cell(&table, dt_tree_put_str(item, "type", types[i].type)->text);
        dt_table_cell(&table, dt_tree_put_str(item, "kind", types[i].kind)->text);
        dt_table_cell(&table, dt_cell_text(dt_tree_put_int(item, "nodes", types[i].nodes)));
        dt_table_cell(&table, dt_cell_text(dt_tree_put_int(item, "devices", types[i].devices)));
        dt_table_cell(&table, dt_cell_text(dt_tree_put_int(item, "free", types[i].free)));
    }
    if (dt_output_is(args, "json") || dt_output_is(args, "yaml"))
        dt_output_tree(args, out);
    else
        code = dt_table_print(&table, args, err);
    dt_table_release(&table);
    dt_tree_free(out);
    dt_free(types);
    return code;
}

static int types_run(const struct dt_args *args)
{
    struct dt_tree *list = NULL;
    struct dt_err err = {0};
    struct dt_api api;
    enum dt_code code;

    if (!(code = dt_api_open(&api, args, &err)) &&
        !(code = dt_api_get(&api, "/v1/nodes", &list, &err)))
        code = types_print(args, list, &err);
    dt_tree_free(list);
    dt_api_release(&api);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_nodes_types = {
    .name = "nodes types",
    .operands = "",
    .summary = "Device types of the fleet: the names resources.gpu_type takes.",
    .opts = show_opts,
    .opts_count = DT_COUNT(show_opts),
    .group = DT_GROUP_CLUSTER,
    .run = types_run,
};

static const struct dt_opt wish_opts[] = {
    {.name = "reason", .type = DT_OPT_STR, .arg = "TEXT", .unit = "",
     .help = "why; shown in listings"},
    DT_API_ROWS,
};

static enum dt_code wish_one(struct dt_api *api, const struct dt_args *args, const char *name,
                             struct dt_err *err)
{
    struct dt_tree *body = dt_tree_make(DT_TREE_MAP), *node = NULL;
    struct dt_buf path = {0}, line = {0};
    char tail[24];
    enum dt_code code;

    if (dt_args_str(args, "reason"))
        dt_tree_put_str(body, "reason", dt_args_str(args, "reason"));
    snprintf(tail, sizeof(tail), "/%s", args->cmd->name + strlen("nodes "));
    dt_api_path(&path, "/v1/nodes/", name, tail);
    code = dt_api_post(api, dt_buf_str(&path), body, &node, err);
    if (!code) {
        dt_add_safe(&line, dt_tree_str(node, "name", name));
        dt_buf_byte(&line, ' ');
        dt_add_safe(&line, dt_tree_str(node, "state", "?"));
        dt_buf_byte(&line, '\n');
        dt_put(&line);
    }
    dt_tree_free(body);
    dt_tree_free(node);
    dt_buf_release(&path);
    dt_buf_release(&line);
    return code;
}

static int wish_run(const struct dt_args *args)
{
    struct dt_err err = {0};
    struct dt_api api;
    int exit = 0;

    if (dt_api_open(&api, args, &err)) {
        exit = dt_say_error(&err);
        goto out;
    }
    for (size_t i = 0; i < args->operands_count; i++) {
        enum dt_code code = wish_one(&api, args, args->operands[i], &err);

        if (code) {
            int status = dt_say_error(&err);

            exit = exit ? exit : status;
            if (code == DT_UNREACHABLE)
                break;
        }
    }
out:
    dt_api_release(&api);
    return exit;
}

#define WISH(variable, word, text)                                                            \
    const struct dt_cmd variable = {                                                          \
        .name = "nodes " word,                                                                \
        .operands = "NODE...",                                                                \
        .operands_least = 1,                                                                  \
        .operands_most = -1,                                                                  \
        .summary = text,                                                                      \
        .opts = wish_opts,                                                                    \
        .opts_count = DT_COUNT(wish_opts),                                                    \
        .group = DT_GROUP_CLUSTER,                                                            \
        .run = wish_run,                                                                      \
    }

WISH(dt_cli_nodes_cordon, "cordon", "Give these nodes no new jobs; what runs there goes on.");
WISH(dt_cli_nodes_drain, "drain", "As cordon; a node is drained when its last job has left.");
WISH(dt_cli_nodes_resume, "resume", "Use these nodes again.");
