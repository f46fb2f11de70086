/* A training step as a list of things to do, in order, for one rank. */
#ifndef DT_SHAPE_SCHEDULE_H
#define DT_SHAPE_SCHEDULE_H

#include "dt/shape/parts.h"

enum dt_do {
    DT_DO_ZERO,     /* clear the gradients */
    DT_DO_FORWARD,  /* of micro-batch index */
    DT_DO_BACKWARD, /* of micro-batch index, layers from .. to, downwards; see below */
    DT_DO_FOLD,     /* add the gradients to the exact sums, and clear them */
    DT_DO_REDUCE,   /* begin the sum of bucket index over the replicas */
    DT_DO_WAIT,     /* until every begun sum is there */
    DT_DO_STEP      /* agree on loss and norm, then update or skip */
};

/* One thing to do. A backward covers the head when from == layers, the embedding when to == -1. */
struct dt_action {
    enum dt_do what;
    int64_t index;
    int64_t from, to;
};

struct dt_schedule {
    struct dt_action *items; /* count, owned */
    size_t count;
};

/*
 * The data-parallel step of a replica that computes count micro-batches, numbered 0.. here: each
 * forward then backward; the last backward is cut at the buckets, whose sums begin as soon as they
 * are complete. With no micro-batch at all the replica joins every sum with zeros. is_exact: the
 * gradients of each micro-batch are folded by themselves, and sums begin after the last.
 */
void dt_schedule_data(struct dt_schedule *schedule, int64_t count, int64_t layers,
                      const struct dt_buckets *buckets, bool is_exact);

/* Free and zero. */
void dt_schedule_release(struct dt_schedule *schedule);

#endif
