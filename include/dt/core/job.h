/* A job: its life as a table, its durable part, its present generation. */
#ifndef DT_CORE_JOB_H
#define DT_CORE_JOB_H

#include "dt/core/spec.h"

enum dt_job_state {
    DT_JOB_PENDING,
    DT_JOB_HELD,
    DT_JOB_STARTING,   /* a generation is being prepared or started */
    DT_JOB_RUNNING,
    DT_JOB_RECOVERING, /* a generation failed; its processes are being proven gone */
    DT_JOB_STOPPING,   /* cancel or time limit; on the way to a terminal state */
    DT_JOB_PREEMPTING,
    DT_JOB_SUCCEEDED,
    DT_JOB_FAILED,
    DT_JOB_CANCELLED,
    DT_JOB_EXPIRED,
    DT_JOB_STATE_COUNT
};

/* What moves a job; rows of the table name these. */
enum dt_job_on {
    DT_ON_PLACED,      /* a gang was placed: prepare goes out */
    DT_ON_UP,          /* every node's ranks are up */
    DT_ON_FAILED_GEN,  /* a rank, node or prepare failed */
    DT_ON_FINISHED_GEN, /* every rank ended well and every node is gone */
    DT_ON_RESTART,     /* the failed generation is gone: back to the queue or placed anew */
    DT_ON_GIVE_UP,     /* the failed generation is gone and no restart is due */
    DT_ON_CANCEL,
    DT_ON_TIME_LIMIT,
    DT_ON_STOPPED,     /* stopping and every node is gone */
    DT_ON_EXPIRE,      /* queue_time passed */
    DT_ON_HOLD,
    DT_ON_RELEASE,
    DT_JOB_ON_COUNT
};

/* How far a job got, as its ranks tell. */
struct dt_progress {
    int64_t step;            /* -1 = none yet */
    int64_t tokens;
    int64_t step_us;         /* time of one step */
    char loss[32];           /* decimal text */
    char phase[24];
    int64_t checkpoint_step; /* -1 = none */
    char checkpoint_path[512];
};

/* One node's share of a generation. */
struct dt_member {
    char node[DT_NAME_BYTES_MAX];
    int rank_first, ranks_count;
    char (*devices)[48]; /* devices_count ids, rank by rank; owned */
    size_t devices_count;
    uint64_t gen;              /* generation that holds the devices */
    /* heard, not stored */
    bool is_prepared, is_up;
    bool is_gone; /* proven: every process ended, cgroup empty */
    bool is_lost; /* its node was decided dead without proof: devices stay held */
    bool is_done; /* gone, and every rank had ended well */
    int master_port;
};

/* How a job or generation ended. */
struct dt_result {
    char cause[24];  /* exit signal oom node_lost launch cancel time-limit queue-time; "" = well */
    int code, signal;
    int rank;        /* of the first failure; -1 = none */
    char node[DT_NAME_BYTES_MAX];
    char reason[256];  /* a sentence */
    char excerpt[512]; /* last lines of that rank */
};

/* Counters of restart.max; stored. */
struct dt_restarts {
    int total;           /* generations after the first */
    int counted;         /* within the window */
    int64_t counted_ms[64]; /* dt time of counted restarts, newest last */
    int without_progress; /* in a row */
    int64_t last_step;   /* newest checkpoint or step at the last restart */
};

/* A job. Everything but `heard` parts is durable. */
struct dt_job {
    uint64_t id;
    uint64_t version;       /* grows with every record */
    enum dt_job_state state;
    uint64_t gen;           /* present or last generation; 0 = none yet */
    struct dt_caller_id { int64_t uid, gid; char name[DT_NAME_BYTES_MAX]; } owner;
    struct dt_spec *spec;   /* shared by all versions; never changed after submit */
    char *source;           /* as written, or NULL */
    char submit_dir[512];
    char output_dir[512];   /* resolved, absolute */
    char checkpoint_dir[512];
    int64_t submitted_ms, started_ms, finished_ms; /* dt time; 0 = not yet */
    int64_t submitted_wall_ms, started_wall_ms, finished_wall_ms;
    int64_t state_since_ms, state_since_wall_ms;
    int64_t not_before_ms;  /* backoff */
    int64_t stop_deadline_ms; /* STOPPING: when KILL follows */
    bool is_go_sent;        /* STARTING: second phase recorded */
    char req_id[40];        /* idempotency key of its submit; "" = none */
    uint64_t req_first;     /* first job of that submit */
    int req_count;          /* copies of that submit */
    struct dt_restarts restarts;
    struct dt_result result; /* of the job when terminal, else of the last failed generation */
    char avoid[8][DT_NAME_BYTES_MAX]; /* suspect nodes of this job */
    size_t avoid_count;
    struct dt_member *members; /* members_count, of generation gen; owned */
    size_t members_count;
    struct dt_member *held; /* held_count: left of older generations on dead nodes; owned */
    size_t held_count;
    struct dt_progress progress; /* stored with each record, heard in between; step -1 = none */
    /* heard */
    int64_t progress_ms;    /* when the step last advanced; 0 = never */
    char reason[24];        /* PENDING: why it waits, a code of `dtctl why`; "" = not evaluated */
};

/* Word of a state; never NULL. */
const char *dt_job_state_name(enum dt_job_state state);
/* State of a word; DT_JOB_STATE_COUNT when unknown. */
enum dt_job_state dt_job_state_from_name(const char *name);
/* No edge leads out of it. */
bool dt_job_is_terminal(enum dt_job_state state);
/* The table: the state after `on`, or DT_JOB_STATE_COUNT when no row allows it. */
enum dt_job_state dt_job_next(enum dt_job_state state, enum dt_job_on on);
/* docs/job-states.md, printed from the table. */
void dt_job_states_doc(struct dt_buf *buf);
/* "j-000042"; 24 bytes are enough. */
void dt_job_id_format(uint64_t id, char *text, size_t size);
/* Read "j-000042"; 0 when it is none. */
uint64_t dt_job_id_parse(const char *text);
/* A deep copy but for spec and source, which are borrowed from the original. */
struct dt_job *dt_job_copy(const struct dt_job *job);
/* Free a job and all it owns; spec and source only when this is their holder (owns_spec). */
void dt_job_free(struct dt_job *job, bool owns_spec);
/* Copy count members with their device ids; the caller frees with dt_members_free. */
struct dt_member *dt_members_copy(const struct dt_member *members, size_t count);
/* Free count members and the array. */
void dt_members_free(struct dt_member *members, size_t count);

#endif
