/* A decoder: forward and backward of one micro-batch through the op table. */
#include "model.h"

#include <assert.h>

/* y (T, out) (+)= x (T, in) . w (out, in)^T, then + bias unless its offset is -1. */
struct linear {
    const float *x;
    float *y;
    int64_t in, out;
    bool adds;
};

static int64_t tokens_of(const struct model *model)
{
    return model->run.micro_batch * model->run.seq;
}

static void linear(const struct model *m, const struct linear *l, int64_t weight, int64_t bias)
{
    m->ops->matmul(&(struct op_matmul){.a = l->x, .b = m->params + weight, .c = l->y,
                                       .rows = tokens_of(m), .cols = l->out, .inner = l->in,
                                       .is_b_turned = true, .adds = l->adds});
    if (bias >= 0)
        m->ops->bias(&(struct op_bias){l->y, m->params + bias, tokens_of(m), l->out});
}

/* Backward of linear: dx = dy . w (unless NULL), dw += dy^T . x, dbias += sum of dy. */
struct linear_back {
    const float *dy, *x;
    float *dx;
    int64_t in, out;
    bool adds; /* to dx */
};

static void linear_back(const struct model *m, const struct linear_back *l, int64_t weight,
                        int64_t bias)
{
    int64_t tokens = tokens_of(m);

    m->ops->matmul(&(struct op_matmul){.a = l->dy, .b = m->params + weight, .c = l->dx,
                                       .rows = tokens, .cols = l->in, .inner = l->out,
                                       .adds = l->adds});
    m->ops->matmul(&(struct op_matmul){.a = l->dy, .b = l->x, .c = m->grads + weight,
                                       .rows = l->out, .cols = l->in, .inner = tokens,
                                       .is_a_turned = true, .adds = true});
    if (bias >= 0)
        m->ops->bias_back(&(struct op_bias){(float *)(uintptr_t)l->dy, m->grads + bias, tokens,
                                            l->out});
}

/* A norm of this model at these offsets: what forward and backward share. */
struct norm_at {
    const float *x;
    float *rstd, *mean;
    int64_t gain, bias; /* offsets; bias -1: RMSNorm */
};

static void norm(const struct model *m, const struct norm_at *n, float *y, float *copy)
{
    m->ops->norm(&(struct op_norm){
        .x = n->x, .gain = m->params + n->gain,
        .bias = n->bias >= 0 ? m->params + n->bias : NULL, .y = y, .copy = copy,
        .rstd = n->rstd, .mean = n->mean, .rows = tokens_of(m), .width = m->run.model.hidden});
}

static void norm_back(const struct model *m, const struct norm_at *n)
{
    m->ops->norm_back(&(struct op_norm_back){
        .dy = m->dn, .x = n->x, .gain = m->params + n->gain, .rstd = n->rstd,
        .mean = n->bias >= 0 ? n->mean : NULL, .dx = m->d, .dgain = m->grads + n->gain,
        .dbias = n->bias >= 0 ? m->grads + n->bias : NULL, .rows = tokens_of(m),
        .width = m->run.model.hidden});
}

static int64_t at(int64_t base, int64_t offset)
{
    return offset < 0 ? -1 : base + offset;
}

static struct norm_at norm_of_layer(const struct model *m, int64_t layer, int which)
{
    int64_t base = m->first_layer + layer * m->map.size;
    const struct layer_acts *a = &m->layers[layer];

    if (which == 1)
        return (struct norm_at){a->x1, a->rstd1, a->mean1, base + m->map.attn_norm,
                                at(base, m->map.attn_norm_bias)};
    return (struct norm_at){a->x2, a->rstd2, a->mean2, base + m->map.ffn_norm,
                            at(base, m->map.ffn_norm_bias)};
}

static struct norm_at norm_at_end(const struct model *m)
{
    return (struct norm_at){m->x_end, m->rstd_end, m->mean_end, m->norm, m->norm_bias};
}

static struct op_attention attention_of(const struct model *m, int64_t layer)
{
    const struct layer_acts *a = &m->layers[layer];
    const struct dt_model *shape = &m->run.model;

    return (struct op_attention){
        .qkv = a->qkv, .out = a->o, .lse = a->lse, .dout = m->dn, .dqkv = m->dqkv,
        .delta = m->delta, .scratch = m->scratch, .scratch_size = m->room.scratch,
        .batch = m->run.micro_batch, .seq = m->run.seq, .heads = shape->heads,
        .kv_heads = shape->kv_heads, .head = shape->hidden / shape->heads};
}

static void turn_qkv(const struct model *m, float *qkv, bool is_back)
{
    const struct dt_model *shape = &m->run.model;

    if (shape->arch == DT_ARCH_LLAMA)
        m->ops->rope(&(struct op_rope){
            .qkv = qkv, .turn = m->turn, .tokens = tokens_of(m), .seq = m->run.seq,
            .heads = shape->heads, .kv_heads = shape->kv_heads,
            .head = shape->hidden / shape->heads, .is_back = is_back});
}

