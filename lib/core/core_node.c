/* Nodes come, fall silent, are decided dead, and come back. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

#define BRAKE_NODES_LEAST 3

static enum dt_node_state state_of_wish(const struct dt_node *node)
{
    return node->wish == DT_NODE_UP ? DT_NODE_UP : node->wish;
}

/* A gang that the node does not know: it never got it, or nothing is left of it. */
static void reconcile_member(struct dt_core *core, struct dt_job *job, const char *node,
                             struct dt_outcome *outcome)
{
    struct dt_member *member = core_member(job, node);
    struct dt_result result = {.cause = "node_lost", .rank = member->rank_first};
    uint64_t id = job->id;

    if (job->state == DT_JOB_STARTING && !job->is_go_sent) {
        member->is_prepared = false;
        core_send(core, outcome, node, launch_prepare(core, job, member));
        return;
    }
    member->is_lost = false;
    member->is_gone = true;
    snprintf(result.node, sizeof(result.node), "%s", node);
    snprintf(result.reason, sizeof(result.reason),
             "node %.64s came back without generation %llu of this job", node,
             (unsigned long long)job->gen);
    core_fail_gen(core, job, &result, outcome);
    core_gen_check(core, dt_set_get(&core->jobs, id), outcome);
}

static bool is_reported(const struct dt_event *event, uint64_t job, uint64_t gen)
{
    for (size_t i = 0; i < event->reports_count; i++)
        if (event->reports[i].job == job && event->reports[i].gen == gen)
            return true;
    return false;
}

/* Held devices of older generations that the node no longer knows are free. */
static void reconcile_held(struct dt_core *core, struct dt_job *job, const struct dt_event *event,
                           struct dt_outcome *outcome)
{
    uint64_t id = job->id; /* a report replaces the job */

    for (size_t i = 0; i < job->held_count; i++) {
        struct dt_gang_report gone = {.job = id, .what = DT_REPORT_GONE};

        if (strcmp(job->held[i].node, event->node) != 0 ||
            is_reported(event, job->id, job->held[i].gen))
            continue;
        gone.gen = job->held[i].gen;
        core_report(core, event->node, &gone, outcome);
        job = dt_set_get(&core->jobs, id);
        i = (size_t)-1;
    }
}

static void reconcile(struct dt_core *core, const struct dt_event *event,
                      struct dt_outcome *outcome)
{
    const struct dt_set *sets[] = {&core->active, &core->holding};

    for (size_t s = 0; s < DT_COUNT(sets); s++) {
        size_t count = sets[s]->count;
        uint64_t *ids = dt_alloc(count, sizeof(uint64_t));

        for (size_t i = 0; i < count; i++)
            ids[i] = ((const struct dt_job *)sets[s]->items[i].value)->id;
        for (size_t i = 0; i < count; i++) {
            struct dt_job *job = dt_set_get(&core->jobs, ids[i]);
            struct dt_member *member = core_member(job, event->node);

            if (s == 1)
                reconcile_held(core, job, event, outcome);
            else if (member && !member->is_gone && !is_reported(event, job->id, job->gen))
                reconcile_member(core, job, event->node, outcome);
        }
        dt_free(ids);
    }
}

/* What the node reports as its present generations, and orders it may have missed. */
static void adopt(struct dt_core *core, const struct dt_event *event, struct dt_outcome *outcome)
{
    for (size_t i = 0; i < event->reports_count; i++) {
        const struct dt_gang_report *report = &event->reports[i];
        const struct dt_job *job;
        const struct dt_member *member;

        core_report(core, event->node, report, outcome);
        job = dt_core_job(core, report->job);
        member = job ? core_member(dt_set_get(&core->jobs, report->job), event->node) : NULL;
        if (!member || job->gen != report->gen || member->is_gone)
            continue;
        if (job->state == DT_JOB_STARTING && job->is_go_sent && !member->is_up)
            core_send(core, outcome, event->node, launch_go(core, job));
        else if (job->state == DT_JOB_RECOVERING)
            core_send(core, outcome, event->node,
                      launch_stop(job->id, job->gen, 0, "the generation failed"));
        else if (job->state == DT_JOB_STOPPING)
            core_send(core, outcome, event->node,
                      launch_stop(job->id, job->gen,
                                  job->stop_deadline_ms > core->now_ms
                                      ? job->stop_deadline_ms - core->now_ms
                                      : 0,
                                  job->result.reason));
    }
}

