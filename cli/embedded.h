/* The processes of an embedded cluster: those of our programs that name its run directory. */
#ifndef DT_CLI_EMBEDDED_H
#define DT_CLI_EMBEDDED_H

#include <sys/types.h>

#include "dt/base/err.h"

/* In the order in which they are stopped. */
enum dt_role { DT_ROLE_AGENT, DT_ROLE_STEP, DT_ROLE_SERVER, DT_ROLE_REDIS, DT_ROLE_COUNT };

/* A process held by its pidfd: a signal through it never meets a stranger with the same pid. */
struct dt_held_proc {
    pid_t pid;
    int pidfd;
    enum dt_role role;
    char node[8];       /* of an agent: the name after --node, else "" */
};

/* {0} is empty. */
struct dt_held_procs {
    struct dt_held_proc *item; /* count, owned */
    size_t count;
};

/* cluster.json of a run directory: what up was asked for. NULL when there is none. The caller
 * frees. */
struct dt_tree *dt_embedded_note(const char *run_dir);
/* State directory of the cluster with that run directory, as cluster.json there says, or "". */
void dt_embedded_state_dir(const char *run_dir, char *text, size_t size);

/* Every process of this user that is a dtserver, dtagent, step process or redis-server and has
 * run_dir or the cluster's state directory in its command line. The caller releases. */
void dt_embedded_find(const char *run_dir, struct dt_held_procs *procs);

/*
 * SIGTERM to all of one role, SIGKILL to those still there after grace_ms; returns when they are
 * gone (at most 5 s later). *killed grows by those that needed SIGKILL. DT_TIMEOUT when one stays.
 */
DT_MUST_USE enum dt_code dt_embedded_stop(const char *run_dir, enum dt_role role,
                                          int64_t grace_ms, size_t *killed, struct dt_err *err);

/* Close the pidfds and free. */
void dt_held_procs_release(struct dt_held_procs *procs);

/* Lock of that cluster's up and down, kept while *fd is open; DT_CONFLICT when another has it. */
DT_MUST_USE enum dt_code dt_embedded_lock(const char *name, int *fd, struct dt_err *err);

#endif
