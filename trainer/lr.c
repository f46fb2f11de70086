/* The learning rate as a function of the samples consumed. */
#include "lr.h"

#include <math.h>

double lr_at(const struct lr_schedule *schedule, int64_t consumed)
{
    double done;

    if (consumed < schedule->warmup)
        return schedule->peak * (double)consumed / (double)schedule->warmup;
    if (schedule->fall == LR_CONSTANT)
        return schedule->peak;
    if (consumed >= schedule->horizon || schedule->horizon <= schedule->warmup)
        return consumed >= schedule->horizon ? schedule->floor : schedule->peak;
    done = (double)(consumed - schedule->warmup) /
           (double)(schedule->horizon - schedule->warmup);
    if (schedule->fall == LR_LINEAR)
        return schedule->floor + (schedule->peak - schedule->floor) * (1.0 - done);
    return schedule->floor +
           0.5 * (schedule->peak - schedule->floor) * (1.0 + cos(3.14159265358979323846 * done));
}
