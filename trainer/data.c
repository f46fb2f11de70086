/* Tokens: from text files or shards on disk to micro-batches, in an order fixed by the seed. */
#include "data.h"

#include "rng.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IN_MEMORY_MAX ((int64_t)256 << 20) /* bytes kept in memory; beyond that files stay open */
#define FILES_OPEN_MAX 512
#define FILES_MAX 1000000
#define PROBE 65536                        /* bytes at both ends that the fingerprint reads */

static enum dt_code fail_file(struct dt_err *err, const char *path)
{
    dt_fail(err, DT_IO, "data file %s: %s", path, strerror(errno));
    if (errno == EACCES || errno == EPERM)
        dt_hint(err, "make it readable for the user who runs the job, on every node");
    return DT_IO;
}

/* Exactly size bytes at offset. */
static enum dt_code read_exactly(int fd, const char *path, void *bytes, const int64_t range[2],
                                 struct dt_err *err)
{
    for (int64_t got = 0; got < range[1];) {
        ssize_t more = pread(fd, (char *)bytes + got, (size_t)(range[1] - got), range[0] + got);

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return fail_file(err, path);
        if (more == 0)
            return dt_fail(err, DT_IO, "data file %s became shorter during the run", path);
        got += more;
    }
    return DT_OK;
}

static enum dt_code add_file(struct data *data, const char *path, struct dt_err *err)
{
    struct data_file *file;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return fail_file(err, path);
    if (fstat(fd, &status)) {
        fail_file(err, path);
        close(fd);
        return DT_IO;
    }
    close(fd);
    if (!S_ISREG(status.st_mode))
        return dt_fail(err, DT_IO, "data file %s is not a regular file", path);
    if (data->files_count >= FILES_MAX)
        return dt_fail(err, DT_IO, "more than %d data files", FILES_MAX);
    if ((data->files_count & (data->files_count - 1)) == 0)
        data->files = dt_realloc(data->files, data->files_count ? 2 * data->files_count : 1,
                                 sizeof(*data->files));
    file = &data->files[data->files_count++];
    *file = (struct data_file){.path = dt_copy_text(path), .size = status.st_size,
                               .first = data->size, .fd = -1};
    data->size += file->size;
    return DT_OK;
}

/* Size, both ends and, up to 1 MiB, everything: enough to notice other data, bounded in time. */
static enum dt_code fingerprint_file(struct dt_sha256 *sha, const struct data_file *file, int fd,
                                     struct dt_err *err)
{
    unsigned char probe[PROBE];
    char size[32];
    enum dt_code code;

    snprintf(size, sizeof(size), "%lld\n", (long long)file->size);
    dt_sha256_add(sha, size, strlen(size));
    for (int64_t at = 0; at < file->size; at += PROBE) {
        int64_t left = file->size - at, piece = left < PROBE ? left : PROBE;

        if ((code = read_exactly(fd, file->path, probe, (const int64_t[2]){at, piece}, err)))
            return code;
        dt_sha256_add(sha, probe, (size_t)piece);
        if (file->size > (1 << 20) && at == 0)
            at = file->size - 2 * PROBE; /* the loop adds one PROBE: the last one is next */
    }
    return DT_OK;
}

