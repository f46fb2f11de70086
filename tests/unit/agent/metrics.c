/* Tests of progress lines. */
#include <string.h>

#include "step/step.h"
#include "test.h"

static bool read_line(struct dt_progress *progress, const char *line)
{
    return metrics_line(progress, line, strlen(line));
}

TEST(metrics__reads_a_step_with_all_its_values)
{
    struct dt_progress progress = {.step = -1};

    CHECK(read_line(&progress, "step 42 loss 2.31e-1 tokens 4096 time_ms 12.5\n"));
    CHECK_INT(progress.step, 42);
    CHECK_TEXT(progress.loss, "2.31e-1");
    CHECK_INT(progress.tokens, 4096);
    CHECK_INT(progress.step_us, 12500);
}

TEST(metrics__keeps_what_a_line_does_not_tell)
{
    struct dt_progress progress = {.step = 3, .tokens = 7, .loss = "1.5"};

    CHECK(read_line(&progress, "step 4 colour red tokens 9"));
    CHECK_INT(progress.step, 4);
    CHECK_INT(progress.tokens, 9);
    CHECK_TEXT(progress.loss, "1.5");
    CHECK(read_line(&progress, "step 5 loss nan"));
    CHECK_TEXT(progress.loss, "nan");
}

TEST(metrics__reads_phases_and_checkpoints)
{
    struct dt_progress progress = {.checkpoint_step = -1};

    CHECK(read_line(&progress, "phase save"));
    CHECK_TEXT(progress.phase, "save");
    CHECK(read_line(&progress, "checkpoint 100 /ckpt/step-100"));
    CHECK_INT(progress.checkpoint_step, 100);
    CHECK_TEXT(progress.checkpoint_path, "/ckpt/step-100");
    CHECK(read_line(&progress, "save-done 100"));
}

TEST(metrics__refuses_what_it_does_not_know)
{
    struct dt_progress progress = {.step = 5};

    CHECK(!read_line(&progress, ""));
    CHECK(!read_line(&progress, "stepp 6"));
    CHECK(!read_line(&progress, "step"));
    CHECK(!read_line(&progress, "step -6"));
    CHECK(!read_line(&progress, "step 99999999999999999999"));
    CHECK(!read_line(&progress, "checkpoint 7"));
    CHECK_INT(progress.step, 5);
}

TEST(metrics__is_not_moved_by_absurd_times)
{
    struct dt_progress progress = {.step_us = 1000};

    CHECK(read_line(&progress, "step 1 time_ms nan"));
    CHECK(read_line(&progress, "step 2 time_ms 1e300"));
    CHECK(read_line(&progress, "step 3 time_ms -5"));
    CHECK_INT(progress.step_us, 1000);
}
