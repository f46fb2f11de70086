/* The running controller: what its parts share. */
#ifndef DT_SERVER_RUNTIME_H
#define DT_SERVER_RUNTIME_H

#include "dt/base/set.h"
#include "dt/core/turn.h"
#include "dt/net/conn.h"
#include "mark.h"
#include "store_redis.h"

struct sessions;
struct http;
struct guests_count;
struct fences;
struct event_line;

/* Where effects and events leave; set by main before runtime_open. */
struct runtime_out {
    /* send to a node if that session is still its present one */
    void (*send)(struct sessions *sessions, const char *node, uint64_t session,
                 const struct dt_tree *message);
    void (*fence)(struct sessions *sessions, const char *node, uint64_t session);
    void (*event)(struct http *http, const struct event_line *line);
};

/* One durable event, as watchers get it. */
struct event_line {
    uint64_t seq, job;
    char *json; /* size bytes, owned */
    size_t size;
};

struct runtime {
    struct dt_loop *loop;
    struct runtime_out out;
    struct dt_core *core;
    struct dt_turn *turn;
    struct store_redis *store;
    struct sessions *sessions;
    struct http *http;
    char state_dir[512], run_dir[512];
    char cluster_id[33];
    struct mark mark;      /* as it lies on the disk */
    bool accepts_rollback;
    uint64_t epoch;
    int64_t dt_base_ms;    /* dt time = base + loop time */
    int64_t started_ms;    /* loop time */
    int64_t now_ms;        /* last dt time given to core */
    bool is_serving;       /* loaded; events may be decided */
    bool is_stopping;
    int exit_status;
    char fatal[512];       /* why it stopped by itself; "" = asked to */
    char fatal_hint[256];  /* and what to do; may be "" */
    struct dt_timer *tick;
    uint64_t request_next; /* handles of waiting requests */
    struct dt_set requests; /* handle -> struct request_wait, owned */
    /* newest events for watchers, a ring */
    struct event_line *ring;
    size_t ring_first, ring_count;
    uint64_t counters_submits, counters_refused;
};

#define RING_COUNT 4096

/* Called when a request's effect is due: effect is REPLY or READ, borrowed. */
typedef void request_done(void *owner, struct dt_effect *effect);

/* Core, store and turn; loading begins when Redis answers. loop, dirs, cluster_id and mark are
 * set. */
void runtime_open(struct runtime *runtime, const char *redis_socket);
/* Free core, turn and store; jobs go on. */
void runtime_close(struct runtime *runtime);
/* Fill now, wall and give the event to the turn; releases the event. */
void runtime_event(struct runtime *runtime, struct dt_event *event);
/* A handle under which done will be called once. */
uint64_t runtime_wait(struct runtime *runtime, request_done *done, void *owner);
/* The asker is gone: its done is not called. */
void runtime_forget(struct runtime *runtime, uint64_t request);
/* The owner of a waiting request, which waits no more; NULL when the asker is gone. */
void *runtime_take(struct runtime *runtime, uint64_t request);
/* A read of present state: done is called when all it shows is durable. */
void runtime_read(struct runtime *runtime, uint64_t request);
/* dt time now. */
int64_t runtime_now_ms(const struct runtime *runtime);
/* Stop with a reason; exit status 1. */
void runtime_fatal(struct runtime *runtime, const char *reason);
/* The store cannot take records now. */
bool runtime_is_degraded(const struct runtime *runtime);

/* sessions.c: agents */
DT_MUST_USE enum dt_code sessions_open(struct runtime *runtime, const char *address, int port,
                                       struct dt_err *err);
void sessions_close(struct sessions *sessions);
int sessions_port(const struct sessions *sessions);
size_t sessions_count(const struct sessions *sessions);
/* Send to a node if that session is still its present one. */
void sessions_send(struct sessions *sessions, const char *node, uint64_t session,
                   const struct dt_tree *message);
void sessions_fence(struct sessions *sessions, const char *node, uint64_t session);

/* A part of a rank's log. error is "" when good; bytes are borrowed. */
struct log_part {
    uint64_t gen;
    int rank;
    int64_t offset, size_total;
    const char *bytes;
    size_t size;
    bool is_eof;
    char error[256];
};
typedef void log_done(void *owner, const struct log_part *part);
/* Ask the node of a rank for a part of its log (wanted: gen, rank, offset, at most size bytes);
 * falls back to the tail kept here. done is called
 * once, never from inside this call. Returns an id for sessions_log_forget. */
uint64_t sessions_log_get(struct sessions *sessions, const struct dt_job *job,
                          const struct log_part *wanted, log_done *done, void *owner);
void sessions_log_forget(struct sessions *sessions, uint64_t id);

/* fence.c: PMIx fences through the star */
struct fences *fences_make(void);
void fences_free(struct fences *fences);
/* A node gave data (blob, copied); again after a reconnect is fine. When all gave: what all gave,
 * borrowed until the next call; else NULL. Fences of generations that are over go. */
const struct dt_buf *fences_add(struct fences *fences, const struct dt_core *core,
                                const struct dt_frame *frame, struct dt_err *err);

/* http.c */
struct route;
struct http_door {
    const char *socket_path; /* Unix socket */
    const char *address;     /* HTTPS */
    int port;                /* 0 takes any */
    const char *token_hash;  /* SHA-256 of the operator's token, 64 hex digits */
    const struct route *routes; /* routes_count */
    size_t routes_count;
};
DT_MUST_USE enum dt_code http_open(struct runtime *runtime, const struct http_door *door,
                                   struct dt_err *err);
void http_close(struct http *http);
int http_port(const struct http *http);
/* Connections to the API, for the metrics. */
struct guests_count http_guests(const struct http *http);
/* A new durable event for the watchers. */
void http_event(struct http *http, const struct event_line *line);

/* metrics.c */
void metrics_write(struct runtime *runtime, struct dt_buf *buf);

#endif
