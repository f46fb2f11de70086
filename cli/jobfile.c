/* A job file as the command line changed it, with everything that is wrong with it. */
#include "jobfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dt/os/file.h"
#include "yaml_in.h"

static enum dt_code stdin_read(struct dt_buf *buf, struct dt_err *err)
{
    char bytes[8192];
    ssize_t n;

    while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dt_fail(err, DT_IO, "standard input: %s", strerror(errno));
        dt_buf_add(buf, bytes, (size_t)n);
        if (buf->size > DT_SPEC_BYTES_MAX)
            return dt_fail(err, DT_INVALID, "standard input: more than %d bytes",
                           DT_SPEC_BYTES_MAX);
    }
    return DT_OK;
}

/* --env K=V and --env K. */
static enum dt_code env_apply(struct dt_tree *tree, const struct dt_args *args,
                              struct dt_err *err)
{
    struct dt_tree *env = dt_tree_get(tree, "env");
    const char *text;

    for (size_t i = 0; (text = dt_args_nth(args, "env", i)); i++) {
        size_t size = strcspn(text, "=");
        const char *value = text[size] ? text + size + 1 : NULL;
        char *key = dt_copy_bytes(text, size);

        if (!value)
            value = getenv(key);
        if (!size || !value) {
            dt_fail(err, DT_USAGE, "--env %s: %s", text,
                    size ? "it is not set here" : "expected K=V");
            dt_free(key);
            return DT_USAGE;
        }
        if (!env || env->kind != DT_TREE_MAP)
            env = dt_tree_put_new(tree, "env", DT_TREE_MAP);
        dt_tree_put_str(env, key, value)->is_quoted = true;
        dt_free(key);
    }
    return DT_OK;
}

/* --after JOB[:on] */
static void after_apply(struct dt_tree *tree, const struct dt_args *args)
{
    struct dt_tree *list = dt_tree_get(tree, "after");
    const char *text;

    for (size_t i = 0; (text = dt_args_nth(args, "after", i)); i++) {
        const char *colon = strrchr(text, ':');
        char *job = dt_copy_bytes(text, colon ? (size_t)(colon - text) : strlen(text));
        struct dt_tree *item;

        if (!list || list->kind != DT_TREE_LIST)
            list = dt_tree_put_new(tree, "after", DT_TREE_LIST);
        item = dt_tree_put_new(list, NULL, DT_TREE_MAP);
        dt_tree_put_str(item, "job", job);
        dt_tree_put_str(item, "on", colon ? colon + 1 : "ok");
        dt_free(job);
    }
}

static enum dt_code options_apply(struct dt_jobfile *file, const struct dt_args *args,
                                  struct dt_err *err)
{
    const char *text;
    enum dt_code code;

    if (file->tree->kind != DT_TREE_MAP)
        return DT_OK; /* the check says so, with its place */
    for (size_t i = 0; (text = dt_args_nth(args, "set", i)); i++) {
        if ((code = dt_spec_override(file->tree, text, err))) {
            dt_prefix(err, "--set %s", text);
            return code;
        }
    }
    if ((code = env_apply(file->tree, args, err)))
        return code;
    if (dt_args_str(args, "name"))
        dt_tree_put_str(file->tree, "name", dt_args_str(args, "name"));
    after_apply(file->tree, args);
    if (strcmp(file->path, "-") != 0)
        dt_spec_name_after(file->tree, file->path);
    return DT_OK;
}

/* Variables that must be given and were not. */
static void env_check(struct dt_jobfile *file)
{
    const struct dt_tree *env = dt_tree_get(file->tree, "env");

    for (const struct dt_tree *item = env ? env->first : NULL; item; item = item->next) {
        struct dt_problem *problem;
        char path[128];

        if (item->kind != DT_TREE_NULL || !item->key)
            continue;
        snprintf(path, sizeof(path), "env.%s", item->key);
        problem = dt_problem_add(&file->problems, path, "spec.env-required", item->key_at);
        dt_problem_text(problem, "%s must be given", path);
        dt_problem_help(problem, "dtctl submit --env %s=VALUE, or --env %s to take it from here",
                        item->key, item->key);
    }
}

static bool has_errors(const struct dt_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (!problems->item[i].is_warning)
            return true;
    return false;
}

