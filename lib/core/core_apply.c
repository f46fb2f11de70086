/* Records change the state; nothing else does. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

/* Higher priority first, then the older job. */
uint64_t pending_key(const struct dt_job *job)
{
    return (uint64_t)(1000 - job->spec->priority) << 48 | job->id;
}

/* Give a member's devices to a job, or back from it; another owner keeps what is his. */
static void claim(struct dt_core *core, const struct dt_member *member, uint64_t job,
                  bool is_claim)
{
    struct dt_node *node = dt_dict_get(&core->nodes, member->node);

    for (size_t i = 0; node && i < member->devices_count; i++)
        for (size_t j = 0; j < node->inventory.devices_count; j++) {
            struct dt_device *device = &node->inventory.devices[j];

            if (strcmp(device->id, member->devices[i]) != 0)
                continue;
            if (is_claim || device->job == job) {
                device->job = is_claim ? job : 0;
                device->gen = is_claim ? member->gen : 0;
            }
            break;
        }
}

/* Its members are of a generation that is not over. */
static bool has_generation(const struct dt_job *job)
{
    return !dt_job_is_terminal(job->state) && job->state != DT_JOB_PENDING &&
           job->state != DT_JOB_HELD;
}

/*
 * A generation holds all its devices until its end is stored, also those of members that are gone
 * already: what is heard is not durable, and a restarted controller must find one owner only.
 */
static void claim_job(struct dt_core *core, const struct dt_job *job, bool is_claim)
{
    for (size_t i = 0; i < job->members_count && has_generation(job); i++)
        claim(core, &job->members[i], job->id, is_claim);
    for (size_t i = 0; i < job->held_count; i++)
        claim(core, &job->held[i], job->id, is_claim);
}

void core_claim_node(struct dt_core *core, struct dt_node *node)
{
    const struct dt_set *sets[] = {&core->active, &core->holding};

    for (size_t i = 0; i < node->inventory.devices_count; i++)
        node->inventory.devices[i].job = node->inventory.devices[i].gen = 0;
    for (size_t s = 0; s < DT_COUNT(sets); s++)
        for (size_t i = 0; i < sets[s]->count; i++)
            claim_job(core, sets[s]->items[i].value, true);
}

/* Put a job into the sets that its state belongs to, out of the others. */
static void index_job(struct dt_core *core, struct dt_job *job)
{
    bool is_pending = job->state == DT_JOB_PENDING;
    bool is_active = !is_pending && job->state != DT_JOB_HELD && !dt_job_is_terminal(job->state);

    if (is_pending) {
        dt_set_put(&core->pending, pending_key(job), job);
        if (pending_key(job) < core->fresh_from)
            core->fresh_from = pending_key(job);
    } else {
        dt_set_remove(&core->pending, pending_key(job));
    }
    if (is_active)
        dt_set_put(&core->active, job->id, job);
    else
        dt_set_remove(&core->active, job->id);
    if (job->held_count)
        dt_set_put(&core->holding, job->id, job);
    else
        dt_set_remove(&core->holding, job->id);
}

static void note_request(struct dt_core *core, const struct dt_job *job)
{
    struct request *request;
    char key[80];

    if (!job->req_id[0])
        return;
    snprintf(key, sizeof(key), "%lld/%s", (long long)job->owner.uid, job->req_id);
    if (dt_dict_get(&core->requests, key))
        return;
    request = dt_alloc(1, sizeof(*request));
    request->first = job->req_first;
    request->count = job->req_count;
    dt_dict_put(&core->requests, key, request);
}

static enum dt_code apply_job(struct dt_core *core, const struct dt_record *record,
                              struct dt_err *err)
{
    struct dt_job *old = dt_set_get(&core->jobs, record->job->id);
    struct dt_job *job;

    if (old && record->job->version <= old->version)
        return dt_fail(err, DT_STALE, "job %llu: version %llu is not newer than %llu",
                       (unsigned long long)old->id, (unsigned long long)record->job->version,
                       (unsigned long long)old->version);
    if (!old && !record->job->spec)
        return dt_fail(err, DT_CORRUPT, "job %llu has no specification",
                       (unsigned long long)record->job->id);
    job = dt_job_copy(record->job);
    if (old) {
        job->spec = old->spec;
        job->source = old->source;
        claim_job(core, old, false);
    }
    dt_set_put(&core->jobs, job->id, job);
    index_job(core, job);
    claim_job(core, job, true);
    if (job->id >= core->job_next)
        core->job_next = job->id + 1;
    note_request(core, job);
    if (old)
        dt_job_free(old, false);
    return DT_OK;
}

static void list_nodes(struct dt_core *core)
{
    core->node_list = dt_realloc(core->node_list, core->nodes.count, sizeof(struct dt_node *));
    for (size_t i = 0; i < core->nodes.count; i++)
        core->node_list[i] = core->nodes.items[i].value;
}

static enum dt_code apply_node(struct dt_core *core, const struct dt_record *record,
                               struct dt_err *err)
{
    struct dt_node *node = dt_dict_get(&core->nodes, record->node->name);

    if (node && record->node->version <= node->version)
        return dt_fail(err, DT_STALE, "node %s: version %llu is not newer than %llu", node->name,
                       (unsigned long long)record->node->version,
                       (unsigned long long)node->version);
    if (!node) {
        node = dt_alloc(1, sizeof(*node));
        snprintf(node->name, sizeof(node->name), "%s", record->node->name);
        node->state = DT_NODE_SILENT;
        dt_dict_put(&core->nodes, node->name, node);
        list_nodes(core);
    }
    node->version = record->node->version;
    node->wish = record->node->wish;
    node->state = record->node->state;
    memcpy(node->reason, record->node->reason, sizeof(node->reason));
    return DT_OK;
}

enum dt_code dt_core_apply(struct dt_core *core, const struct dt_record *record,
                           struct dt_err *err)
{
    enum dt_code code = DT_OK;

    switch (record->kind) {
    case DT_RECORD_JOB:
        code = apply_job(core, record, err);
        break;
    case DT_RECORD_NODE:
        code = apply_node(core, record, err);
        break;
    }
    if (!code && record->seq > core->seq)
        core->seq = record->seq;
    return code;
}

uint64_t dt_core_job_next(const struct dt_core *core)
{
    return core->job_next;
}

void dt_core_job_reserve(struct dt_core *core, uint64_t next)
{
    if (next > core->job_next)
        core->job_next = next;
}

void dt_core_resume(struct dt_core *core, uint64_t seq, int64_t now_ms)
{
    if (seq > core->seq)
        core->seq = seq;
    core->now_ms = now_ms;
    core->listening_ms = now_ms;
    for (size_t i = 0; i < core->nodes.count; i++) {
        struct dt_node *node = core->nodes.items[i].value;

        node->session = 0;
        node->heard_ms = now_ms;
        if (node->state != DT_NODE_DOWN)
            node->state = DT_NODE_SILENT;
    }
    core->is_full_pass_due = true;
}
