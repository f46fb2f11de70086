/* Random numbers, the order of samples, the learning rate, data files. */
#include "data.h"
#include "lr.h"
#include "parts.h"
#include "rng.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(rng__philox_gives_the_published_vectors)
{
    const uint32_t zero[4] = {0}, ones[4] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t pi_key[2] = {0xa4093822, 0x299f31d0};
    uint32_t out[4];

    rng_philox(zero, zero, out);
    CHECK(out[0] == 0x6627e8d5 && out[1] == 0xe169c58d && out[2] == 0xbc57ac4c &&
          out[3] == 0x9b00dbd8);
    rng_philox(ones, ones, out);
    CHECK(out[0] == 0x408f276d && out[1] == 0x41c83b0e && out[2] == 0xa20bc7c6 &&
          out[3] == 0x6d5451fd);
    rng_philox(pi_key, pi, out);
    CHECK(out[0] == 0xd16cfe09 && out[1] == 0x94fdcceb && out[2] == 0x5001e420 &&
          out[3] == 0x24126ea1);
}

TEST(rng__normal_depends_on_the_element_only)
{
    float all[1000], part[10];
    double sum = 0, square = 0;

    rng_normal(1, 2, 0, 1000, all);
    rng_normal(1, 2, 503, 10, part);
    CHECK(memcmp(part, all + 503, sizeof(part)) == 0);
    for (int i = 0; i < 1000; i++) {
        sum += (double)all[i];
        square += (double)(all[i] * all[i]);
    }
    CHECK_NEAR(sum / 1000, 0, 0.12);
    CHECK_NEAR(square / 1000, 1, 0.15);
}

TEST(rng__permutation_holds_every_index_once_in_each_epoch)
{
    for (uint64_t size = 1; size < 300; size += 7)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            unsigned char seen[300] = {0};

            for (uint64_t i = 0; i < size; i++) {
                uint64_t at = rng_permute(7, epoch, size, i);

                CHECK(at < size && !seen[at]);
                seen[at] = 1;
            }
        }
    CHECK(rng_permute(7, 0, 1000000007, 5) != rng_permute(7, 1, 1000000007, 5));
    CHECK(rng_permute(7, 0, 1000000007, 5) != rng_permute(8, 0, 1000000007, 5));
}

