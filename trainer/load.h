/* Going on from a checkpoint: the newest one that is whole, or none. */
#ifndef DT_TRAINER_LOAD_H
#define DT_TRAINER_LOAD_H

#include "checkpoint.h"
#include "config.h"
#include "data.h"
#include "model.h"

/* Where a run begins. Plain values: rank 0 sends it to the others as it is. */
struct start {
    bool is_found;           /* false: from nothing */
    bool is_foreign;         /* given by path: not of this directory's chain */
    struct dt_step_at at;    /* the checkpoint */
    int64_t step, consumed, optimizer_step;
    int64_t horizon, warmup;
    uint32_t weights_crc32c;
    char digest[DT_SHA256_HEX_BYTES]; /* of the manifest */
};

/* What is looked through, and what it must fit. Borrowed. */
struct load {
    const struct checkpoints *all;
    const char *resume_from; /* what the launcher names (DT_RESUME_FROM), or NULL */
    const struct config *config;
    const struct data *data;
    struct model *model; /* filled */
};

/*
 * On rank 0: find the newest checkpoint of all's chain that is whole, and read it into model; with
 * an empty chain the one that config.resume or, with auto, resume_from names: one checkpoint, or
 * the newest whole one of another checkpoint directory. A damaged one is named on stderr and the
 * one before it is tried; each is tried once. DT_OK with is_found false when there is none yet;
 * DT_CORRUPT when there were some but none is whole; DT_CONFLICT when the newest is of another
 * model or other data; DT_NOT_FOUND when resume_from names one of our own directory that does not
 * count.
 */
DT_MUST_USE enum dt_code load_start(const struct load *load, struct start *start,
                                    struct dt_err *err);

#endif
