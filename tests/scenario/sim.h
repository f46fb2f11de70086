/* A cluster in one process: the real core, turn and wire; simulated time, store and agents. */
#ifndef DT_SCENARIO_SIM_H
#define DT_SCENARIO_SIM_H

#include "dt/base/set.h"
#include "dt/core/turn.h"

#define LATENCY_MS 1
#define RECONNECT_MS 50
#define BEAT_MS 1000
#define GANGS_MAX 64
#define QUEUE_MAX 64

/* A generation on a node as its agent knows it. */
struct gang {
    uint64_t job, gen;
    int rank_first, ranks_count;
    bool is_up, is_gone;
    struct dt_rank_exit exits[64]; /* exits_count, in order of their end */
    size_t exits_count;
    struct dt_progress progress;
};

/* A node: machine, agent, connection. */
struct agent {
    char name[DT_NAME_BYTES_MAX];
    int slots, gpus;
    char type[40], domain[64];
    int64_t uid;
    int boot;               /* grows with every boot */
    bool is_machine_up, is_agent_up, is_linked;
    bool is_stubborn;       /* ranks ignore SIGTERM */
    char refusal[128];      /* reason to refuse the next prepare; "" = none */
    uint64_t session;       /* 0 = not connected */
    uint64_t number;        /* of the last report in this session */
    struct gang gangs[GANGS_MAX];
    size_t gangs_count;
};

struct sim;

/* Something that will happen. */
struct happening {
    int64_t at_ms;
    uint64_t order;
    void (*run)(struct sim *sim, struct happening *self);
    struct agent *agent;     /* or NULL */
    uint64_t session;
    uint64_t job, gen;
    struct dt_tree *message; /* owned, or NULL */
    char *line;              /* owned, or NULL */
};

struct sim {
    int64_t now_ms;
    struct dt_core *core;    /* NULL while the controller is down */
    struct dt_turn *turn;
    struct dt_store store;
    struct dt_dict stored;   /* "job:1", "members:1", "spec:1", "node:n1" -> sealed text, owned */
    const struct dt_record *batch;
    size_t batch_count;
    bool is_store_held, is_ticking;
    uint64_t seq;            /* newest stored */
    int64_t stored_now_ms;
    uint64_t sessions;       /* given out so far */
    struct happening *queue; /* queue_count, unsorted */
    size_t queue_count, queue_room;
    uint64_t order;
    struct agent *agents;    /* agents_count */
    size_t agents_count;
    struct dt_dict names;    /* "a" -> job id as pointer-sized value */
    struct dt_dict requests; /* request number -> text, owned */
    uint64_t request;
    struct dt_buf trace;
    size_t failures;         /* of checks and audits; each is in the trace */
};

/* Plan self (moved) to happen after delay_ms. */
void sim_plan(struct sim *sim, int64_t delay_ms, struct happening take);
/* Start or restart the controller from what is stored. */
void sim_controller_start(struct sim *sim);
/* The controller dies: everything not stored is lost, connections close. */
void sim_controller_stop(struct sim *sim);
/* Give an event (contents moved) to the core, if there is one; audit afterwards. */
void sim_event(struct sim *sim, struct dt_event *event);
/* Let the store answer. */
void sim_store_release(struct sim *sim);
/* Run until nothing is planned before until_ms. */
void sim_run(struct sim *sim, int64_t until_ms);
/* Add a line to the trace. */
void sim_say(struct sim *sim, const char *format, ...) DT_PRINTF(2, 3);
/* As sim_say, and count a failure. */
void sim_fail(struct sim *sim, const char *format, ...) DT_PRINTF(2, 3);
/* A stored cluster is the living one: apply it to an empty core and compare the jobs. */
void sim_compare_stored(struct sim *sim);
/* Free all. */
void sim_release(struct sim *sim);

/* The agent of that name, or NULL. */
struct agent *agent_find(struct sim *sim, const char *name);
/* Connect and say hello, if machine, agent, network and controller allow. */
void agent_connect(struct sim *sim, struct agent *agent);
/* A message from the controller has arrived. */
void agent_hear(struct sim *sim, struct agent *agent, const struct dt_tree *message);
/* Ranks of a generation end; rank -1: all of them. */
void agent_exit(struct sim *sim, uint64_t job, int rank, const struct dt_rank_exit *how);
/* The step processes of a node die with their ranks; nobody sees how the ranks ended. */
void agent_lose_steps(struct sim *sim, struct agent *agent);
/* A job's rank 0 tells how far it is. */
void agent_progress(struct sim *sim, uint64_t job, int64_t step, int64_t checkpoint);
/* The connection is gone; the controller hears of it when is_heard. */
void agent_disconnect(struct sim *sim, struct agent *agent, bool is_heard);
/* Every process on the machine is gone. */
void agent_wipe(struct agent *agent);
/* Start the beats of an agent. */
void agent_beats(struct sim *sim, struct agent *agent);

/* Word of a job id as the scenario calls it. */
const char *sim_job_name(struct sim *sim, uint64_t id);
/* Do one line of the script at its time. */
void script_do(struct sim *sim, const char *line);
/* Make up nodes, jobs and faults from a seed, then mend all: every job must end. */
void chance_plan(struct sim *sim, uint64_t seed);
/* After chance_plan has run: jobs that are stuck are failures. */
void chance_check(struct sim *sim);

#endif
