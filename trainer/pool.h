/* Threads that share out the rows of one operation, always the same rows to the same thread. */
#ifndef DT_TRAINER_POOL_H
#define DT_TRAINER_POOL_H

#include "kernels.h"

struct pool;

/* A pool of threads 1..256 in all (the caller is one of them); kept to the end of the process. */
struct pool *pool_open(int threads);

/*
 * Call work(arg, slice) for slices that tile 0..total-1, cut at multiples of grain, one a thread,
 * and return when all are done. One caller at a time; a pool of one thread calls it directly.
 */
void pool_run(struct pool *pool, int64_t total, int64_t grain,
              void (*work)(const void *arg, struct slice slice), const void *arg);

/* How many threads. */
int pool_threads(const struct pool *pool);

#endif
