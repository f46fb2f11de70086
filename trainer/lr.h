/* The learning rate as a function of the samples consumed. */
#ifndef DT_TRAINER_LR_H
#define DT_TRAINER_LR_H

#include "dt/base/base.h"

/* How the rate falls from peak to floor at horizon: half a cosine, a line, or not at all. */
enum lr_fall { LR_COSINE, LR_LINEAR, LR_CONSTANT };

/* A rise from 0 over warmup samples, then the fall. */
struct lr_schedule {
    enum lr_fall fall;
    double peak, floor;
    int64_t warmup;  /* samples */
    int64_t horizon; /* samples of the whole run, kept in checkpoints */
};

/* The rate of the step that brings the consumed samples to this number. */
double lr_at(const struct lr_schedule *schedule, int64_t consumed);

#endif
