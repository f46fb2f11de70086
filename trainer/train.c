/* A training run of one rank, from the agreement of all ranks to the last checkpoint. */
#include "train.h"

#include "clock.h"
#include "exec.h"
#include "load.h"
#include "memory.h"
#include "report.h"
#include "saving.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIPS_MAX 10      /* updates skipped in a row before the run gives up */
#define LAST_SAVE_TRIES 3 /* of the final state */

static volatile sig_atomic_t asked_save, asked_stop;

void train_ask_save(void)
{
    asked_save = 1;
}

void train_ask_stop(void)
{
    asked_stop = 1;
}

int train_fail(int status, const struct dt_err *err)
{
    fflush(stdout);
    fprintf(stderr, "dttrain: error: %s\n", err->text);
    if (err->hint[0])
        fprintf(stderr, "  help: %s\n", err->hint);
    return status;
}

enum dt_code train_check_data(const struct config *config, const struct data *data,
                              struct dt_err *err)
{
    if (data->samples >= config->global_batch)
        return DT_OK;
    dt_fail(err, DT_INVALID, "the data is smaller than a batch: %lld bytes hold %lld samples of "
            "%lld tokens (and one more), global_batch is %lld", (long long)data->size,
            (long long)data->samples, (long long)config->seq, (long long)config->global_batch);
    dt_hint(err, "more data, a shorter seq_len, or a smaller global_batch");
    return DT_INVALID;
}

/* The parts of a run on this rank. */
struct run {
    const struct train *train;
    struct model model;
    struct exec exec;
    struct report report;
    struct checkpoints all;  /* rank 0 */
    struct saving saving;
    struct start start;
    int64_t step;            /* done */
    int64_t skips;           /* in a row */
};

/* All ranks must have brought the same numbers; what names them in the error. */
static enum dt_code same_everywhere(struct comm *comm, const uint64_t *mine, int64_t count,
                                    const char *what, struct dt_err *err)
{
    uint64_t least[8], most[8];
    enum dt_code code;

    memcpy(least, mine, (size_t)count * sizeof(*mine));
    memcpy(most, mine, (size_t)count * sizeof(*mine));
    if ((code = comm_all_reduce_u64(comm, least, count, COMM_MIN, err)) ||
        (code = comm_all_reduce_u64(comm, most, count, COMM_MAX, err)))
        return code;
    if (memcmp(least, most, (size_t)count * sizeof(*mine)) == 0)
        return DT_OK;
    return dt_fail(err, DT_CONFLICT, "rank %d: the ranks do not agree on %s", comm->rank, what);
}

static uint64_t first_words(const char *hex)
{
    char sixteen[17] = "";

    memcpy(sixteen, hex, 16);
    return strtoull(sixteen, NULL, 16);
}

static int open_memory(struct run *run, struct dt_err *err)
{
    const struct config *config = run->train->config;
    struct dt_run_shape shape = config_run_shape(config, run->train->ops->threads);
    int64_t planned[DT_MEMORY_COUNT];

    if (memory_check(&shape, run->train->world->local_size, err))
        return train_fail(TRAIN_NO_MEMORY, err);
    model_open(&run->model, &shape, run->train->ops);
    dt_run_bytes(&shape, planned);
    if (memcmp(planned, run->model.allocated, sizeof(planned)) != 0)
        report_alarm(&run->report, 0, "memory", "the allocated bytes are not the planned ones");
    run->report.run = shape;
    run->report.steps = config->steps;
    run->report.peak = run->train->peak;
    return 0;
}

/* Rank 0 finds and reads the newest checkpoint. */
static int find_start(struct run *run, struct dt_err *err)
{
    const struct train *train = run->train;
    const char *job = train->world->job[0] ? train->world->job : train->config->name;
    enum dt_code code;

    code = checkpoints_open(&run->all, train->checkpoint_dir, job, train->world->gen, err);
    if (code)
        return train_fail(TRAIN_NO_CHECKPOINT, err);
    checkpoints_sweep(&run->all);
    if (run->report.gen == 0)
        run->report.gen = run->report.status.gen = run->all.job_gen;
    if (load_start(&(struct load){&run->all, train->world->resume_from, train->config,
                                  train->data, &run->model}, &run->start, err))
        return train_fail(TRAIN_NO_CHECKPOINT, err);
    return 0;
}

