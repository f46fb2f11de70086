/* The specification of a job: read, checked, released; what the server serves of it. */
#include "spec_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void texts_release(struct dt_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        dt_free(texts->item[i]);
    dt_free(texts->item);
}

void dt_spec_release(struct dt_spec *spec)
{
    if (!spec)
        return;
    texts_release(&spec->gpu_types);
    texts_release(&spec->include);
    texts_release(&spec->exclude);
    texts_release(&spec->command);
    texts_release(&spec->env);
    texts_release(&spec->compat);
    texts_release(&spec->after);
    dt_free(spec->script);
    dt_free(spec->workdir);
    dt_free(spec->checkpoint_dir);
    dt_free(spec->output_dir);
    dt_free(spec->resume);
    dt_free(spec->rules);
    dt_tree_free(spec->resolved);
    *spec = (struct dt_spec){0};
}

/* Depth and nodes, so that recursion below is bounded whoever built the tree. */
static bool is_small(const struct dt_tree *node, int depth, size_t *nodes)
{
    if (depth > DT_TREE_DEPTH_MAX || ++*nodes > DT_TREE_NODES_MAX)
        return false;
    for (const struct dt_tree *child = node->first; child; child = child->next)
        if (!is_small(child, depth + 1, nodes))
            return false;
    return true;
}

enum dt_code dt_spec_parse(const struct dt_tree *tree, struct dt_spec *spec,
                           struct dt_problems *problems)
{
    struct dt_spec draft = {0};
    struct dt_tree *resolved;
    size_t errors = problems->errors, nodes = 0;

    if (tree->kind != DT_TREE_MAP || !is_small(tree, 1, &nodes)) {
        struct dt_problem *problem = dt_problem_add(problems, "", "spec.type", tree->at);

        dt_problem_text(problem, tree->kind == DT_TREE_MAP
                                     ? "a specification of more than %d levels or %d values"
                                     : "a specification is a map of keys and values",
                        DT_TREE_DEPTH_MAX, DT_TREE_NODES_MAX);
        return DT_INVALID;
    }
    resolved = dt_spec_resolve(tree, problems);
    dt_spec_rules(resolved, problems);
    if (problems->errors == errors) {
        dt_spec_fill(&draft, resolved);
        dt_spec_release(spec);
        *spec = draft;
    }
    dt_tree_free(resolved);
    return problems->errors == errors ? DT_OK : DT_INVALID;
}

struct served {
    struct dt_problems *problems;
    struct dt_spec_path path;
};

/* The scalar as the user wrote it, to hold against words. */
static void scalar_text(const struct dt_tree *node, char *text, size_t size)
{
    if (node->kind == DT_TREE_INT)
        snprintf(text, size, "%lld", (long long)node->int_value);
    else if (node->kind == DT_TREE_BOOL)
        snprintf(text, size, "%s", node->bool_value ? "true" : "false");
    else if (node->kind == DT_TREE_LIST && !node->count)
        snprintf(text, size, "[]");
    else if (node->kind == DT_TREE_MAP && !node->count)
        snprintf(text, size, "{}");
    else
        snprintf(text, size, "%s", !node->first && node->text ? node->text : "");
}

static bool is_served(const struct dt_spec_field *field, const struct dt_tree *node)
{
    bool is_map = node->kind == DT_TREE_MAP || node->kind == DT_TREE_LIST;
    char text[256];

    if (is_map && (field->unserved_types & DT_SPEC_MAP))
        return false;
    if (!is_map && (field->unserved_types & DT_SPEC_WORD) && node->kind == DT_TREE_STR)
        return false;
    if (!field->served)
        return true;
    scalar_text(node, text, sizeof(text));
    return dt_spec_word_index(field->served, text) >= 0 ||
           (field->initial && text[0] && strcmp(field->initial, text) == 0);
}

static void refuse_unserved(struct served *served, const struct dt_spec_field *field,
                            const struct dt_tree *node)
{
    struct dt_problem *problem = dt_problem_add(
        served->problems, served->path.text, "spec.unsupported",
        node->key_at.line ? node->key_at : node->at);
    struct dt_buf help = {0};

    if (field->served && field->served[0]) {
        dt_problem_text(problem, "%s: this value is not supported by this server",
                        served->path.text);
        dt_buf_text(&help, "supported: ");
        dt_spec_words_print(&help, field->served);
        dt_problem_help(problem, "%s", dt_buf_str(&help));
    } else if (field->unserved_types) {
        dt_problem_text(problem, "%s in this form is not supported by this server",
                        served->path.text);
    } else {
        dt_problem_text(problem, "%s is not supported by this server", served->path.text);
        dt_problem_help(problem, "leave it out");
    }
    dt_buf_release(&help);
}

static void served_object(struct served *served, const struct dt_spec_object *object,
                          const struct dt_tree *map)
{
    for (const struct dt_tree *item = map->first; item; item = item->next) {
        const struct dt_spec_field *field = dt_spec_field_find(object, item->key,
                                                               strlen(item->key));
        size_t before = dt_spec_path_key(&served->path, item->key);

        if (field && !is_served(field, item))
            refuse_unserved(served, field, item);
        else if (field && field->object && item->kind == DT_TREE_MAP)
            served_object(served, field->object, item);
        dt_spec_path_cut(&served->path, before);
    }
}

enum dt_code dt_spec_check_served(const struct dt_tree *tree, struct dt_problems *problems)
{
    struct served served = {.problems = problems};
    const struct dt_tree *env = dt_tree_get(tree, "env");
    size_t errors = problems->errors;
    bool is_missing = false;

    if (tree->kind != DT_TREE_MAP)
        return DT_INVALID;
    served_object(&served, &dt_spec_root, tree);
    for (const struct dt_tree *item = env ? env->first : NULL; item; item = item->next) {
        struct dt_problem *problem;
        struct dt_spec_path path = {0};

        if (item->kind != DT_TREE_NULL)
            continue;
        is_missing = true;
        dt_spec_path_key(&path, "env");
        dt_spec_path_key(&path, item->key);
        problem = dt_problem_add(problems, path.text, "spec.env-required", item->key_at);
        dt_problem_text(problem, "%s must be given", path.text);
        dt_problem_help(problem, "dtctl submit --env %.64s=VALUE", item->key);
    }
    if (is_missing)
        return DT_INVALID;
    return problems->errors == errors ? DT_OK : DT_UNSUPPORTED;
}
