/* The controller's decisions: event in, records and effects out. */
#ifndef DT_CORE_CORE_H
#define DT_CORE_CORE_H

#include "dt/core/cluster.h"
#include "dt/core/job.h"

/* The whole state of a cluster; opaque outside lib/core. */
struct dt_core;

/* Who asks. From SO_PEERCRED or a token, never from a request's body. */
struct dt_caller {
    int64_t uid, gid;
    char name[DT_NAME_BYTES_MAX];
    bool is_operator; /* may act on others' jobs and on nodes */
};

enum dt_event_kind {
    DT_EV_TICK,       /* time passed: deadlines, leases, backoff, queue pass */
    DT_EV_SUBMIT,
    DT_EV_CANCEL,
    DT_EV_NODE_HELLO, /* a new session of a node with its inventory and its gangs */
    DT_EV_NODE_BEAT,
    DT_EV_NODE_CLOSED, /* its connection ended */
    DT_EV_NODE_ADMIN, /* cordon, drain, resume */
    DT_EV_GANG_REPORT /* a node tells about one generation */
};

/* What a node reports about its part of one generation; words of the message field "what". */
enum dt_report_what {
    DT_REPORT_PREPARED, /* ledger entry, cgroup and port exist; nothing runs */
    DT_REPORT_REFUSED,  /* prepare failed; nothing is left; reason says why */
    DT_REPORT_UP,       /* every rank was started (mpi: and has connected) */
    DT_REPORT_EXIT,     /* one rank ended */
    DT_REPORT_PROGRESS, /* newest step, loss or checkpoint of the job on this node */
    DT_REPORT_GONE      /* every process ended and the cgroup is empty: devices are free */
};

/* One rank's end, or {rank = -1} for none. */
struct dt_rank_exit {
    int rank;
    int code;          /* exit status, 0 when by signal */
    int signal;        /* 0 when by exit */
    bool is_oom;
    bool is_stopped;   /* ended because dt stopped the generation */
    bool is_incomplete; /* exit 0 that does not count: no MPI finalize, steps missing */
    int64_t at_ms;     /* on the step process' clock; only compared within a node */
    char class_name[24]; /* cause: exit signal oom hang launch node_lost */
    char excerpt[512]; /* last lines of its output, sanitised */
};

/* A node's part of one generation, as a hello lists it and a report changes it. */
struct dt_gang_report {
    uint64_t job, gen;
    uint64_t number;     /* of the report, counted per node session; 0 in a hello */
    enum dt_report_what what;
    int master_port;     /* PREPARED on node rank 0 */
    bool is_up;          /* HELLO: UP was reached */
    bool is_gone;        /* HELLO: GONE was reached */
    struct dt_rank_exit *exits; /* exits_count, owned by the event */
    size_t exits_count;
    struct dt_progress progress;
    char reason[256];    /* REFUSED */
};

enum dt_admin_what { DT_ADMIN_CORDON, DT_ADMIN_DRAIN, DT_ADMIN_RESUME };

/* One happening. Texts and arrays are owned by the event and released by dt_event_release. */
struct dt_event {
    enum dt_event_kind kind;
    int64_t now_ms;   /* dt time: monotonic, never backwards */
    int64_t wall_ms;  /* since 1970; only stored and shown */
    uint64_t request; /* handle that the reply effect carries back; 0 = nobody waits */
    struct dt_caller caller; /* SUBMIT CANCEL NODE_ADMIN */
    char req_id[40];  /* client's idempotency key; "" = none */
    /* SUBMIT */
    struct dt_spec *spec;   /* moved */
    char *source;           /* text as the user wrote it; may be NULL */
    char *submit_dir;
    int count;              /* copies to submit, 1..1000 */
    bool is_if_possible;    /* refuse (DT_BUSY) what cannot start at once; count is 1 */
    /* CANCEL */
    uint64_t job;
    int64_t grace_ms;       /* -1 = the job's own */
    /* nodes */
    char node[DT_NAME_BYTES_MAX];
    uint64_t session;       /* connection number given by the shell, growing */
    struct dt_inventory *inventory; /* HELLO */
    bool is_reset;          /* CLOSED: the peer's kernel answered with a reset or end of file */
    enum dt_admin_what admin;
    /* reports: one for GANG_REPORT; any number in HELLO and BEAT */
    struct dt_gang_report *reports;
    size_t reports_count;
};

/* Free what the event owns and zero it. */
void dt_event_release(struct dt_event *event);

enum dt_record_kind { DT_RECORD_JOB, DT_RECORD_NODE };

