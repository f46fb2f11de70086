/* Schedules: each micro-batch forward then backward, each bucket reduced once it is complete. */
#include "dt/shape/schedule.h"

#include "test.h"

/* Walk a schedule as an executor would and check every promise. */
static void walk(const struct dt_schedule *schedule, int64_t count, int64_t layers,
                 const struct dt_buckets *buckets, bool is_exact)
{
    int64_t forward = 0, next_layer = -2, reduced = 0, waits = 0, steps = 0;
    int64_t folds = 0;

    CHECK_INT(schedule->items[0].what, DT_DO_ZERO);
    for (size_t i = 1; i < schedule->count; i++) {
        const struct dt_action *action = &schedule->items[i];

        switch (action->what) {
        case DT_DO_ZERO:
            CHECK(false);
            break;
        case DT_DO_FORWARD:
            CHECK_INT(next_layer, -2); /* the one before is wholly backward */
            CHECK_INT(action->index, forward++);
            next_layer = layers;
            break;
        case DT_DO_BACKWARD:
            CHECK_INT(action->from, next_layer);
            CHECK(action->to <= action->from && action->to >= -1);
            next_layer = action->to - 1;
            break;
        case DT_DO_FOLD:
            CHECK_INT(next_layer, -2);
            CHECK_INT(folds++, action->index);
            break;
        case DT_DO_REDUCE:
            CHECK_INT(action->index, reduced++);
            CHECK(count == 0 || next_layer < buckets->items[action->index].layer);
            CHECK_INT(forward, count);
            break;
        case DT_DO_WAIT:
            waits++;
            break;
        case DT_DO_STEP:
            steps++;
            CHECK_INT(i, schedule->count - 1);
            break;
        }
    }
    CHECK_INT(forward, count);
    CHECK_INT(next_layer, -2);
    CHECK_INT(reduced, buckets->count);
    CHECK_INT(folds, is_exact ? count : 0);
    CHECK(waits == 1 && steps == 1);
}

TEST(schedule__reduces_each_bucket_when_its_last_gradient_is_there)
{
    struct dt_model model;
    struct dt_buckets buckets;

    CHECK(dt_model_preset("bench-6m", &model));
    for (int64_t bytes = 1; bytes < (int64_t)1 << 30; bytes *= 64) {
        dt_buckets_init(&buckets, &model, bytes);
        for (int64_t i = 0; i < 10; i++) {
            struct dt_schedule schedule;
            bool is_exact = i % 2;

            dt_schedule_data(&schedule, i / 2, model.layers, &buckets, is_exact);
            walk(&schedule, i / 2, model.layers, &buckets, is_exact);
            dt_schedule_release(&schedule);
        }
        dt_buckets_release(&buckets);
    }
}
