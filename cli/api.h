/* The API as commands use it: open, ask, retry, and refusals as errors. */
#ifndef DT_CLI_API_H
#define DT_CLI_API_H

#include "client.h"
#include "dt/base/json.h"
#include "dt/base/opts.h"

/* Option rows that every command which talks to a cluster has. */
#define DT_OPT_ROW_CONTEXT                                                                    \
    {.name = "context", .letter = 'c', .type = DT_OPT_STR, .arg = "NAME", .unit = "",          \
     .help = "the cluster to talk to; else DT_CONTEXT, the contexts file, the running one"}
#define DT_OPT_ROW_RETRY                                                                      \
    {.name = "retry", .type = DT_OPT_DURATION, .arg = "TIME", .unit = "", .initial = "0s",     \
     .help = "keep trying for so long when nobody answers"}
#define DT_API_ROWS DT_OPT_ROW_CONTEXT, DT_OPT_ROW_RETRY

/* A cluster that is talked to. */
struct dt_api {
    struct dt_client client;
    int64_t retry_ms;
    struct dt_tree *refusal; /* the body of the last refused call, or NULL; owned */
};

/* Find the cluster by --context and be ready; nothing is connected yet. The caller releases. */
DT_MUST_USE enum dt_code dt_api_open(struct dt_api *api, const struct dt_args *args,
                                     struct dt_err *err);

/*
 * One call, tried again (same key) while nobody answers and --retry allows. An answer of 400 and
 * above becomes the error it carries (api->refusal keeps its body). The caller releases answer.
 */
DT_MUST_USE enum dt_code dt_api_call(struct dt_api *api, const struct dt_call *call,
                                     struct dt_answer *answer, struct dt_err *err);

/* GET path as a tree; the caller frees it. */
DT_MUST_USE enum dt_code dt_api_get(struct dt_api *api, const char *path, struct dt_tree **tree,
                                    struct dt_err *err);

/* POST body (may be NULL: an empty map) with a new Idempotency-Key; tree may be NULL, else the
 * caller frees it. */
DT_MUST_USE enum dt_code dt_api_post(struct dt_api *api, const char *path,
                                     const struct dt_tree *body, struct dt_tree **tree,
                                     struct dt_err *err);

/* The answer's body as a tree; the caller frees it. */
DT_MUST_USE enum dt_code dt_api_tree(const struct dt_answer *answer, struct dt_tree **tree,
                                     struct dt_err *err);

/* "/v1/jobs/" + name percent-encoded + tail, appended to path. */
void dt_api_path(struct dt_buf *path, const char *base, const char *name, const char *tail);

/* Append "?key=value" or "&key=value", percent-encoded. */
void dt_api_query(struct dt_buf *path, const char *key, const char *value);

/* Close and free. */
void dt_api_release(struct dt_api *api);

#endif
