/* Every operation, for every instruction set this machine has, against double precision. */
#include "kernels.h"
#include "op.h"
#include "rng.h"

#include "dt/shape/sizes.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 20000

/* Run check with each kernel table that this CPU can run. */
static void each_kernels(void (*check)(const struct kernels *kernels))
{
    check(&kernels_base);
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check(&kernels_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        check(&kernels_avx512);
#endif
}

/* count normal deviates, from the stream, owned by the caller. */
static float *noise(uint64_t stream, int64_t count)
{
    float *out = dt_alloc((size_t)count, sizeof(*out));

    rng_normal(11, stream, 0, count, out);
    return out;
}

static double *doubles(const float *in, int64_t count)
{
    double *out = dt_alloc((size_t)count, sizeof(*out));

    for (int64_t i = 0; i < count; i++)
        out[i] = (double)in[i];
    return out;
}

/* A function of some inputs in double: the sum over outputs weighted by w. */
typedef double scalar_function(const void *self, const double *x);

/* got[i] must be the derivative of f by x[i], for every step-th i. */
static void check_gradient(scalar_function *f, const void *self, double *x, int64_t count,
                           const float *got)
{
    double worst = 0, scale = 1e-3;

    for (int64_t i = 0; i < count; i++)
        scale = fabs((double)got[i]) > scale ? fabs((double)got[i]) : scale;
    for (int64_t i = 0; i < count; i += 1 + count / 150) {
        double kept = x[i], up, down;

        x[i] = kept + 1e-5;
        up = f(self, x);
        x[i] = kept - 1e-5;
        down = f(self, x);
        x[i] = kept;
        up = fabs((up - down) / 2e-5 - (double)got[i]) / scale;
        worst = up > worst ? up : worst;
    }
    CHECK_NEAR(worst, 0, 2e-5);
}

static void check_values(const float *got, const double *expected, int64_t count)
{
    double worst = 0;

    for (int64_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - expected[i]) / (1 + fabs(expected[i]));

        worst = off > worst || isnan(off) ? off : worst;
    }
    CHECK_NEAR(worst, 0, 2e-6);
}

/* ---- norms ---- */

struct norm_case {
    int64_t rows, width;
    bool is_layer;
    const double *gain, *bias, *w;
    const double *x; /* when the gain varies */
};

static void norm_double(const struct norm_case *c, const double *x, double *y)
{
    for (int64_t r = 0; r < c->rows; r++) {
        double mean = 0, square = 0;

        for (int64_t i = 0; c->is_layer && i < c->width; i++)
            mean += x[r * c->width + i] / (double)c->width;
        for (int64_t i = 0; i < c->width; i++)
            square += pow(x[r * c->width + i] - mean, 2) / (double)c->width;
        for (int64_t i = 0; i < c->width; i++)
            y[r * c->width + i] = (x[r * c->width + i] - mean) / sqrt(square + 1e-5) *
                                      c->gain[i] + (c->is_layer ? c->bias[i] : 0);
    }
}

static double norm_sum(const void *self, const double *x)
{
    const struct norm_case *c = self;
    static double y[ROOM];
    double sum = 0;

    norm_double(c, x, y);
    for (int64_t i = 0; i < c->rows * c->width; i++)
        sum += y[i] * c->w[i];
    return sum;
}

static double norm_sum_by_gain(const void *self, const double *gain)
{
    struct norm_case c = *(const struct norm_case *)self;

    c.gain = gain;
    return norm_sum(&c, c.x);
}

