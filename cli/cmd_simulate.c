/* dtctl simulate: how much of a long run on many GPUs is useful, and what would help. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds.h"
#include "dt/base/text.h"
#include "dt/base/units.h"
#include "dt/os/file.h"
#include "dt/plan/goodput.h"
#include "dt/plan/model.h"
#include "dt/plan/reliability.h"
#include "render.h"
#include "say.h"

#define BYTES_PER_PARAMETER 14 /* bf16 weights, fp32 master weights and both moments of Adam */
#define DAY_S 86400.0
#define SEQUENCE 2048 /* tokens; counts for learned positions only */

#define NUMBER(long_name, value, preset, text)                                                \
    {.name = long_name, .type = DT_OPT_STR, .arg = value, .unit = "", .initial = preset,      \
     .help = text}
#define TIME(long_name, preset, text) NUMBER(long_name, "TIME", preset, text)

static const struct dt_opt opts[] = {
    NUMBER("gpus", "N", NULL, "GPUs of the run"),
    NUMBER("gpus-per-node", "N", "8", "GPUs of a node"),
    NUMBER("days", "N", "21", "how long it runs"),
    {.name = "preset", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "published failure rate", .words = "llama3 rsc1 rsc2 opt175b ant"},
    NUMBER("mtbf-days", "N", NULL, "days between failures of the whole run, instead of a preset"),
    NUMBER("model", "NAME", NULL, "a model of the catalog, such as llama3-70b"),
    NUMBER("params", "N", NULL, "parameters instead, such as 70.55e9: 14 bytes each"),
    {.name = "checkpoint-size", .type = DT_OPT_SIZE, .arg = "SIZE", .unit = "", .initial = NULL,
     .help = "bytes of a checkpoint, instead of --params"},
    {.name = "store", .type = DT_OPT_SIZE, .arg = "SIZE", .unit = "a second",
     .initial = "100GB", .help = "what the storage takes and gives"},
    TIME("checkpoint", NULL, "between storage checkpoints; else the best"),
    TIME("stall", NULL, "training stands still for one; else until it is written"),
    TIME("detect", "10m", "from a failure to the decision"),
    TIME("restart", "5m", "from the decision to the first step, without reading"),
    TIME("snapshot", "0s", "between snapshots in memory; 0s: none"),
    TIME("snapshot-stall", "0s", "training stands still for one"),
    NUMBER("correlated", "SHARE", "0", "of failures that take several nodes and their snapshots"),
    NUMBER("spares", "N", "0", "nodes that stand by"),
    TIME("repair", "0s", "until a failed node is back; 0s: replaced at once"),
    NUMBER("lemons", "SHARE", "0", "of nodes that fail more often"),
    NUMBER("lemon-factor", "N", "10", "so many times; they leave after the second failure"),
    NUMBER("stragglers", "N", "0", "slow nodes that appear a day"),
    NUMBER("straggler-slow", "SHARE", "0.2", "a step takes longer by so much"),
    TIME("straggler-time", "1h", "until a slow node is found"),
    {.name = "runs", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "100", .least = 1,
     .most = 100000, .help = "simulated runs"},
    {.name = "seed", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "1", .least = 0,
     .most = INT64_MAX, .help = "the same seed gives the same answer"},
    {.name = "sweep", .type = DT_OPT_FLAG, .help = "compare strategies of checkpoints"},
    {.name = "svg", .type = DT_OPT_STR, .arg = "FILE", .unit = "", .initial = NULL,
     .help = "with --sweep: draw the comparison"},
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",
     .initial = "text", .help = "form of the output", .words = "text json yaml"},
};

/* What was asked, in numbers. */
struct ask {
    struct dt_goodput run;
    double gpus, bytes, store;
    const char *rate_source;
};

/* ---- reading ---- */

static bool read_number(const struct dt_args *args, const char *name, double *value,
                        struct dt_err *err)
{
    const char *text = dt_args_str(args, name);
    char *end;