/* Rank 0's state to all; then all must hold the same step, digest and weights. */
static enum dt_code share_start(struct run *run, struct dt_err *err)
{
    const struct train *train = run->train;
    struct model *m = &run->model;
    int64_t bytes = m->params_count * (int64_t)sizeof(float);
    uint64_t mine[3];
    enum dt_code code;

    if ((code = comm_broadcast(train->comm, &run->start, sizeof(run->start), 0, err)))
        return code;
    if (!run->start.is_found)
        model_fill(m, train->config->seed);
    else if ((code = comm_broadcast(train->comm, m->params, bytes, 0, err)) ||
             (code = comm_broadcast(train->comm, m->adam_m, bytes, 0, err)) ||
             (code = comm_broadcast(train->comm, m->adam_v, bytes, 0, err)))
        return code;
    mine[0] = (uint64_t)run->start.step;
    mine[1] = run->start.is_found ? first_words(run->start.digest) : 0;
    mine[2] = dt_crc32c(0, m->params, (size_t)bytes);
    if (run->start.is_found && mine[2] != run->start.weights_crc32c)
        return dt_fail(err, DT_CORRUPT, "rank %d: the weights that arrived are not those of the "
                       "checkpoint", train->comm->rank);
    return same_everywhere(train->comm, mine, 3, "the step, checkpoint and weights to go on from",
                           err);
}

static void begin_from(struct run *run)
{
    struct config *config = run->train->config;
    const struct start *start = &run->start;

    run->step = start->step;
    run->exec.consumed = start->consumed;
    run->exec.optimizer_step = start->optimizer_step;
    exec_weights_set(&run->exec);
    if (!start->is_found)
        return;
    if (run->report.rank == 0) {
        printf("resuming from step %lld of generation %llu (%.12s)\n", (long long)start->at.step,
               (unsigned long long)start->at.gen, start->digest);
        if (start->horizon != config->lr.horizon)
            printf("the learning rate keeps its horizon of %lld samples\n",
                   (long long)start->horizon);
    }
    config->lr.horizon = start->horizon;
    config->lr.warmup = start->warmup;
}

static int agree_on_start(struct run *run, struct dt_err *err)
{
    const struct train *train = run->train;
    const struct dt_step_at none = {0};
    uint64_t mine[1] = {first_words(train->data->fingerprint)};
    enum dt_code code;
    int status;

    report_phase(&run->report, DT_PHASE_LOAD);
    code = same_everywhere(train->comm, mine, 1, "the data: their files differ", err);
    if (code)
        return train_fail(code == DT_CONFLICT ? TRAIN_DATA : TRAIN_PEER_LOST, err);
    if (train->comm->rank == 0 && (status = find_start(run, err)))
        return status;
    if ((code = share_start(run, err)))
        return train_fail(code == DT_UNREACHABLE ? TRAIN_PEER_LOST : TRAIN_NO_CHECKPOINT, err);
    begin_from(run);
    if (train->comm->rank == 0 &&
        checkpoints_claim(&run->all, run->start.is_found && !run->start.is_foreign
                                         ? &run->start.at : &none, run->start.digest, err))
        return train_fail(TRAIN_NO_CHECKPOINT, err);
    return 0;
}

static void open_saving(struct run *run)
{
    const struct train *train = run->train;
    bool has_parent = run->start.is_found && !run->start.is_foreign;
    struct save save = {.exec = &run->exec, .model = &run->model, .config = train->config,
                        .data = train->data};

    if (has_parent)
        save.parent = run->start.at;
    saving_open(&run->saving, &save, train->comm->rank == 0 ? &run->all : NULL, &run->report,
                train->world->nnodes);
    if (has_parent)
        run->saving.last_step = run->start.step; /* it is there already */
}

static int evaluate(struct run *run, struct dt_err *err)
{
    double loss;
    enum dt_code code;

    report_phase(&run->report, DT_PHASE_EVAL);
    code = exec_eval(&run->exec, run->train->eval, run->train->config->eval_steps, &loss, err);
    if (code)
        return train_fail(code == DT_UNREACHABLE ? TRAIN_PEER_LOST : TRAIN_DATA, err);
    report_eval(&run->report, run->step, loss);
    report_phase(&run->report, DT_PHASE_STEP);
    return 0;
}

