/* The private Redis of a dtserver: configured, started, watched. */
#ifndef DT_SERVER_REDIS_CHILD_H
#define DT_SERVER_REDIS_CHILD_H

#include "dt/net/loop.h"

struct redis_child;

/* Where it lives. */
struct redis_place {
    const char *program;   /* NULL: redis-server in PATH */
    const char *state_dir; /* its data and configuration go below */
    const char *run_dir;   /* its socket */
};

/*
 * Write the configuration, start it, and start it again when it ends. DT_NOT_FOUND names the
 * package to install. The child ends with this process. socket receives its path.
 */
DT_MUST_USE enum dt_code redis_child_start(struct dt_loop *loop, const struct redis_place *place,
                                           struct redis_child **child, char socket[600],
                                           struct dt_err *err);
/* Stop it (SIGTERM, at most 5 s, then SIGKILL) and free. NULL is fine. */
void redis_child_stop(struct redis_child *child);

#endif
