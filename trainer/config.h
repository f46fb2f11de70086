/* What to train and how: the resolved job specification, checked and made into numbers. */
#ifndef DT_TRAINER_CONFIG_H
#define DT_TRAINER_CONFIG_H

#include "lr.h"

#include "dt/base/tree.h"
#include "dt/shape/sizes.h"

#define CONFIG_PATHS_MAX 4096

struct config {
    char name[128];
    struct dt_model model;
    char **text;          /* text_count globs of text files, whose bytes are the tokens */
    size_t text_count;
    char **train;         /* train_count token shards */
    size_t train_count;
    double *weights;      /* train_count shares, or NULL: by size */
    char *eval;           /* token shard, or NULL */
    int64_t seq, micro_batch, global_batch, steps;
    enum dt_recompute recompute;
    bool is_deterministic; /* the same bits with any number of ranks */
    struct lr_schedule lr;
    double beta1, beta2, eps, decay, clip;
    uint64_t seed;
    int64_t eval_every, eval_steps;    /* 0: no evaluation */
    char *output_dir;                  /* NULL: not said */
    char *checkpoint_dir;
    int64_t save_steps, save_ms;       /* one is set, or both 0: auto */
    int64_t keep_last, keep_every;     /* keep_every in steps, 0: none kept for good */
    char *resume;                      /* "auto", "never" or a path */
    bool is_verified;                  /* read back what was written */
};

/*
 * Read a configuration: the resolved specification of job.yaml as a tree; absent members get the
 * defaults of job.md section 11. DT_INVALID names the member. The caller releases.
 */
DT_MUST_USE enum dt_code config_read(const struct dt_tree *tree, struct config *config,
                                     struct dt_err *err);

/* The shape of a rank's run with these threads. */
struct dt_run_shape config_run_shape(const struct config *config, int threads);

/* Free the texts and zero it. */
void config_release(struct config *config);

#endif
