/* One connection to Redis: commands in order, each with a deadline. */
#ifndef DT_SERVER_REDIS_LINK_H
#define DT_SERVER_REDIS_LINK_H

#include "dt/net/loop.h"
#include "redis_value.h"

struct redis_link;

/* One argument of a command. */
struct redis_arg {
    const char *bytes;
    size_t size;
};

/* A link that dials the Unix socket at path and dials again after a loss. on_up is called each
 * time it is connected. The caller frees. */
struct redis_link *redis_link_make(struct dt_loop *loop, const char *path,
                                   void (*on_up)(void *owner), void *owner);
/* Free; commands under way get LOST. NULL is fine. */
void redis_link_free(struct redis_link *link);
/* Connected? */
bool redis_link_is_up(const struct redis_link *link);
/* Send a command; reply is called once, with LOST when not connected or past its deadline. */
void redis_link_send(struct redis_link *link, const struct redis_arg *args, size_t count,
                     redis_reply *reply, void *owner);

#endif
