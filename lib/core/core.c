/* One event in, records and effects out. */
#include "dt/core/core.h"

#include "core_state.h"

static void core_gang_report(struct dt_core *core, struct dt_event *event,
                             struct dt_outcome *outcome)
{
    const struct dt_node *node = dt_core_node(core, event->node);
    struct dt_tree *ack;

    if (!node || node->session != event->session || event->reports_count != 1)
        return; /* of a fenced session */
    core_beat(core, event, outcome);
    if (!event->reports[0].number)
        return;
    ack = dt_tree_make(DT_TREE_MAP);
    dt_tree_put_str(ack, "type", "ack");
    dt_tree_put_u64(ack, "number", event->reports[0].number);
    core_send(core, outcome, event->node, ack);
}

static void core_tick(struct dt_core *core, struct dt_outcome *outcome)
{
    core_node_deaths(core, outcome);
    core_job_limits(core, outcome);
    core->is_full_pass_due = true;
}

void dt_core_step(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    if (event->now_ms > core->now_ms)
        core->now_ms = event->now_ms;
    if (event->wall_ms > core->wall_ms)
        core->wall_ms = event->wall_ms; /* what users see never goes backwards */
    switch (event->kind) {
    case DT_EV_TICK:
        core_tick(core, outcome);
        break;
    case DT_EV_SUBMIT:
        core_submit(core, event, outcome);
        break;
    case DT_EV_CANCEL:
        core_cancel(core, event, outcome);
        break;
    case DT_EV_NODE_HELLO:
        core_hello(core, event, outcome);
        break;
    case DT_EV_NODE_BEAT:
        core_beat(core, event, outcome);
        break;
    case DT_EV_NODE_CLOSED:
        core_closed(core, event, outcome);
        break;
    case DT_EV_NODE_ADMIN:
        core_admin(core, event, outcome);
        break;
    case DT_EV_GANG_REPORT:
        core_gang_report(core, event, outcome);
        break;
    }
    core_pass(core, outcome);
}
