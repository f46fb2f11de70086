/* A transformer as the planner counts it: parameters and floating-point operations. */
#ifndef DT_PLAN_MODEL_H
#define DT_PLAN_MODEL_H

#include "dt/base/err.h"

enum dt_plan_arch { DT_PLAN_GPT, DT_PLAN_LLAMA };

/* Sizes as published. h hidden, a heads, k key-value heads, f width of the MLP, V vocabulary. GPT:
 * biases, GeLU, learned positions (counted by the sequence of the run). Llama: none of these,
 * SwiGLU. */
struct dt_plan_model {
    const char *name;
    enum dt_plan_arch arch;
    double layers, hidden, heads, kv_heads, ffn, vocab;
    bool is_tied; /* output layer = embedding */
};

extern const struct dt_plan_model dt_plan_models[];
extern const size_t dt_plan_models_count;
/* By name, or NULL. */
const struct dt_plan_model *dt_plan_model(const char *name);

/* DT_INVALID names what cannot be and the nearest that can: sizes below 1 or above 1e7 (vocabulary
 * 1e8), hidden not divisible by heads, heads not divisible by kv_heads. */
DT_MUST_USE enum dt_code dt_plan_model_check(const struct dt_plan_model *model,
                                             struct dt_err *err);

/* Parameters of one layer: GPT 2h^2 + 2hkd + 2hf with biases and two norms (12h^2 + 13h for f = 4h,
 * k = a); Llama 2h^2 + 2hkd + 3hf + 2h. d = h/a. Exact below 2^53. */
double dt_plan_layer_parameters(const struct dt_plan_model *model);
/* All parameters at a sequence of seq tokens: layers, embedding Vh (twice when not tied), positions
 * seq x h and norm 2h for GPT, norm h for Llama. */
double dt_plan_parameters(const struct dt_plan_model *model, double seq);

/* How operations are counted; a printed number without its convention means nothing. */
enum dt_plan_flops {
    DT_FLOPS_MODEL,           /* forward and backward once: 3 x (2 x weights + 4sh a layer) */
    DT_FLOPS_HARDWARE_FULL,   /* and every layer's forward again (full recompute) */
    DT_FLOPS_HARDWARE_SELECTIVE, /* Korthikanti's form: attention scores twice the model's */
    DT_FLOPS_6N               /* 6 x parameters x tokens */
};
/* Operations of one step of batch sequences of seq tokens (Korthikanti, arXiv 2205.05198: model
 * 72BsLh^2 (1 + s/6h + V/12Lh) for GPT with f = 4h). Attention without causal halving. */
double dt_plan_flops(const struct dt_plan_model *model, double batch, double seq,
                     enum dt_plan_flops convention);

#endif