static void norm_one(const struct kernels *k, int64_t rows, int64_t width, bool is_layer)
{
    int64_t n = rows * width;
    float *x = noise(1, n), *gain = noise(2, width), *bias = noise(3, width), *w = noise(4, n);
    float *y = dt_alloc((size_t)n, 4), *copy = dt_alloc((size_t)n, 4);
    float *dx = dt_alloc((size_t)n, 4), *dgain = dt_alloc((size_t)width, 4);
    float *dbias = dt_alloc((size_t)width, 4), rstd[64], mean[64];
    double *x64 = doubles(x, n), *gain64 = doubles(gain, width), *bias64 = doubles(bias, width);
    double *w64 = doubles(w, n), *y64 = dt_alloc((size_t)n, 8);
    struct norm_case c = {rows, width, is_layer, gain64, bias64, w64, x64};

    k->norm(&(struct op_norm){.x = x, .gain = gain, .bias = is_layer ? bias : NULL, .y = y,
                              .copy = copy, .rstd = rstd, .mean = mean, .rows = rows,
                              .width = width}, (struct slice){0, rows, 0});
    norm_double(&c, x64, y64);
    check_values(y, y64, n);
    CHECK(memcmp(copy, x, (size_t)n * 4) == 0);
    struct op_norm_back back = {.dy = w, .x = x, .gain = gain, .rstd = rstd,
                                .mean = is_layer ? mean : NULL, .dx = dx, .dgain = dgain,
                                .dbias = is_layer ? dbias : NULL, .rows = rows, .width = width};
    k->norm_back_x(&back, (struct slice){0, rows, 0});
    k->norm_back_gain(&back, (struct slice){0, width / 2 / 16 * 16, 0});
    k->norm_back_gain(&back, (struct slice){width / 2 / 16 * 16, width, 0});
    check_gradient(norm_sum, &c, x64, n, dx);
    check_gradient(norm_sum_by_gain, &c, gain64, width, dgain);
    for (int64_t i = 0; is_layer && i < width; i++) {
        double sum = 0;

        for (int64_t r = 0; r < rows; r++)
            sum += (double)w[r * width + i];
        CHECK_NEAR(dbias[i], sum, 1e-5);
    }
    void *all[] = {x, gain, bias, w, y, copy, dx, dgain, dbias, x64, gain64, bias64, w64, y64};
    for (size_t i = 0; i < DT_COUNT(all); i++)
        dt_free(all[i]);
}

static void norm_all(const struct kernels *k)
{
    const int64_t widths[] = {8, 16, 34, 128, 250};

    for (size_t i = 0; i < DT_COUNT(widths); i++) {
        norm_one(k, 7, widths[i], false);
        norm_one(k, 7, widths[i], true);
    }
}

TEST(op__norms_and_their_gradients)
{
    each_kernels(norm_all);
}

/* ---- activations ---- */

struct act_case {
    int64_t rows, width;
    bool is_gated;
    const double *w;
};

