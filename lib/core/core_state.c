/* The state of a cluster: made, looked at, changed through records. */
#include "dt/core/core.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

struct dt_core *dt_core_make(const char *cluster_id)
{
    struct dt_core *core = dt_alloc(1, sizeof(*core));

    snprintf(core->cluster_id, sizeof(core->cluster_id), "%s", cluster_id);
    core->job_next = 1;
    core->is_full_pass_due = true;
    core->fresh_from = UINT64_MAX;
    return core;
}

void dt_core_free(struct dt_core *core)
{
    if (!core)
        return;
    for (size_t i = 0; i < core->jobs.count; i++)
        dt_job_free(core->jobs.items[i].value, true);
    for (size_t i = 0; i < core->nodes.count; i++) {
        struct dt_node *node = core->nodes.items[i].value;

        dt_inventory_release(&node->inventory);
        dt_free(node);
    }
    for (size_t i = 0; i < core->requests.count; i++)
        dt_free(core->requests.items[i].value);
    dt_set_release(&core->jobs);
    dt_set_release(&core->pending);
    dt_set_release(&core->active);
    dt_set_release(&core->holding);
    dt_dict_release(&core->nodes);
    dt_dict_release(&core->requests);
    dt_free(core->node_list);
    dt_free(core);
}

void dt_event_release(struct dt_event *event)
{
    if (!event)
        return;
    if (event->spec)
        dt_spec_release(event->spec);
    dt_free(event->spec);
    dt_free(event->source);
    dt_free(event->submit_dir);
    if (event->inventory)
        dt_inventory_release(event->inventory);
    dt_free(event->inventory);
    for (size_t i = 0; i < event->reports_count; i++)
        dt_free(event->reports[i].exits);
    dt_free(event->reports);
    *event = (struct dt_event){0};
}

static void record_release(struct dt_record *record)
{
    if (!record)
        return;
    dt_job_free(record->job, false);
    if (record->node)
        dt_inventory_release(&record->node->inventory);
    dt_free(record->node);
    *record = (struct dt_record){0};
}

static void effect_release(struct dt_effect *effect)
{
    if (!effect)
        return;
    dt_tree_free(effect->message);
    *effect = (struct dt_effect){0};
}

void dt_outcome_release(struct dt_outcome *outcome)
{
    if (!outcome)
        return;
    for (size_t i = 0; i < outcome->records_count; i++)
        record_release(&outcome->records[i]);
    for (size_t i = 0; i < outcome->effects_count; i++)
        effect_release(&outcome->effects[i]);
    dt_free(outcome->records);
    dt_free(outcome->effects);
    *outcome = (struct dt_outcome){0};
}

struct dt_record *core_record(struct dt_outcome *outcome, enum dt_record_kind kind)
{
    struct dt_record *record;

    if (outcome->records_count == outcome->records_room) {
        outcome->records_room = outcome->records_room ? outcome->records_room * 2 : 8;
        outcome->records = dt_realloc(outcome->records, outcome->records_room,
                                      sizeof(*outcome->records));
    }
    record = &outcome->records[outcome->records_count++];
    *record = (struct dt_record){.kind = kind};
    return record;
}

struct dt_effect *core_effect(struct dt_outcome *outcome, enum dt_effect_kind kind)
{
    struct dt_effect *effect;

    if (outcome->effects_count == outcome->effects_room) {
        outcome->effects_room = outcome->effects_room ? outcome->effects_room * 2 : 8;
        outcome->effects = dt_realloc(outcome->effects, outcome->effects_room,
                                      sizeof(*outcome->effects));
    }
    effect = &outcome->effects[outcome->effects_count++];
    *effect = (struct dt_effect){.kind = kind};
    return effect;
}

static void record_stamp(struct dt_core *core, struct dt_record *record, const char *what,
                         const char *text)
{
    record->seq = core->seq + 1;
    record->now_ms = core->now_ms;
    record->wall_ms = core->wall_ms;
    snprintf(record->what, sizeof(record->what), "%s", what);
    snprintf(record->text, sizeof(record->text), "%s", text);
}

