/* Redis replies as values: hiredis reads the bytes, nothing else of it is used. */
#include "redis_value.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <string.h>

#include "dt/base/base.h"

#define UNREAD_BYTES_MAX (64 * 1024 * 1024)

struct redis_reader {
    redisReader *hiredis;
    size_t unread; /* bytes fed since the last whole reply */
};

static void value_fill(struct redis_value *value, const redisReply *reply)
{
    *value = (struct redis_value){.kind = REDIS_NIL, .text = ""};
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        value->kind = REDIS_TEXT;
        break;
    case REDIS_REPLY_ERROR:
        value->kind = REDIS_ERROR;
        break;
    case REDIS_REPLY_INTEGER:
        value->kind = REDIS_INT;
        value->number = reply->integer;
        return;
    case REDIS_REPLY_ARRAY:
        value->kind = REDIS_LIST;
        value->count = reply->elements;
        value->items = dt_alloc(reply->elements, sizeof(*value->items));
        for (size_t i = 0; i < reply->elements; i++)
            value_fill(&value->items[i], reply->element[i]);
        return;
    default:
        return;
    }
    if (reply->str) {
        value->text = reply->str;
        value->size = reply->len > 0 ? (size_t)reply->len : 0;
    }
}

static void value_release(struct redis_value *value)
{
    for (size_t i = 0; i < value->count; i++)
        value_release(&value->items[i]);
    dt_free(value->items);
}

bool redis_value_is(const struct redis_value *value, const char *text)
{
    return value->kind == REDIS_TEXT && value->size == strlen(text) &&
           memcmp(value->text, text, value->size) == 0;
}

struct redis_reader *redis_reader_make(void)
{
    struct redis_reader *reader = dt_alloc(1, sizeof(*reader));

    reader->hiredis = redisReaderCreate();
    assert(reader->hiredis); /* out of memory */
    return reader;
}

void redis_reader_free(struct redis_reader *reader)
{
    if (!reader)
        return;
    redisReaderFree(reader->hiredis);
    dt_free(reader);
}

enum dt_code redis_reader_feed(struct redis_reader *reader, const char *bytes, size_t size,
                               struct dt_err *err)
{
    reader->unread += size;
    if (reader->unread > UNREAD_BYTES_MAX ||
        redisReaderFeed(reader->hiredis, bytes, size) != REDIS_OK)
        return dt_fail(err, DT_CORRUPT, "Redis: reply too large");
    return DT_OK;
}

bool redis_reader_next(struct redis_reader *reader, redis_reply *take, void *owner,
                       enum dt_code *code, struct dt_err *err)
{
    struct redis_value value;
    void *reply = NULL;

    *code = DT_OK;
    if (redisReaderGetReply(reader->hiredis, &reply) != REDIS_OK) {
        *code = dt_fail(err, DT_CORRUPT, "Redis: not a reply: %s", reader->hiredis->errstr);
        return false;
    }
    if (!reply)
        return false;
    reader->unread = 0;
    value_fill(&value, reply);
    take(owner, &value);
    value_release(&value);
    freeReplyObject(reply);
    return true;
}