static double act_double(const struct act_case *c, const double *up, double *out)
{
    double sum = 0;

    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t i = 0; i < c->width; i++) {
            int64_t wide = c->is_gated ? 2 * c->width : c->width;
            double g = up[r * wide + i], y;

            if (c->is_gated)
                y = g / (1 + exp(-g)) * up[r * wide + c->width + i];
            else
                y = 0.5 * g * (1 + tanh(sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
            out[r * c->width + i] = y;
            sum += y * c->w[r * c->width + i];
        }
    return sum;
}

static double act_sum(const void *self, const double *up)
{
    static double out[ROOM];

    return act_double(self, up, out);
}

static void act_one(const struct kernels *k, int64_t width, bool is_gated)
{
    int64_t rows = 3, n = rows * width * (is_gated ? 2 : 1);
    float *up = noise(5, n), *w = noise(6, rows * width);
    float *out = dt_alloc((size_t)(rows * width), 4);
    double *up64, *w64 = doubles(w, rows * width), *out64 = dt_alloc((size_t)(rows * width), 8);
    struct act_case c = {rows, width, is_gated, w64};

    for (int64_t i = 0; i < n; i++)
        up[i] *= 3;
    up64 = doubles(up, n);
    k->act(&(struct op_act){up, out, rows, width, is_gated}, (struct slice){0, rows, 0});
    act_double(&c, up64, out64);
    check_values(out, out64, rows * width);
    k->act_back(&(struct op_act_back){w, up, rows, width, is_gated}, (struct slice){0, rows, 0});
    check_gradient(act_sum, &c, up64, n, up);
    void *all[] = {up, w, out, up64, w64, out64};
    for (size_t i = 0; i < DT_COUNT(all); i++)
        dt_free(all[i]);
}

static void act_all(const struct kernels *k)
{
    act_one(k, 43, true);
    act_one(k, 43, false);
    act_one(k, 64, true);
    act_one(k, 64, false);
}

TEST(op__activations_and_their_gradients)
{
    each_kernels(act_all);
}

/* ---- rope ---- */

static void rope_all(const struct kernels *k)
{
    int64_t seq = 5, head = 12, heads = 2, kv = 1, wide = (heads + 2 * kv) * head, n = 10 * wide;
    float *x = noise(7, n), *y = noise(7, n), turn[5 * 12];
    struct op_rope op = {y, turn, 10, seq, heads, kv, head, false};
    double worst = 0;

    for (int64_t t = 0; t < seq; t++)
        for (int64_t i = 0; i < head / 2; i++) {
            turn[t * head + i] = cosf((float)t * 0.3f * (float)(i + 1));
            turn[t * head + head / 2 + i] = sinf((float)t * 0.3f * (float)(i + 1));
        }
    k->rope(&op, (struct slice){0, 10, 0});
    for (int64_t t = 0; t < 10; t++)
        for (int64_t j = 0; j < heads + kv; j++)
            for (int64_t i = 0; i < head / 2; i++) {
                double a = (double)x[t * wide + j * head + i];
                double b = (double)x[t * wide + j * head + head / 2 + i];
                double angle = (double)(t % seq) * 0.3 * (double)(i + 1);
                double off = fabs((double)y[t * wide + j * head + i] -
                                  (a * cos(angle) - b * sin(angle)));

                off += fabs((double)y[t * wide + j * head + head / 2 + i] -
                            (b * cos(angle) + a * sin(angle)));
                worst = off > worst ? off : worst;
            }
    CHECK_NEAR(worst, 0, 5e-6);
    op.is_back = true; /* a rotation's gradient is the rotation back */
    k->rope(&op, (struct slice){0, 10, 0});
    for (int64_t i = 0; i < n; i++)
        CHECK_NEAR(y[i], x[i], 2e-6);
    dt_free(x);
    dt_free(y);
}

TEST(op__rope_turns_and_turns_back)
{
    each_kernels(rope_all);
}

/* ---- attention ---- */

struct attention_case {
    int64_t batch, seq, heads, kv_heads, head;
    const double *w;
};

static double attention_double(const struct attention_case *c, const double *qkv, double *out)
{
    int64_t wide = (c->heads + 2 * c->kv_heads) * c->head;
    double sum = 0, p[512];

    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t n = 0; n < c->heads; n++)
            for (int64_t t = 0; t < c->seq; t++) {
                int64_t kv = n / (c->heads / c->kv_heads);
                const double *q = qkv + (b * c->seq + t) * wide + n * c->head;
                double total = 0;

                for (int64_t u = 0; u <= t; u++) {
                    const double *key = qkv + (b * c->seq + u) * wide + (c->heads + kv) * c->head;
                    double dot = 0;

                    for (int64_t i = 0; i < c->head; i++)
                        dot += q[i] * key[i];
                    p[u] = exp(dot / sqrt((double)c->head));
                    total += p[u];
                }
                for (int64_t i = 0; i < c->head; i++) {
                    int64_t at = (b * c->seq + t) * c->heads * c->head + n * c->head + i;
                    double y = 0;

                    for (int64_t u = 0; u <= t; u++)
                        y += p[u] / total *
                             qkv[(b * c->seq + u) * wide +
                                 (c->heads + c->kv_heads + kv) * c->head + i];
                    out[at] = y;
                    sum += y * c->w[at];
                }
            }
    return sum;
}

static double attention_sum(const void *self, const double *qkv)
{
    static double out[200000];

    return attention_double(self, qkv, out);
}

