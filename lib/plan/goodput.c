/* Goodput of a long run: an event simulation of failures, checkpoints, spares and stragglers. */
#include "dt/plan/goodput.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dt/plan/reliability.h"

#define NODES_MAX 1e6
#define RUNS_MAX 100000
#define EVENTS_MAX 2e7      /* of all runs together */
#define CORRELATED_NODES 4  /* a switch, a power shelf */
#define INTERVAL_LEAST_S 60 /* when a checkpoint costs nothing */
#define REPAIRS_MAX 4096

/* One run of the simulation. Work is training time at full speed. */
struct sim {
    const struct dt_goodput *run;
    double interval_s;
    uint64_t random;
    double now, fails_at, slow_from, slow_until;
    double work;            /* done since the begin, less what was lost */
    double durable, snapshot; /* work that a failure cannot take */
    double pending, pending_at; /* a storage checkpoint being written, and when it is durable */
    double next_store, next_snapshot; /* work at which they are due */
    double lost, blocked, restart, queue;
    double failures;
    double lemons, lemons_seen; /* bad nodes, and those of them that failed once */
    double spares;
    double back[REPAIRS_MAX]; /* when nodes in repair stand by again: a ring, in order */
    size_t back_first, back_count;
};

/* splitmix64 (Steele, Lea, Flood 2014): a stream for each seed and run. */
static uint64_t draw(struct sim *sim)
{
    uint64_t x = sim->random += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In (0, 1]. */
static double draw_share(struct sim *sim)
{
    return ((double)(draw(sim) >> 11) + 1) / 9007199254740992.0;
}

static double draw_wait(struct sim *sim, double mean_s)
{
    return isinf(mean_s) ? INFINITY : -log(draw_share(sim)) * mean_s;
}

/* Failures a second: good nodes at one rate, lemons at a multiple; together 1/M at the begin. */
static double failure_rate(const struct sim *sim)
{
    const struct dt_goodput *run = sim->run;
    double more = run->lemon_factor > 1 ? run->lemon_factor - 1 : 0;
    double at_begin = run->nodes + run->nodes * run->lemon_ratio * more;

    return (run->nodes + sim->lemons * more) / (at_begin * run->mtbf_s);
}

static void plan_failure(struct sim *sim)
{
    sim->fails_at = sim->now + draw_wait(sim, 1 / failure_rate(sim));
}

static void plan_straggler(struct sim *sim)
{
    double per_day = sim->run->straggler_per_day;

    sim->slow_from = per_day > 0 ? sim->now + draw_wait(sim, 86400 / per_day) : INFINITY;
    sim->slow_until = sim->slow_from + sim->run->straggler_s;
}

/* Was it a lemon, and its second failure? Then it leaves for good. */
static void note_lemon(struct sim *sim)
{
    double factor = sim->run->lemon_factor;
    double share = sim->lemons * factor / (sim->run->nodes + sim->lemons * (factor - 1));

    if (sim->lemons < 0.5 || draw_share(sim) > share)
        return;
    if (draw_share(sim) <= sim->lemons_seen / sim->lemons) {
        sim->lemons--;
        sim->lemons_seen--;
    } else {
        sim->lemons_seen++;
    }
}

static void take_repaired(struct sim *sim)
{
    while (sim->back_count && sim->back[sim->back_first] <= sim->now) {
        sim->back_first = (sim->back_first + 1) % REPAIRS_MAX;
        sim->back_count--;
        sim->spares++;
    }
}

/* A node leaves for repair and one that stands by takes its place, or the run waits for one. */
static void replace_node(struct sim *sim)
{
    const struct dt_goodput *run = sim->run;

    if (run->repair_s <= 0 || sim->back_count == REPAIRS_MAX)
        return;
    sim->back[(sim->back_first + sim->back_count++) % REPAIRS_MAX] = sim->now + run->repair_s;
    take_repaired(sim);
    if (sim->spares < 1) {
        double until = sim->back[sim->back_first];

        until = until < run->wall_s ? until : run->wall_s;
        sim->queue += until - sim->now;
        sim->now = until;
        take_repaired(sim);
    }
    if (sim->spares >= 1)
        sim->spares--;
}

/* Stand still for so long, or until the next failure or the end; false when it was cut short. */
static bool stand(struct sim *sim, double seconds, double *account)
{
    double until = sim->now + seconds, end = sim->fails_at;
    bool is_whole;

    end = end < sim->run->wall_s ? end : sim->run->wall_s;
    is_whole = until <= end;
    until = is_whole ? until : end;
    *account += until - sim->now;
    sim->now = until;
    return is_whole;
}

static void durable_look(struct sim *sim)
{
    if (sim->pending_at <= sim->now) {
        sim->durable = sim->pending;
        sim->pending_at = INFINITY;
    }
}

/* A failure now: what is not safe is lost; nodes are replaced; start again until it holds. */
static void fail(struct sim *sim)
{
    const struct dt_goodput *run = sim->run;

    do {
        bool is_correlated = draw_share(sim) <= run->correlated_ratio;
        bool is_from_memory = run->snapshot_s > 0 && !is_correlated;
        double safe;

        sim->failures++;
        durable_look(sim);
        sim->pending_at = INFINITY; /* a write under way is torn */
        safe = is_from_memory && sim->snapshot > sim->durable ? sim->snapshot : sim->durable;
        is_from_memory = is_from_memory && sim->snapshot >= sim->durable;
        sim->lost += sim->work - safe;
        sim->work = sim->snapshot = safe;
        note_lemon(sim);
        for (int i = 0; i < (is_correlated ? CORRELATED_NODES : 1); i++)
            replace_node(sim);
        plan_failure(sim);
        if (stand(sim, run->detect_s + run->restart_s + (is_from_memory ? 0 : run->load_s),
                  &sim->restart))
            break;
    } while (sim->now < run->wall_s);
    sim->next_store = sim->work + sim->interval_s;
    sim->next_snapshot = sim->work + (run->snapshot_s > 0 ? run->snapshot_s : INFINITY);
}

/* Train until work reaches goal, a failure or the end; a straggler slows its time. */
static void train(struct sim *sim, double goal)
{
    double end = sim->fails_at < sim->run->wall_s ? sim->fails_at : sim->run->wall_s;

    while (sim->work < goal && sim->now < end) {
        bool is_slow = sim->now >= sim->slow_from;
        double speed = is_slow ? 1 / (1 + sim->run->straggler_slow) : 1;
        double until = is_slow ? sim->slow_until : sim->slow_from;
        double took = (goal - sim->work) / speed;
        bool is_goal = sim->now + took <= until && sim->now + took <= end;

        if (!is_goal)
            took = (until < end ? until : end) - sim->now;
        sim->now += took;
        sim->work = is_goal ? goal : sim->work + took * speed;
        sim->lost += took * (1 - speed);
        if (is_slow && sim->now >= sim->slow_until)
            plan_straggler(sim);
    }
}

static void store(struct sim *sim)
{
    const struct dt_goodput *run = sim->run;
    double begun = sim->now, work = sim->work;

    sim->next_store = work + sim->interval_s;
    if (!stand(sim, run->stall_s, &sim->blocked))
        return; /* torn */
    durable_look(sim);
    sim->pending = work;
    sim->pending_at = begun + (run->write_s > run->stall_s ? run->write_s : run->stall_s);
    durable_look(sim);
}

static void snapshot(struct sim *sim)
{
    sim->next_snapshot = sim->work + sim->run->snapshot_s;
    if (stand(sim, sim->run->snapshot_stall_s, &sim->blocked))
        sim->snapshot = sim->work;
}

static void simulate_one(struct sim *sim)
{
    const struct dt_goodput *run = sim->run;

    sim->pending_at = INFINITY;
    sim->next_store = sim->interval_s;
    sim->next_snapshot = run->snapshot_s > 0 ? run->snapshot_s : INFINITY;
    sim->lemons = floor(run->nodes * run->lemon_ratio + 0.5);
    sim->spares = run->spares;
    plan_failure(sim);
    plan_straggler(sim);
    while (sim->now < run->wall_s) {
        train(sim, sim->next_store < sim->next_snapshot ? sim->next_store : sim->next_snapshot);
        if (sim->now >= run->wall_s)
            break;
        if (sim->now >= sim->fails_at)
            fail(sim);
        else if (sim->work >= sim->next_store)
            store(sim);
        else
            snapshot(sim);
        if (sim->now >= sim->fails_at && sim->now < run->wall_s)
            fail(sim);
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static void add_up(const struct sim *sim, struct dt_goodput_answer *answer, double *share)
{
    double wall = sim->run->wall_s;
    double sum = sim->work + sim->lost + sim->blocked + sim->restart + sim->queue;
    double off = fabs(sum - wall) / wall;

    *share = sim->work / wall;
    answer->useful_s += sim->work / sim->run->runs;
    answer->lost_s += sim->lost / sim->run->runs;
    answer->blocked_s += sim->blocked / sim->run->runs;
    answer->restart_s += sim->restart / sim->run->runs;
    answer->queue_s += sim->queue / sim->run->runs;
    answer->failures += sim->failures / sim->run->runs;
    answer->conservation = off > answer->conservation ? off : answer->conservation;
}

static double interval_of(const struct dt_goodput *run)
{
    double least = run->write_s > INTERVAL_LEAST_S ? run->write_s : INTERVAL_LEAST_S;
    double best;

    if (run->interval_s > 0)
        return run->interval_s;
    if (isinf(run->mtbf_s))
        return run->wall_s;
    best = dt_interval_exact(run->stall_s, run->mtbf_s);
    return best > least || run->stall_s > 0 ? best : least;
}

void dt_goodput_simulate(const struct dt_goodput *run, struct dt_goodput_answer *answer)
{
    double *shares = dt_alloc((size_t)run->runs, sizeof(*shares));
    struct sim *sim = dt_alloc(1, sizeof(*sim));
    struct dt_interval closed = {.stall_s = run->stall_s, .mtbf_s = run->mtbf_s,
                                 .restart_s = run->detect_s + run->restart_s + run->load_s};

    *answer = (struct dt_goodput_answer){.interval_s = interval_of(run)};
    for (int i = 0; i < run->runs; i++) {
        *sim = (struct sim){.run = run, .interval_s = answer->interval_s};
        sim->random = (run->seed + 1) * 0xd1342543de82ef95u + (uint64_t)i * 0x2545f4914f6cdd1du;
        simulate_one(sim);
        add_up(sim, answer, &shares[i]);
    }
    qsort(shares, (size_t)run->runs, sizeof(*shares), by_value);
    for (int i = 0; i < run->runs; i++)
        answer->useful_mean += shares[i] / run->runs;
    answer->useful_p5 = shares[(int)(0.05 * (run->runs - 1) + 0.5)];
    answer->useful_p95 = shares[(int)(0.95 * (run->runs - 1) + 0.5)];
    closed.interval_s = answer->interval_s;
    answer->closed_form = dt_useful_exact(&closed);
    dt_free(shares);
    dt_free(sim);
}

/* One value with its bounds; NaN is outside of all. */
static enum dt_code bound(const char *name, double value, double least, double most,
                          struct dt_err *err)
{
    if (value >= least && value <= most)
        return DT_OK;
    dt_fail(err, DT_INVALID, "%s: %g cannot be", name, value);
    dt_hint(err, "the nearest that can is %g", value > most ? most : least);
    return DT_INVALID;
}

enum dt_code dt_goodput_check(const struct dt_goodput *run, struct dt_err *err)
{
    const struct {
        const char *name;
        double value, least, most;
    } rows[] = {
        {"nodes", run->nodes, 1, NODES_MAX},
        {"days", run->wall_s, 60, 3.2e9},
        {"mean time between failures in seconds", run->mtbf_s, 1, INFINITY},
        {"checkpoint interval", run->interval_s, 0, 3.2e9},
        {"stall of a checkpoint", run->stall_s, 0, 86400},
        {"write time of a checkpoint", run->write_s, 0, 30 * 86400.0},
        {"detection", run->detect_s, 0, 30 * 86400.0},
        {"restart", run->restart_s, 0, 30 * 86400.0},
        {"load time of a checkpoint", run->load_s, 0, 30 * 86400.0},
        {"snapshot interval", run->snapshot_s, 0, 3.2e9},
        {"stall of a snapshot", run->snapshot_stall_s, 0, 86400},
        {"correlated share", run->correlated_ratio, 0, 1},
        {"spares", run->spares, 0, NODES_MAX},
        {"repair", run->repair_s, 0, 3.2e9},
        {"lemon share", run->lemon_ratio, 0, 1},
        {"lemon factor", run->lemon_factor, 0, 1e6},
        {"stragglers a day", run->straggler_per_day, 0, 1e5},
        {"straggler slowness", run->straggler_slow, 0, 1e3},
        {"straggler time", run->straggler_s, 0, 3.2e9},
        {"runs", run->runs, 1, RUNS_MAX},
    };
    double events;
    enum dt_code code;

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if ((code = bound(rows[i].name, rows[i].value, rows[i].least, rows[i].most, err)))
            return code;
    events = run->wall_s / interval_of(run) + 3 * run->wall_s / run->mtbf_s +
             (run->snapshot_s > 0 ? run->wall_s / run->snapshot_s : 0) +
             run->wall_s / 86400 * run->straggler_per_day;
    if (events * run->runs <= EVENTS_MAX)
        return DT_OK;
    dt_fail(err, DT_INVALID, "runs: %d runs of about %.3g events each are too many", run->runs,
            events);
    dt_hint(err, "at most %.0f runs of that", fmax(1, floor(EVENTS_MAX / events)));
    return DT_INVALID;
}
