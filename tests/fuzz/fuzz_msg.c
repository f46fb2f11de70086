/* Any JSON as a message: checked against the table, its parts read within their bounds. */
#include "dt/base/json.h"
#include "dt/wire/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_report(const struct dt_tree *tree)
{
    struct dt_gang_report report = {0};
    struct dt_err err = {0};

    if (tree && dt_msg_report_read(tree, &report, &err) == DT_OK)
        dt_tree_free(dt_msg_report_tree(&report));
    dt_free(report.exits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_inventory inventory = {0};
    struct dt_progress progress = {0};
    struct dt_rank_exit end = {0};
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    const struct dt_tree *gangs;
    enum dt_code codes[4];

    if (dt_json_parse((const char *)data, size, &dt_json_limits_wire, &tree, &err))
        return 0;
    for (int from = 0; from < 4; from++)
        codes[from] = dt_msg_check(tree, (enum dt_msg_from)from, &err);
    (void)codes;
    read_report(tree);
    gangs = dt_tree_get(tree, "gangs");
    for (const struct dt_tree *item = gangs ? gangs->first : NULL; item; item = item->next)
        read_report(item);
    if (dt_tree_get(tree, "inventory") &&
        dt_msg_inventory_read(dt_tree_get(tree, "inventory"), &inventory, &err) == DT_OK)
        dt_tree_free(dt_msg_inventory_tree(&inventory));
    dt_inventory_release(&inventory);
    dt_msg_progress_read(dt_tree_get(tree, "progress"), &progress);
    dt_msg_exit_read(tree, &end);
    dt_tree_free(tree);
    return 0;
}
