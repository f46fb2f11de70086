/* Stored objects to and from trees. */
#include "dt/wire/record.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/crc.h"
#include "dt/base/json.h"
#include "dt/base/units.h"
#include "dt/wire/msg.h"

#define SEAL_BYTES 9 /* "#" and 8 digits */

static void put_members(struct dt_tree *tree, const char *key, const struct dt_member *members,
                        size_t count)
{
    struct dt_tree *list = dt_tree_put_new(tree, key, DT_TREE_LIST);

    for (size_t i = 0; i < count; i++) {
        struct dt_tree *row = dt_tree_put_new(list, NULL, DT_TREE_MAP), *devices;

        dt_tree_put_str(row, "node", members[i].node);
        dt_tree_put_int(row, "rank_first", members[i].rank_first);
        dt_tree_put_int(row, "ranks", members[i].ranks_count);
        dt_tree_put_u64(row, "gen", members[i].gen);
        devices = dt_tree_put_new(row, "devices", DT_TREE_LIST);
        for (size_t j = 0; j < members[i].devices_count; j++)
            dt_tree_put_str(devices, NULL, members[i].devices[j]);
    }
}

struct dt_tree *dt_record_members_tree(const struct dt_job *job)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    put_members(tree, "members", job->members, job->members_count);
    return tree;
}

static void put_result(struct dt_tree *tree, const struct dt_result *result)
{
    struct dt_tree *row = dt_tree_put_new(tree, "result", DT_TREE_MAP);

    dt_tree_put_str(row, "cause", result->cause);
    dt_tree_put_int(row, "code", result->code);
    dt_tree_put_int(row, "signal", result->signal);
    dt_tree_put_int(row, "rank", result->rank);
    dt_tree_put_str(row, "node", result->node);
    dt_tree_put_str(row, "reason", result->reason);
    dt_tree_put_str(row, "excerpt", result->excerpt);
}

static void put_restarts(struct dt_tree *tree, const struct dt_restarts *restarts)
{
    struct dt_tree *row = dt_tree_put_new(tree, "restarts", DT_TREE_MAP), *list;

    dt_tree_put_int(row, "total", restarts->total);
    dt_tree_put_int(row, "without_progress", restarts->without_progress);
    dt_tree_put_int(row, "last_step", restarts->last_step);
    list = dt_tree_put_new(row, "counted_ms", DT_TREE_LIST);
    for (int i = 0; i < restarts->counted; i++)
        dt_tree_put_int(list, NULL, restarts->counted_ms[i]);
}

/* Integers of a job that are stored as they are. */
#define JOB_INTS(X)                                                                          \
    X(submitted_ms) X(started_ms) X(finished_ms) X(submitted_wall_ms) X(started_wall_ms)     \
    X(finished_wall_ms) X(state_since_ms) X(state_since_wall_ms) X(not_before_ms)            \
    X(stop_deadline_ms)

struct dt_tree *dt_record_job_tree(const struct dt_job *job)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *avoid;

    dt_tree_put_u64(tree, "id", job->id);
    dt_tree_put_u64(tree, "version", job->version);
    dt_tree_put_str(tree, "state", dt_job_state_name(job->state));
    dt_tree_put_u64(tree, "gen", job->gen);
    dt_tree_put_int(tree, "uid", job->owner.uid);
    dt_tree_put_int(tree, "gid", job->owner.gid);
    dt_tree_put_str(tree, "user", job->owner.name);
    dt_tree_put_str(tree, "submit_dir", job->submit_dir);
    dt_tree_put_str(tree, "output_dir", job->output_dir);
    dt_tree_put_str(tree, "checkpoint_dir", job->checkpoint_dir);
#define X(name) dt_tree_put_int(tree, #name, job->name);
    JOB_INTS(X)
#undef X
    dt_tree_put_bool(tree, "is_go_sent", job->is_go_sent);
    dt_tree_put_str(tree, "req_id", job->req_id);
    dt_tree_put_u64(tree, "req_first", job->req_first);
    dt_tree_put_int(tree, "req_count", job->req_count);
    put_restarts(tree, &job->restarts);
    put_result(tree, &job->result);
    avoid = dt_tree_put_new(tree, "avoid", DT_TREE_LIST);
    for (size_t i = 0; i < job->avoid_count; i++)
        dt_tree_put_str(avoid, NULL, job->avoid[i]);
    put_members(tree, "held", job->held, job->held_count);
    dt_tree_add(tree, "progress", dt_msg_progress_tree(&job->progress));
    return tree;
}

