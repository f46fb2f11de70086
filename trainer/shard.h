/* Shard files: written in one stream with their checks, and checked again in one stream. */
#ifndef DT_TRAINER_SHARD_H
#define DT_TRAINER_SHARD_H

#include "dt/ckpt/manifest.h"

/* A shard in the making. */
struct shard_writer {
    int fd;
    char path[5000];
    struct dt_shard *shard; /* borrowed: size, digest and CRCs are filled in */
    struct dt_sha256 sha;
    uint32_t crc;           /* of the chunk begun */
    int64_t crc_room;       /* chunks that shard->crc32c has room for */
};

/* Create dir/shard->file. */
DT_MUST_USE enum dt_code shard_create(struct shard_writer *writer, const char *dir,
                                      struct dt_shard *shard, struct dt_err *err);

/* Append size bytes. */
DT_MUST_USE enum dt_code shard_add(struct shard_writer *writer, const void *bytes, int64_t size,
                                   struct dt_err *err);

/* Make it durable and close; with a code that is not DT_OK only close. The first failure. */
DT_MUST_USE enum dt_code shard_close(struct shard_writer *writer, enum dt_code code,
                                     struct dt_err *err);

/* Read dir/shard->file to its end: size, CRC of every chunk and SHA-256 must be as the manifest
 * says. DT_CORRUPT names the file and the first bad chunk. */
DT_MUST_USE enum dt_code shard_verify(const char *dir, const struct dt_shard *shard,
                                      struct dt_err *err);

/* Read bytes begin .. begin + size - 1 of dir/file. */
DT_MUST_USE enum dt_code shard_read(const char *dir, const struct dt_shard *shard,
                                    const int64_t begin_size[2], void *bytes,
                                    struct dt_err *err);

#endif
