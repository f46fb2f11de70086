/* A training run of one rank, from the agreement of all ranks to the last checkpoint. */
#ifndef DT_TRAINER_TRAIN_H
#define DT_TRAINER_TRAIN_H

#include "comm.h"
#include "config.h"
#include "data.h"
#include "op.h"
#include "world.h"

/* Exit statuses of dttrain (job.md section 11). */
enum train_exit {
    TRAIN_DONE = 0,
    TRAIN_CONFIG = 3,
    TRAIN_DATA = 20,
    TRAIN_NO_CHECKPOINT = 21,
    TRAIN_NO_MEMORY = 22,
    TRAIN_NOT_FINITE = 23,
    TRAIN_PEER_LOST = 24,
    TRAIN_DEVICE = 25,
    TRAIN_STOPPED = 75
};

/* What a run needs; everything is borrowed but config's schedule, which a checkpoint may set. */
struct train {
    struct config *config;
    const struct world *world;
    const struct data *data;
    const struct data *eval; /* or NULL */
    struct comm *comm;
    const struct op_table *ops;
    double peak; /* measured operations a second of a rank, for MFU; 0: not measured */
    const char *output_dir, *checkpoint_dir;
};

/* Wishes that come as signals: save now, or save and stop. Safe in a signal handler. */
void train_ask_save(void);
void train_ask_stop(void);

/* Data smaller than one batch, or of the wrong kind: DT_INVALID with the numbers. */
DT_MUST_USE enum dt_code train_check_data(const struct config *config, const struct data *data,
                                          struct dt_err *err);

/* Run; prints errors itself. Every rank of comm calls it; returns the exit status. */
int train_run(const struct train *train);

/* Print an error for a person and return status. */
int train_fail(int status, const struct dt_err *err);

#endif
