/* One training step: runs a schedule over model, data and collectives, then updates the weights. */
#ifndef DT_TRAINER_EXEC_H
#define DT_TRAINER_EXEC_H

#include "comm.h"
#include "config.h"
#include "data.h"
#include "model.h"

#include "dt/shape/mesh.h"
#include "dt/shape/schedule.h"

/* A rank ready to step. Everything but runs, buckets and schedule is borrowed. */
struct exec {
    const struct config *config;
    const struct data *data;
    struct comm *comm;
    struct model *model;
    struct dt_mesh mesh;
    struct dt_span share;          /* of the step's micro-batches, numbered over all replicas */
    struct dt_buckets buckets;
    struct dt_schedule schedule;
    struct exec_run {
        int64_t first, count;      /* elements of the flat buffer */
        bool is_decayed;
    } *runs;                       /* runs_count: neighbours that decay alike */
    size_t runs_count;
    int64_t consumed;              /* samples before the step */
    uint64_t digest;               /* of the weights as they are; begin with exec_weights_set */
    int64_t optimizer_step;        /* updates done, for the bias correction */
    double grad_scale, loss_scale; /* of exact sums, powers of two; 0: sums are inexact */
    double grad_limit;
};

/* What came out of a step, the same on every rank but for the times. */
struct step_result {
    double loss;            /* mean over all tokens */
    double norm;            /* of the mean gradient, before clipping */
    double lr;
    int64_t tokens;
    uint64_t digest;        /* of this rank's weights after the step */
    bool is_skipped;        /* loss or norm not finite: no update */
    bool wants_save, wants_stop; /* on any rank */
    double total_s, compute_s, wait_s, data_s;
};

/* Prepare; the caller closes. */
void exec_open(struct exec *exec, const struct config *config, const struct data *data,
               struct comm *comm, struct model *model);

/* Free what open made. */
void exec_close(struct exec *exec);

/* The weights were set from outside: take their digest. */
void exec_weights_set(struct exec *exec);

/*
 * Do one step. wants are this rank's wishes {save, stop}; every rank learns of any rank's. On
 * success consumed moves on, also when the update was skipped. DT_IO: data; DT_UNREACHABLE: a
 * peer; DT_CORRUPT: before the step, the ranks' weights were not the same: memory or a CPU errs.
 */
DT_MUST_USE enum dt_code exec_step(struct exec *exec, const bool wants[2],
                                   struct step_result *result, struct dt_err *err);

/* The mean loss over count batches of other data, forward only, summed over the ranks. */
DT_MUST_USE enum dt_code exec_eval(struct exec *exec, const struct data *data, int64_t count,
                                   double *loss, struct dt_err *err);

#endif
