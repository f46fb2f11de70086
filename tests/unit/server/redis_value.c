/* Replies of Redis: every kind, in pieces, and what is none. */
#include "redis_value.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/buf.h"
#include "test.h"

static void describe(struct dt_buf *text, const struct redis_value *value)
{
    switch (value->kind) {
    case REDIS_TEXT:
    case REDIS_ERROR:
        dt_buf_print(text, "%s%.*s", value->kind == REDIS_ERROR ? "!" : "", (int)value->size,
                     value->text);
        break;
    case REDIS_INT:
        dt_buf_print(text, "#%lld", (long long)value->number);
        break;
    case REDIS_LIST:
        dt_buf_byte(text, '(');
        for (size_t i = 0; i < value->count; i++) {
            dt_buf_text(text, i ? " " : "");
            describe(text, &value->items[i]);
        }
        dt_buf_byte(text, ')');
        break;
    default:
        dt_buf_text(text, "nil");
    }
}

static void take(void *owner, const struct redis_value *value)
{
    describe(owner, value);
    dt_buf_byte(owner, ';');
}

/* All replies of the bytes as one text; "corrupt" follows what could be read. */
static void check_replies(const char *bytes, size_t piece, const char *expected)
{
    struct redis_reader *reader = redis_reader_make();
    struct dt_buf text = {0};
    enum dt_code code = DT_OK;
    size_t size = strlen(bytes);

    for (size_t at = 0; at < size && !code; at += piece) {
        CHECK_INT(redis_reader_feed(reader, bytes + at, size - at < piece ? size - at : piece,
                                    NULL), DT_OK);
        while (redis_reader_next(reader, take, &text, &code, NULL))
            ;
    }
    if (code)
        dt_buf_text(&text, "corrupt");
    CHECK_TEXT(dt_buf_str(&text), expected);
    dt_buf_release(&text);
    redis_reader_free(reader);
}

TEST(redis_value__reads_every_kind_whole_and_in_pieces)
{
    static const char bytes[] = "+OK\r\n:-7\r\n$3\r\na b\r\n$-1\r\n$0\r\n\r\n-ERR no\r\n*-1\r\n"
                                "*3\r\n*0\r\n*2\r\n:1\r\n+x\r\n$2\r\nzz\r\n";
    static const char expected[] = "OK;#-7;a b;nil;;!ERR no;nil;(() (#1 x) zz);";

    check_replies(bytes, sizeof(bytes), expected);
    check_replies(bytes, 1, expected);
    check_replies(bytes, 3, expected);
}

TEST(redis_value__keeps_what_came_before_nonsense)
{
    check_replies("+OK\r\n?\r\n", 100, "OK;corrupt");
    check_replies("+OK\r\n$x\r\n", 1, "OK;corrupt");
    check_replies("*1\r\n*1\r\n", 100, ""); /* not whole yet */
}

TEST(redis_value__compares_texts_only)
{
    CHECK(redis_value_is(&(struct redis_value){.kind = REDIS_TEXT, .text = "yes", .size = 3},
                         "yes"));
    CHECK(!redis_value_is(&(struct redis_value){.kind = REDIS_TEXT, .text = "yes", .size = 2},
                          "yes"));
    CHECK(!redis_value_is(&(struct redis_value){.kind = REDIS_ERROR, .text = "yes", .size = 3},
                          "yes"));
    CHECK(!redis_value_is(&(struct redis_value){.kind = REDIS_NIL, .text = ""}, ""));
}
