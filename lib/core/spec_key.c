/* Advice on unknown keys: near misses, keys of other places, words of other systems. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/text.h"

static const struct { const char *word, *advice; } synonyms[] = {
    {"num_nodes", "resources.nodes"}, {"nnodes", "resources.nodes"},
    {"replicas", "resources.nodes"}, {"workers", "resources.nodes"},
    {"accelerators", "resources.gpus_per_node and resources.gpu_type"},
    {"gres", "resources.gpus_per_node and resources.gpu_type"},
    {"gpus", "resources.gpus_per_node"}, {"num_gpus", "resources.gpus_per_node"},
    {"nproc_per_node", "resources.ranks_per_node"},
    {"ntasks_per_node", "resources.ranks_per_node"},
    {"cpus_per_task", "resources.cpus_per_rank"}, {"mem", "resources.memory_per_node"},
    {"memory", "resources.memory_per_node"}, {"nodelist", "resources.include"},
    {"walltime", "limits.time"}, {"timeout", "limits.time"}, {"time_limit", "limits.time"},
    {"partition", "queue"}, {"account", "project"}, {"envs", "env"}, {"run", "script"},
    {"environment", "env"}, {"args", "command"}, {"entrypoint", "command"},
    {"dependency", "after"}, {"depends_on", "after"}, {"image", "container"},
    {"tp", "parallel.tensor"}, {"tensor_model_parallel_size", "parallel.tensor"},
    {"pp", "parallel.pipeline"}, {"pipeline_model_parallel_size", "parallel.pipeline"},
    {"dp", "parallel.data"}, {"cp", "parallel.context"}, {"ep", "parallel.expert"},
    {"batch_size", "trainer.micro_batch or trainer.global_batch"},
    {"learning_rate", "trainer.optimizer.lr"}, {"max_restarts", "restart.max"},
};

struct search {
    const char *word;
    int most;              /* nearest distance wanted */
    char found[64];        /* the key */
    struct dt_buf parents; /* "checkpoint or output" */
};

/* Collect the parents of every row whose key is the nearest so far. */
static void on_row(void *arg, const char *path, const struct dt_spec_field *field)
{
    struct search *search = arg;
    int distance = dt_text_distance(search->word, field->name, search->most);
    const char *dot = strrchr(path, '.');

    if (distance > search->most)
        return;
    if (distance < search->most || !search->found[0]) {
        dt_buf_clear(&search->parents);
        search->most = distance;
    } else if (strcmp(search->found, field->name) != 0) {
        return;
    }
    snprintf(search->found, sizeof(search->found), "%s", field->name);
    if (search->parents.size)
        dt_buf_text(&search->parents, " or ");
    if (dot)
        dt_buf_add(&search->parents, path, (size_t)(dot - path));
    else
        dt_buf_text(&search->parents, "the top level");
}

/* "`tensor` belongs under `parallel`" over all keys; false when none is near. */
static bool advise_elsewhere(struct dt_problem *problem, const char *word, int most)
{
    struct search search = {.word = word, .most = most};
    bool is_top;

    dt_spec_each(on_row, &search);
    if (search.found[0]) {
        is_top = strcmp(dt_buf_str(&search.parents), "the top level") == 0;
        dt_problem_help(problem, is_top ? "\"%s\" belongs at %s" : "\"%s\" belongs under \"%s\"",
                        search.found, dt_buf_str(&search.parents));
        if (most)
            dt_problem_replace(problem, search.found);
    }
    dt_buf_release(&search.parents);
    return search.found[0] != 0;
}

static void list_keys(struct dt_problem *problem, const struct dt_spec_object *object)
{
    struct dt_buf keys = {0};

    for (size_t i = 0; i < object->count; i++)
        dt_buf_print(&keys, "%s%s", i ? ", " : "", object->fields[i].name);
    dt_problem_help(problem, "known here: %s", dt_buf_str(&keys));
    dt_buf_release(&keys);
}

void dt_spec_unknown_key(struct dt_problems *problems, const struct dt_spec_path *parent,
                         const struct dt_spec_object *object, const struct dt_tree *node,
                         const struct dt_spec_field **poison)
{
    struct dt_spec_path path = *parent;
    const char *siblings[64], *nearest;
    struct dt_problem *problem;

    dt_spec_path_key(&path, node->key);
    problem = dt_problem_add(problems, path.text, "spec.unknown-key", node->key_at);
    if (parent->size)
        dt_problem_text(problem, "unknown key \"%.64s\" in %s", node->key, parent->text);
    else
        dt_problem_text(problem, "unknown key \"%.64s\"", node->key);
    for (size_t i = 0; i < object->count && i < DT_COUNT(siblings); i++)
        siblings[i] = object->fields[i].name;
    nearest = dt_text_nearest(node->key, siblings, object->count);
    if (nearest) {
        *poison = dt_spec_field_find(object, nearest, strlen(nearest));
        dt_problem_replace(problem, nearest);
        dt_problem_help(problem, "did you mean \"%s\"?", nearest);
        return;
    }
    if (advise_elsewhere(problem, node->key, 0))
        return;
    for (size_t i = 0; i < DT_COUNT(synonyms); i++) {
        if (strcmp(synonyms[i].word, node->key) != 0)
            continue;
        dt_problem_help(problem, "dt calls it %s", synonyms[i].advice);
        return;
    }
    if (!advise_elsewhere(problem, node->key, strlen(node->key) < 5 ? 1 : 2))
        list_keys(problem, object);
}
