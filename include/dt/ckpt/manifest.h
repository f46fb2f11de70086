/* What a checkpoint holds and where: the manifest, whose presence makes it one. */
#ifndef DT_CKPT_MANIFEST_H
#define DT_CKPT_MANIFEST_H

#include "dt/base/buf.h"
#include "dt/base/crc.h"
#include "dt/base/err.h"

#define DT_MANIFEST_BYTES_MAX ((size_t)64 << 20)
#define DT_CHUNK_BYTES (1 << 20) /* one CRC-32C each */
#define DT_STEP_NAME_BYTES 48    /* "step-000000000050.g000001" and NUL */

/* One file of tensors. */
struct dt_shard {
    char file[64];
    int64_t size;
    char sha256[DT_SHA256_HEX_BYTES];
    uint32_t *crc32c;   /* crc_count = chunks of DT_CHUNK_BYTES, the last one shorter; owned */
    size_t crc_count;
};

/* Rows row_first .. row_first + row_count - 1 of a tensor in bytes begin..end of a shard's file. */
struct dt_slice {
    size_t shard;
    int64_t begin, end;
    int64_t row_first, row_count;
};

/* A logical tensor: global shape (a vector has rows 1), cut into slices of whole rows. */
struct dt_stored {
    char name[128]; /* "layers.0.attn.q.weight"; state of Adam as "adam_m.", "adam_v." + name */
    char dtype[8];
    int64_t rows, cols;
    bool is_vector;
    struct dt_slice *slices; /* slices_count, owned */
    size_t slices_count;
};

/* A checkpoint. Owned. {0} is empty. */
struct dt_manifest {
    char job[128];
    uint64_t gen;
    int64_t step;
    uint64_t parent_gen;      /* 0: this run began from nothing */
    int64_t parent_step;
    char model_fingerprint[DT_SHA256_HEX_BYTES];
    char data_fingerprint[DT_SHA256_HEX_BYTES];
    int world, tensor, context, pipeline, data, zero; /* layout that wrote it */
    uint64_t seed;
    int64_t consumed;         /* samples: where the sampler goes on */
    int64_t optimizer_step;   /* of Adam's bias correction */
    int64_t horizon, warmup;  /* samples of the learning rate's schedule */
    uint32_t weights_crc32c;  /* of all parameters in the order of the flat buffer */
    struct dt_shard *shards;
    size_t shards_count;
    struct dt_stored *tensors;
    size_t tensors_count;
};

/* Append the manifest as JSON. Equal manifests, equal bytes. */
void dt_manifest_write(struct dt_buf *buf, const struct dt_manifest *manifest);

/*
 * Read and check: sizes, names and that the extents cover every byte of every shard after its
 * header, and every row of every tensor, exactly once. DT_CORRUPT; DT_UNSUPPORTED for a newer
 * version. The caller releases.
 */
DT_MUST_USE enum dt_code dt_manifest_read(const char *bytes, size_t size,
                                          struct dt_manifest *manifest, struct dt_err *err);

/* Free and zero. */
void dt_manifest_release(struct dt_manifest *manifest);

/* The tensor of that name, or NULL. O(tensors). */
const struct dt_stored *dt_manifest_find(const struct dt_manifest *manifest, const char *name);

/* "step-000000000050.g000001". */
void dt_step_name(char text[DT_STEP_NAME_BYTES], int64_t step, uint64_t gen);

/* Read such a name; false when it is none. */
DT_MUST_USE bool dt_step_name_read(const char *text, int64_t *step, uint64_t *gen);

#endif
