/* Placement of one gang on the cluster as it is. */
#ifndef DT_CORE_PLACE_H
#define DT_CORE_PLACE_H

#include "dt/core/cluster.h"
#include "dt/core/job.h"

/* What a gang needs; compiled from a specification by dt_want_from_spec. */
struct dt_want {
    int nodes;            /* 1..DT_NODES_MAX */
    int ranks_per_node;
    const char *device_kind; /* "cpu" or "gpu" */
    int devices_per_rank; /* 1 unless said */
    int atom_ranks;       /* tensor * context: ranks that must share one NVLink domain */
    const struct dt_texts *device_types; /* in order of preference; empty = any */
    const struct dt_texts *include, *exclude; /* host lists */
    const char (*avoid)[DT_NAME_BYTES_MAX];
    size_t avoid_count;
    int64_t uid;          /* owner: an agent of another uid refuses */
    const struct dt_member *prior; /* last generation: unchanged ranks stay; may be NULL */
    size_t prior_count;
};

/* Why it does not fit: the binding shortage, and the funnel of nodes down to it. */
struct dt_shortage {
    char code[24];   /* resources topology node-unavailable never-fits */
    char text[256];
    int64_t needed, free;
    struct dt_funnel_step { char step[64]; int nodes; } funnel[8];
    size_t funnel_count;
};

/* Members in rank order; owned. {0} is empty. */
struct dt_placement {
    struct dt_member *members;
    size_t count;
};

/* Free the members and zero it. */
void dt_placement_release(struct dt_placement *placement);

/* The need of a job's next generation; borrows from job. */
struct dt_want dt_want_from_job(const struct dt_job *job);

/*
 * Place every rank of one gang, or say what is short.
 *
 * nodes      borrowed, nodes_count in name order; devices[].job says what is held
 * placement  out on DT_OK; the caller releases
 * why        out on DT_BUSY and DT_INVALID; may be NULL
 *
 * DT_OK; DT_BUSY if it may fit later; DT_INVALID if it can never fit this cluster.
 * The whole gang or nothing; every atom inside one NVLink domain. Same arguments, same placement,
 * byte for byte. O(nodes * devices).
 */
DT_MUST_USE enum dt_code dt_place_gang(const struct dt_node *const *nodes, size_t nodes_count,
                                       const struct dt_want *want,
                                       struct dt_placement *placement, struct dt_shortage *why);

#endif
