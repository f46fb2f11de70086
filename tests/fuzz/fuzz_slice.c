/* Any bytes as JSON text to be sliced: every slice lies inside, and every walk ends. */
#include <stdlib.h>

#include "slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_slice text = {(const char *)data, size}, value, item;
    size_t state = 0, count = 0;

    if (dt_slice_member(text, "items", &value) &&
        (value.at < text.at || value.at + value.size > text.at + size))
        abort();
    while (dt_slice_next(text, &state, &item)) {
        if (!item.size || item.at < text.at || item.at + item.size > text.at + size)
            abort();
        if (++count > size)
            abort();
    }
    return 0;
}
