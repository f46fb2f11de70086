/* The trainer's data, batch, length and schedule: defaults and rules. */
#include "spec_table.h"

#include <string.h>

/* Shares are of all files, or of none. */
static void rule_weights(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *train = dt_spec_at(resolved, "trainer.data.train");
    struct dt_problem *problem;
    size_t weighted = 0;

    if (!train || train->kind != DT_TREE_LIST)
        return;
    for (const struct dt_tree *item = train->first; item; item = item->next)
        weighted += dt_tree_get(item, "weight") != NULL;
    if (weighted == 0 || weighted == train->count)
        return;
    problem = dt_spec_problem(problems, resolved, "trainer.data.train", "spec.needs");
    dt_problem_text(problem, "trainer.data.train: %zu of %zu files have a weight", weighted,
                    train->count);
    dt_problem_help(problem, "give every file one, or none: then samples come by size");
}

static void rule_data(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *data = dt_spec_at(resolved, "trainer.data");
    bool has_text = dt_tree_get(data, "text") != NULL;
    bool has_train = dt_tree_get(data, "train") != NULL;
    bool has_eval = dt_tree_get(data, "eval") != NULL;
    struct dt_problem *problem;

    if (!data)
        return;
    if (has_text == has_train) {
        problem = dt_spec_problem(problems, resolved, "trainer.data", "spec.one-of");
        dt_problem_text(problem, "trainer.data needs exactly one of text and train");
        dt_problem_help(problem, "text: [globs] for bytes, train: FILE for token shards");
    } else if (has_text && has_eval) {
        problem = dt_spec_problem(problems, resolved, "trainer.data.eval", "spec.needs");
        dt_problem_text(problem, "trainer.data.eval goes with train, not with text");
    } else if (has_train && !has_eval && dt_tree_get(dt_spec_at(resolved, "trainer"), "eval")) {
        problem = dt_spec_problem(problems, resolved, "trainer.eval", "spec.needs");
        dt_problem_text(problem, "trainer.eval without trainer.data.eval");
        dt_problem_help(problem, "name the shard to evaluate on: data: {train: ..., eval: ...}");
    }
}

static void rule_precision(struct dt_tree *resolved)
{
    struct dt_tree *trainer = dt_spec_at(resolved, "trainer");
    const struct dt_tree *model = dt_spec_at(resolved, "trainer.model");
    const char *preset = dt_tree_str(model, "preset", "");
    const struct dt_spec_field *row = dt_spec_field_find(&dt_spec_root, "trainer", 7);
    int64_t gpus;

    row = dt_spec_field_find(row->object, "precision", 9);
    if (dt_spec_int_at(resolved, "resources.gpus_per_node", &gpus))
        dt_spec_default_str(trainer, "precision", row->for_now ? row->for_now
                                                  : gpus       ? "bf16"
                                                               : "fp32");
    dt_spec_default_int(trainer, "seq_len", strcmp(preset, "llama-nano") == 0 ? 64 : 1024);
}

/* Micro-batches of a step reach every replica of every admissible count of nodes. */
static void rule_replicas(struct dt_tree *resolved, struct dt_problems *problems,
                          int64_t micro, int64_t global)
{
    int64_t least, most, step, data, ranks, tensor, pipeline, context;
    struct dt_problem *problem;

    if (!dt_spec_nodes(resolved, &least, &most, &step) ||
        !dt_spec_int_at(resolved, "resources.ranks_per_node", &ranks) ||
        !dt_spec_int_at(resolved, "parallel.tensor", &tensor) ||
        !dt_spec_int_at(resolved, "parallel.pipeline", &pipeline) ||
        !dt_spec_int_at(resolved, "parallel.context", &context))
        return;
    if (!dt_spec_int_at(resolved, "parallel.data", &data)) {
        if (!dt_spec_at(resolved, "parallel.data"))
            return;
        data = most * ranks / (tensor * pipeline * context);
    }
    if (global / micro >= data)
        return;
    problem = dt_spec_problem(problems, resolved, "trainer.global_batch", "spec.batch");
    dt_problem_text(problem, "trainer.global_batch (%lld) is too small for micro-batches of "
                             "%lld on %lld replicas", (long long)global, (long long)micro,
                    (long long)data);
    dt_problem_help(problem, "at least %lld", (long long)(micro * data));
}

static void rule_batch(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *trainer = dt_spec_at(resolved, "trainer");
    struct dt_problem *problem;
    int64_t micro, global, data;

    if (!dt_spec_int_at(resolved, "trainer.micro_batch", &micro))
        return;
    if (!dt_tree_get(trainer, "global_batch")) {
        if (dt_spec_int_at(resolved, "parallel.data", &data)) {
            dt_tree_put_int(trainer, "global_batch", micro * data);
        } else if (dt_spec_at(resolved, "parallel.data")) {
            problem = dt_spec_problem(problems, resolved, "trainer.global_batch",
                                      "spec.required");
            dt_problem_text(problem, "trainer.global_batch is required for an elastic job");
            dt_problem_help(problem, "it stays the same at every number of nodes");
        }
    }
    if (!dt_spec_int_at(resolved, "trainer.global_batch", &global))
        return;
    if (global % micro == 0) {
        rule_replicas(resolved, problems, micro, global);
        return;
    }
    problem = dt_spec_problem(problems, resolved, "trainer.global_batch", "spec.divide");
    dt_problem_text(problem, "trainer.global_batch (%lld) is not a multiple of micro_batch (%lld)",
                    (long long)global, (long long)micro);
    if (global < micro)
        dt_problem_help(problem, "at least %lld", (long long)micro);
    else
        dt_problem_help(problem, "nearest: %lld or %lld", (long long)(global - global % micro),
                        (long long)(global - global % micro + micro));
}

