/* The status page: what one rank is doing, in a page that another process may read at any time. */
#ifndef DT_CKPT_STATUS_H
#define DT_CKPT_STATUS_H

#include "dt/base/base.h"

#define DT_STATUS_PAGE_BYTES 4096

enum dt_phase { DT_PHASE_INIT, DT_PHASE_LOAD, DT_PHASE_STEP, DT_PHASE_EVAL, DT_PHASE_SAVE,
                DT_PHASE_END };

/* What the page says. Times in ns; began_ns is CLOCK_MONOTONIC. */
struct dt_status {
    uint64_t gen;
    int64_t step;       /* last finished */
    uint32_t rank;
    uint32_t phase;     /* enum dt_phase */
    uint64_t began_ns;  /* of the phase, or of the step in it */
    uint64_t step_ns;   /* the last step: all, in kernels, in collectives, for data */
    uint64_t compute_ns;
    uint64_t wait_ns;
    uint64_t data_ns;
    uint64_t sent_bytes; /* since the start */
};

/* Word of a phase: "init load step eval save end"; "unknown" otherwise. */
const char *dt_phase_name(enum dt_phase phase);

/* Write the page (DT_STATUS_PAGE_BYTES, aligned to 64, shared memory). One writer. Never waits. */
void dt_status_write(void *page, const struct dt_status *status);

/* Read it; false when it was never written, is of another version, or changed in each of some
 * hundred tries. Never waits. */
DT_MUST_USE bool dt_status_read(const void *page, struct dt_status *status);

#endif
