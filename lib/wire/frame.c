/* Frames on a byte stream. */
#include "dt/wire/frame.h"

#include "dt/base/crc.h"

static const struct dt_json_limits frame_limits = {
    .bytes_max = DT_FRAME_BYTES_MAX, .depth_max = 20, .nodes_max = 200000};

void dt_frame_release(struct dt_frame *frame)
{
    if (!frame)
        return;
    dt_tree_free(frame->body);
    *frame = (struct dt_frame){0};
}

enum dt_code dt_frame_write(struct dt_buf *buf, const struct dt_tree *body, const void *blob,
                            size_t blob_size, struct dt_err *err)
{
    struct dt_buf payload = {0}, json = {0};
    char kind = blob ? DT_FRAME_BLOB : DT_FRAME_MESSAGE;
    uint32_t crc;

    dt_json_write(&json, body);
    if (json.size + blob_size + 4 > DT_FRAME_BYTES_MAX) {
        size_t size = json.size + blob_size;

        dt_buf_release(&json);
        return dt_fail(err, DT_INVALID, "a frame of %zu bytes: at most %d", size,
                       DT_FRAME_BYTES_MAX);
    }
    if (blob)
        dt_buf_u32(&payload, (uint32_t)json.size);
    dt_buf_add(&payload, json.data, json.size);
    if (blob)
        dt_buf_add(&payload, blob, blob_size);
    crc = dt_crc32c(dt_crc32c(0, &kind, 1), payload.data, payload.size);
    dt_buf_u32(buf, (uint32_t)payload.size);
    dt_buf_u32(buf, crc);
    dt_buf_byte(buf, kind);
    dt_buf_add(buf, payload.data, payload.size);
    dt_buf_release(&payload);
    dt_buf_release(&json);
    return DT_OK;
}

/* Parse a payload whose checksum is right. */
static enum dt_code payload_read(struct dt_cursor payload, struct dt_frame *frame,
                                 struct dt_err *err)
{
    const char *json = (const char *)payload.at;
    size_t json_size = payload.left;
    enum dt_code code;

    if (frame->kind == DT_FRAME_BLOB) {
        json_size = dt_cursor_u32(&payload);
        json = dt_cursor_bytes(&payload, json_size);
        if (!json)
            return dt_fail(err, DT_CORRUPT, "a blob frame shorter than its header says");
        frame->blob = (const char *)payload.at;
        frame->blob_size = payload.left;
    }
    code = dt_json_parse(json, json_size, &frame_limits, &frame->body, err);
    if (code || frame->body->kind != DT_TREE_MAP || !dt_tree_str(frame->body, "type", NULL)) {
        dt_frame_release(frame);
        if (!code)
            dt_fail(err, DT_CORRUPT, "a frame whose body is no map with a type");
        return DT_CORRUPT;
    }
    return DT_OK;
}

enum dt_code dt_frame_read(const char *bytes, size_t size, size_t *used, struct dt_frame *frame,
                           struct dt_err *err)
{
    struct dt_cursor head = dt_cursor_over(bytes, size);
    struct dt_frame draft = {0};
    uint32_t payload_size, crc;
    unsigned char kind;
    enum dt_code code;

    *used = 0;
    if (size < 4)
        return DT_OK;
    payload_size = dt_cursor_u32(&head);
    if (payload_size < 2 || payload_size > DT_FRAME_BYTES_MAX)
        return dt_fail(err, DT_CORRUPT, "a frame of %u bytes", payload_size);
    if (size < DT_FRAME_HEAD_BYTES + (size_t)payload_size)
        return DT_OK;
    crc = dt_cursor_u32(&head);
    kind = dt_cursor_u8(&head);
    if (kind != DT_FRAME_MESSAGE && kind != DT_FRAME_BLOB)
        return dt_fail(err, DT_CORRUPT, "a frame of kind %u", kind);
    if (crc != dt_crc32c(dt_crc32c(0, &kind, 1), head.at, payload_size))
        return dt_fail(err, DT_CORRUPT, "a frame with a wrong checksum");
    head.left = payload_size;
    draft.kind = kind;
    if ((code = payload_read(head, &draft, err)))
        return code;
    *frame = draft;
    *used = DT_FRAME_HEAD_BYTES + (size_t)payload_size;
    return DT_OK;
}
