/* One connection to the API of a cluster: calls, and streams of events. */
#ifndef DT_CLI_CLIENT_H
#define DT_CLI_CLIENT_H

#include "dt/base/buf.h"
#include "dt/base/err.h"
#include "where.h"

/* What is asked. Everything is borrowed. */
struct dt_call {
    const char *method;
    const char *path;     /* with query, already encoded */
    const char *body;     /* JSON, or NULL */
    size_t body_size;
    const char *key;      /* Idempotency-Key, or NULL */
    int64_t timeout_ms;   /* for the whole answer; 0 = 15 s */
};

/* What came back. */
struct dt_answer {
    int status;
    struct dt_buf head; /* header lines, for dt_http_header */
    struct dt_buf body;
};

struct dt_stream;
struct dt_client;

/*
 * How bytes travel: over the Unix socket (client.c) or HTTPS (client_remote.c, a module that is
 * loaded only for remote contexts). state is the transport's own.
 */
struct dt_transport {
    enum dt_code (*call)(struct dt_client *client, const struct dt_call *call,
                         struct dt_answer *answer, struct dt_err *err);
    enum dt_code (*stream_open)(struct dt_client *client, const char *path,
                                struct dt_stream **stream, struct dt_err *err);
    enum dt_code (*stream_read)(struct dt_stream *stream, int64_t wait_ms, struct dt_buf *bytes,
                                struct dt_err *err);
    void (*stream_close)(struct dt_stream *stream);
    void (*release)(struct dt_client *client);
};

struct dt_client {
    struct dt_where where;
    const struct dt_transport *transport;
    void *module; /* of dlopen */
    void *state;  /* remote: the transport's own */
    int fd;       /* Unix: kept open between calls; -1 = none */
    bool was_sent; /* the last call may have reached the controller */
};

/* Name the module exports. */
#define DT_REMOTE_SYMBOL "dt_remote_transport"

/* Ready to call the cluster at where; nothing is connected yet. DT_IO when the remote module
 * cannot be loaded. The caller releases. */
DT_MUST_USE enum dt_code dt_client_open(const struct dt_where *where, struct dt_client *client,
                                        struct dt_err *err);

/*
 * Send one call and read the answer. DT_UNREACHABLE when nobody answers (at most 1 s to connect,
 * then the call's time-out), DT_CORRUPT when the answer is no HTTP. An answer of any status is
 * DT_OK. The caller releases the answer.
 */
DT_MUST_USE enum dt_code dt_client_call(struct dt_client *client, const struct dt_call *call,
                                        struct dt_answer *answer, struct dt_err *err);

/* Open GET path as a stream on a connection of its own; another status than 200 fails. */
DT_MUST_USE enum dt_code dt_stream_open(struct dt_client *client, const char *path,
                                        struct dt_stream **stream, struct dt_err *err);

/* Append what arrives within wait_ms to bytes. DT_OK (perhaps nothing new, also after a signal),
 * DT_UNREACHABLE at its end. */
DT_MUST_USE enum dt_code dt_stream_read(struct dt_client *client, struct dt_stream *stream,
                                        int64_t wait_ms, struct dt_buf *bytes,
                                        struct dt_err *err);

/* Close it; NULL is fine. */
void dt_stream_close(struct dt_client *client, struct dt_stream *stream);

/* Free the contents and zero it. */
void dt_answer_release(struct dt_answer *answer);
/* Close and zero it. */
void dt_client_release(struct dt_client *client);

#endif
