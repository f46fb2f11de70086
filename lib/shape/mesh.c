/* Ranks as a grid: tensor, context, pipeline and data-parallel coordinates. */
#include "dt/shape/mesh.h"

#include <assert.h>

enum dt_code dt_mesh_fill(struct dt_mesh *mesh, int world, struct dt_err *err)
{
    int64_t model = (int64_t)mesh->tensor * mesh->context * mesh->pipeline;

    if (mesh->tensor < 1 || mesh->context < 1 || mesh->pipeline < 1 || world < 1)
        return dt_fail(err, DT_INVALID, "parallel: every degree is at least 1");
    if (world % model)
        return dt_fail(err, DT_INVALID, "tensor x context x pipeline (%lld) does not divide the "
                       "%d ranks", (long long)model, world);
    mesh->data = (int)(world / model);
    return DT_OK;
}

struct dt_coords dt_mesh_coords(const struct dt_mesh *mesh, int rank)
{
    struct dt_coords coords = {0};

    assert(rank >= 0 && rank < mesh->tensor * mesh->context * mesh->pipeline * mesh->data);
    coords.tensor = rank % mesh->tensor;
    rank /= mesh->tensor;
    coords.context = rank % mesh->context;
    rank /= mesh->context;
    coords.pipeline = rank % mesh->pipeline;
    coords.data = rank / mesh->pipeline;
    return coords;
}

int dt_mesh_rank(const struct dt_mesh *mesh, const struct dt_coords *coords)
{
    return coords->tensor +
           mesh->tensor * (coords->context +
                           mesh->context * (coords->pipeline + mesh->pipeline * coords->data));
}
