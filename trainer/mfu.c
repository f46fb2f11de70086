/* How much of the machine's peak a training speed is, in both conventions. */
#include "mfu.h"

struct mfu mfu_of(const struct dt_run_shape *run, double tokens_per_s, double peak, int ranks)
{
    struct dt_flops flops = dt_model_flops(&run->model, run->seq);
    double scale = peak > 0 ? tokens_per_s / (peak * ranks) : 0;

    return (struct mfu){flops.six_n * scale, flops.full * scale,
                        (flops.full + dt_run_again_flops(run)) * scale};
}
