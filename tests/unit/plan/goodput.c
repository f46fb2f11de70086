/* The simulator against the closed form, and what must hold whatever fails. */
#include "dt/plan/goodput.h"

#include <math.h>
#include <string.h>

#include "test.h"

static struct dt_goodput three_weeks(void)
{
    return (struct dt_goodput){.nodes = 256, .wall_s = 21 * 86400, .mtbf_s = 86400,
                               .stall_s = 9.88, .write_s = 9.88, .detect_s = 600,
                               .restart_s = 300, .load_s = 9.88, .runs = 400, .seed = 1};
}

static struct dt_goodput_answer answer_of(const struct dt_goodput *run)
{
    struct dt_goodput_answer answer;

    CHECK_INT(dt_goodput_check(run, NULL), DT_OK);
    dt_goodput_simulate(run, &answer);
    CHECK(answer.conservation < 1e-9);
    CHECK_NEAR(answer.useful_s + answer.lost_s + answer.blocked_s + answer.restart_s +
                   answer.queue_s, run->wall_s, run->wall_s * 1e-9);
    CHECK(answer.useful_p5 <= answer.useful_mean + 1e-12);
    CHECK(answer.useful_mean <= answer.useful_p95 + 1e-12);
    return answer;
}

TEST(goodput__agrees_with_the_closed_form)
{
    static const double rows[][3] = {{86400, 9.88, 0}, {86400, 98.78, 0}, {86400, 9.88, 14400},
                                     {21600, 30, 0}, {7200, 10, 0}};

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct dt_goodput run = three_weeks();
        struct dt_goodput_answer answer;

        run.mtbf_s = rows[i][0];
        run.stall_s = run.write_s = run.load_s = rows[i][1];
        run.interval_s = rows[i][2];
        run.wall_s = 210 * 86400.0; /* the form is of a run without end */
        run.runs = 100;
        answer = answer_of(&run);
        CHECK_NEAR(answer.useful_mean, answer.closed_form, 0.003);
        CHECK_NEAR(answer.failures, run.wall_s / run.mtbf_s, 0.02 * run.wall_s / run.mtbf_s);
    }
}

TEST(goodput__is_the_same_for_a_seed_and_differs_by_seed)
{
    struct dt_goodput run = three_weeks();
    struct dt_goodput_answer first = answer_of(&run), again = answer_of(&run), other;

    CHECK(memcmp(&first, &again, sizeof(first)) == 0);
    run.seed = 2;
    other = answer_of(&run);
    CHECK(first.useful_mean != other.useful_mean);
    CHECK_NEAR(first.useful_mean, other.useful_mean, 0.003);
}

TEST(goodput__each_mechanism_moves_it_the_right_way)
{
    struct dt_goodput run = three_weeks(), with = run;
    double plain = answer_of(&run).useful_mean;

    with.snapshot_s = 60;
    with.snapshot_stall_s = 0.2;
    CHECK(answer_of(&with).useful_mean > plain);
    with.correlated_ratio = 1; /* memory never helps */
    CHECK(answer_of(&with).useful_mean < plain);
    with = run;
    with.repair_s = 3 * 86400;
    CHECK(answer_of(&with).queue_s > 86400);
    with.spares = 30;
    CHECK_NEAR(answer_of(&with).queue_s, 0, 1);
    with = run;
    with.lemon_ratio = 0.02;
    with.lemon_factor = 50;
    CHECK(answer_of(&with).failures < answer_of(&run).failures); /* lemons leave */
    with = run;
    with.straggler_per_day = 1;
    with.straggler_slow = 0.2;
    with.straggler_s = 3600;
    CHECK_NEAR(plain - answer_of(&with).useful_mean, 0.2 / 1.2 / 24, 0.001);
    with = run;
    with.mtbf_s = INFINITY;
    CHECK(answer_of(&with).useful_mean > 0.9999);
}

TEST(goodput__refuses_what_cannot_be)
{
    struct dt_goodput run = three_weeks();
    struct dt_err err = {0};

    run.nodes = 0;
    CHECK_INT(dt_goodput_check(&run, &err), DT_INVALID);
    CHECK(strstr(err.text, "nodes") && strstr(err.hint, "1"));
    run = three_weeks();
    run.mtbf_s = NAN;
    CHECK_INT(dt_goodput_check(&run, NULL), DT_INVALID);
    run = three_weeks();
    run.restart_s = -1;
    CHECK_INT(dt_goodput_check(&run, NULL), DT_INVALID);
    run = three_weeks();
    run.interval_s = 1e-3;
    CHECK_INT(dt_goodput_check(&run, &err), DT_INVALID); /* events without end */
    run = three_weeks();
    run.runs = 0;
    CHECK_INT(dt_goodput_check(&run, NULL), DT_INVALID);
}