static void session_begin(struct dt_core *core, struct dt_event *event,
                          struct dt_outcome *outcome)
{
    struct dt_node *node = dt_dict_get(&core->nodes, event->node);

    if (node->session && node->session != event->session) {
        struct dt_effect *effect = core_effect(outcome, DT_EFF_CLOSE);

        snprintf(effect->node, sizeof(effect->node), "%s", event->node);
        effect->session = node->session;
    }
    node->session = event->session;
    node->heard_ms = core->now_ms;
    node->closed_ms = 0;
    dt_inventory_release(&node->inventory);
    node->inventory = *event->inventory;
    *event->inventory = (struct dt_inventory){0};
    core_claim_node(core, node);
}

/* A node that was not heard is back: what its jobs did meanwhile is still to come, so that their
 * time without progress begins anew. */
static void heard_again(struct dt_core *core, struct dt_node *node)
{
    node->state = state_of_wish(node);
    for (size_t i = 0; i < core->active.count; i++) {
        struct dt_job *job = core->active.items[i].value;

        if (job->progress_ms && core_member(job, node->name))
            job->progress_ms = core->now_ms;
    }
}

void core_hello(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    const struct dt_node *node = dt_core_node(core, event->node);
    bool is_new = !node, was_down = node && node->state == DT_NODE_DOWN;
    struct dt_node *known;

    assert(event->inventory && event->session);
    if (is_new || was_down) {
        struct dt_node *draft = core_node_draft(node, event->node);

        draft->state = state_of_wish(draft);
        draft->reason[0] = was_down && draft->wish == DT_NODE_UP ? 0 : draft->reason[0];
        core_node_put(core, outcome, draft, is_new ? "joined" : "returned", event->node);
    }
    session_begin(core, event, outcome);
    known = dt_dict_get(&core->nodes, event->node);
    if (known->state == DT_NODE_SILENT || known->state == DT_NODE_JOINING)
        heard_again(core, known);
    reconcile(core, event, outcome);
    adopt(core, event, outcome);
    core_node_settle(core, event->node, outcome);
    core->is_full_pass_due = true;
}

void core_beat(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    struct dt_node *node = dt_dict_get(&core->nodes, event->node);

    if (!node || node->session != event->session)
        return;
    node->heard_ms = core->now_ms;
    if (node->state == DT_NODE_SILENT) {
        heard_again(core, node);
        core->is_full_pass_due = true;
    }
    for (size_t i = 0; i < event->reports_count; i++)
        core_report(core, event->node, &event->reports[i], outcome);
}

void core_closed(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    struct dt_node *node = dt_dict_get(&core->nodes, event->node);

    (void)outcome;
    if (!node || node->session != event->session)
        return;
    node->session = 0;
    node->closed_ms = core->now_ms;
    if (node->state != DT_NODE_DOWN)
        node->state = DT_NODE_SILENT;
}

void core_admin(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    static const struct { enum dt_node_state wish; const char *what; } rows[] = {
        [DT_ADMIN_CORDON] = {DT_NODE_CORDONED, "cordoned"},
        [DT_ADMIN_DRAIN] = {DT_NODE_DRAINING, "draining"},
        [DT_ADMIN_RESUME] = {DT_NODE_UP, "resumed"},
    };
    const struct dt_node *node = dt_core_node(core, event->node);
    struct dt_err err = {0};
    struct dt_node *draft;

    if (!node)
        dt_fail(&err, DT_NOT_FOUND, "there is no node %s", event->node);
    else if (!event->caller.is_operator)
        dt_fail(&err, DT_DENIED, "only an operator may change nodes");
    if (err.code) {
        core_refuse(outcome, event, &err);
        return;
    }
    draft = core_node_draft(node, event->node);
    draft->wish = rows[event->admin].wish;
    if (draft->state != DT_NODE_DOWN && draft->state != DT_NODE_SILENT)
        draft->state = state_of_wish(draft);
    snprintf(draft->reason, sizeof(draft->reason), "%.127s",
             event->source && event->admin != DT_ADMIN_RESUME ? event->source : "");
    core_node_put(core, outcome, draft, rows[event->admin].what, draft->reason);
    core_node_settle(core, event->node, outcome);
    core_reply(outcome, event, 0, 0);
    core->is_full_pass_due = true;
}

/* Since when the node has not been heard, counted only while this controller listens. */
static int64_t quiet_ms(const struct dt_core *core, const struct dt_node *node)
{
    int64_t since = node->heard_ms > core->listening_ms ? node->heard_ms : core->listening_ms;

    return core->now_ms - since;
}

