/* Bytes that grow at the end, with a cursor that reads them within bounds. */
#ifndef DT_BASE_BUF_H
#define DT_BASE_BUF_H

#include "dt/base/base.h"

/* {0} is a valid empty buffer. data[size] is always NUL once data is not NULL. */
struct dt_buf {
    char *data;  /* size bytes, owned */
    size_t size;
    size_t room; /* bytes allocated */
};

/* Free the bytes and zero *buf. */
void dt_buf_release(struct dt_buf *buf);

/* Forget the contents, keep the room. */
void dt_buf_clear(struct dt_buf *buf);

/* Append size bytes. */
void dt_buf_add(struct dt_buf *buf, const void *bytes, size_t size);

/* Append a NUL-terminated text without its NUL. */
void dt_buf_text(struct dt_buf *buf, const char *text);

/* Append one byte. */
void dt_buf_byte(struct dt_buf *buf, char byte);

/* Append formatted text. */
void dt_buf_print(struct dt_buf *buf, const char *format, ...) DT_PRINTF(2, 3);

/* Append a number in network byte order. */
void dt_buf_u32(struct dt_buf *buf, uint32_t value);

/* Remove the first size bytes (at most all). O(rest). */
void dt_buf_drop(struct dt_buf *buf, size_t size);

/* The contents as text; "" when empty. Borrowed until the next change. */
const char *dt_buf_str(const struct dt_buf *buf);

/* Give the bytes away (never NULL, NUL-terminated) and leave *buf empty. The caller frees. */
char *dt_buf_take(struct dt_buf *buf);

/* Reads forward; the first read past the end sets is_bad and every later read gives zero. */
struct dt_cursor {
    const unsigned char *at; /* borrowed */
    size_t left;
    bool is_bad;
};

/* A cursor over size borrowed bytes. */
struct dt_cursor dt_cursor_over(const void *bytes, size_t size);

/* The next byte, or 0 past the end. */
uint8_t dt_cursor_u8(struct dt_cursor *cursor);

/* The next 4 bytes in network order. */
uint32_t dt_cursor_u32(struct dt_cursor *cursor);

/* The next size bytes, borrowed; NULL (and is_bad) when fewer are left. */
const void *dt_cursor_bytes(struct dt_cursor *cursor, size_t size);

#endif
