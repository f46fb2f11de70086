/* Any bytes as job.yaml: refused or read, and what is read resolves to itself. */
#include <stdlib.h>

#include "dt/base/json.h"
#include "yaml_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct dt_spec *spec)
{
    struct dt_problems problems = {0};
    struct dt_spec again = {0};

    if (dt_spec_parse(spec->resolved, &again, &problems))
        abort(); /* a resolved specification is valid */
    if (!dt_tree_equal(spec->resolved, again.resolved))
        abort();
    dt_spec_release(&again);
    dt_problems_release(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_problems problems = {0};
    struct dt_spec spec = {0};
    struct dt_tree *tree = NULL, *list;
    struct dt_buf report = {0};
    enum dt_code code;

    code = dt_yaml_parse((const char *)data, size, &tree, &problems);
    if (code && !problems.errors)
        abort(); /* refused without a reason */
    if (tree && dt_spec_parse(tree, &spec, &problems) == DT_OK)
        check_again(&spec);
    if (tree && dt_spec_check_served(tree, &problems) && !problems.errors)
        abort();
    dt_problems_report(&report, &problems, "job.yaml", (const char *)data, size);
    list = dt_problems_tree(&problems, "job.yaml");
    dt_json_write(&report, list);
    dt_tree_free(list);
    dt_buf_release(&report);
    dt_spec_release(&spec);
    dt_tree_free(tree);
    dt_problems_release(&problems);
    return 0;
}
