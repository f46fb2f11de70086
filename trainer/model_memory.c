/* A decoder's memory: what is allocated, where its tensors lie, how its weights begin. */
#include "model.h"

#include "rng.h"

#include <math.h>
#include <string.h>

static float *take(struct model *model, enum dt_memory category, int64_t count)
{
    model->allocated[category] += count * (int64_t)sizeof(float);
    return model->ops->take((size_t)count * sizeof(float));
}

/* One buffer of a layer, and the most recomputing under which the layer keeps it. */
struct buffer {
    float **at;
    int64_t count;
    enum dt_recompute kept;
};

#define BUFFERS 13

/* All buffers of a layer; count 0: this model has none. */
static void buffers_of(const struct model *m, struct layer_acts *a, struct buffer out[BUFFERS])
{
    const struct dt_layer_room *room = &m->room;
    int64_t mean = m->run.model.arch == DT_ARCH_GPT2 ? room->stat : 0;
    const struct buffer all[BUFFERS] = {
        {&a->x1, room->hidden, DT_RECOMPUTE_FULL},
        {&a->n1, room->hidden, DT_RECOMPUTE_NONE},
        {&a->o, room->hidden, DT_RECOMPUTE_SELECTIVE},
        {&a->x2, room->hidden, DT_RECOMPUTE_SELECTIVE},
        {&a->n2, room->hidden, DT_RECOMPUTE_NONE},
        {&a->qkv, room->qkv, DT_RECOMPUTE_SELECTIVE},
        {&a->up, room->up, DT_RECOMPUTE_SELECTIVE},
        {&a->act, room->act, DT_RECOMPUTE_NONE},
        {&a->lse, room->lse, DT_RECOMPUTE_SELECTIVE},
        {&a->rstd1, room->stat, DT_RECOMPUTE_SELECTIVE},
        {&a->rstd2, room->stat, DT_RECOMPUTE_SELECTIVE},
        {&a->mean1, mean, DT_RECOMPUTE_SELECTIVE},
        {&a->mean2, mean, DT_RECOMPUTE_SELECTIVE},
    };

    memcpy(out, all, sizeof(all));
}

/* Layer 0 has everything; the others share with it what is computed again. */
static void take_layers(struct model *m)
{
    struct buffer first[BUFFERS], own[BUFFERS];

    buffers_of(m, &m->layers[0], first);
    for (int64_t layer = 0; layer < m->run.model.layers; layer++) {
        buffers_of(m, &m->layers[layer], own);
        for (size_t i = 0; i < BUFFERS; i++) {
            if (own[i].count == 0)
                continue;
            if (layer == 0 || m->run.recompute <= own[i].kept)
                *own[i].at = take(m, DT_MEMORY_ACTIVATIONS, own[i].count);
            else
                *own[i].at = *first[i].at;
        }
    }
}

static void close_layers(struct model *m)
{
    struct buffer own[BUFFERS];

    for (int64_t layer = m->layers ? m->run.model.layers - 1 : -1; layer >= 0; layer--) {
        buffers_of(m, &m->layers[layer], own);
        for (size_t i = 0; i < BUFFERS; i++)
            if (layer == 0 || m->run.recompute <= own[i].kept)
                m->ops->release(*own[i].at);
    }
}

/* Offsets by the names of the logical tensors; tensors fused side by side go by their first. */
static void find_tensors(struct model *m)
{
    const struct { const char *name; int64_t *offset; } rows[] = {
        {"embed.weight", &m->embed},
        {"positions.weight", &m->positions},
        {"norm.weight", &m->norm},
        {"norm.bias", &m->norm_bias},
        {"head.weight", &m->head},
        {"layers.0.attn_norm.weight", &m->map.attn_norm},
        {"layers.0.attn_norm.bias", &m->map.attn_norm_bias},
        {"layers.0.attn.q.weight", &m->map.qkv},
        {"layers.0.attn.qkv.bias", &m->map.qkv_bias},
        {"layers.0.attn.out.weight", &m->map.out},
        {"layers.0.attn.out.bias", &m->map.out_bias},
        {"layers.0.ffn_norm.weight", &m->map.ffn_norm},
        {"layers.0.ffn_norm.bias", &m->map.ffn_norm_bias},
        {m->run.model.arch == DT_ARCH_GPT2 ? "layers.0.ffn.up.weight"
                                           : "layers.0.ffn.gate.weight", &m->map.up},
        {"layers.0.ffn.up.bias", &m->map.up_bias},
        {"layers.0.ffn.down.weight", &m->map.down},
        {"layers.0.ffn.down.bias", &m->map.down_bias},
    };
    size_t count = dt_model_tensors_count(&m->run.model);
    int64_t layers_end = 0;
    struct dt_tensor tensor;

    for (size_t row = 0; row < DT_COUNT(rows); row++)
        *rows[row].offset = -1;
    for (size_t i = 0; i < count; i++) {
        dt_model_tensor(&m->run.model, i, &tensor);
        for (size_t row = 0; row < DT_COUNT(rows); row++)
            if (strcmp(rows[row].name, tensor.name) == 0)
                *rows[row].offset = tensor.offset;
        if (tensor.layer >= 0 && tensor.layer < m->run.model.layers)
            layers_end = tensor.offset + tensor.rows * tensor.cols;
    }
    if (m->run.model.is_tied)
        m->head = m->embed;
    m->first_layer = m->map.attn_norm;
    m->map.size = (layers_end - m->first_layer) / m->run.model.layers;
    for (size_t row = 5; row < DT_COUNT(rows); row++)
        if (*rows[row].offset >= 0)
            *rows[row].offset -= m->first_layer;
}

