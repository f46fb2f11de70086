/* Tiled causal attention with an online softmax, built once for each instruction set. */
#include "kernels_isa.h"

#include "lanes.h"

#include "dt/shape/sizes.h"

#include <math.h>

/* A small product c (rows, cols) = or += a . b; a's elements by two strides, so that it may be
 * turned; b and c with cols side by side. */
struct product {
    const float *a, *b;
    float *c;
    int64_t a_row, a_inner, b_row, c_row;
    int64_t rows, cols, inner;
    bool adds;
};

#if LANES == 16
#define BLOCK_ROWS 8
#else
#define BLOCK_ROWS 4
#endif
/* rows (1..BLOCK_ROWS, a constant after inlining) by two vectors of columns at column col. */
INLINE void product_block(const struct product *p, int64_t row, int64_t col, const int rows)
{
    const float *a = p->a + row * p->a_row, *b = p->b + col;
    int64_t left = p->cols - col, more = left > LANES ? left - LANES : 0;
    lanes sum[BLOCK_ROWS][2];

    for (int r = 0; r < rows; r++) {
        float *c = p->c + (row + r) * p->c_row + col;

        sum[r][0] = p->adds ? lanes_take(c, left) : (lanes){0};
        sum[r][1] = p->adds && more > 0 ? lanes_take(c + LANES, more) : (lanes){0};
    }
    if (more >= LANES) {
        for (int64_t k = 0; k < p->inner; k++) {
            lanes b0 = lanes_load(b + k * p->b_row), b1 = lanes_load(b + k * p->b_row + LANES);

            for (int r = 0; r < rows; r++) {
                sum[r][0] += a[r * p->a_row + k * p->a_inner] * b0;
                sum[r][1] += a[r * p->a_row + k * p->a_inner] * b1;
            }
        }
    } else {
        for (int64_t k = 0; k < p->inner; k++) {
            lanes b0 = lanes_take(b + k * p->b_row, left), b1 = {0};

            if (more > 0)
                b1 = lanes_take(b + k * p->b_row + LANES, more);
            for (int r = 0; r < rows; r++) {
                sum[r][0] += a[r * p->a_row + k * p->a_inner] * b0;
                sum[r][1] += a[r * p->a_row + k * p->a_inner] * b1;
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float *c = p->c + (row + r) * p->c_row + col;

        lanes_give(c, sum[r][0], left);
        if (more > 0)
            lanes_give(c + LANES, sum[r][1], more);
    }
}

static void product_run(const struct product *p)
{
    for (int64_t col = 0; col < p->cols; col += 2 * LANES) {
        int64_t row = 0;

        for (; row + BLOCK_ROWS <= p->rows; row += BLOCK_ROWS)
            product_block(p, row, col, BLOCK_ROWS);
        for (; row < p->rows; row++)
            product_block(p, row, col, 1);
    }
}

/* out (width, padded) = in (rows, width) turned, 0 in the columns past rows. */
static void turn(float *out, const float *in, int64_t in_row, int64_t width, int64_t rows)
{
    int64_t padded = (rows + DT_TILE - 1) / DT_TILE * DT_TILE;

    for (int64_t r0 = 0; r0 < padded; r0 += LANES)
        for (int64_t w = 0; w < width; w++)
            for (int64_t r = r0; r < r0 + LANES; r++)
                out[w * padded + r] = r < rows ? in[r * in_row + w] : 0;
}

/* One head of one sequence; strides in floats. Scratch of one thread, laid out by head_open. */
struct head {
    const float *q, *k, *v;
    int64_t seq, padded, size, qkv_row, out_row;
    float scale;
    float *turned_k, *turned_v;  /* (size, padded) */
    float *scores, *dscores;     /* (DT_TILE, DT_TILE) */
    float *sum, *sum2;           /* (DT_TILE, size) */
    float *top, *total;          /* (DT_TILE) */
};

static void head_open(struct head *head, const struct op_attention *op, int thread)
{
    float *at = op->scratch + thread * op->scratch_size;

    *head = (struct head){.seq = op->seq, .size = op->head, .out_row = op->heads * op->head};
    head->padded = (op->seq + DT_TILE - 1) / DT_TILE * DT_TILE;
    head->qkv_row = (op->heads + 2 * op->kv_heads) * op->head;
    head->scale = 1.0f / sqrtf((float)op->head);
    head->turned_k = at, at += head->size * head->padded;
    head->turned_v = at, at += head->size * head->padded;
    head->scores = at, at += DT_TILE * DT_TILE;
    head->dscores = at, at += DT_TILE * DT_TILE;
    head->sum = at, at += DT_TILE * head->size;
    head->sum2 = at, at += DT_TILE * head->size;
    head->top = at, at += DT_TILE;
    head->total = at;
}

/* scores = scale . q_tile k_tile^T, wide columns. */
static void head_scores(const struct head *head, int64_t q0, int64_t rows, int64_t k0)
{
    struct product p = {.a = head->q + q0 * head->qkv_row, .a_row = head->qkv_row, .a_inner = 1,
                        .b = head->turned_k + k0, .b_row = head->padded, .c = head->scores,
                        .c_row = DT_TILE, .rows = rows, .cols = DT_TILE, .inner = head->size};

    product_run(&p);
}

/* Fold one tile of scores into the running softmax; scores become weights. count[r] = columns
 * row r may see. */
static void head_fold(const struct head *head, int64_t rows, int64_t seen)
{
    for (int64_t r = 0; r < rows; r++) {
        float *s = head->scores + r * DT_TILE, *o = head->sum + r * head->size;
        int64_t count = seen + r < DT_TILE ? seen + r : DT_TILE;
        float top = head->top[r], fade;
        lanes high = lanes_all(-INFINITY), total = {0};

        for (int64_t i = 0; i < DT_TILE; i += LANES) {
            if (count - i >= LANES)
                high = lanes_max(lanes_load(s + i), high);
            for (int64_t j = i; count - i < LANES && j < count; j++)
                top = s[j] * head->scale > top ? s[j] * head->scale : top;
        }
        high[0] = high[0] > lanes_greatest(high) ? high[0] : lanes_greatest(high);
        top = high[0] * head->scale > top ? high[0] * head->scale : top;
        for (int64_t i = 0; i < DT_TILE; i += LANES) {
            lanes e = {0};

            if (count - i > 0)
                e = lanes_exp(lanes_load(s + i) * head->scale - top);
            if (count - i < LANES)
                e = lanes_load_part((const float *)&e, count - i > 0 ? count - i : 0);
            lanes_store(s + i, e);
            total += e;
        }
        fade = expf(head->top[r] - top);
        head->total[r] = head->total[r] * fade + lanes_sum(total);
        head->top[r] = top;
        for (int64_t i = 0; fade < 1.0f && i < head->size; i += LANES)
            lanes_give(o + i, lanes_take(o + i, head->size - i) * fade, head->size - i);
    }
}

static void head_forward(const struct head *head, float *out, float *lse)
{
    for (int64_t q0 = 0; q0 < head->seq; q0 += DT_TILE) {
        int64_t rows = head->seq - q0 < DT_TILE ? head->seq - q0 : DT_TILE;

        for (int64_t r = 0; r < rows; r++) {
            head->top[r] = -INFINITY;
            head->total[r] = 0;
        }
        memset(head->sum, 0, (size_t)(DT_TILE * head->size) * sizeof(float));
        for (int64_t k0 = 0; k0 <= q0; k0 += DT_TILE) {
            int64_t wide = head->seq - k0 < DT_TILE ? head->seq - k0 : DT_TILE;
            struct product p = {.a = head->scores, .a_row = DT_TILE, .a_inner = 1,
                                .b = head->v + k0 * head->qkv_row, .b_row = head->qkv_row,
                                .c = head->sum, .c_row = head->size, .rows = rows,
                                .cols = head->size, .inner = wide, .adds = true};

            head_scores(head, q0, rows, k0);
            head_fold(head, rows, q0 - k0 + 1);
            product_run(&p);
        }
        for (int64_t r = 0; r < rows; r++) {
            float *o = out + (q0 + r) * head->out_row, fix = 1.0f / head->total[r];

            for (int64_t i = 0; i < head->size; i += LANES)
                lanes_give(o + i, lanes_take(head->sum + r * head->size + i, head->size - i) *
                                      fix, head->size - i);
            lse[q0 + r] = head->top[r] + logf(head->total[r]);
        }
    }
}

/* Units are (sequence, key-value head): the query heads of a group share keys and values. */
void KERNELS_ATTENTION(const struct op_attention *op, struct slice units)
{
    int64_t group = op->heads / op->kv_heads, d = op->head;
    struct head head;

    head_open(&head, op, units.thread);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        int64_t b = unit / op->kv_heads, kv = unit % op->kv_heads;
        const float *row = op->qkv + b * op->seq * head.qkv_row;

        head.k = row + (op->heads + kv) * d;
        head.v = row + (op->heads + op->kv_heads + kv) * d;
        turn(head.turned_k, head.k, head.qkv_row, d, op->seq);
        for (int64_t n = kv * group; n < (kv + 1) * group; n++) {
            head.q = row + n * d;
            head_forward(&head, op->out + b * op->seq * head.out_row + n * d,
                         op->lse + (b * op->heads + n) * op->seq);
        }
    }
}

/* What one head's backward reads and writes beside struct head. */
struct head_back {
    const float *dout, *lse, *delta;
    float *dq;
    int64_t q0, rows, k0, wide; /* the tile */
};

/* scores = weights, dscores = scale . weights (dweights - delta) of the tile. */
static void head_back_scores(const struct head *head, const struct head_back *back)
{
    struct product p = {.a = back->dout + back->q0 * head->out_row, .a_row = head->out_row,
                        .a_inner = 1, .b = head->turned_v + back->k0, .b_row = head->padded,
                        .c = head->dscores, .c_row = DT_TILE, .rows = back->rows,
                        .cols = DT_TILE, .inner = head->size};

    head_scores(head, back->q0, back->rows, back->k0);
    product_run(&p);
    for (int64_t r = 0; r < back->rows; r++) {
        float *s = head->scores + r * DT_TILE, *ds = head->dscores + r * DT_TILE;
        int64_t count = back->q0 - back->k0 + r + 1;

        for (int64_t i = 0; i < DT_TILE; i += LANES) {
            lanes w = {0};

            if (count - i > 0)
                w = lanes_exp(lanes_load(s + i) * head->scale - back->lse[back->q0 + r]);
            if (count - i < LANES)
                w = lanes_load_part((const float *)&w, count - i > 0 ? count - i : 0);
            lanes_store(s + i, w);
            lanes_store(ds + i, w * (lanes_load(ds + i) - back->delta[back->q0 + r]) *
                                    head->scale);
        }
    }
}

/* Add the tile's part to the gradients of q (in place), k and v (in sum and sum2). */
static void head_back_tile(const struct head *head, const struct head_back *back)
{
    int64_t d = head->size;
    struct product dv = {.a = head->scores, .a_row = 1, .a_inner = DT_TILE,
                         .b = back->dout + back->q0 * head->out_row, .b_row = head->out_row,
                         .c = head->sum2, .c_row = d, .rows = back->wide, .cols = d,
                         .inner = back->rows, .adds = true};
    struct product dk = {.a = head->dscores, .a_row = 1, .a_inner = DT_TILE,
                         .b = head->q + back->q0 * head->qkv_row, .b_row = head->qkv_row,
                         .c = head->sum, .c_row = d, .rows = back->wide, .cols = d,
                         .inner = back->rows, .adds = true};
    struct product dq = {.a = head->dscores, .a_row = DT_TILE, .a_inner = 1,
                         .b = head->k + back->k0 * head->qkv_row, .b_row = head->qkv_row,
                         .c = back->dq + back->q0 * head->qkv_row, .c_row = head->qkv_row,
                         .rows = back->rows, .cols = d, .inner = back->wide,
                         .adds = back->k0 > 0};

    head_back_scores(head, back);
    product_run(&dv);
    product_run(&dk);
    product_run(&dq);
}

/* delta[t] = dout[t] . out[t] */
static void head_delta(const struct head *head, const float *dout, const float *out,
                       float *delta)
{
    for (int64_t t = 0; t < head->seq; t++) {
        lanes dot = {0};

        for (int64_t i = 0; i < head->size; i += LANES)
            dot += lanes_take(dout + t * head->out_row + i, head->size - i) *
                   lanes_take(out + t * head->out_row + i, head->size - i);
        delta[t] = lanes_sum(dot);
    }
}

/* The gradients of one tile of keys and values, over the group's heads. */
static void unit_back_keys(struct head *head, const struct op_attention *op, int64_t unit,
                           int64_t k0)
{
    int64_t b = unit / op->kv_heads, kv = unit % op->kv_heads, d = op->head;
    int64_t group = op->heads / op->kv_heads, base = b * op->seq * head->qkv_row;
    struct head_back back = {.k0 = k0};

    back.wide = op->seq - k0 < DT_TILE ? op->seq - k0 : DT_TILE;
    memset(head->sum, 0, (size_t)(DT_TILE * d) * sizeof(float));
    memset(head->sum2, 0, (size_t)(DT_TILE * d) * sizeof(float));
    for (int64_t n = kv * group; n < (kv + 1) * group; n++) {
        head->q = op->qkv + base + n * d;
        back.dq = op->dqkv + base + n * d;
        back.dout = op->dout + b * op->seq * head->out_row + n * d;
        back.lse = op->lse + (b * op->heads + n) * op->seq;
        back.delta = op->delta + (b * op->heads + n) * op->seq;
        for (back.q0 = k0; back.q0 < op->seq; back.q0 += DT_TILE) {
            back.rows = op->seq - back.q0 < DT_TILE ? op->seq - back.q0 : DT_TILE;
            head_back_tile(head, &back);
        }
    }
    for (int64_t r = 0; r < back.wide; r++) {
        float *dk = op->dqkv + base + (k0 + r) * head->qkv_row + (op->heads + kv) * d;

        memcpy(dk, head->sum + r * d, (size_t)d * sizeof(float));
        memcpy(dk + op->kv_heads * d, head->sum2 + r * d, (size_t)d * sizeof(float));
    }
}

void KERNELS_ATTENTION_BACK(const struct op_attention *op, struct slice units)
{
    int64_t group = op->heads / op->kv_heads, d = op->head;
    struct head head;

    head_open(&head, op, units.thread);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        int64_t b = unit / op->kv_heads, kv = unit % op->kv_heads;
        const float *row = op->qkv + b * op->seq * head.qkv_row;

        head.k = row + (op->heads + kv) * d;
        head.v = row + (op->heads + op->kv_heads + kv) * d;
        turn(head.turned_k, head.k, head.qkv_row, d, op->seq);
        turn(head.turned_v, head.v, head.qkv_row, d, op->seq);
        for (int64_t n = kv * group; n < (kv + 1) * group; n++) {
            int64_t at = b * op->seq * head.out_row + n * d;

            head_delta(&head, op->dout + at, op->out + at,
                       op->delta + (b * op->heads + n) * op->seq);
        }
        for (int64_t k0 = 0; k0 < op->seq; k0 += DT_TILE)
            unit_back_keys(&head, op, unit, k0);
    }
}
