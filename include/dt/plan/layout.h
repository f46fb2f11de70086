/* One layout of a training run: what it holds in memory and what it sends. */
#ifndef DT_PLAN_LAYOUT_H
#define DT_PLAN_LAYOUT_H

#include "dt/plan/model.h"

enum dt_recompute { DT_RECOMPUTE_NONE, DT_RECOMPUTE_SELECTIVE, DT_RECOMPUTE_FULL };

/* What is trained, however it is laid out. */
struct dt_plan_job {
    struct dt_plan_model model;
    double seq;          /* tokens of a sequence */
    double batch;        /* sequences of a step, over all GPUs */
    double grad_bytes;   /* of an accumulated and sent gradient: 4 or 2 */
};

/* Sizes of the groups; dp x tp x pp = GPUs. Ranks fill a node tensor-parallel first, then
 * data-parallel; stages lie across nodes. */
struct dt_layout {
    double tp, pp, dp;
    int zero;            /* 0 to 3 */
    double micro_batch;  /* sequences of one */
    double virtual_stages; /* chunks of a stage, 1 = plain 1F1B */
    enum dt_recompute recompute;
    bool is_sequence_parallel;
};

/* Bytes of the rank that holds most. */
struct dt_plan_memory {
    double weights, grads, optimizer, activations, logits, overhead, total;
};

/* Bytes that a rank sends in a step, by link. */
struct dt_plan_traffic {
    double tp_nvlink, dp_nvlink, dp_nic, pp_nic;
    double dp_nic_flat; /* a flat ring over the rails instead of the hierarchy: (n-1)/n P/g */
};

/* Memory of the fullest stage. State: bf16 weights 2, gradients grad_bytes, fp32 master and
 * moments 12 bytes a parameter, divided over dp by ZeRO stage (arXiv 1910.02054); ZeRO-3 also holds
 * two gathered layers and one layer of gradients. Stage i keeps min(m, p - i) micro-batches; full
 * recompute has one whole layer at its peak; logits 6sbV/t on the last; overhead 2.5 GB. */
struct dt_plan_memory dt_layout_memory(const struct dt_plan_job *job,
                                       const struct dt_layout *layout);

/* Traffic of the fullest stage, hierarchical collectives. Per layer and micro-batch TP 16sbh
 * (t-1)/t (24 with full recompute); DP payload per step 2 g N, (g + 2) N, (m g + 2) N, m (4 + g) N
 * by ZeRO stage: NVLink (y-1)/y P, NIC (k-1)/k P/y for y ranks in each of k nodes; PP 2 m A/t. */
struct dt_plan_traffic dt_layout_traffic(const struct dt_plan_job *job,
                                         const struct dt_layout *layout, double gpus_per_node);

/* Korthikanti's activation bytes of one layer, with dropout and unfused attention (arXiv
 * 2205.05198, table 2), for the published memory tables. */
double dt_korthikanti_layer_bytes(const struct dt_plan_job *job, const struct dt_layout *layout);

/* DT_INVALID: why this layout cannot be, and the nearest that can. */
DT_MUST_USE enum dt_code dt_layout_check(const struct dt_plan_job *job,
                                         const struct dt_layout *layout, double gpus_per_node,
                                         struct dt_err *err);

#endif
