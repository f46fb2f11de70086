/* A training step as a list of things to do, in order, for one rank. */
#include "dt/shape/schedule.h"

static void add(struct dt_schedule *schedule, struct dt_action action)
{
    if ((schedule->count & (schedule->count - 1)) == 0)
        schedule->items = dt_realloc(schedule->items,
                                     schedule->count ? 2 * schedule->count : 1,
                                     sizeof(*schedule->items));
    schedule->items[schedule->count++] = action;
}

void dt_schedule_data(struct dt_schedule *schedule, int64_t count, int64_t layers,
                      const struct dt_buckets *buckets, bool is_exact)
{
    int64_t from = layers;
    int64_t whole = is_exact || count == 0 ? count : count - 1; /* backward in one piece */

    *schedule = (struct dt_schedule){0};
    add(schedule, (struct dt_action){.what = DT_DO_ZERO});
    for (int64_t i = 0; i < whole; i++) {
        add(schedule, (struct dt_action){.what = DT_DO_FORWARD, .index = i});
        add(schedule, (struct dt_action){DT_DO_BACKWARD, i, layers, -1});
        if (is_exact)
            add(schedule, (struct dt_action){.what = DT_DO_FOLD, .index = i});
    }
    if (whole < count)
        add(schedule, (struct dt_action){.what = DT_DO_FORWARD, .index = count - 1});
    for (size_t i = 0; i < buckets->count; i++) {
        int64_t to = buckets->items[i].layer;

        if (whole < count)
            add(schedule, (struct dt_action){DT_DO_BACKWARD, count - 1, from, to});
        from = to - 1;
        add(schedule, (struct dt_action){.what = DT_DO_REDUCE, .index = (int64_t)i});
    }
    add(schedule, (struct dt_action){.what = DT_DO_WAIT});
    add(schedule, (struct dt_action){.what = DT_DO_STEP});
}

void dt_schedule_release(struct dt_schedule *schedule)
{
    if (!schedule)
        return;
    dt_free(schedule->items);
    *schedule = (struct dt_schedule){0};
}
