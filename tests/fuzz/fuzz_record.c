/* Any stored value: unsealed, and read as a job or node: corrupt, or whole. */
#include "dt/base/json.h"
#include "dt/wire/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_objects(const struct dt_tree *tree)
{
    struct dt_job *job = NULL;
    struct dt_node node = {0};
    struct dt_err err = {0};
    struct dt_record_parts parts = {dt_tree_get(tree, "job"), dt_tree_get(tree, "members"),
                                    dt_tree_get(tree, "spec"), NULL};

    if (dt_record_job_read(&parts, &job, &err) == DT_OK)
        dt_tree_free(dt_record_job_tree(job));
    dt_job_free(job, true);
    if (dt_record_node_read(tree, &node, &err) == DT_OK)
        dt_tree_free(dt_record_node_tree(&node));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};

    if (dt_record_unseal((const char *)data, size, &tree, &err) == DT_OK)
        dt_tree_free(tree);
    tree = NULL;
    if (dt_json_parse((const char *)data, size, &dt_json_limits_wire, &tree, &err))
        return 0;
    read_objects(tree);
    dt_tree_free(tree);
    return 0;
}
