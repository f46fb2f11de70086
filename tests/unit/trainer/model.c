/* The whole model against a second, plain one in double precision; splits of a batch. */
#include "model.h"

#include "parts.h"
#include "rng.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T 20 /* tokens: 2 sequences of 10 */

/* A plain forward pass in double over the model's flat parameters, one named tensor at a time. */
struct plain {
    const struct model *m;
    const double *p;
    double x[T][16], n[T][16], qkv[T][48], o[T][16], up[T][48];
};

static const double *tensor_of(const struct plain *plain, const char *name)
{
    const struct dt_model *shape = &plain->m->run.model;
    struct dt_tensor tensor;

    for (size_t i = 0; i < dt_model_tensors_count(shape); i++) {
        dt_model_tensor(shape, i, &tensor);
        if (strcmp(tensor.name, name) == 0)
            return plain->p + tensor.offset;
    }
    return NULL;
}

static const double *layer_of(const struct plain *plain, int64_t layer, const char *name)
{
    char text[64];

    snprintf(text, sizeof(text), "layers.%lld.%s", (long long)layer, name);
    return tensor_of(plain, text);
}

static void plain_norm(struct plain *plain, const double *gain, const double *bias)
{
    for (int t = 0; t < T; t++) {
        double mean = 0, square = 0;

        for (int i = 0; bias && i < 16; i++)
            mean += plain->x[t][i] / 16;
        for (int i = 0; i < 16; i++)
            square += pow(plain->x[t][i] - mean, 2) / 16;
        for (int i = 0; i < 16; i++)
            plain->n[t][i] = (plain->x[t][i] - mean) / sqrt(square + 1e-5) * gain[i] +
                             (bias ? bias[i] : 0);
    }
}

static double dot(const double *x, const double *w, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * w[i];
    return sum;
}

static void plain_turn(double *x, int64_t position)
{
    double a = x[0], b = x[1], c = x[2], d = x[3], slow = (double)position * 0.01;

    /* head size 4: pairs (0, 2) and (1, 3) at angles position and position / 100 */
    x[0] = a * cos((double)position) - c * sin((double)position);
    x[2] = c * cos((double)position) + a * sin((double)position);
    x[1] = b * cos(slow) - d * sin(slow);
    x[3] = d * cos(slow) + b * sin(slow);
}

static void plain_attention(struct plain *plain, int64_t kv_heads)
{
    for (int t = 0; t < T; t++)
        for (int h = 0; h < 4; h++) {
            int64_t kv = h / (4 / kv_heads);
            double p[T], total = 0;
            int first = t / 10 * 10;

            for (int u = first; u <= t; u++)
                total += p[u] = exp(dot(&plain->qkv[t][4 * h], &plain->qkv[u][16 + 4 * kv], 4) / 2);
            for (int i = 0; i < 4; i++) {
                plain->o[t][4 * h + i] = 0;
                for (int u = first; u <= t; u++)
                    plain->o[t][4 * h + i] +=
                        p[u] / total * plain->qkv[u][16 + 4 * kv_heads + 4 * kv + i];
            }
        }
}

static void plain_attend(struct plain *plain, int64_t layer)
{
    const struct dt_model *shape = &plain->m->run.model;
    const double *q = layer_of(plain, layer, "attn.q.weight");
    const double *bias = layer_of(plain, layer, "attn.qkv.bias");
    const double *out = layer_of(plain, layer, "attn.out.weight");
    const double *out_bias = layer_of(plain, layer, "attn.out.bias");
    int64_t wide = 16 + 8 * shape->kv_heads;

    plain_norm(plain, layer_of(plain, layer, "attn_norm.weight"),
               layer_of(plain, layer, "attn_norm.bias"));
    for (int t = 0; t < T; t++) {
        for (int64_t i = 0; i < wide; i++) /* q, k and v lie side by side */
            plain->qkv[t][i] = dot(plain->n[t], q + 16 * i, 16) + (bias ? bias[i] : 0);
        for (int64_t h = 0; shape->arch == DT_ARCH_LLAMA && h < 4 + shape->kv_heads; h++)
            plain_turn(&plain->qkv[t][4 * h], t % 10);
    }
    plain_attention(plain, shape->kv_heads);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < 16; i++)
            plain->x[t][i] += dot(plain->o[t], out + 16 * i, 16) + (out_bias ? out_bias[i] : 0);
}

