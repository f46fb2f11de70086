/* The private Redis of a dtserver: configured, started, watched. */
#ifndef DT_SERVER_REDIS_CHILD_H
#define DT_SERVER_REDIS_CHILD_H

#include "dt/net/loop.h"

struct redis_child;

/*
 * Write the configuration below state_dir, start program (NULL: redis-server in PATH) on a Unix
 * socket in run_dir, and start it again when it ends. DT_NOT_FOUND names the package to install.
 * The child ends with this process. socket receives its path.
 */
DT_MUST_USE enum dt_code redis_child_start(struct dt_loop *loop, const char *program,
                                           const char *state_dir, const char *run_dir,
                                           struct redis_child **child, char *socket,
                                           size_t socket_size, struct dt_err *err);
/* Stop it (SIGTERM, at most 5 s, then SIGKILL) and free. NULL is fine. */
void redis_child_stop(struct redis_child *child);

#endif