/* After a start of the controller every lease is twice as long. */
static int64_t lease_ms(const struct dt_core *core, const struct dt_node *node)
{
    return node->heard_ms <= core->listening_ms ? 2 * LEASE_MS : LEASE_MS;
}

static bool is_quiet(const struct dt_node *node)
{
    return node->state == DT_NODE_SILENT || node->state == DT_NODE_DOWN;
}

/* Is the job standing still, as far as its other nodes can tell? */
static bool is_stalled(const struct dt_core *core, const struct dt_job *job,
                       const struct dt_node *node)
{
    int64_t patience = job->progress.step_us / 1000 * 3 / 2;
    int64_t since = job->progress_ms > core->listening_ms ? job->progress_ms
                                                          : core->listening_ms;

    patience = patience > LEASE_MS ? patience : LEASE_MS;
    if (job->members_count < 2)
        return false; /* nobody else can tell: wait for proof */
    if (job->progress_ms)
        return core->now_ms - since >= patience && quiet_ms(core, node) >= patience;
    if (job->spec->control_loss == DT_CONTROL_STOP)
        return quiet_ms(core, node) >= lease_ms(core, node) + job->spec->control_loss_stop_ms;
    return quiet_ms(core, node) >= patience;
}

/* More than 30 % of the nodes and at least three went quiet within one lease: suspect ourselves. */
static bool is_braked(const struct dt_core *core)
{
    size_t lately = 0;

    for (size_t i = 0; i < core->nodes.count; i++) {
        const struct dt_node *node = core->nodes.items[i].value;

        lately += node->state == DT_NODE_SILENT;
    }
    return lately >= BRAKE_NODES_LEAST && lately * 10 > core->nodes.count * 3;
}

static void lose_member(struct dt_core *core, struct dt_job *job, struct dt_member *member,
                        struct dt_outcome *outcome)
{
    struct dt_result result = {.cause = "node_lost", .rank = member->rank_first};
    uint64_t id = job->id;

    snprintf(result.node, sizeof(result.node), "%s", member->node);
    snprintf(result.reason, sizeof(result.reason),
             "node %.64s is silent and the job stands still: decided dead", member->node);
    member->is_lost = true;
    core_fail_gen(core, job, &result, outcome);
    job = dt_set_get(&core->jobs, id);
    core_member(job, result.node)->is_lost = true;
    core_gen_check(core, job, outcome);
}

/* Decide about every job with ranks on a quiet node; true when all let it go. */
static bool node_jobs_lost(struct dt_core *core, const struct dt_node *node,
                           struct dt_outcome *outcome)
{
    size_t count = core->active.count;
    uint64_t *ids = dt_alloc(count, sizeof(uint64_t));
    bool is_free = true;

    for (size_t i = 0; i < count; i++)
        ids[i] = ((const struct dt_job *)core->active.items[i].value)->id;
    for (size_t i = 0; i < count; i++) {
        struct dt_job *job = dt_set_get(&core->jobs, ids[i]);
        struct dt_member *member = core_member(job, node->name);

        if (!member || member->is_gone || member->is_lost)
            continue;
        if (job->state == DT_JOB_STOPPING || !is_stalled(core, job, node))
            is_free = false; /* cancelled only when nothing is left: wait for proof */
        else
            lose_member(core, job, member, outcome);
    }
    dt_free(ids);
    return is_free;
}

static void node_down(struct dt_core *core, const struct dt_node *node,
                      struct dt_outcome *outcome)
{
    struct dt_node *draft = core_node_draft(node, node->name);

    draft->state = DT_NODE_DOWN;
    snprintf(draft->reason, sizeof(draft->reason), "not heard for %lld s",
             (long long)(quiet_ms(core, node) / 1000));
    core_node_put(core, outcome, draft, "down", draft->reason);
}

void core_node_deaths(struct dt_core *core, struct dt_outcome *outcome)
{
    for (size_t i = 0; i < core->nodes.count; i++) {
        struct dt_node *node = core->nodes.items[i].value;

        if (!is_quiet(node) && quiet_ms(core, node) > SILENT_MS)
            node->state = DT_NODE_SILENT;
    }
    if (is_braked(core))
        return;
    for (size_t i = 0; i < core->nodes.count; i++) {
        struct dt_node *node = core->nodes.items[i].value;

        if (node->state != DT_NODE_SILENT || quiet_ms(core, node) < lease_ms(core, node))
            continue;
        if (node_jobs_lost(core, node, outcome))
            node_down(core, node, outcome);
    }
}
