/* The message table, and the structures that core reads from messages. */
#include "dt/wire/msg.h"

#include <stdio.h>
#include <string.h>

/* U64 is a decimal text; NUM an integer within least..most; TEXT at most `most` bytes. */
enum field_kind { F_NUM, F_U64, F_TEXT, F_BOOL, F_MAP, F_LIST };

struct field {
    const char *name;
    enum field_kind kind;
    bool is_required;
    int64_t least, most;
};

#define FIELDS_MAX 16

struct row {
    const char *type;
    enum dt_msg_from from;
    struct field fields[FIELDS_MAX];
};

#define JOB {"job", F_NUM, true, 1, INT64_MAX}
#define GEN {"gen", F_U64, true, 0, 0}
#define RANK {"rank", F_NUM, true, 0, DT_RANKS_MAX}

static const struct row rows[] = {
    {"hello", DT_FROM_AGENT,
     {{"proto", F_MAP, true, 0, 0}, {"cluster", F_TEXT, true, 0, 40}, {"node", F_TEXT, true, 0, 63},
      {"epoch", F_U64, true, 0, 0}, {"version", F_TEXT, true, 0, 15},
      {"inventory", F_MAP, true, 0, 0}, {"gangs", F_LIST, true, 0, 10000}}},
    {"beat", DT_FROM_AGENT, {{"n", F_NUM, true, 0, INT64_MAX}, {"gangs", F_LIST, false, 0, 10000}}},
    {"report", DT_FROM_AGENT,
     {JOB, GEN, {"number", F_U64, true, 0, 0}, {"what", F_TEXT, true, 0, 15},
      {"master_port", F_NUM, false, 0, 65535}, {"exits", F_LIST, false, 0, 4096},
      {"progress", F_MAP, false, 0, 0}, {"reason", F_TEXT, false, 0, 1000}}},
    {"fence", DT_FROM_AGENT,
     {JOB, GEN, {"no", F_NUM, true, 0, 1000000}, {"nodes", F_NUM, true, 1, DT_NODES_MAX},
      {"node_rank", F_NUM, true, 0, DT_NODES_MAX}, {"part", F_NUM, true, 0, 10000},
      {"parts", F_NUM, true, 1, 10000}}},
    {"logs", DT_FROM_AGENT,
     {{"id", F_NUM, true, 0, INT64_MAX}, JOB, GEN, RANK, {"offset", F_NUM, true, 0, INT64_MAX},
      {"size_total", F_NUM, false, 0, INT64_MAX}, {"eof", F_BOOL, false, 0, 0},
      {"error", F_TEXT, false, 0, 500}}},
    {"welcome", DT_FROM_CONTROLLER,
     {{"session", F_U64, true, 0, 0}, {"epoch", F_U64, true, 0, 0},
      {"beat_ms", F_NUM, true, 10, 600000}, {"lease_ms", F_NUM, true, 10, 600000},
      {"seq", F_U64, true, 0, 0}, {"wall_ms", F_NUM, true, 0, INT64_MAX}}},
    {"refused", DT_FROM_CONTROLLER,
     {{"reason", F_TEXT, true, 0, 500}, {"code", F_TEXT, true, 0, 31}}},
    {"prepare", DT_FROM_CONTROLLER, {JOB, GEN, {"bundle", F_MAP, true, 0, 0}}},
    {"go", DT_FROM_CONTROLLER,
     {JOB, GEN, {"master_addr", F_TEXT, true, 0, 63}, {"master_port", F_NUM, true, 0, 65535}}},
    {"stop", DT_FROM_CONTROLLER,
     {JOB, GEN, {"grace_ms", F_NUM, true, 0, 86400000}, {"why", F_TEXT, false, 0, 1000}}},
    {"forget", DT_FROM_CONTROLLER, {JOB, GEN, {"is_final", F_BOOL, true, 0, 0}}},
    {"ack", DT_FROM_CONTROLLER, {{"number", F_U64, true, 0, 0}}},
    {"fence_all", DT_FROM_CONTROLLER,
     {JOB, GEN, {"no", F_NUM, true, 0, 1000000}, {"part", F_NUM, true, 0, 10000},
      {"parts", F_NUM, true, 1, 10000}}},
    {"log_get", DT_FROM_CONTROLLER,
     {{"id", F_NUM, true, 1, INT64_MAX}, JOB, GEN, RANK,
      {"offset", F_NUM, true, INT64_MIN, INT64_MAX}, {"size_max", F_NUM, true, 1, 1000000}}},
    /* step process -> agent */
    {"step_hello", DT_FROM_STEP,
     {{"pid", F_NUM, true, 1, INT64_MAX}, {"job", F_NUM, true, 0, INT64_MAX}, GEN,
      {"state", F_TEXT, true, 0, 15}, {"exits", F_LIST, false, 0, 4096},
      {"progress", F_MAP, false, 0, 0}}},
    {"step_prepared", DT_FROM_STEP, {JOB, GEN}},
    {"step_refused", DT_FROM_STEP, {JOB, GEN, {"reason", F_TEXT, true, 0, 1000}}},
    {"step_up", DT_FROM_STEP, {JOB, GEN}},
    {"step_exit", DT_FROM_STEP, {JOB, GEN, {"exits", F_LIST, true, 0, 4096}}},
    {"step_gone", DT_FROM_STEP, {JOB, GEN, {"exits", F_LIST, true, 0, 4096}}},
    {"step_progress", DT_FROM_STEP, {JOB, GEN, {"progress", F_MAP, true, 0, 0}}},
    {"step_fence", DT_FROM_STEP, {JOB, GEN, {"no", F_NUM, true, 0, 1000000}}},
    {"step_logs", DT_FROM_STEP,
     {JOB, GEN, RANK, {"offset", F_NUM, true, 0, INT64_MAX}}},
    /* agent -> step process */
    {"step_prepare", DT_FROM_AGENT_STEP, {JOB, GEN, {"bundle", F_MAP, true, 0, 0}}},
    {"step_go", DT_FROM_AGENT_STEP,
     {JOB, GEN, {"master_addr", F_TEXT, true, 0, 63}, {"master_port", F_NUM, true, 0, 65535}}},
    {"step_stop", DT_FROM_AGENT_STEP, {JOB, GEN, {"grace_ms", F_NUM, true, 0, 86400000}}},
    {"step_fence_all", DT_FROM_AGENT_STEP, {JOB, GEN, {"no", F_NUM, true, 0, 1000000}}},
    {"step_forget", DT_FROM_AGENT_STEP, {JOB, GEN, {"is_final", F_BOOL, true, 0, 0}}},
    {"step_beat", DT_FROM_AGENT_STEP, {{"is_connected", F_BOOL, true, 0, 0},
                                           {"is_new", F_BOOL, false, 0, 0}}},
};

