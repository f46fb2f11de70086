/* What ranks say to each other: collectives by count and type, counted, over any carrier. */
#ifndef DT_TRAINER_COMM_H
#define DT_TRAINER_COMM_H

#include "dt/base/err.h"

enum comm_type { COMM_F32, COMM_F64, COMM_U64 };
enum comm_fold { COMM_SUM, COMM_MIN, COMM_MAX };

/*
 * The world of one rank. Every rank calls the same collectives in the same order. A sum runs in an
 * order that depends on size and count only: same layout, same bits. Failing is DT_UNREACHABLE: a
 * peer is gone and nothing further may be called.
 */
struct comm {
    const struct comm_table *table;
    void *self;           /* the carrier's own */
    int rank, size;
    int64_t bytes_sent;   /* by this rank, of gradients, by the ring's formula */
    int64_t control_sent; /* of everything else, the same way */
    double wait_s;        /* spent inside collectives */
};

/* A carrier. sum_begin starts a sum of F32 or U64 elements that sum_finish completes. */
struct comm_table {
    const char *name;
    enum dt_code (*all_reduce)(struct comm *comm, void *data, int64_t count,
                               const int kind[2], struct dt_err *err); /* comm_type, comm_fold */
    enum dt_code (*broadcast)(struct comm *comm, void *bytes, int64_t size, int root,
                              struct dt_err *err);
    enum dt_code (*sum_begin)(struct comm *comm, void *data, int64_t count, enum comm_type type,
                              struct dt_err *err);
    enum dt_code (*sum_poke)(struct comm *comm); /* let begun sums advance; cheap */
    enum dt_code (*sum_finish)(struct comm *comm, struct dt_err *err); /* all begun ones */
    void (*close)(struct comm *comm);
};

/* A world of this process alone. */
void comm_self_open(struct comm *comm);

/* Worlds of count threads of this process: comms[count], one for each thread to use. */
void comm_thr_open(struct comm *comms, int count);

/*
 * The world MPI gives. DT_UNREACHABLE when it is not of size ranks with this one as rank: most
 * often a singleton, because the launcher and the MPI library do not fit.
 */
DT_MUST_USE enum dt_code comm_mpi_open(struct comm *comm, int rank, int size,
                                       struct dt_err *err);

/* Combine count elements over all ranks, in place. */
DT_MUST_USE enum dt_code comm_all_reduce_f64(struct comm *comm, double *data, int64_t count,
                                             enum comm_fold fold, struct dt_err *err);

/* As comm_all_reduce_f64 for integers. */
DT_MUST_USE enum dt_code comm_all_reduce_u64(struct comm *comm, uint64_t *data, int64_t count,
                                             enum comm_fold fold, struct dt_err *err);

/* Begin to sum data (of F32 or U64, modulo 2^64) in place; it is not touched until
 * comm_sum_finish. */
DT_MUST_USE enum dt_code comm_sum_begin(struct comm *comm, void *data, int64_t count,
                                        enum comm_type type, struct dt_err *err);

/* Let begun sums advance. */
void comm_sum_poke(struct comm *comm);

/* Wait until every begun sum is there. */
DT_MUST_USE enum dt_code comm_sum_finish(struct comm *comm, struct dt_err *err);

/* Give root's bytes to all. Any size. */
DT_MUST_USE enum dt_code comm_broadcast(struct comm *comm, void *bytes, int64_t size, int root,
                                        struct dt_err *err);

/* Wait for all. */
DT_MUST_USE enum dt_code comm_barrier(struct comm *comm, struct dt_err *err);

/* Leave in good order; every rank calls it. */
void comm_close(struct comm *comm);

#endif
