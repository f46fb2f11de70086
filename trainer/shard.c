/* Shard files: written in one stream with their checks, and checked again in one stream. */
#include "shard.h"

#include "dt/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum dt_code fail_errno(struct dt_err *err, const char *doing, const char *path)
{
    int saved = errno;

    dt_fail(err, DT_IO, "cannot %s %s: %s", doing, path, strerror(saved));
    if (saved == ENOSPC || saved == EDQUOT)
        dt_hint(err, "the disk is full: training goes on, free space there");
    return DT_IO;
}

static void digest_text(struct dt_sha256 *sha, char hex[DT_SHA256_HEX_BYTES])
{
    unsigned char digest[DT_SHA256_BYTES];

    dt_sha256_end(sha, digest);
    for (int i = 0; i < DT_SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

enum dt_code shard_create(struct shard_writer *writer, const char *dir, struct dt_shard *shard,
                          struct dt_err *err)
{
    *writer = (struct shard_writer){.shard = shard, .fd = -1};
    dt_sha256_init(&writer->sha);
    shard->size = 0;
    shard->crc_count = 0;
    if (!dt_path_join(writer->path, sizeof(writer->path), dir, shard->file))
        return dt_fail(err, DT_INVALID, "checkpoint.dir is too long");
    writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return writer->fd < 0 ? fail_errno(err, "create", writer->path) : DT_OK;
}

static void end_chunk(struct shard_writer *writer)
{
    struct dt_shard *shard = writer->shard;

    if ((int64_t)shard->crc_count == writer->crc_room) {
        writer->crc_room = writer->crc_room ? 2 * writer->crc_room : 64;
        shard->crc32c = dt_realloc(shard->crc32c, (size_t)writer->crc_room,
                                   sizeof(*shard->crc32c));
    }
    shard->crc32c[shard->crc_count++] = writer->crc;
    writer->crc = 0;
}

/* CRCs and digest of what is about to be written: what memory held, not what the disk says. */
static void check_sum(struct shard_writer *writer, const char *bytes, int64_t size)
{
    dt_sha256_add(&writer->sha, bytes, (size_t)size);
    while (size > 0) {
        int64_t room = DT_CHUNK_BYTES - writer->shard->size % DT_CHUNK_BYTES;
        int64_t piece = size < room ? size : room;

        writer->crc = dt_crc32c(writer->crc, bytes, (size_t)piece);
        writer->shard->size += piece;
        bytes += piece, size -= piece;
        if (writer->shard->size % DT_CHUNK_BYTES == 0)
            end_chunk(writer);
    }
}

enum dt_code shard_add(struct shard_writer *writer, const void *bytes, int64_t size,
                       struct dt_err *err)
{
    const char *at = bytes;

    check_sum(writer, bytes, size);
    for (int64_t left = size; left > 0;) {
        ssize_t done = write(writer->fd, at, (size_t)left);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail_errno(err, "write", writer->path);
        at += done, left -= done;
    }
    return DT_OK;
}

enum dt_code shard_close(struct shard_writer *writer, enum dt_code code, struct dt_err *err)
{
    if (writer->fd < 0)
        return code;
    if (writer->shard->size % DT_CHUNK_BYTES)
        end_chunk(writer);
    digest_text(&writer->sha, writer->shard->sha256);
    if (!code && fsync(writer->fd))
        code = fail_errno(err, "write", writer->path);
    if (close(writer->fd) && !code)
        code = fail_errno(err, "write", writer->path);
    writer->fd = -1;
    return code;
}

/* The next chunk, whole unless the file ends; its size, or -1. */
static ssize_t read_chunk(int fd, unsigned char *chunk)
{
    size_t got = 0;

    while (got < DT_CHUNK_BYTES) {
        ssize_t more = read(fd, chunk + got, DT_CHUNK_BYTES - got);

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

static enum dt_code verify_open(int fd, const char *path, const struct dt_shard *shard,
                                struct dt_err *err)
{
    unsigned char *chunk = dt_alloc(DT_CHUNK_BYTES, 1);
    char hex[DT_SHA256_HEX_BYTES];
    struct dt_sha256 sha;
    enum dt_code code = DT_OK;
    int64_t size = 0;

    dt_sha256_init(&sha);
    for (size_t i = 0; !code; i++) {
        ssize_t got = read_chunk(fd, chunk);

        if (got < 0)
            code = fail_errno(err, "read", path);
        if (got <= 0)
            break;
        size += got;
        dt_sha256_add(&sha, chunk, (size_t)got);
        if (i >= shard->crc_count || dt_crc32c(0, chunk, (size_t)got) != shard->crc32c[i])
            code = dt_fail(err, DT_CORRUPT, "%s is damaged in the MiB at byte %lld", path,
                           (long long)i * DT_CHUNK_BYTES);
    }
    dt_free(chunk);
    if (!code && size != shard->size)
        code = dt_fail(err, DT_CORRUPT, "%s has %lld bytes, expected %lld", path,
                       (long long)size, (long long)shard->size);
    digest_text(&sha, hex);
    if (!code && strcmp(hex, shard->sha256) != 0)
        code = dt_fail(err, DT_CORRUPT, "%s is not the file that was written (SHA-256 differs)",
                       path);
    return code;
}

enum dt_code shard_verify(const char *dir, const struct dt_shard *shard, struct dt_err *err)
{
    char path[5000];
    enum dt_code code;
    int fd;

    if (!dt_path_join(path, sizeof(path), dir, shard->file))
        return dt_fail(err, DT_INVALID, "checkpoint.dir is too long");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "read", path);
    code = verify_open(fd, path, shard, err);
    close(fd);
    return code;
}

enum dt_code shard_read(const char *dir, const struct dt_shard *shard,
                        const int64_t begin_size[2], void *bytes, struct dt_err *err)
{
    char path[5000];
    enum dt_code code = DT_OK;
    int fd;

    if (!dt_path_join(path, sizeof(path), dir, shard->file))
        return dt_fail(err, DT_INVALID, "checkpoint.dir is too long");
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "read", path);
    for (int64_t got = 0; got < begin_size[1] && !code;) {
        ssize_t more = pread(fd, (char *)bytes + got, (size_t)(begin_size[1] - got),
                             begin_size[0] + got);

        if (more < 0 && errno != EINTR)
            code = fail_errno(err, "read", path);
        else if (more == 0)
            code = dt_fail(err, DT_CORRUPT, "%s ends early", path);
        got += more > 0 ? more : 0;
    }
    close(fd);
    return code;
}
