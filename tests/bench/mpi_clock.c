/* A rank that tells when it ran its first instruction, joined MPI and finished an all-reduce. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static long long now_us(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (long long)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static long long cpu_us(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (long long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
    long long exec_us = now_us(), init_us, reduce_us, end_us;
    double value = 1, sum = 0;
    int rank, size, is_over = 0;
    const struct timespec nap = {0, 2000000};

    MPI_Init(&argc, &argv);
    init_us = now_us();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    reduce_us = now_us();
    printf("clock %d %d %lld %lld %lld %lld\n", rank, size, exec_us, init_us, reduce_us,
           cpu_us());
    fflush(stdout);
    end_us = reduce_us + (argc > 1 ? strtoll(argv[1], NULL, 10) : 0) * 1000;
    while (!is_over) {
        int mine = now_us() >= end_us;

        MPI_Allreduce(&mine, &is_over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!is_over)
            nanosleep(&nap, NULL);
    }
    MPI_Finalize();
    return (int)sum == size ? 0 : 1;
}
