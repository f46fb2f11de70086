/* One layout of a training run: what it holds in memory and what it sends. */
#include "dt/plan/layout.h"

#include <math.h>

#define OVERHEAD_BYTES 2.5e9 /* CUDA context, NCCL buffers, fragmentation */
#define LOGITS_BYTES 6       /* bf16 logits and fp32 of the loss, a token and word */

/* Micro-batches of a step on one data-parallel rank. */
static double micro_batches(const struct dt_plan_job *job, const struct dt_layout *layout)
{
    return job->batch / (layout->dp * layout->micro_batch);
}

/* Parameters on the rank of a stage (0 first): L/p layers / t, and Vh/t on the first and last stage
 * (Llama not tied with p = 1: both). */
static double parameters(const struct dt_plan_job *job, const struct dt_layout *layout,
                            double stage)
{
    double embedding = job->model.vocab * job->model.hidden;
    double ends = 0;

    if (layout->pp <= 1) /* all of it, positions and norms too */
        return dt_plan_parameters(&job->model, job->seq) / layout->tp;
    ends = (stage == 0) + (stage == layout->pp - 1);
    return (job->model.layers / layout->pp * dt_plan_layer_parameters(&job->model) +
            ends * embedding) / layout->tp;
}

static double whole_layer(const struct dt_plan_job *job, const struct dt_layout *layout)
{
    const struct dt_plan_model *m = &job->model;
    double c = m->arch == DT_PLAN_LLAMA ? 6 : 4;
    double split = 2 * m->hidden * (1 + 2 * m->kv_heads / m->heads) + 2 * m->hidden + c * m->ffn +
                   4 * m->heads;
    double norms = 8 * m->hidden;

    return job->seq * layout->micro_batch *
           (layout->is_sequence_parallel ? (norms + split) / layout->tp
                                         : norms + split / layout->tp);
}

/* Activations of one layer and micro-batch in bytes, fused attention, no dropout: s b (8h +
 * (2h(1 + 2k/a) + 2h + cf + 4a)/t), all /t with sequence parallelism; c = 4 GeLU, 6 SwiGLU. Full
 * recompute keeps the input 2sbh (/t with sequence parallelism). */
static double layer_activations(const struct dt_plan_job *job, const struct dt_layout *layout)
{
    double input = 2 * job->seq * layout->micro_batch * job->model.hidden;

    if (layout->recompute != DT_RECOMPUTE_FULL)
        return whole_layer(job, layout); /* fused attention: selective has nothing left to save */
    return layout->is_sequence_parallel ? input / layout->tp : input;
}

double dt_korthikanti_layer_bytes(const struct dt_plan_job *job, const struct dt_layout *layout)
{
    double sbh = job->seq * layout->micro_batch * job->model.hidden, t = layout->tp;
    double scores = 5 * job->model.heads * job->seq / job->model.hidden;

    if (layout->recompute == DT_RECOMPUTE_FULL)
        return 2 * sbh;
    if (layout->recompute == DT_RECOMPUTE_SELECTIVE)
        scores = 0;
    return layout->is_sequence_parallel ? sbh / t * (34 + scores) : sbh * (10 + (24 + scores) / t);
}

static struct dt_plan_memory stage_memory(const struct dt_plan_job *job,
                                          const struct dt_layout *layout, double stage)
{
    double n = parameters(job, layout, stage), d = layout->dp;
    double m = micro_batches(job, layout), v = layout->virtual_stages;
    double alive = fmin(m, layout->pp - stage) * job->model.layers / layout->pp;
    double layer = dt_plan_layer_parameters(&job->model) / layout->tp;
    struct dt_plan_memory memory = {.weights = 2 * n, .grads = job->grad_bytes * n,
                                    .optimizer = 12 * n, .overhead = OVERHEAD_BYTES};

    if (layout->zero >= 1)
        memory.optimizer /= d;
    if (layout->zero >= 2)
        memory.grads /= d;
    if (layout->zero >= 3) {
        memory.weights = memory.weights / d + 2 * 2 * layer;
        memory.grads += job->grad_bytes * layer;
    }
    if (v > 1)
        alive *= 1 + (layout->pp - 1) / (layout->pp * v);
    memory.activations = alive * layer_activations(job, layout);
    if (layout->recompute == DT_RECOMPUTE_FULL)
        memory.activations += whole_layer(job, layout);
    if (stage == layout->pp - 1)
        memory.logits = LOGITS_BYTES * job->seq * layout->micro_batch * job->model.vocab /
                        layout->tp;
    memory.total = memory.weights + memory.grads + memory.optimizer + memory.activations +
                   memory.logits + memory.overhead;
    return memory;
}

