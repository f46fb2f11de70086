/* What the files of dtagent share. */
#ifndef DT_AGENT_AGENT_H
#define DT_AGENT_AGENT_H

#include "dt/base/set.h"
#include "dt/core/core.h"
#include "dt/core/gang.h"
#include "dt/net/conn.h"

struct gangs;
struct steps;
struct session;

/* What the generations need of the rest of the agent; set by main. */
struct gangs_out {
    /* tell the controller; when it is away its next hello says the same */
    void (*report)(struct session *session, const struct dt_gang_report *report);
    void (*send)(struct session *session, const struct dt_tree *body, const void *blob,
                 size_t size);
    void (*beat)(struct steps *steps, bool is_connected, bool is_new);
    /* the job's step process, or an idle one that becomes the job's; NULL: one must start first */
    struct step_link *(*claim)(struct steps *steps, uint64_t job);
};

struct agent {
    struct dt_loop *loop;
    struct gangs_out out;
    char node[DT_NAME_BYTES_MAX];
    char host[64];            /* shown to others; the kernel's unless --host */
    char run_dir[300], state_dir[300], keys_dir[300];
    char controller[300];     /* address:port, or a file that holds it */
    char cluster_id[40];
    int cpu_slots;            /* virtual CPU slots; -1 = one a core */
    struct dt_inventory inventory;
    struct gangs *gangs;
    struct steps *steps;
    struct session *session;
    bool stops_jobs_on_exit;
};

/* node.c: cores and memory; gpu.c adds GPUs when NVML is there. */
DT_MUST_USE enum dt_code node_inventory(struct agent *agent, struct dt_err *err);
/* Nobody listens on the port of this IPv4 address. */
bool node_port_is_free(const char *addr, int port);
void gpu_inventory(struct dt_inventory *inventory, const char *node);

/* One generation on this node. */
struct gang {
    uint64_t job, gen;
    enum dt_gang_state state;
    struct dt_tree *bundle;   /* without spec; owned */
    int master_port;          /* 0 = not node rank 0 */
    bool is_up;
    bool is_damaged;          /* its ledger entry was: no bundle, it can only end */
    struct step_link *step;   /* NULL = none connected */
    int64_t lost_ms;          /* loop time since when it has no step */
    struct dt_rank_exit *exits; /* exits_count, owned */
    size_t exits_count;
    struct dt_progress progress;
    struct dt_buf fence;      /* parts of fence_all so far */
};

/* gangs.c: the ledger */
DT_MUST_USE enum dt_code gangs_open(struct agent *agent, struct dt_err *err);
void gangs_close(struct gangs *gangs);
struct gang *gangs_find(struct gangs *gangs, uint64_t job, uint64_t gen);
size_t gangs_count(const struct gangs *gangs);
struct gang *gangs_at(struct gangs *gangs, size_t index);
/* Every gang of the ledger has its step process again, or was given up. */
bool gangs_are_settled(const struct gangs *gangs);
/* Orders of the controller; body is borrowed. */
void gangs_prepare(struct agent *agent, struct dt_tree *body);
void gangs_go(struct agent *agent, const struct dt_tree *body);
void gangs_stop(struct agent *agent, const struct dt_tree *body);
void gangs_forget(struct agent *agent, const struct dt_tree *body);
void gangs_fence_all(struct agent *agent, const struct dt_frame *frame);
/* What a step process said about its generation. */
void gangs_hear(struct agent *agent, struct step_link *link, const struct dt_frame *frame);
/* The connection to a gang's step process ended. */
void gangs_step_lost(struct agent *agent, struct gang *gang);
/* A gang's report as it stands; exits are borrowed. */
struct dt_gang_report gangs_report(const struct gang *gang, enum dt_report_what what);
/* End every generation at once. */
void gangs_stop_all(struct agent *agent);

/* steps.c: step processes */
struct step_link {
    struct agent *agent;
    struct dt_conn *conn;
    pid_t pid;
    uint64_t job;       /* 0 = idle */
    struct gang *gang;  /* present generation, or NULL */
};
DT_MUST_USE enum dt_code steps_open(struct agent *agent, struct dt_err *err);
void steps_close(struct steps *steps);
/* The job's step process, or an idle one that becomes the job's; NULL when one must start first. */
struct step_link *steps_claim(struct steps *steps, uint64_t job);
/* Tell every step process whether the controller is heard, and that this connection is new. */
void steps_beat(struct steps *steps, bool is_connected, bool is_new);

/* session.c: the controller */
DT_MUST_USE enum dt_code session_open(struct agent *agent, struct dt_err *err);
void session_close(struct session *session);
/* The controller was heard within three beats. */
bool session_is_connected(const struct session *session);
/* Report to the controller; when it is away its next hello says the same. */
void session_report(struct session *session, const struct dt_gang_report *report);
void session_send(struct session *session, const struct dt_tree *body, const void *blob,
                  size_t size);

#endif
