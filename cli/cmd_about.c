/* dtctl explain, version: what dtctl knows by itself. */
#include "api.h"
#include "cmds.h"
#include "dt/core/spec.h"
#include "render.h"
#include "say.h"

static const struct dt_opt explain_opts[] = {
    {.name = "schema", .type = DT_OPT_FLAG, .help = "print the JSON Schema of job.yaml"},
    {.name = "man", .type = DT_OPT_FLAG, .help = "print the manual page job.yaml(5)"},
};

static int explain_run(const struct dt_args *args)
{
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    enum dt_code code = DT_OK;

    if (dt_args_has(args, "schema")) {
        struct dt_tree *schema = dt_spec_schema();

        dt_json_write_pretty(&buf, schema);
        dt_buf_byte(&buf, '\n');
        dt_tree_free(schema);
    } else if (dt_args_has(args, "man")) {
        dt_spec_man(&buf);
    } else {
        code = dt_spec_explain(&buf, args->operands_count ? args->operands[0] : "", &err);
    }
    if (!code)
        dt_put(&buf);
    dt_buf_release(&buf);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_explain = {
    .name = "explain",
    .operands = "[PATH]",
    .operands_most = 1,
    .summary = "What may stand in job.yaml: all fields, or one of them.",
    .examples = "  dtctl explain restart.rules\n  dtctl explain --schema >job.schema.json\n",
    .opts = explain_opts,
    .opts_count = DT_COUNT(explain_opts),
    .group = DT_GROUP_HELP,
    .run = explain_run,
};

static const struct dt_opt version_opts[] = {
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",
     .initial = "text", .help = "form of the output", .words = "text json yaml"},
    {.name = "client", .type = DT_OPT_FLAG, .help = "do not ask the controller"},
    DT_API_ROWS,
};

static int version_run(const struct dt_args *args)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *server = NULL;
    struct dt_err err = {0};
    struct dt_buf buf = {0};
    struct dt_api api = {.client.fd = -1};
    bool asks = !dt_args_has(args, "client");
    enum dt_code code = DT_OK;

    dt_tree_put_str(tree, "client", DT_VERSION);
    if (asks && !(code = dt_api_open(&api, args, &err)))
        code = dt_api_get(&api, "/v1/version", &server, &err);
    if (server)
        dt_tree_add(tree, "server", server);
    else
        dt_tree_put_str(tree, "server", NULL);
    if (!dt_output_is(args, "text")) {
        dt_output_tree(args, tree);
    } else {
        dt_buf_print(&buf, "dtctl %s\n", DT_VERSION);
        if (server) {
            dt_buf_text(&buf, "dtserver ");
            dt_add_safe(&buf, server->kind == DT_TREE_MAP ? dt_tree_str(server, "version", "?")
                                                          : dt_cell_text(server));
            dt_buf_byte(&buf, '\n');
        } else if (asks) {
            dt_say("no controller was asked: %s", err.text);
        }
        dt_put(&buf);
    }
    dt_buf_release(&buf);
    dt_tree_free(tree);
    dt_api_release(&api);
    /* Without any cluster the client's version is the whole answer. */
    return code && dt_args_str(args, "context") ? dt_code_exit(code) : 0;
}

const struct dt_cmd dt_cli_version = {
    .name = "version",
    .operands = "",
    .summary = "Versions of dtctl and of the controller.",
    .opts = version_opts,
    .opts_count = DT_COUNT(version_opts),
    .group = DT_GROUP_HELP,
    .run = version_run,
};
