/* A checkpoint directory: which generation we are in it, what counts, what is kept. */
#ifndef DT_TRAINER_CHECKPOINT_H
#define DT_TRAINER_CHECKPOINT_H

#include "dt/ckpt/lineage.h"
#include "dt/ckpt/manifest.h"

/* Used by rank 0 only. */
struct checkpoints {
    char dir[4096];
    char job[128];
    uint64_t gen;             /* our number among the claims of the directory */
    uint64_t job_gen;         /* our number in the job */
    struct dt_claim *claims;  /* claims_count, of earlier generations; owned */
    size_t claims_count;
    struct dt_step_at *steps; /* steps_count: what counts, newest first; owned */
    size_t steps_count;
    bool is_first;            /* the job has no claim here yet */
};

/*
 * Look at dir (made if need be): read all claims and find what lies on their chain. job_gen 0 takes
 * the next number. DT_CONFLICT when this generation of the job has claimed already, DT_STALE when a
 * newer one has, DT_CORRUPT when a claim cannot be read. The caller releases.
 */
DT_MUST_USE enum dt_code checkpoints_open(struct checkpoints *all, const char *dir,
                                          const char *job, uint64_t job_gen,
                                          struct dt_err *err);

/* Free and zero. */
void checkpoints_release(struct checkpoints *all);

/* Write our claim: from the checkpoint step, gen with this digest of its manifest, or gen 0: from
 * nothing. Durable on return. DT_CONFLICT when somebody was faster. */
DT_MUST_USE enum dt_code checkpoints_claim(struct checkpoints *all, const struct dt_step_at *from,
                                           const char *digest, struct dt_err *err);

/* DT_STALE when a generation newer than ours has claimed: we may commit nothing any more. */
DT_MUST_USE enum dt_code checkpoints_check(const struct checkpoints *all, struct dt_err *err);

/* Our checkpoint of step is committed and verified: put it first. */
void checkpoints_add(struct checkpoints *all, int64_t step);

/* Remove this job's checkpoints beyond the newest keep_last, but those at multiples of keep_every
 * (0: none). What cannot be removed stays: the next call tries again. */
void checkpoints_prune(struct checkpoints *all, int64_t keep_last, int64_t keep_every);

/* Remove what killed generations left half-written. */
void checkpoints_sweep(const struct checkpoints *all);

#endif
