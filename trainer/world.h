/* This rank's place in its job, from the environment. */
#ifndef DT_TRAINER_WORLD_H
#define DT_TRAINER_WORLD_H

#include "dt/base/err.h"

struct world {
    int rank, size, local_size, nnodes;
    bool is_alone;          /* no RANK and WORLD_SIZE: one process, no MPI */
    uint64_t gen;           /* of the job; 0: not said, take the next free one */
    char job[128];          /* "" outside dt */
    const char *output_dir, *checkpoint_dir, *resume_from; /* NULL: not said; borrowed */
    const char *metrics_socket, *status_page;
};

/* Read it; DT_INVALID names a variable that is no number or out of bounds. */
DT_MUST_USE enum dt_code world_read(struct world *world, struct dt_err *err);

#endif
