/* A measured run on random tokens: the figures of the trainer, for dt-bench. */
#include "bench.h"

#include "exec.h"
#include "mfu.h"
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_STEPS 2

/* Totals over the measured steps. */
struct figures {
    double *step_s; /* count */
    int64_t count;
    double total_s, compute_s, wait_s;
    int64_t sent;
};

static int compare_double(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static void print(const struct exec *exec, const struct figures *figures, double peak)
{
    const struct model *m = exec->model;
    double median = figures->step_s[figures->count / 2];
    double per_s = (double)(exec->config->global_batch * exec->config->seq) / median;
    struct mfu mfu = mfu_of(&m->run, per_s, peak, exec->comm->size);
    int64_t planned[DT_MEMORY_COUNT], planned_sum = 0, allocated_sum = 0, traffic = 0;

    dt_run_bytes(&m->run, planned);
    for (int i = 0; i < DT_MEMORY_COUNT; i++) {
        planned_sum += planned[i];
        allocated_sum += m->allocated[i];
    }
    for (size_t i = 0; i < exec->buckets.count; i++)
        traffic += dt_reduce_bytes(exec->buckets.items[i].span.count, exec->comm->size);
    printf("{\"tokens_per_s\":%.1f,\"step_ms\":%.3f,\"compute_ratio\":%.4f,\"wait_ratio\":%.4f,"
           "\"planned_bytes\":%lld,\"allocated_bytes\":%lld,\"planned_traffic_bytes\":%lld,"
           "\"counted_traffic_bytes\":%lld,\"mfu_6n_ratio\":%.4f,\"mfu_full_ratio\":%.4f,"
           "\"gemm_efficiency_ratio\":%.4f,\"peak_flops_per_s\":%.5g,\"params\":%lld,"
           "\"ranks\":%d,\"threads\":%d,\"kernels\":\"%s\",\"carrier\":\"%s\"}\n",
           per_s, 1e3 * median, figures->compute_s / figures->total_s,
           figures->wait_s / figures->total_s, (long long)planned_sum, (long long)allocated_sum,
           (long long)traffic, (long long)(figures->sent / figures->count), mfu.six_n, mfu.full,
           mfu.full * figures->total_s / figures->compute_s, peak, (long long)m->params_count,
           exec->comm->size, m->ops->threads, m->ops->name, exec->comm->table->name);
    fflush(stdout);
}

static enum dt_code measure(struct exec *exec, struct figures *figures, struct dt_err *err)
{
    const bool wants[2] = {false, false};
    enum dt_code code = DT_OK;

    for (int64_t i = 0; i < WARM_STEPS + figures->count && !code; i++) {
        struct step_result result;

        if (i == WARM_STEPS)
            figures->sent = exec->comm->bytes_sent;
        code = exec_step(exec, wants, &result, err);
        if (code || i < WARM_STEPS)
            continue;
        figures->step_s[i - WARM_STEPS] = result.total_s;
        figures->total_s += result.total_s;
        figures->compute_s += result.compute_s;
        figures->wait_s += result.wait_s;
    }
    figures->sent = exec->comm->bytes_sent - figures->sent;
    qsort(figures->step_s, (size_t)figures->count, sizeof(*figures->step_s), compare_double);
    return code;
}

int bench_run(struct config *config, struct comm *comm, const struct op_table *ops)
{
    struct dt_run_shape shape = config_run_shape(config, ops->threads);
    struct figures figures = {.count = config->steps};
    struct dt_err err = {0};
    struct model model;
    struct data data;
    struct exec exec;
    double peak = op_cpu_peak(ops);
    enum dt_code code;

    data_open_noise(&data, 4 * config->global_batch, config->seq, config->model.vocab);
    model_open(&model, &shape, ops);
    model_fill(&model, config->seed);
    exec_open(&exec, config, &data, comm, &model);
    figures.step_s = dt_alloc((size_t)figures.count, sizeof(*figures.step_s));
    code = measure(&exec, &figures, &err);
    if (!code && comm->rank == 0)
        print(&exec, &figures, peak);
    dt_free(figures.step_s);
    exec_close(&exec);
    model_close(&model);
    data_close(&data);
    return code ? train_fail(TRAIN_PEER_LOST, &err) : TRAIN_DONE;
}
