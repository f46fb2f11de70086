/* The life of one generation on one node, as its agent sees it. */
#ifndef DT_CORE_GANG_H
#define DT_CORE_GANG_H

#include "dt/base/buf.h"

enum dt_gang_state {
    DT_GANG_PREPARING, /* ledger entry written; the step process is asked */
    DT_GANG_PREPARED,  /* nothing runs; waits for go */
    DT_GANG_STARTING,  /* ranks are being started */
    DT_GANG_UP,        /* every rank runs (mpi: has connected) */
    DT_GANG_STOPPING,  /* ranks are being ended */
    DT_GANG_GONE,      /* proven: no process is left */
    DT_GANG_STATE_COUNT
};

enum dt_gang_on {
    DT_GANG_ON_PREPARED,
    DT_GANG_ON_REFUSED, /* the step could not prepare: nothing is left */
    DT_GANG_ON_GO,
    DT_GANG_ON_UP,
    DT_GANG_ON_STOP,
    DT_GANG_ON_GONE,
    DT_GANG_ON_STEP_LOST, /* the step process died: its cgroup is being emptied */
    DT_GANG_ON_COUNT
};

/* The table: the state after `on`, or DT_GANG_STATE_COUNT when no row allows it (ignored). */
enum dt_gang_state dt_gang_next(enum dt_gang_state state, enum dt_gang_on on);
/* Word of a state; never NULL. */
const char *dt_gang_state_name(enum dt_gang_state state);

#endif