static void attention_one(const struct kernels *k, struct attention_case c)
{
    struct dt_run_shape run = {.model = {DT_ARCH_LLAMA, 1, c.heads * c.head, c.heads, c.kv_heads,
                                         8, 8, false, c.seq},
                               .seq = c.seq, .micro_batch = c.batch, .threads = 1};
    int64_t scratch_size = dt_run_room(&run).scratch;
    int64_t n = c.batch * c.seq * (c.heads + 2 * c.kv_heads) * c.head;
    int64_t m = c.batch * c.seq * c.heads * c.head, l = c.batch * c.heads * c.seq;
    float *qkv = noise(8, n), *w = noise(9, m), *out = noise(10, m), *dqkv = noise(10, n);
    float *lse = noise(10, l), *delta = noise(10, l), *scratch = noise(10, scratch_size);
    double *qkv64, *w64 = doubles(w, m), *out64 = dt_alloc((size_t)m, 8);
    struct op_attention op = {.qkv = qkv, .out = out, .lse = lse, .dout = w, .dqkv = dqkv,
                              .delta = delta, .scratch = scratch, .scratch_size = scratch_size,
                              .batch = c.batch, .seq = c.seq, .heads = c.heads,
                              .kv_heads = c.kv_heads, .head = c.head};
    struct slice units = {0, c.batch * c.kv_heads, 0};

    for (int64_t i = 0; i < n; i++)
        qkv[i] *= 1.5f;
    qkv64 = doubles(qkv, n);
    c.w = w64;
    k->attention(&op, units);
    attention_double(&c, qkv64, out64);
    check_values(out, out64, m);
    k->attention_back(&op, units);
    check_gradient(attention_sum, &c, qkv64, n, dqkv);
    void *all[] = {qkv, w, out, dqkv, lse, delta, scratch, qkv64, w64, out64};
    for (size_t i = 0; i < DT_COUNT(all); i++)
        dt_free(all[i]);
}

static void attention_all(const struct kernels *k)
{
    attention_one(k, (struct attention_case){2, 7, 2, 2, 8, NULL});
    attention_one(k, (struct attention_case){1, 64, 2, 1, 32, NULL});
    attention_one(k, (struct attention_case){1, 70, 4, 2, 6, NULL});
    attention_one(k, (struct attention_case){1, 130, 1, 1, 34, NULL});
}

TEST(op__attention_and_its_gradient)
{
    each_kernels(attention_all);
}

/* ---- cross-entropy ---- */

static void cross_entropy_all(const struct kernels *k)
{
    int64_t rows = 5, vocab = 37;
    float *z = noise(12, rows * vocab), loss[5];
    double *z64 = doubles(z, rows * vocab);
    int32_t target[5] = {0, 36, 5, -1, 20};

    k->cross_entropy(&(struct op_cross_entropy){z, target, loss, rows, vocab, false},
                     (struct slice){0, rows, 0});
    CHECK_NEAR(z[3], z64[3], 0); /* untouched without training */
    k->cross_entropy(&(struct op_cross_entropy){z, target, loss, rows, vocab, true},
                     (struct slice){0, rows, 0});
    for (int64_t r = 0; r < rows; r++) {
        double total = 0;

        for (int64_t i = 0; i < vocab; i++)
            total += exp(z64[r * vocab + i]);
        CHECK_NEAR(loss[r], target[r] < 0 ? 0 : log(total) - z64[r * vocab + target[r]], 1e-6);
        for (int64_t i = 0; i < vocab; i++) {
            double expected = exp(z64[r * vocab + i]) / total - (i == target[r]);

            CHECK_NEAR(z[r * vocab + i], target[r] < 0 ? 0 : expected, 1e-6);
        }
    }
    dt_free(z);
    dt_free(z64);
}

TEST(op__cross_entropy_and_its_gradient)
{
    each_kernels(cross_entropy_all);
}

