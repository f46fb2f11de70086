/* Simulated agents: they obey at once, and tell what happens to their ranks. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "dt/wire/msg.h"

#define TERM_MS 10 /* a rank that obeys SIGTERM ends after so long */

struct agent *agent_find(struct sim *sim, const char *name)
{
    for (size_t i = 0; i < sim->agents_count; i++)
        if (strcmp(sim->agents[i].name, name) == 0)
            return &sim->agents[i];
    return NULL;
}

static struct gang *gang_find(struct agent *agent, uint64_t job, uint64_t gen)
{
    for (size_t i = 0; i < agent->gangs_count; i++)
        if (agent->gangs[i].job == job && (!gen || agent->gangs[i].gen == gen))
            return &agent->gangs[i];
    return NULL;
}

static bool is_reachable(const struct sim *sim, const struct agent *agent)
{
    return sim->core && agent->is_machine_up && agent->is_agent_up && agent->is_linked;
}

/* --- to the controller --- */

static void inventory_fill(const struct agent *agent, struct dt_inventory *inventory)
{
    *inventory = (struct dt_inventory){.uid = agent->uid, .cpus = agent->slots,
                                       .memory_bytes = 1LL << 34, .addr_job_count = 1};
    snprintf(inventory->boot_id, sizeof(inventory->boot_id), "boot-%s-%d", agent->name,
             agent->boot);
    snprintf(inventory->host, sizeof(inventory->host), "%s", agent->name);
    snprintf(inventory->version, sizeof(inventory->version), DT_VERSION);
    snprintf(inventory->user, sizeof(inventory->user), "ana");
    snprintf(inventory->addr_job[0], sizeof(inventory->addr_job[0]), "10.0.0.1");
    inventory->devices_count = (size_t)(agent->slots + agent->gpus);
    inventory->devices = dt_alloc(inventory->devices_count, sizeof(*inventory->devices));
    for (int i = 0; i < agent->slots + agent->gpus; i++) {
        struct dt_device *device = &inventory->devices[i];
        bool is_gpu = i >= agent->slots;

        snprintf(device->kind, sizeof(device->kind), "%s", is_gpu ? "gpu" : "cpu");
        snprintf(device->id, sizeof(device->id), "%s-%d", is_gpu ? "GPU" : "cpu",
                 is_gpu ? i - agent->slots : i);
        snprintf(device->type, sizeof(device->type), "%s", is_gpu ? agent->type : "");
        snprintf(device->domain, sizeof(device->domain), "%s", agent->domain);
        device->memory_bytes = 1LL << 30;
        device->rail = -1;
    }
}

/* A gang as a hello lists it, or as a report tells of it. */
static struct dt_gang_report gang_report(const struct gang *gang, enum dt_report_what what)
{
    struct dt_gang_report report = {.job = gang->job, .gen = gang->gen, .what = what,
                                    .master_port = 20000, .is_up = gang->is_up,
                                    .is_gone = gang->is_gone, .progress = gang->progress};

    report.exits = dt_alloc(gang->exits_count, sizeof(*report.exits));
    memcpy(report.exits, gang->exits, gang->exits_count * sizeof(*report.exits));
    report.exits_count = gang->exits_count;
    return report;
}

/* Through the wire and back, as a frame would carry it. */
static struct dt_gang_report through_wire(struct sim *sim, struct dt_gang_report *take)
{
    struct dt_tree *tree = dt_msg_report_tree(take);
    struct dt_gang_report read = {0};
    struct dt_err err = {0};

    dt_tree_put_str(tree, "type", "report");
    if (dt_msg_check(tree, DT_FROM_AGENT, &err) || dt_msg_report_read(tree, &read, &err))
        sim_fail(sim, "MESSAGE report: %s", err.text);
    read.number = take->number;
    dt_tree_free(tree);
    dt_free(take->exits);
    *take = (struct dt_gang_report){0};
    return read;
}

static void on_report(struct sim *sim, struct happening *self)
{
    struct dt_event event = {.kind = DT_EV_GANG_REPORT, .session = self->session};
    struct dt_err err = {0};

    if (!self->agent->is_linked || !sim->core)
        return;
    snprintf(event.node, sizeof(event.node), "%s", self->agent->name);
    event.reports = dt_alloc(1, sizeof(*event.reports));
    event.reports_count = 1;
    if (dt_msg_report_read(self->message, event.reports, &err))
        sim_fail(sim, "MESSAGE report: %s", err.text);
    event.reports->number = dt_tree_u64(self->message, "number", 0);
    sim_event(sim, &event);
}

static void report_send(struct sim *sim, struct agent *agent, struct dt_gang_report *take)
{
    struct dt_gang_report read = through_wire(sim, take);
    struct dt_tree *tree;

    read.number = ++agent->number;
    tree = dt_msg_report_tree(&read);
    dt_tree_put_u64(tree, "number", read.number);
    dt_free(read.exits);
    if (!agent->session) {
        dt_tree_free(tree); /* the next hello tells all */
        return;
    }
    sim_plan(sim, LATENCY_MS, (struct happening){.run = on_report, .agent = agent,
                                                 .session = agent->session, .message = tree});
}

