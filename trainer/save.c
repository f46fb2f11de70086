/* Writing a checkpoint: shards, then the manifest, then one rename that makes it count. */
#include "save.h"

#include "shard.h"

#include "dt/ckpt/safetensors.h"
#include "dt/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARD_BYTES ((int64_t)1 << 30) /* a shard holds whole tensors, about this much */

void save_fingerprint(const struct dt_model *m, char hex[DT_SHA256_HEX_BYTES])
{
    struct dt_buf buf = {0};

    dt_buf_print(&buf, "%s layers %lld hidden %lld heads %lld kv %lld ffn %lld vocab %lld tied %d",
                 dt_arch_name(m->arch), (long long)m->layers, (long long)m->hidden,
                 (long long)m->heads, (long long)m->kv_heads, (long long)m->ffn,
                 (long long)m->vocab, m->is_tied);
    if (m->arch == DT_ARCH_GPT2)
        dt_buf_print(&buf, " positions %lld", (long long)m->positions);
    dt_sha256_hex(buf.data, buf.size, hex);
    dt_buf_release(&buf);
}

/* Parameters, first and second moments: three tensors a logical one. */
static size_t stored_count(const struct model *model)
{
    return 3 * dt_model_tensors_count(&model->run.model);
}

static const float *stored_at(const struct model *model, size_t index, struct dt_tensor *tensor,
                              char name[128])
{
    static const char *const prefixes[] = {"", "adam_m.", "adam_v."};
    const float *const buffers[] = {model->params, model->adam_m, model->adam_v};
    size_t count = dt_model_tensors_count(&model->run.model), kind = index / count;

    dt_model_tensor(&model->run.model, index % count, tensor);
    snprintf(name, 128, "%s%s", prefixes[kind], tensor->name);
    return buffers[kind] + tensor->offset;
}

/* The next tensors that go into one shard: their count. */
static size_t shard_extent(const struct model *model, size_t first)
{
    struct dt_tensor tensor;
    char name[128];
    int64_t bytes = 0;
    size_t count = 0;

    while (first + count < stored_count(model) && (count == 0 || bytes < SHARD_BYTES)) {
        stored_at(model, first + count, &tensor, name);
        bytes += 4 * tensor.rows * tensor.cols;
        count++;
    }
    return count;
}

/* Enter count tensors from first on into the manifest, as lying in shard behind its header. */
static void describe(const struct model *model, struct dt_manifest *m, size_t first,
                     size_t count, struct dt_buf *header)
{
    struct dt_safetensor *items = dt_alloc(count, sizeof(*items));
    int64_t at = 0;

    for (size_t i = 0; i < count; i++) {
        struct dt_stored *stored = &m->tensors[first + i];
        struct dt_tensor tensor;

        stored_at(model, first + i, &tensor, stored->name);
        snprintf(stored->dtype, sizeof(stored->dtype), "F32");
        stored->rows = tensor.rows;
        stored->cols = tensor.cols;
        stored->is_vector = tensor.is_vector;
        snprintf(items[i].name, sizeof(items[i].name), "%s", stored->name);
        snprintf(items[i].dtype, sizeof(items[i].dtype), "F32");
        if (!tensor.is_vector)
            items[i].shape[items[i].dims++] = tensor.rows;
        items[i].shape[items[i].dims++] = tensor.cols;
        items[i].begin = at;
        at += 4 * tensor.rows * tensor.cols;
        items[i].end = at;
    }
    dt_safetensors_write(header, items, count);
    for (size_t i = 0; i < count; i++) {
        struct dt_stored *stored = &m->tensors[first + i];

        stored->slices = dt_alloc(1, sizeof(*stored->slices));
        stored->slices_count = 1;
        stored->slices[0] = (struct dt_slice){
            .shard = m->shards_count - 1,
            .begin = items[i].begin + (int64_t)header->size,
            .end = items[i].end + (int64_t)header->size,
            .row_count = stored->rows};
    }
    dt_free(items);
}

/* All tensors into shards below dir; the manifest learns where. */
static enum dt_code write_shards(const struct model *model, const char *dir,
                                 struct dt_manifest *m, struct dt_err *err)
{
    struct dt_tensor tensor;
    struct shard_writer writer;
    char name[128];
    enum dt_code code = DT_OK;

