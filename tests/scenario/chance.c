/* Scenarios by chance: faults from a seed, all mended in the end; nothing may be lost or stuck. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#define FAULTS_MS 60000
#define MENDED_MS 400000 /* backoff and leases have passed by then */

struct chance {
    struct sim *sim;
    uint64_t state;
    int nodes, jobs;
};

/* splitmix64: the same deeds for the same seed everywhere. */
static uint64_t next(struct chance *chance)
{
    uint64_t x = chance->state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int below(struct chance *chance, int bound)
{
    return (int)(next(chance) % (uint64_t)bound);
}

static void on_line(struct sim *sim, struct happening *self)
{
    if (sim->now_ms <= FAULTS_MS + 50000)
        sim_say(sim, "# %s", self->line);
    script_do(sim, self->line);
}

static void at(struct chance *chance, int64_t ms, const char *format, ...) DT_PRINTF(3, 4);
static void at(struct chance *chance, int64_t ms, const char *format, ...)
{
    char line[256];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    sim_plan(chance->sim, ms, (struct happening){.run = on_line, .line = dt_copy_text(line)});
}

/* One fault or deed at a time, with its mending soon after or not before the end. */
static void fault(struct chance *chance, int64_t ms)
{
    int node = below(chance, chance->nodes) + 1, job = below(chance, chance->jobs) + 1;
    int64_t later = ms + 20 + below(chance, 15000);

    switch (below(chance, 11)) {
    case 0:
        at(chance, ms, "kill n%d%s", node, below(chance, 2) ? " heard" : "");
        at(chance, later, "boot n%d", node);
        break;
    case 1:
        at(chance, ms, "cut n%d", node);
        at(chance, later, "heal n%d", node);
        break;
    case 2:
        at(chance, ms, "agent-down n%d", node);
        at(chance, later, "agent-up n%d", node);
        break;
    case 3:
        at(chance, ms, "exit j%d rank=%d code=%d", job, below(chance, 4), 1 + below(chance, 3));
        break;
    case 4:
        at(chance, ms, "exit j%d rank=%d signal=9", job, below(chance, 4));
        break;
    case 5:
        at(chance, ms, "refuse n%d", node);
        break;
    case 6:
        at(chance, ms, "store hold");
        at(chance, ms + 1 + below(chance, 3000), "store release");
        break;
    case 7:
        at(chance, ms, "finish j%d", job);
        break;
    case 8:
        at(chance, ms, "cancel j%d", job);
        break;
    case 9:
        at(chance, ms, "step-dies n%d", node);
        break;
    default:
        at(chance, ms, "progress j%d step=%lld checkpoint=%lld", job, (long long)ms,
           (long long)ms);
        break;
    }
}

/* The controller stops and starts, never twice at once. */
static void controllers(struct chance *chance)
{
    int64_t ms = 3000;

    while (ms < FAULTS_MS) {
        int64_t down = 1 + below(chance, 4000);

        at(chance, ms, "controller stop");
        at(chance, ms + down, "controller start");
        ms += down + 5000 + below(chance, 20000);
    }
}

void chance_plan(struct sim *sim, uint64_t seed)
{
    struct chance chance = {.sim = sim, .state = seed};

    chance.nodes = 2 + below(&chance, 5);
    chance.jobs = 1 + below(&chance, 8);
    for (int i = 0; i < chance.nodes; i++) {
        struct agent *agent = &sim->agents[sim->agents_count++];

        *agent = (struct agent){.slots = 1 + below(&chance, 3), .uid = 1000,
                                .is_machine_up = true, .is_agent_up = true, .is_linked = true};
        snprintf(agent->name, sizeof(agent->name), "n%d", i + 1);
        snprintf(agent->domain, sizeof(agent->domain), "n%d", i + 1);
    }
    for (int i = 0; i < chance.jobs; i++)
        at(&chance, 500 + below(&chance, 30000), "submit j%d resources.nodes=%d restart.max=%d "
                                                 "req=k%d", i + 1,
           1 + below(&chance, chance.nodes), below(&chance, 8), i + 1);
    for (int i = 10 + below(&chance, 60); i > 0; i--)
        fault(&chance, 1000 + below(&chance, FAULTS_MS));
    if (below(&chance, 2))
        controllers(&chance);
    for (int i = 0; i < chance.nodes; i++) {
        at(&chance, FAULTS_MS + 40000, "heal n%d", i + 1);
        at(&chance, FAULTS_MS + 40001, "agent-up n%d", i + 1);
    }
    at(&chance, FAULTS_MS + 39000, "store release");
    /* programs that do their work end it, again and again: every job must come to an end */
    for (int64_t ms = FAULTS_MS + 50000; ms < MENDED_MS; ms += 1000)
        for (int job = 1; job <= chance.jobs; job++)
            at(&chance, ms, "finish j%d", job);
}

void chance_check(struct sim *sim)
{
    uint64_t id = 0;

    if (!sim->core) {
        sim_fail(sim, "CHECK the controller is down");
        return;
    }
    for (const struct dt_job *job; (job = dt_core_job_from(sim->core, id)); id = job->id + 1) {
        if (!dt_job_is_terminal(job->state))
            sim_fail(sim, "CHECK %s is still %s", sim_job_name(sim, job->id),
                     dt_job_state_name(job->state));
        if (job->held_count)
            sim_fail(sim, "CHECK %s still holds devices", sim_job_name(sim, job->id));
    }
    for (size_t i = 0; i < sim->agents_count; i++) {
        const struct agent *agent = &sim->agents[i];
        const struct dt_node *node = dt_core_node(sim->core, agent->name);

        if (agent->gangs_count)
            sim_fail(sim, "CHECK %s still has job %llu generation %llu", agent->name,
                     (unsigned long long)agent->gangs[0].job,
                     (unsigned long long)agent->gangs[0].gen);
        if (!node || node->state != DT_NODE_UP)
            sim_fail(sim, "CHECK %s is %s", agent->name,
                     node ? dt_node_state_name(node->state) : "unknown");
    }
}
