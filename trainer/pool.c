/* Threads that share out the rows of one operation, always the same rows to the same thread. */
#include "pool.h"

#include "dt/shape/parts.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 2000 /* some 20 us: shorter than a sleep and its waking */

struct worker {
    struct pool *pool;
    pthread_t thread;
    int index;
};

struct pool {
    int threads;
    _Atomic uint32_t round;   /* grows by one with every run; workers wait on it */
    _Atomic uint32_t working; /* workers that have not finished this round; the caller waits */
    int64_t total, grain;
    void (*work)(const void *arg, struct slice slice);
    const void *arg;
    struct worker *workers;   /* threads - 1 */
};

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != value)
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    while (atomic_load_explicit(word, memory_order_acquire) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 20, NULL, NULL, 0);
}

static void work_share(struct pool *pool, int thread)
{
    int64_t grains = (pool->total + pool->grain - 1) / pool->grain;
    struct dt_span span = dt_share(grains, pool->threads, thread);
    struct slice slice = {span.first * pool->grain, (span.first + span.count) * pool->grain,
                          thread};

    if (slice.end > pool->total)
        slice.end = pool->total;
    if (slice.first < slice.end)
        pool->work(pool->arg, slice);
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct pool *pool = worker->pool;
    uint32_t seen = 0;

    for (;;) {
        wait_while(&pool->round, seen);
        seen++;
        work_share(pool, worker->index);
        if (atomic_fetch_sub_explicit(&pool->working, 1, memory_order_acq_rel) == 1)
            wake_all(&pool->working);
    }
    return NULL;
}

struct pool *pool_open(int threads)
{
    struct pool *pool = dt_alloc(1, sizeof(*pool));

    assert(threads >= 1 && threads <= 256);
    pool->threads = threads;
    pool->workers = dt_alloc((size_t)threads, sizeof(*pool->workers));
    for (int i = 1; i < threads; i++) {
        struct worker *worker = &pool->workers[i];

        *worker = (struct worker){.pool = pool, .index = i};
        if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
            fprintf(stderr, "dttrain: cannot start thread %d of %d: lower OMP_NUM_THREADS or "
                            "raise the limit of processes\n", i + 1, threads);
            exit(1);
        }
        pthread_detach(worker->thread);
    }
    return pool;
}

void pool_run(struct pool *pool, int64_t total, int64_t grain,
              void (*work)(const void *arg, struct slice slice), const void *arg)
{
    uint32_t left;

    if (pool->threads == 1 || total <= grain) {
        if (total > 0)
            work(arg, (struct slice){0, total, 0});
        return;
    }
    pool->total = total;
    pool->grain = grain;
    pool->work = work;
    pool->arg = arg;
    atomic_store_explicit(&pool->working, (uint32_t)pool->threads - 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_release);
    wake_all(&pool->round);
    work_share(pool, 0);
    while ((left = atomic_load_explicit(&pool->working, memory_order_acquire)) != 0)
        wait_while(&pool->working, left);
}

int pool_threads(const struct pool *pool)
{
    return pool->threads;
}
