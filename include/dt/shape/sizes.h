/* How big a model is: its logical tensors, parameters, floating-point work and memory. */
#ifndef DT_SHAPE_SIZES_H
#define DT_SHAPE_SIZES_H

#include "dt/base/err.h"

enum dt_arch { DT_ARCH_LLAMA, DT_ARCH_GPT2 };

/* A decoder. hidden is a multiple of heads, heads of kv_heads; head size is hidden / heads. */
struct dt_model {
    enum dt_arch arch;
    int64_t layers, hidden, heads, kv_heads, ffn, vocab;
    bool is_tied;      /* the head is the embedding */
    int64_t positions; /* learned positions (gpt2); llama: longest sequence, no parameters */
};

/* The shape of a preset (job.md section 11), or false when there is no such name. */
DT_MUST_USE bool dt_model_preset(const char *name, struct dt_model *model);

/* Name of the index-th preset, NULL past the last. */
const char *dt_model_preset_name(size_t index);

/* Check bounds and divisions; DT_INVALID names the wrong value. */
DT_MUST_USE enum dt_code dt_model_check(const struct dt_model *model, struct dt_err *err);

/* "llama" or "gpt2". */
const char *dt_arch_name(enum dt_arch arch);

/* Number of parameters, tied tensors once. planner.md section 1. */
int64_t dt_model_params(const struct dt_model *model);

/* How a tensor begins. */
enum dt_fill { DT_FILL_NORMAL, DT_FILL_NORMAL_DEEP, DT_FILL_ONE, DT_FILL_ZERO };

/* A logical tensor as checkpoints name it: row-major, matrices are (out, in). */
struct dt_tensor {
    char name[64];
    int64_t rows, cols;  /* a vector has rows 1 */
    int64_t offset;      /* elements from the start of the flat parameter buffer */
    enum dt_fill fill;   /* NORMAL: sd 0.02; DEEP: sd 0.02 / sqrt(2 layers) */
    bool is_vector;      /* one dimension in a checkpoint */
    bool is_decayed;     /* weight decay: matrices, not gains, biases, positions */
    int64_t layer;       /* -1 before the first, layers after the last */
};

/* How many logical tensors the model has. */
size_t dt_model_tensors_count(const struct dt_model *model);

/*
 * The index-th logical tensor in the order of the flat buffer: embedding, (positions), layers,
 * final norm, (head). Tensors that one product reads together (q k v; gate up) lie side by side
 * without gaps, so their matrices form one. O(1).
 */
void dt_model_tensor(const struct dt_model *model, size_t index, struct dt_tensor *tensor);

/* Floating-point operations of one token, forward and backward. */
struct dt_flops {
    double six_n;   /* 6 x parameters */
    double full;    /* 3 x (forward matrix products + 4 s h a layer + 2 h V), not causal */
};

/* planner.md section 2, with sequences of seq tokens. */
struct dt_flops dt_model_flops(const struct dt_model *model, int64_t seq);

/* What fills the memory of one rank. */
enum dt_memory {
    DT_MEMORY_WEIGHTS,
    DT_MEMORY_GRADS,
    DT_MEMORY_OPTIMIZER,
    DT_MEMORY_ACTIVATIONS, /* kept from forward for backward */
    DT_MEMORY_LOGITS,
    DT_MEMORY_WORK,        /* reused by every layer, and per thread */
    DT_MEMORY_BATCH,       /* token ids */
    DT_MEMORY_COUNT
};

/* What backward computes again instead of keeping it: nothing; what costs no product (the norms'
 * outputs, the activation); everything of a layer but its input. */
enum dt_recompute { DT_RECOMPUTE_NONE, DT_RECOMPUTE_SELECTIVE, DT_RECOMPUTE_FULL };

/* The value of "none", "selective" or "full"; false for another word. */
DT_MUST_USE bool dt_recompute_read(const char *word, enum dt_recompute *recompute);

/* One rank's way to run: data parallel, fp32 everywhere. */
struct dt_run_shape {
    struct dt_model model;
    int64_t seq;         /* tokens of a sequence */
    int64_t micro_batch; /* sequences at once */
    int64_t threads;     /* kernels' threads in this rank, 1..256 */
    enum dt_recompute recompute;
    bool is_exact;       /* gradients are summed in whole numbers, 8 bytes beside the 4 */
};

/* Stable word of a category. */
const char *dt_memory_name(enum dt_memory category);

/* Bytes this rank allocates, by category; the trainer checks that it allocates exactly these. */
void dt_run_bytes(const struct dt_run_shape *run, int64_t bytes[DT_MEMORY_COUNT]);

/* Floating-point operations of one token that recomputing adds. The layer that backward meets first
 * is still there; a layer's last product is not needed again. */
double dt_run_again_flops(const struct dt_run_shape *run);

/* Elements of the buffers of one rank that live through one micro-batch; the trainer allocates by
 * these and dt_run_bytes sums them. T = micro_batch * seq tokens. */
struct dt_layer_room {
    int64_t hidden;    /* T * hidden: a residual, a normed input, an attention output */
    int64_t qkv;       /* T * (heads + 2 kv_heads) * head */
    int64_t up;        /* T * ffn * (2 for gate and up of llama, 1 for gpt2) */
    int64_t act;       /* T * ffn */
    int64_t lse;       /* micro_batch * heads * seq */
    int64_t stat;      /* T: a norm's statistic for each row */
    int64_t logits;    /* T * vocab */
    int64_t scratch;   /* per thread: tiles of attention, keys and values turned */
};

/* The room for one micro-batch. */
struct dt_layer_room dt_run_room(const struct dt_run_shape *run);

/* Queries and keys of one tile of attention. */
#define DT_TILE 64

#endif