TEST(op__cross_entropy_shows_a_nan)
{
    float z[20] = {0, 1, NAN}, loss;
    int32_t target = 1;
    const struct op_table *ops = op_cpu(1);

    ops->cross_entropy(&(struct op_cross_entropy){z, &target, &loss, 1, 20, true});
    CHECK(isnan(loss));
}

/* ---- the rest ---- */

static void adamw_all(const struct kernels *k)
{
    int64_t n = 53;
    float *p = noise(13, n), *g = noise(14, n), *m = noise(15, n), *v = noise(16, n);
    double p64[53], m64[53], v64[53];
    struct op_adamw op = {p, m, v, g, n, 1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, 2.0f, 3.0f};

    for (int64_t i = 0; i < n; i++) {
        double grad = 0.5 * (double)g[i];

        v[i] = fabsf(v[i]);
        m64[i] = 0.9 * (double)m[i] + 0.1 * grad;
        v64[i] = 0.95 * (double)v[i] + 0.05 * grad * grad;
        p64[i] = (double)p[i] * (1 - 1e-2 * 0.1) -
                 1e-2 * (2 * m64[i]) / (sqrt(3 * v64[i]) + 1e-8);
    }
    k->adamw(&op, (struct slice){0, 16, 0});
    k->adamw(&op, (struct slice){16, n, 0});
    check_values(p, p64, n);
    check_values(m, m64, n);
    check_values(v, v64, n);
    CHECK_NEAR(k->sum_squares(p, n), ({
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)p[i] * (double)p[i];
        sum;
    }), 1e-9);
    dt_free(p), dt_free(g), dt_free(m), dt_free(v);
}

/* Ranks of one job may have different CPUs: their weights must stay the same. */
TEST(op__updates_are_the_same_bits_on_every_instruction_set)
{
    const struct kernels *k[3] = {&kernels_base, &kernels_base, &kernels_base};
    float *p[3], *m, *v, *g = noise(14, 1003);
    uint64_t digest[3];

#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        k[1] = &kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        k[2] = &kernels_avx512;
#endif
    for (int i = 0; i < 3; i++) {
        p[i] = noise(13, 1003), m = noise(15, 1003), v = noise(16, 1003);
        for (int j = 0; j < 1003; j++)
            v[j] = fabsf(v[j]);
        k[i]->adamw(&(struct op_adamw){p[i], m, v, g, 1003, 1.1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.7f,
                                       1.3f, 1.7f}, (struct slice){0, 1003, 0});
        digest[i] = k[i]->digest(p[i], (struct slice){0, 400, 0}) +
                    k[i]->digest(p[i], (struct slice){400, 1003, 0});
        dt_free(m), dt_free(v);
    }
    CHECK(memcmp(p[0], p[1], 4012) == 0 && memcmp(p[0], p[2], 4012) == 0);
    CHECK(digest[0] == digest[1] && digest[0] == digest[2]);
    p[0][1002] = -p[0][1002];
    CHECK(k[0]->digest(p[0], (struct slice){0, 1003, 0}) != digest[0]);
    dt_free(g), dt_free(p[0]), dt_free(p[1]), dt_free(p[2]);
}

TEST(op__adamw_is_the_decoupled_form)
{
    each_kernels(adamw_all);
}

TEST(op__matmul_takes_turned_operands_and_adds)
{
    const struct op_table *ops = op_cpu(3); /* uneven shares of the rows */
    int64_t rows = 37, cols = 11, inner = 23;
    float *a = noise(17, rows * inner), *b = noise(18, inner * cols), *c = noise(19, rows * cols);

    for (int mode = 0; mode < 8; mode++) {
        bool ta = mode & 1, tb = mode & 2, adds = mode & 4;
        float *out = noise(19, rows * cols);

        ops->matmul(&(struct op_matmul){a, b, out, rows, cols, inner, ta, tb, adds});
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < cols; i++) {
                double sum = adds ? (double)c[r * cols + i] : 0;

                for (int64_t j = 0; j < inner; j++)
                    sum += (double)(ta ? a[j * rows + r] : a[r * inner + j]) *
                           (double)(tb ? b[i * inner + j] : b[j * cols + i]);
                CHECK_NEAR(out[r * cols + i], sum, 2e-5);
            }
        dt_free(out);
    }
    dt_free(a), dt_free(b), dt_free(c);
}

