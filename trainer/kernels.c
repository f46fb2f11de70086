/* Row-wise loops of the CPU operations, built once for each instruction set. */
#include "kernels_isa.h"

#include "lanes.h"

#include <math.h>

#define NORM_EPSILON 1e-5f

static void norm(const struct op_norm *op, struct slice rows)
{
    int64_t w = op->width;

    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = op->x + r * w;
        float *y = op->y + r * w, mean = 0, rstd;
        lanes sum = {0}, squares = {0}, shift, scale;

        if (op->bias) {
            for (int64_t i = 0; i < w; i += LANES)
                sum += lanes_take(x + i, w - i);
            mean = lanes_sum(sum) / (float)w;
            op->mean[r] = mean;
        }
        shift = lanes_all(mean);
        for (int64_t i = 0; i < w; i += LANES) {
            lanes v = lanes_take(x + i, w - i) - shift;

            if (w - i < LANES) /* lanes past the end hold -mean */
                lanes_store_part((float *)&v + (w - i), (lanes){0}, LANES - (w - i));
            squares += v * v;
        }
        rstd = 1.0f / sqrtf(lanes_sum(squares) / (float)w + NORM_EPSILON);
        op->rstd[r] = rstd;
        scale = lanes_all(rstd);
        for (int64_t i = 0; i < w; i += LANES) {
            lanes v = lanes_take(x + i, w - i), out;

            out = (v - shift) * scale * lanes_take(op->gain + i, w - i);
            if (op->bias)
                out += lanes_take(op->bias + i, w - i);
            lanes_give(y + i, out, w - i);
            if (op->copy)
                lanes_give(op->copy + r * w + i, v, w - i);
        }
    }
}

/* dx += rstd (g - mean(g) - xhat mean(g xhat)), g = dy gain; RMSNorm has no mean(g). */
static void norm_back_x(const struct op_norm_back *op, struct slice rows)
{
    int64_t w = op->width;

    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = op->x + r * w, *dy = op->dy + r * w;
        float *dx = op->dx + r * w;
        lanes shift = lanes_all(op->mean ? op->mean[r] : 0), scale = lanes_all(op->rstd[r]);
        lanes dot = {0}, sum = {0};

        for (int64_t i = 0; i < w; i += LANES) {
            lanes g = lanes_take(dy + i, w - i) * lanes_take(op->gain + i, w - i);

            dot += g * ((lanes_take(x + i, w - i) - shift) * scale);
            sum += g;
        }
        dot = lanes_all(lanes_sum(dot) / (float)w);
        sum = lanes_all(op->mean ? lanes_sum(sum) / (float)w : 0);
        for (int64_t i = 0; i < w; i += LANES) {
            lanes g = lanes_take(dy + i, w - i) * lanes_take(op->gain + i, w - i);
            lanes hat = (lanes_take(x + i, w - i) - shift) * scale;

            lanes_give(dx + i, lanes_take(dx + i, w - i) + scale * (g - sum - hat * dot), w - i);
        }
    }
}

static void norm_back_gain(const struct op_norm_back *op, struct slice columns)
{
    int64_t w = op->width;

    for (int64_t i = columns.first; i < columns.end; i += LANES) {
        int64_t left = columns.end - i;
        lanes gain = {0}, bias = {0};

        for (int64_t r = 0; r < op->rows; r++) {
            lanes dy = lanes_take(op->dy + r * w + i, left);
            lanes x = lanes_take(op->x + r * w + i, left);

            if (op->mean)
                x -= op->mean[r];
            gain += dy * (x * op->rstd[r]);
            bias += dy;
        }
        lanes_give(op->dgain + i, lanes_take(op->dgain + i, left) + gain, left);
        if (op->dbias)
            lanes_give(op->dbias + i, lanes_take(op->dbias + i, left) + bias, left);
    }
}

static void rope(const struct op_rope *op, struct slice rows)
{
    int64_t half = op->head / 2, wide = (op->heads + 2 * op->kv_heads) * op->head;
    float sign = op->is_back ? -1.0f : 1.0f;

    for (int64_t t = rows.first; t < rows.end; t++) {
        const float *cosine = op->turn + t % op->seq * op->head, *sine = cosine + half;

        for (int64_t n = 0; n < op->heads + op->kv_heads; n++) {
            float *a = op->qkv + t * wide + n * op->head, *b = a + half;

            for (int64_t i = 0; i < half; i += LANES) {
                int64_t left = half - i;
                lanes x = lanes_take(a + i, left), y = lanes_take(b + i, left);
                lanes c = lanes_take(cosine + i, left), s = lanes_take(sine + i, left) * sign;

                lanes_give(a + i, x * c - y * s, left);
                lanes_give(b + i, y * c + x * s, left);
            }
        }
    }
}

/* tanh through e^2u, without cancellation that matters in fp32. */
INLINE lanes lanes_tanh(lanes u)
{
    return 1.0f - 2.0f / (lanes_exp(u + u) + 1.0f);
}

INLINE lanes gelu_inner(lanes x)
{
    return 0.7978845608028654f * (x + 0.044715f * x * x * x);
}

