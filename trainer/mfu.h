/* How much of the machine's peak a training speed is, in both conventions. */
#ifndef DT_TRAINER_MFU_H
#define DT_TRAINER_MFU_H

#include "dt/shape/sizes.h"

struct mfu {
    double six_n; /* 6 N a token */
    double full;  /* with attention scores and head, not causal */
    double hardware; /* full, and what recomputing adds */
};

/* Ratios for tokens_per_s over all ranks, each with peak floating-point operations a second. */
struct mfu mfu_of(const struct dt_run_shape *run, double tokens_per_s, double peak, int ranks);

#endif