struct dt_plan_memory dt_layout_memory(const struct dt_plan_job *job,
                                       const struct dt_layout *layout)
{
    struct dt_plan_memory first = stage_memory(job, layout, 0), last;

    if (layout->pp <= 1)
        return first;
    /* inner stages keep fewer micro-batches than the first and have no embedding */
    last = stage_memory(job, layout, layout->pp - 1);
    return last.total > first.total ? last : first;
}

static double dp_payload(const struct dt_plan_job *job, const struct dt_layout *layout)
{
    double n = parameters(job, layout, 0), g = job->grad_bytes;
    double m = micro_batches(job, layout);

    switch (layout->zero) {
    case 0:
        return 2 * g * n;
    case 1:
        return (g + 2) * n;
    case 2:
        return (m * g + 2) * n;
    default:
        return m * (4 + g) * n;
    }
}

struct dt_plan_traffic dt_layout_traffic(const struct dt_plan_job *job,
                                         const struct dt_layout *layout, double gpus_per_node)
{
    double m = micro_batches(job, layout), t = layout->tp;
    double a = 2 * job->seq * layout->micro_batch * job->model.hidden;
    double inside = fmin(layout->dp, fmax(1, floor(gpus_per_node / t)));
    double nodes = layout->dp / inside, payload = dp_payload(job, layout);
    double reduces = layout->recompute == DT_RECOMPUTE_FULL ? 12 : 8;
    struct dt_plan_traffic traffic = {
        .tp_nvlink = reduces * a * (t - 1) / t * job->model.layers / layout->pp * m,
        .dp_nvlink = (inside - 1) / inside * payload,
        .dp_nic = nodes > 1 ? (nodes - 1) / nodes * payload / inside : 0,
        .dp_nic_flat = nodes > 1 ? (layout->dp - 1) / layout->dp * payload / inside : 0,
        .pp_nic = layout->pp > 1 ? 2 * m * a / t * layout->virtual_stages : 0};

    return traffic;
}

/* The nearest divisor of whole at or below wanted. */
static double divisor_below(double whole, double wanted)
{
    double best = fmin(floor(wanted), whole);

    while (best > 1 && fmod(whole, best) != 0)
        best--;
    return fmax(best, 1);
}

static enum dt_code refuse(struct dt_err *err, double nearest, const char *what)
{
    dt_fail(err, DT_INVALID, "%s", what);
    dt_hint(err, "the nearest that can: %g", nearest);
    return DT_INVALID;
}

static enum dt_code check_tp(const struct dt_plan_job *job, const struct dt_layout *layout,
                             double gpus_per_node, struct dt_err *err)
{
    const struct dt_plan_model *m = &job->model;

    if (layout->tp > gpus_per_node)
        return refuse(err, gpus_per_node, "tensor parallelism leaves the NVLink domain: four "
                      "all-reduces a layer and micro-batch would wait for the network");
    if (fmod(m->heads, layout->tp) != 0)
        return refuse(err, divisor_below(m->heads, layout->tp), "heads are not divisible by tp");
    if (fmod(m->ffn, layout->tp) != 0)
        return refuse(err, divisor_below(m->ffn, layout->tp), "ffn is not divisible by tp");
    return DT_OK;
}

enum dt_code dt_layout_check(const struct dt_plan_job *job, const struct dt_layout *layout,
                             double gpus_per_node, struct dt_err *err)
{
    double each = layout->dp * layout->micro_batch;
    enum dt_code code;

    if (!(layout->tp >= 1 && layout->pp >= 1 && layout->dp >= 1 && layout->micro_batch >= 1 &&
          layout->virtual_stages >= 1))
        return refuse(err, 1, "sizes of groups begin at 1");
    if ((code = check_tp(job, layout, gpus_per_node, err)))
        return code;
    if (fmod(job->model.layers, layout->pp * layout->virtual_stages) != 0)
        return refuse(err, divisor_below(job->model.layers, layout->pp),
                      "layers are not divisible by the stages");
    if (layout->zero >= 2 && layout->pp > 1)
        return refuse(err, 1, "ZeRO-2 and ZeRO-3 repeat their traffic for each micro-batch of a "
                      "pipeline: ZeRO-1 with it");
    if (layout->dp > job->batch)
        return refuse(err, job->batch, "more data-parallel ranks than sequences");
    if (fmod(job->batch, each) != 0)
        return refuse(err, divisor_below(job->batch / layout->dp, layout->micro_batch),
                      "the batch is not divisible by micro-batch x dp");
    if (layout->virtual_stages > 1 && fmod(job->batch / each, layout->pp) != 0)
        return refuse(err, 1, "interleaved stages need micro-batches divisible by the stages");
    return DT_OK;
}
