/* Nodes: words and ownership. */
#include "dt/core/cluster.h"

#include <assert.h>

const char *dt_node_state_name(enum dt_node_state state)
{
    static const char *const names[DT_NODE_STATE_COUNT] = {
        [DT_NODE_JOINING] = "joining",   [DT_NODE_UP] = "up",
        [DT_NODE_SILENT] = "silent",     [DT_NODE_CORDONED] = "cordoned",
        [DT_NODE_DRAINING] = "draining", [DT_NODE_DRAINED] = "drained",
        [DT_NODE_QUARANTINED] = "quarantined", [DT_NODE_DOWN] = "down",
    };

    assert((unsigned)state < DT_NODE_STATE_COUNT);
    return names[state];
}

void dt_inventory_release(struct dt_inventory *inventory)
{
    if (!inventory)
        return;
    dt_free(inventory->devices);
    *inventory = (struct dt_inventory){0};
}
