/* The life of a job as a table: every pair of state and happening. */
#include "dt/core/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

TEST(job__every_state_has_a_word_of_its_own)
{
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++) {
        const char *name = dt_job_state_name((enum dt_job_state)state);

        CHECK(name && name[0]);
        CHECK_INT(dt_job_state_from_name(name), state);
    }
    CHECK_INT(dt_job_state_from_name("nosuch"), DT_JOB_STATE_COUNT);
}

TEST(job__nothing_leads_out_of_a_terminal_state)
{
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++) {
        int edges = 0;

        for (int on = 0; on < DT_JOB_ON_COUNT; on++)
            edges += dt_job_next((enum dt_job_state)state, (enum dt_job_on)on) !=
                     DT_JOB_STATE_COUNT;
        CHECK_INT(edges == 0, dt_job_is_terminal((enum dt_job_state)state));
    }
}

/* States reachable from `from`, as bits. */
static unsigned reachable(enum dt_job_state from)
{
    unsigned seen = 1u << from, before = 0;

    while (seen != before) {
        before = seen;
        for (int state = 0; state < DT_JOB_STATE_COUNT; state++)
            for (int on = 0; on < DT_JOB_ON_COUNT && (before & 1u << state); on++) {
                enum dt_job_state next = dt_job_next((enum dt_job_state)state,
                                                     (enum dt_job_on)on);

                if (next != DT_JOB_STATE_COUNT)
                    seen |= 1u << next;
            }
    }
    return seen;
}

TEST(job__every_living_state_can_end)
{
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++) {
        unsigned seen = reachable((enum dt_job_state)state);

        CHECK(seen & (1u << DT_JOB_CANCELLED | 1u << DT_JOB_FAILED | 1u << DT_JOB_SUCCEEDED |
                      1u << DT_JOB_EXPIRED));
    }
}

TEST(job__running_is_only_reached_through_starting)
{
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++)
        for (int on = 0; on < DT_JOB_ON_COUNT; on++)
            if (dt_job_next((enum dt_job_state)state, (enum dt_job_on)on) == DT_JOB_RUNNING)
                CHECK_INT(state, DT_JOB_STARTING);
}

TEST(job__cancel_of_what_runs_waits_for_proof)
{
    CHECK_INT(dt_job_next(DT_JOB_PENDING, DT_ON_CANCEL), DT_JOB_CANCELLED);
    CHECK_INT(dt_job_next(DT_JOB_STARTING, DT_ON_CANCEL), DT_JOB_STOPPING);
    CHECK_INT(dt_job_next(DT_JOB_RUNNING, DT_ON_CANCEL), DT_JOB_STOPPING);
    CHECK_INT(dt_job_next(DT_JOB_RECOVERING, DT_ON_CANCEL), DT_JOB_STOPPING);
    CHECK_INT(dt_job_next(DT_JOB_STOPPING, DT_ON_STOPPED), DT_JOB_CANCELLED);
    CHECK_INT(dt_job_next(DT_JOB_STOPPING, DT_ON_CANCEL), DT_JOB_STATE_COUNT);
    CHECK_INT(dt_job_next(DT_JOB_SUCCEEDED, DT_ON_CANCEL), DT_JOB_STATE_COUNT);
}

TEST(job__ids_are_printed_and_read)
{
    char text[24];

    dt_job_id_format(42, text, sizeof(text));
    CHECK_TEXT(text, "j-000042");
    CHECK_INT(dt_job_id_parse("j-000042"), 42);
    dt_job_id_format(123456789, text, sizeof(text));
    CHECK_TEXT(text, "j-123456789");
    CHECK_INT(dt_job_id_parse(text), 123456789);
    CHECK_INT(dt_job_id_parse("j-"), 0);
    CHECK_INT(dt_job_id_parse("j-x"), 0);
    CHECK_INT(dt_job_id_parse("000042x"), 0);
    CHECK_INT(dt_job_id_parse(""), 0);
    CHECK_INT(dt_job_id_parse("j--5"), 0);
}

TEST(job__documentation_is_printed_from_the_table)
{
    char path[512], chunk[4096];
    struct dt_buf doc = {0}, page = {0};
    FILE *file;
    size_t n;

    dt_job_states_doc(&doc);
    snprintf(path, sizeof(path), "%s/docs/job-states.md", DT_SOURCE_DIR);
    if (getenv("DT_UPDATE_GOLDEN") && (file = fopen(path, "wb"))) {
        fputs(dt_buf_str(&doc), file);
        fclose(file);
    }
    file = fopen(path, "rb");
    if (CHECK(file != NULL)) {
        while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
            dt_buf_add(&page, chunk, n);
        fclose(file);
        CHECK_TEXT(dt_buf_str(&doc), dt_buf_str(&page));
    }
    dt_buf_release(&doc);
    dt_buf_release(&page);
}