static void fill_turn(struct model *m)
{
    int64_t head = m->run.model.hidden / m->run.model.heads, half = head / 2;

    for (int64_t t = 0; t < m->run.seq; t++)
        for (int64_t i = 0; i < half; i++) {
            double angle = (double)t * pow(10000.0, -2.0 * (double)i / (double)head);

            m->turn[t * head + i] = (float)cos(angle);
            m->turn[t * head + half + i] = (float)sin(angle);
        }
}

void model_open(struct model *m, const struct dt_run_shape *run, const struct op_table *ops)
{
    *m = (struct model){.run = *run, .room = dt_run_room(run), .ops = ops};
    m->params_count = dt_model_params(&run->model);
    find_tensors(m);
    m->params = take(m, DT_MEMORY_WEIGHTS, m->params_count);
    m->grads = take(m, DT_MEMORY_GRADS, m->params_count);
    m->adam_m = take(m, DT_MEMORY_OPTIMIZER, m->params_count);
    m->adam_v = take(m, DT_MEMORY_OPTIMIZER, m->params_count);
    if (run->is_exact)
        m->sums = (uint64_t *)take(m, DT_MEMORY_GRADS, 2 * m->params_count);
    m->layers = dt_alloc((size_t)run->model.layers, sizeof(*m->layers));
    m->held = -1;
    take_layers(m);
    m->x_end = take(m, DT_MEMORY_ACTIVATIONS, m->room.hidden);
    m->n_end = take(m, DT_MEMORY_ACTIVATIONS, m->room.hidden);
    m->rstd_end = take(m, DT_MEMORY_ACTIVATIONS, m->room.stat);
    if (run->model.arch == DT_ARCH_GPT2)
        m->mean_end = take(m, DT_MEMORY_ACTIVATIONS, m->room.stat);
    m->logits = take(m, DT_MEMORY_LOGITS, m->room.logits);
    m->d = take(m, DT_MEMORY_WORK, m->room.hidden);
    m->dn = take(m, DT_MEMORY_WORK, m->room.hidden);
    m->dqkv = take(m, DT_MEMORY_WORK, m->room.qkv);
    m->dact = take(m, DT_MEMORY_WORK, m->room.act);
    m->delta = take(m, DT_MEMORY_WORK, m->room.lse);
    m->row_loss = take(m, DT_MEMORY_WORK, m->room.stat);
    m->turn = take(m, DT_MEMORY_WORK, run->seq * (run->model.hidden / run->model.heads));
    m->scratch = take(m, DT_MEMORY_WORK, run->threads * m->room.scratch);
    m->ids = (int32_t *)take(m, DT_MEMORY_BATCH, m->room.stat);
    m->targets = (int32_t *)take(m, DT_MEMORY_BATCH, m->room.stat);
    fill_turn(m);
}

void model_close(struct model *m)
{
    void *const memory[] = {m->params, m->grads,    m->adam_m,   m->adam_v,   m->x_end,
                            m->n_end,  m->rstd_end, m->mean_end, m->logits,   m->d,
                            m->dn,     m->dqkv,     m->dact,     m->delta,    m->row_loss,
                            m->turn,   m->scratch,  m->ids,      m->targets,  m->sums};

    if (!m->ops)
        return;
    close_layers(m);
    for (size_t i = 0; i < DT_COUNT(memory); i++)
        m->ops->release(memory[i]);
    dt_free(m->layers);
    *m = (struct model){0};
}

void model_fill(struct model *m, uint64_t seed)
{
    size_t count = dt_model_tensors_count(&m->run.model);
    float deep = 0.02f / sqrtf(2.0f * (float)m->run.model.layers);

    for (size_t i = 0; i < count; i++) {
        struct dt_tensor tensor;
        int64_t size;
        float *p;

        dt_model_tensor(&m->run.model, i, &tensor);
        size = tensor.rows * tensor.cols;
        p = m->params + tensor.offset;
        if (tensor.fill == DT_FILL_NORMAL || tensor.fill == DT_FILL_NORMAL_DEEP)
            rng_normal(seed, i, 0, size, p);
        for (int64_t j = 0; j < size; j++) {
            switch (tensor.fill) {
            case DT_FILL_NORMAL: p[j] *= 0.02f; break;
            case DT_FILL_NORMAL_DEEP: p[j] *= deep; break;
            case DT_FILL_ONE: p[j] = 1; break;
            case DT_FILL_ZERO: p[j] = 0; break;
            }
        }
    }
}
