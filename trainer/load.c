/* Going on from a checkpoint: the newest one that is whole, or none. */
#include "load.h"

#include "save.h"
#include "shard.h"

#include "dt/ckpt/safetensors.h"
#include "dt/os/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum dt_code read_manifest(const char *dir, struct dt_manifest *m,
                                  char digest[DT_SHA256_HEX_BYTES], struct dt_err *err)
{
    struct dt_buf buf = {0};
    char path[5000];
    enum dt_code code;

    if (!dt_path_join(path, sizeof(path), dir, "manifest.json"))
        return dt_fail(err, DT_INVALID, "the path is too long");
    code = dt_file_read(path, DT_MANIFEST_BYTES_MAX, &buf, err);
    if (!code) {
        dt_sha256_hex(buf.data, buf.size, digest);
        code = dt_manifest_read(dt_buf_str(&buf), buf.size, m, err);
        if (code)
            dt_prefix(err, "%s", path);
    }
    dt_buf_release(&buf);
    return code;
}

/* The shard's own header must say the same as the manifest. */
static enum dt_code check_header(const char *dir, const struct dt_manifest *m, size_t shard,
                                 struct dt_err *err)
{
    struct dt_safetensors file = {0};
    int64_t begin = INT64_MAX;
    char *bytes;
    enum dt_code code;

    for (size_t i = 0; i < m->tensors_count; i++)
        for (size_t j = 0; j < m->tensors[i].slices_count; j++)
            if (m->tensors[i].slices[j].shard == shard && m->tensors[i].slices[j].begin < begin)
                begin = m->tensors[i].slices[j].begin;
    if (begin > m->shards[shard].size || begin > (int64_t)DT_SAFETENSORS_HEADER_MAX)
        return dt_fail(err, DT_CORRUPT, "%s: no header", m->shards[shard].file);
    bytes = dt_alloc((size_t)begin, 1);
    code = shard_read(dir, &m->shards[shard], (const int64_t[2]){0, begin}, bytes, err);
    if (!code)
        code = dt_safetensors_read(bytes, (size_t)begin, m->shards[shard].size, &file, err);
    for (size_t i = 0; i < file.count && !code; i++) {
        const struct dt_stored *stored = dt_manifest_find(m, file.items[i].name);

        if (!stored || strcmp(stored->dtype, file.items[i].dtype) != 0 ||
            stored->slices[0].begin != file.data_begin + file.items[i].begin)
            code = dt_fail(err, DT_CORRUPT, "%s/%s: tensor %s is not where the manifest says",
                           dir, m->shards[shard].file, file.items[i].name);
    }
    dt_safetensors_release(&file);
    dt_free(bytes);
    return code;
}

static enum dt_code read_tensor(const char *dir, const struct dt_manifest *m, const char *name,
                                const struct dt_tensor *tensor, float *out)
{
    const struct dt_stored *stored = dt_manifest_find(m, name);
    struct dt_err err = {0};

    if (!stored || stored->rows != tensor->rows || stored->cols != tensor->cols ||
        strcmp(stored->dtype, "F32") != 0)
        return DT_CORRUPT;
    for (size_t i = 0; i < stored->slices_count; i++) {
        const struct dt_slice *slice = &stored->slices[i];
        enum dt_code code = shard_read(
            dir, &m->shards[slice->shard],
            (const int64_t[2]){slice->begin, slice->end - slice->begin},
            out + slice->row_first * tensor->cols, &err);

        if (code)
            return code;
    }
    return DT_OK;
}

/* All state into the model; the weights' check proves that it arrived. */
static enum dt_code read_state(const char *dir, const struct dt_manifest *m, struct model *model,
                               struct dt_err *err)
{
    static const char *const prefixes[] = {"", "adam_m.", "adam_v."};
    float *const buffers[] = {model->params, model->adam_m, model->adam_v};
    size_t count = dt_model_tensors_count(&model->run.model);

    for (size_t kind = 0; kind < DT_COUNT(buffers); kind++)
        for (size_t i = 0; i < count; i++) {
            struct dt_tensor tensor;
            char name[128];
            enum dt_code code;

            dt_model_tensor(&model->run.model, i, &tensor);
            snprintf(name, sizeof(name), "%s%s", prefixes[kind], tensor.name);
            code = read_tensor(dir, m, name, &tensor, buffers[kind] + tensor.offset);
            if (code)
                return dt_fail(err, code, "%s: tensor %s is absent, unreadable or of another "
                               "shape", dir, name);
        }
    if (dt_crc32c(0, model->params, (size_t)model->params_count * sizeof(float)) !=
        m->weights_crc32c)
        return dt_fail(err, DT_CORRUPT, "%s: the weights are not those that were saved", dir);
    return DT_OK;
}

/* Is it of the model we have? Of the data? */
static enum dt_code check_fingerprints(const struct load *load, const char *dir,
                                       const struct dt_manifest *m, struct dt_err *err)
{
    const struct config *config = load->config;
    char model[DT_SHA256_HEX_BYTES];
    bool is_other_model;

    save_fingerprint(&config->model, model);
    is_other_model = strcmp(model, m->model_fingerprint) != 0;
    if (!is_other_model && strcmp(load->data->fingerprint, m->data_fingerprint) == 0 &&
        m->seed == config->seed)
        return DT_OK;
    dt_fail(err, DT_CONFLICT, "%s was written with %s", dir,
            is_other_model ? "another model" : m->seed == config->seed ? "other data"
                                                                        : "another seed");
    dt_hint(err, "another checkpoint.dir for this training, or checkpoint.resume: never to begin "
                 "anew beside it, or the path of the checkpoint to begin from");
    return DT_CONFLICT;
}

