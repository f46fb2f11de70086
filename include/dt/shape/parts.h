/* Who owns which part: micro-batches over replicas, elements over buckets. */
#ifndef DT_SHAPE_PARTS_H
#define DT_SHAPE_PARTS_H

#include "dt/shape/sizes.h"

/* first .. first + count - 1. */
struct dt_span {
    int64_t first, count;
};

/*
 * The contiguous share of part index (0..parts-1) of total things: the first total % parts parts
 * hold one more than the others. recovery.md section 12.
 */
struct dt_span dt_share(int64_t total, int64_t parts, int64_t index);

/*
 * The buckets of a flat buffer of gradients, in the order in which the backward pass completes
 * them: bucket 0 holds the head and the last layers, the last one the embedding. Each holds whole
 * layers, about bytes_wanted together, and they tile the buffer.
 */
struct dt_buckets {
    struct dt_bucket {
        struct dt_span span;   /* elements of the flat buffer */
        int64_t layer;         /* complete after the backward of this layer; -1: after the last */
    } *items;                  /* count, owned */
    size_t count;
};

/* Lay out buckets for the model; the caller releases. */
void dt_buckets_init(struct dt_buckets *buckets, const struct dt_model *model,
                     int64_t bytes_wanted);

/* Free and zero. */
void dt_buckets_release(struct dt_buckets *buckets);

/* Bytes each of data ranks sends for a ring all-reduce of count elements of 4 bytes, rounded as
 * the sum of 2 (D-1) slices: 2 (D-1)/D x 4 count. trainer.md section 5, ZeRO 0. */
int64_t dt_reduce_bytes(int64_t count, int data);

#endif
