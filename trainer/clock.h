/* Seconds that only grow. */
#ifndef DT_TRAINER_CLOCK_H
#define DT_TRAINER_CLOCK_H

#include <time.h>

/* Monotonic seconds since some fixed moment. */
static inline double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
