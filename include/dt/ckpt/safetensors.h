/* The safetensors format: 8 bytes of length, a JSON header, then the tensors' bytes. */
#ifndef DT_CKPT_SAFETENSORS_H
#define DT_CKPT_SAFETENSORS_H

#include "dt/base/buf.h"
#include "dt/base/err.h"

#define DT_SAFETENSORS_HEADER_MAX ((size_t)100 << 20) /* bytes, as the format's own library */
#define DT_SAFETENSORS_DIMS_MAX 8

/* One tensor of a file; begin..end are bytes from the end of the header. */
struct dt_safetensor {
    char name[128];
    char dtype[8];  /* "F32", "F64", "BF16", "F16", "I64", "I32", "U8" ... */
    int64_t shape[DT_SAFETENSORS_DIMS_MAX];
    size_t dims;
    int64_t begin, end;
};

/* The tensors of a file, in the order of their bytes. {0} is empty. */
struct dt_safetensors {
    struct dt_safetensor *items; /* count, owned */
    size_t count;
    int64_t data_begin;          /* bytes of length and header: where the tensors' bytes begin */
    int64_t data_size;
};

/* Append length and header of a file of these tensors, whose bytes must lie end to end from 0. The
 * header is padded with blanks to a multiple of 8. */
void dt_safetensors_write(struct dt_buf *buf, const struct dt_safetensor *items, size_t count);

/*
 * Read the beginning of a file: bytes holds at least length and header, file_size is the whole
 * file's. DT_CORRUPT unless shape, type and offsets agree and every byte belongs to exactly one
 * tensor. The caller releases.
 */
DT_MUST_USE enum dt_code dt_safetensors_read(const void *bytes, size_t size, int64_t file_size,
                                             struct dt_safetensors *file, struct dt_err *err);

/* Free and zero. */
void dt_safetensors_release(struct dt_safetensors *file);

/* Bytes of one element of a type, 0 when unknown. */
int64_t dt_safetensors_word(const char *dtype);

#endif
