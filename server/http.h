/* One HTTP call, for the routes. */
#ifndef DT_SERVER_HTTP_H
#define DT_SERVER_HTTP_H

#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "runtime.h"

struct call;
typedef void route_handler(struct call *call);

enum route_role { ROLE_OPEN, ROLE_USER, ROLE_OPERATOR };

/* One row: path has at most one {id}. Reads run when what they show is durable. */
struct route {
    const char *method;
    const char *path;
    enum route_role role;
    bool is_read;       /* held by dt_turn_read */
    route_handler *handler;
    const char *summary;
    const char *query;  /* blank-separated names, or "" */
};

/* A request being answered. request is NULL once the client is gone. */
struct call {
    struct http *http;
    struct runtime *runtime;
    struct evhttp_request *request;
    const struct route *route;
    struct dt_caller caller;
    char id[128];             /* the {id} of the path, decoded */
    struct evkeyvalq query;
    uint64_t wait;            /* handle at runtime; 0 = none */
    uint64_t ask;             /* log question under way; 0 = none */
    int64_t tail;             /* logs: lines from the end; 0 = all */
    uint64_t watch_job;       /* watch: 0 = all */
    bool is_watch, is_lagging;
    int lag_beats;            /* watch: heartbeats since when the client does not read */
    uint64_t key;             /* in http's set of calls */
};

/* Answer with JSON (moved) and end the call. */
void call_json(struct call *call, int status, struct dt_tree *take);
/* Answer with a text of a type and end the call. */
void call_text(struct call *call, int status, const char *type, const char *text, size_t size);
/* Answer with application/problem+json; problems may be NULL. */
void call_problem(struct call *call, const struct dt_err *err, const struct dt_problems *problems);
/* A query value or otherwise. */
const char *call_query(const struct call *call, const char *name, const char *otherwise);
/* A numeric query value; false (and a problem sent) when it is no number within bounds. */
bool call_query_int(struct call *call, const char *name, int64_t least, int64_t most,
                    int64_t *value);
/* The bytes of the body, borrowed from the request. */
const char *call_bytes(const struct call *call, size_t *size);
/* The body as a tree; NULL (and a problem sent) when it is not JSON. The caller frees. */
struct dt_tree *call_body(struct call *call);
/* The job that {id} names: an id, a unique prefix of digits, or a name of the caller's. NULL (and a
 * problem sent) when there is none. Destructive calls refuse a name with two live matches. */
const struct dt_job *call_job(struct call *call, bool is_destructive);
/* Run done for the call when the effect is due; remembers it for a client that goes away. */
uint64_t call_wait(struct call *call, request_done *done);
/* Begin a stream of server-sent events. */
void call_watch(struct call *call, uint64_t job, uint64_t from);
/* The client went away or the call was answered: release it. */
void call_free(struct call *call);

#endif
