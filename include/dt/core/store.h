/* Where records become durable: Redis in dtserver, memory in tests and the simulator. */
#ifndef DT_CORE_STORE_H
#define DT_CORE_STORE_H

#include "dt/core/core.h"

enum dt_commit {
    DT_COMMIT_DONE,     /* durable */
    DT_COMMIT_REFUSED,  /* not applied and never will be: stale epoch or version; exit */
    DT_COMMIT_RETRY,    /* not applied; the same batch may be sent again (busy, loading, full) */
    DT_COMMIT_UNKNOWN   /* no answer: it may or may not have been applied */
};

/* A store. commit starts one batch and returns; the store calls dt_turn_committed later, never
 * from inside commit. At most one batch is under way. records stay valid until then. */
struct dt_store {
    void (*commit)(struct dt_store *self, const struct dt_record *records, size_t count);
    void *owner;
};

#endif