static const char *field_problem(const struct field *field, const struct dt_tree *value)
{
    uint64_t number;

    switch (field->kind) {
    case F_NUM:
        if (value->kind != DT_TREE_INT)
            return "is not an integer";
        return value->int_value < field->least || value->int_value > field->most
                   ? "is out of bounds"
                   : NULL;
    case F_U64:
        return value->kind == DT_TREE_STR && dt_parse_u64(value->text, UINT64_MAX, &number)
                   ? NULL
                   : "is not a decimal text";
    case F_TEXT:
        if (value->kind != DT_TREE_STR)
            return "is not a text";
        return value->text_size > (size_t)field->most ? "is too long" : NULL;
    case F_BOOL:
        return value->kind == DT_TREE_BOOL ? NULL : "is not a boolean";
    case F_MAP:
        return value->kind == DT_TREE_MAP ? NULL : "is not a map";
    case F_LIST:
        if (value->kind != DT_TREE_LIST)
            return "is not a list";
        return value->count > (size_t)field->most ? "is too long" : NULL;
    }
    return NULL;
}

static enum dt_code row_check(const struct row *row, const struct dt_tree *body,
                              struct dt_err *err)
{
    for (size_t i = 0; i < FIELDS_MAX && row->fields[i].name; i++) {
        const struct dt_tree *value = dt_tree_get(body, row->fields[i].name);
        const char *problem = NULL;

        if (!value && row->fields[i].is_required)
            problem = "is missing";
        else if (value)
            problem = field_problem(&row->fields[i], value);
        if (problem)
            return dt_fail(err, DT_INVALID, "message %s: %s %s", row->type, row->fields[i].name,
                           problem);
    }
    return DT_OK;
}

