/* Whole runs: killed anywhere and resumed, damaged, moved, refused. */
#include "checkpoint.h"
#include "runs.h"

#include "dt/os/file.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check_killed(int ranks)
{
    struct place place;
    int status = 0, kills = 0;

    place_open(&place);
    place.ranks = ranks;
    place.config.steps = 30;
    place.config.lr.horizon = 30 * 4;
    CHECK_INT(run(&place, "calm"), 0);
    for (long i = 0; i < 10; i++) {
        status = run_for(&place, "hit", 30000 + 50000 * i);
        if (status == 0)
            break;
        CHECK_INT(status, -SIGKILL);
        kills++;
    }
    if (status)
        status = run(&place, "hit");
    CHECK_INT(status, 0);
    CHECK(kills > 0);
    check_same_losses(&place, "calm", "hit");
    place_close(&place);
}

TEST(resume__killed_anywhere_gives_the_same_losses_bit_for_bit)
{
    check_killed(1);
}

TEST(resume__killed_anywhere_with_three_ranks_too)
{
    check_killed(3);
}

TEST(resume__learns)
{
    struct place place;
    char *all;
    double first, last;

    place_open(&place);
    CHECK_INT(run(&place, "a"), 0);
    all = losses(&place, "a");
    first = strtod(strchr(all, ':') + 1, NULL);
    *strrchr(all, ' ') = 0;
    last = strtod(strrchr(all, ':') + 1, NULL);
    CHECK_NEAR(first, 5.545, 0.3);
    CHECK(last < first - 1);
    dt_free(all);
    place_close(&place);
}

/* The newest checkpoint directory of run a, its file or itself. */
static const char *inside(const struct place *place, const char *step, const char *file)
{
    static char path[1200];

    snprintf(path, sizeof(path), "%s/a/ckpt/%s/%s", place->dir, step, file);
    return path;
}

/* Train to step 12 in "a" and all 20 steps in "calm"; then harm "a" and go on. */
static void prepare(struct place *place)
{
    place_open(place);
    CHECK_INT(run(place, "calm"), 0);
    place->config.steps = 12;
    CHECK_INT(run(place, "a"), 0);
    place->config.steps = 20;
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    int byte;

    CHECK(file != NULL);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 4, file);
    fclose(file);
}

#define NEWEST "step-000000000012.g000001"
#define BEFORE "step-000000000008.g000001"
#define SHARD "shard-00000.safetensors"

/* Run sub has the calm run's losses from step first on, and none before. */
static void check_tail(const struct place *place, const char *sub, int first)
{
    char *calm = losses(place, "calm"), *tail = losses(place, sub), begin[16];
    const char *from;

    snprintf(begin, sizeof(begin), " %d:", first);
    from = strstr(calm, begin);
    CHECK(from != NULL);
    CHECK_TEXT(tail, from + 1);
    dt_free(calm);
    dt_free(tail);
}

TEST(resume__a_flipped_bit_falls_back_to_the_checkpoint_before)
{
    struct place place;

    prepare(&place);
    flip(inside(&place, NEWEST, SHARD), -1000);
    CHECK_INT(run(&place, "a"), 0);
    check_same_losses(&place, "calm", "a");
    place_close(&place);
}

TEST(resume__a_cut_shard_or_manifest_falls_back)
{
    struct place place;

    prepare(&place);
    CHECK_INT(truncate(inside(&place, NEWEST, SHARD), 5000), 0);
    CHECK_INT(truncate(inside(&place, BEFORE, "manifest.json"), 1000), 0);
    CHECK_INT(run(&place, "a"), 0);
    check_same_losses(&place, "calm", "a");
    place_close(&place);
}

TEST(resume__an_older_shard_under_the_right_name_falls_back)
{
    struct place place;
    char from[1200];

    prepare(&place);
    snprintf(from, sizeof(from), "%s", inside(&place, BEFORE, SHARD));
    CHECK_INT(rename(from, inside(&place, NEWEST, SHARD)), 0);
    CHECK_INT(run(&place, "a"), 0); /* 8 has lost its shard as well: from 4 */
    check_same_losses(&place, "calm", "a");
    place_close(&place);
}

TEST(resume__nothing_whole_is_an_error_and_never_a_fresh_start)
{
    const char *const steps[] = {NEWEST, BEFORE, "step-000000000004.g000001"};
    struct place place;

    prepare(&place);
    for (size_t i = 0; i < 3; i++)
        flip(inside(&place, steps[i], SHARD), 5000);
    CHECK_INT(run(&place, "a"), TRAIN_NO_CHECKPOINT);
    CHECK_INT(run(&place, "a"), TRAIN_NO_CHECKPOINT);
    place_close(&place);
}

TEST(resume__another_model_or_seed_is_refused)
{
    struct place place;

    prepare(&place);
    place.config.seed = 6;
    CHECK_INT(run(&place, "a"), TRAIN_NO_CHECKPOINT);
    place.config.seed = 5;
    place.config.model.ffn = 40;
    CHECK_INT(run(&place, "a"), TRAIN_NO_CHECKPOINT);
    place.config.model.ffn = 24;
    CHECK_INT(run(&place, "a"), 0);
    place_close(&place);
}

