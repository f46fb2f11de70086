/* Rules between fields of job.yaml, and the defaults that depend on other fields. */
#include "spec_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/text.h"
#include "dt/base/units.h"

/* A default that is itself unknown, because what it depends on is. */
static void default_unknown(struct dt_tree *map, const char *key)
{
    if (!dt_tree_get(map, key))
        dt_tree_add(map, key, dt_tree_make(DT_TREE_NULL));
}

static struct dt_tree *map_at(struct dt_tree *resolved, const char *path)
{
    struct dt_tree *node = dt_spec_at(resolved, path);

    return node && node->kind == DT_TREE_MAP ? node : NULL;
}

static bool is_text_at(const struct dt_tree *resolved, const char *path, const char *text)
{
    const struct dt_tree *node = dt_spec_at(resolved, path);

    return node && node->kind == DT_TREE_STR && strcmp(node->text, text) == 0;
}

/* -1 when unknown. */
static int64_t duration_at(const struct dt_tree *resolved, const char *path)
{
    const struct dt_tree *node = dt_spec_at(resolved, path);
    int64_t ms;

    if (!node || node->kind != DT_TREE_STR || dt_parse_duration_ms(node->text, &ms, NULL))
        return -1;
    return ms;
}

static void rule_priority(struct dt_tree *resolved)
{
    const struct dt_tree *node = dt_spec_at(resolved, "priority");
    struct dt_place_in_file at;

    if (!node || node->kind != DT_TREE_STR)
        return;
    at = node->at;
    dt_tree_put_int(resolved, "priority", strcmp(node->text, "low") == 0 ? -100 : 100)->at = at;
}

/* Exactly one of trainer, command and script. */
static void rule_form(struct dt_tree *resolved, struct dt_problems *problems)
{
    static const char *const forms[] = {"trainer", "command", "script"};
    const struct dt_tree *first = NULL;
    struct dt_problem *problem;

    for (size_t i = 0; i < DT_COUNT(forms); i++) {
        const struct dt_tree *form = dt_tree_get(resolved, forms[i]);

        if (form && first) {
            const struct dt_tree *later = form;

            if (form->key_at.line < first->key_at.line)
                later = first;
            problem = dt_problem_add(problems, later->key, "spec.one-of", later->key_at);
            dt_problem_text(problem, "%s beside %s: exactly one of trainer, command and script",
                            later->key, later == form ? first->key : form->key);
        }
        if (form && !first)
            first = form;
    }
    if (first)
        return;
    problem = dt_problem_add(problems, "", "spec.one-of", resolved->at);
    dt_problem_text(problem, "nothing to run: exactly one of trainer, command and script");
    dt_problem_help(problem, "for example  command: [\"python\", \"train.py\"]");
}

/* Later arguments may be empty, the program may not. */
static void rule_program(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *command = dt_tree_get(resolved, "command");
    const struct dt_tree *program = command ? command->first : NULL;
    struct dt_problem *problem;

    if (!program || program->kind != DT_TREE_STR || program->text_size)
        return;
    problem = dt_problem_add(problems, "command[0]", "spec.empty", program->at);
    dt_problem_text(problem, "the program is empty");
    dt_problem_help(problem, "for example  command: [\"python\", \"train.py\"]");
}

static void rule_launch(struct dt_tree *resolved, struct dt_problems *problems)
{
    bool is_trainer = dt_tree_get(resolved, "trainer") != NULL;
    struct dt_tree *loss;
    struct dt_problem *problem;
    const char *launch;

    dt_spec_default_str(resolved, "launch", is_trainer ? "mpi" : "torch");
    dt_spec_default_str(resolved, "mpi", is_trainer ? "lean" : "site");
    launch = dt_tree_str(resolved, "launch", NULL);
    if (is_trainer && launch && strcmp(launch, "mpi") != 0) {
        problem = dt_spec_problem(problems, resolved, "launch", "spec.launch");
        dt_problem_text(problem, "launch: %s does not go with trainer", launch);
        dt_problem_help(problem, "the trainer is an MPI program: leave launch out");
    }
    if (dt_tree_get(resolved, "on_control_loss"))
        return;
    if (is_trainer) {
        dt_tree_put_str(resolved, "on_control_loss", "keep");
    } else {
        loss = dt_tree_put_new(resolved, "on_control_loss", DT_TREE_MAP);
        dt_tree_put_str(loss, "stop", "1m");
    }
}

