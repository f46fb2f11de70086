/* The CPU's operations: OpenBLAS for products, own kernels for the rest, shared out to threads. */
#include "op.h"

#include "kernels.h"
#include "pool.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256

/* One table a number of threads; the operations of a table find their pool by its thread. */
static struct cpu {
    struct op_table table;
    struct pool *pool;
} cpus[THREADS_MAX + 1];

static const struct kernels *kernels;
static struct pool *pool_of_one;

/* The pool of the calling thread: set by op_cpu, so that each thread of comm_thr has its own. */
static _Thread_local struct pool *pool;

static struct pool *pool_here(void)
{
    return pool ? pool : pool_of_one;
}

static void *take(size_t size)
{
    size_t whole = (size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, whole ? whole : 64);

    if (!memory) {
        fprintf(stderr, "dttrain: out of memory: %zu bytes more\n", size);
        abort();
    }
    return memset(memory, 0, whole ? whole : 64);
}

static void release(void *memory)
{
    free(memory);
}

static void matmul_rows(const void *arg, struct slice rows)
{
    const struct op_matmul *op = arg;
    const float *a = op->a + rows.first * (op->is_a_turned ? 1 : op->inner);

    cblas_sgemm(CblasRowMajor, op->is_a_turned ? CblasTrans : CblasNoTrans,
                op->is_b_turned ? CblasTrans : CblasNoTrans, (blasint)(rows.end - rows.first),
                (blasint)op->cols, (blasint)op->inner, 1.0f, a,
                (blasint)(op->is_a_turned ? op->rows : op->inner), op->b,
                (blasint)(op->is_b_turned ? op->inner : op->cols), op->adds ? 1.0f : 0.0f,
                op->c + rows.first * op->cols, (blasint)op->cols);
}

static void matmul(const struct op_matmul *op)
{
    pool_run(pool_here(), op->rows, 16, matmul_rows, op);
}

static void embed(const struct op_embed *op)
{
    for (int64_t t = 0; t < op->tokens; t++) {
        float *out = op->out + t * op->hidden;

        memcpy(out, op->table + op->ids[t] * op->hidden, (size_t)op->hidden * sizeof(*out));
        if (op->positions)
            kernels->add(out, op->positions + t % op->seq * op->hidden, op->hidden);
    }
}

static void embed_back(const struct op_embed_back *op)
{
    for (int64_t t = 0; t < op->tokens; t++) {
        const float *d = op->d + t * op->hidden;

        kernels->add(op->dtable + op->ids[t] * op->hidden, d, op->hidden);
        if (op->dpositions)
            kernels->add(op->dpositions + t % op->seq * op->hidden, d, op->hidden);
    }
}

static void norm_rows(const void *arg, struct slice rows)
{
    kernels->norm(arg, rows);
}

static void norm(const struct op_norm *op)
{
    pool_run(pool_here(), op->rows, 16, norm_rows, op);
}

static void norm_back_rows(const void *arg, struct slice rows)
{
    kernels->norm_back_x(arg, rows);
}

static void norm_back_columns(const void *arg, struct slice columns)
{
    kernels->norm_back_gain(arg, columns);
}

static void norm_back(const struct op_norm_back *op)
{
    pool_run(pool_here(), op->width, 64, norm_back_columns, op);
    pool_run(pool_here(), op->rows, 16, norm_back_rows, op);
}

static void rope_rows(const void *arg, struct slice rows)
{
    kernels->rope(arg, rows);
}

static void rope(const struct op_rope *op)
{
    pool_run(pool_here(), op->tokens, 16, rope_rows, op);
}

static void attention_units(const void *arg, struct slice units)
{
    kernels->attention(arg, units);
}

static void attention(const struct op_attention *op)
{
    pool_run(pool_here(), op->batch * op->kv_heads, 1, attention_units, op);
}

static void attention_back_units(const void *arg, struct slice units)
{
    kernels->attention_back(arg, units);
}

static void attention_back(const struct op_attention *op)
{
    pool_run(pool_here(), op->batch * op->kv_heads, 1, attention_back_units, op);
}

static void act_rows(const void *arg, struct slice rows)
{
    kernels->act(arg, rows);
}

static void act(const struct op_act *op)
{
    pool_run(pool_here(), op->tokens, 8, act_rows, op);
}

static void act_back_rows(const void *arg, struct slice rows)
{
    kernels->act_back(arg, rows);
}

static void act_back(const struct op_act_back *op)
{
    pool_run(pool_here(), op->tokens, 8, act_back_rows, op);
}

static void bias_rows(const void *arg, struct slice rows)
{
    kernels->bias(arg, rows);
}

static void bias(const struct op_bias *op)
{
    pool_run(pool_here(), op->rows, 16, bias_rows, op);
}

static void bias_columns(const void *arg, struct slice columns)
{
    kernels->bias_back(arg, columns);
}

static void bias_back(const struct op_bias *op)
{
    pool_run(pool_here(), op->width, 64, bias_columns, op);
}

static void cross_entropy_rows(const void *arg, struct slice rows)
{
    kernels->cross_entropy(arg, rows);
}

static void cross_entropy(const struct op_cross_entropy *op)
{
    pool_run(pool_here(), op->tokens, 8, cross_entropy_rows, op);
}

static void adamw_elements(const void *arg, struct slice elements)
{
    kernels->adamw(arg, elements);
}

static void adamw(const struct op_adamw *op)
{
    pool_run(pool_here(), op->size, 4096, adamw_elements, op);
}

struct folding {
    const struct op_fold *op;
    _Atomic bool *is_over; /* set by any thread */
};

