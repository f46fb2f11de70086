/* What ranks say to each other: the counting and timing in front of every carrier. */
#include "comm.h"

#include "clock.h"

#include "dt/shape/parts.h"


/* The ring's bytes of an all-reduce of count elements of 8 bytes. */
static void count_control(struct comm *comm, int64_t count)
{
    comm->control_sent += 2 * dt_reduce_bytes(count, comm->size);
}

static enum dt_code all_reduce(struct comm *comm, void *data, int64_t count, const int kind[2],
                               struct dt_err *err)
{
    double begin = clock_seconds();
    enum dt_code code = comm->table->all_reduce(comm, data, count, kind, err);

    comm->wait_s += clock_seconds() - begin;
    count_control(comm, count);
    return code;
}

enum dt_code comm_all_reduce_f64(struct comm *comm, double *data, int64_t count,
                                 enum comm_fold fold, struct dt_err *err)
{
    return all_reduce(comm, data, count, (const int[2]){COMM_F64, (int)fold}, err);
}

enum dt_code comm_all_reduce_u64(struct comm *comm, uint64_t *data, int64_t count,
                                 enum comm_fold fold, struct dt_err *err)
{
    return all_reduce(comm, data, count, (const int[2]){COMM_U64, (int)fold}, err);
}

enum dt_code comm_sum_begin(struct comm *comm, void *data, int64_t count,
                            enum comm_type type, struct dt_err *err)
{
    double begin = clock_seconds();
    enum dt_code code;

    code = comm->table->sum_begin(comm, data, count, type, err);
    comm->wait_s += clock_seconds() - begin;
    comm->bytes_sent += dt_reduce_bytes(count, comm->size) * (type == COMM_U64 ? 2 : 1);
    return code;
}

void comm_sum_poke(struct comm *comm)
{
    comm->table->sum_poke(comm);
}

enum dt_code comm_sum_finish(struct comm *comm, struct dt_err *err)
{
    double begin = clock_seconds();
    enum dt_code code = comm->table->sum_finish(comm, err);

    comm->wait_s += clock_seconds() - begin;
    return code;
}

enum dt_code comm_broadcast(struct comm *comm, void *bytes, int64_t size, int root,
                            struct dt_err *err)
{
    comm->control_sent += comm->size > 1 && comm->rank == root ? size : 0;
    return comm->table->broadcast(comm, bytes, size, root, err);
}

enum dt_code comm_barrier(struct comm *comm, struct dt_err *err)
{
    uint64_t one = 1;

    return comm_all_reduce_u64(comm, &one, 1, COMM_SUM, err);
}

void comm_close(struct comm *comm)
{
    if (comm->table)
        comm->table->close(comm);
    comm->table = NULL;
}