/* From the layer's x1 to its activation; x2 is copied to next unless that is NULL. */
static void layer_inside(const struct model *m, int64_t layer, float *next)
{
    const struct layer_acts *a = &m->layers[layer];
    const struct layer_map *map = &m->map;
    int64_t base = m->first_layer + layer * map->size, h = m->run.model.hidden;
    int64_t f = m->run.model.ffn, tokens = tokens_of(m);
    struct norm_at first = norm_of_layer(m, layer, 1), second = norm_of_layer(m, layer, 2);
    struct op_attention attention = attention_of(m, layer);
    bool is_gated = m->run.model.arch == DT_ARCH_LLAMA;

    norm(m, &first, a->n1, a->x2); /* x2 begins as x1: the product below adds to it */
    linear(m, &(struct linear){a->n1, a->qkv, h, m->room.qkv / tokens, false}, base + map->qkv,
           at(base, map->qkv_bias));
    turn_qkv(m, a->qkv, false);
    m->ops->attention(&attention);
    linear(m, &(struct linear){a->o, a->x2, h, h, true}, base + map->out,
           at(base, map->out_bias));
    norm(m, &second, a->n2, next);
    linear(m, &(struct linear){a->n2, a->up, h, is_gated ? 2 * f : f, false}, base + map->up,
           at(base, map->up_bias));
    m->ops->act(&(struct op_act){a->up, a->act, tokens, f, is_gated});
}

/* From the layer's x1 to next (the next layer's x1, or x_end). */
static void layer_forward(const struct model *m, int64_t layer, float *next)
{
    int64_t base = m->first_layer + layer * m->map.size;

    layer_inside(m, layer, next);
    linear(m, &(struct linear){m->layers[layer].act, next, m->run.model.ffn, m->run.model.hidden,
                               true}, base + m->map.down, at(base, m->map.down_bias));
}

/* What forward did not keep of the layer, by the same operations: the same bits. */
static void layer_again(const struct model *m, int64_t layer)
{
    const struct layer_acts *a = &m->layers[layer];
    struct norm_at first = norm_of_layer(m, layer, 1), second = norm_of_layer(m, layer, 2);

    if (m->held == layer || m->run.recompute == DT_RECOMPUTE_NONE)
        return;
    if (m->run.recompute == DT_RECOMPUTE_FULL) {
        layer_inside(m, layer, NULL);
        return;
    }
    norm(m, &first, a->n1, NULL);
    norm(m, &second, a->n2, NULL);
    m->ops->act(&(struct op_act){a->up, a->act, tokens_of(m), m->run.model.ffn,
                                 m->run.model.arch == DT_ARCH_LLAMA});
}

double model_forward(struct model *m, bool is_training)
{
    int64_t tokens = tokens_of(m), h = m->run.model.hidden, layers = m->run.model.layers;
    struct norm_at end = norm_at_end(m);
    double loss = 0;

    m->ops->embed(&(struct op_embed){
        .ids = m->ids, .table = m->params + m->embed,
        .positions = m->positions >= 0 ? m->params + m->positions : NULL,
        .out = m->layers[0].x1, .tokens = tokens, .hidden = h, .seq = m->run.seq});
    for (int64_t layer = 0; layer < layers; layer++)
        layer_forward(m, layer, layer + 1 < layers ? m->layers[layer + 1].x1 : m->x_end);
    m->held = layers - 1;
    norm(m, &end, m->n_end, NULL);
    linear(m, &(struct linear){m->n_end, m->logits, h, m->run.model.vocab, false}, m->head, -1);
    m->ops->cross_entropy(&(struct op_cross_entropy){m->logits, m->targets, m->row_loss, tokens,
                                                     m->run.model.vocab, is_training});
    for (int64_t t = 0; t < tokens; t++)
        loss += (double)m->row_loss[t];
    return loss;
}

static void head_backward(struct model *m)
{
    struct norm_at end = norm_at_end(m);

    linear_back(m, &(struct linear_back){m->logits, m->n_end, m->dn, m->run.model.hidden,
                                         m->run.model.vocab, false}, m->head, -1);
    m->ops->fill_zero(m->d, m->room.hidden);
    norm_back(m, &end);
}

static void layer_backward(const struct model *m, int64_t layer)
{
    const struct layer_acts *a = &m->layers[layer];
    const struct layer_map *map = &m->map;
    int64_t base = m->first_layer + layer * map->size, h = m->run.model.hidden;
    int64_t f = m->run.model.ffn, tokens = tokens_of(m);
    struct norm_at first = norm_of_layer(m, layer, 1), second = norm_of_layer(m, layer, 2);
    struct op_attention attention = attention_of(m, layer);
    bool is_gated = m->run.model.arch == DT_ARCH_LLAMA;

    linear_back(m, &(struct linear_back){m->d, a->act, m->dact, f, h, false}, base + map->down,
                at(base, map->down_bias));
    m->ops->act_back(&(struct op_act_back){m->dact, a->up, tokens, f, is_gated});
    linear_back(m, &(struct linear_back){a->up, a->n2, m->dn, h, is_gated ? 2 * f : f, false},
                base + map->up, at(base, map->up_bias));
    norm_back(m, &second);
    linear_back(m, &(struct linear_back){m->d, a->o, m->dn, h, h, false}, base + map->out,
                at(base, map->out_bias));
    m->ops->attention_back(&attention);
    turn_qkv(m, m->dqkv, true);
    linear_back(m, &(struct linear_back){m->dqkv, a->n1, m->dn, h, m->room.qkv / tokens, false},
                base + map->qkv, at(base, map->qkv_bias));
    norm_back(m, &first);
}

void model_backward(struct model *m, int64_t layer)
{
    assert(layer >= -1 && layer <= m->run.model.layers);
    if (layer == m->run.model.layers)
        head_backward(m);
    else if (layer >= 0) {
        layer_again(m, layer);
        layer_backward(m, layer);
        m->held = -1; /* the gradient took the place of what it came from */
    } else
        m->ops->embed_back(&(struct op_embed_back){
            .ids = m->ids, .d = m->d, .dtable = m->grads + m->embed,
            .dpositions = m->positions >= 0 ? m->grads + m->positions : NULL,
            .tokens = tokens_of(m), .hidden = m->run.model.hidden, .seq = m->run.seq});
}