static void plain_feed(struct plain *plain, int64_t layer)
{
    bool is_gpt2 = plain->m->run.model.arch == DT_ARCH_GPT2;
    const double *gate = layer_of(plain, layer, "ffn.gate.weight");
    const double *up = layer_of(plain, layer, "ffn.up.weight");
    const double *up_bias = layer_of(plain, layer, "ffn.up.bias");
    const double *down = layer_of(plain, layer, "ffn.down.weight");
    const double *down_bias = layer_of(plain, layer, "ffn.down.bias");

    plain_norm(plain, layer_of(plain, layer, "ffn_norm.weight"),
               layer_of(plain, layer, "ffn_norm.bias"));
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < 24; i++) {
            double u = dot(plain->n[t], up + 16 * i, 16) + (up_bias ? up_bias[i] : 0);
            double g = is_gpt2 ? 0 : dot(plain->n[t], gate + 16 * i, 16);

            plain->up[t][i] = is_gpt2 ? 0.5 * u * (1 + tanh(sqrt(2 / M_PI) *
                                                            (u + 0.044715 * u * u * u)))
                                      : g / (1 + exp(-g)) * u;
        }
        for (int i = 0; i < 16; i++)
            plain->x[t][i] += dot(plain->up[t], down + 24 * i, 24) +
                              (down_bias ? down_bias[i] : 0);
    }
}

static double plain_loss(const struct model *m, const double *p)
{
    static struct plain plain;
    const double *embed, *positions, *head;
    double loss = 0;

    plain.m = m, plain.p = p;
    embed = tensor_of(&plain, "embed.weight");
    positions = tensor_of(&plain, "positions.weight");
    head = m->run.model.is_tied ? embed : tensor_of(&plain, "head.weight");
    for (int t = 0; t < T; t++)
        for (int i = 0; i < 16; i++)
            plain.x[t][i] = embed[16 * m->ids[t] + i] +
                            (positions ? positions[16 * (t % 10) + i] : 0);
    for (int64_t layer = 0; layer < m->run.model.layers; layer++) {
        plain_attend(&plain, layer);
        plain_feed(&plain, layer);
    }
    plain_norm(&plain, tensor_of(&plain, "norm.weight"), tensor_of(&plain, "norm.bias"));
    for (int t = 0; t < T; t++) {
        double total = 0;

        for (int64_t v = 0; v < 64; v++)
            total += exp(dot(plain.n[t], head + 16 * v, 16));
        loss += log(total) - dot(plain.n[t], head + 16 * m->targets[t], 16);
    }
    return loss;
}

static void open_tiny(struct model *m, enum dt_arch arch)
{
    struct dt_run_shape run = {.model = tiny_model(arch), .seq = 10, .micro_batch = 2,
                               .threads = 1};
    float *noise;

    model_open(m, &run, op_cpu(1));
    model_fill(m, 3);
    /* Weights large enough that every path matters, biases and gains away from 0 and 1. */
    noise = dt_alloc((size_t)m->params_count, sizeof(*noise));
    rng_normal(9, 9, 0, m->params_count, noise);
    for (int64_t i = 0; i < m->params_count; i++)
        m->params[i] = 3 * m->params[i] * (fabsf(m->params[i]) < 0.5f) + 0.2f * noise[i] +
                       (m->params[i] == 1.0f);
    dt_free(noise);
    for (int t = 0; t < T; t++) {
        m->ids[t] = (t * 7 + t / 3) % 64;
        m->targets[t] = (t * 5 + 1) % 64;
    }
}

