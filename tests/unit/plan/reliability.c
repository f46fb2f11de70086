/* Published values of intervals, spares and copies. */
#include "dt/plan/reliability.h"

#include <math.h>

#include "test.h"

TEST(interval__daly_has_the_published_minutes)
{
    CHECK_NEAR(dt_interval_daly(300, 24 * 3600) / 60, 117, 0.5);
    CHECK_NEAR(dt_interval_daly(300, 6 * 3600) / 60, 57, 0.5);
    CHECK_NEAR(dt_interval_daly(300, 15 * 60) / 60, 9.1, 0.05);
    CHECK_NEAR(dt_interval_daly(2000, 900), 900, 0); /* delta >= 2M */
}

TEST(interval__exact_is_the_best_of_its_neighbours)
{
    static const double rows[][2] = {
        {98.78, 86400}, {9.878, 86400}, {2, 86400}, {300, 900}, {1, 1e7}};

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        double best = dt_interval_exact(rows[i][0], rows[i][1]);
        struct dt_interval run = {best, rows[i][0], 900, rows[i][1]};
        struct dt_interval less = run, more = run;

        less.interval_s *= 0.99;
        more.interval_s *= 1.01;
        CHECK(dt_useful_exact(&run) > dt_useful_exact(&less));
        CHECK(dt_useful_exact(&run) > dt_useful_exact(&more));
        CHECK_NEAR(exp((best + rows[i][0]) / rows[i][1]) * (1 - best / rows[i][1]), 1, 1e-9);
    }
}

/* golden_d_checkpoint_70B_2048.csv: 70.55e9 parameters, M one day, R 900 s and reading as long as
 * writing. stall, write, interval, first order %, exact %. */
TEST(useful__has_the_golden_shares_of_70b_on_2048)
{
    static const double rows[][5] = {
        {98.78, 98.78, 0, 94.062, 94.198},      {9.88, 9.88, 0, 97.435, 97.464},
        {3.62, 3.62, 0, 98.039, 98.057},        {2, 9.88, 0, 98.266, 98.281},
        {84.66, 84.66, 0, 94.433, 94.554},      {8.47, 8.47, 0, 97.549, 97.575},
        {3.10, 3.10, 0, 98.107, 98.124},        {2, 8.47, 0, 98.268, 98.282},
        {9.88, 9.88, 1800, 97.356, 97.385},     {9.88, 9.88, 3600, 96.589, 96.635},
        {9.88, 9.88, 14400, 90.545, 90.868},    {9.88, 9.88, 86400, 48.935, 57.578},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        double young = dt_interval_young(rows[i][0], 86400);
        struct dt_interval run = {rows[i][2] > 0 ? rows[i][2] : young, rows[i][0],
                                  900 + rows[i][1], 86400};

        CHECK_NEAR(100 * dt_useful_first_order(&run), rows[i][3], 0.002);
        CHECK_NEAR(100 * dt_useful_exact(&run), rows[i][4], 0.002);
    }
    CHECK_NEAR(dt_interval_young(9.878, 86400), 1306.5, 0.1);
}

TEST(failures__scale_with_nodes)
{
    CHECK_NEAR(dt_mtbf_s(16384 / 8.0, 6.5e-3) / 3600, 1.80, 0.005);
    CHECK_NEAR(dt_mtbf_s(131072 / 8.0, 6.5e-3) / 3600, 0.225, 0.0005);
    CHECK(isinf(dt_mtbf_s(8, 0)));
    CHECK_NEAR(419.0 / (54 * 16384 / 8.0) * 1000, dt_failure_preset("llama3")->per_1000_node_days,
               0.01);
    CHECK(dt_failure_preset("none") == NULL);
    CHECK_NEAR(dt_useful_ettr(2000, 6.5e-3, 300, 3600), 0.684, 0.0005);
    CHECK_NEAR(dt_useful_ettr(2000, 6.5e-3, 300, 300), 0.932, 0.0005);
}

TEST(failures__causes_are_counts)
{
    int sum = 0;

    for (size_t i = 0; i < dt_failure_causes_count; i++)
        sum += dt_failure_causes[i].count;
    CHECK_INT(sum, 419);
}

TEST(spares__have_the_published_quantiles)
{
    CHECK_INT(dt_binomial_quantile(128, 1.2e-3, 0.99), 2);
    CHECK_INT(dt_binomial_quantile(256, 1.2e-3, 0.99), 2);
    CHECK_INT(dt_binomial_quantile(512, 1.2e-3, 0.99), 3);
    CHECK_INT(dt_binomial_quantile(1024, 1.2e-3, 0.99), 4);
    CHECK_INT(dt_binomial_quantile(10, 0, 0.99), 0);
    CHECK_INT(dt_binomial_quantile(10, 1, 0.99), 10);
    CHECK_INT(dt_poisson_quantile(3, 0.99), 8); /* one failure a day, three days of repair */
    CHECK_INT(dt_poisson_quantile(1, 0.99), 4);
    CHECK_INT(dt_poisson_quantile(0, 0.99), 0);
    CHECK(dt_poisson_quantile(1e4, 0.99) > 10200 && dt_poisson_quantile(1e4, 0.99) < 10260);
}

TEST(copies__in_pairs_survive_as_published)
{
    CHECK_NEAR(dt_pairs_survive(16, 1), 1, 0);
    CHECK_NEAR(dt_pairs_survive(16, 2), 0.9333, 0.00005);
    CHECK_NEAR(dt_pairs_survive(16, 3), 0.80, 1e-12);
    CHECK_NEAR(dt_pairs_survive(16, 9), 0, 0);
}
