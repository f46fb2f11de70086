/* This rank's place in its job, from the environment. */
#include "world.h"

#include "dt/rank_env.h"

#include <stdio.h>
#include <stdlib.h>

static enum dt_code read_int(const char *name, int64_t least, int64_t most, int64_t *value,
                             struct dt_err *err)
{
    const char *text = getenv(name);

    if (!text || !*text || dt_parse_int(text, least, most, value))
        return DT_OK;
    return dt_fail(err, DT_INVALID, "environment: %s is \"%.40s\", expected %lld to %lld", name,
                   text, (long long)least, (long long)most);
}

enum dt_code world_read(struct world *world, struct dt_err *err)
{
    const char *size_name = DT_ENV_WORLD_SIZE, *rank_name = DT_ENV_RANK;
    const char *size_text = getenv(size_name), *rank_text = getenv(rank_name);
    int64_t rank = 0, size = 1, local = 1, nodes = 1, gen = 0;
    const char *job = getenv(DT_ENV_JOB_ID);
    enum dt_code code;

    if (!size_text && !rank_text && getenv("OMPI_COMM_WORLD_SIZE")) {
        size_text = getenv(size_name = "OMPI_COMM_WORLD_SIZE"); /* started by hand: mpirun */
        rank_text = getenv(rank_name = "OMPI_COMM_WORLD_RANK");
    }
    if ((size_text == NULL) != (rank_text == NULL))
        return dt_fail(err, DT_INVALID, "environment: RANK and WORLD_SIZE go together, only %s "
                       "is set", size_text ? "WORLD_SIZE" : "RANK");
    if ((code = read_int(size_name, 1, 1 << 20, &size, err)) ||
        (code = read_int(rank_name, 0, size - 1, &rank, err)) ||
        (code = read_int(DT_ENV_LOCAL_WORLD_SIZE, 1, size, &local, err)) ||
        (code = read_int(DT_ENV_NNODES, 1, 1 << 20, &nodes, err)) ||
        (code = read_int(DT_ENV_GENERATION, 1, INT64_MAX, &gen, err)))
        return code;
    *world = (struct world){
        .rank = (int)rank,
        .size = (int)size,
        .local_size = (int)local,
        .nnodes = (int)nodes,
        .is_alone = size_text == NULL,
        .gen = (uint64_t)gen,
        .output_dir = getenv(DT_ENV_OUTPUT_DIR),
        .checkpoint_dir = getenv(DT_ENV_CHECKPOINT_DIR),
        .resume_from = getenv(DT_ENV_RESUME_FROM),
        .metrics_socket = getenv(DT_ENV_METRICS_SOCKET),
        .status_page = getenv(DT_ENV_STATUS_PAGE),
    };
    snprintf(world->job, sizeof(world->job), "%s", job ? job : "");
    return DT_OK;
}
