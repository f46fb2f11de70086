/* Messages of the step process to its agent. */
#include "dt/wire/msg.h"
#include "step.h"

void step_tell(struct step *step, struct dt_tree *take, const void *blob, size_t size)
{
    if (step->agent) /* while it is away: its next hello tells everything */
        dt_conn_send(step->agent, take, blob, size);
    dt_tree_free(take);
}

struct dt_tree *step_message(const struct step *step, const char *type)
{
    struct dt_tree *message = dt_msg_make(type);

    dt_tree_put_int(message, "job", (int64_t)step->job);
    dt_tree_put_u64(message, "gen", step->gen);
    return message;
}

void step_add_exits(const struct step *step, struct dt_tree *message)
{
    struct dt_tree *list = dt_tree_put_new(message, "exits", DT_TREE_LIST);

    for (int i = 0; i < step->ranks_count; i++)
        if (step->ranks[i].has_ended)
            dt_tree_add(list, NULL, dt_msg_exit_tree(&step->ranks[i].end));
}

void step_tell_exits(struct step *step, const char *type)
{
    struct dt_tree *message = step_message(step, type);

    step_add_exits(step, message);
    step_tell(step, message, NULL, 0);
}
