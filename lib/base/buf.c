/* Growing bytes, and a cursor that never reads past them. */
#include "dt/base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Room for size more bytes and a NUL. */
static void buf_reserve(struct dt_buf *buf, size_t size)
{
    size_t need, room = buf->room ? buf->room : 64;

    if (__builtin_add_overflow(buf->size, size, &need) || need >= SIZE_MAX / 2)
        need = SIZE_MAX - 1; /* dt_realloc aborts */
    if (need < buf->room)
        return;
    while (room <= need)
        room = room * 2;
    buf->data = dt_realloc(buf->data, room, 1);
    buf->room = room;
}

void dt_buf_release(struct dt_buf *buf)
{
    if (!buf)
        return;
    dt_free(buf->data);
    *buf = (struct dt_buf){0};
}

void dt_buf_clear(struct dt_buf *buf)
{
    buf->size = 0;
    if (buf->data)
        buf->data[0] = 0;
}

void dt_buf_add(struct dt_buf *buf, const void *bytes, size_t size)
{
    buf_reserve(buf, size);
    if (size)
        memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
    buf->data[buf->size] = 0;
}

void dt_buf_text(struct dt_buf *buf, const char *text)
{
    dt_buf_add(buf, text, strlen(text));
}

void dt_buf_byte(struct dt_buf *buf, char byte)
{
    dt_buf_add(buf, &byte, 1);
}

void dt_buf_print(struct dt_buf *buf, const char *format, ...)
{
    va_list args, again;
    int size;

    va_start(args, format);
    va_copy(again, args);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(size >= 0);
    buf_reserve(buf, (size_t)size);
    vsnprintf(buf->data + buf->size, (size_t)size + 1, format, again);
    va_end(again);
    buf->size += (size_t)size;
}

void dt_buf_u32(struct dt_buf *buf, uint32_t value)
{
    unsigned char bytes[4];

    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
    dt_buf_add(buf, bytes, sizeof(bytes));
}

void dt_buf_drop(struct dt_buf *buf, size_t size)
{
    if (size > buf->size)
        size = buf->size;
    if (!size)
        return;
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

const char *dt_buf_str(const struct dt_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *dt_buf_take(struct dt_buf *buf)
{
    char *data;

    if (!buf->data)
        buf_reserve(buf, 0);
    buf->data[buf->size] = 0;
    data = buf->data;
    *buf = (struct dt_buf){0};
    return data;
}

struct dt_cursor dt_cursor_over(const void *bytes, size_t size)
{
    return (struct dt_cursor){.at = bytes, .left = size};
}

const void *dt_cursor_bytes(struct dt_cursor *cursor, size_t size)
{
    const unsigned char *at = cursor->at;

    if (cursor->is_bad || size > cursor->left) {
        cursor->is_bad = true;
        return NULL;
    }
    cursor->at += size;
    cursor->left -= size;
    return at;
}

uint8_t dt_cursor_u8(struct dt_cursor *cursor)
{
    const unsigned char *at = dt_cursor_bytes(cursor, 1);

    return at ? *at : 0;
}

uint32_t dt_cursor_u32(struct dt_cursor *cursor)
{
    const unsigned char *at = dt_cursor_bytes(cursor, 4);

    if (!at)
        return 0;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
