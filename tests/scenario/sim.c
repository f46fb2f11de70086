/* Time, store and controller of a simulated cluster. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/wire/msg.h"
#include "dt/wire/record.h"

void sim_plan(struct sim *sim, int64_t delay_ms, struct happening take)
{
    if (sim->queue_count == sim->queue_room) {
        sim->queue_room = sim->queue_room ? 2 * sim->queue_room : 64;
        sim->queue = dt_realloc(sim->queue, sim->queue_room, sizeof(*sim->queue));
    }
    take.at_ms = sim->now_ms + delay_ms;
    take.order = ++sim->order;
    sim->queue[sim->queue_count++] = take;
}

static void say(struct sim *sim, const char *format, va_list args) DT_PRINTF(2, 0);
static void say(struct sim *sim, const char *format, va_list args)
{
    char text[1200];

    vsnprintf(text, sizeof(text), format, args);
    dt_buf_print(&sim->trace, "%3lld.%03lld %s\n", (long long)(sim->now_ms / 1000),
                 (long long)(sim->now_ms % 1000), text);
}

void sim_say(struct sim *sim, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(sim, format, args);
    va_end(args);
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;

    sim->failures++;
    va_start(args, format);
    say(sim, format, args);
    va_end(args);
}

const char *sim_job_name(struct sim *sim, uint64_t id)
{
    static char text[24];

    for (size_t i = 0; i < sim->names.count; i++)
        if ((uint64_t)(uintptr_t)sim->names.items[i].value == id)
            return sim->names.items[i].name;
    dt_job_id_format(id, text, sizeof(text));
    return text;
}

/* --- store: sealed texts by key, as they would lie in Redis --- */

static void store_put(struct sim *sim, const char *kind, const char *name, struct dt_tree *take)
{
    struct dt_buf text = {0};
    char key[128];

    snprintf(key, sizeof(key), "%s:%s", kind, name);
    dt_record_seal(&text, take);
    dt_tree_free(take);
    dt_free(dt_dict_put(&sim->stored, key, dt_buf_take(&text)));
}

static struct dt_tree *store_get(struct sim *sim, const char *kind, const char *name)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    const char *text;
    char key[128];

    snprintf(key, sizeof(key), "%s:%s", kind, name);
    text = dt_dict_get(&sim->stored, key);
    if (text && dt_record_unseal(text, strlen(text), &tree, &err))
        sim_fail(sim, "STORE %s: %s", key, err.text);
    return tree;
}

static void store_record(struct sim *sim, const struct dt_record *record)
{
    char id[24];

    if (record->job) {
        snprintf(id, sizeof(id), "%08llu", (unsigned long long)record->job->id);
        store_put(sim, "job", id, dt_record_job_tree(record->job));
        if (record->has_members)
            store_put(sim, "members", id, dt_record_members_tree(record->job));
        if (record->has_spec)
            store_put(sim, "spec", id, dt_tree_copy(record->job->spec->resolved));
        sim_say(sim, "%s %s [%s gen %llu] %s", sim_job_name(sim, record->job->id), record->what,
                dt_job_state_name(record->job->state), (unsigned long long)record->job->gen,
                record->text);
    } else {
        store_put(sim, "node", record->node->name, dt_record_node_tree(record->node));
        sim_say(sim, "%s %s [%s] %s", record->node->name, record->what,
                dt_node_state_name(record->node->state), record->text);
    }
    if (record->seq > sim->seq)
        sim->seq = record->seq;
    sim->stored_now_ms = record->now_ms;
}

void sim_store_release(struct sim *sim)
{
    const struct dt_record *batch = sim->batch;
    size_t count = sim->batch_count;

    sim->is_store_held = false;
    if (!batch || !sim->turn)
        return;
    sim->batch = NULL;
    for (size_t i = 0; i < count; i++)
        store_record(sim, &batch[i]);
    dt_turn_committed(sim->turn, DT_COMMIT_DONE);
}

static void on_commit_due(struct sim *sim, struct happening *self)
{
    (void)self;
    if (!sim->is_store_held)
        sim_store_release(sim);
}

