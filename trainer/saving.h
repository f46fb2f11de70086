/* When to save, and what to do when that fails. */
#ifndef DT_TRAINER_SAVING_H
#define DT_TRAINER_SAVING_H

#include "report.h"
#include "save.h"

struct saving {
    struct checkpoints *all;   /* rank 0; NULL on the others */
    struct report *report;
    struct save save;          /* step and parent change */
    int nnodes;
    double last_s;             /* when the last save was done, or the run began */
    double cost_s;             /* of the last save; 0: none yet */
    double retry_s;            /* when to try again after a failure; 0: no failure */
    double retry_wait_s;
    int64_t last_step;         /* saved last; -1: none */
};

/* Begin: nothing is due yet. */
void saving_open(struct saving *saving, const struct save *save, struct checkpoints *all,
                 struct report *report, int nnodes);

/* Is a save due after this step, by config.checkpoint or as a second try? Rank 0 alone decides. */
bool saving_is_due(const struct saving *saving, int64_t step);

/*
 * Save the state after step, unless it is saved already, then remove what need not be kept. A
 * failure is an alarm and DT_IO, and a later try; DT_STALE: a newer generation took over, stop.
 */
DT_MUST_USE enum dt_code saving_run(struct saving *saving, int64_t step, struct dt_err *err);

#endif
