/* Goodput of a long run: an event simulation of failures, checkpoints, spares and stragglers. */
#ifndef DT_PLAN_GOODPUT_H
#define DT_PLAN_GOODPUT_H

#include "dt/base/err.h"

/* A run. Seconds unless a name says otherwise; 0 turns a mechanism off. */
struct dt_goodput {
    double nodes;            /* that the run needs, 1 to 1e6 */
    double wall_s;           /* how long it may take */
    double mtbf_s;           /* between failures of the whole run */
    double interval_s;       /* between storage checkpoints; 0 = the exact optimum */
    double stall_s;          /* training stands still for a storage checkpoint */
    double write_s;          /* until it is durable, from its begin; at least stall_s */
    double detect_s;         /* from a failure to the decision */
    double restart_s;        /* from the decision to the first step, without reading */
    double load_s;           /* reading a storage checkpoint */
    double snapshot_s;       /* between memory snapshots; 0 = none */
    double snapshot_stall_s;
    double correlated_ratio; /* of failures: take several nodes, memory snapshots are lost */
    double spares;           /* nodes that stand by */
    double repair_s;         /* until a failed node stands by again; 0 = at once */
    double lemon_ratio;      /* of nodes: */
    double lemon_factor;     /* fail so many times as often, until their second failure */
    double straggler_per_day; /* of the whole run */
    double straggler_slow;   /* extra time of a step: 0.2 = 20 % slower */
    double straggler_s;      /* until it is found and replaced */
    int runs;                /* 1 to 100,000 */
    uint64_t seed;
};

/* Times are means over the runs and add up to wall_s. */
struct dt_goodput_answer {
    double interval_s;       /* the one used */
    double useful_mean, useful_p5, useful_p95; /* shares of wall_s */
    double useful_s, lost_s, blocked_s, restart_s, queue_s;
    double failures;         /* mean number */
    double closed_form;      /* dt_useful_exact; of storage checkpoints alone */
    double conservation;     /* largest |sum - wall| / wall over the runs */
};

/* DT_INVALID names the value that cannot be and the nearest that can. */
DT_MUST_USE enum dt_code dt_goodput_check(const struct dt_goodput *run, struct dt_err *err);
/* Simulate a checked run; the same seed gives the same answer. O(runs x (failures + checkpoints)),
 * about 2 us an event. */
void dt_goodput_simulate(const struct dt_goodput *run, struct dt_goodput_answer *answer);

#endif
