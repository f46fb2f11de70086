/* Frames: how messages and blobs travel on a byte stream. */
#ifndef DT_WIRE_FRAME_H
#define DT_WIRE_FRAME_H

#include "dt/base/json.h"

#define DT_FRAME_BYTES_MAX (1024 * 1024) /* payload */
#define DT_FRAME_HEAD_BYTES 9

/*
 * A frame is: u32 payload size, u32 CRC-32C of kind and payload, u8 kind, payload (network order).
 * MESSAGE: the payload is one JSON map. BLOB: u32 size of a JSON map, the map, then raw bytes.
 */
enum dt_frame_kind { DT_FRAME_MESSAGE = 1, DT_FRAME_BLOB = 2 };

/* A decoded frame. body is owned; blob is borrowed from the reader until its next call. */
struct dt_frame {
    enum dt_frame_kind kind;
    struct dt_tree *body; /* the JSON map; has a text member "type" */
    const char *blob;     /* BLOB: blob_size raw bytes */
    size_t blob_size;
};

/* Free the body and zero it. */
void dt_frame_release(struct dt_frame *frame);

/* Append one frame to buf; blob may be NULL (then a MESSAGE). The encoded size must be within
 * DT_FRAME_BYTES_MAX, else DT_INVALID and nothing is appended. */
DT_MUST_USE enum dt_code dt_frame_write(struct dt_buf *buf, const struct dt_tree *body,
                                        const void *blob, size_t blob_size, struct dt_err *err);

/*
 * Take one frame from the front of size bytes.
 *
 * used   out: bytes of the frame taken; 0 when more bytes are needed
 * frame  out on DT_OK with used > 0; the caller releases
 *
 * DT_OK; DT_CORRUPT for a bad size, kind, checksum or body: close the connection.
 */
DT_MUST_USE enum dt_code dt_frame_read(const char *bytes, size_t size, size_t *used,
                                       struct dt_frame *frame, struct dt_err *err);

#endif
