/* A transformer as the planner counts it: parameters and floating-point operations. */
#include "dt/plan/model.h"

#include <math.h>
#include <string.h>

#define SIZE_MAX_EACH 1e7
#define VOCAB_MAX 1e8

const struct dt_plan_model dt_plan_models[] = {
    {"gpt2-124m", DT_PLAN_GPT, 12, 768, 12, 12, 3072, 50257, true},
    {"gpt3-13b", DT_PLAN_GPT, 40, 5120, 40, 40, 20480, 51200, true},
    {"gpt3-175b", DT_PLAN_GPT, 96, 12288, 96, 96, 49152, 51200, true},
    {"megatron-22b", DT_PLAN_GPT, 48, 6144, 64, 64, 24576, 51200, true},
    {"megatron-530b", DT_PLAN_GPT, 105, 20480, 128, 128, 81920, 51200, true},
    {"megatron-1t", DT_PLAN_GPT, 128, 25600, 160, 160, 102400, 51200, true},
    {"llama-7b", DT_PLAN_LLAMA, 32, 4096, 32, 32, 11008, 32000, false},
    {"llama-13b", DT_PLAN_LLAMA, 40, 5120, 40, 40, 13824, 32000, false},
    {"llama-65b", DT_PLAN_LLAMA, 80, 8192, 64, 64, 22016, 32000, false},
    {"llama2-70b", DT_PLAN_LLAMA, 80, 8192, 64, 8, 28672, 32000, false},
    {"llama3-8b", DT_PLAN_LLAMA, 32, 4096, 32, 8, 14336, 128256, false},
    {"llama3-70b", DT_PLAN_LLAMA, 80, 8192, 64, 8, 28672, 128256, false},
    {"llama3-405b", DT_PLAN_LLAMA, 126, 16384, 128, 8, 53248, 128256, false},
};
const size_t dt_plan_models_count = DT_COUNT(dt_plan_models);

const struct dt_plan_model *dt_plan_model(const char *name)
{
    for (size_t i = 0; i < dt_plan_models_count; i++)
        if (strcmp(dt_plan_models[i].name, name) == 0)
            return &dt_plan_models[i];
    return NULL;
}

enum dt_code dt_plan_model_check(const struct dt_plan_model *model, struct dt_err *err)
{
    const struct {
        const char *name;
        double value, most;
    } rows[] = {
        {"layers", model->layers, SIZE_MAX_EACH}, {"hidden", model->hidden, SIZE_MAX_EACH},
        {"heads", model->heads, SIZE_MAX_EACH},   {"kv-heads", model->kv_heads, SIZE_MAX_EACH},
        {"ffn", model->ffn, SIZE_MAX_EACH},       {"vocab", model->vocab, VOCAB_MAX},
    };
    double best;

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        if (rows[i].value >= 1 && rows[i].value <= rows[i].most &&
            rows[i].value == floor(rows[i].value))
            continue;
        dt_fail(err, DT_INVALID, "%s: %g cannot be", rows[i].name, rows[i].value);
        dt_hint(err, "a whole number 1 to %g", rows[i].most);
        return DT_INVALID;
    }
    if (fmod(model->hidden, model->heads) != 0) {
        best = model->heads * fmax(1, floor(model->hidden / model->heads + 0.5));
        dt_fail(err, DT_INVALID, "hidden %g is not divisible by %g heads", model->hidden,
                model->heads);
        dt_hint(err, "the nearest that is: %g%s", best,
                model->hidden == 5140 ? " (GPT-3 13B as printed; 5120 is the usual substitution)"
                                      : "");
        return DT_INVALID;
    }
    if (fmod(model->heads, model->kv_heads) != 0) {
        for (best = model->kv_heads; fmod(model->heads, best) != 0;)
            best--;
        dt_fail(err, DT_INVALID, "%g heads cannot share %g key-value heads evenly", model->heads,
                model->kv_heads);
        dt_hint(err, "the nearest below that can: %g", best);
        return DT_INVALID;
    }
    return DT_OK;
}

/* Weights of a layer's products, without biases and norms. */
static double layer_matmul(const struct dt_plan_model *m)
{
    double kv = m->kv_heads * m->hidden / m->heads;
    double products = m->arch == DT_PLAN_LLAMA ? 3 : 2;

    return 2 * m->hidden * m->hidden + 2 * m->hidden * kv + products * m->hidden * m->ffn;
}

double dt_plan_layer_parameters(const struct dt_plan_model *m)
{
    double kv = m->kv_heads * m->hidden / m->heads;
    double biases = m->hidden + 2 * kv + m->hidden + m->ffn + m->hidden;

    if (m->arch == DT_PLAN_LLAMA)
        return layer_matmul(m) + 2 * m->hidden;
    return layer_matmul(m) + biases + 4 * m->hidden;
}

double dt_plan_parameters(const struct dt_plan_model *m, double seq)
{
    double sum = m->layers * dt_plan_layer_parameters(m) +
                 (m->is_tied ? 1 : 2) * m->vocab * m->hidden;

    return sum + (m->arch == DT_PLAN_LLAMA ? m->hidden : (seq + 2) * m->hidden);
}

double dt_plan_flops(const struct dt_plan_model *m, double batch, double seq,
                     enum dt_plan_flops convention)
{
    double tokens = batch * seq;
    double products = 2 * m->layers * layer_matmul(m) * tokens;
    double scores = 4 * seq * m->hidden * m->layers * tokens;
    double head = 2 * m->hidden * m->vocab * tokens;

    switch (convention) {
    case DT_FLOPS_MODEL:
        return 3 * (products + scores + head);
    case DT_FLOPS_HARDWARE_FULL:
        return 4 * (products + scores) + 3 * head;
    case DT_FLOPS_HARDWARE_SELECTIVE:
        return 3 * (products + 2 * scores + head);
    case DT_FLOPS_6N:
        return 6 * dt_plan_parameters(m, seq) * tokens;
    }
    return 0;
}
