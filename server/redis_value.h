/* Redis replies as values: hiredis reads the bytes, nothing else of it is used. */
#ifndef DT_SERVER_REDIS_VALUE_H
#define DT_SERVER_REDIS_VALUE_H

#include "dt/base/err.h"

enum redis_kind { REDIS_NIL, REDIS_TEXT, REDIS_INT, REDIS_LIST, REDIS_ERROR, REDIS_LOST };

/* A reply; LOST means that nobody knows whether the command was done. Borrowed for the call. */
struct redis_value {
    enum redis_kind kind;
    int64_t number;            /* INT */
    const char *text;          /* TEXT, ERROR: size bytes and a NUL; else "" */
    size_t size;
    struct redis_value *items; /* LIST: count */
    size_t count;
};

/* Is it this text? false for every other kind. */
bool redis_value_is(const struct redis_value *value, const char *text);

struct redis_reader;
typedef void redis_reply(void *owner, const struct redis_value *value);

/* A reader of one connection's bytes. The caller frees. */
struct redis_reader *redis_reader_make(void);
/* Free; NULL is fine. Not from within take. */
void redis_reader_free(struct redis_reader *reader);
/* Feed what came. DT_CORRUPT when no whole reply came within 64 MiB. */
DT_MUST_USE enum dt_code redis_reader_feed(struct redis_reader *reader, const char *bytes,
                                           size_t size, struct dt_err *err);
/* The next whole reply goes to take(owner); false when none is there. DT_CORRUPT in *code when the
 * bytes are no reply: drop the reader with its connection. take may free the reader. */
bool redis_reader_next(struct redis_reader *reader, redis_reply *take, void *owner,
                       enum dt_code *code, struct dt_err *err);

#endif
