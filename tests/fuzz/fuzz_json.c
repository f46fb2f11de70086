/* Any bytes as JSON: refused, or a tree that prints and reads as itself. */
#include <stdlib.h>

#include "dt/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_tree *tree = NULL, *again = NULL;
    struct dt_buf text = {0};
    struct dt_err err = {0};

    if (dt_json_parse((const char *)data, size, &dt_json_limits_wire, &tree, &err))
        return 0;
    dt_json_write_canonical(&text, tree);
    if (dt_json_parse(text.data, text.size, &dt_json_limits_wire, &again, &err) == DT_OK) {
        if (!dt_tree_equal(tree, again))
            abort();
    } else if (text.size <= dt_json_limits_wire.bytes_max) {
        abort(); /* only escapes may have made it too long */
    }
    dt_tree_free(tree);
    dt_tree_free(again);
    dt_buf_release(&text);
    return 0;
}