TEST(resume__another_number_of_ranks_goes_on_within_rounding)
{
    struct place place;
    char *calm, *moved;

    prepare(&place);
    place.ranks = 3;
    CHECK_INT(run(&place, "a"), 0);
    calm = losses(&place, "calm");
    moved = losses(&place, "a");
    *strrchr(calm, ' ') = 0;
    *strrchr(moved, ' ') = 0;
    CHECK_NEAR(strtod(strrchr(moved, ':') + 1, NULL), strtod(strrchr(calm, ':') + 1, NULL), 2e-3);
    dt_free(calm);
    dt_free(moved);
    place_close(&place);
}

TEST(resume__keeps_only_what_was_asked_for)
{
    struct place place;
    struct stat status;

    place_open(&place);
    place.config.keep_last = 1;
    place.config.keep_every = 8;
    CHECK_INT(run(&place, "a"), 0);
    CHECK(stat(inside(&place, "step-000000000020.g000001", "manifest.json"), &status) == 0);
    CHECK(stat(inside(&place, "step-000000000016.g000001", "manifest.json"), &status) == 0);
    CHECK(stat(inside(&place, "step-000000000008.g000001", "manifest.json"), &status) == 0);
    CHECK(stat(inside(&place, "step-000000000012.g000001", ""), &status) != 0);
    CHECK(stat(inside(&place, "step-000000000004.g000001", ""), &status) != 0);
    place_close(&place);
}

TEST(resume__never_begins_anew_beside_what_is_there)
{
    struct place place;
    char *all;

    prepare(&place);
    dt_free(place.config.resume);
    place.config.resume = dt_copy_text("never");
    CHECK_INT(run(&place, "a"), 0); /* the same job: a restart, it goes on */
    all = losses(&place, "a");
    CHECK(strstr(all, "20:") != NULL);
    dt_free(all);
    place_close(&place);
}

TEST(resume__goes_on_from_what_the_launcher_names)
{
    struct place place;
    char other[600], gone[700];

    prepare(&place); /* "a" ends at step 12 */
    snprintf(other, sizeof(other), "%s/a/ckpt", place.dir);
    place.resume_from = other; /* another directory: its newest */
    CHECK_INT(run(&place, "b"), 0);
    snprintf(gone, sizeof(gone), "%s", inside(&place, BEFORE, ""));
    place.resume_from = gone; /* one checkpoint */
    CHECK_INT(run(&place, "c"), 0);
    check_tail(&place, "b", 13);
    check_tail(&place, "c", 9);
    CHECK_INT(run(&place, "a"), 0); /* inside ours: the chain decides, from 12 */
    check_same_losses(&place, "calm", "a");
    snprintf(gone, sizeof(gone), "%s/d/ckpt/" NEWEST, place.dir);
    CHECK_INT(run(&place, "d"), TRAIN_NO_CHECKPOINT); /* reported once, but gone */
    place_close(&place);
}

TEST(resume__a_full_disk_does_not_stop_training)
{
    struct place place;
    struct rlimit limit = {60000, RLIM_INFINITY}; /* a file above it fails like a full disk */
    char *calm, *full;

    place_open(&place);
    CHECK_INT(run(&place, "calm"), 0);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_INT(run(&place, "a"), TRAIN_NO_CHECKPOINT); /* only the last save is an error */
    calm = losses(&place, "calm");
    full = losses(&place, "a");
    CHECK_TEXT(full, calm);
    dt_free(calm);
    dt_free(full);
    place_close(&place);
}

TEST(claims__the_same_generation_is_claimed_once_and_the_stale_commit_nothing)
{
    struct checkpoints old, young, again;
    const struct dt_step_at none = {0};
    const char *dir = temporary_dir();
    struct dt_err err = {0};

    CHECK_INT(checkpoints_open(&old, dir, "j", 1, &err), DT_OK);
    CHECK_INT(checkpoints_open(&again, dir, "j", 1, &err), DT_OK);
    CHECK_INT(checkpoints_claim(&old, &none, "", &err), DT_OK);
    CHECK_INT(checkpoints_claim(&again, &none, "", &err), DT_CONFLICT);
    CHECK_INT(checkpoints_check(&old, &err), DT_OK);
    CHECK_INT(checkpoints_open(&young, dir, "j", 4, &err), DT_OK);
    CHECK_INT(checkpoints_claim(&young, &none, "", &err), DT_OK);
    CHECK_INT(checkpoints_check(&old, &err), DT_STALE);
    checkpoints_release(&again);
    CHECK_INT(checkpoints_open(&again, dir, "j", 4, &err), DT_CONFLICT);
    checkpoints_release(&again);
    CHECK_INT(checkpoints_open(&again, dir, "j", 2, &err), DT_STALE);
    checkpoints_release(&again);
    CHECK_INT(checkpoints_open(&again, dir, "other", 1, &err), DT_OK);
    CHECK_INT(again.gen, 5); /* another job's first generation comes after all claims */
    checkpoints_release(&again);
    checkpoints_release(&old);
    checkpoints_release(&young);
}

TEST(claims__a_damaged_claim_is_named)
{
    const char *dir = temporary_dir();
    struct checkpoints all;
    struct dt_err err = {0};
    char path[600];

    snprintf(path, sizeof(path), "%s/claims", dir);
    CHECK_INT(dt_dir_make(path, 0777, &err), DT_OK);
    snprintf(path, sizeof(path), "%s/claims/1.json", dir);
    CHECK_INT(dt_file_replace(path, "{\"gen\":", 7, 0666, &err), DT_OK);
    CHECK_INT(checkpoints_open(&all, dir, "j", 0, &err), DT_CORRUPT);
    CHECK(strstr(err.text, "claims/1.json") != NULL);
    checkpoints_release(&all);
}