static void needs_gpus(struct dt_tree *resolved, struct dt_problems *problems, const char *key)
{
    struct dt_tree *node = dt_tree_get(dt_spec_at(resolved, "resources"), key);
    struct dt_problem *problem;
    char path[64];

    if (!node || !node->at.line || (node->kind == DT_TREE_LIST && !node->count))
        return;
    snprintf(path, sizeof(path), "resources.%s", key);
    problem = dt_spec_problem(problems, resolved, path, "spec.needs");
    dt_problem_text(problem, "%s without GPUs", path);
    dt_problem_help(problem, "say how many: gpus_per_node: 8");
}

static void rule_ranks(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *resources = map_at(resolved, "resources");
    struct dt_tree *topology = map_at(resolved, "topology");
    bool is_none = is_text_at(resolved, "launch", "none");
    struct dt_problem *problem;
    int64_t gpus, ranks;

    if (!resources)
        return;
    if (dt_spec_int_at(resolved, "resources.gpus_per_node", &gpus)) {
        dt_spec_default_int(resources, "ranks_per_node", gpus && !is_none ? gpus : 1);
        if (topology)
            dt_spec_default_str(topology, "pack", gpus ? "nvlink" : "any");
        if (!gpus) {
            needs_gpus(resolved, problems, "gpu_type");
            needs_gpus(resolved, problems, "gpu_memory_min");
        }
    } else {
        gpus = -1;
        default_unknown(resources, "ranks_per_node");
        if (topology)
            default_unknown(topology, "pack");
    }
    if (!dt_spec_int_at(resolved, "resources.ranks_per_node", &ranks))
        return;
    if (is_none && ranks != 1) {
        problem = dt_spec_problem(problems, resolved, "resources.ranks_per_node", "spec.launch");
        dt_problem_text(problem, "launch: none starts one process per node, "
                                 "resources.ranks_per_node is %lld", (long long)ranks);
        dt_problem_help(problem, "write launch: torch or mpi, or leave ranks_per_node out");
    } else if (gpus > 0 && (ranks > gpus || gpus % ranks)) {
        struct dt_buf help = {0};

        problem = dt_spec_problem(problems, resolved, "resources.ranks_per_node", "spec.divide");
        dt_problem_text(problem, "resources.ranks_per_node (%lld) does not divide "
                                 "gpus_per_node (%lld)", (long long)ranks, (long long)gpus);
        dt_spec_divisors_print(&help, gpus, gpus);
        dt_problem_help(problem, "%s", dt_buf_str(&help));
        dt_buf_release(&help);
    }
}

static void rule_elastic(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_problem *problem;
    int64_t least, most, step;

    if (!dt_spec_int_at(resolved, "resources.nodes.min", &least) ||
        !dt_spec_int_at(resolved, "resources.nodes.max", &most) ||
        !dt_spec_int_at(resolved, "resources.nodes.step", &step))
        return;
    if (most < least) {
        problem = dt_spec_problem(problems, resolved, "resources.nodes.max", "spec.range");
        dt_problem_text(problem, "resources.nodes.max (%lld) is below min (%lld)",
                        (long long)most, (long long)least);
    } else if ((most - least) % step) {
        int64_t below = most - (most - least) % step;

        problem = dt_spec_problem(problems, resolved, "resources.nodes.max", "spec.divide");
        dt_problem_text(problem, "resources.nodes.max (%lld) is not min (%lld) plus a multiple of "
                                 "step (%lld)", (long long)most, (long long)least,
                        (long long)step);
        dt_problem_help(problem, "nearest: %lld or %lld", (long long)below,
                        (long long)(below + step));
    }
}

/* Every text of a host list expands; the names are counted. */
static bool hosts_check(struct dt_tree *resolved, struct dt_problems *problems, const char *path,
                        struct dt_buf *all)
{
    const struct dt_tree *list = dt_spec_at(resolved, path);
    struct dt_err err = {0};
    bool is_fine = list != NULL;
    size_t index = 0;

    for (const struct dt_tree *item = list ? list->first : NULL; item; item = item->next) {
        char item_path[64];
        char **names = NULL;
        size_t count = 0;

        snprintf(item_path, sizeof(item_path), "%s[%zu]", path, index++);
        if (item->kind != DT_TREE_STR) {
            is_fine = false;
        } else if (dt_hosts_expand(item->text, DT_NODES_MAX, &names, &count, &err)) {
            struct dt_problem *problem = dt_problem_add(problems, item_path, "spec.hosts",
                                                        item->at.line ? item->at : list->at);

            dt_problem_text(problem, "%s: %s", item_path, err.text);
            dt_problem_help(problem, "write host lists as gpu-[01-16,20] or gpu-01,gpu-02");
            is_fine = false;
        } else {
            dt_buf_print(all, "%s%s", all->size ? "," : "", item->text);
            dt_names_free(names, count);
        }
    }
    return is_fine;
}

