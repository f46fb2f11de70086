/* Does the plan fit into this machine's memory? */
#ifndef DT_TRAINER_MEMORY_H
#define DT_TRAINER_MEMORY_H

#include "dt/shape/sizes.h"

/* Compare ranks times the planned bytes with what is available and with the cgroups' limits.
 * DT_QUOTA with the breakdown when it cannot fit. */
DT_MUST_USE enum dt_code memory_check(const struct dt_run_shape *run, int ranks,
                                      struct dt_err *err);

#endif
