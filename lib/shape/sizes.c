/* How big a model is: its logical tensors, parameters, floating-point work and memory. */
#include "dt/shape/sizes.h"

#include <stdio.h>
#include <string.h>

static const struct preset {
    const char *name;
    struct dt_model model;
} presets[] = {
    {"llama-nano", {DT_ARCH_LLAMA, 4, 128, 4, 4, 344, 256, false, 64}},
    {"bench-6m", {DT_ARCH_LLAMA, 8, 256, 8, 8, 688, 256, false, 1024}},
    {"bench-38m", {DT_ARCH_LLAMA, 12, 512, 8, 8, 1376, 256, false, 1024}},
    {"llama-1b", {DT_ARCH_LLAMA, 16, 2048, 32, 8, 8192, 128256, true, 8192}},
    {"llama-3b", {DT_ARCH_LLAMA, 28, 3072, 24, 8, 8192, 128256, true, 8192}},
    {"llama-7b", {DT_ARCH_LLAMA, 32, 4096, 32, 32, 11008, 32000, false, 4096}},
    {"llama-13b", {DT_ARCH_LLAMA, 40, 5120, 40, 40, 13824, 32000, false, 4096}},
    {"llama-70b", {DT_ARCH_LLAMA, 80, 8192, 64, 8, 28672, 128256, false, 8192}},
    {"gpt2-124m", {DT_ARCH_GPT2, 12, 768, 12, 12, 3072, 50257, true, 1024}},
    {"gpt3-13b", {DT_ARCH_GPT2, 40, 5120, 40, 40, 20480, 51200, true, 2048}},
    {"gpt3-175b", {DT_ARCH_GPT2, 96, 12288, 96, 96, 49152, 51200, true, 2048}},
};

bool dt_model_preset(const char *name, struct dt_model *model)
{
    for (size_t i = 0; name && i < DT_COUNT(presets); i++) {
        if (strcmp(presets[i].name, name) == 0) {
            *model = presets[i].model;
            return true;
        }
    }
    return false;
}

const char *dt_model_preset_name(size_t index)
{
    return index < DT_COUNT(presets) ? presets[index].name : NULL;
}

const char *dt_arch_name(enum dt_arch arch)
{
    return arch == DT_ARCH_GPT2 ? "gpt2" : "llama";
}

enum dt_code dt_model_check(const struct dt_model *model, struct dt_err *err)
{
    const struct { const char *name; int64_t value, least, most; } bounds[] = {
        {"layers", model->layers, 1, 1024},         {"hidden", model->hidden, 8, 1 << 17},
        {"heads", model->heads, 1, 1024},           {"kv_heads", model->kv_heads, 1, 1024},
        {"ffn", model->ffn, 1, 1 << 20},            {"vocab", model->vocab, 2, 1 << 22},
        {"positions", model->positions, 1, 1 << 22},
    };

    for (size_t i = 0; i < DT_COUNT(bounds); i++)
        if (bounds[i].value < bounds[i].least || bounds[i].value > bounds[i].most)
            return dt_fail(err, DT_INVALID, "model.%s: expected %lld to %lld, found %lld",
                           bounds[i].name, (long long)bounds[i].least, (long long)bounds[i].most,
                           (long long)bounds[i].value);
    if (model->hidden % model->heads)
        return dt_fail(err, DT_INVALID, "model.heads (%lld) does not divide hidden (%lld)",
                       (long long)model->heads, (long long)model->hidden);
    if (model->heads % model->kv_heads)
        return dt_fail(err, DT_INVALID, "model.kv_heads (%lld) does not divide heads (%lld)",
                       (long long)model->kv_heads, (long long)model->heads);
    if (model->hidden / model->heads % 2 || model->hidden / model->heads > 512)
        return dt_fail(err, DT_INVALID, "model.heads: hidden / heads (%lld) must be even and at "
                       "most 512", (long long)(model->hidden / model->heads));
    return DT_OK;
}

/* One row of the table of tensors: sizes in units of the model. */
struct part {
    const char *name;
    int64_t rows, cols;
    enum dt_fill fill;
    bool is_vector;
    bool is_decayed;
};

#define PARTS_MAX 12

static struct part matrix(const char *name, int64_t rows, int64_t cols, enum dt_fill fill)
{
    return (struct part){name, rows, cols, fill, false, true};
}

static struct part vector(const char *name, int64_t size, enum dt_fill fill)
{
    return (struct part){name, 1, size, fill, true, false};
}

