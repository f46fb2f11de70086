/* Tests of the life of a generation on a node: every state with every happening. */
#include "dt/core/gang.h"

#include "test.h"

#define NO DT_GANG_STATE_COUNT

TEST(gang__allows_exactly_these_moves)
{
    static const enum dt_gang_state to[DT_GANG_STATE_COUNT][DT_GANG_ON_COUNT] = {
        /* prepared, refused, go, up, stop, gone, step lost */
        [DT_GANG_PREPARING] = {DT_GANG_PREPARED, DT_GANG_GONE, NO, NO, DT_GANG_STOPPING, NO,
                               DT_GANG_STOPPING},
        [DT_GANG_PREPARED] = {NO, NO, DT_GANG_STARTING, NO, DT_GANG_STOPPING, NO,
                              DT_GANG_STOPPING},
        [DT_GANG_STARTING] = {NO, NO, NO, DT_GANG_UP, DT_GANG_STOPPING, DT_GANG_GONE,
                              DT_GANG_STOPPING},
        [DT_GANG_UP] = {NO, NO, NO, NO, DT_GANG_STOPPING, DT_GANG_GONE, DT_GANG_STOPPING},
        [DT_GANG_STOPPING] = {NO, NO, NO, NO, DT_GANG_STOPPING, DT_GANG_GONE, DT_GANG_STOPPING},
        [DT_GANG_GONE] = {NO, NO, NO, NO, NO, NO, NO},
    };

    for (int state = 0; state < DT_GANG_STATE_COUNT; state++)
        for (int on = 0; on < DT_GANG_ON_COUNT; on++)
            CHECK_INT(dt_gang_next((enum dt_gang_state)state, (enum dt_gang_on)on),
                      to[state][on]);
}

TEST(gang__can_be_stopped_from_every_living_state_and_then_only_ends)
{
    for (int state = 0; state < DT_GANG_GONE; state++) {
        enum dt_gang_state next = dt_gang_next((enum dt_gang_state)state, DT_GANG_ON_STOP);

        CHECK_INT(next, DT_GANG_STOPPING);
        CHECK_INT(dt_gang_next(next, DT_GANG_ON_GO), NO);
        CHECK_INT(dt_gang_next(next, DT_GANG_ON_UP), NO);
        CHECK_INT(dt_gang_next(next, DT_GANG_ON_GONE), DT_GANG_GONE);
    }
}

TEST(gang__names_its_states)
{
    CHECK_TEXT(dt_gang_state_name(DT_GANG_PREPARING), "preparing");
    CHECK_TEXT(dt_gang_state_name(DT_GANG_GONE), "gone");
}