static int by_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}

/* Names of include that exclude does not take away. */
static int64_t hosts_left(const char *include, const char *exclude)
{
    char **in = NULL, **out = NULL;
    size_t in_count = 0, out_count = 0;
    int64_t left = 0;

    if (dt_hosts_expand(include, DT_NODES_MAX, &in, &in_count, NULL))
        return INT64_MAX;
    if (*exclude && dt_hosts_expand(exclude, DT_NODES_MAX, &out, &out_count, NULL))
        out_count = 0;
    if (in_count)
        qsort(in, in_count, sizeof(*in), by_text);
    if (out_count)
        qsort(out, out_count, sizeof(*out), by_text);
    for (size_t i = 0; i < in_count; i++) {
        bool is_again = i && strcmp(in[i - 1], in[i]) == 0;

        left += !is_again &&
                !(out_count && bsearch(&in[i], out, out_count, sizeof(*out), by_text));
    }
    dt_names_free(in, in_count);
    dt_names_free(out, out_count);
    return left;
}

static void rule_hosts(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_buf include = {0}, exclude = {0};
    bool is_fine = hosts_check(resolved, problems, "resources.include", &include);
    int64_t least, most, step, left;

    is_fine = hosts_check(resolved, problems, "resources.exclude", &exclude) && is_fine;
    if (is_fine && include.size && dt_spec_nodes(resolved, &least, &most, &step)) {
        left = hosts_left(dt_buf_str(&include), dt_buf_str(&exclude));
        if (left < least) {
            struct dt_problem *problem = dt_spec_problem(problems, resolved, "resources.include",
                                                         "spec.hosts");

            dt_problem_text(problem, "resources.include leaves %lld of the %lld hosts "
                                     "that the job needs",
                            (long long)left, (long long)least);
        }
    }
    dt_buf_release(&include);
    dt_buf_release(&exclude);
}

/* "label op value". */
static bool is_constraint(const char *text)
{
    static const char operators[] = "== != < <= > >= in";
    size_t label = strcspn(text, " "), gap, operator_size;
    char word[4] = {0};

    gap = strspn(text + label, " ");
    operator_size = strcspn(text + label + gap, " ");
    if (!label || !gap || !operator_size || operator_size >= sizeof(word))
        return false;
    memcpy(word, text + label + gap, operator_size);
    text += label + gap + operator_size;
    return dt_spec_word_index(operators, word) >= 0 && *text == ' ' &&
           text[strspn(text, " ")] != 0;
}

static void rule_constraints(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *list = dt_spec_at(resolved, "resources.constraints");
    size_t index = 0;

    for (const struct dt_tree *item = list ? list->first : NULL; item; item = item->next) {
        struct dt_problem *problem;
        char path[64];

        snprintf(path, sizeof(path), "resources.constraints[%zu]", index++);
        if (item->kind != DT_TREE_STR || is_constraint(item->text))
            continue;
        problem = dt_problem_add(problems, path, "spec.constraint", item->at);
        dt_problem_text(problem, "%s: \"%.60s\" is not \"label op value\"", path, item->text);
        dt_problem_help(problem, "op is one of == != < <= > >= in: \"rack in r1,r2\"");
    }
}

static void rule_env(struct dt_tree *resolved, struct dt_problems *problems)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                                  "0123456789";
    const struct dt_tree *env = dt_spec_at(resolved, "env");
    struct dt_problem *problem;

    for (const struct dt_tree *item = env ? env->first : NULL; item; item = item->next) {
        struct dt_spec_path path = {0};
        size_t size = strlen(item->key);

        dt_spec_path_key(&path, "env");
        dt_spec_path_key(&path, item->key);
        if (!size || strspn(item->key, letters) != size ||
            (item->key[0] >= '0' && item->key[0] <= '9')) {
            problem = dt_problem_add(problems, path.text, "spec.env-name", item->key_at);
            dt_problem_text(problem, "\"%.60s\" is not the name of a variable", item->key);
            dt_problem_help(problem, "letters, digits and _, not a digit first");
        }
    }
}