/* Tensors of one layer, in order; returns their count. */
static size_t layer_parts(const struct dt_model *m, struct part parts[PARTS_MAX])
{
    int64_t kv = m->hidden / m->heads * m->kv_heads, h = m->hidden;
    bool is_gpt2 = m->arch == DT_ARCH_GPT2;
    size_t n = 0;

    parts[n++] = vector("attn_norm.weight", h, DT_FILL_ONE);
    if (is_gpt2)
        parts[n++] = vector("attn_norm.bias", h, DT_FILL_ZERO);
    parts[n++] = matrix("attn.q.weight", h, h, DT_FILL_NORMAL);
    parts[n++] = matrix("attn.k.weight", kv, h, DT_FILL_NORMAL);
    parts[n++] = matrix("attn.v.weight", kv, h, DT_FILL_NORMAL);
    if (is_gpt2)
        parts[n++] = vector("attn.qkv.bias", h + 2 * kv, DT_FILL_ZERO);
    parts[n++] = matrix("attn.out.weight", h, h, DT_FILL_NORMAL_DEEP);
    if (is_gpt2)
        parts[n++] = vector("attn.out.bias", h, DT_FILL_ZERO);
    return n;
}

static size_t ffn_parts(const struct dt_model *m, struct part parts[PARTS_MAX])
{
    bool is_gpt2 = m->arch == DT_ARCH_GPT2;
    int64_t h = m->hidden;
    size_t n = 0;

    parts[n++] = vector("ffn_norm.weight", h, DT_FILL_ONE);
    if (is_gpt2)
        parts[n++] = vector("ffn_norm.bias", h, DT_FILL_ZERO);
    else
        parts[n++] = matrix("ffn.gate.weight", m->ffn, h, DT_FILL_NORMAL);
    parts[n++] = matrix("ffn.up.weight", m->ffn, h, DT_FILL_NORMAL);
    if (is_gpt2)
        parts[n++] = vector("ffn.up.bias", m->ffn, DT_FILL_ZERO);
    parts[n++] = matrix("ffn.down.weight", h, m->ffn, DT_FILL_NORMAL_DEEP);
    if (is_gpt2)
        parts[n++] = vector("ffn.down.bias", h, DT_FILL_ZERO);
    return n;
}

/* All tensors of the blocks before (which 0), of one layer (1), or after (2) the layers. */
static size_t parts_of(const struct dt_model *m, int which, struct part parts[2 * PARTS_MAX])
{
    size_t n = 0;

    if (which == 0) {
        parts[n++] = matrix("embed.weight", m->vocab, m->hidden, DT_FILL_NORMAL);
        if (m->arch == DT_ARCH_GPT2) {
            parts[n] = matrix("positions.weight", m->positions, m->hidden, DT_FILL_NORMAL);
            parts[n++].is_decayed = false;
        }
    } else if (which == 1) {
        n = layer_parts(m, parts);
        n += ffn_parts(m, parts + n);
    } else {
        parts[n++] = vector("norm.weight", m->hidden, DT_FILL_ONE);
        if (m->arch == DT_ARCH_GPT2)
            parts[n++] = vector("norm.bias", m->hidden, DT_FILL_ZERO);
        if (!m->is_tied)
            parts[n++] = matrix("head.weight", m->vocab, m->hidden, DT_FILL_NORMAL);
    }
    return n;
}

static int64_t parts_size(const struct part *parts, size_t count)
{
    int64_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += parts[i].rows * parts[i].cols;
    return size;
}

int64_t dt_model_params(const struct dt_model *model)
{
    struct part parts[2 * PARTS_MAX];
    int64_t size = parts_size(parts, parts_of(model, 0, parts));

    size += model->layers * parts_size(parts, parts_of(model, 1, parts));
    return size + parts_size(parts, parts_of(model, 2, parts));
}

size_t dt_model_tensors_count(const struct dt_model *model)
{
    struct part parts[2 * PARTS_MAX];

    return parts_of(model, 0, parts) + parts_of(model, 2, parts) +
           (size_t)model->layers * parts_of(model, 1, parts);
}

void dt_model_tensor(const struct dt_model *model, size_t index, struct dt_tensor *tensor)
{
    struct part before[2 * PARTS_MAX], in[2 * PARTS_MAX], after[2 * PARTS_MAX];
    size_t before_count = parts_of(model, 0, before), in_count = parts_of(model, 1, in);
    size_t inside = in_count * (size_t)model->layers;
    const struct part *part;

    *tensor = (struct dt_tensor){.layer = -1};
    parts_of(model, 2, after);
    if (index < before_count) {
        part = &before[index];
        tensor->offset = parts_size(before, index);
    } else if (index - before_count < inside) {
        size_t at = (index - before_count) % in_count;

        part = &in[at];
        tensor->layer = (int64_t)((index - before_count) / in_count);
        tensor->offset = parts_size(before, before_count) + parts_size(in, at) +
                         tensor->layer * parts_size(in, in_count);
    } else {
        part = &after[index - before_count - inside];
        tensor->layer = model->layers;
        tensor->offset = parts_size(before, before_count) +
                         model->layers * parts_size(in, in_count) +
                         parts_size(after, index - before_count - inside);
    }
    tensor->rows = part->rows;
    tensor->cols = part->cols;
    tensor->fill = part->fill;
    tensor->is_vector = part->is_vector;
    tensor->is_decayed = part->is_decayed;
    if (tensor->layer >= 0 && tensor->layer < model->layers)
        snprintf(tensor->name, sizeof(tensor->name), "layers.%lld.%s", (long long)tensor->layer,
                 part->name);
    else
        snprintf(tensor->name, sizeof(tensor->name), "%s", part->name);
}