static void fold_elements(const void *arg, struct slice elements)
{
    const struct folding *folding = arg;

    if (!kernels->fold(folding->op, elements))
        *folding->is_over = true;
}

static bool fold(const struct op_fold *op)
{
    _Atomic bool is_over = false;

    pool_run(pool_here(), op->size, 4096, fold_elements, &(struct folding){op, &is_over});
    return !is_over;
}

static void unfold_elements(const void *arg, struct slice elements)
{
    kernels->unfold(arg, elements);
}

static void unfold(const struct op_fold *op)
{
    pool_run(pool_here(), op->size, 4096, unfold_elements, op);
}

struct digesting {
    const float *x;
    _Atomic uint64_t *sum; /* the order of additions does not matter */
};

static void digest_elements(const void *arg, struct slice elements)
{
    const struct digesting *digesting = arg;

    *digesting->sum += kernels->digest(digesting->x, elements);
}

static uint64_t digest(const float *x, int64_t size)
{
    _Atomic uint64_t sum = 0;

    pool_run(pool_here(), size, 4096, digest_elements, &(struct digesting){x, &sum});
    return sum;
}

#define CHUNKS_MAX 1024

struct squares {
    const float *x;
    int64_t size, chunk;
    double sum[CHUNKS_MAX];
};

static void squares_chunks(const void *arg, struct slice chunks)
{
    struct squares *squares = (struct squares *)(uintptr_t)arg; /* each thread its own sums */

    for (int64_t i = chunks.first; i < chunks.end; i++) {
        int64_t first = i * squares->chunk, left = squares->size - first;

        squares->sum[i] = kernels->sum_squares(squares->x + first,
                                               left < squares->chunk ? left : squares->chunk);
    }
}

static double sum_squares(const float *x, int64_t size)
{
    struct squares squares = {.x = x, .size = size};
    int64_t chunks;
    double sum = 0;

    squares.chunk = (size + CHUNKS_MAX - 1) / CHUNKS_MAX;
    squares.chunk = squares.chunk < 16384 ? 16384 : squares.chunk;
    chunks = (size + squares.chunk - 1) / squares.chunk;
    pool_run(pool_here(), chunks, 1, squares_chunks, &squares);
    for (int64_t i = 0; i < chunks; i++)
        sum += squares.sum[i];
    return sum;
}

struct fill {
    float *x;
};

static void fill_elements(const void *arg, struct slice elements)
{
    const struct fill *fill = arg;

    memset(fill->x + elements.first, 0,
           (size_t)(elements.end - elements.first) * sizeof(*fill->x));
}

static void fill_zero(float *x, int64_t size)
{
    pool_run(pool_here(), size, 16384, fill_elements, &(struct fill){x});
}

static const struct op_table functions = {
    .take = take,
    .release = release,
    .matmul = matmul,
    .embed = embed,
    .embed_back = embed_back,
    .norm = norm,
    .norm_back = norm_back,
    .rope = rope,
    .attention = attention,
    .attention_back = attention_back,
    .act = act,
    .act_back = act_back,
    .bias = bias,
    .bias_back = bias_back,
    .cross_entropy = cross_entropy,
    .adamw = adamw,
    .fold = fold,
    .unfold = unfold,
    .digest = digest,
    .sum_squares = sum_squares,
    .fill_zero = fill_zero,
};

static void choose_kernels(void)
{
    kernels = &kernels_base;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        kernels = &kernels_avx512;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kernels = &kernels_avx2;
#endif
    openblas_set_num_threads(1); /* the pool shares out rows instead */
    pool_of_one = pool_open(1);
}

const struct op_table *op_cpu(int threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct cpu *cpu = &cpus[threads];

    pthread_once(&once, choose_kernels);
    if (threads > 1) {
        pthread_mutex_lock(&lock);
        cpu->pool = cpu->pool ? cpu->pool : pool_open(threads);
        pthread_mutex_unlock(&lock);
    }
    pool = threads > 1 ? cpu->pool : pool_of_one;
    pthread_mutex_lock(&lock);
    if (!cpu->table.take) {
        cpu->table = functions;
        cpu->table.name = kernels->name;
        cpu->table.threads = threads;
    }
    pthread_mutex_unlock(&lock);
    return &cpu->table;
}

void op_cpu_choose_core(char **argv)
{
#if defined(__x86_64__)
    const char *core = openblas_get_corename();

    if (getenv("OPENBLAS_CORETYPE") || !core)
        return;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw") ||
        strcmp(core, "SkylakeX") == 0 || strcmp(core, "Cooperlake") == 0 ||
        strcmp(core, "SapphireRapids") == 0)
        return;
    /* OpenBLAS chooses once, while it is loaded: only a new start can change its mind. */
    if (setenv("OPENBLAS_CORETYPE", "SkylakeX", 1) == 0)
        execv("/proc/self/exe", argv);
#else
    (void)argv;
#endif
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double op_cpu_peak(const struct op_table *table)
{
    int64_t n = 768;
    float *memory = table->take((size_t)(3 * n * n) * sizeof(float));
    struct op_matmul op = {.a = memory, .b = memory + n * n, .c = memory + 2 * n * n, .rows = n,
                           .cols = n, .inner = n, .is_b_turned = true};
    double best = 1e9;

    for (int64_t i = 0; i < 2 * n * n; i++)
        memory[i] = (float)(i % 13) * 0.1f;
    for (int i = 0; i < 4; i++) {
        double begin = seconds(), took;

        table->matmul(&op);
        took = seconds() - begin;
        best = took < best ? took : best;
    }
    table->release(memory);
    return 2.0 * (double)(n * n * n) / best;
}