static void act(const struct op_act *op, struct slice rows)
{
    int64_t f = op->width;

    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = op->up + r * f * (op->is_gated ? 2 : 1), *y = x + f;
        float *out = op->act + r * f;

        for (int64_t i = 0; i < f; i += LANES) {
            int64_t left = f - i;
            lanes g = lanes_take(x + i, left);

            if (op->is_gated)
                g = g / (1.0f + lanes_exp(-g)) * lanes_take(y + i, left);
            else
                g = 0.5f * g * (1.0f + lanes_tanh(gelu_inner(g)));
            lanes_give(out + i, g, left);
        }
    }
}

static void act_back(const struct op_act_back *op, struct slice rows)
{
    int64_t f = op->width;

    for (int64_t r = rows.first; r < rows.end; r++) {
        float *x = op->up + r * f * (op->is_gated ? 2 : 1), *y = x + f;
        const float *d = op->dact + r * f;

        for (int64_t i = 0; i < f; i += LANES) {
            int64_t left = f - i;
            lanes g = lanes_take(x + i, left), dy = lanes_take(d + i, left);

            if (op->is_gated) {
                lanes u = lanes_take(y + i, left), s = 1.0f / (1.0f + lanes_exp(-g));

                lanes_give(x + i, dy * u * s * (1.0f + g * (1.0f - s)), left);
                lanes_give(y + i, dy * (g * s), left);
            } else {
                lanes t = lanes_tanh(gelu_inner(g));
                lanes slope = 0.7978845608028654f * (1.0f + 0.134145f * g * g);

                lanes_give(x + i,
                           dy * (0.5f * (1.0f + t) + 0.5f * g * (1.0f - t * t) * slope), left);
            }
        }
    }
}

static void bias(const struct op_bias *op, struct slice rows)
{
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t i = 0; i < op->width; i += LANES) {
            int64_t left = op->width - i;
            float *x = op->x + r * op->width + i;

            lanes_give(x, lanes_take(x, left) + lanes_take(op->bias + i, left), left);
        }
}

static void bias_back(const struct op_bias *op, struct slice columns)
{
    for (int64_t i = columns.first; i < columns.end; i += LANES) {
        int64_t left = columns.end - i;
        lanes sum = lanes_take(op->bias + i, left);

        for (int64_t r = 0; r < op->rows; r++)
            sum += lanes_take(op->x + r * op->width + i, left);
        lanes_give(op->bias + i, sum, left);
    }
}

/* Turn a row of logits into (softmax - one at target) and return the loss of the row. */
static float cross_entropy_row(float *z, int64_t vocab, int32_t target, bool is_training)
{
    lanes high = lanes_all(z[0]), sum = {0};
    float top, total, picked = z[target];

    for (int64_t i = 0; i < vocab; i += LANES)
        high = vocab - i >= LANES ? lanes_max(lanes_load(z + i), high) : high;
    top = lanes_greatest(high);
    for (int64_t i = vocab - vocab % LANES; i < vocab; i++)
        top = z[i] > top ? z[i] : top;
    for (int64_t i = 0; i < vocab; i += LANES) {
        int64_t left = vocab - i;
        lanes e = lanes_exp(lanes_take(z + i, left) - top);

        if (left < LANES)
            e = lanes_load_part((const float *)&e, left);
        sum += e;
        if (is_training)
            lanes_give(z + i, e, left);
    }
    total = lanes_sum(sum);
    if (is_training) {
        float scale = 1.0f / total;

        for (int64_t i = 0; i < vocab; i += LANES)
            lanes_give(z + i, lanes_take(z + i, vocab - i) * scale, vocab - i);
        z[target] -= 1.0f;
    }
    return logf(total) - (picked - top);
}

static void cross_entropy(const struct op_cross_entropy *op, struct slice rows)
{
    for (int64_t r = rows.first; r < rows.end; r++) {
        float *z = op->z + r * op->vocab;

        if (op->target[r] >= 0) {
            op->loss[r] = cross_entropy_row(z, op->vocab, op->target[r], op->is_training);
            continue;
        }
        op->loss[r] = 0;
        if (op->is_training)
            memset(z, 0, (size_t)op->vocab * sizeof(*z));
    }
}

/* Each lane in double, so that a large buffer loses nothing. */
static double sum_squares(const float *x, int64_t size)
{
    double sum[LANES] = {0}, total = 0;
    int64_t i = 0;

    for (; i + LANES <= size; i += LANES)
        for (int j = 0; j < LANES; j++)
            sum[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < size; i++)
        total += (double)x[i] * (double)x[i];
    for (int j = 0; j < LANES; j++)
        total += sum[j];
    return total;
}

static void add(float *x, const float *y, int64_t size)
{
    for (int64_t i = 0; i < size; i += LANES)
        lanes_give(x + i, lanes_take(x + i, size - i) + lanes_take(y + i, size - i), size - i);
}

const struct kernels KERNELS = {
    .name = KERNELS_NAME,
    .norm = norm,
    .norm_back_x = norm_back_x,
    .norm_back_gain = norm_back_gain,
    .rope = rope,
    .attention = KERNELS_ATTENTION,
    .attention_back = KERNELS_ATTENTION_BACK,
    .act = act,
    .act_back = act_back,
    .bias = bias,
    .bias_back = bias_back,
    .cross_entropy = cross_entropy,
    .adamw = KERNELS_ADAMW,
    .fold = KERNELS_FOLD,
    .unfold = KERNELS_UNFOLD,
    .digest = KERNELS_DIGEST,
    .sum_squares = sum_squares,
    .add = add,
};
