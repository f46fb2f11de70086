/* HTTP/1.1 as bytes: writing a request, reading one answer that arrives in any pieces. */
#ifndef DT_CLI_HTTP_H
#define DT_CLI_HTTP_H

#include "client.h"
#include "dt/base/buf.h"
#include "dt/base/err.h"

#define DT_HTTP_HEAD_BYTES_MAX (64 * 1024)

enum dt_http_at {
    DT_HTTP_HEAD,
    DT_HTTP_LENGTH,     /* body of known length */
    DT_HTTP_CHUNK_SIZE, /* chunked body: a size line */
    DT_HTTP_CHUNK,
    DT_HTTP_CHUNK_END,  /* the line end behind a chunk */
    DT_HTTP_TRAILER,
    DT_HTTP_TO_END,     /* body until the peer closes */
    DT_HTTP_DONE
};

/* One answer in the making. {0} waits for the first byte. */
struct dt_http {
    enum dt_http_at at;
    int status;          /* 100..599 once the head is complete */
    bool is_closing;     /* the connection cannot be used again */
    uint64_t left;       /* of the body or chunk */
    size_t body_bytes_max; /* 0 = 64 MiB; more is refused */
    size_t body_bytes;     /* so far, also those already taken out of body */
    struct dt_buf head;  /* status line and header lines */
    struct dt_buf line;  /* an unfinished line behind the head */
    struct dt_buf body;  /* decoded; a streaming reader empties it */
};

/*
 * Read size bytes; *used (never more than size) tells how many belong to this answer. DT_CORRUPT
 * when they are no HTTP/1.x answer, DT_INVALID when head or body exceed their limits.
 */
DT_MUST_USE enum dt_code dt_http_feed(struct dt_http *http, const char *bytes, size_t size,
                                      size_t *used, struct dt_err *err);

/* The peer closed: completes a body of unknown length, DT_CORRUPT when the answer is cut. */
DT_MUST_USE enum dt_code dt_http_end(struct dt_http *http, struct dt_err *err);

/* Append call as a request to host; authorization is a whole header value, or NULL. */
void dt_http_write(struct dt_buf *buf, const struct dt_call *call, const char *host,
                   const char *authorization);

/* Value of a header line of a complete head (name in any case) into text, cut to size; false
 * when absent. */
bool dt_http_header(const struct dt_buf *head, const char *name, char *text, size_t size);

/* Free the buffers and zero it. */
void dt_http_release(struct dt_http *http);

#endif