    if (err->code || !text)
        return false;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value))
        return true;
    dt_fail(err, DT_USAGE, "--%s: \"%.40s\" is not a number", name, text);
    dt_hint(err, "write 2048, 0.5 or 70.55e9");
    return false;
}

/* "15m", or a bare number of seconds. */
static bool read_time(const struct dt_args *args, const char *name, double *seconds,
                      struct dt_err *err)
{
    const char *text = dt_args_str(args, name);
    int64_t ms;
    char *end;

    if (err->code || !text)
        return false;
    *seconds = strtod(text, &end);
    if (end != text && !*end && isfinite(*seconds))
        return true;
    if (dt_parse_duration_ms(text, &ms, NULL) == DT_OK) {
        *seconds = (double)ms / 1000;
        return true;
    }
    dt_fail(err, DT_USAGE, "--%s: \"%.40s\" is not a time", name, text);
    dt_hint(err, "write 15m, 1h30m or a number of seconds");
    return false;
}

static void read_rate(const struct dt_args *args, struct ask *ask, struct dt_err *err)
{
    const char *name = dt_args_str(args, "preset");
    const struct dt_failure_preset *preset = name ? dt_failure_preset(name) : NULL;
    double days;

    if (preset && dt_args_has(args, "mtbf-days")) {
        dt_fail(err, DT_USAGE, "--preset and --mtbf-days say the same thing: give one");
    } else if (preset) {
        ask->run.mtbf_s = dt_mtbf_s(ask->gpus / 8, preset->per_1000_node_days / 1000);
        ask->rate_source = preset->source;
    } else if (read_number(args, "mtbf-days", &days, err)) {
        ask->run.mtbf_s = days * DAY_S;
        ask->rate_source = "--mtbf-days";
    } else if (!err->code) {
        dt_fail(err, DT_USAGE, "how often does it fail?");
        dt_hint(err, "--preset llama3, or --mtbf-days 1");
    }
}

/* Parameters of a model of the catalog. */
static double read_model(const char *name, struct dt_err *err)
{
    const struct dt_plan_model *model = dt_plan_model(name);
    const char *names[32], *near;
    size_t count = 0;

    if (model)
        return dt_plan_parameters(model, SEQUENCE);
    for (; count < dt_plan_models_count && count < DT_COUNT(names); count++)
        names[count] = dt_plan_models[count].name;
    near = dt_text_nearest(name, names, count);
    dt_fail(err, DT_USAGE, "--model: no model \"%.40s\" in the catalog", name);
    dt_hint(err, near ? "did you mean %s?" : "such as %s; or give --params",
            near ? near : names[0]);
    return 0;
}

static void read_checkpoint(const struct dt_args *args, struct ask *ask, struct dt_err *err)
{
    double parameters = 0;

    ask->store = (double)dt_args_bytes(args, "store", 0);
    if (dt_args_has(args, "checkpoint-size"))
        ask->bytes = (double)dt_args_bytes(args, "checkpoint-size", 0);
    else if (dt_args_str(args, "model"))
        ask->bytes = read_model(dt_args_str(args, "model"), err) * BYTES_PER_PARAMETER;
    else if (read_number(args, "params", &parameters, err))
        ask->bytes = parameters * BYTES_PER_PARAMETER;
    if (!err->code && (!(ask->bytes >= 0) || ask->store <= 0))
        dt_fail(err, DT_USAGE, "a checkpoint and the storage need sizes above zero");
    if (err->code)
        return;
    ask->run.write_s = ask->run.load_s = ask->run.stall_s = ask->bytes / ask->store;
    if (read_time(args, "stall", &ask->run.stall_s, err) &&
        ask->run.write_s < ask->run.stall_s)
        ask->run.write_s = ask->run.load_s = ask->run.stall_s;
    if (!err->code && ask->run.write_s <= 0 && ask->run.stall_s <= 0) {
        dt_fail(err, DT_USAGE, "how large is a checkpoint?");
        dt_hint(err, "--params 70.55e9, --checkpoint-size 988GB or --stall 10s");
    }
}

