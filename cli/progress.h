/* How far a job got, as a bar that is drawn again or as plain lines. */
#ifndef DT_CLI_PROGRESS_H
#define DT_CLI_PROGRESS_H

#include "dt/base/buf.h"
#include "dt/base/tree.h"

/* {0} has drawn nothing. */
struct dt_progress_bar {
    bool is_drawn;     /* the cursor stands behind a bar */
    int64_t step;      /* last shown */
    int64_t tokens, at_ms; /* of the last two readings: tokens per second */
    int64_t rate;      /* tokens per second, smoothed; 0 = unknown */
    int64_t said_ms;   /* plain: when the last line came */
};

/* Show the progress member of job (a map or null) on stderr. */
void dt_progress_show(struct dt_progress_bar *bar, const struct dt_tree *job);

/* Take the bar away, so that a line can be written. */
void dt_progress_hide(struct dt_progress_bar *bar);

/* "step 120/200  loss 2.31  1.2k tokens/s": width 0, or with a bar fitted into width columns. */
void dt_progress_line(struct dt_buf *buf, const struct dt_tree *progress, int64_t rate,
                      int width);

#endif
