/* Stored before said: what the store answers decides when effects are heard. */
#include "dt/core/turn.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

/* A store that only counts, and what was delivered. */
struct desk {
    struct dt_store store;
    int commits;
    size_t records;      /* of the last commit */
    int replies, reads;
    char order[32];      /* letters in the order of delivery */
};

static void on_commit(struct dt_store *self, const struct dt_record *records, size_t count)
{
    struct desk *desk = self->owner;

    (void)records;
    desk->commits++;
    desk->records = count;
}

static void on_effect(void *owner, struct dt_effect *effect)
{
    struct desk *desk = owner;
    size_t size = strlen(desk->order);

    if (effect->kind == DT_EFF_REPLY)
        desk->replies++;
    if (effect->kind == DT_EFF_READ)
        desk->reads++;
    if (size + 1 < sizeof(desk->order))
        desk->order[size] = effect->kind == DT_EFF_REPLY ? 'w' : 'r';
}

static struct dt_turn *turn_make(struct desk *desk, struct dt_core **core)
{
    *desk = (struct desk){.store = {.commit = on_commit}};
    desk->store.owner = desk;
    *core = dt_core_make("00112233445566778899aabbccddeeff");
    return dt_turn_make(*core, &desk->store, on_effect, desk);
}

/* A node's change by an operator: one record, one reply. */
static void change(struct dt_turn *turn, const char *node, uint64_t request)
{
    struct dt_event event = {.kind = DT_EV_NODE_ADMIN, .caller = {.is_operator = true},
                             .request = request, .admin = DT_ADMIN_CORDON};

    snprintf(event.node, sizeof(event.node), "%s", node);
    dt_turn_event(turn, &event);
    dt_event_release(&event);
}

static void join(struct dt_turn *turn, const char *node)
{
    struct dt_event event = {.kind = DT_EV_NODE_HELLO, .session = 1};

    snprintf(event.node, sizeof(event.node), "%s", node);
    event.inventory = dt_alloc(1, sizeof(*event.inventory));
    dt_turn_event(turn, &event);
    dt_event_release(&event);
}

TEST(turn__nothing_is_said_before_it_is_stored)
{
    struct dt_core *core;
    struct desk desk;
    struct dt_turn *turn = turn_make(&desk, &core);

    join(turn, "n1");
    change(turn, "n1", 7);
    dt_turn_read(turn, 8);
    CHECK_INT(desk.commits, 0);
    dt_turn_flush(turn);
    CHECK_INT(desk.commits, 1);
    CHECK_INT(desk.records, 2);
    CHECK_INT(desk.replies + desk.reads, 0);
    dt_turn_committed(turn, DT_COMMIT_DONE);
    CHECK_TEXT(desk.order, "wr");
    dt_turn_free(turn);
    dt_core_free(core);
}

TEST(turn__a_second_batch_waits_for_the_first)
{
    struct dt_core *core;
    struct desk desk;
    struct dt_turn *turn = turn_make(&desk, &core);

    join(turn, "n1");
    dt_turn_flush(turn);
    change(turn, "n1", 1);
    change(turn, "n1", 2);
    dt_turn_flush(turn);
    CHECK_INT(desk.commits, 1);
    dt_turn_committed(turn, DT_COMMIT_DONE); /* starts the next */
    CHECK_INT(desk.commits, 2);
    CHECK_INT(desk.records, 2);
    CHECK_INT(desk.replies, 0);
    dt_turn_committed(turn, DT_COMMIT_DONE);
    CHECK_INT(desk.replies, 2);
    dt_turn_free(turn);
    dt_core_free(core);
}

TEST(turn__a_read_with_nothing_open_is_answered_at_once)
{
    struct dt_core *core;
    struct desk desk;
    struct dt_turn *turn = turn_make(&desk, &core);

    dt_turn_read(turn, 1);
    dt_turn_flush(turn);
    CHECK_INT(desk.reads, 1);
    CHECK_INT(desk.commits, 0);
    dt_turn_free(turn);
    dt_core_free(core);
}

TEST(turn__a_batch_is_sent_again_after_retry)
{
    struct dt_core *core;
    struct desk desk;
    struct dt_turn *turn = turn_make(&desk, &core);

    join(turn, "n1");
    change(turn, "n1", 1);
    dt_turn_flush(turn);
    dt_turn_committed(turn, DT_COMMIT_RETRY);
    CHECK(dt_turn_is_degraded(turn));
    CHECK_INT(desk.replies, 0);
    dt_turn_flush(turn);
    CHECK_INT(desk.commits, 2);
    CHECK_INT(desk.records, 2);
    dt_turn_committed(turn, DT_COMMIT_DONE);
    CHECK_INT(desk.replies, 1);
    CHECK(!dt_turn_is_degraded(turn));
    dt_turn_free(turn);
    dt_core_free(core);
}

TEST(turn__an_unknown_outcome_freezes_until_it_is_known)
{
    struct dt_core *core;
    struct desk desk;
    struct dt_turn *turn = turn_make(&desk, &core);

    join(turn, "n1");
    change(turn, "n1", 1);
    dt_turn_flush(turn);
    dt_turn_committed(turn, DT_COMMIT_UNKNOWN);
    change(turn, "n1", 2);
    dt_turn_flush(turn);
    CHECK_INT(desk.commits, 1);
    CHECK_INT(desk.replies, 0);
    CHECK(dt_turn_is_degraded(turn));
    dt_turn_committed(turn, DT_COMMIT_DONE); /* it had been applied */
    CHECK_INT(desk.replies, 1);
    CHECK_INT(desk.commits, 2);
    dt_turn_committed(turn, DT_COMMIT_DONE);
    CHECK_INT(desk.replies, 2);
    dt_turn_free(turn);
    dt_core_free(core);
}
