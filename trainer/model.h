/* A decoder: its memory, and forward and backward of one micro-batch through the op table. */
#ifndef DT_TRAINER_MODEL_H
#define DT_TRAINER_MODEL_H

#include "op.h"

#include "dt/shape/sizes.h"

/* Where a layer's tensors begin, in elements from its first one; -1: this model has none. */
struct layer_map {
    int64_t size;
    int64_t attn_norm, attn_norm_bias, qkv, qkv_bias, out, out_bias;
    int64_t ffn_norm, ffn_norm_bias, up, up_bias, down, down_bias;
};

/* What backward wants of one layer. T = micro_batch * seq; sizes in sizes.h. What run.recompute
 * computes again is the same memory in all layers. */
struct layer_acts {
    float *x1, *n1;       /* (T, h) input, normed */
    float *rstd1, *mean1; /* (T); mean only for gpt2 */
    float *qkv;           /* (T, (a + 2k) d), turned */
    float *o, *lse;       /* (T, h), (batch, a, seq) */
    float *x2, *n2;       /* (T, h) after attention, normed */
    float *rstd2, *mean2;
    float *up, *act;      /* (T, 2f or f), (T, f) */
};

struct model {
    struct dt_run_shape run;
    struct dt_layer_room room;
    const struct op_table *ops;
    int64_t params_count;
    float *params, *grads;     /* (params_count) each, flat, laid out by dt_model_tensor */
    float *adam_m, *adam_v;
    uint64_t *sums;            /* (params_count) exact sums of gradients, or NULL */
    int64_t embed, positions;  /* offsets; positions -1 for llama */
    int64_t first_layer;
    struct layer_map map;
    int64_t norm, norm_bias, head; /* offsets; head == embed when tied */
    struct layer_acts *layers;     /* run.model.layers */
    int64_t held;              /* the layer whose values lie in the memory all share; -1: none */
    float *x_end, *n_end, *rstd_end, *mean_end;
    float *logits;             /* (T, V); after forward: their gradient */
    float *d, *dn;             /* (T, h): gradient of the residual stream, of a branch */
    float *dqkv, *dact, *delta, *row_loss;
    float *turn;               /* (seq, d): cosines and sines */
    float *scratch;
    int32_t *ids, *targets;    /* (T), filled by the caller */
    int64_t allocated[DT_MEMORY_COUNT]; /* bytes */
};

/* Allocate everything for this shape, zeroed. The caller closes. */
void model_open(struct model *model, const struct dt_run_shape *run, const struct op_table *ops);

/* Free everything. */
void model_close(struct model *model);

/* Fill the weights: each element a function of (seed, tensor, its index). */
void model_fill(struct model *model, uint64_t seed);

/* The sum of the losses of the micro-batch in ids and targets; targets below 0 do not count. With
 * is_training what backward needs is kept. */
double model_forward(struct model *model, bool is_training);

/*
 * Add one layer's part to the gradients of the sum of losses. Called downwards after a training
 * forward: layer == layers is head and final norm, -1 the embedding.
 */
void model_backward(struct model *model, int64_t layer);

#endif
