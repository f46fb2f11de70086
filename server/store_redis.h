/* Records in Redis: taken over, loaded, committed. */
#ifndef DT_SERVER_STORE_REDIS_H
#define DT_SERVER_STORE_REDIS_H

#include "dt/core/turn.h"
#include "redis_link.h"

struct store_redis;

/* Where the store stood when it was taken over. */
struct store_loaded {
    uint64_t epoch, seq;
    int64_t now_ms, wall_ms; /* of the newest record */
};

/* Whose objects are stored and where they are applied. */
struct store_place {
    const char *cluster_id;
    struct dt_core *core; /* borrowed */
    uint64_t epoch_least, seq_least; /* the store is raised to these; 0 = as it is */
};

/* What the store tells its owner. */
struct store_calls {
    /* everything was applied to core: serve. Or err says why not. */
    void (*on_loaded)(void *owner, const struct store_loaded *loaded, const struct dt_err *err);
    /* the batch given to commit */
    void (*on_committed)(void *owner, enum dt_commit outcome);
    /* one durable event, in order; json is borrowed */
    void (*on_event)(void *owner, uint64_t seq, uint64_t job, const char *json, size_t size);
};

/* A store over the Redis at socket that applies what it holds to the place's core. */
struct store_redis *store_redis_make(struct dt_loop *loop, const char *socket,
                                     const struct store_place *place,
                                     const struct store_calls *calls, void *owner);
/* Free; NULL is fine. */
void store_redis_free(struct store_redis *store);
/* The interface that turn uses. */
struct dt_store *store_redis_ops(struct store_redis *store);
/* Loaded, Redis reachable, and no batch stuck: a record given now is stored soon. */
bool store_redis_is_up(const struct store_redis *store);
/* Sequence number of the newest durable record. */
uint64_t store_redis_seq(const struct store_redis *store);
/* Lost or refused commits are tried again by this; call once a second. */
void store_redis_poll(struct store_redis *store);
/* Read a job's events with seq >= from, at most limit; items are JSON texts. LOST when down. */
void store_redis_events(struct store_redis *store, uint64_t job, redis_reply *reply, void *owner);

#endif