static enum dt_code members_read(const struct dt_tree *list, struct dt_member **members,
                                 size_t *count, struct dt_err *err)
{
    if (!list || list->kind != DT_TREE_LIST || list->count > DT_NODES_MAX)
        return dt_fail(err, DT_CORRUPT, "members are no list");
    *members = list->count ? dt_alloc(list->count, sizeof(**members)) : NULL;
    for (const struct dt_tree *row = list->first; row; row = row->next) {
        struct dt_member *member = &(*members)[(*count)++];
        const struct dt_tree *devices = dt_tree_get(row, "devices");

        snprintf(member->node, sizeof(member->node), "%s", dt_tree_str(row, "node", ""));
        member->rank_first = (int)dt_tree_int(row, "rank_first", 0);
        member->ranks_count = (int)dt_tree_int(row, "ranks", 0);
        member->gen = dt_tree_u64(row, "gen", 0);
        if (!devices || devices->kind != DT_TREE_LIST || devices->count > DT_DEVICES_PER_NODE_MAX)
            return dt_fail(err, DT_CORRUPT, "devices of a member are no list");
        member->devices = dt_alloc(devices->count, sizeof(*member->devices));
        for (const struct dt_tree *id = devices->first; id; id = id->next)
            snprintf(member->devices[member->devices_count++], sizeof(*member->devices), "%s",
                     id->kind == DT_TREE_STR ? id->text : "");
    }
    return DT_OK;
}

static void result_read(const struct dt_tree *row, struct dt_result *result)
{
    snprintf(result->cause, sizeof(result->cause), "%s", dt_tree_str(row, "cause", ""));
    result->code = (int)dt_tree_int(row, "code", 0);
    result->signal = (int)dt_tree_int(row, "signal", 0);
    result->rank = (int)dt_tree_int(row, "rank", -1);
    snprintf(result->node, sizeof(result->node), "%s", dt_tree_str(row, "node", ""));
    snprintf(result->reason, sizeof(result->reason), "%s", dt_tree_str(row, "reason", ""));
    snprintf(result->excerpt, sizeof(result->excerpt), "%s", dt_tree_str(row, "excerpt", ""));
}

static void restarts_read(const struct dt_tree *row, struct dt_restarts *restarts)
{
    const struct dt_tree *list = dt_tree_get(row, "counted_ms");

    restarts->total = (int)dt_tree_int(row, "total", 0);
    restarts->without_progress = (int)dt_tree_int(row, "without_progress", 0);
    restarts->last_step = dt_tree_int(row, "last_step", 0);
    for (const struct dt_tree *at = list ? list->first : NULL;
         at && restarts->counted < (int)DT_COUNT(restarts->counted_ms); at = at->next)
        restarts->counted_ms[restarts->counted++] = at->int_value;
}

static void job_fields_read(const struct dt_tree *tree, struct dt_job *job)
{
    const struct dt_tree *avoid = dt_tree_get(tree, "avoid");

    job->version = dt_tree_u64(tree, "version", 0);
    job->gen = dt_tree_u64(tree, "gen", 0);
    job->owner.uid = dt_tree_int(tree, "uid", -1);
    job->owner.gid = dt_tree_int(tree, "gid", -1);
    snprintf(job->owner.name, sizeof(job->owner.name), "%s", dt_tree_str(tree, "user", ""));
    snprintf(job->submit_dir, sizeof(job->submit_dir), "%s", dt_tree_str(tree, "submit_dir", ""));
    snprintf(job->output_dir, sizeof(job->output_dir), "%s", dt_tree_str(tree, "output_dir", ""));
    snprintf(job->checkpoint_dir, sizeof(job->checkpoint_dir), "%s",
             dt_tree_str(tree, "checkpoint_dir", ""));
#define X(name) job->name = dt_tree_int(tree, #name, 0);
    JOB_INTS(X)
#undef X
    job->is_go_sent = dt_tree_bool(tree, "is_go_sent", false);
    snprintf(job->req_id, sizeof(job->req_id), "%s", dt_tree_str(tree, "req_id", ""));
    job->req_first = dt_tree_u64(tree, "req_first", 0);
    job->req_count = (int)dt_tree_int(tree, "req_count", 1);
    restarts_read(dt_tree_get(tree, "restarts"), &job->restarts);
    result_read(dt_tree_get(tree, "result"), &job->result);
    for (const struct dt_tree *at = avoid ? avoid->first : NULL;
         at && job->avoid_count < DT_COUNT(job->avoid); at = at->next)
        snprintf(job->avoid[job->avoid_count++], DT_NAME_BYTES_MAX, "%s",
                 at->kind == DT_TREE_STR ? at->text : "");
    dt_msg_progress_read(dt_tree_get(tree, "progress"), &job->progress);
}

enum dt_code dt_record_job_read(const struct dt_record_parts *parts, struct dt_job **job,
                                struct dt_err *err)
{
    const struct dt_tree *object = parts->object, *members = parts->members;
    struct dt_job *draft = dt_alloc(1, sizeof(*draft));
    struct dt_problems problems = {0};
    enum dt_code code = DT_CORRUPT;