/* Rule codes go with exit, signal and xid only; shrink needs an elastic job. */
static void rule_restart_rule(const struct dt_tree *resolved, const struct dt_tree *rule,
                              size_t index, struct dt_problems *problems)
{
    const char *on = dt_tree_str(rule, "on", NULL), *action = dt_tree_str(rule, "action", NULL);
    const struct dt_tree *codes = dt_tree_get(rule, "codes");
    const struct dt_tree *nodes = dt_spec_at(resolved, "resources.nodes");
    struct dt_problem *problem;
    char path[64];

    if (on && codes && codes->count && dt_spec_word_index("exit signal xid", on) < 0) {
        snprintf(path, sizeof(path), "restart.rules[%zu].codes", index);
        problem = dt_problem_add(problems, path, "spec.needs", codes->at);
        dt_problem_text(problem, "%s: %s has no codes", path, on);
        dt_problem_help(problem, "codes go with on: exit, signal or xid");
    }
    if (action && strcmp(action, "shrink") == 0 && nodes && nodes->kind == DT_TREE_INT) {
        snprintf(path, sizeof(path), "restart.rules[%zu].action", index);
        problem = dt_problem_add(problems, path, "spec.needs",
                                 dt_tree_get(rule, "action")->at);
        dt_problem_text(problem, "%s: shrink needs an elastic job", path);
        dt_problem_help(problem, "write resources.nodes as {min, max}");
    }
}

static void rule_restart(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *rules = dt_spec_at(resolved, "restart.rules");
    int64_t first = duration_at(resolved, "restart.backoff.initial");
    int64_t most = duration_at(resolved, "restart.backoff.max");
    size_t index = 0;

    for (const struct dt_tree *rule = rules ? rules->first : NULL; rule; rule = rule->next)
        rule_restart_rule(resolved, rule, index++, problems);
    if (first >= 0 && most >= 0 && first > most) {
        struct dt_problem *problem = dt_spec_problem(problems, resolved,
                                                     "restart.backoff.initial", "spec.order");

        dt_problem_text(problem, "restart.backoff.initial is longer than max");
    }
}

static void rule_times(struct dt_tree *resolved, struct dt_problems *problems)
{
    int64_t limit = duration_at(resolved, "limits.time");
    int64_t before = duration_at(resolved, "limits.signal.before");
    const struct dt_tree *begin = dt_spec_at(resolved, "begin");
    const struct dt_tree *deadline = dt_spec_at(resolved, "deadline");
    struct dt_problem *problem;
    int64_t from, until;

    if (limit >= 0 && before >= limit) {
        problem = dt_spec_problem(problems, resolved, "limits.signal.before", "spec.order");
        dt_problem_text(problem, "limits.signal.before is not below limits.time");
    } else if (before >= 0 && !dt_tree_get(dt_spec_at(resolved, "limits"), "time")) {
        problem = dt_spec_problem(problems, resolved, "limits.signal", "spec.needs");
        dt_problem_text(problem, "limits.signal without limits.time");
        dt_problem_help(problem, "the signal comes before the time limit: write limits.time");
    }
    if (!begin || !deadline || dt_parse_instant_ms(begin->text, &from, NULL) ||
        dt_parse_instant_ms(deadline->text, &until, NULL) || from < until)
        return;
    problem = dt_spec_problem(problems, resolved, "deadline", "spec.order");
    dt_problem_text(problem, "deadline is not after begin");
}

static void rule_notify(struct dt_tree *resolved, struct dt_problems *problems)
{
    const struct dt_tree *list = dt_spec_at(resolved, "notify");
    size_t index = 0;

    for (const struct dt_tree *item = list ? list->first : NULL; item; item = item->next) {
        bool has_webhook = dt_tree_get(item, "webhook") != NULL;
        char path[32];

        snprintf(path, sizeof(path), "notify[%zu]", index++);
        if (item->kind != DT_TREE_MAP || has_webhook != (dt_tree_get(item, "command") != NULL))
            continue;
        dt_problem_text(dt_problem_add(problems, path, "spec.one-of", item->at),
                        "%s needs exactly one of webhook and command", path);
    }
}

void dt_spec_rules(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *straggler = map_at(resolved, "health.straggler");

    rule_priority(resolved);
    rule_form(resolved, problems);
    rule_program(resolved, problems);
    rule_launch(resolved, problems);
    rule_ranks(resolved, problems);
    rule_elastic(resolved, problems);
    rule_hosts(resolved, problems);
    rule_constraints(resolved, problems);
    rule_env(resolved, problems);
    rule_restart(resolved, problems);
    rule_times(resolved, problems);
    rule_notify(resolved, problems);
    if (straggler && !dt_tree_get(straggler, "window"))
        dt_tree_put_int(dt_tree_put_new(straggler, "window", DT_TREE_MAP), "steps", 32);
    dt_spec_shape(resolved, problems);
    dt_spec_trainer(resolved, problems);
}
