/* Stay with jobs until they end, showing how they get on. */
#ifndef DT_CLI_FOLLOW_H
#define DT_CLI_FOLLOW_H

#include "api.h"

struct dt_follow {
    struct dt_api *api;       /* borrowed */
    const char *const *ids;   /* ids_count job ids or names */
    size_t ids_count;
    int64_t timeout_ms;       /* 0 = none */
    bool shows_events;        /* each event as a line */
    bool shows_progress;      /* a bar on a terminal, else a line now and then */
    bool puts_results;        /* "ID state" on stdout */
};

/*
 * Wait until all jobs have ended. The exit status of job.md section 9: of the first job (in the
 * order asked) that did not succeed; 124 after timeout_ms; 128 + signal when interrupted, which
 * only detaches and says how to go on.
 */
int dt_follow_run(const struct dt_follow *follow);

/* The sentence of how a job stands, such as "failed: rank 1 on n2 was killed by signal 9". */
void dt_job_sentence(struct dt_buf *buf, const struct dt_tree *job);

/* One event as a line of text without line end. */
void dt_event_line(struct dt_buf *buf, const struct dt_tree *event);

#endif
