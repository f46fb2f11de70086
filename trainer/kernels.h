/* Loops of the CPU operations, built once for each instruction set; slices of rows or columns. */
#ifndef DT_TRAINER_KERNELS_H
#define DT_TRAINER_KERNELS_H

#include "op.h"

/* Rows (or elements, columns, units) first .. end - 1. */
struct slice {
    int64_t first, end;
    int thread; /* whose scratch */
};

struct kernels {
    const char *name;
    void (*norm)(const struct op_norm *op, struct slice rows);
    void (*norm_back_x)(const struct op_norm_back *op, struct slice rows);
    void (*norm_back_gain)(const struct op_norm_back *op, struct slice columns);
    void (*rope)(const struct op_rope *op, struct slice rows);
    void (*attention)(const struct op_attention *op, struct slice units);      /* (batch, kv) */
    void (*attention_back)(const struct op_attention *op, struct slice units);
    void (*act)(const struct op_act *op, struct slice rows);
    void (*act_back)(const struct op_act_back *op, struct slice rows);
    void (*bias)(const struct op_bias *op, struct slice rows);
    void (*bias_back)(const struct op_bias *op, struct slice columns);
    void (*cross_entropy)(const struct op_cross_entropy *op, struct slice rows);
    void (*adamw)(const struct op_adamw *op, struct slice elements);
    bool (*fold)(const struct op_fold *op, struct slice elements); /* false: one was over */
    void (*unfold)(const struct op_fold *op, struct slice elements);
    uint64_t (*digest)(const float *x, struct slice elements);
    double (*sum_squares)(const float *x, int64_t size);
    void (*add)(float *x, const float *y, int64_t size);
};

extern const struct kernels kernels_base;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2;
extern const struct kernels kernels_avx512;
#endif

#endif