struct dt_job *core_job_put(struct dt_core *core, struct dt_outcome *outcome,
                            struct dt_job *take, const char *what, const char *text)
{
    struct dt_record *record = core_record(outcome, DT_RECORD_JOB);
    const struct dt_job *old = dt_core_job(core, take->id);
    struct dt_err err = {0};
    enum dt_code code;

    record_stamp(core, record, what, text);
    record->job = take;
    record->has_spec = !old;
    record->has_members = !old || old->gen != take->gen;
    if (!old) {
        snprintf(record->req_id, sizeof(record->req_id), "%s", take->req_id);
        record->uid = take->owner.uid;
    }
    take->version++;
    code = dt_core_apply(core, record, &err);
    assert(code == DT_OK);
    (void)code;
    return dt_set_get(&core->jobs, record->job->id);
}

void core_node_put(struct dt_core *core, struct dt_outcome *outcome, struct dt_node *take,
                   const char *what, const char *text)
{
    struct dt_record *record = core_record(outcome, DT_RECORD_NODE);
    struct dt_err err = {0};
    enum dt_code code;

    record_stamp(core, record, what, text);
    record->node = take;
    take->version++;
    code = dt_core_apply(core, record, &err);
    assert(code == DT_OK);
    (void)code;
}

void core_job_move(struct dt_core *core, struct dt_job *draft, enum dt_job_on on)
{
    enum dt_job_state next = dt_job_next(draft->state, on);

    assert(next != DT_JOB_STATE_COUNT);
    draft->state = next;
    draft->state_since_ms = core->now_ms;
    draft->state_since_wall_ms = core->wall_ms;
    if (dt_job_is_terminal(next)) {
        draft->finished_ms = core->now_ms;
        draft->finished_wall_ms = core->wall_ms;
    }
}

void core_send(struct dt_core *core, struct dt_outcome *outcome, const char *node,
               struct dt_tree *message)
{
    const struct dt_node *target = dt_core_node(core, node);
    struct dt_effect *effect;

    if (!target || !target->session) {
        dt_tree_free(message); /* its next hello asks again */
        return;
    }
    effect = core_effect(outcome, DT_EFF_SEND);
    snprintf(effect->node, sizeof(effect->node), "%s", node);
    effect->session = target->session;
    effect->message = message;
}

void core_reply(struct dt_outcome *outcome, const struct dt_event *event, uint64_t job_first,
                int count)
{
    struct dt_effect *effect;

    if (!event->request)
        return;
    effect = core_effect(outcome, DT_EFF_REPLY);
    effect->request = event->request;
    effect->job_first = job_first;
    effect->jobs_count = count;
}

void core_refuse(struct dt_outcome *outcome, const struct dt_event *event,
                 const struct dt_err *err)
{
    if (!event->request)
        return;
    core_reply(outcome, event, 0, 0);
    outcome->effects[outcome->effects_count - 1].err = *err;
}

int64_t dt_core_next_ms(const struct dt_core *core)
{
    if (!core->active.count && !core->pending.count && !core->nodes.count)
        return INT64_MAX;
    return core->now_ms + TICK_MS;
}

uint64_t dt_core_seq(const struct dt_core *core)
{
    return core->seq;
}

const struct dt_job *dt_core_job(const struct dt_core *core, uint64_t id)
{
    return dt_set_get(&core->jobs, id);
}

const struct dt_job *dt_core_job_from(const struct dt_core *core, uint64_t from)
{
    size_t at = dt_set_seek(&core->jobs, from);

    return at < core->jobs.count ? core->jobs.items[at].value : NULL;
}

const struct dt_node *dt_core_node(const struct dt_core *core, const char *name)
{
    return dt_dict_get(&core->nodes, name);
}

const struct dt_node *dt_core_node_at(const struct dt_core *core, size_t index)
{
    return index < core->nodes.count ? core->nodes.items[index].value : NULL;
}

uint64_t dt_core_request(const struct dt_core *core, int64_t uid, const char *req_id, int *count)
{
    char key[80];
    const struct request *request;

    snprintf(key, sizeof(key), "%lld/%s", (long long)uid, req_id);
    request = dt_dict_get(&core->requests, key);
    if (!request)
        return 0;
    *count = request->count;
    return request->first;
}