static void take_start(const struct dt_manifest *m, struct start *start)
{
    start->is_found = true;
    start->at = (struct dt_step_at){m->step, m->gen};
    start->step = m->step;
    start->consumed = m->consumed;
    start->optimizer_step = m->optimizer_step;
    start->horizon = m->horizon;
    start->warmup = m->warmup;
    start->weights_crc32c = m->weights_crc32c;
}

/* One checkpoint, verified and read. */
static enum dt_code load_one(const struct load *load, const char *dir, struct start *start,
                             struct dt_err *err)
{
    struct dt_manifest m = {0};
    enum dt_code code = read_manifest(dir, &m, start->digest, err);

    if (!code && (code = check_fingerprints(load, dir, &m, err)) == DT_CONFLICT &&
        start->is_foreign && strcmp(m.data_fingerprint, load->data->fingerprint) != 0) {
        /* Asked for by path: these weights, other data: a new run that begins from them. */
        m.step = m.consumed = 0;
        m.horizon = load->config->lr.horizon;
        m.warmup = load->config->lr.warmup;
        memcpy(m.data_fingerprint, load->data->fingerprint, sizeof(m.data_fingerprint));
        m.seed = load->config->seed;
        code = check_fingerprints(load, dir, &m, err);
    }
    for (size_t i = 0; i < m.shards_count && !code; i++)
        if (!(code = shard_verify(dir, &m.shards[i], err)))
            code = check_header(dir, &m, i, err);
    if (!code)
        code = read_state(dir, &m, load->model, err);
    if (!code)
        take_start(&m, start);
    dt_manifest_release(&m);
    return code;
}

/* The newest whole checkpoint of a chain; DT_CORRUPT when there are some, but none is whole. */
static enum dt_code load_newest(const struct load *load, const struct checkpoints *all,
                                struct start *start, struct dt_err *err)
{
    struct dt_err last = {0};
    bool is_foreign = start->is_foreign;

    for (size_t i = 0; i < all->steps_count; i++) {
        char name[DT_STEP_NAME_BYTES], dir[5000];
        enum dt_code code;

        dt_step_name(name, all->steps[i].step, all->steps[i].gen);
        snprintf(dir, sizeof(dir), "%s/%s", all->dir, name);
        code = load_one(load, dir, start, &last);
        if (!code)
            return DT_OK;
        if (code == DT_CONFLICT) {
            if (err)
                *err = last;
            return code;
        }
        fprintf(stderr, "dttrain: checkpoint %s cannot be used: %s%s\n", name, last.text,
                i + 1 < all->steps_count ? "; falling back to the one before it" : "");
        *start = (struct start){.is_foreign = is_foreign};
    }
    if (all->steps_count == 0)
        return DT_OK;
    return dt_fail(err, DT_CORRUPT, "none of the %zu checkpoints in %s can be used; the last "
                   "failure: %s", all->steps_count, all->dir, last.text);
}

/* The checkpoint at path, or the newest one of the checkpoint directory at path. */
static enum dt_code load_path(const struct load *load, const char *path, const char *who,
                              struct start *start, struct dt_err *err)
{
    struct checkpoints other = {0};
    char claims[5000];
    enum dt_code code;

    start->is_foreign = true;
    if (snprintf(claims, sizeof(claims), "%s/claims", path) < (int)sizeof(claims) &&
        access(claims, F_OK) == 0) {
        code = checkpoints_open(&other, path, load->all->job, 0, err);
        if (!code)
            code = load_newest(load, &other, start, err);
        if (!code && !start->is_found)
            code = dt_fail(err, DT_NOT_FOUND, "%s holds no checkpoint", path);
        checkpoints_release(&other);
    } else
        code = load_one(load, path, start, err);
    if (code)
        dt_prefix(err, "%s", who);
    return code;
}

/* Does path lie in dir, or is it dir? */
static bool is_inside(const char *path, const char *dir)
{
    size_t size = strlen(dir);

    return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == 0);
}

enum dt_code load_start(const struct load *load, struct start *start, struct dt_err *err)
{
    const struct checkpoints *all = load->all;
    const char *resume = load->config->resume, *from = load->resume_from;
    bool is_auto = strcmp(resume, "auto") == 0, is_never = strcmp(resume, "never") == 0;

    *start = (struct start){0};
    /* A restart goes on from its own chain, whatever the first start was told. */
    if (all->is_first && is_never)
        return DT_OK;
    if (!is_auto && !is_never && (all->is_first || all->steps_count == 0))
        return load_path(load, resume, "checkpoint.resume", start, err);
    if (is_auto && from && from[0] && all->steps_count == 0) {
        if (!is_inside(from, all->dir))
            return load_path(load, from, "DT_RESUME_FROM", start, err);
        if (strcmp(from, all->dir) != 0) {
            dt_fail(err, DT_NOT_FOUND, "DT_RESUME_FROM names %s, but no checkpoint in %s counts",
                    from, all->dir);
            dt_hint(err, "restore it with its claims, or submit the job again to begin anew");
            return DT_NOT_FOUND;
        }
    }
    return load_newest(load, all, start, err);
}