struct dt_flops dt_model_flops(const struct dt_model *model, int64_t seq)
{
    double h = (double)model->hidden, kv = h / (double)model->heads * (double)model->kv_heads;
    double f = (double)model->ffn, layers = (double)model->layers;
    double ups = model->arch == DT_ARCH_GPT2 ? 1 : 2;
    double layer = 2 * (h * (h + 2 * kv) + h * h + (ups + 1) * h * f) + 4 * (double)seq * h;

    return (struct dt_flops){
        .six_n = 6 * (double)dt_model_params(model),
        .full = 3 * (layers * layer + 2 * h * (double)model->vocab),
    };
}

double dt_run_again_flops(const struct dt_run_shape *run)
{
    const struct dt_model *m = &run->model;
    double layers = (double)m->layers, h = (double)m->hidden;
    double layer = (dt_model_flops(m, run->seq).full / 3 - 2 * h * (double)m->vocab) / layers;

    if (run->recompute != DT_RECOMPUTE_FULL)
        return 0;
    return (layers - 1) * (layer - 2 * h * (double)m->ffn);
}

bool dt_recompute_read(const char *word, enum dt_recompute *recompute)
{
    static const char *const words[] = {"none", "selective", "full"};

    for (size_t i = 0; i < DT_COUNT(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *recompute = (enum dt_recompute)i;
            return true;
        }
    }
    return false;
}

const char *dt_memory_name(enum dt_memory category)
{
    static const char *const names[] = {"weights",     "grads",  "optimizer", "activations",
                                        "logits", "work", "batch"};

    return category < DT_MEMORY_COUNT ? names[category] : "unknown";
}

struct dt_layer_room dt_run_room(const struct dt_run_shape *run)
{
    const struct dt_model *m = &run->model;
    int64_t tokens = run->micro_batch * run->seq, head = m->hidden / m->heads;

    return (struct dt_layer_room){
        .hidden = tokens * m->hidden,
        .qkv = tokens * (m->heads + 2 * m->kv_heads) * head,
        .up = tokens * m->ffn * (m->arch == DT_ARCH_GPT2 ? 1 : 2),
        .act = tokens * m->ffn,
        .lse = run->micro_batch * m->heads * run->seq,
        .stat = tokens,
        .logits = tokens * m->vocab,
        .scratch = 2 * DT_TILE * DT_TILE + 2 * DT_TILE * head + 2 * DT_TILE +
                   2 * head * ((run->seq + DT_TILE - 1) / DT_TILE * DT_TILE),
    };
}

void dt_run_bytes(const struct dt_run_shape *run, int64_t bytes[DT_MEMORY_COUNT])
{
    const struct dt_model *m = &run->model;
    struct dt_layer_room room = dt_run_room(run);
    int64_t params = dt_model_params(m), word = 4;
    int64_t stats = m->arch == DT_ARCH_GPT2 ? 2 * room.stat : room.stat; /* rstd, mean */
    /* Kept by every layer: its input; unless all is computed again, what products made; unless
     * anything is, both normed inputs and the activation. The rest is there once for all. */
    int64_t products = 2 * room.hidden + room.qkv + room.up + room.lse + 2 * stats;
    int64_t cheap = 2 * room.hidden + room.act;
    int64_t own = run->recompute == DT_RECOMPUTE_FULL ? 1 : m->layers;
    int64_t cheap_own = run->recompute == DT_RECOMPUTE_NONE ? m->layers : 1;

    bytes[DT_MEMORY_WEIGHTS] = word * params;
    bytes[DT_MEMORY_GRADS] = (run->is_exact ? 3 : 1) * word * params;
    bytes[DT_MEMORY_OPTIMIZER] = 2 * word * params;
    /* After the layers: the last norm's input and output. */
    bytes[DT_MEMORY_ACTIVATIONS] = word * ((m->layers + 2) * room.hidden + own * products +
                                           cheap_own * cheap + stats);
    bytes[DT_MEMORY_LOGITS] = word * room.logits;
    bytes[DT_MEMORY_WORK] = word * (2 * room.hidden + room.qkv + room.act + room.lse + room.stat +
                                    run->seq * (m->hidden / m->heads) +
                                    run->threads * room.scratch);
    bytes[DT_MEMORY_BATCH] = 2 * word * room.stat;
}
