/* A measured run on random tokens: the figures of the trainer, for dt-bench. */
#ifndef DT_TRAINER_BENCH_H
#define DT_TRAINER_BENCH_H

#include "comm.h"
#include "config.h"
#include "op.h"

/* Train config on noise for config.steps measured steps after two others; rank 0 prints one line of
 * JSON. Returns an exit status. */
int bench_run(struct config *config, struct comm *comm, const struct op_table *ops);

#endif
