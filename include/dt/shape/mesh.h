/* Ranks as a grid: tensor, context, pipeline and data-parallel coordinates. */
#ifndef DT_SHAPE_MESH_H
#define DT_SHAPE_MESH_H

#include "dt/base/err.h"

/* Degrees; their product is the world. Tensor varies fastest, then context, pipeline, data. */
struct dt_mesh {
    int tensor, context, pipeline, data;
};

struct dt_coords {
    int tensor, context, pipeline, data;
};

/* The mesh of a world of ranks with these degrees and data filled in; DT_INVALID when the product
 * of the given ones does not divide it. */
DT_MUST_USE enum dt_code dt_mesh_fill(struct dt_mesh *mesh, int world, struct dt_err *err);

/* Where rank sits. rank in 0..world-1. */
struct dt_coords dt_mesh_coords(const struct dt_mesh *mesh, int rank);

/* The rank at these coordinates. */
int dt_mesh_rank(const struct dt_mesh *mesh, const struct dt_coords *coords);

#endif