static void hex_of(struct dt_sha256 *sha, char hex[DT_SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[DT_SHA256_BYTES];

    dt_sha256_end(sha, digest);
    for (size_t i = 0; i < DT_SHA256_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
}

/* Load or keep open, fingerprint, count samples. */
static enum dt_code open_all(struct data *data, struct dt_err *err)
{
    struct dt_sha256 sha;
    bool in_memory = data->size <= IN_MEMORY_MAX;
    enum dt_code code = DT_OK;

    if (!in_memory && data->files_count > FILES_OPEN_MAX)
        return dt_fail(err, DT_IO, "%zu data files of %lld MiB: expected at most %d files above "
                       "%lld MiB", data->files_count, (long long)(data->size >> 20),
                       FILES_OPEN_MAX, (long long)(IN_MEMORY_MAX >> 20));
    if (in_memory)
        data->bytes = dt_alloc((size_t)data->size + 1, 1);
    dt_sha256_init(&sha);
    for (size_t i = 0; i < data->files_count && !code; i++) {
        struct data_file *file = &data->files[i];
        int fd = open(file->path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            return fail_file(err, file->path);
        code = fingerprint_file(&sha, file, fd, err);
        if (!code && in_memory)
            code = read_exactly(fd, file->path, data->bytes + file->first,
                                (const int64_t[2]){0, file->size}, err);
        if (code || in_memory)
            close(fd);
        else
            file->fd = fd;
    }
    hex_of(&sha, data->fingerprint);
    data->row = dt_alloc((size_t)(data->seq + 1), (size_t)data->width);
    data->samples = data->size / data->width > data->seq
                        ? (data->size / data->width - 1) / data->seq : 0;
    return code;
}

static int on_glob_error(const char *path, int number)
{
    (void)path;
    return number == EACCES; /* a directory that may not be read is an error, not an absence */
}

enum dt_code data_open_text(struct data *data, char *const *globs, size_t count, int64_t seq,
                            struct dt_err *err)
{
    struct data draft = {.width = 1, .seq = seq, .vocab = 256};
    enum dt_code code = DT_OK;
    glob_t found = {0};

    for (size_t i = 0; i < count && !code; i++) {
        int status = glob(globs[i], i ? GLOB_APPEND : 0, on_glob_error, &found);

        if (status == GLOB_NOMATCH)
            code = dt_fail(err, DT_NOT_FOUND, "trainer.data.text: no file matches %s", globs[i]);
        else if (status)
            code = dt_fail(err, DT_IO, "trainer.data.text: cannot look for %s: %s", globs[i],
                           status == GLOB_ABORTED ? "permission denied" : "out of memory");
    }
    for (size_t i = 0; i < found.gl_pathc && !code; i++)
        code = add_file(&draft, found.gl_pathv[i], err);
    if (count)
        globfree(&found);
    if (!code)
        code = open_all(&draft, err);
    if (code)
        data_close(&draft);
    else
        *data = draft;
    return code;
}

enum dt_code data_open_shards(struct data *data, char *const *paths, size_t count,
                              const int64_t seq_vocab[2], struct dt_err *err)
{
    struct data draft = {.seq = seq_vocab[0], .vocab = seq_vocab[1],
                         .width = seq_vocab[1] > 65536 ? 4 : 2};
    enum dt_code code = DT_OK;

    for (size_t i = 0; i < count && !code; i++) {
        code = add_file(&draft, paths[i], err);
        if (!code && draft.size % draft.width)
            code = dt_fail(err, DT_IO, "token shard %s: %lld bytes are not a whole number of "
                           "%d-byte tokens", paths[i],
                           (long long)draft.files[draft.files_count - 1].size, draft.width);
    }
    if (!code)
        code = open_all(&draft, err);
    if (code)
        data_close(&draft);
    else
        *data = draft;
    return code;
}

static void fingerprint_weights(struct data *data, const double *weights)
{
    struct dt_sha256 sha;
    char text[64];

    dt_sha256_init(&sha);
    dt_sha256_add(&sha, data->fingerprint, strlen(data->fingerprint));
    for (size_t i = 0; i < data->files_count; i++) {
        snprintf(text, sizeof(text), " %.17g", weights[i]);
        dt_sha256_add(&sha, text, strlen(text));
    }
    hex_of(&sha, data->fingerprint);
}

enum dt_code data_weigh(struct data *data, const double *weights, struct dt_err *err)
{
    double total = 0, before = 0;
    int64_t epoch = 0, given = 0;

    for (size_t i = 0; i < data->files_count; i++) {
        struct data_file *file = &data->files[i];
        int64_t tokens = file->size / data->width;

        file->samples = tokens > data->seq ? (tokens - 1) / data->seq : 0;
        if (weights[i] > 0 && file->samples == 0)
            return dt_fail(err, DT_INVALID, "token shard %s: %lld tokens are less than one sample "
                           "of %lld (and one more)", file->path, (long long)tokens,
                           (long long)data->seq);
        total += weights[i];
        epoch += weights[i] > 0 ? file->samples : 0;
    }
    if (!(total > 0))
        return dt_fail(err, DT_INVALID, "trainer.data.train: every weight is 0");
    for (size_t i = 0; i < data->files_count; i++) {
        struct data_file *file = &data->files[i];
        int64_t end;

        before += weights[i];
        end = i + 1 == data->files_count ? epoch
                                         : (int64_t)((double)epoch * (before / total) + 0.5);
        file->share_first = given;
        file->share = weights[i] > 0 ? end - given : 0;
        given += file->share;
    }
    data->samples = given;
    data->is_weighted = true;
    fingerprint_weights(data, weights);
    return DT_OK;
}

void data_open_noise(struct data *data, int64_t samples, int64_t seq, int64_t vocab)
{
    int64_t tokens = samples * seq + 1;

    *data = (struct data){.width = 4, .seq = seq, .vocab = vocab, .samples = samples,
                          .size = 4 * tokens};
    data->bytes = dt_alloc((size_t)tokens, 4);
    data->row = dt_alloc((size_t)(seq + 1), 4);
    for (int64_t i = 0; i < tokens; i++) {
        uint32_t token = (uint32_t)rng_permute(1, 2, (uint64_t)tokens, (uint64_t)i) %
                         (uint32_t)vocab;

        for (int byte = 0; byte < 4; byte++)
            data->bytes[4 * i + byte] = (unsigned char)(token >> (8 * byte));
    }
}

void data_close(struct data *data)
{
    for (size_t i = 0; i < data->files_count; i++) {
        if (data->files[i].fd >= 0)
            close(data->files[i].fd);
        dt_free(data->files[i].path);
    }
    dt_free(data->files);
    dt_free(data->bytes);
    dt_free(data->row);
    *data = (struct data){0};
}

/* The file that holds byte at; bisection. */
static const struct data_file *file_at(const struct data *data, int64_t at)
{
    size_t low = 0, high = data->files_count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (data->files[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    return &data->files[low];
}

static const char *path_at(const struct data *data, int64_t at)
{
    return data->files_count ? file_at(data, at)->path : "noise";
}

/* size bytes from byte at on, over the borders of files. */
static enum dt_code read_bytes(const struct data *data, int64_t at, int64_t size,
                               unsigned char *out, struct dt_err *err)
{
    enum dt_code code;

    if (data->bytes) {
        memcpy(out, data->bytes + at, (size_t)size);
        return DT_OK;
    }
    while (size > 0) {
        const struct data_file *file = file_at(data, at);
        int64_t piece = file->first + file->size - at;

        piece = piece < size ? piece : size;
        if ((code = read_exactly(file->fd, file->path, out,
                                 (const int64_t[2]){at - file->first, piece}, err)))
            return code;
        at += piece, out += piece, size -= piece;
    }
    return DT_OK;
}

static int64_t token_at(const unsigned char *bytes, int width)
{
    int64_t token = 0;

    for (int i = width - 1; i >= 0; i--)
        token = token << 8 | bytes[i];
    return token;
}

/* Where sample number of a weighted order begins, in tokens: its file by the shuffled epoch, then
 * the next one of the file's own order. */
static int64_t weighted_token(const struct data *data, uint64_t epoch, uint64_t place)
{
    const struct data_file *file = data->files;
    uint64_t turn, samples, own_seed;

    while (place >= (uint64_t)(file->share_first + file->share))
        file++;
    turn = epoch * (uint64_t)file->share + place - (uint64_t)file->share_first;
    samples = (uint64_t)file->samples;
    own_seed = data->seed + (uint64_t)(file - data->files + 1) * 0x9e3779b97f4a7c15u;
    return file->first / data->width +
           (int64_t)rng_permute(own_seed, turn / samples, samples, turn % samples) * data->seq;
}

enum dt_code data_read(const struct data *data, int64_t index, int64_t count,
                       int32_t *const ids_targets[2], struct dt_err *err)
{
    size_t room = (size_t)((data->seq + 1) * data->width);
    unsigned char *bytes = data->row;
    enum dt_code code = DT_OK;

    for (int64_t i = 0; i < count; i++) {
        uint64_t number = (uint64_t)(index + i), samples = (uint64_t)data->samples;
        uint64_t place = rng_permute(data->seed, number / samples, samples, number % samples);
        int64_t first = data->is_weighted ? weighted_token(data, number / samples, place)
                                          : (int64_t)place * data->seq;

        code = read_bytes(data, first * data->width, (int64_t)room, bytes, err);
        for (int64_t t = 0; t <= data->seq && !code; t++) {
            int64_t token = token_at(bytes + t * data->width, data->width);

            if (token >= data->vocab)
                code = dt_fail(err, DT_IO, "data file %s: token %lld is %lld, but the vocabulary "
                               "has %lld", path_at(data, (first + t) * data->width),
                               (long long)(first + t), (long long)token,
                               (long long)data->vocab);
            else if (t < data->seq)
                ids_targets[0][i * data->seq + t] = (int32_t)token;
            if (t > 0 && !code)
                ids_targets[1][i * data->seq + t - 1] = (int32_t)token;
        }
        if (code)
            break;
    }
    return code;
}