enum dt_code dt_msg_check(const struct dt_tree *body, enum dt_msg_from from, struct dt_err *err)
{
    const char *type = dt_tree_str(body, "type", "");

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (strcmp(rows[i].type, type) == 0) {
            if (rows[i].from != from)
                return dt_fail(err, DT_INVALID, "message %s from the wrong side", type);
            return row_check(&rows[i], body, err);
        }
    return dt_fail(err, DT_INVALID, "unknown message \"%.40s\"", type);
}

struct dt_tree *dt_msg_make(const char *type)
{
    struct dt_tree *body = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(body, "type", type);
    return body;
}

static const char *const what_names[] = {
    [DT_REPORT_PREPARED] = "prepared", [DT_REPORT_REFUSED] = "refused", [DT_REPORT_UP] = "up",
    [DT_REPORT_EXIT] = "exit", [DT_REPORT_PROGRESS] = "progress", [DT_REPORT_GONE] = "gone",
};

struct dt_tree *dt_msg_exit_tree(const struct dt_rank_exit *end)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_int(tree, "rank", end->rank);
    dt_tree_put_int(tree, "code", end->code);
    dt_tree_put_int(tree, "signal", end->signal);
    dt_tree_put_bool(tree, "is_oom", end->is_oom);
    dt_tree_put_bool(tree, "is_stopped", end->is_stopped);
    dt_tree_put_bool(tree, "is_incomplete", end->is_incomplete);
    dt_tree_put_int(tree, "at_ms", end->at_ms);
    dt_tree_put_str(tree, "class", end->class_name);
    dt_tree_put_str(tree, "excerpt", end->excerpt);
    return tree;
}

struct dt_tree *dt_msg_progress_tree(const struct dt_progress *progress)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_int(tree, "step", progress->step);
    dt_tree_put_int(tree, "tokens", progress->tokens);
    dt_tree_put_int(tree, "step_us", progress->step_us);
    dt_tree_put_str(tree, "loss", progress->loss);
    dt_tree_put_str(tree, "phase", progress->phase);
    dt_tree_put_int(tree, "checkpoint_step", progress->checkpoint_step);
    dt_tree_put_str(tree, "checkpoint_path", progress->checkpoint_path);
    return tree;
}

struct dt_tree *dt_msg_report_tree(const struct dt_gang_report *report)
{
    struct dt_tree *tree = dt_msg_make("report"), *exits;

    dt_tree_put_int(tree, "job", (int64_t)report->job);
    dt_tree_put_u64(tree, "gen", report->gen);
    dt_tree_put_u64(tree, "number", report->number);
    dt_tree_put_str(tree, "what", what_names[report->what]);
    dt_tree_put_int(tree, "master_port", report->master_port);
    dt_tree_put_bool(tree, "is_up", report->is_up);
    dt_tree_put_bool(tree, "is_gone", report->is_gone);
    dt_tree_put_str(tree, "reason", report->reason);
    exits = dt_tree_put_new(tree, "exits", DT_TREE_LIST);
    for (size_t i = 0; i < report->exits_count; i++)
        dt_tree_add(exits, NULL, dt_msg_exit_tree(&report->exits[i]));
    dt_tree_add(tree, "progress", dt_msg_progress_tree(&report->progress));
    return tree;
}

static void copy_text(char *text, size_t size, const struct dt_tree *map, const char *key)
{
    snprintf(text, size, "%s", dt_tree_str(map, key, ""));
}