static enum dt_code read_ask(const struct dt_args *args, struct ask *ask, struct dt_err *err)
{
    struct dt_goodput *run = &ask->run;
    double days = 0, per_node = 8;

    if (!dt_args_has(args, "gpus")) {
        dt_fail(err, DT_USAGE, "--gpus is missing");
        dt_hint(err, "dtctl simulate --gpus 2048 --preset llama3 --params 70.55e9");
        return err->code;
    }
    read_number(args, "gpus", &ask->gpus, err);
    read_number(args, "gpus-per-node", &per_node, err);
    read_number(args, "days", &days, err);
    if (!err->code && (!(ask->gpus >= 1) || !(per_node >= 1)))
        return dt_fail(err, DT_USAGE, "--gpus and --gpus-per-node: at least 1");
    run->nodes = ceil(ask->gpus / per_node);
    run->wall_s = days * DAY_S;
    read_rate(args, ask, err);
    read_checkpoint(args, ask, err);
    read_time(args, "checkpoint", &run->interval_s, err);
    read_time(args, "detect", &run->detect_s, err);
    read_time(args, "restart", &run->restart_s, err);
    read_time(args, "snapshot", &run->snapshot_s, err);
    read_time(args, "snapshot-stall", &run->snapshot_stall_s, err);
    read_number(args, "correlated", &run->correlated_ratio, err);
    read_number(args, "spares", &run->spares, err);
    read_time(args, "repair", &run->repair_s, err);
    read_number(args, "lemons", &run->lemon_ratio, err);
    read_number(args, "lemon-factor", &run->lemon_factor, err);
    read_number(args, "stragglers", &run->straggler_per_day, err);
    read_number(args, "straggler-slow", &run->straggler_slow, err);
    read_time(args, "straggler-time", &run->straggler_s, err);
    run->runs = (int)dt_args_int(args, "runs", 200);
    run->seed = (uint64_t)dt_args_int(args, "seed", 1);
    if (!err->code && dt_goodput_check(run, err))
        err->code = DT_USAGE;
    return err->code;
}

/* ---- the page ---- */

static const char *span(double seconds, char text[64])
{
    if (seconds < 10)
        snprintf(text, 64, "%.1f s", seconds);
    else if (seconds < 1e12)
        dt_format_age((int64_t)(seconds * 1000), text, 64);
    else
        snprintf(text, 64, "never");
    return text;
}

static const char *bytes_text(double bytes, char text[64])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;

    while (bytes >= 1000 && unit + 1 < DT_COUNT(units)) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, 64, "%.4g %s", bytes, units[unit]);
    return text;
}

static void put_share(struct dt_buf *page, const char *name, double seconds, double wall,
                      const char *note)
{
    dt_buf_print(page, "  %-9s %8.2f h  %6.2f %%  %s\n", name, seconds / 3600,
                 100 * seconds / wall, note);
}

/* The useful share by the closed form if one thing were better. */
static double useful_if(const struct ask *ask, double stall, double restart, double mtbf)
{
    const struct dt_goodput *run = &ask->run;
    struct dt_interval better = {
        .stall_s = run->stall_s * stall,
        .restart_s = (run->detect_s + run->restart_s) * restart + run->load_s * stall,
        .mtbf_s = run->mtbf_s * mtbf};

    better.interval_s = dt_interval_exact(better.stall_s, better.mtbf_s);
    return better.interval_s > 0 ? dt_useful_exact(&better) : 1;
}

