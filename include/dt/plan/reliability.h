/* Failures and checkpoints in closed form: intervals, useful share, spares. */
#ifndef DT_PLAN_RELIABILITY_H
#define DT_PLAN_RELIABILITY_H

#include "dt/base/base.h"

/* A run between failures. Seconds throughout; M is the mean time between failures of the whole run,
 * failures are independent (exponential). */
struct dt_interval {
    double interval_s; /* tau: work between two checkpoints */
    double stall_s;    /* delta: training stands still for a checkpoint */
    double restart_s;  /* R: detection, start and reading the checkpoint */
    double mtbf_s;     /* M */
};

/* sqrt(2 delta M): Young, CACM 17 (1974) 530. */
double dt_interval_young(double stall_s, double mtbf_s);
/* Daly's higher-order estimate, FGCS 22 (2006) 303, eq. 37: sqrt(2 delta M) (1 + sqrt(delta/2M)/3 +
 * delta/18M) - delta for delta < 2M, else M. */
double dt_interval_daly(double stall_s, double mtbf_s);
/* The interval that makes dt_useful_exact greatest: exp((tau+delta)/M) (1 - tau/M) = 1, solved to
 * 1e-12 by bisection (tau = M (1 + W(-exp(-1 - delta/M)))). */
double dt_interval_exact(double stall_s, double mtbf_s);

/* 1 - delta/tau - tau/2M - R/M; negative when that is meaningless. */
double dt_useful_first_order(const struct dt_interval *run);
/* tau / (M exp(R/M) (exp((tau+delta)/M) - 1)): Daly's complete form; failures also strike during
 * checkpoints and restarts. */
double dt_useful_exact(const struct dt_interval *run);
/* Meta's form 1 - N r (u0 + D/2): N nodes, r failures per node and day, u0 the start, D the
 * interval of checkpoints in seconds (arXiv 2410.21680). */
double dt_useful_ettr(double nodes, double per_node_day, double start_s, double interval_s);

/* Seconds between failures of so many nodes at r failures per node and day; infinite for r = 0. */
double dt_mtbf_s(double nodes, double per_node_day);

/* The least k with P(X <= k) >= quantile for X binomial (trials, p); 0 < quantile < 1. O(k). */
int dt_binomial_quantile(double trials, double p, double quantile);
/* The same for X Poisson of this mean: nodes out when failures come at a rate and repairs take a
 * time, mean = rate x repair (Palm). */
int dt_poisson_quantile(double mean, double quantile);

/* Memory snapshots in pairs over an even number of machines: the chance that so many machines lost
 * at once are in no pair together, C(n/2,k) 2^k / C(n,k) (GEMINI, SOSP 23). */
double dt_pairs_survive(int machines, int losses);

/* A published failure rate. */
struct dt_failure_preset {
    const char *name;
    double per_1000_node_days; /* nodes of 8 GPUs */
    const char *source;
};

extern const struct dt_failure_preset dt_failure_presets[];
extern const size_t dt_failure_presets_count;
/* By name, or NULL. */
const struct dt_failure_preset *dt_failure_preset(const char *name);

/* Causes of unexpected interruptions by count (Llama 3, 54 days, 16,384 GPUs: 419). */
struct dt_failure_cause {
    const char *name;
    int count;
};

extern const struct dt_failure_cause dt_failure_causes[];
extern const size_t dt_failure_causes_count;

#endif
