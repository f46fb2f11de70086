/* Draining: a node is drained when nothing holds its devices. */
#include <stdio.h>
#include <string.h>

#include "core_state.h"

struct dt_node *core_node_draft(const struct dt_node *node, const char *name)
{
    struct dt_node *draft = dt_alloc(1, sizeof(*draft));

    if (node) {
        *draft = *node;
        draft->inventory = (struct dt_inventory){0};
    } else {
        snprintf(draft->name, sizeof(draft->name), "%s", name);
        draft->wish = DT_NODE_UP;
    }
    return draft;
}

static bool has_work(const struct dt_core *core, const char *name)
{
    const struct dt_node *node = dt_core_node(core, name);

    for (size_t i = 0; node && i < node->inventory.devices_count; i++)
        if (node->inventory.devices[i].job)
            return true;
    return false;
}

void core_node_settle(struct dt_core *core, const char *name, struct dt_outcome *outcome)
{
    const struct dt_node *node = dt_core_node(core, name);
    struct dt_node *draft;

    if (!node || node->state != DT_NODE_DRAINING || has_work(core, name))
        return;
    draft = core_node_draft(node, name);
    draft->state = DT_NODE_DRAINED;
    core_node_put(core, outcome, draft, "drained", name);
}