static void put_help(struct dt_buf *page, const struct ask *ask)
{
    double now = useful_if(ask, 1, 1, 1);
    const struct {
        const char *text;
        double useful;
    } rows[] = {
        {"half the time to detect and restart", useful_if(ask, 1, 0.5, 1)},
        {"twice the storage bandwidth", useful_if(ask, 0.5, 1, 1)},
        {"half as many failures", useful_if(ask, 1, 1, 2)},
    };

    dt_buf_text(page, "what would help (closed form, best interval)\n");
    for (size_t i = 0; i < DT_COUNT(rows); i++)
        dt_buf_print(page, "  %-36s %+6.2f points, %.1f h\n", rows[i].text,
                     100 * (rows[i].useful - now),
                     (rows[i].useful - now) * ask->run.wall_s / 3600);
}

static void put_fleet(struct dt_buf *page, const struct ask *ask,
                      const struct dt_goodput_answer *answer)
{
    const struct dt_goodput *run = &ask->run;
    double writes = run->wall_s / (answer->interval_s + run->stall_s), days = run->wall_s / DAY_S;
    char all[64], kept[64], repair[64];
    double mean = run->repair_s / run->mtbf_s;

    if (ask->bytes > 0)
        dt_buf_print(page, "retention     %.0f checkpoints, %s if all are kept; the last 3 and one "
                     "a day: %s\n", writes, bytes_text(writes * ask->bytes, all),
                     bytes_text((3 + days) * ask->bytes, kept));
    if (run->repair_s > 0)
        dt_buf_print(page, "spares        at most %d nodes are out 99 %% of the time (repair %s, "
                     "mean %.1f); %.0f stand by\n", dt_poisson_quantile(mean, 0.99),
                     span(run->repair_s, repair), mean, run->spares);
}

static void page_put(const struct ask *ask, const struct dt_goodput_answer *answer)
{
    const struct dt_goodput *run = &ask->run;
    struct dt_buf page = {0};
    char a[64], b[64], c[64], d[64];

    dt_buf_print(&page, "%.0f GPUs on %.0f nodes for %.4g days, a failure every %s (%s)\n",
                 ask->gpus, run->nodes, run->wall_s / DAY_S, span(run->mtbf_s, a),
                 ask->rate_source);
    dt_buf_print(&page, "checkpoint    %s, written in %s; training stands still for %s\n",
                 ask->bytes > 0 ? bytes_text(ask->bytes, a) : "of unknown size",
                 span(run->write_s, b), span(run->stall_s, c));
    dt_buf_print(&page, "interval      %s  (Young %s, Daly %s, exact %s)\n",
                 span(answer->interval_s, a),
                 span(dt_interval_young(run->stall_s, run->mtbf_s), b),
                 span(dt_interval_daly(run->stall_s, run->mtbf_s), c),
                 span(dt_interval_exact(run->stall_s, run->mtbf_s), d));
    dt_buf_print(&page, "useful        %.2f %% of the time; 5 %% of %d runs below %.2f, 5 %% above "
                 "%.2f; closed form %.2f\n", 100 * answer->useful_mean, run->runs,
                 100 * answer->useful_p5, 100 * answer->useful_p95, 100 * answer->closed_form);
    put_share(&page, "useful", answer->useful_s, run->wall_s, "");
    put_share(&page, "lost", answer->lost_s, run->wall_s, "work done again, and slow steps");
    put_share(&page, "blocked", answer->blocked_s, run->wall_s, "standing still for checkpoints");
    put_share(&page, "restart", answer->restart_s, run->wall_s, "detection, start, reading");
    put_share(&page, "queue", answer->queue_s, run->wall_s, "waiting for a node");
    dt_buf_print(&page, "failures      %.1f in the mean run\n", answer->failures);
    put_fleet(&page, ask, answer);
    put_help(&page, ask);
    dt_put(&page);
    dt_buf_release(&page);
}

/* ---- JSON ---- */

static void put_real(struct dt_tree *tree, const char *key, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.10g", value);
    if (!strpbrk(text, ".en"))
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ".0");
    if (isfinite(value))
        dt_tree_put_float(tree, key, text);
    else
        dt_tree_put_str(tree, key, NULL);
}