static void check_model(enum dt_arch arch)
{
    struct model m;
    double *p, worst = 0, scale = 0, loss;

    open_tiny(&m, arch);
    p = dt_alloc((size_t)m.params_count, sizeof(*p));
    for (int64_t i = 0; i < m.params_count; i++)
        p[i] = (double)m.params[i];
    loss = model_forward(&m, true);
    CHECK_NEAR(loss / plain_loss(&m, p), 1, 1e-6);
    for (int64_t layer = m.run.model.layers; layer >= -1; layer--)
        model_backward(&m, layer);
    for (int64_t i = 0; i < m.params_count; i++)
        scale = fmax(scale, fabs((double)m.grads[i]));
    for (int64_t i = 0; i < m.params_count; i += 7) {
        double kept = p[i], up, down;

        p[i] = kept + 1e-5;
        up = plain_loss(&m, p);
        p[i] = kept - 1e-5;
        down = plain_loss(&m, p);
        p[i] = kept;
        worst = fmax(worst, fabs((up - down) / 2e-5 - (double)m.grads[i]));
    }
    CHECK_NEAR(worst / scale, 0, 1e-5);
    dt_free(p);
    model_close(&m);
}

TEST(model__llama_gradients_equal_finite_differences)
{
    check_model(DT_ARCH_LLAMA);
}

TEST(model__gpt2_gradients_equal_finite_differences)
{
    check_model(DT_ARCH_GPT2);
}

/* What model_open takes is what was planned; gradients take so many words a parameter. */
static void check_planned(const struct dt_run_shape *run, int64_t grad_words)
{
    int64_t planned[DT_MEMORY_COUNT];
    struct model m;

    model_open(&m, run, op_cpu((int)run->threads));
    dt_run_bytes(run, planned);
    for (int c = 0; c < DT_MEMORY_COUNT; c++)
        if (planned[c] != m.allocated[c])
            CHECK_TEXT(dt_memory_name((enum dt_memory)c), "as planned");
    CHECK_INT(m.allocated[DT_MEMORY_GRADS], 4 * grad_words * m.params_count);
    model_close(&m);
}

TEST(model__allocates_what_the_plan_says)
{
    const enum dt_arch archs[] = {DT_ARCH_LLAMA, DT_ARCH_GPT2};

    for (size_t i = 0; i < 2; i++) {
        struct dt_run_shape run = {.model = tiny_model(archs[i]), .seq = 10, .micro_batch = 3,
                                   .threads = 2};

        check_planned(&run, 1);
        run.recompute = DT_RECOMPUTE_SELECTIVE;
        check_planned(&run, 1);
        run.recompute = DT_RECOMPUTE_FULL;
        run.is_exact = true;
        check_planned(&run, 3);
    }
}

TEST(model__evaluation_leaves_no_gradient)
{
    struct model m;
    double trained, evaluated;

    open_tiny(&m, DT_ARCH_LLAMA);
    evaluated = model_forward(&m, false);
    trained = model_forward(&m, true);
    CHECK(trained == evaluated);
    model_close(&m);
}

/* ---- any split of a batch gives the same step ---- */

struct split {
    struct config config;
    int threads;
    double loss[6], norm[6];
    float params[16384];
};

static void split_body(void *arg, struct comm *comm)
{
    struct split *split = arg;
    struct dt_run_shape run = {.model = split->config.model, .seq = split->config.seq,
                               .micro_batch = split->config.micro_batch,
                               .threads = split->threads};
    const bool wants[2] = {false, false};
    struct dt_err err = {0};
    struct model m;
    struct data data;
    struct exec exec;

    run.recompute = split->config.recompute;
    run.is_exact = split->config.is_deterministic;
    data_open_noise(&data, 40, split->config.seq, split->config.model.vocab);
    model_open(&m, &run, op_cpu(split->threads));
    model_fill(&m, 3);
    exec_open(&exec, &split->config, &data, comm, &m);
    for (int i = 0; i < 6; i++) {
        struct step_result result;

        CHECK_INT(exec_step(&exec, wants, &result, &err), DT_OK);
        if (comm->rank == 0) {
            split->loss[i] = result.loss;
            split->norm[i] = result.norm;
        }
    }
    if (comm->rank == 0)
        memcpy(split->params, m.params, (size_t)m.params_count * sizeof(float));
    exec_close(&exec);
    model_close(&m);
    data_close(&data);
}