    m->tensors_count = stored_count(model);
    m->tensors = dt_alloc(m->tensors_count, sizeof(*m->tensors));
    m->shards = dt_alloc(m->tensors_count, sizeof(*m->shards));
    for (size_t first = 0, count; first < m->tensors_count && !code; first += count) {
        struct dt_shard *shard = &m->shards[m->shards_count++];
        struct dt_buf header = {0};

        count = shard_extent(model, first);
        snprintf(shard->file, sizeof(shard->file), "shard-%05zu.safetensors",
                 m->shards_count - 1);
        describe(model, m, first, count, &header);
        code = shard_create(&writer, dir, shard, err);
        if (!code)
            code = shard_add(&writer, header.data, (int64_t)header.size, err);
        for (size_t i = first; i < first + count && !code; i++) {
            const float *bytes = stored_at(model, i, &tensor, name);

            code = shard_add(&writer, bytes, 4 * tensor.rows * tensor.cols, err);
        }
        code = shard_close(&writer, code, err);
        dt_buf_release(&header);
    }
    return code;
}

static void describe_run(const struct save *save, struct dt_manifest *m)
{
    const struct config *config = save->config;

    snprintf(m->job, sizeof(m->job), "%s", save->all->job);
    m->gen = save->all->gen;
    m->step = save->step;
    m->parent_gen = save->parent.gen;
    m->parent_step = save->parent.step;
    save_fingerprint(&config->model, m->model_fingerprint);
    memcpy(m->data_fingerprint, save->data->fingerprint, sizeof(m->data_fingerprint));
    m->world = save->exec->comm->size;
    m->tensor = save->exec->mesh.tensor;
    m->context = save->exec->mesh.context;
    m->pipeline = save->exec->mesh.pipeline;
    m->data = save->exec->mesh.data;
    m->seed = config->seed;
    m->consumed = save->exec->consumed;
    m->optimizer_step = save->exec->optimizer_step;
    m->horizon = config->lr.horizon;
    m->warmup = config->lr.warmup;
    m->weights_crc32c = dt_crc32c(0, save->model->params,
                                  (size_t)save->model->params_count * sizeof(float));
}

/* Shards and manifest into the temporary directory. */
static enum dt_code write_inside(const struct save *save, const char *dir, struct dt_err *err)
{
    struct dt_manifest m = {0};
    struct dt_buf buf = {0};
    char path[4300];
    enum dt_code code;

    describe_run(save, &m);
    code = write_shards(save->model, dir, &m, err);
    for (size_t i = 0; i < m.shards_count && !code && save->config->is_verified; i++)
        code = shard_verify(dir, &m.shards[i], err);
    if (!code) {
        dt_manifest_write(&buf, &m);
        snprintf(path, sizeof(path), "%s/manifest.json", dir);
        code = dt_file_replace(path, buf.data, buf.size, 0666, err);
    }
    dt_buf_release(&buf);
    dt_manifest_release(&m);
    return code;
}

enum dt_code save_write(const struct save *save, char path[4200], struct dt_err *err)
{
    char name[DT_STEP_NAME_BYTES], temporary[4200];
    enum dt_code code;

    dt_step_name(name, save->step, save->all->gen);
    snprintf(path, 4200, "%s/%s", save->all->dir, name);
    if ((code = checkpoints_check(save->all, err)))
        return code;
    /* Renamed by an earlier try of ours that failed only afterwards: make the name durable. */
    snprintf(temporary, sizeof(temporary), "%.4100s/manifest.json", path);
    if (access(temporary, F_OK) == 0)
        return dt_dir_sync(save->all->dir, err);
    snprintf(temporary, sizeof(temporary), "%s/.tmp-%s", save->all->dir, name);
    if ((code = dt_dir_remove(temporary, err)) || (code = dt_dir_make(temporary, 0777, err)))
        return code;
    if ((code = write_inside(save, temporary, err)) || (code = dt_dir_sync(temporary, err)) ||
        (code = checkpoints_check(save->all, err)))
        goto out;
    if (rename(temporary, path))
        code = dt_fail(err, DT_IO, "cannot rename %s: %s", temporary, strerror(errno));
    else
        code = dt_dir_sync(save->all->dir, err);
out:
    if (code)
        (void)!dt_dir_remove(temporary, NULL);
    return code;
}