static void on_commit(struct dt_store *store, const struct dt_record *records, size_t count)
{
    struct sim *sim = store->owner;

    sim->batch = records;
    sim->batch_count = count;
    sim_plan(sim, LATENCY_MS, (struct happening){.run = on_commit_due});
}

/* --- controller --- */

static void on_message(struct sim *sim, struct happening *self)
{
    if (self->agent->session == self->session && self->agent->is_linked)
        agent_hear(sim, self->agent, self->message);
}

static void deliver_send(struct sim *sim, const struct dt_effect *effect)
{
    struct agent *agent = agent_find(sim, effect->node);
    const char *type = dt_tree_str(effect->message, "type", "?");
    struct dt_err err = {0};

    if (dt_msg_check(effect->message, DT_FROM_CONTROLLER, &err))
        sim_fail(sim, "MESSAGE to %s: %s", effect->node, err.text);
    if (strcmp(type, "ack") != 0)
        sim_say(sim, "-> %s %s %s/%llu", effect->node, type,
                sim_job_name(sim, (uint64_t)dt_tree_int(effect->message, "job", 0)),
                (unsigned long long)dt_tree_u64(effect->message, "gen", 0));
    sim_plan(sim, LATENCY_MS, (struct happening){.run = on_message, .agent = agent,
                                                 .session = effect->session,
                                                 .message = dt_tree_copy(effect->message)});
}

static void on_effect(void *owner, struct dt_effect *effect)
{
    struct sim *sim = owner;
    struct agent *agent;
    char request[24];

    switch (effect->kind) {
    case DT_EFF_REPLY:
        snprintf(request, sizeof(request), "%llu", (unsigned long long)effect->request);
        if (effect->err.code)
            sim_say(sim, "reply %s: %s: %s", (const char *)dt_dict_get(&sim->requests, request),
                    dt_code_name(effect->err.code), effect->err.text);
        else
            sim_say(sim, "reply %s: ok", (const char *)dt_dict_get(&sim->requests, request));
        break;
    case DT_EFF_SEND:
        deliver_send(sim, effect);
        break;
    case DT_EFF_CLOSE:
        agent = agent_find(sim, effect->node);
        sim_say(sim, "fence %s", effect->node);
        if (agent && agent->session == effect->session)
            agent_disconnect(sim, agent, false);
        break;
    case DT_EFF_READ:
        break;
    }
}

void sim_event(struct sim *sim, struct dt_event *event)
{
    struct dt_err err = {0};

    event->now_ms = sim->now_ms;
    event->wall_ms = 1796112000000 + sim->now_ms; /* 2026-12-01T08:00:00Z */
    if (sim->turn) {
        dt_turn_event(sim->turn, event);
        dt_turn_flush(sim->turn);
        if (dt_core_audit(sim->core, &err))
            sim_fail(sim, "AUDIT %s", err.text);
    }
    dt_event_release(event);
}

static void on_tick(struct sim *sim, struct happening *self)
{
    struct dt_event event = {.kind = DT_EV_TICK};
    int64_t wait_ms = 500;

    sim_event(sim, &event);
    if (sim->core && dt_core_next_ms(sim->core) - sim->now_ms < wait_ms)
        wait_ms = dt_core_next_ms(sim->core) - sim->now_ms;
    sim_plan(sim, wait_ms < 1 ? 1 : wait_ms, (struct happening){.run = self->run});
}

static struct dt_core *core_from_store(struct sim *sim)
{
    struct dt_core *core = dt_core_make("00112233445566778899aabbccddeeff");
    struct dt_err err = {0};