static int small_int(const struct dt_tree *map, const char *key, int otherwise)
{
    int64_t value = dt_tree_int(map, key, otherwise);

    return value < INT32_MIN || value > INT32_MAX ? otherwise : (int)value;
}

void dt_msg_exit_read(const struct dt_tree *tree, struct dt_rank_exit *end)
{
    *end = (struct dt_rank_exit){0};
    end->rank = small_int(tree, "rank", -1);
    end->code = small_int(tree, "code", 0);
    end->signal = small_int(tree, "signal", 0);
    end->is_oom = dt_tree_bool(tree, "is_oom", false);
    end->is_stopped = dt_tree_bool(tree, "is_stopped", false);
    end->is_incomplete = dt_tree_bool(tree, "is_incomplete", false);
    end->at_ms = dt_tree_int(tree, "at_ms", 0);
    copy_text(end->class_name, sizeof(end->class_name), tree, "class");
    copy_text(end->excerpt, sizeof(end->excerpt), tree, "excerpt");
}

void dt_msg_progress_read(const struct dt_tree *tree, struct dt_progress *progress)
{
    *progress = (struct dt_progress){0};
    progress->step = dt_tree_int(tree, "step", -1);
    progress->tokens = dt_tree_int(tree, "tokens", 0);
    progress->step_us = dt_tree_int(tree, "step_us", 0);
    copy_text(progress->loss, sizeof(progress->loss), tree, "loss");
    copy_text(progress->phase, sizeof(progress->phase), tree, "phase");
    progress->checkpoint_step = dt_tree_int(tree, "checkpoint_step", -1);
    copy_text(progress->checkpoint_path, sizeof(progress->checkpoint_path), tree,
              "checkpoint_path");
}

enum dt_code dt_msg_report_read(const struct dt_tree *tree, struct dt_gang_report *report,
                                struct dt_err *err)
{
    struct dt_gang_report draft = {0};
    const struct dt_tree *exits = dt_tree_get(tree, "exits");
    const char *what = dt_tree_str(tree, "what", "");
    size_t at = 0;

    while (at < DT_COUNT(what_names) && strcmp(what_names[at], what) != 0)
        at++;
    draft.job = (uint64_t)dt_tree_int(tree, "job", 0);
    draft.gen = dt_tree_u64(tree, "gen", 0);
    if (at == DT_COUNT(what_names) || !draft.job || !draft.gen)
        return dt_fail(err, DT_INVALID, "report: what, job or gen is wrong");
    draft.what = (enum dt_report_what)at;
    draft.number = dt_tree_u64(tree, "number", 0);
    draft.master_port = small_int(tree, "master_port", 0);
    draft.is_up = dt_tree_bool(tree, "is_up", false);
    draft.is_gone = dt_tree_bool(tree, "is_gone", false);
    copy_text(draft.reason, sizeof(draft.reason), tree, "reason");
    dt_msg_progress_read(dt_tree_get(tree, "progress"), &draft.progress);
    if (exits && exits->kind == DT_TREE_LIST && exits->count) {
        if (exits->count > 4096)
            return dt_fail(err, DT_INVALID, "report: %zu exits", exits->count);
        draft.exits = dt_alloc(exits->count, sizeof(*draft.exits));
        for (const struct dt_tree *row = exits->first; row; row = row->next)
            dt_msg_exit_read(row, &draft.exits[draft.exits_count++]);
    }
    *report = draft;
    return DT_OK;
}

