/* Nodes and their devices as the controller knows them. */
#ifndef DT_CORE_CLUSTER_H
#define DT_CORE_CLUSTER_H

#include "dt/core/spec.h"

#define DT_DEVICES_PER_NODE_MAX 512 /* GPUs and CPU slots together */
#define DT_ADDRESSES_MAX 8

enum dt_node_state {
    DT_NODE_JOINING, /* said hello; inventory not yet confirmed in this epoch */
    DT_NODE_UP,
    DT_NODE_SILENT,  /* not heard from; nothing is decided */
    DT_NODE_CORDONED, /* keeps its jobs, gets no new ones */
    DT_NODE_DRAINING, /* as cordoned; drained when its last job left */
    DT_NODE_DRAINED,
    DT_NODE_QUARANTINED,
    DT_NODE_DOWN,    /* decided dead; its devices stay held until proof */
    DT_NODE_STATE_COUNT
};

/* One thing a rank can own. Named by id (GPU UUID, "cpu-0"), never by index. */
struct dt_device {
    char kind[8];    /* "cpu" or "gpu" */
    char id[48];
    char type[40];   /* "a100-80gb-sxm"; "" for CPU slots */
    char domain[64]; /* NVLink domain; the node's name when there is none beyond it */
    int64_t memory_bytes;
    int rail;        /* -1 = none */
    bool is_unhealthy;
    /* derived by the core, never stored: owner */
    uint64_t job, gen; /* 0 = free */
};

/* What a node says of itself in its hello. Devices are owned. */
struct dt_inventory {
    char boot_id[40];
    char host[64];       /* kernel's host name */
    char version[16];
    int64_t uid;         /* the agent runs jobs of this uid only; 0 = root, any */
    char user[DT_NAME_BYTES_MAX];
    int cpus;
    int64_t memory_bytes;
    char addr_job[DT_ADDRESSES_MAX][46]; /* addresses for MASTER_ADDR and MPI */
    size_t addr_job_count;
    struct dt_device *devices; /* devices_count, in the node's order */
    size_t devices_count;
};

/* Free the contents and zero it. */
void dt_inventory_release(struct dt_inventory *inventory);

/* A node. Durable: name, version, the operator's wish, reason. The rest is heard anew. */
struct dt_node {
    char name[DT_NAME_BYTES_MAX];
    uint64_t version;        /* grows with every record */
    enum dt_node_state state;
    enum dt_node_state wish; /* UP, CORDONED or DRAINING: the operator's */
    char reason[128];        /* of cordon, drain, quarantine, down */
    struct dt_inventory inventory;
    uint64_t session;        /* 0 = not connected */
    int64_t heard_ms;        /* dt time of the last frame */
    int64_t closed_ms;       /* when the connection ended; 0 = connected */
    int64_t down_ms;
};

/* Word of a node state; never NULL. */
const char *dt_node_state_name(enum dt_node_state state);

#endif
