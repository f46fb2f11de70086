/* The operations a model is made of, as a table that CPU and GPU fill in. */
#ifndef DT_TRAINER_OP_H
#define DT_TRAINER_OP_H

#include "dt/base/base.h"

/*
 * Every pointer is memory of the table's device, fp32 unless said; every matrix is row-major.
 * T tokens, h hidden, a query heads, k key-value heads, d head size, f feed-forward width, V
 * vocabulary. One structure an operation, so that a queue can hold it. Same arguments on the same
 * machine with the same threads: same bits.
 */

/* c (rows, cols) = a . b (+ c when adds). a (rows, inner), b (inner, cols); is_a_turned: a is
 * stored (inner, rows); is_b_turned: b is stored (cols, inner). */
struct op_matmul {
    const float *a, *b;
    float *c;
    int64_t rows, cols, inner;
    bool is_a_turned, is_b_turned;
    bool adds;
};

/* out[t] = table[ids[t]] (+ positions[t % seq] unless NULL). */
struct op_embed {
    const int32_t *ids;     /* (T) */
    const float *table;     /* (V, h) */
    const float *positions; /* (seq, h) or NULL */
    float *out;             /* (T, h) */
    int64_t tokens, hidden, seq;
};

/* dtable[ids[t]] += d[t]; dpositions[t % seq] += d[t] unless NULL; in the order of t. */
struct op_embed_back {
    const int32_t *ids;
    const float *d;
    float *dtable, *dpositions;
    int64_t tokens, hidden, seq;
};

/* y = x / rms(x) * gain, or with bias: (x - mean) / sd * gain + bias. Epsilon 1e-5. */
struct op_norm {
    const float *x;           /* (rows, width) */
    const float *gain, *bias; /* (width); bias NULL: RMSNorm */
    float *y;
    float *copy;              /* (rows, width) = x, or NULL */
    float *rstd, *mean;       /* (rows); mean only with bias */
    int64_t rows, width;
};

/* dx += gradient through the norm; dgain += ; dbias += (with bias). */
struct op_norm_back {
    const float *dy, *x, *gain, *rstd, *mean; /* mean NULL: RMSNorm */
    float *dx, *dgain, *dbias;
    int64_t rows, width;
};

/* Turn pairs (i, i + d/2) of the a + k first heads of each row of qkv by the row's angle. */
struct op_rope {
    float *qkv;        /* (T, (a + 2k) d) in place */
    const float *turn; /* (seq, d): d/2 cosines, then d/2 sines */
    int64_t tokens, seq, heads, kv_heads, head;
    bool is_back;      /* turn by the negative angle */
};

/* Causal softmax(q k^T / sqrt(d)) v with grouped heads; lse is what backward needs. */
struct op_attention {
    const float *qkv;      /* (T, (a + 2k) d) */
    float *out;            /* (T, a d) */
    float *lse;            /* (batch, a, seq) */
    const float *dout;     /* backward only: (T, a d) */
    float *dqkv;           /* backward only: (T, (a + 2k) d), overwritten */
    float *delta;          /* backward only: (batch, a, seq) work */
    float *scratch;        /* threads x scratch_size */
    int64_t scratch_size;
    int64_t batch, seq, heads, kv_heads, head;
};

/* act = silu(up[:, :f]) * up[:, f:] (is_gated, up is (T, 2f)), or gelu_tanh(up). */
struct op_act {
    const float *up;
    float *act;        /* (T, f) */
    int64_t tokens, width;
    bool is_gated;
};

/* up is replaced by its gradient. */
struct op_act_back {
    const float *dact; /* (T, f) */
    float *up;
    int64_t tokens, width;
    bool is_gated;
};

/* x[r] += bias for every row; back: dbias += sum of rows of x. */
struct op_bias {
    float *x;    /* (rows, width) */
    float *bias; /* (width): read forward, added to backward */
    int64_t rows, width;
};

/* loss[t] = -log softmax(z[t])[target[t]]; with is_training z becomes d(sum loss)/dz. A negative
 * target does not count: loss 0, gradient 0. */
struct op_cross_entropy {
    float *z;               /* (T, V) */
    const int32_t *target;  /* (T) */
    float *loss;            /* (T) */
    int64_t tokens, vocab;
    bool is_training;
};

/* AdamW (decoupled decay) on a run of elements; the gradient is taken times grad_scale. */
struct op_adamw {
    float *p, *m, *v;
    const float *g;
    int64_t size;
    float lr, beta1, beta2, eps, decay, grad_scale;
    float fix1, fix2; /* 1 / (1 - beta^t) */
};

/* sums[i] += g[i] * scale to the nearest whole number, modulo 2^64; g = 0. Whole numbers add up to
 * the same bits in any order and grouping. scale is a power of two. Not to be used when a |g| *
 * scale is limit (at most 2^62) or more, or no number. */
struct op_fold {
    float *g;
    uint64_t *sums;
    int64_t size;
    double scale, limit;
};

struct op_table {
    const char *name; /* "cpu/avx512" */
    int threads;
    /* Zeroed device memory of size bytes; free with release. Never NULL on the CPU. */
    void *(*take)(size_t size);
    void (*release)(void *memory);
    void (*matmul)(const struct op_matmul *op);
    void (*embed)(const struct op_embed *op);
    void (*embed_back)(const struct op_embed_back *op);
    void (*norm)(const struct op_norm *op);
    void (*norm_back)(const struct op_norm_back *op);
    void (*rope)(const struct op_rope *op);
    void (*attention)(const struct op_attention *op);
    void (*attention_back)(const struct op_attention *op);
    void (*act)(const struct op_act *op);
    void (*act_back)(const struct op_act_back *op);
    void (*bias)(const struct op_bias *op);
    void (*bias_back)(const struct op_bias *op);
    void (*cross_entropy)(const struct op_cross_entropy *op);
    void (*adamw)(const struct op_adamw *op);
    bool (*fold)(const struct op_fold *op); /* false: a value was over the limit */
    /* The way back: g[i] = sums[i] / scale. */
    void (*unfold)(const struct op_fold *op);
    /* Sum of the words of x, each times 2 i + 1, modulo 2^64: one changed bit changes it. */
    uint64_t (*digest)(const float *x, int64_t size);
    /* Sum of squares in double, in an order that does not depend on the threads. */
    double (*sum_squares)(const float *x, int64_t size);
    void (*fill_zero)(float *x, int64_t size);
};

/*
 * The CPU's table with its own threads (1..256), made once and kept to the end of the process.
 * Several callers may use tables of one thread at the same time.
 */
const struct op_table *op_cpu(int threads);

/* Run the program again with the matrix kernels this CPU deserves when OpenBLAS did not know it
 * (OPENBLAS_CORETYPE); does nothing when that is set or not needed. Call first in main. */
void op_cpu_choose_core(char **argv);

/* Floating-point operations per second of a large matrix product with these threads: the peak
 * that MFU is measured against. Takes about 20 ms. */
double op_cpu_peak(const struct op_table *table);

#endif