static struct dt_tree *answer_tree(const struct ask *ask, const struct dt_goodput_answer *answer)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *useful = dt_tree_put_new(tree, "useful_ratio", DT_TREE_MAP);

    put_real(useful, "mean", answer->useful_mean);
    put_real(useful, "p5", answer->useful_p5);
    put_real(useful, "p95", answer->useful_p95);
    put_real(tree, "useful_s", answer->useful_s);
    put_real(tree, "lost_s", answer->lost_s);
    put_real(tree, "blocked_s", answer->blocked_s);
    put_real(tree, "restart_s", answer->restart_s);
    put_real(tree, "queue_s", answer->queue_s);
    put_real(tree, "wall_s", ask->run.wall_s);
    put_real(tree, "failures", answer->failures);
    put_real(tree, "closed_form_useful_ratio", answer->closed_form);
    put_real(tree, "interval_s", answer->interval_s);
    put_real(tree, "interval_young_s", dt_interval_young(ask->run.stall_s, ask->run.mtbf_s));
    put_real(tree, "interval_daly_s", dt_interval_daly(ask->run.stall_s, ask->run.mtbf_s));
    put_real(tree, "interval_exact_s", dt_interval_exact(ask->run.stall_s, ask->run.mtbf_s));
    put_real(tree, "mtbf_s", ask->run.mtbf_s);
    put_real(tree, "write_s", ask->run.write_s);
    put_real(tree, "stall_s", ask->run.stall_s);
    put_real(tree, "checkpoint_bytes", ask->bytes);
    return tree;
}

/* ---- the sweep ---- */

struct strategy {
    const char *name;
    double store_factor; /* of --store */
    double stall_s;      /* < 0: until it is written */
    double interval_s;   /* 0: the best */
    double snapshot_s, snapshot_stall_s;
};

static const struct strategy strategies[] = {
    {"blocking, a tenth of the store", 0.1, -1, 0, 0, 0},
    {"blocking", 1, -1, 0, 0, 0},
    {"blocking, every hour", 1, -1, 3600, 0, 0},
    {"blocking, every 4 hours", 1, -1, 14400, 0, 0},
    {"beside training, 2 s stall", 1, 2, 0, 0, 0},
    {"snapshots every minute, 0.5 s", 1, 2, 0, 60, 0.5},
};

