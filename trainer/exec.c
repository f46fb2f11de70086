/* One training step: runs a schedule over model, data and collectives, then updates the weights. */
#include "exec.h"

#include "clock.h"

#include <math.h>

#define BUCKET_BYTES (4 << 20)

static void find_runs(struct exec *exec)
{
    const struct dt_model *shape = &exec->model->run.model;
    size_t count = dt_model_tensors_count(shape);

    exec->runs = dt_alloc(count, sizeof(*exec->runs));
    for (size_t i = 0; i < count; i++) {
        struct exec_run *last = exec->runs_count ? &exec->runs[exec->runs_count - 1] : NULL;
        struct dt_tensor tensor;

        dt_model_tensor(shape, i, &tensor);
        if (last && last->is_decayed == tensor.is_decayed)
            last->count += tensor.rows * tensor.cols;
        else
            exec->runs[exec->runs_count++] = (struct exec_run){
                tensor.offset, tensor.rows * tensor.cols, tensor.is_decayed};
    }
}

/*
 * Scales of exact sums. The mean gradient is kept in steps of about 2^-52, far below Adam's
 * epsilon; one beyond 2^10 is no training any more and counts as not finite. Losses are rounded so
 * that doubles add them up exactly.
 */
static void find_scales(struct exec *exec)
{
    const struct config *config = exec->config;
    double tokens = (double)(config->global_batch * config->seq);
    int digits;

    if (!config->is_deterministic)
        return;
    frexp(tokens, &digits);
    exec->grad_scale = ldexp(1, 52 - digits);
    exec->grad_limit = ldexp(1, 62) / (double)(config->global_batch / config->micro_batch);
    exec->loss_scale = ldexp(1, 46 - digits);
}

void exec_open(struct exec *exec, const struct config *config, const struct data *data,
               struct comm *comm, struct model *model)
{
    *exec = (struct exec){.config = config, .data = data, .comm = comm, .model = model};
    exec->mesh = (struct dt_mesh){1, 1, 1, comm->size};
    exec->share = dt_share(config->global_batch / config->micro_batch, exec->mesh.data,
                           dt_mesh_coords(&exec->mesh, comm->rank).data);
    dt_buckets_init(&exec->buckets, &model->run.model, BUCKET_BYTES);
    dt_schedule_data(&exec->schedule, exec->share.count, model->run.model.layers,
                     &exec->buckets, config->is_deterministic);
    find_scales(exec);
    exec_weights_set(exec);
    find_runs(exec);
}

void exec_close(struct exec *exec)
{
    dt_schedule_release(&exec->schedule);
    dt_buckets_release(&exec->buckets);
    dt_free(exec->runs);
    *exec = (struct exec){0};
}

void exec_weights_set(struct exec *exec)
{
    exec->digest = exec->model->ops->digest(exec->model->params, exec->model->params_count);
}

/* What a step adds up on its way. */
struct tally {
    double loss;
    double data_s;
    int64_t tokens;
};

static enum dt_code read_batch(struct exec *exec, const struct data *data, int64_t index,
                               struct tally *tally, struct dt_err *err)
{
    double begin = clock_seconds();
    int32_t *const room[2] = {exec->model->ids, exec->model->targets};
    enum dt_code code = data_read(data, index, exec->config->micro_batch, room, err);

    tally->data_s += clock_seconds() - begin;
    return code;
}

/* With exact sums the loss of a micro-batch is a whole number of 1 / loss_scale. */
static double exact_loss(const struct exec *exec, double loss)
{
    return exec->loss_scale > 0 ? rint(loss * exec->loss_scale) / exec->loss_scale : loss;
}

static enum dt_code run_forward(struct exec *exec, int64_t index, struct tally *tally,
                                struct dt_err *err)
{
    int64_t batch = exec->share.first + index;
    enum dt_code code = read_batch(exec, exec->data,
                                   exec->consumed + batch * exec->config->micro_batch, tally,
                                   err);

    if (code)
        return code;
    tally->loss += exact_loss(exec, model_forward(exec->model, true));
    tally->tokens += exec->config->micro_batch * exec->config->seq;
    return DT_OK;
}

/* One agreement of all ranks: sums of losses and tokens, rank 0's norm, anybody's wishes. */
static enum dt_code agree(struct exec *exec, const bool wants[2], const struct tally *tally,
                          struct step_result *result, struct dt_err *err)
{
    const struct model *model = exec->model;
    uint32_t low = (uint32_t)exec->digest, high = (uint32_t)(exec->digest >> 32);
    bool is_first = exec->comm->rank == 0;
    /* Then the digests of all and of rank 0: sums of so small whole numbers are exact. */
    double words[9] = {tally->loss, (double)tally->tokens, 0, wants[0], wants[1], low, high,
                       is_first ? low : 0, is_first ? high : 0};
    double size = exec->comm->size;
    enum dt_code code;

    /* All ranks hold the same sum; one norm for all, lest different CPUs decide differently. */
    if (exec->comm->rank == 0)
        words[2] = model->ops->sum_squares(model->grads, model->params_count);
    if ((code = comm_all_reduce_f64(exec->comm, words, DT_COUNT(words), COMM_SUM, err)))
        return code;
    if (words[5] != size * words[7] || words[6] != size * words[8])
        return dt_fail(err, DT_CORRUPT, "rank %d: the weights of the ranks are no longer the same "
                       "after %lld updates: memory, a CPU or a changed sum is at fault",
                       exec->comm->rank, (long long)exec->optimizer_step);
    result->tokens = (int64_t)words[1];
    result->loss = words[0] / words[1];
    result->norm = sqrt(words[2]) / words[1];
    result->is_skipped = !isfinite(result->loss) || !isfinite(result->norm);
    result->wants_save = words[3] > 0;
    result->wants_stop = words[4] > 0;
    return DT_OK;
}

