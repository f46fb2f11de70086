/* The body of POST /v1/jobs, read and checked before anything else sees it. */
#include "submit_body.h"

#include <string.h>

#define COPIES_MAX 1000
#define DIR_BYTES_MAX 500

const struct dt_json_limits api_body_limits = {
    .bytes_max = 1024 * 1024, .depth_max = 20, .nodes_max = 50000};

enum dt_code api_body_read(const char *bytes, size_t size, struct dt_tree **tree,
                           struct dt_err *err)
{
    struct dt_tree *made = NULL;

    if (dt_json_parse(bytes, size, &api_body_limits, &made, err))
        return err ? err->code = DT_USAGE : DT_USAGE;
    if (made->kind != DT_TREE_MAP) {
        dt_tree_free(made);
        return dt_fail(err, DT_USAGE, "the body must be a JSON object");
    }
    *tree = made;
    return DT_OK;
}

/* A member that is there must have the right kind: a wrong one is no default. */
static enum dt_code form_check(const struct dt_tree *tree, struct dt_err *err)
{
    static const struct {
        const char *name;
        enum dt_tree_kind kind;
        const char *expected;
    } rows[] = {
        {"spec", DT_TREE_MAP, "the specification as an object"},
        {"count", DT_TREE_INT, "a whole number 1 to 1000"},
        {"submit_dir", DT_TREE_STR, "an absolute path of at most 500 bytes"},
        {"source", DT_TREE_STR, "the text of the file"},
        {"source_name", DT_TREE_STR, "the name of the file"},
        {"dry_run", DT_TREE_BOOL, "true or false"},
        {"if_possible", DT_TREE_BOOL, "true or false"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        const struct dt_tree *member = dt_tree_get(tree, rows[i].name);
        bool is_absent = !member || (member->kind == DT_TREE_NULL && i > 0);

        if (is_absent ? i == 0 : member->kind != rows[i].kind)
            return dt_fail(err, DT_USAGE, "%s: expected %s", rows[i].name, rows[i].expected);
    }
    return DT_OK;
}

static enum dt_code form_read(struct submit_body *body, struct dt_err *err)
{
    int64_t count = dt_tree_int(body->tree, "count", 1);
    enum dt_code code = form_check(body->tree, err);

    if (code)
        return code;
    body->submit_dir = dt_tree_str(body->tree, "submit_dir", "/");
    body->source = dt_tree_str(body->tree, "source", NULL);
    body->is_dry_run = dt_tree_bool(body->tree, "dry_run", false);
    body->is_if_possible = dt_tree_bool(body->tree, "if_possible", false);
    if (count < 1 || count > COPIES_MAX)
        return dt_fail(err, DT_USAGE, "count: expected 1 to %d", COPIES_MAX);
    if (count > 1 && body->is_if_possible)
        return dt_fail(err, DT_USAGE, "if_possible: goes with one job, found count %d",
                       (int)count);
    body->count = (int)count;
    if (body->submit_dir[0] != '/' || strlen(body->submit_dir) > DIR_BYTES_MAX)
        return dt_fail(err, DT_USAGE, "submit_dir: expected an absolute path of at most %d bytes",
                       DIR_BYTES_MAX);
    return DT_OK;
}

enum dt_code submit_body_read(const char *bytes, size_t size, struct submit_body *body,
                              struct dt_problems *problems, struct dt_err *err)
{
    enum dt_code code = api_body_read(bytes, size, &body->tree, err);
    const struct dt_tree *spec;

    if (code || (code = form_read(body, err)))
        return code;
    spec = dt_tree_get(body->tree, "spec");
    if (dt_spec_parse(spec, &body->spec, problems))
        return dt_fail(err, DT_INVALID, "the specification is not valid: %.300s",
                       problems->count ? problems->item[0].text : "");
    if (dt_spec_check_served(spec, problems))
        return dt_fail(err, DT_UNSUPPORTED, "this server does not serve all of it yet: %.300s",
                       problems->count ? problems->item[0].text : "");
    return DT_OK;
}

void submit_body_release(struct submit_body *body)
{
    dt_spec_release(&body->spec);
    dt_tree_free(body->tree);
    *body = (struct submit_body){0};
}