/* The outcome of one decision: the object as it is from now on, and the event that tells why. */
struct dt_record {
    enum dt_record_kind kind;
    uint64_t seq;        /* one per record, from the state */
    int64_t now_ms;      /* dt time */
    int64_t wall_ms;
    struct dt_job *job;  /* JOB: a deep copy of the job's durable part */
    bool has_spec;       /* JOB: first record; specification and source go along */
    bool has_members;    /* JOB: a new generation was placed; its members go along */
    struct dt_node *node; /* NODE: a deep copy of the node's durable part */
    char what[32];       /* event word, such as "submitted", "placed", "rank-exit"; "" = none */
    char text[512];      /* the reason as a sentence */
    char req_id[40];     /* answered by this record; "" = none */
    int64_t uid;         /* whose req_id */
};

enum dt_effect_kind {
    DT_EFF_REPLY, /* answer a request */
    DT_EFF_SEND,  /* a message to a node's present session */
    DT_EFF_CLOSE, /* fence a node session: close that connection */
    DT_EFF_READ   /* a held read may be answered now (made by turn, never by core) */
};

/* What the core wants done once its records are durable. */
struct dt_effect {
    enum dt_effect_kind kind;
    uint64_t request;    /* REPLY, READ */
    struct dt_err err;   /* REPLY; DT_OK when done */
    uint64_t job_first;  /* REPLY to SUBMIT: ids job_first .. job_first+jobs_count-1 */
    int jobs_count;
    char node[DT_NAME_BYTES_MAX]; /* SEND, CLOSE */
    uint64_t session;             /* SEND, CLOSE: dropped by the shell when another is current */
    struct dt_tree *message;      /* SEND: owned; type and fields of docs/protocol.md */
};

/* Records in order, then effects in order; owned. {0} is empty. */
struct dt_outcome {
    struct dt_record *records;
    size_t records_count, records_room;
    struct dt_effect *effects;
    size_t effects_count, effects_room;
};

/* Free both lists and zero it. */
void dt_outcome_release(struct dt_outcome *outcome);

/* An empty state of cluster_id (32 hex digits). The caller frees with dt_core_free. */
struct dt_core *dt_core_make(const char *cluster_id);
/* Free all. */
void dt_core_free(struct dt_core *core);

/*
 * Decide about one event: append records and effects to outcome, having already applied the
 * records to the state. event is borrowed except for what it says is moved. Deterministic.
 */
void dt_core_step(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome);

/*
 * Change the state by one record: the only thing that does. Used by step and, at start, for every
 * stored object. DT_STALE when the object's version is not newer; DT_CORRUPT when it contradicts.
 */
DT_MUST_USE enum dt_code dt_core_apply(struct dt_core *core, const struct dt_record *record,
                                       struct dt_err *err);

/* After the last stored object was applied: continue counters at `seq` and time at `now_ms`;
 * every node is silent until it says hello. */
void dt_core_resume(struct dt_core *core, uint64_t seq, int64_t now_ms);

/* The id that the next job gets. */
uint64_t dt_core_job_next(const struct dt_core *core);
/* Never give an id below next again, though no stored job says so. */
void dt_core_job_reserve(struct dt_core *core, uint64_t next);

/* When the core wants a TICK next; INT64_MAX = no need. */
int64_t dt_core_next_ms(const struct dt_core *core);

/* Last sequence number used. */
uint64_t dt_core_seq(const struct dt_core *core);

/* A job by id, borrowed until the next step; NULL when unknown. */
const struct dt_job *dt_core_job(const struct dt_core *core, uint64_t id);
/* Jobs with id >= from in order: call with 0, then last id + 1; NULL at the end. */
const struct dt_job *dt_core_job_from(const struct dt_core *core, uint64_t from);
/* A node by name, borrowed; NULL when unknown. */
const struct dt_node *dt_core_node(const struct dt_core *core, const char *name);
/* Nodes in name order by index 0..; NULL past the last. */
const struct dt_node *dt_core_node_at(const struct dt_core *core, size_t index);
/* The job that an earlier call with this req_id of this user made; 0 = none. *count its copies. */
uint64_t dt_core_request(const struct dt_core *core, int64_t uid, const char *req_id, int *count);

/* The object of `dtctl why` (job.md section 10); the caller frees. NULL when unknown. */
struct dt_tree *dt_core_why(const struct dt_core *core, uint64_t job, int64_t now_ms);

/* free + held + unhealthy = total on every node, one owner per device, edges legal; else
 * DT_INTERNAL with what is wrong. O(nodes + jobs). */
DT_MUST_USE enum dt_code dt_core_audit(const struct dt_core *core, struct dt_err *err);

#endif
