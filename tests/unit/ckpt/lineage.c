/* Lineage: only what lies on the chain of claims counts. */
#include "dt/ckpt/lineage.h"

#include "dt/ckpt/status.h"

#include "test.h"

#include <string.h>

static struct dt_claim claim(uint64_t gen, uint64_t from_gen, int64_t from_step)
{
    return (struct dt_claim){.job = "j", .gen = gen, .job_gen = gen, .from_gen = from_gen,
                             .from_step = from_step};
}

TEST(lineage__counts_the_newest_generation_and_what_it_came_from)
{
    struct dt_claim claims[] = {claim(1, 0, 0), claim(2, 1, 20)};
    struct dt_step_at found[] = {{10, 1}, {20, 1}, {30, 2}, {40, 2}};

    CHECK_INT(dt_lineage_chain(claims, 2, found, 4), 4);
    CHECK(found[0].step == 40 && found[3].step == 10);
}

TEST(lineage__ignores_the_late_commit_of_a_stale_generation)
{
    struct dt_claim claims[] = {claim(1, 0, 0), claim(2, 1, 20)};
    struct dt_step_at found[] = {{30, 1}, {10, 1}, {20, 1}, {1000, 1}};

    CHECK_INT(dt_lineage_chain(claims, 2, found, 4), 2);
    CHECK(found[0].step == 20 && found[0].gen == 1 && found[1].step == 10);
}

TEST(lineage__skips_a_generation_nobody_went_on_from)
{
    struct dt_claim claims[] = {claim(3, 1, 20), claim(2, 1, 20), claim(1, 0, 0)};
    struct dt_step_at found[] = {{20, 1}, {30, 2}, {25, 3}};

    CHECK_INT(dt_lineage_chain(claims, 3, found, 3), 2);
    CHECK(found[0].gen == 3 && found[1].gen == 1);
}

TEST(lineage__a_fresh_start_forgets_what_was_before)
{
    struct dt_claim claims[] = {claim(1, 0, 0), claim(2, 0, 0)};
    struct dt_step_at found[] = {{20, 1}, {5, 2}};

    CHECK_INT(dt_lineage_chain(claims, 2, found, 2), 1);
    CHECK_INT(found[0].gen, 2);
}

TEST(lineage__counts_nothing_without_claims)
{
    struct dt_step_at found[] = {{20, 1}};

    CHECK_INT(dt_lineage_chain(NULL, 0, found, 1), 0);
}

TEST(lineage__ends_on_claims_that_point_in_a_circle)
{
    struct dt_claim claims[] = {claim(1, 2, 5), claim(2, 1, 5)};
    struct dt_step_at found[] = {{5, 1}, {5, 2}};

    CHECK(dt_lineage_chain(claims, 2, found, 2) <= 2);
}

TEST(claim__reads_what_it_wrote_and_refuses_the_rest)
{
    struct dt_claim mine = claim(7, 5, 120), again = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    dt_claim_write(&buf, &mine);
    CHECK_INT(dt_claim_read(buf.data, buf.size, &again, &err), DT_OK);
    CHECK(again.gen == 7 && again.from_gen == 5 && again.from_step == 120);
    CHECK_INT(dt_claim_read(buf.data, buf.size / 2, &again, &err), DT_CORRUPT);
    CHECK_INT(dt_claim_read("{}", 2, &again, &err), DT_CORRUPT);
    dt_buf_release(&buf);
    mine.from_gen = 7;
    dt_claim_write(&buf, &mine);
    CHECK_INT(dt_claim_read(buf.data, buf.size, &again, &err), DT_CORRUPT);
    dt_buf_release(&buf);
}

TEST(status__reads_what_was_written_and_nothing_before)
{
    uint64_t page[DT_STATUS_PAGE_BYTES / 8] = {0};
    struct dt_status mine = {.gen = 3, .step = 42, .rank = 1, .phase = DT_PHASE_SAVE,
                             .step_ns = 12345}, again = {0};

    CHECK(!dt_status_read(page, &again));
    dt_status_write(page, &mine);
    CHECK(dt_status_read(page, &again));
    CHECK(memcmp(&mine, &again, sizeof(mine)) == 0);
    page[1] |= 1; /* a writer was killed inside */
    CHECK(!dt_status_read(page, &again));
    mine.step = 43;
    dt_status_write(page, &mine);
    CHECK(dt_status_read(page, &again));
    CHECK_INT(again.step, 43);
    CHECK_TEXT(dt_phase_name(DT_PHASE_SAVE), "save");
}
