/* Frames on a byte stream. */
#include "dt/wire/frame.h"

#include <string.h>

#include "dt/base/crc.h"
#include "dt/wire/msg.h"
#include "test.h"

static struct dt_tree *message(const char *text)
{
    struct dt_tree *tree = dt_msg_make("beat");

    dt_tree_put_str(tree, "text", text);
    return tree;
}

TEST(frame__messages_and_blobs_follow_each_other)
{
    struct dt_tree *body = message("hello");
    struct dt_frame frame = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    size_t used = 0, at = 0;

    CHECK_INT(dt_frame_write(&buf, body, NULL, 0, &err), DT_OK);
    CHECK_INT(dt_frame_write(&buf, body, "\0raw", 4, &err), DT_OK);
    CHECK_INT(dt_frame_read(buf.data, buf.size, &used, &frame, &err), DT_OK);
    CHECK_INT(frame.kind, DT_FRAME_MESSAGE);
    CHECK(dt_tree_equal(frame.body, body));
    dt_frame_release(&frame);
    at = used;
    CHECK_INT(dt_frame_read(buf.data + at, buf.size - at, &used, &frame, &err), DT_OK);
    CHECK_INT(frame.kind, DT_FRAME_BLOB);
    CHECK_INT(frame.blob_size, 4);
    CHECK(memcmp(frame.blob, "\0raw", 4) == 0);
    dt_frame_release(&frame);
    CHECK_INT(at + used, buf.size);
    dt_buf_release(&buf);
    dt_tree_free(body);
}

TEST(frame__waits_for_the_rest_at_every_cut)
{
    struct dt_tree *body = message("cut me");
    struct dt_frame frame = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    size_t used = 99;

    CHECK_INT(dt_frame_write(&buf, body, "xyz", 3, &err), DT_OK);
    for (size_t cut = 0; cut < buf.size; cut++) {
        char *part = dt_copy_bytes(buf.data, cut); /* so that reading past it is seen */

        CHECK_INT(dt_frame_read(part, cut, &used, &frame, &err), DT_OK);
        CHECK_INT(used, 0);
        dt_free(part);
    }
    dt_buf_release(&buf);
    dt_tree_free(body);
}

TEST(frame__every_changed_byte_is_noticed)
{
    struct dt_tree *body = message("do not touch");
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_frame_write(&buf, body, NULL, 0, &err), DT_OK);
    for (size_t i = 0; i < buf.size; i++) {
        struct dt_frame frame = {0};
        size_t used = 0;
        enum dt_code code;

        buf.data[i] ^= 0x10;
        code = dt_frame_read(buf.data, buf.size, &used, &frame, &err);
        CHECK(code == DT_CORRUPT || (code == DT_OK && used == 0)); /* or a longer size: waits */
        dt_frame_release(&frame);
        buf.data[i] ^= 0x10;
    }
    dt_buf_release(&buf);
    dt_tree_free(body);
}

TEST(frame__a_size_beyond_the_bound_closes_at_once)
{
    static const char head[] = "\x00\x10\x00\x01\0\0\0\0\x01";
    struct dt_frame frame = {0};
    struct dt_err err = {0};
    size_t used = 0;

    CHECK_INT(dt_frame_read(head, DT_FRAME_HEAD_BYTES, &used, &frame, &err), DT_CORRUPT);
}

TEST(frame__refuses_to_write_what_nobody_would_read)
{
    struct dt_tree *body = message("big");
    char *big = dt_alloc(DT_FRAME_BYTES_MAX, 1);
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_frame_write(&buf, body, big, DT_FRAME_BYTES_MAX, &err), DT_INVALID);
    CHECK_INT(buf.size, 0);
    dt_free(big);
    dt_tree_free(body);
}

/* A well-formed head around any payload. */
static enum dt_code read_payload(char kind, const char *payload, size_t size)
{
    struct dt_frame frame = {0};
    struct dt_buf buf = {0}, checked = {0};
    struct dt_err err = {0};
    enum dt_code code;
    size_t used = 0;

    dt_buf_byte(&checked, kind);
    dt_buf_add(&checked, payload, size);
    dt_buf_u32(&buf, (uint32_t)size);
    dt_buf_u32(&buf, dt_crc32c(0, checked.data, checked.size));
    dt_buf_add(&buf, checked.data, checked.size);
    code = dt_frame_read(buf.data, buf.size, &used, &frame, &err);
    dt_frame_release(&frame);
    dt_buf_release(&buf);
    dt_buf_release(&checked);
    return code;
}

TEST(frame__a_right_checksum_does_not_save_a_wrong_body)
{
    CHECK_INT(read_payload(1, "{\"type\":\"beat\"}", 15), DT_OK);
    CHECK_INT(read_payload(1, "[1]", 3), DT_CORRUPT);
    CHECK_INT(read_payload(1, "{}", 2), DT_CORRUPT);
    CHECK_INT(read_payload(1, "{\"type\":7}", 10), DT_CORRUPT);
    CHECK_INT(read_payload(1, "", 0), DT_CORRUPT);
    CHECK_INT(read_payload(3, "{\"type\":\"beat\"}", 15), DT_CORRUPT);
    CHECK_INT(read_payload(2, "\0\0\0\xff{}", 6), DT_CORRUPT);
    CHECK_INT(read_payload(2, "\0\0", 2), DT_CORRUPT);
}
