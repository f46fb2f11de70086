/* Fuzz target: the beginning of a safetensors file from outside. */
#include "dt/ckpt/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_safetensors file = {0};
    struct dt_err err = {0};

    /* The tensors' bytes need not be there: the last byte says how many the file would have. */
    if (dt_safetensors_read(data, size, (int64_t)size + (size ? data[size - 1] : 0), &file,
                            &err) == DT_OK) {
        struct dt_buf buf = {0};

        dt_safetensors_write(&buf, file.items, file.count);
        dt_buf_release(&buf);
    }
    dt_safetensors_release(&file);
    return 0;
}