static void on_hello(struct sim *sim, struct happening *self)
{
    struct dt_event event = {.kind = DT_EV_NODE_HELLO};
    struct agent *agent = self->agent;

    if (!is_reachable(sim, agent) || agent->session)
        return;
    agent->session = ++sim->sessions;
    agent->number = 0;
    event.session = agent->session;
    snprintf(event.node, sizeof(event.node), "%s", agent->name);
    event.inventory = dt_alloc(1, sizeof(*event.inventory));
    inventory_fill(agent, event.inventory);
    event.reports = dt_alloc(agent->gangs_count, sizeof(*event.reports));
    for (size_t i = 0; i < agent->gangs_count; i++) {
        struct dt_gang_report report = gang_report(
            &agent->gangs[i], agent->gangs[i].is_gone ? DT_REPORT_GONE
                              : agent->gangs[i].is_up ? DT_REPORT_UP
                                                      : DT_REPORT_PREPARED);

        event.reports[event.reports_count++] = through_wire(sim, &report);
    }
    sim_event(sim, &event);
}

void agent_connect(struct sim *sim, struct agent *agent)
{
    sim_plan(sim, agent->boot || sim->now_ms ? RECONNECT_MS : LATENCY_MS,
             (struct happening){.run = on_hello, .agent = agent});
}

static void on_closed(struct sim *sim, struct happening *self)
{
    struct dt_event event = {.kind = DT_EV_NODE_CLOSED, .session = self->session,
                             .is_reset = true};

    snprintf(event.node, sizeof(event.node), "%s", self->agent->name);
    sim_event(sim, &event);
}

void agent_disconnect(struct sim *sim, struct agent *agent, bool is_heard)
{
    if (agent->session && is_heard && agent->is_linked)
        sim_plan(sim, LATENCY_MS, (struct happening){.run = on_closed, .agent = agent,
                                                     .session = agent->session});
    agent->session = 0;
}

static void on_beat(struct sim *sim, struct happening *self)
{
    struct dt_event event = {.kind = DT_EV_NODE_BEAT, .session = self->agent->session};

    sim_plan(sim, BEAT_MS, (struct happening){.run = on_beat, .agent = self->agent});
    if (!is_reachable(sim, self->agent) || !self->agent->session)
        return;
    snprintf(event.node, sizeof(event.node), "%s", self->agent->name);
    sim_event(sim, &event);
}

void agent_beats(struct sim *sim, struct agent *agent)
{
    sim_plan(sim, BEAT_MS, (struct happening){.run = on_beat, .agent = agent});
}

/* --- ranks --- */

void agent_wipe(struct agent *agent)
{
    agent->gangs_count = 0;
}

static bool has_ended(const struct gang *gang, int rank)
{
    for (size_t i = 0; i < gang->exits_count; i++)
        if (gang->exits[i].rank == rank)
            return true;
    return false;
}

/* One rank ends; true when it was the last one. */
static bool rank_end(struct sim *sim, struct gang *gang, int rank, struct dt_rank_exit how)
{
    if (!has_ended(gang, rank)) {
        how.rank = rank;
        how.at_ms = sim->now_ms;
        gang->exits[gang->exits_count++] = how;
    }
    gang->is_gone = gang->exits_count == (size_t)gang->ranks_count;
    return gang->is_gone;
}

static void tell(struct sim *sim, struct agent *agent, const struct gang *gang,
                 enum dt_report_what what)
{
    struct dt_gang_report report;

    if (!agent->is_agent_up)
        return;
    report = gang_report(gang, what);
    report_send(sim, agent, &report);
}

void agent_exit(struct sim *sim, uint64_t job, int rank, const struct dt_rank_exit *how)
{
    for (size_t i = 0; i < sim->agents_count; i++) {
        struct agent *agent = &sim->agents[i];

        for (size_t k = 0; k < agent->gangs_count; k++) {
            struct gang *gang = &agent->gangs[k];

            if (gang->job != job || !gang->is_up || gang->is_gone)
                continue;
            for (int r = gang->rank_first; r < gang->rank_first + gang->ranks_count; r++)
                if (rank < 0 || rank == r)
                    rank_end(sim, gang, r, *how);
            if (rank < 0 || (rank >= gang->rank_first &&
                             rank < gang->rank_first + gang->ranks_count))
                tell(sim, agent, gang, gang->is_gone ? DT_REPORT_GONE : DT_REPORT_EXIT);
        }
    }
}

void agent_lose_steps(struct sim *sim, struct agent *agent)
{
    for (size_t i = 0; i < agent->gangs_count; i++) {
        struct gang *gang = &agent->gangs[i];

        if (gang->is_gone)
            continue;
        gang->is_gone = true;
        gang->exits_count = 0;
        tell(sim, agent, gang, DT_REPORT_GONE);
    }
}