    for (size_t i = 0; i < sim->stored.count; i++) {
        const char *key = sim->stored.items[i].name, *name = strchr(key, ':') + 1;
        struct dt_record record = {.has_spec = true, .has_members = true};
        struct dt_tree *object, *members, *spec;
        struct dt_node node = {0};

        if (strncmp(key, "node:", 5) == 0) {
            object = store_get(sim, "node", name);
            record.kind = DT_RECORD_NODE;
            record.node = &node;
            if (dt_record_node_read(object, &node, &err) || dt_core_apply(core, &record, &err))
                sim_fail(sim, "STORE %s: %s", key, err.text);
            dt_tree_free(object);
        } else if (strncmp(key, "job:", 4) == 0) {
            object = store_get(sim, "job", name);
            members = store_get(sim, "members", name);
            spec = store_get(sim, "spec", name);
            record.kind = DT_RECORD_JOB;
            if (dt_record_job_read(&(struct dt_record_parts){object, members, spec, NULL},
                                   &record.job, &err) ||
                dt_core_apply(core, &record, &err))
                sim_fail(sim, "STORE %s: %s", key, err.text);
            dt_job_free(record.job, false);
            dt_tree_free(object);
            dt_tree_free(members);
            dt_tree_free(spec);
        }
    }
    dt_core_resume(core, sim->seq, sim->now_ms);
    return core;
}

void sim_controller_start(struct sim *sim)
{
    sim->store = (struct dt_store){.commit = on_commit, .owner = sim};
    sim->core = core_from_store(sim);
    sim->turn = dt_turn_make(sim->core, &sim->store, on_effect, sim);
    if (!sim->is_ticking)
        sim_plan(sim, 500, (struct happening){.run = on_tick});
    sim->is_ticking = true;
    for (size_t i = 0; i < sim->agents_count; i++)
        agent_connect(sim, &sim->agents[i]);
}

void sim_controller_stop(struct sim *sim)
{
    dt_turn_free(sim->turn);
    dt_core_free(sim->core);
    sim->turn = NULL;
    sim->core = NULL;
    sim->batch = NULL;
    for (size_t i = 0; i < sim->agents_count; i++)
        agent_disconnect(sim, &sim->agents[i], false);
}

void sim_compare_stored(struct sim *sim)
{
    struct dt_core *again;
    uint64_t id = 0;

    if (!sim->core || sim->batch)
        return; /* something is not stored yet: nothing to compare */
    again = core_from_store(sim);
    for (const struct dt_job *job; (job = dt_core_job_from(sim->core, id)); id = job->id + 1) {
        const struct dt_job *stored = dt_core_job(again, job->id);

        if (!stored || stored->state != job->state || stored->gen != job->gen ||
            stored->version != job->version || stored->members_count != job->members_count)
            sim_fail(sim, "STORE has another %s", sim_job_name(sim, job->id));
    }
    dt_core_free(again);
}

/* --- time --- */

static size_t next_happening(const struct sim *sim)
{
    size_t best = 0;

    for (size_t i = 1; i < sim->queue_count; i++) {
        const struct happening *a = &sim->queue[i], *b = &sim->queue[best];

        if (a->at_ms < b->at_ms || (a->at_ms == b->at_ms && a->order < b->order))
            best = i;
    }
    return best;
}

void sim_run(struct sim *sim, int64_t until_ms)
{
    while (sim->queue_count) {
        size_t at = next_happening(sim);
        struct happening happening = sim->queue[at];

        if (happening.at_ms > until_ms)
            break;
        sim->queue[at] = sim->queue[--sim->queue_count];
        sim->now_ms = happening.at_ms;
        happening.run(sim, &happening);
        dt_tree_free(happening.message);
        dt_free(happening.line);
    }
    sim->now_ms = until_ms;
}

static void dict_release(struct dt_dict *dict)
{
    for (size_t i = 0; i < dict->count; i++)
        dt_free(dict->items[i].value);
    dt_dict_release(dict);
}

void sim_release(struct sim *sim)
{
    dt_turn_free(sim->turn);
    dt_core_free(sim->core);
    for (size_t i = 0; i < sim->queue_count; i++) {
        dt_tree_free(sim->queue[i].message);
        dt_free(sim->queue[i].line);
    }
    dt_free(sim->queue);
    dt_free(sim->agents);
    dict_release(&sim->stored);
    dict_release(&sim->requests);
    dt_dict_release(&sim->names);
    dt_buf_release(&sim->trace);
    *sim = (struct sim){0};
}
