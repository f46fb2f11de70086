/* Loops that change the weights: the same bits on every instruction set, for they stay apart. */
#include "kernels_isa.h"

#include "lanes.h"

/* Built without fused products (CMakeLists.txt): elementwise, each step rounds as IEEE 754 says. */

INLINE lanes lanes_root(lanes x)
{
    float y[LANES];

    memcpy(y, &x, sizeof(x));
    for (int i = 0; i < LANES; i++)
        y[i] = __builtin_sqrtf(y[i]);
    memcpy(&x, y, sizeof(x));
    return x;
}

void KERNELS_ADAMW(const struct op_adamw *op, struct slice elements)
{
    float keep = 1.0f - op->lr * op->decay, rate = op->lr * op->fix1;

    for (int64_t i = elements.first; i < elements.end; i += LANES) {
        int64_t left = elements.end - i;
        lanes g = lanes_take(op->g + i, left) * op->grad_scale;
        lanes m = lanes_take(op->m + i, left), v = lanes_take(op->v + i, left);

        m = op->beta1 * m + (1.0f - op->beta1) * g;
        v = op->beta2 * v + (1.0f - op->beta2) * (g * g);
        lanes_give(op->m + i, m, left);
        lanes_give(op->v + i, v, left);
        m = rate * m / (lanes_root(v * op->fix2) + op->eps);
        lanes_give(op->p + i, lanes_take(op->p + i, left) * keep - m, left);
    }
}

/* A product by a power of two is exact, so every instruction set rounds alike. */
bool KERNELS_FOLD(const struct op_fold *op, struct slice elements)
{
    bool is_over = false;

    for (int64_t i = elements.first; i < elements.end; i++) {
        double x = (double)op->g[i] * op->scale;
        bool fits = x < op->limit && x > -op->limit;

        is_over |= !fits;
        x = fits ? x : 0;
        op->sums[i] += (uint64_t)(int64_t)(x < 0 ? x - 0.5 : x + 0.5);
        op->g[i] = 0;
    }
    return !is_over;
}

void KERNELS_UNFOLD(const struct op_fold *op, struct slice elements)
{
    double back = 1 / op->scale;

    for (int64_t i = elements.first; i < elements.end; i++)
        op->g[i] = (float)((double)(int64_t)op->sums[i] * back);
}

uint64_t KERNELS_DIGEST(const float *x, struct slice elements)
{
    uint64_t sum[LANES] = {0}, total = 0;
    uint32_t bits[LANES];
    int64_t i = elements.first;

    for (; i + LANES <= elements.end; i += LANES) {
        memcpy(bits, x + i, sizeof(bits));
        for (int j = 0; j < LANES; j++)
            sum[j] += (uint64_t)bits[j] * (uint32_t)(2 * (uint32_t)(i + j) + 1);
    }
    for (; i < elements.end; i++) {
        memcpy(bits, x + i, sizeof(*bits));
        total += (uint64_t)bits[0] * (uint32_t)(2 * (uint32_t)i + 1);
    }
    for (int j = 0; j < LANES; j++)
        total += sum[j];
    return total;
}
