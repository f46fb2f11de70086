/* Any bytes as frames: read one after the other, never past the end. */
#include <stdlib.h>

#include "dt/base/crc.h"
#include "dt/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* With a right head, so that the body is reached. */
static void with_head(const uint8_t *data, size_t size)
{
    struct dt_frame frame = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    size_t used = 0;

    dt_buf_u32(&buf, (uint32_t)size - 1);
    dt_buf_u32(&buf, dt_crc32c(0, data, size));
    dt_buf_add(&buf, data, size);
    if (dt_frame_read(buf.data, buf.size, &used, &frame, &err) == DT_OK && used != buf.size)
        abort();
    dt_frame_release(&frame);
    dt_buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_err err = {0};
    size_t at = 0, used = 0;

    while (at < size) {
        struct dt_frame frame = {0};

        if (dt_frame_read((const char *)data + at, size - at, &used, &frame, &err) || !used)
            break;
        if (used > size - at)
            abort();
        at += used;
        dt_frame_release(&frame);
    }
    if (size > 1 && size < DT_FRAME_BYTES_MAX)
        with_head(data, size);
    return 0;
}