/* After an update: skipped ones, evaluation, saving. */
static int after_step(struct run *run, const struct step_result *result, struct dt_err *err)
{
    const struct config *config = run->train->config;
    int status;

    run->skips = result->is_skipped ? run->skips + 1 : 0;
    if (result->is_skipped && run->report.rank == 0)
        report_alarm(&run->report, run->step, "not-finite",
                     "loss or gradient is not finite: the update is skipped");
    if (run->skips >= SKIPS_MAX) {
        dt_fail(err, DT_INVALID, "loss or gradient were not finite in %d steps in a row, up to "
                "step %lld", SKIPS_MAX, (long long)run->step);
        dt_hint(err, "a lower learning rate, a longer warm-up, or look at the data of these steps");
        return train_fail(TRAIN_NOT_FINITE, err);
    }
    if (config->eval_every && run->train->eval && run->step % config->eval_every == 0 &&
        (status = evaluate(run, err)))
        return status;
    if ((result->wants_save || result->wants_stop || saving_is_due(&run->saving, run->step)) &&
        saving_run(&run->saving, run->step, err) == DT_STALE)
        return train_fail(TRAIN_PEER_LOST, err);
    return 0;
}

/* The state after the last step must be saved: a few tries, then it is an error. */
static int finish(struct run *run, int status, struct dt_err *err)
{
    struct timespec pause = {.tv_sec = 2};
    enum dt_code code = DT_OK;

    for (int i = 0; i < LAST_SAVE_TRIES; i++) {
        code = saving_run(&run->saving, run->step, err);
        if (code != DT_IO)
            break;
        if (i + 1 < LAST_SAVE_TRIES)
            nanosleep(&pause, NULL);
    }
    if (code)
        return train_fail(code == DT_STALE ? TRAIN_PEER_LOST : TRAIN_NO_CHECKPOINT, err);
    report_phase(&run->report, DT_PHASE_END);
    if (run->report.rank == 0)
        printf("%s at step %lld, saved in %s\n", status == TRAIN_DONE ? "finished" : "stopped",
               (long long)run->step, run->train->checkpoint_dir);
    fflush(stdout);
    return status;
}

static int loop(struct run *run, struct dt_err *err)
{
    const struct config *config = run->train->config;
    int status;

    report_phase(&run->report, DT_PHASE_STEP);
    while (run->step < config->steps) {
        bool wants[2] = {asked_save != 0, asked_stop != 0};
        struct step_result result;
        enum dt_code code = exec_step(&run->exec, wants, &result, err);

        if (code)
            return train_fail(code == DT_UNREACHABLE ? TRAIN_PEER_LOST
                              : code == DT_CORRUPT   ? TRAIN_DEVICE
                                                     : TRAIN_DATA, err);
        if (wants[0])
            asked_save = 0;
        run->step++;
        report_step(&run->report, run->step, run->exec.consumed, &result,
                    run->train->comm->bytes_sent);
        if ((status = after_step(run, &result, err)))
            return status;
        if (result.wants_stop && run->step < config->steps)
            return finish(run, TRAIN_STOPPED, err);
    }
    return finish(run, TRAIN_DONE, err);
}

int train_run(const struct train *train)
{
    struct run *run = dt_alloc(1, sizeof(*run));
    struct dt_err err = {0};
    int status;

    run->train = train;
    if (report_open(&run->report, train->world, train->output_dir, &err)) {
        status = train_fail(TRAIN_CONFIG, &err);
        goto out;
    }
    report_phase(&run->report, DT_PHASE_INIT);
    if ((status = open_memory(run, &err)))
        goto out;
    exec_open(&run->exec, train->config, train->data, train->comm, &run->model);
    if ((status = agree_on_start(run, &err)))
        goto out;
    open_saving(run);
    status = loop(run, &err);
out:
    exec_close(&run->exec);
    model_close(&run->model);
    checkpoints_release(&run->all);
    report_close(&run->report);
    dt_free(run);
    return status;
}
