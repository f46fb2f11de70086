/* A world of threads of one process: each sums its share of the elements in the order of ranks. */
#include "comm.h"

#include "dt/shape/parts.h"

#include <pthread.h>
#include <string.h>

struct world {
    pthread_barrier_t barrier;
    int left;                 /* that have not closed */
    pthread_mutex_t lock;
    void *data[];             /* what each rank brought to the present collective */
};

static void fold_f32(float *out, float *const *in, int count_in, struct dt_span span)
{
    for (int64_t i = span.first; i < span.first + span.count; i++) {
        float sum = in[0][i];

        for (int rank = 1; rank < count_in; rank++)
            sum += in[rank][i];
        out[i] = sum;
    }
}

static void fold_u64(uint64_t *out, uint64_t *const *in, int count_in, struct dt_span span)
{
    for (int64_t i = span.first; i < span.first + span.count; i++) {
        uint64_t sum = in[0][i];

        for (int rank = 1; rank < count_in; rank++)
            sum += in[rank][i];
        out[i] = sum;
    }
}

static double fold_two_f64(double left, double right, int fold)
{
    if (fold == COMM_SUM)
        return left + right;
    return (fold == COMM_MIN) == (right < left) ? right : left;
}

static uint64_t fold_two_u64(uint64_t left, uint64_t right, int fold)
{
    if (fold == COMM_SUM)
        return left + right;
    return (fold == COMM_MIN) == (right < left) ? right : left;
}

/* 8-byte elements are few: every rank folds them all, from copies nobody changes meanwhile. */
static void fold_words(struct comm *comm, void *out, int64_t count, const int kind[2])
{
    struct world *world = comm->self;

    for (int64_t i = 0; i < count; i++) {
        if (kind[0] == COMM_F64) {
            double value = ((double *)world->data[0])[i];

            for (int rank = 1; rank < comm->size; rank++)
                value = fold_two_f64(value, ((double *)world->data[rank])[i], kind[1]);
            ((double *)out)[i] = value;
        } else {
            uint64_t value = ((uint64_t *)world->data[0])[i];

            for (int rank = 1; rank < comm->size; rank++)
                value = fold_two_u64(value, ((uint64_t *)world->data[rank])[i], kind[1]);
            ((uint64_t *)out)[i] = value;
        }
    }
}

static enum dt_code all_reduce(struct comm *comm, void *data, int64_t count, const int kind[2],
                               struct dt_err *err)
{
    struct world *world = comm->self;
    void *out = dt_alloc((size_t)count, 8);

    (void)err;
    world->data[comm->rank] = data;
    pthread_barrier_wait(&world->barrier);
    fold_words(comm, out, count, kind);
    pthread_barrier_wait(&world->barrier);
    memcpy(data, out, (size_t)count * 8);
    dt_free(out);
    return DT_OK;
}

static enum dt_code broadcast(struct comm *comm, void *bytes, int64_t size, int root,
                              struct dt_err *err)
{
    struct world *world = comm->self;

    (void)err;
    world->data[comm->rank] = bytes;
    pthread_barrier_wait(&world->barrier);
    if (comm->rank != root && size > 0)
        memcpy(bytes, world->data[root], (size_t)size);
    pthread_barrier_wait(&world->barrier);
    return DT_OK;
}

/* Each rank sums its share into its own buffer, then takes the others' shares from theirs. */
static enum dt_code sum_begin(struct comm *comm, void *data, int64_t count, enum comm_type type,
                              struct dt_err *err)
{
    struct world *world = comm->self;
    size_t width = type == COMM_F32 ? sizeof(float) : sizeof(uint64_t);
    struct dt_span mine = dt_share(count, comm->size, comm->rank);

    (void)err;
    world->data[comm->rank] = data;
    pthread_barrier_wait(&world->barrier);
    if (type == COMM_F32)
        fold_f32(data, (float *const *)world->data, comm->size, mine);
    else
        fold_u64(data, (uint64_t *const *)world->data, comm->size, mine);
    pthread_barrier_wait(&world->barrier);
    for (int rank = 0; rank < comm->size; rank++) {
        struct dt_span span = dt_share(count, comm->size, rank);

        if (rank != comm->rank)
            memcpy((char *)data + (size_t)span.first * width,
                   (char *)world->data[rank] + (size_t)span.first * width,
                   (size_t)span.count * width);
    }
    pthread_barrier_wait(&world->barrier);
    return DT_OK;
}

static enum dt_code sum_poke(struct comm *comm)
{
    (void)comm;
    return DT_OK;
}

static enum dt_code sum_finish(struct comm *comm, struct dt_err *err)
{
    (void)comm, (void)err;
    return DT_OK;
}

static void close_thr(struct comm *comm)
{
    struct world *world = comm->self;
    int left;

    pthread_mutex_lock(&world->lock);
    left = --world->left;
    pthread_mutex_unlock(&world->lock);
    if (left == 0) {
        pthread_barrier_destroy(&world->barrier);
        pthread_mutex_destroy(&world->lock);
        dt_free(world);
    }
}

static const struct comm_table table = {
    .name = "threads",
    .all_reduce = all_reduce,
    .broadcast = broadcast,
    .sum_begin = sum_begin,
    .sum_poke = sum_poke,
    .sum_finish = sum_finish,
    .close = close_thr,
};

void comm_thr_open(struct comm *comms, int count)
{
    struct world *world = dt_alloc(1, sizeof(*world) + (size_t)count * sizeof(*world->data));

    pthread_barrier_init(&world->barrier, NULL, (unsigned)count);
    pthread_mutex_init(&world->lock, NULL);
    world->left = count;
    for (int rank = 0; rank < count; rank++)
        comms[rank] = (struct comm){
            .table = &table, .self = world, .rank = rank, .size = count};
}
