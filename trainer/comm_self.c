/* The world of one process: every collective is done before it begins. */
#include "comm.h"

static enum dt_code all_reduce(struct comm *comm, void *data, int64_t count, const int kind[2],
                               struct dt_err *err)
{
    (void)comm, (void)data, (void)count, (void)kind, (void)err;
    return DT_OK;
}

static enum dt_code broadcast(struct comm *comm, void *bytes, int64_t size, int root,
                              struct dt_err *err)
{
    (void)comm, (void)bytes, (void)size, (void)root, (void)err;
    return DT_OK;
}

static enum dt_code sum_begin(struct comm *comm, void *data, int64_t count, enum comm_type type,
                              struct dt_err *err)
{
    (void)comm, (void)data, (void)count, (void)type, (void)err;
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

static void close_self(struct comm *comm)
{
    (void)comm;
}

static const struct comm_table table = {
    .name = "self",
    .all_reduce = all_reduce,
    .broadcast = broadcast,
    .sum_begin = sum_begin,
    .sum_poke = sum_poke,
    .sum_finish = sum_finish,
    .close = close_self,
};

void comm_self_open(struct comm *comm)
{
    *comm = (struct comm){.table = &table, .rank = 0, .size = 1};
}