static struct split *split_config(const struct config *config, int ranks)
{
    struct split *split = dt_alloc(1, sizeof(*split));

    split->config = *config;
    split->threads = 1;
    with_ranks(ranks, split_body, split);
    return split;
}

static struct split *split_run(enum dt_arch arch, int64_t micro, int64_t global, int ranks)
{
    struct config config = tiny_config(arch, micro, global);

    return split_config(&config, ranks);
}

static void check_same_bits(const struct split *one, const struct split *other)
{
    CHECK(memcmp(one->params, other->params, sizeof(one->params)) == 0);
    CHECK(memcmp(one->loss, other->loss, sizeof(one->loss)) == 0);
    CHECK(memcmp(one->norm, other->norm, sizeof(one->norm)) == 0);
}

static void check_recompute(enum dt_arch arch, enum dt_recompute recompute)
{
    struct config config = tiny_config(arch, 2, 8);
    struct split *kept, *again;

    config.model.layers = 4;
    config.seq = 7;
    kept = split_config(&config, 2);
    config.recompute = recompute;
    again = split_config(&config, 2);
    check_same_bits(kept, again);
    CHECK(kept->loss[5] < kept->loss[0]);
    dt_free(kept);
    dt_free(again);
}

TEST(step__recomputing_gives_the_same_bits)
{
    check_recompute(DT_ARCH_LLAMA, DT_RECOMPUTE_SELECTIVE);
    check_recompute(DT_ARCH_LLAMA, DT_RECOMPUTE_FULL);
    check_recompute(DT_ARCH_GPT2, DT_RECOMPUTE_SELECTIVE);
    check_recompute(DT_ARCH_GPT2, DT_RECOMPUTE_FULL);
}

TEST(step__deterministic_gives_the_same_bits_with_any_number_of_ranks)
{
    struct config config = tiny_config(DT_ARCH_LLAMA, 2, 12);
    struct split *plain = split_config(&config, 1), *one, *other;
    const int ranks[] = {2, 3, 4, 5, 6, 8}; /* even, uneven, one micro-batch each, some none */

    config.is_deterministic = true;
    one = split_config(&config, 1);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(one->loss[i] / plain->loss[i], 1, 1e-5);
        CHECK_NEAR(one->norm[i] / plain->norm[i], 1, 1e-4);
    }
    for (size_t i = 0; i < DT_COUNT(ranks); i++) {
        other = split_config(&config, ranks[i]);
        check_same_bits(one, other);
        dt_free(other);
    }
    dt_free(plain);
    dt_free(one);
}

static void check_same(enum dt_arch arch, int64_t micro, int ranks)
{
    struct split *one = split_run(arch, 12, 12, 1), *other = split_run(arch, micro, 12, ranks);
    double worst = 0;

    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(other->loss[i] / one->loss[i], 1, 1e-5);
        CHECK_NEAR(other->norm[i] / one->norm[i], 1, 1e-4);
    }
    for (size_t i = 0; i < DT_COUNT(one->params); i++)
        worst = fmax(worst, fabs((double)(one->params[i] - other->params[i])));
    CHECK(worst < 2e-3); /* Adam turns rounding of tiny gradients into steps of up to lr */
    dt_free(one);
    dt_free(other);
}

TEST(step__one_rank_with_batch_two_equals_two_with_batch_one)
{
    check_same(DT_ARCH_LLAMA, 6, 2);
    check_same(DT_ARCH_GPT2, 6, 2);
}

TEST(step__accumulation_equals_the_big_batch)
{
    check_same(DT_ARCH_LLAMA, 3, 1);
    check_same(DT_ARCH_LLAMA, 1, 1);
}

TEST(step__uneven_shares_equal_the_big_batch)
{
    check_same(DT_ARCH_LLAMA, 3, 3);  /* 4 micro-batches: 2, 1, 1 */
    check_same(DT_ARCH_LLAMA, 2, 4);  /* 6: 2, 2, 1, 1 */
    check_same(DT_ARCH_LLAMA, 6, 3);  /* 2 micro-batches, 3 ranks: one has none */
    check_same(DT_ARCH_GPT2, 1, 5);
}