void agent_progress(struct sim *sim, uint64_t job, int64_t step, int64_t checkpoint)
{
    for (size_t i = 0; i < sim->agents_count; i++) {
        struct agent *agent = &sim->agents[i];

        for (size_t k = 0; k < agent->gangs_count; k++) {
            struct gang *gang = &agent->gangs[k];

            if (gang->job != job || !gang->is_up || gang->is_gone || gang->rank_first != 0)
                continue;
            gang->progress.step = step;
            gang->progress.step_us = 100000;
            if (checkpoint >= 0) {
                gang->progress.checkpoint_step = checkpoint;
                snprintf(gang->progress.checkpoint_path, sizeof(gang->progress.checkpoint_path),
                         "/ckpt/%lld", (long long)checkpoint);
            }
            tell(sim, agent, gang, DT_REPORT_PROGRESS);
        }
    }
}

static void on_stop_due(struct sim *sim, struct happening *self)
{
    struct gang *gang = gang_find(self->agent, self->job, self->gen);
    struct dt_rank_exit how = {.signal = (int)self->session, .is_stopped = true};

    if (!gang || gang->is_gone)
        return;
    for (int r = gang->rank_first; r < gang->rank_first + gang->ranks_count; r++)
        rank_end(sim, gang, r, how);
    tell(sim, self->agent, gang, DT_REPORT_GONE);
}

/* --- from the controller --- */

static void on_prepare(struct sim *sim, struct agent *agent, const struct dt_tree *message)
{
    const struct dt_tree *ranks = dt_tree_get(dt_tree_get(message, "bundle"), "ranks");
    struct gang *gang;

    if (agent->gangs_count == GANGS_MAX) {
        sim_fail(sim, "%s has too many gangs", agent->name);
        return;
    }
    gang = gang_find(agent, (uint64_t)dt_tree_int(message, "job", 0),
                     dt_tree_u64(message, "gen", 0));
    if (!gang)
        gang = &agent->gangs[agent->gangs_count++];
    *gang = (struct gang){.job = (uint64_t)dt_tree_int(message, "job", 0),
                          .gen = dt_tree_u64(message, "gen", 0),
                          .rank_first = (int)dt_tree_int(ranks->first, "rank", 0),
                          .ranks_count = (int)ranks->count,
                          .progress = {.step = -1, .checkpoint_step = -1}};
    if (agent->refusal[0]) {
        struct dt_gang_report report = gang_report(gang, DT_REPORT_REFUSED);

        snprintf(report.reason, sizeof(report.reason), "%s", agent->refusal);
        agent->refusal[0] = 0;
        *gang = agent->gangs[--agent->gangs_count];
        report_send(sim, agent, &report);
        return;
    }
    tell(sim, agent, gang, DT_REPORT_PREPARED);
}

static void on_stop(struct sim *sim, struct agent *agent, const struct dt_tree *message)
{
    uint64_t job = (uint64_t)dt_tree_int(message, "job", 0);
    uint64_t gen = dt_tree_u64(message, "gen", 0);
    int64_t grace_ms = dt_tree_int(message, "grace_ms", 0);
    struct gang *gang = gang_find(agent, job, gen);
    struct happening due = {.run = on_stop_due, .agent = agent, .job = job, .gen = gen,
                            .session = 15};

    if (!gang) { /* nothing of it here, or no longer */
        struct gang none = {.job = job, .gen = gen, .is_gone = true,
                            .progress = {.step = -1, .checkpoint_step = -1}};

        tell(sim, agent, &none, DT_REPORT_GONE);
        return;
    }
    if (gang->is_gone) {
        tell(sim, agent, gang, DT_REPORT_GONE);
        return;
    }
    if (grace_ms == 0 || agent->is_stubborn || !gang->is_up)
        due.session = 9;
    sim_plan(sim, grace_ms == 0 ? LATENCY_MS : agent->is_stubborn ? grace_ms : TERM_MS, due);
}

static void on_forget(struct agent *agent, const struct dt_tree *message)
{
    struct gang *gang = gang_find(agent, (uint64_t)dt_tree_int(message, "job", 0),
                                  dt_tree_u64(message, "gen", 0));

    if (gang)
        *gang = agent->gangs[--agent->gangs_count];
}

void agent_hear(struct sim *sim, struct agent *agent, const struct dt_tree *message)
{
    const char *type = dt_tree_str(message, "type", "");
    struct gang *gang;

    if (!agent->is_machine_up || !agent->is_agent_up)
        return;
    if (strcmp(type, "prepare") == 0) {
        on_prepare(sim, agent, message);
    } else if (strcmp(type, "go") == 0) {
        gang = gang_find(agent, (uint64_t)dt_tree_int(message, "job", 0),
                         dt_tree_u64(message, "gen", 0));
        if (gang && !gang->is_up && !gang->is_gone) {
            gang->is_up = true;
            tell(sim, agent, gang, DT_REPORT_UP);
        }
    } else if (strcmp(type, "stop") == 0) {
        on_stop(sim, agent, message);
    } else if (strcmp(type, "forget") == 0) {
        on_forget(agent, message);
    }
}
