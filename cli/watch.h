/* Events as the controller pushes them, across reconnects. */
#ifndef DT_CLI_WATCH_H
#define DT_CLI_WATCH_H

#include "api.h"

struct dt_watch {
    struct dt_api *api;      /* borrowed */
    struct dt_stream *stream; /* NULL while the connection is lost */
    struct dt_buf bytes;     /* arrived, not yet read */
    char job[80];            /* "" = all */
    uint64_t seq;            /* of the newest event read */
    int64_t heard_ms;        /* when bytes last came */
    int64_t lost_ms;         /* since when the connection is lost; 0 = it is not */
    int64_t tried_ms;
    int64_t patience_ms;     /* how long to try again */
};

/* What dt_watch_next found. */
struct dt_news {
    struct dt_tree *event; /* NULL: nothing within the time, or is_anew; the caller frees */
    bool is_anew;          /* events may be missing: read the objects again */
};

/* Open the stream of one job's events (job NULL: of all) after seq. The caller closes. */
DT_MUST_USE enum dt_code dt_watch_open(struct dt_watch *watch, struct dt_api *api,
                                       const char *job, uint64_t seq, struct dt_err *err);

/* The next event within wait_ms. A lost connection is opened again for patience_ms, then
 * DT_UNREACHABLE. Returns early (with nothing) after a signal. */
DT_MUST_USE enum dt_code dt_watch_next(struct dt_watch *watch, int64_t wait_ms,
                                       struct dt_news *news, struct dt_err *err);

/* Close and zero it. */
void dt_watch_close(struct dt_watch *watch);

#endif
