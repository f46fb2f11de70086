/* Tokens: from text files or shards on disk to micro-batches, in an order fixed by the seed. */
#ifndef DT_TRAINER_DATA_H
#define DT_TRAINER_DATA_H

#include "dt/base/crc.h"
#include "dt/base/err.h"

/* Files laid end to end, as one sequence of tokens of width bytes each (little-endian). */
struct data {
    struct data_file {
        char *path;
        int64_t size;   /* bytes */
        int64_t first;  /* bytes before it */
        int fd;         /* -1 when all is in memory */
        int64_t samples;     /* weighted data only: samples inside it, */
        int64_t share_first; /* shares before it */
        int64_t share;       /* and how many of an epoch's samples it gives */
    } *files;           /* files_count, owned */
    size_t files_count;
    unsigned char *bytes; /* everything, when it is small enough; else NULL */
    unsigned char *row;   /* room for one sample while it is read */
    int64_t size;       /* bytes */
    int width;          /* of a token: 1 (text), 2 or 4 */
    int64_t seq;        /* tokens of a sample, which also needs the token after it */
    int64_t samples;
    int64_t vocab;
    bool is_weighted;
    uint64_t seed;      /* of the order; set by the caller after opening */
    char fingerprint[DT_SHA256_HEX_BYTES]; /* of sizes and sampled contents */
};

/*
 * Open the files the globs match, sorted by path; text has tokens of one byte. DT_NOT_FOUND when a
 * glob matches nothing, DT_IO when a file cannot be read; both name it. The caller closes.
 */
DT_MUST_USE enum dt_code data_open_text(struct data *data, char *const *globs, size_t count,
                                        int64_t seq, struct dt_err *err);

/* Open token shards: little-endian 16-bit tokens, 32-bit when vocab is above 65,536. */
DT_MUST_USE enum dt_code data_open_shards(struct data *data, char *const *paths, size_t count,
                                          const int64_t seq_vocab[2], struct dt_err *err);

/*
 * Take samples from the files by weights (one a file, from 0 on) instead of by size. An epoch has
 * as many samples as the files hold together; each file gives its share of them, going through its
 * own samples in an order of its own, as often as that takes. The weights become part of the
 * fingerprint.
 * DT_INVALID: all are 0, or a file that is wanted holds less than a sample.
 */
DT_MUST_USE enum dt_code data_weigh(struct data *data, const double *weights,
                                    struct dt_err *err);

/* samples random samples in memory, for measuring. */
void data_open_noise(struct data *data, int64_t samples, int64_t seq, int64_t vocab);

/* Free and close everything. */
void data_close(struct data *data);

/*
 * Samples index .. index + count - 1 of the endless, seeded order into ids and targets (count *
 * seq each). Sample number n is number n % samples of epoch n / samples, so the last batch of an
 * epoch is filled from the next. DT_IO when a file changed or cannot be read any more. One caller
 * at a time.
 */
DT_MUST_USE enum dt_code data_read(const struct data *data, int64_t index, int64_t count,
                                   int32_t *const ids_targets[2], struct dt_err *err);

#endif
