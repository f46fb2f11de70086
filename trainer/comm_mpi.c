/* The world that MPI gives; the only user of MPI. */
#include "comm.h"

#include <mpi.h>
#include <string.h>

#define PENDING_MAX 64 /* begun sums */
#define PIECE (1 << 28) /* elements or bytes in one call: MPI counts are int */

struct mpi_world {
    MPI_Request pending[PENDING_MAX];
    int pending_count;
};

static struct mpi_world the_world;

static enum dt_code fail_mpi(struct dt_err *err, const char *doing, int status)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int size = 0;

    MPI_Error_string(status, text, &size);
    return dt_fail(err, DT_UNREACHABLE, "%s: a peer or the network was lost: %s", doing, text);
}

static enum dt_code all_reduce(struct comm *comm, void *data, int64_t count, const int kind[2],
                               struct dt_err *err)
{
    static const MPI_Op folds[] = {MPI_SUM, MPI_MIN, MPI_MAX};
    int status;

    (void)comm;
    status = MPI_Allreduce(MPI_IN_PLACE, data, (int)count,
                           kind[0] == COMM_F64 ? MPI_DOUBLE : MPI_UINT64_T, folds[kind[1]],
                           MPI_COMM_WORLD);
    return status == MPI_SUCCESS ? DT_OK : fail_mpi(err, "all-reduce", status);
}

static enum dt_code broadcast(struct comm *comm, void *bytes, int64_t size, int root,
                              struct dt_err *err)
{
    (void)comm;
    for (int64_t at = 0; at < size; at += PIECE) {
        int64_t left = size - at;
        int status = MPI_Bcast((char *)bytes + at, (int)(left < PIECE ? left : PIECE), MPI_BYTE,
                               root, MPI_COMM_WORLD);

        if (status != MPI_SUCCESS)
            return fail_mpi(err, "broadcast", status);
    }
    return DT_OK;
}

static enum dt_code sum_finish(struct comm *comm, struct dt_err *err)
{
    struct mpi_world *world = comm->self;
    int status = MPI_Waitall(world->pending_count, world->pending, MPI_STATUSES_IGNORE);

    world->pending_count = 0;
    return status == MPI_SUCCESS ? DT_OK : fail_mpi(err, "sum of gradients", status);
}

static enum dt_code sum_begin(struct comm *comm, void *data, int64_t count, enum comm_type type,
                              struct dt_err *err)
{
    struct mpi_world *world = comm->self;
    int64_t width = type == COMM_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(uint64_t);
    enum dt_code code;

    for (int64_t at = 0; at < count; at += PIECE) {
        int64_t left = count - at;
        int status;

        if (world->pending_count == PENDING_MAX && (code = sum_finish(comm, err)))
            return code;
        status = MPI_Iallreduce(MPI_IN_PLACE, (char *)data + at * width,
                                (int)(left < PIECE ? left : PIECE),
                                type == COMM_F32 ? MPI_FLOAT : MPI_UINT64_T, MPI_SUM,
                                MPI_COMM_WORLD,
                                &world->pending[world->pending_count++]);
        if (status != MPI_SUCCESS)
            return fail_mpi(err, "sum of gradients", status);
    }
    return DT_OK;
}

static enum dt_code sum_poke(struct comm *comm)
{
    struct mpi_world *world = comm->self;
    int is_done;

    if (world->pending_count)
        MPI_Testall(world->pending_count, world->pending, &is_done, MPI_STATUSES_IGNORE);
    return DT_OK;
}

static void close_mpi(struct comm *comm)
{
    (void)comm;
    MPI_Finalize();
}

static const struct comm_table table = {
    .name = "mpi",
    .all_reduce = all_reduce,
    .broadcast = broadcast,
    .sum_begin = sum_begin,
    .sum_poke = sum_poke,
    .sum_finish = sum_finish,
    .close = close_mpi,
};

enum dt_code comm_mpi_open(struct comm *comm, int rank, int size, struct dt_err *err)
{
    int got_rank, got_size, got_threads;
    enum dt_code code;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got_threads) != MPI_SUCCESS)
        return dt_fail(err, DT_UNREACHABLE, "MPI cannot start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &got_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &got_size);
    if (got_rank == rank && got_size == size) {
        *comm = (struct comm){.table = &table, .self = &the_world, .rank = rank, .size = size};
        return DT_OK;
    }
    code = dt_fail(err, DT_UNREACHABLE, "MPI made this rank %d of %d, but WORLD_SIZE is %d and "
                   "RANK %d%s", got_rank, got_size, size, rank,
                   got_size == 1 ? ": it became a singleton" : "");
    dt_hint(err, "the MPI library did not find the launcher's PMIx server: check PMIX_* in the "
                 "environment, and that OMPI_MCA_schizo is ^orte with Open MPI 4");
    return code;
}