static enum dt_code check(struct dt_jobfile *file, struct dt_err *err)
{
    struct dt_spec spec = {0};
    enum dt_code code = dt_spec_parse(file->tree, &spec, &file->problems);

    dt_spec_release(&spec);
    env_check(file);
    if (has_errors(&file->problems))
        code = DT_INVALID;
    if (code)
        return dt_fail(err, code, "%s is not a valid job", file->path);
    return DT_OK;
}

enum dt_code dt_jobfile_read(struct dt_jobfile *file, const char *path,
                             const struct dt_args *args, struct dt_err *err)
{
    enum dt_code code;

    *file = (struct dt_jobfile){.path = path};
    code = strcmp(path, "-") == 0 ? stdin_read(&file->source, err)
                                  : dt_file_read(path, DT_SPEC_BYTES_MAX, &file->source, err);
    if (code)
        return code;
    code = dt_yaml_parse(dt_buf_str(&file->source), file->source.size, &file->tree,
                         &file->problems);
    if (code && !file->tree) /* else readable in spite of it: say everything at once */
        return dt_fail(err, DT_INVALID, "%s is not a valid job", path);
    if ((code = options_apply(file, args, err)))
        return code;
    return check(file, err);
}

/* The node at a path such as "restart.rules[1].codes" (or .1.), and how it is reached. */
static const struct dt_tree *node_at(const struct dt_tree *tree, const char *path)
{
    while (tree && *path) {
        size_t size = strcspn(path, ".[]");
        char *word = dt_copy_bytes(path, size);
        int64_t index;

        if (tree->kind == DT_TREE_LIST && dt_parse_int(word, 0, 1 << 20, &index)) {
            for (tree = tree->first; tree && index > 0; index--)
                tree = tree->next;
        } else if (size) {
            tree = dt_tree_get(tree, word);
        }
        dt_free(word);
        path += size + (path[size] != 0);
    }
    return tree;
}

/* Where the nearest written ancestor of path stands. */
static struct dt_place_in_file place_of(const struct dt_tree *tree, const char *path)
{
    char *cut = dt_copy_text(path);
    struct dt_place_in_file at = {0};

    for (;;) {
        const struct dt_tree *node = node_at(tree, cut);
        char *dot = strrchr(cut, '.'), *bracket = strrchr(cut, '[');

        if (node && (node->at.line || node->key_at.line)) {
            at = node->at.line ? node->at : node->key_at;
            break;
        }
        if (bracket > dot)
            dot = bracket;
        if (!dot)
            break;
        *dot = 0;
    }
    dt_free(cut);
    return at;
}

bool dt_jobfile_refused(struct dt_jobfile *file, const struct dt_tree *refusal)
{
    const struct dt_tree *errors = dt_tree_get(refusal, "errors");

    if (!errors || errors->kind != DT_TREE_LIST || !errors->count)
        return false;
    dt_problems_release(&file->problems);
    for (const struct dt_tree *item = errors->first; item; item = item->next) {
        const char *path = dt_tree_str(item, "path", "");
        const struct dt_tree *first = dt_tree_get(item, "suggestions")
                                          ? dt_tree_get(item, "suggestions")->first : NULL;
        struct dt_place_in_file at = {(int)dt_tree_int(item, "line", 0),
                                      (int)dt_tree_int(item, "column", 0),
                                      (int)dt_tree_int(item, "end_column", 0)};
        struct dt_problem *problem;

        if (!at.line)
            at = place_of(file->tree, path);
        problem = dt_problem_add(&file->problems, path,
                                 dt_tree_str(item, "code", "spec.refused"), at);
        problem->is_warning = strcmp(dt_tree_str(item, "severity", ""), "warning") == 0;
        dt_problem_text(problem, "%s", dt_tree_str(item, "message", "refused"));
        if (dt_tree_str(item, "help", NULL))
            dt_problem_help(problem, "%s", dt_tree_str(item, "help", ""));
        if (first && first->kind == DT_TREE_STR)
            dt_problem_replace(problem, first->text);
    }
    return true;
}

void dt_jobfile_release(struct dt_jobfile *file)
{
    dt_buf_release(&file->source);
    dt_tree_free(file->tree);
    dt_problems_release(&file->problems);
    *file = (struct dt_jobfile){0};
}
