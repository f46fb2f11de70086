/* The controller's state, shared by the files of lib/core that decide. */
#ifndef DT_LIB_CORE_STATE_H
#define DT_LIB_CORE_STATE_H

#include "dt/base/set.h"
#include "dt/core/core.h"
#include "dt/core/place.h"

#define LEASE_MS 5000
#define SILENT_MS 2500
#define START_MS_MAX 60000 /* prepare or start without an answer */
#define TICK_MS 500

struct dt_core {
    char cluster_id[40];
    uint64_t seq;
    uint64_t job_next;        /* next job id */
    int64_t now_ms, wall_ms;  /* of the event being decided */
    int64_t listening_ms;     /* since when this controller hears: leases count from here */
    struct dt_set jobs;       /* id -> struct dt_job, owned */
    struct dt_set pending;    /* order key -> struct dt_job, borrowed; see pending_key */
    struct dt_set active;     /* id -> struct dt_job: starting, running, recovering, stopping */
    struct dt_set holding;    /* id -> struct dt_job with held members */
    struct dt_dict nodes;     /* name -> struct dt_node, owned */
    struct dt_dict requests;  /* "uid/req_id" -> struct request, owned */
    const struct dt_node **node_list; /* nodes.count, in name order; rebuilt when nodes join */
    uint64_t fresh_from;      /* pending key of the first job no pass has seen, or UINT64_MAX */
    bool is_full_pass_due;    /* room may have appeared */
    bool is_head_blocked;     /* the first job that may start does not fit: later ones wait */
};

struct request {
    uint64_t first;
    int count;
};

/* core.c: records and effects */
struct dt_record *core_record(struct dt_outcome *outcome, enum dt_record_kind kind);
struct dt_effect *core_effect(struct dt_outcome *outcome, enum dt_effect_kind kind);
/* Apply draft (moved) as the job's new state with an event; the stored job afterwards. */
struct dt_job *core_job_put(struct dt_core *core, struct dt_outcome *outcome,
                            struct dt_job *take, const char *what, const char *text);
/* As core_job_put for a node's durable part. */
void core_node_put(struct dt_core *core, struct dt_outcome *outcome, struct dt_node *take,
                   const char *what, const char *text);
/* Move a draft along the table; asserts that the row exists. */
void core_job_move(struct dt_core *core, struct dt_job *draft, enum dt_job_on on);
/* Send a message (moved) to a node's session; dropped when it has none. */
void core_send(struct dt_core *core, struct dt_outcome *outcome, const char *node,
               struct dt_tree *message);
/* Answer the event's request. */
void core_reply(struct dt_outcome *outcome, const struct dt_event *event, uint64_t job_first,
                int count);
/* Refuse the event's request. */
void core_refuse(struct dt_outcome *outcome, const struct dt_event *event,
                 const struct dt_err *err);

/* core_apply.c */
uint64_t pending_key(const struct dt_job *job);
/* Give a node's devices their owners again from all jobs. */
void core_claim_node(struct dt_core *core, struct dt_node *node);

/* core_job.c */
void core_submit(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_cancel(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_job_limits(struct dt_core *core, struct dt_outcome *outcome);

/* core_gang.c */
void core_report(struct dt_core *core, const char *node, const struct dt_gang_report *report,
                 struct dt_outcome *outcome);
void core_fail_gen(struct dt_core *core, struct dt_job *job, const struct dt_result *result,
                   struct dt_outcome *outcome);
/* If nothing of the generation is left, decide what follows. */
void core_gen_check(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome);
/* Tell every member that is not gone to stop. */
void core_stop_members(struct dt_core *core, const struct dt_job *job, int64_t grace_ms,
                       const char *why, struct dt_outcome *outcome);
struct dt_member *core_member(struct dt_job *job, const char *node);

/* core_node.c */
void core_hello(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_beat(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_closed(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_admin(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);
void core_node_deaths(struct dt_core *core, struct dt_outcome *outcome);

/* core_drain.c */
/* A copy of a node's durable part, or a new node of that name, to be changed and put. */
struct dt_node *core_node_draft(const struct dt_node *node, const char *name);
/* Drained when nothing is left on a draining node. */
void core_node_settle(struct dt_core *core, const char *name, struct dt_outcome *outcome);

/* pass.c */
void core_pass(struct dt_core *core, struct dt_outcome *outcome);
/* May this pending job start now, room aside? Else a code of `dtctl why` in *code. */
bool core_job_may_start(const struct dt_core *core, const struct dt_job *job, const char **code);
/* The first job before this pending key that may start and waits for room: it holds back all behind
 * it. NULL when there is none. *jobs: how many wait before the key. */
const struct dt_job *core_job_ahead(const struct dt_core *core, uint64_t key, int *jobs);

/* ledger.c: what follows a failed generation */
enum ledger_verdict { LEDGER_RESTART, LEDGER_ELSEWHERE, LEDGER_FAIL };
enum ledger_verdict ledger_decide(struct dt_job *draft, int64_t now_ms, char *text, size_t size);

/* launch.c: messages */
struct dt_tree *launch_prepare(const struct dt_core *core, const struct dt_job *job,
                               const struct dt_member *member);
struct dt_tree *launch_go(const struct dt_core *core, const struct dt_job *job);
struct dt_tree *launch_stop(uint64_t job, uint64_t gen, int64_t grace_ms, const char *why);
struct dt_tree *launch_forget(uint64_t job, uint64_t gen, bool is_final);

#endif