TEST(step__threads_of_a_rank_give_nearly_the_same)
{
    struct split *one = split_run(DT_ARCH_LLAMA, 4, 12, 1), three = {0};
    struct comm comm;

    three.config = one->config;
    three.threads = 3;
    comm_self_open(&comm);
    split_body(&three, &comm);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(three.loss[i] / one->loss[i], 1, 1e-5);
    dt_free(one);
}

TEST(step__the_same_layout_gives_the_same_bits)
{
    struct split *one = split_run(DT_ARCH_LLAMA, 2, 12, 3);
    struct split *two = split_run(DT_ARCH_LLAMA, 2, 12, 3);

    CHECK(memcmp(one->params, two->params, sizeof(one->params)) == 0);
    CHECK(memcmp(one->loss, two->loss, sizeof(one->loss)) == 0);
    dt_free(one);
    dt_free(two);
}

/* ---- traffic and non-finite values ---- */

static void traffic_body(void *arg, struct comm *comm)
{
    struct config *config = arg;
    struct dt_run_shape run = {.model = config->model, .seq = config->seq,
                               .micro_batch = config->micro_batch, .threads = 1};
    const bool wants[2] = {comm->rank == 1, false};
    struct step_result result;
    struct dt_err err = {0};
    struct model m;
    struct data data;
    struct exec exec;
    float before;

    data_open_noise(&data, 40, config->seq, config->model.vocab);
    model_open(&m, &run, op_cpu(1));
    model_fill(&m, 3);
    exec_open(&exec, config, &data, comm, &m);
    CHECK_INT(exec_step(&exec, wants, &result, &err), DT_OK);
    CHECK_INT(comm->bytes_sent, 2 * 2 * 4 * m.params_count / 3);
    CHECK(result.wants_save && !result.wants_stop); /* rank 1's wish reached all */
    if (comm->rank == 2)
        m.params[m.params_count - 1] = NAN; /* one rank's head goes wrong */
    before = m.params[0];
    CHECK_INT(exec_step(&exec, wants, &result, &err), DT_OK);
    CHECK(result.is_skipped);
    CHECK(m.params[0] == before);
    CHECK_INT(exec.consumed, 2 * config->global_batch);
    CHECK_INT(exec.optimizer_step, 1);
    exec_close(&exec);
    model_close(&m);
    data_close(&data);
}

/* One bit of one rank's weights turns over between two steps. */
static void flip_body(void *arg, struct comm *comm)
{
    struct config *config = arg;
    struct dt_run_shape run = config_run_shape(config, 1);
    const bool wants[2] = {false, false};
    struct step_result result;
    struct dt_err err = {0};
    struct model m;
    struct data data;
    struct exec exec;

    data_open_noise(&data, 40, config->seq, config->model.vocab);
    model_open(&m, &run, op_cpu(1));
    model_fill(&m, 3);
    exec_open(&exec, config, &data, comm, &m);
    exec_weights_set(&exec);
    CHECK_INT(exec_step(&exec, wants, &result, &err), DT_OK);
    CHECK(result.digest != 0 && result.digest == exec.digest);
    if (comm->rank == 1)
        ((unsigned char *)m.params)[4321] ^= 1;
    CHECK_INT(exec_step(&exec, wants, &result, &err), DT_OK); /* the update spreads it */
    CHECK_INT(exec_step(&exec, wants, &result, &err), DT_CORRUPT);
    CHECK(strstr(err.text, "weights") != NULL);
    exec_close(&exec);
    model_close(&m);
    data_close(&data);
}

TEST(step__a_flipped_bit_of_the_weights_is_found_by_all_ranks)
{
    struct config config = tiny_config(DT_ARCH_LLAMA, 2, 12);

    with_ranks(3, flip_body, &config);
}

TEST(step__counts_its_traffic_and_all_skip_when_one_is_not_finite)
{
    struct config config = tiny_config(DT_ARCH_LLAMA, 2, 12);

    with_ranks(3, traffic_body, &config);
}