TEST(lr__rises_then_falls_to_the_floor)
{
    struct lr_schedule s = {.peak = 1, .floor = 0.1, .warmup = 100, .horizon = 1100};

    CHECK_NEAR(lr_at(&s, 50), 0.5, 1e-12);
    CHECK_NEAR(lr_at(&s, 100), 1, 1e-12);
    CHECK_NEAR(lr_at(&s, 600), 0.55, 1e-12);
    CHECK_NEAR(lr_at(&s, 1100), 0.1, 1e-12);
    CHECK_NEAR(lr_at(&s, 99999), 0.1, 1e-12);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[600];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(lr__falls_in_a_line_or_stays)
{
    struct lr_schedule linear = {LR_LINEAR, 1.0, 0.2, 10, 110};
    struct lr_schedule constant = {LR_CONSTANT, 1.0, 0.2, 10, 110};

    CHECK_NEAR(lr_at(&linear, 5), 0.5, 1e-12);
    CHECK_NEAR(lr_at(&linear, 35), 0.8, 1e-12);
    CHECK_NEAR(lr_at(&linear, 110), 0.2, 1e-12);
    CHECK_NEAR(lr_at(&constant, 5), 0.5, 1e-12);
    CHECK_NEAR(lr_at(&constant, 200), 1.0, 1e-12);
}

TEST(data__samples_cross_files_and_epochs_hold_each_once)
{
    char glob[600], *globs[1] = {glob};
    struct data data = {0};
    struct dt_err err = {0};
    int32_t ids[7 * 4], targets[7 * 4];
    int32_t *const room[2] = {ids, targets};
    int seen[7] = {0};
    const char *dir = temporary_dir();

    put(dir, "b.txt", "defghijklm");
    put(dir, "a.txt", "abc");
    put(dir, "c.txt", "");
    put(dir, "d.txt", "nopqrstuvwxyzABC");
    snprintf(glob, sizeof(glob), "%s/*.txt", dir);
    CHECK_INT(data_open_text(&data, globs, 1, 4, &err), DT_OK);
    CHECK_INT(data.size, 29);
    CHECK_INT(data.samples, 7);
    CHECK_INT(data_read(&data, 7, 7, room, &err), DT_OK); /* the second epoch */
    for (int i = 0; i < 7; i++) {
        const char *all = "abcdefghijklmnopqrstuvwxyzABC";
        int at = (int)(strchr(all, ids[4 * i]) - all);

        CHECK_INT(at % 4, 0);
        seen[at / 4]++;
        for (int t = 0; t < 4; t++)
            CHECK(ids[4 * i + t] == all[at + t] && targets[4 * i + t] == all[at + t + 1]);
    }
    for (int i = 0; i < 7; i++)
        CHECK_INT(seen[i], 1);
    data_close(&data);
}

TEST(data__fingerprint_changes_with_the_bytes)
{
    char path[600], *globs[1] = {path}, first[65];
    const char *dir = temporary_dir();
    struct data data = {0};
    struct dt_err err = {0};

    snprintf(path, sizeof(path), "%s/x", dir);
    put(dir, "x", "some text to learn from");
    CHECK_INT(data_open_text(&data, globs, 1, 4, &err), DT_OK);
    memcpy(first, data.fingerprint, 65);
    data_close(&data);
    put(dir, "x", "some text to learn frim");
    CHECK_INT(data_open_text(&data, globs, 1, 4, &err), DT_OK);
    CHECK(strcmp(first, data.fingerprint) != 0);
    data_close(&data);
}

TEST(data__names_what_is_missing_unreadable_or_too_small)
{
    char path[600], *globs[1] = {path};
    const char *dir = temporary_dir();
    struct config config = tiny_config(DT_ARCH_LLAMA, 2, 12);
    struct data data = {0};
    struct dt_err err = {0};

    snprintf(path, sizeof(path), "%s/absent-*.txt", dir);
    CHECK_INT(data_open_text(&data, globs, 1, 4, &err), DT_NOT_FOUND);
    CHECK(strstr(err.text, "absent-") != NULL);
    put(dir, "small", "too small");
    snprintf(path, sizeof(path), "%s/small", dir);
    CHECK_INT(data_open_text(&data, globs, 1, 10, &err), DT_OK);
    CHECK_INT(train_check_data(&config, &data, &err), DT_INVALID);
    CHECK(strstr(err.text, "smaller than a batch") != NULL);
    data_close(&data);
    snprintf(path, sizeof(path), "%s", dir); /* a directory */
    CHECK_INT(data_open_text(&data, globs, 1, 10, &err), DT_IO);
    if (geteuid() != 0) { /* root reads everything */
        snprintf(path, sizeof(path), "%s/small", dir);
        chmod(path, 0);
        CHECK_INT(data_open_text(&data, globs, 1, 10, &err), DT_IO);
        CHECK(strstr(err.text, "small") != NULL);
    }
}

/* 16-bit tokens first, first + 1, ... */
static void put_tokens(const char *path, int first, int count)
{
    FILE *file = fopen(path, "w");

    for (int i = first; i < first + count; i++) {
        unsigned char token[2] = {(unsigned char)(i & 255), (unsigned char)(i >> 8)};

        CHECK(fwrite(token, 1, 2, file) == 2);
    }
    fclose(file);
}

TEST(data__weights_are_shares_of_the_samples_and_each_file_goes_round)
{
    char small[300], big[300], *paths[2] = {small, big}, plain[65];
    const int64_t seq_vocab[2] = {4, 2000};
    const double weights[2] = {1, 3}, none[2] = {0, 0}, only[2] = {0, 1};
    const char *dir = temporary_dir();
    struct data data = {0};
    struct dt_err err = {0};
    int32_t ids[4 * 200], targets[4 * 200];
    int32_t *const room[2] = {ids, targets};
    int from_small = 0, seen[10] = {0};

    snprintf(small, sizeof(small), "%s/small", dir);
    snprintf(big, sizeof(big), "%s/big", dir);
    put_tokens(small, 0, 10 * 4 + 1);
    put_tokens(big, 1000, 190 * 4 + 1);
    CHECK_INT(data_open_shards(&data, paths, 2, seq_vocab, &err), DT_OK);
    memcpy(plain, data.fingerprint, sizeof(plain));
    CHECK_INT(data_weigh(&data, none, &err), DT_INVALID);
    CHECK_INT(data_weigh(&data, weights, &err), DT_OK);
    CHECK(strcmp(plain, data.fingerprint) != 0); /* another order is other data */
    CHECK_INT(data.samples, 200);
    for (int epoch = 0; epoch < 2; epoch++) {
        CHECK_INT(data_read(&data, 200 * epoch, 200, room, &err), DT_OK);
        for (int i = 0; i < 200; i++) {
            CHECK_INT(ids[4 * i] % 4, 0); /* inside a file, never across its end */
            CHECK_INT(targets[4 * i + 3], ids[4 * i] + 4);
            if (ids[4 * i] < 1000) {
                from_small++;
                seen[ids[4 * i] / 4]++;
            }
        }
    }
    CHECK_INT(from_small, 100); /* a quarter of 400, though it holds a twentieth */
    for (int i = 0; i < 10; i++)
        CHECK_INT(seen[i], 10);
    CHECK_INT(data_weigh(&data, only, &err), DT_OK);
    CHECK_INT(data.samples, 190);
    data_close(&data);
    put_tokens(small, 0, 4);
    CHECK_INT(data_open_shards(&data, paths, 2, seq_vocab, &err), DT_OK);
    CHECK_INT(data_weigh(&data, weights, &err), DT_INVALID);
    CHECK(strstr(err.text, "small") != NULL);
    data_close(&data);
}

TEST(data__reads_token_shards_and_refuses_foreign_tokens)
{
    char path[600], *paths[1] = {path};
    const char *dir = temporary_dir();
    const int64_t seq_vocab[2] = {2, 300};
    struct data data = {0};
    struct dt_err err = {0};
    int32_t ids[4], targets[4];
    int32_t *const room[2] = {ids, targets};
    FILE *file;

    snprintf(path, sizeof(path), "%s/shard.bin", dir);
    file = fopen(path, "w");
    CHECK(fwrite("\1\1\2\0\3\0\4\0\5\0", 1, 10, file) == 10);
    fclose(file);
    CHECK_INT(data_open_shards(&data, paths, 1, seq_vocab, &err), DT_OK);
    CHECK_INT(data.samples, 2);
    CHECK_INT(data_read(&data, 0, 2, room, &err), DT_OK);
    CHECK_INT(ids[0] + ids[1] + ids[2] + ids[3], 257 + 2 + 3 + 4);
    data.vocab = 200;
    CHECK_INT(data_read(&data, 0, 2, room, &err), DT_IO);
    CHECK(strstr(err.text, "257") != NULL);
    data_close(&data);
}
