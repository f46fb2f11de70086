/* What the files of the step process share. */
#ifndef DT_AGENT_STEP_STEP_H
#define DT_AGENT_STEP_STEP_H

#include "cgroup.h"
#include "dt/base/set.h"
#include "dt/core/core.h"
#include "dt/core/gang.h"
#include "dt/core/rankenv.h"
#include "dt/net/conn.h"

struct pmix;
struct step;

/* One rank of the present generation. */
struct rank {
    struct step *step;
    int number, local;
    pid_t pid;        /* 0 = not running */
    int pidfd;
    struct dt_watch *exit_watch;
    int pipe_fd;      /* its stdout and stderr; -1 = closed */
    struct dt_watch *pipe_watch;
    int log_fd;
    int64_t log_size;     /* bytes in the file */
    int64_t seen_size;    /* bytes the rank wrote */
    int64_t shipped;      /* of seen_size, sent to the agent */
    struct dt_buf recent; /* newest bytes, at most LOG_RECENT_BYTES */
    bool has_ended;
    bool is_connected, has_finalized; /* PMIx */
    struct dt_rank_exit end;
};

struct step {
    struct dt_loop *loop;
    char agent_path[108];   /* the agent's socket */
    char run_dir[300];
    char node[DT_NAME_BYTES_MAX];
    struct dt_conn *agent;  /* NULL while the agent is away */
    struct dt_timer *redial, *ship, *reap, *kill, *control;
    struct pmix *pmix;
    /* the generation; bundle NULL = idle */
    struct dt_tree *bundle;
    uint64_t job, gen;
    enum dt_gang_state state;
    bool is_up_told, is_stop_asked;
    struct cgroup group;
    struct rank *ranks;     /* ranks_count */
    int ranks_count;
    char metrics_path[108];
    int metrics_fd;
    struct dt_watch *metrics_watch;
    struct dt_progress progress;
    int64_t told_step;       /* of it: what the agent knows */
    int64_t told_ms;
    char reported_path[512]; /* newest checkpoint a user program told of */
    char master_addr[64];
    int master_port;
    int64_t acknowledged_ms; /* last beat of the controller, by the agent's word */
    int64_t log_bytes_max;
    int64_t killed_ms;       /* when the group was first killed */
    int64_t grace_end_ms;   /* a stop lets programs go on until then; 0 = none asked */
    /* set by main: a rank joined or was started, perhaps the last one; a rank ended */
    void (*check_up)(struct step *step);
    void (*rank_ended)(struct step *step, struct rank *rank);
};

/* tell.c */
void step_tell(struct step *step, struct dt_tree *take, const void *blob, size_t size);
/* A message about the present generation; the caller adds fields. */
struct dt_tree *step_message(const struct step *step, const char *type);
void step_tell_exits(struct step *step, const char *type);
/* The ends of ranks so far, as member "exits". */
void step_add_exits(const struct step *step, struct dt_tree *message);

/* spawn.c */
DT_MUST_USE enum dt_code spawn_prepare(struct step *step, struct dt_err *err);
/* Start every rank; a failure ends those already started. */
DT_MUST_USE enum dt_code spawn_all(struct step *step, struct dt_err *err);
/* Ask all ranks to end by a signal. */
void spawn_signal(struct step *step, int signal_number);
/* Kill everything of the generation. */
void spawn_kill(struct step *step);
/* Nothing of the generation is left. Reaps strays. */
bool spawn_is_gone(struct step *step);
/* Wait for ended children that are not ranks. */
void spawn_reap_strays(struct step *step);
/* Free what the generation left: groups, watches, sockets, shared memory. */
void spawn_clean(struct step *step);

/* logs.c */
DT_MUST_USE enum dt_code logs_open(struct step *step, struct rank *rank, struct dt_err *err);
/* Take what the rank wrote; closes at its end. */
void logs_pump(struct rank *rank);
/* Send newest bytes to the agent. */
void logs_ship(struct step *step);
/* The last lines, harmless and as UTF-8. */
void logs_excerpt(const struct rank *rank, char *text, size_t size);
void logs_close(struct rank *rank);

/* metrics.c */
DT_MUST_USE enum dt_code metrics_open(struct step *step, struct dt_err *err);
void metrics_close(struct step *step);
/* Tell the agent a step that it does not know yet, once a second at most. */
void metrics_tell(struct step *step);
/* Read one line of a rank (job.md section 11); false when its word is unknown. */
bool metrics_line(struct dt_progress *progress, const char *line, size_t size);

/* pmix.c: the only user of PMIx. A server for the life of the process. */
DT_MUST_USE enum dt_code pmix_open(struct step *step, struct pmix **pmix, struct dt_err *err);
/* A namespace for the present generation; ranks get their variables from pmix_rank_env. */
DT_MUST_USE enum dt_code pmix_generation(struct pmix *pmix, struct dt_err *err);
DT_MUST_USE enum dt_code pmix_rank_env(struct pmix *pmix, int rank, struct dt_texts *env,
                                       struct dt_err *err);
/* Open MPI's components for memory shared by ranks of one node, by its version. */
const char *pmix_shared_btl(void);
/* The joined data of fence `no`. */
void pmix_fence_all(struct pmix *pmix, uint64_t gen, int64_t no, const void *data, size_t size);
/* Tell open fences again: agent or controller was replaced and may not have them. */
void pmix_fences_again(struct pmix *pmix);
/* The generation is over. */
void pmix_generation_end(struct pmix *pmix);
/* Remove the server's directory; the process exits after it. */
void pmix_remove_dir(struct pmix *pmix);

#endif