TEST(op__embed_adds_positions_and_scatters_back)
{
    const struct op_table *ops = op_cpu(1);
    int32_t ids[4] = {2, 0, 2, 1};
    float table[3 * 5], positions[2 * 5], out[20], dtable[15] = {0}, dpositions[10] = {0};

    for (int i = 0; i < 15; i++)
        table[i] = (float)i;
    for (int i = 0; i < 10; i++)
        positions[i] = 100.0f * (float)i;
    ops->embed(&(struct op_embed){ids, table, positions, out, 4, 5, 2});
    CHECK_NEAR(out[0], 10, 0);
    CHECK_NEAR(out[5 + 1], 1 + 600, 0);
    CHECK_NEAR(out[10 + 4], 14 + 400, 0);
    ops->embed_back(&(struct op_embed_back){ids, out, dtable, dpositions, 4, 5, 2});
    CHECK_NEAR(dtable[10], out[0] + out[10], 0);
    CHECK_NEAR(dtable[5], out[15], 0);
    CHECK_NEAR(dpositions[0], out[0] + out[10], 0);
}

TEST(op__bias_adds_to_rows_and_sums_them_back)
{
    const struct op_table *ops = op_cpu(1);
    float x[3 * 21], bias[21], back[21] = {0};

    for (int i = 0; i < 63; i++)
        x[i] = (float)(i % 7);
    for (int i = 0; i < 21; i++)
        bias[i] = (float)i;
    ops->bias(&(struct op_bias){x, bias, 3, 21});
    CHECK_NEAR(x[21 + 20], (21 + 20) % 7 + 20, 0);
    ops->bias_back(&(struct op_bias){x, back, 3, 21});
    CHECK_NEAR(back[20], x[20] + x[41] + x[62], 0);
}

static void fold_all(const struct kernels *k)
{
    const float values[] = {1.5f, -1.5f, 0.3f, -0.3f, 1e-9f, 3e9f, -7, 0, 1e20f, NAN};
    const int64_t whole[] = {6, -6, 1, -1, 0, 12000000000, -28, 0, 0, 0}; /* of quarters */
    uint64_t sums[10] = {0};
    float g[10];

    for (int round = 1; round <= 2; round++) {
        memcpy(g, values, sizeof(g));
        CHECK(k->fold(&(struct op_fold){g, sums, 8, 4, 0x1p62}, (struct slice){0, 8, 0}));
        for (int i = 0; i < 8; i++) {
            CHECK_INT((int64_t)sums[i], round * whole[i]);
            CHECK(g[i] == 0);
        }
    }
    memcpy(g, values, sizeof(g));
    CHECK(!k->fold(&(struct op_fold){g, sums, 10, 4, 0x1p62}, (struct slice){8, 9, 0}));
    CHECK(!k->fold(&(struct op_fold){g, sums, 10, 4, 0x1p62}, (struct slice){9, 10, 0}));
    k->unfold(&(struct op_fold){g, sums, 10, 4, 0x1p62}, (struct slice){0, 8, 0});
    CHECK(g[0] == 3 && g[1] == -3 && g[2] == 0.5f && g[5] == 6e9f && g[6] == -14);
}

TEST(op__exact_sums_round_to_the_nearest_and_refuse_what_is_over)
{
    each_kernels(fold_all);
}

TEST(op__sum_of_squares_does_not_depend_on_threads)
{
    int64_t n = 300000;
    float *x = noise(20, n);
    double one = op_cpu(1)->sum_squares(x, n), three;

    three = op_cpu(3)->sum_squares(x, n);
    CHECK(one == three);
    dt_free(x);
}
