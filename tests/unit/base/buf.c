/* Buffers and cursors. */
#include "dt/base/buf.h"

#include <string.h>

#include "test.h"

TEST(buf__is_text_at_every_moment)
{
    struct dt_buf buf = {0};

    CHECK_TEXT(dt_buf_str(&buf), "");
    dt_buf_text(&buf, "ab");
    dt_buf_byte(&buf, 'c');
    dt_buf_print(&buf, "%d%s", 7, "d");
    CHECK_TEXT(dt_buf_str(&buf), "abc7d");
    dt_buf_drop(&buf, 2);
    CHECK_TEXT(dt_buf_str(&buf), "c7d");
    dt_buf_drop(&buf, 99);
    CHECK_TEXT(dt_buf_str(&buf), "");
    dt_buf_add(&buf, NULL, 0);
    dt_buf_clear(&buf);
    CHECK_INT(buf.size, 0);
    dt_buf_release(&buf);
    dt_buf_release(&buf);
    dt_buf_release(NULL);
}

TEST(buf__grows_past_its_first_room)
{
    struct dt_buf buf = {0};
    char *taken;

    for (int i = 0; i < 1000; i++)
        dt_buf_print(&buf, "%03d,", i);
    CHECK_INT(buf.size, 4000);
    CHECK(memcmp(buf.data + 3996, "999,", 5) == 0);
    taken = dt_buf_take(&buf);
    CHECK(!buf.data && !buf.size);
    CHECK(strncmp(taken, "000,001,", 8) == 0);
    dt_free(taken);
    taken = dt_buf_take(&buf);
    CHECK_TEXT(taken, "");
    dt_free(taken);
}

TEST(cursor__reads_what_was_written_and_nothing_more)
{
    struct dt_buf buf = {0};
    struct dt_cursor cursor;

    dt_buf_byte(&buf, (char)0xfe);
    dt_buf_u32(&buf, 0x01020304);
    dt_buf_text(&buf, "xy");
    cursor = dt_cursor_over(buf.data, buf.size);
    CHECK_INT(dt_cursor_u8(&cursor), 0xfe);
    CHECK_INT(dt_cursor_u32(&cursor), 0x01020304);
    CHECK(memcmp(dt_cursor_bytes(&cursor, 2), "xy", 2) == 0);
    CHECK(!cursor.is_bad);
    CHECK_INT(dt_cursor_u8(&cursor), 0);
    CHECK(cursor.is_bad);
    CHECK(dt_cursor_bytes(&cursor, 0) == NULL);
    dt_buf_release(&buf);
}

TEST(cursor__goes_bad_at_the_first_read_past_the_end)
{
    struct dt_cursor cursor = dt_cursor_over("abc", 3);

    CHECK_INT(dt_cursor_u32(&cursor), 0);
    CHECK(cursor.is_bad);
    CHECK_INT(dt_cursor_u8(&cursor), 0); /* though one byte would be there */
    cursor = dt_cursor_over("abc", 3);
    CHECK(dt_cursor_bytes(&cursor, SIZE_MAX) == NULL);
    CHECK_INT(dt_cursor_u32(&cursor), 0);
}
