/* Progress told to the outside: metrics.jsonl, datagrams, the status page, lines for people. */
#ifndef DT_TRAINER_REPORT_H
#define DT_TRAINER_REPORT_H

#include "exec.h"
#include "world.h"

#include "dt/ckpt/status.h"

struct report {
    int rank, ranks;
    uint64_t gen;
    int metrics_fd;        /* rank 0: metrics.jsonl, else -1 */
    int socket_fd;         /* connected datagram socket, or -1 */
    void *page;            /* mapped status page, or NULL */
    struct dt_status status;
    struct dt_run_shape run;
    double peak;           /* measured, operations a second of one rank */
    int64_t steps;         /* of the whole run */
    double line_s;         /* when the last line for people was printed */
    char line[1024];
};

/*
 * Open what the world names; output_dir (made if need be) holds metrics.jsonl. Only a metrics file
 * that cannot be opened fails (DT_IO): socket and page are done without.
 */
DT_MUST_USE enum dt_code report_open(struct report *report, const struct world *world,
                                     const char *output_dir, struct dt_err *err);

/* Close everything. */
void report_close(struct report *report);

/* A phase begins. */
void report_phase(struct report *report, enum dt_phase phase);

/* A step is done; step counts from 1, consumed is after it. Rank 0 adds a line to metrics.jsonl. */
void report_step(struct report *report, int64_t step, int64_t consumed,
                 const struct step_result *result, int64_t sent_bytes);

/* An evaluation's loss. */
void report_eval(struct report *report, int64_t step, double loss);

/* A checkpoint is committed at path. */
void report_checkpoint(struct report *report, int64_t step, const char *path, double seconds);

/* Something to alarm about, in words, on stderr and in metrics.jsonl. */
void report_alarm(struct report *report, int64_t step, const char *kind, const char *text);

#endif
