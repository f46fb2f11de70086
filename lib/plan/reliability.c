/* Failures and checkpoints in closed form: intervals, useful share, spares. */
#include "dt/plan/reliability.h"

#include <math.h>
#include <string.h>

#define DAY_S 86400.0
#define QUANTILE_STEPS_MAX 10000000

const struct dt_failure_preset dt_failure_presets[] = {
    {"llama3", 3.79, "arXiv 2407.21783: 419 unexpected interruptions, 54 days, 16,384 H100"},
    {"rsc1", 6.5, "arXiv 2410.21680: RSC-1, 16,000 A100"},
    {"rsc2", 2.34, "arXiv 2410.21680: RSC-2, 8,000 A100"},
    {"opt175b", 14.8, "OPT-175B logbook: 124 nodes of A100"},
    {"ant", 21.6, "DLRover, Ant Group's clusters"},
};
const size_t dt_failure_presets_count = DT_COUNT(dt_failure_presets);

/* Counts, not the printed percentages: those contradict them. */
const struct dt_failure_cause dt_failure_causes[] = {
    {"GPU", 148}, {"GPU memory", 72}, {"software", 54}, {"network", 35}, {"maintenance", 32},
    {"GPU SRAM", 19}, {"GPU processor", 17}, {"NIC", 7}, {"NCCL time-out", 7},
    {"silent corruption", 6}, {"GPU thermal", 6}, {"SSD", 3}, {"power supply", 3},
    {"chassis", 2}, {"IO board", 2}, {"dependency", 2}, {"CPU", 2}, {"memory", 2},
};
const size_t dt_failure_causes_count = DT_COUNT(dt_failure_causes);

const struct dt_failure_preset *dt_failure_preset(const char *name)
{
    for (size_t i = 0; i < dt_failure_presets_count; i++)
        if (strcmp(dt_failure_presets[i].name, name) == 0)
            return &dt_failure_presets[i];
    return NULL;
}

double dt_interval_young(double stall_s, double mtbf_s)
{
    return sqrt(2 * stall_s * mtbf_s);
}

double dt_interval_daly(double stall_s, double mtbf_s)
{
    double x = stall_s / (2 * mtbf_s);

    if (stall_s >= 2 * mtbf_s)
        return mtbf_s;
    return sqrt(2 * stall_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - stall_s;
}

double dt_interval_exact(double stall_s, double mtbf_s)
{
    double low = 0, high = 1; /* tau / M: the left side falls from exp(delta/M) to 0 */

    while (high - low > 1e-12) {
        double x = (low + high) / 2;

        if (x + stall_s / mtbf_s + log1p(-x) > 0)
            low = x;
        else
            high = x;
    }
    return mtbf_s * (low + high) / 2;
}

double dt_useful_first_order(const struct dt_interval *run)
{
    return 1 - run->stall_s / run->interval_s - run->interval_s / (2 * run->mtbf_s) -
           run->restart_s / run->mtbf_s;
}

double dt_useful_exact(const struct dt_interval *run)
{
    double m = run->mtbf_s;

    if (isinf(m))
        return run->interval_s / (run->interval_s + run->stall_s);
    return run->interval_s /
           (m * exp(run->restart_s / m) * expm1((run->interval_s + run->stall_s) / m));
}

double dt_useful_ettr(double nodes, double per_node_day, double start_s, double interval_s)
{
    return 1 - nodes * per_node_day / DAY_S * (start_s + interval_s / 2);
}

double dt_mtbf_s(double nodes, double per_node_day)
{
    return nodes * per_node_day > 0 ? DAY_S / (nodes * per_node_day) : INFINITY;
}

int dt_binomial_quantile(double trials, double p, double quantile)
{
    double term = exp(trials * log1p(-p)), sum = term;
    int k = 0;

    if (p >= 1)
        return (int)trials;
    while (sum < quantile && k < trials && k < QUANTILE_STEPS_MAX) {
        term *= (trials - k) / (k + 1.0) * (p / (1 - p));
        k++;
        sum += term;
    }
    return k;
}

int dt_poisson_quantile(double mean, double quantile)
{
    double log_term = -mean, sum = exp(log_term);
    int k = 0;

    while (sum < quantile && k < QUANTILE_STEPS_MAX) {
        k++;
        log_term += log(mean / k);
        sum += exp(log_term);
        if (k > mean && exp(log_term) < 1e-18)
            break; /* what is left cannot matter */
    }
    return k;
}

double dt_pairs_survive(int machines, int losses)
{
    double chance = 1;

    if (losses > machines / 2)
        return 0;
    /* each further machine must miss the partners of those lost before */
    for (int i = 0; i < losses; i++)
        chance *= (double)(machines - 2 * i) / (machines - i);
    return chance;
}