static void update(struct exec *exec, const struct step_result *result)
{
    const struct config *config = exec->config;
    const struct model *m = exec->model;
    double clip = config->clip > 0 && result->norm > config->clip ? config->clip / result->norm
                                                                  : 1.0;
    double t = (double)++exec->optimizer_step;

    for (size_t i = 0; i < exec->runs_count; i++) {
        const struct exec_run *run = &exec->runs[i];

        m->ops->adamw(&(struct op_adamw){
            .p = m->params + run->first, .m = m->adam_m + run->first,
            .v = m->adam_v + run->first, .g = m->grads + run->first, .size = run->count,
            .lr = (float)result->lr, .beta1 = (float)config->beta1,
            .beta2 = (float)config->beta2, .eps = (float)config->eps,
            .decay = run->is_decayed ? (float)config->decay : 0,
            .grad_scale = (float)(clip / (double)result->tokens),
            .fix1 = (float)(1.0 / (1.0 - pow(config->beta1, t))),
            .fix2 = (float)(1.0 / (1.0 - pow(config->beta2, t)))});
    }
}

static enum dt_code run_step(struct exec *exec, const bool wants[2], const struct tally *tally,
                             struct step_result *result, struct dt_err *err)
{
    const struct model *m = exec->model;
    enum dt_code code;

    if (m->sums)
        m->ops->unfold(&(struct op_fold){m->grads, m->sums, m->params_count, exec->grad_scale,
                                         exec->grad_limit});
    if ((code = agree(exec, wants, tally, result, err)))
        return code;
    exec->consumed += exec->config->global_batch;
    result->lr = lr_at(&exec->config->lr, exec->consumed);
    if (!result->is_skipped) {
        update(exec, result);
        exec_weights_set(exec);
    }
    result->digest = exec->digest;
    return DT_OK;
}

static enum dt_code run_reduce(struct exec *exec, int64_t index, struct dt_err *err)
{
    const struct dt_span *span = &exec->buckets.items[index].span;

    if (exec->config->is_deterministic)
        return comm_sum_begin(exec->comm, exec->model->sums + span->first, span->count, COMM_U64,
                              err);
    return comm_sum_begin(exec->comm, exec->model->grads + span->first, span->count, COMM_F32,
                          err);
}

static void run_zero(const struct exec *exec)
{
    const struct model *m = exec->model;

    m->ops->fill_zero(m->grads, m->params_count);
    if (m->sums)
        m->ops->fill_zero((float *)m->sums, 2 * m->params_count);
}

static void run_fold(const struct exec *exec, struct tally *tally)
{
    const struct model *m = exec->model;

    if (!m->ops->fold(&(struct op_fold){m->grads, m->sums, m->params_count, exec->grad_scale,
                                        exec->grad_limit}))
        tally->loss = NAN; /* every rank learns of it by the loss, and skips */
}

enum dt_code exec_step(struct exec *exec, const bool wants[2], struct step_result *result,
                       struct dt_err *err)
{
    double begin = clock_seconds(), waited = exec->comm->wait_s;
    struct tally tally = {0};
    enum dt_code code = DT_OK;

    *result = (struct step_result){0};
    for (size_t i = 0; i < exec->schedule.count && !code; i++) {
        const struct dt_action *action = &exec->schedule.items[i];

        switch (action->what) {
        case DT_DO_ZERO:
            run_zero(exec);
            break;
        case DT_DO_FORWARD:
            code = run_forward(exec, action->index, &tally, err);
            break;
        case DT_DO_BACKWARD:
            for (int64_t layer = action->from; layer >= action->to; layer--) {
                model_backward(exec->model, layer);
                comm_sum_poke(exec->comm);
            }
            break;
        case DT_DO_FOLD:
            run_fold(exec, &tally);
            break;
        case DT_DO_REDUCE:
            code = run_reduce(exec, action->index, err);
            break;
        case DT_DO_WAIT:
            code = comm_sum_finish(exec->comm, err);
            break;
        case DT_DO_STEP:
            code = run_step(exec, wants, &tally, result, err);
            break;
        }
    }
    result->total_s = clock_seconds() - begin;
    result->wait_s = exec->comm->wait_s - waited;
    result->data_s = tally.data_s;
    result->compute_s = result->total_s - result->wait_s - result->data_s;
    return code;
}

enum dt_code exec_eval(struct exec *exec, const struct data *data, int64_t count, double *loss,
                       struct dt_err *err)
{
    struct tally tally = {0};
    double words[2];
    enum dt_code code = DT_OK;

    for (int64_t i = exec->comm->rank; i < count && !code; i += exec->comm->size) {
        code = read_batch(exec, data, i * exec->config->micro_batch, &tally, err);
        if (!code)
            tally.loss += exact_loss(exec, model_forward(exec->model, false));
        tally.tokens += exec->config->micro_batch * exec->config->seq;
    }
    words[0] = tally.loss;
    words[1] = (double)tally.tokens;
    if (code || (code = comm_all_reduce_f64(exec->comm, words, 2, COMM_SUM, err)))
        return code;
    *loss = words[0] / words[1];
    return DT_OK;
}
