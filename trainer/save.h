/* Writing a checkpoint: shards, then the manifest, then one rename that makes it count. */
#ifndef DT_TRAINER_SAVE_H
#define DT_TRAINER_SAVE_H

#include "checkpoint.h"
#include "exec.h"

/* Everything a checkpoint says beside the tensors. */
struct save {
    const struct checkpoints *all;
    const struct exec *exec;
    const struct model *model;
    const struct config *config;
    const struct data *data;
    int64_t step;
    struct dt_step_at parent; /* the checkpoint before; gen 0: none */
};

/*
 * Write and commit the present state; with is_verified it is read back before it counts. path
 * receives the directory. DT_STALE: a newer generation took over. DT_IO: nothing was committed and
 * the temporary files are gone (disk full and the like): try again later.
 */
DT_MUST_USE enum dt_code save_write(const struct save *save, char path[4200],
                                    struct dt_err *err);

/* SHA-256 of what must not change when a run goes on: the model's shape. */
void save_fingerprint(const struct dt_model *model, char hex[DT_SHA256_HEX_BYTES]);

#endif
