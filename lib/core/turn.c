/* Stored before said: effects wait for the records they rest on. */
#include "dt/core/turn.h"

#include <assert.h>
#include <string.h>

struct dt_turn {
    struct dt_core *core;
    struct dt_store *store;
    dt_turn_deliver *deliver;
    void *owner;
    struct dt_outcome open;  /* decided since the last commit began */
    struct dt_outcome under; /* being stored; records_count 0 = none */
    bool is_under_way;
    bool is_frozen;          /* outcome unknown or refused */
    bool is_retry_due;
};

struct dt_turn *dt_turn_make(struct dt_core *core, struct dt_store *store,
                             dt_turn_deliver *deliver, void *owner)
{
    struct dt_turn *turn = dt_alloc(1, sizeof(*turn));

    *turn = (struct dt_turn){.core = core, .store = store, .deliver = deliver, .owner = owner};
    return turn;
}

void dt_turn_free(struct dt_turn *turn)
{
    if (!turn)
        return;
    dt_outcome_release(&turn->open);
    dt_outcome_release(&turn->under);
    dt_free(turn);
}

void dt_turn_event(struct dt_turn *turn, struct dt_event *event)
{
    dt_core_step(turn->core, event, &turn->open);
}

void dt_turn_read(struct dt_turn *turn, uint64_t request)
{
    struct dt_outcome *open = &turn->open;

    if (open->effects_count == open->effects_room) {
        open->effects_room = open->effects_room ? open->effects_room * 2 : 8;
        open->effects = dt_realloc(open->effects, open->effects_room, sizeof(*open->effects));
    }
    open->effects[open->effects_count++] = (struct dt_effect){.kind = DT_EFF_READ,
                                                              .request = request};
}

/* Hand out a batch's effects. Delivering may add events to the open batch, never to this one. */
static void deliver_all(struct dt_turn *turn, struct dt_outcome *outcome)
{
    struct dt_outcome batch = *outcome;

    *outcome = (struct dt_outcome){0};
    for (size_t i = 0; i < batch.effects_count; i++)
        turn->deliver(turn->owner, &batch.effects[i]);
    dt_outcome_release(&batch);
}

void dt_turn_flush(struct dt_turn *turn)
{
    if (turn->is_frozen)
        return;
    if (turn->is_under_way) {
        if (!turn->is_retry_due)
            return;
        turn->is_retry_due = false;
        turn->store->commit(turn->store, turn->under.records, turn->under.records_count);
        return;
    }
    if (!turn->open.records_count) {
        if (turn->open.effects_count)
            deliver_all(turn, &turn->open);
        return;
    }
    turn->under = turn->open;
    turn->open = (struct dt_outcome){0};
    turn->is_under_way = true;
    turn->store->commit(turn->store, turn->under.records, turn->under.records_count);
}

void dt_turn_committed(struct dt_turn *turn, enum dt_commit outcome)
{
    assert(turn->is_under_way);
    turn->is_frozen = outcome == DT_COMMIT_UNKNOWN || outcome == DT_COMMIT_REFUSED;
    turn->is_retry_due = outcome == DT_COMMIT_RETRY;
    if (outcome != DT_COMMIT_DONE)
        return;
    turn->is_under_way = false;
    deliver_all(turn, &turn->under);
    dt_turn_flush(turn);
}

bool dt_turn_is_degraded(const struct dt_turn *turn)
{
    return turn->is_frozen || turn->is_retry_due;
}
