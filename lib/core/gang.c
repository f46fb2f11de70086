/* The life of one generation on one node as a table. */
#include "dt/core/gang.h"

#include <assert.h>

static const struct {
    enum dt_gang_state from;
    enum dt_gang_on on;
    enum dt_gang_state to;
} rows[] = {
    {DT_GANG_PREPARING, DT_GANG_ON_PREPARED, DT_GANG_PREPARED},
    {DT_GANG_PREPARING, DT_GANG_ON_REFUSED, DT_GANG_GONE},
    {DT_GANG_PREPARING, DT_GANG_ON_STOP, DT_GANG_STOPPING},
    {DT_GANG_PREPARING, DT_GANG_ON_STEP_LOST, DT_GANG_STOPPING},
    {DT_GANG_PREPARED, DT_GANG_ON_GO, DT_GANG_STARTING},
    {DT_GANG_PREPARED, DT_GANG_ON_STOP, DT_GANG_STOPPING},
    {DT_GANG_PREPARED, DT_GANG_ON_STEP_LOST, DT_GANG_STOPPING},
    {DT_GANG_STARTING, DT_GANG_ON_UP, DT_GANG_UP},
    {DT_GANG_STARTING, DT_GANG_ON_STOP, DT_GANG_STOPPING},
    {DT_GANG_STARTING, DT_GANG_ON_GONE, DT_GANG_GONE},
    {DT_GANG_STARTING, DT_GANG_ON_STEP_LOST, DT_GANG_STOPPING},
    {DT_GANG_UP, DT_GANG_ON_STOP, DT_GANG_STOPPING},
    {DT_GANG_UP, DT_GANG_ON_GONE, DT_GANG_GONE},
    {DT_GANG_UP, DT_GANG_ON_STEP_LOST, DT_GANG_STOPPING},
    {DT_GANG_STOPPING, DT_GANG_ON_STOP, DT_GANG_STOPPING},
    {DT_GANG_STOPPING, DT_GANG_ON_GONE, DT_GANG_GONE},
    {DT_GANG_STOPPING, DT_GANG_ON_STEP_LOST, DT_GANG_STOPPING},
};

enum dt_gang_state dt_gang_next(enum dt_gang_state state, enum dt_gang_on on)
{
    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (rows[i].from == state && rows[i].on == on)
            return rows[i].to;
    return DT_GANG_STATE_COUNT;
}

const char *dt_gang_state_name(enum dt_gang_state state)
{
    static const char *const names[DT_GANG_STATE_COUNT] = {
        [DT_GANG_PREPARING] = "preparing", [DT_GANG_PREPARED] = "prepared",
        [DT_GANG_STARTING] = "starting",   [DT_GANG_UP] = "up",
        [DT_GANG_STOPPING] = "stopping",   [DT_GANG_GONE] = "gone",
    };

    assert((unsigned)state < DT_GANG_STATE_COUNT);
    return names[state];
}