static void sweep_svg(struct dt_buf *svg, const struct dt_goodput_answer *answers, double wall_s)
{
    static const char *const colours[] = {"#4c9f70", "#c0392b", "#e0a030", "#5b7db1", "#888888"};

    dt_buf_print(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%zu\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n", DT_COUNT(strategies) * 28 + 40);
    for (size_t i = 0; i < DT_COUNT(strategies); i++) {
        const double parts[] = {answers[i].useful_s, answers[i].lost_s, answers[i].blocked_s,
                                answers[i].restart_s, answers[i].queue_s};
        double x = 230;

        dt_buf_print(svg, "<text x=\"4\" y=\"%zu\">%s</text>\n", i * 28 + 22, strategies[i].name);
        for (size_t j = 0; j < DT_COUNT(parts); j++) {
            double width = 440 * parts[j] / wall_s;

            dt_buf_print(svg, "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"18\" "
                         "fill=\"%s\"/>\n", x, i * 28 + 8, width, colours[j]);
            x += width;
        }
        dt_buf_print(svg, "<text x=\"680\" y=\"%zu\">%.2f %%</text>\n", i * 28 + 22,
                     100 * answers[i].useful_mean);
    }
    dt_buf_print(svg, "<text x=\"230\" y=\"%zu\">useful, lost (red), blocked (yellow), restart "
                 "(blue), queue (grey)</text>\n</svg>\n", DT_COUNT(strategies) * 28 + 28);
}

static enum dt_code sweep_one(const struct ask *ask, const struct strategy *strategy,
                              struct dt_goodput_answer *answer, struct dt_err *err)
{
    struct dt_goodput run = ask->run;
    enum dt_code code;

    run.write_s = run.load_s = ask->bytes / (ask->store * strategy->store_factor);
    run.stall_s = strategy->stall_s < 0 || strategy->stall_s > run.write_s ? run.write_s
                                                                           : strategy->stall_s;
    run.interval_s = strategy->interval_s;
    run.snapshot_s = strategy->snapshot_s;
    run.snapshot_stall_s = strategy->snapshot_stall_s;
    if ((code = dt_goodput_check(&run, err)))
        return err->code = DT_USAGE;
    dt_goodput_simulate(&run, answer);
    return DT_OK;
}

static enum dt_code sweep(const struct ask *ask, const struct dt_args *args, struct dt_err *err)
{
    struct dt_goodput_answer answers[DT_COUNT(strategies)];
    struct dt_tree *list = dt_tree_make(DT_TREE_LIST);
    struct dt_buf page = {0}, svg = {0};
    enum dt_code code = DT_OK;
    char text[64];

    dt_buf_print(&page, "%-32s %9s %7s %6s %7s %7s %7s\n", "STRATEGY", "INTERVAL", "USEFUL",
                 "P5", "LOST", "BLOCKED", "RESTART");
    for (size_t i = 0; i < DT_COUNT(strategies) && !code; i++) {
        const struct dt_goodput_answer *got = &answers[i];
        double percent = 100 / ask->run.wall_s;

        if ((code = sweep_one(ask, &strategies[i], &answers[i], err)))
            break;
        dt_buf_print(&page, "%-32s %9s %7.2f %6.2f %7.2f %7.2f %7.2f\n", strategies[i].name,
                     span(got->interval_s, text), 100 * got->useful_mean, 100 * got->useful_p5,
                     got->lost_s * percent, got->blocked_s * percent, got->restart_s * percent);
        dt_tree_add(list, NULL, answer_tree(ask, got));
        dt_tree_put_str(list->last, "strategy", strategies[i].name);
    }
    if (!code && dt_args_str(args, "svg")) {
        sweep_svg(&svg, answers, ask->run.wall_s);
        code = dt_file_replace(dt_args_str(args, "svg"), svg.data, svg.size, 0644, err);
    }
    if (!code && !dt_output_is(args, "text"))
        dt_output_tree(args, list);
    else if (!code)
        dt_put(&page);
    dt_buf_release(&page);
    dt_buf_release(&svg);
    dt_tree_free(list);
    return code;
}

static int simulate_run(const struct dt_args *args)
{
    struct dt_goodput_answer answer;
    struct ask ask = {0};
    struct dt_err err = {0};

    if (read_ask(args, &ask, &err))
        return dt_say_error(&err);
    if (dt_args_has(args, "sweep")) {
        if (ask.bytes <= 0)
            dt_fail(&err, DT_USAGE, "--sweep needs --params or --checkpoint-size");
        return err.code || sweep(&ask, args, &err) ? dt_say_error(&err) : 0;
    }
    dt_goodput_simulate(&ask.run, &answer);
    if (dt_output_is(args, "text")) {
        page_put(&ask, &answer);
    } else {
        struct dt_tree *tree = answer_tree(&ask, &answer);

        dt_output_tree(args, tree);
        dt_tree_free(tree);
    }
    return 0;
}

const struct dt_cmd dt_cli_simulate = {
    .name = "simulate",
    .operands = "",
    .summary = "How much of a long run is useful: failures, checkpoints, restarts, spares.",
    .detail = "Simulates runs event by event from a failure rate, and compares with the closed "
              "form of Young and Daly. Needs no cluster. Times are like 15m, or a number of "
              "seconds.",
    .examples = "  dtctl simulate --gpus 2048 --days 21 --mtbf-days 1 --model llama3-70b\n"
                "  dtctl simulate --gpus 16384 --preset llama3 --model llama3-405b --sweep\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_PLAN,
    .run = simulate_run,
};
