/* Fuzz target: manifest.json and claims from a disk somebody else wrote. */
#include "dt/ckpt/lineage.h"
#include "dt/ckpt/manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted must survive being written and read again. */
static void check_again(const struct dt_manifest *manifest)
{
    struct dt_manifest again = {0};
    struct dt_buf one = {0}, two = {0};
    struct dt_err err = {0};

    dt_manifest_write(&one, manifest);
    if (dt_manifest_read(one.data, one.size, &again, &err))
        abort();
    dt_manifest_write(&two, &again);
    if (one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
        abort();
    dt_buf_release(&one);
    dt_buf_release(&two);
    dt_manifest_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_manifest manifest = {0};
    struct dt_claim claim = {0};
    struct dt_err err = {0};

    if (dt_manifest_read((const char *)data, size, &manifest, &err) == DT_OK)
        check_again(&manifest);
    dt_manifest_release(&manifest);
    (void)!dt_claim_read((const char *)data, size, &claim, &err);
    return 0;
}