struct dt_tree *dt_msg_inventory_tree(const struct dt_inventory *inventory)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *list;

    dt_tree_put_str(tree, "boot_id", inventory->boot_id);
    dt_tree_put_str(tree, "host", inventory->host);
    dt_tree_put_str(tree, "version", inventory->version);
    dt_tree_put_int(tree, "uid", inventory->uid);
    dt_tree_put_str(tree, "user", inventory->user);
    dt_tree_put_int(tree, "cpus", inventory->cpus);
    dt_tree_put_int(tree, "memory_bytes", inventory->memory_bytes);
    list = dt_tree_put_new(tree, "addr_job", DT_TREE_LIST);
    for (size_t i = 0; i < inventory->addr_job_count; i++)
        dt_tree_put_str(list, NULL, inventory->addr_job[i]);
    list = dt_tree_put_new(tree, "devices", DT_TREE_LIST);
    for (size_t i = 0; i < inventory->devices_count; i++) {
        const struct dt_device *device = &inventory->devices[i];
        struct dt_tree *row = dt_tree_put_new(list, NULL, DT_TREE_MAP);

        dt_tree_put_str(row, "kind", device->kind);
        dt_tree_put_str(row, "id", device->id);
        dt_tree_put_str(row, "type", device->type);
        dt_tree_put_str(row, "domain", device->domain);
        dt_tree_put_int(row, "memory_bytes", device->memory_bytes);
        dt_tree_put_int(row, "rail", device->rail);
        dt_tree_put_bool(row, "is_unhealthy", device->is_unhealthy);
    }
    return tree;
}

static void device_read(const struct dt_tree *row, struct dt_device *device)
{
    copy_text(device->kind, sizeof(device->kind), row, "kind");
    copy_text(device->id, sizeof(device->id), row, "id");
    copy_text(device->type, sizeof(device->type), row, "type");
    copy_text(device->domain, sizeof(device->domain), row, "domain");
    device->memory_bytes = dt_tree_int(row, "memory_bytes", 0);
    device->rail = small_int(row, "rail", -1);
    device->is_unhealthy = dt_tree_bool(row, "is_unhealthy", false);
}

enum dt_code dt_msg_inventory_read(const struct dt_tree *tree, struct dt_inventory *inventory,
                                   struct dt_err *err)
{
    const struct dt_tree *devices = dt_tree_get(tree, "devices");
    const struct dt_tree *addresses = dt_tree_get(tree, "addr_job");
    struct dt_inventory draft = {0};

    if (!devices || devices->kind != DT_TREE_LIST || devices->count > DT_DEVICES_PER_NODE_MAX)
        return dt_fail(err, DT_INVALID, "inventory: devices is no list of at most %d",
                       DT_DEVICES_PER_NODE_MAX);
    copy_text(draft.boot_id, sizeof(draft.boot_id), tree, "boot_id");
    copy_text(draft.host, sizeof(draft.host), tree, "host");
    copy_text(draft.version, sizeof(draft.version), tree, "version");
    copy_text(draft.user, sizeof(draft.user), tree, "user");
    draft.uid = dt_tree_int(tree, "uid", -1);
    draft.cpus = small_int(tree, "cpus", 0);
    draft.memory_bytes = dt_tree_int(tree, "memory_bytes", 0);
    for (const struct dt_tree *row = addresses ? addresses->first : NULL;
         row && draft.addr_job_count < DT_ADDRESSES_MAX; row = row->next)
        if (row->kind == DT_TREE_STR)
            snprintf(draft.addr_job[draft.addr_job_count++], sizeof(draft.addr_job[0]), "%s",
                     row->text);
    draft.devices = dt_alloc(devices->count, sizeof(*draft.devices));
    for (const struct dt_tree *row = devices->first; row; row = row->next)
        device_read(row, &draft.devices[draft.devices_count++]);
    *inventory = draft;
    return DT_OK;
}

void dt_msg_doc(struct dt_buf *buf)
{
    static const char *const sides[] = {"agent", "controller", "step", "agent to step"};

    dt_buf_text(buf, "| type | from | fields |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        dt_buf_print(buf, "| %s | %s |", rows[i].type, sides[rows[i].from]);
        for (size_t j = 0; j < FIELDS_MAX && rows[i].fields[j].name; j++)
            dt_buf_print(buf, " %s%s", rows[i].fields[j].name,
                         rows[i].fields[j].is_required ? "" : "?");
        dt_buf_text(buf, " |\n");
    }
}
