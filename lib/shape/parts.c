/* Who owns which part: micro-batches over replicas, elements over buckets. */
#include "dt/shape/parts.h"

#include <assert.h>

struct dt_span dt_share(int64_t total, int64_t parts, int64_t index)
{
    int64_t low = total / parts, more = total % parts;

    assert(index >= 0 && index < parts && total >= 0);
    return (struct dt_span){
        .first = index * low + (index < more ? index : more),
        .count = low + (index < more),
    };
}

/* First element of a layer's tensors; layer == layers: what follows the layers. */
static int64_t layer_begin(const struct dt_model *model, int64_t layer)
{
    struct dt_model none = *model, shallow = *model;
    int64_t after;

    none.layers = 0;
    shallow.layers = 1;
    after = model->hidden * (model->arch == DT_ARCH_GPT2 ? 2 : 1) +
            (model->is_tied ? 0 : model->vocab * model->hidden);
    return dt_model_params(&none) - after +
           layer * (dt_model_params(&shallow) - dt_model_params(&none));
}

void dt_buckets_init(struct dt_buckets *buckets, const struct dt_model *model,
                     int64_t bytes_wanted)
{
    int64_t end = dt_model_params(model), begin;

    buckets->items = dt_alloc((size_t)model->layers + 1, sizeof(*buckets->items));
    buckets->count = 0;
    for (int64_t layer = model->layers - 1; layer >= -1; layer--) {
        begin = layer < 0 ? 0 : layer_begin(model, layer);
        if (layer >= 0 && (end - begin) * 4 < bytes_wanted)
            continue;
        buckets->items[buckets->count++] = (struct dt_bucket){{begin, end - begin}, layer};
        end = begin;
    }
    assert(end == 0);
}

void dt_buckets_release(struct dt_buckets *buckets)
{
    if (!buckets)
        return;
    dt_free(buckets->items);
    *buckets = (struct dt_buckets){0};
}

int64_t dt_reduce_bytes(int64_t count, int data)
{
    return data > 1 ? 2 * (data - 1) * 4 * count / data : 0;
}
