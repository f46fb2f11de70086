/* Fuzz: progress lines of ranks never break the step process; texts stay ended. */
#include <assert.h>
#include <string.h>

#include "step/step.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct dt_progress progress = {.step = -1, .checkpoint_step = -1};
    char *copy = dt_copy_bytes(data, size); /* no NUL after it that would hide an over-read */

    metrics_line(&progress, copy, size);
    assert(memchr(progress.loss, 0, sizeof(progress.loss)));
    assert(memchr(progress.phase, 0, sizeof(progress.phase)));
    assert(memchr(progress.checkpoint_path, 0, sizeof(progress.checkpoint_path)));
    assert(progress.step >= -1 && progress.tokens >= 0 && progress.step_us >= 0);
    dt_free(copy);
    return 0;
}