/* steps, or tokens turned into steps; a resolved tree has both, and they agree. */
static void rule_length(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *trainer = dt_spec_at(resolved, "trainer");
    int64_t steps, tokens, global, seq_len, wanted;
    struct dt_problem *problem;

    if (!dt_tree_get(trainer, "steps") && !dt_tree_get(trainer, "tokens")) {
        problem = dt_spec_problem(problems, resolved, "trainer", "spec.one-of");
        dt_problem_text(problem, "trainer needs steps or tokens");
        dt_problem_help(problem, "how long to train: steps: 1000");
        return;
    }
    if (!dt_spec_int_at(resolved, "trainer.tokens", &tokens) ||
        !dt_spec_int_at(resolved, "trainer.global_batch", &global) ||
        !dt_spec_int_at(resolved, "trainer.seq_len", &seq_len))
        return;
    wanted = (tokens - 1) / (global * seq_len) + 1;
    if (!dt_tree_get(trainer, "steps")) {
        dt_tree_put_int(trainer, "steps", wanted);
    } else if (dt_spec_int_at(resolved, "trainer.steps", &steps) && steps != wanted) {
        problem = dt_spec_problem(problems, resolved, "trainer.tokens", "spec.one-of");
        dt_problem_text(problem, "trainer.tokens (%lld) means steps: %lld, not %lld",
                        (long long)tokens, (long long)wanted, (long long)steps);
        dt_problem_help(problem, "give one of the two");
    }
}

static void put_decimal(struct dt_tree *map, const char *key, struct dt_decimal value)
{
    char text[64];

    dt_decimal_print(value, text, sizeof(text));
    dt_tree_put_float(map, key, text)->int_value = dt_decimal_micro(value);
}

static void rule_schedule(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *optimizer = dt_spec_at(resolved, "trainer.optimizer");
    struct dt_tree *schedule = dt_spec_at(resolved, "trainer.schedule");
    const struct dt_tree *lr = dt_spec_at(resolved, "trainer.optimizer.lr");
    const struct dt_tree *min_lr;
    struct dt_decimal peak, least;
    struct dt_problem *problem;
    int64_t steps, warmup;

    if (optimizer && !dt_tree_get(optimizer, "betas")) {
        struct dt_tree *betas = dt_tree_put_new(optimizer, "betas", DT_TREE_LIST);

        put_decimal(betas, NULL, (struct dt_decimal){9, -1});
        put_decimal(betas, NULL, (struct dt_decimal){95, -2});
    }
    if (!schedule)
        return;
    if (dt_spec_int_at(resolved, "trainer.steps", &steps) && !dt_tree_get(schedule, "warmup"))
        dt_tree_put_int(dt_tree_put_new(schedule, "warmup", DT_TREE_MAP), "steps",
                        steps < 100 ? 1 : steps / 100);
    else if (dt_spec_int_at(resolved, "trainer.steps", &steps) &&
             dt_spec_int_at(resolved, "trainer.schedule.warmup.steps", &warmup) &&
             warmup > steps) {
        problem = dt_spec_problem(problems, resolved, "trainer.schedule.warmup.steps",
                                  "spec.order");
        dt_problem_text(problem, "trainer.schedule.warmup (%lld steps) is longer than the "
                                 "training (%lld)", (long long)warmup, (long long)steps);
    }
    if (!lr || !dt_decimal_read(lr, &peak))
        return;
    if (!dt_tree_get(schedule, "min_lr"))
        put_decimal(schedule, "min_lr", (struct dt_decimal){peak.mantissa, peak.exponent - 1});
    min_lr = dt_spec_at(resolved, "trainer.schedule.min_lr");
    if (!min_lr || !dt_decimal_read(min_lr, &least) || dt_decimal_compare(least, peak) <= 0)
        return;
    problem = dt_spec_problem(problems, resolved, "trainer.schedule.min_lr", "spec.order");
    dt_problem_text(problem, "trainer.schedule.min_lr (%s) is above optimizer.lr (%s)",
                    min_lr->text, lr->text);
}

void dt_spec_trainer(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *trainer = dt_spec_at(resolved, "trainer");

    if (!trainer || trainer->kind != DT_TREE_MAP)
        return;
    rule_data(resolved, problems);
    rule_weights(resolved, problems);
    rule_precision(resolved);
    dt_spec_model(resolved, problems);
    rule_batch(resolved, problems);
    rule_length(resolved, problems);
    rule_schedule(resolved, problems);
}