    draft->id = dt_tree_u64(object, "id", 0);
    draft->state = dt_job_state_from_name(dt_tree_str(object, "state", ""));
    if (!draft->id || draft->state == DT_JOB_STATE_COUNT) {
        dt_fail(err, DT_CORRUPT, "a stored job without id or state");
        goto out;
    }
    if (!parts->resolved) {
        code = dt_fail(err, DT_CORRUPT, "a stored job without specification");
        goto out;
    }
    job_fields_read(object, draft);
    draft->spec = dt_alloc(1, sizeof(*draft->spec));
    if (dt_spec_parse(parts->resolved, draft->spec, &problems)) {
        dt_fail(err, DT_CORRUPT, "the stored specification of job %llu is not valid: %.200s",
                (unsigned long long)draft->id,
                problems.count ? problems.item[0].text : "no reason");
        goto out;
    }
    draft->source = dt_copy_text(parts->source);
    if (members &&
        (code = members_read(dt_tree_get(members, "members"), &draft->members,
                             &draft->members_count, err)))
        goto out;
    if ((code = members_read(dt_tree_get(object, "held"), &draft->held, &draft->held_count, err)))
        goto out;
    *job = draft;
    draft = NULL;
out:
    dt_problems_release(&problems);
    dt_job_free(draft, true);
    return code;
}

struct dt_tree *dt_record_node_tree(const struct dt_node *node)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(tree, "name", node->name);
    dt_tree_put_u64(tree, "version", node->version);
    dt_tree_put_int(tree, "state", node->state);
    dt_tree_put_int(tree, "wish", node->wish);
    dt_tree_put_str(tree, "reason", node->reason);
    return tree;
}

enum dt_code dt_record_node_read(const struct dt_tree *object, struct dt_node *node,
                                 struct dt_err *err)
{
    int64_t state = dt_tree_int(object, "state", -1), wish = dt_tree_int(object, "wish", -1);
    const char *name = dt_tree_str(object, "name", "");

    if (!*name || state < 0 || state >= DT_NODE_STATE_COUNT || wish < 0 ||
        wish >= DT_NODE_STATE_COUNT)
        return dt_fail(err, DT_CORRUPT, "a stored node without name, state or wish");
    *node = (struct dt_node){0};
    snprintf(node->name, sizeof(node->name), "%s", name);
    node->version = dt_tree_u64(object, "version", 0);
    node->state = (enum dt_node_state)state;
    node->wish = (enum dt_node_state)wish;
    snprintf(node->reason, sizeof(node->reason), "%s", dt_tree_str(object, "reason", ""));
    return DT_OK;
}

struct dt_tree *dt_record_event_tree(const struct dt_record *record)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    char text[40];

    dt_tree_put_u64(tree, "seq", record->seq);
    dt_format_instant(record->wall_ms, text, sizeof(text));
    dt_tree_put_str(tree, "at", text);
    if (record->job) {
        dt_job_id_format(record->job->id, text, sizeof(text));
        dt_tree_put_str(tree, "job", text);
        dt_tree_put_u64(tree, "gen", record->job->gen);
        dt_tree_put_str(tree, "state", dt_job_state_name(record->job->state));
        if (record->job->result.rank >= 0 && strcmp(record->what, "rank-exit") == 0) {
            dt_tree_put_str(tree, "node", record->job->result.node);
            dt_tree_put_int(tree, "rank", record->job->result.rank);
        }
    } else if (record->node) {
        dt_tree_put_str(tree, "node", record->node->name);
        dt_tree_put_str(tree, "state", dt_node_state_name(record->node->state));
    }
    dt_tree_put_str(tree, "what", record->what);
    dt_tree_put_str(tree, "text", record->text);
    return tree;
}

void dt_record_seal(struct dt_buf *buf, const struct dt_tree *tree)
{
    size_t begin = buf->size;

    dt_json_write(buf, tree);
    dt_buf_print(buf, "#%08x", dt_crc32c(0, buf->data + begin, buf->size - begin));
}

enum dt_code dt_record_unseal(const char *bytes, size_t size, struct dt_tree **tree,
                              struct dt_err *err)
{
    static const struct dt_json_limits limits = {
        .bytes_max = 16 * 1024 * 1024, .depth_max = 24, .nodes_max = 1000000};
    char seal[SEAL_BYTES + 1];

    if (size < SEAL_BYTES)
        return dt_fail(err, DT_CORRUPT, "a stored value of %zu bytes", size);
    snprintf(seal, sizeof(seal), "#%08x", dt_crc32c(0, bytes, size - SEAL_BYTES));
    if (memcmp(seal, bytes + size - SEAL_BYTES, SEAL_BYTES) != 0)
        return dt_fail(err, DT_CORRUPT, "a stored value with a wrong checksum");
    return dt_json_parse(bytes, size - SEAL_BYTES, &limits, tree, err) ? DT_CORRUPT : DT_OK;
}
