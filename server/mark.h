/* High-water mark of the store, on the controller's own disk: a store behind it was rolled back. */
#ifndef DT_SERVER_MARK_H
#define DT_SERVER_MARK_H

#include "dt/base/err.h"

/* What the store held at least; all zero before the first start. */
struct mark {
    uint64_t epoch, seq;
    uint64_t job_next; /* ids below were given to users */
};

/* Read STATE/high-water-mark. Zeros when there is none; DT_CORRUPT when it is damaged. */
DT_MUST_USE enum dt_code mark_read(const char *state_dir, struct mark *mark, struct dt_err *err);

/* Replace it, synced: two fsyncs. */
DT_MUST_USE enum dt_code mark_write(const char *state_dir, const struct mark *mark,
                                    struct dt_err *err);

/* DT_CONFLICT, with what to do, when a store at seq is behind the mark. */
DT_MUST_USE enum dt_code mark_check(const struct mark *mark, uint64_t seq, struct dt_err *err);

#endif
