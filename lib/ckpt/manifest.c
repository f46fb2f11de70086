/* What a checkpoint holds and where: the manifest, whose presence makes it one. */
#include "dt/ckpt/manifest.h"

#include "dt/base/json.h"
#include "dt/ckpt/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1
#define BYTES_MAX ((int64_t)1 << 50)
#define COUNT_MAX 1000000

void dt_step_name(char text[DT_STEP_NAME_BYTES], int64_t step, uint64_t gen)
{
    snprintf(text, DT_STEP_NAME_BYTES, "step-%012lld.g%06llu", (long long)step,
             (unsigned long long)gen);
}

bool dt_step_name_read(const char *text, int64_t *step, uint64_t *gen)
{
    char again[DT_STEP_NAME_BYTES];
    const char *dot = strstr(text, ".g");
    long long got_step;
    unsigned long long got_gen;

    if (strncmp(text, "step-", 5) != 0 || !dot || strlen(text) >= sizeof(again))
        return false;
    got_step = strtoll(text + 5, NULL, 10);
    got_gen = strtoull(dot + 2, NULL, 10);
    if (got_step < 0)
        return false;
    dt_step_name(again, got_step, got_gen);
    if (strcmp(again, text) != 0)
        return false;
    *step = got_step;
    *gen = got_gen;
    return true;
}

static void write_shard(struct dt_tree *list, const struct dt_shard *shard)
{
    struct dt_tree *item = dt_tree_put_new(list, NULL, DT_TREE_MAP);
    struct dt_buf crcs = {0};

    dt_tree_put_str(item, "file", shard->file);
    dt_tree_put_int(item, "size", shard->size);
    dt_tree_put_str(item, "sha256", shard->sha256);
    for (size_t i = 0; i < shard->crc_count; i++)
        dt_buf_print(&crcs, "%08x", shard->crc32c[i]);
    dt_tree_put_str(item, "crc32c", dt_buf_str(&crcs));
    dt_buf_release(&crcs);
}

static void write_tensor(struct dt_tree *list, const struct dt_stored *tensor)
{
    struct dt_tree *item = dt_tree_put_new(list, NULL, DT_TREE_MAP), *shape, *slices;

    dt_tree_put_str(item, "name", tensor->name);
    dt_tree_put_str(item, "dtype", tensor->dtype);
    shape = dt_tree_put_new(item, "shape", DT_TREE_LIST);
    if (!tensor->is_vector)
        dt_tree_put_int(shape, NULL, tensor->rows);
    dt_tree_put_int(shape, NULL, tensor->cols);
    slices = dt_tree_put_new(item, "slices", DT_TREE_LIST);
    for (size_t i = 0; i < tensor->slices_count; i++) {
        const struct dt_slice *slice = &tensor->slices[i];
        struct dt_tree *numbers = dt_tree_put_new(slices, NULL, DT_TREE_LIST);

        dt_tree_put_int(numbers, NULL, (int64_t)slice->shard);
        dt_tree_put_int(numbers, NULL, slice->begin);
        dt_tree_put_int(numbers, NULL, slice->end);
        dt_tree_put_int(numbers, NULL, slice->row_first);
        dt_tree_put_int(numbers, NULL, slice->row_count);
    }
}

static void write_layout(struct dt_tree *tree, const struct dt_manifest *m)
{
    struct dt_tree *layout = dt_tree_put_new(tree, "layout", DT_TREE_MAP);

    dt_tree_put_int(layout, "world", m->world);
    dt_tree_put_int(layout, "tensor", m->tensor);
    dt_tree_put_int(layout, "context", m->context);
    dt_tree_put_int(layout, "pipeline", m->pipeline);
    dt_tree_put_int(layout, "data", m->data);
    dt_tree_put_int(layout, "zero", m->zero);
}

void dt_manifest_write(struct dt_buf *buf, const struct dt_manifest *m)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *list, *state;

    dt_tree_put_str(tree, "format", "dt-checkpoint");
    dt_tree_put_int(tree, "version", VERSION);
    dt_tree_put_str(tree, "job", m->job);
    dt_tree_put_int(tree, "step", m->step);
    dt_tree_put_u64(tree, "gen", m->gen);
    dt_tree_put_u64(tree, "parent_gen", m->parent_gen);
    dt_tree_put_int(tree, "parent_step", m->parent_step);
    dt_tree_put_str(tree, "model_fingerprint", m->model_fingerprint);
    dt_tree_put_str(tree, "data_fingerprint", m->data_fingerprint);
    write_layout(tree, m);
    state = dt_tree_put_new(tree, "state", DT_TREE_MAP);
    dt_tree_put_u64(state, "seed", m->seed);
    dt_tree_put_int(state, "consumed_samples", m->consumed);
    dt_tree_put_int(state, "optimizer_step", m->optimizer_step);
    dt_tree_put_int(state, "horizon_samples", m->horizon);
    dt_tree_put_int(state, "warmup_samples", m->warmup);
    dt_tree_put_int(state, "weights_crc32c", m->weights_crc32c);
    dt_tree_put_str(state, "random", "philox4x32-10");
    dt_tree_put_str(state, "order", "feistel4-cycle-walk");
    list = dt_tree_put_new(tree, "shards", DT_TREE_LIST);
    for (size_t i = 0; i < m->shards_count; i++)
        write_shard(list, &m->shards[i]);
    list = dt_tree_put_new(tree, "tensors", DT_TREE_LIST);
    for (size_t i = 0; i < m->tensors_count; i++)
        write_tensor(list, &m->tensors[i]);
    dt_json_write_canonical(buf, tree);
    dt_buf_byte(buf, '\n');
    dt_tree_free(tree);
}

/* A text that fits and has only printable ASCII. */
static enum dt_code read_text(const struct dt_tree *map, const char *key, char *text,
                              size_t room, struct dt_err *err)
{
    const char *value = dt_tree_str(map, key, NULL);

    if (!value || strlen(value) >= room)
        return dt_fail(err, DT_CORRUPT, "%s is absent or too long", key);
    for (const char *at = value; *at; at++)
        if (*at < ' ' || *at > '~')
            return dt_fail(err, DT_CORRUPT, "%s holds unprintable bytes", key);
    memcpy(text, value, strlen(value) + 1);
    return DT_OK;
}

static enum dt_code read_int(const struct dt_tree *map, const char *key, int64_t most,
                             int64_t *value, struct dt_err *err)
{
    *value = dt_tree_int(map, key, -1);
    if (*value < 0 || *value > most)
        return dt_fail(err, DT_CORRUPT, "%s is absent or out of bounds", key);
    return DT_OK;
}

static enum dt_code read_crcs(const char *text, struct dt_shard *shard, struct dt_err *err)
{
    size_t count = (size_t)((shard->size + DT_CHUNK_BYTES - 1) / DT_CHUNK_BYTES);

    if (!text || strlen(text) != 8 * count || strspn(text, "0123456789abcdef") != 8 * count)
        return dt_fail(err, DT_CORRUPT, "shard %s: expected %zu CRCs of 8 digits", shard->file,
                       count);
    shard->crc32c = dt_alloc(count + 1, sizeof(*shard->crc32c));
    for (shard->crc_count = 0; shard->crc_count < count; shard->crc_count++) {
        char digits[9] = "";

        memcpy(digits, text + 8 * shard->crc_count, 8);
        shard->crc32c[shard->crc_count] = (uint32_t)strtoul(digits, NULL, 16);
    }
    return DT_OK;
}

static enum dt_code read_shards(const struct dt_tree *list, struct dt_manifest *m,
                                struct dt_err *err)
{
    enum dt_code code;

    if (!list || list->kind != DT_TREE_LIST || list->count > COUNT_MAX)
        return dt_fail(err, DT_CORRUPT, "shards is not a list");
    m->shards = dt_alloc(list->count + 1, sizeof(*m->shards));
    for (const struct dt_tree *item = list->first; item; item = item->next) {
        struct dt_shard *shard = &m->shards[m->shards_count++];

        if ((code = read_text(item, "file", shard->file, sizeof(shard->file), err)) ||
            (code = read_int(item, "size", BYTES_MAX, &shard->size, err)) ||
            (code = read_text(item, "sha256", shard->sha256, sizeof(shard->sha256), err)) ||
            (code = read_crcs(dt_tree_str(item, "crc32c", NULL), shard, err)))
            return code;
        if (!shard->file[0] || shard->file[0] == '.' || strchr(shard->file, '/') ||
            strlen(shard->sha256) != DT_SHA256_HEX_BYTES - 1)
            return dt_fail(err, DT_CORRUPT, "shard %zu: not a file name and a digest",
                           m->shards_count - 1);
    }
    return DT_OK;
}

static enum dt_code read_slices(const struct dt_tree *list, const struct dt_manifest *m,
                                struct dt_stored *tensor, struct dt_err *err)
{
    int64_t word = dt_safetensors_word(tensor->dtype), next_row = 0;

    if (!list || list->kind != DT_TREE_LIST || list->count > COUNT_MAX || word == 0)
        return dt_fail(err, DT_CORRUPT, "tensor %s: no list of slices, or unknown dtype",
                       tensor->name);
    tensor->slices = dt_alloc(list->count + 1, sizeof(*tensor->slices));
    for (const struct dt_tree *item = list->first; item; item = item->next) {
        struct dt_slice *slice = &tensor->slices[tensor->slices_count++];
        int64_t number[5] = {0};
        size_t count = 0;

        for (const struct dt_tree *n = item->first; n && count < 5; n = n->next)
            number[count++] = n->kind == DT_TREE_INT ? n->int_value : -1;
        *slice = (struct dt_slice){(size_t)number[0], number[1], number[2], number[3],
                                   number[4]};
        if (item->count != 5 || number[0] < 0 || slice->shard >= m->shards_count ||
            slice->begin < 0 || slice->end > m->shards[slice->shard].size ||
            slice->row_first != next_row || slice->row_count < 1 ||
            slice->row_count > tensor->rows - next_row ||
            slice->end - slice->begin != slice->row_count * tensor->cols * word)
            return dt_fail(err, DT_CORRUPT, "tensor %s: slice %zu does not fit its shape or "
                           "shard", tensor->name, tensor->slices_count - 1);
        next_row += slice->row_count;
    }
    if (next_row != tensor->rows)
        return dt_fail(err, DT_CORRUPT, "tensor %s: %lld of %lld rows are stored", tensor->name,
                       (long long)next_row, (long long)tensor->rows);
    return DT_OK;
}

static enum dt_code read_tensors(const struct dt_tree *list, struct dt_manifest *m,
                                 struct dt_err *err)
{
    enum dt_code code;

    if (!list || list->kind != DT_TREE_LIST || list->count > COUNT_MAX)
        return dt_fail(err, DT_CORRUPT, "tensors is not a list");
    m->tensors = dt_alloc(list->count + 1, sizeof(*m->tensors));
    for (const struct dt_tree *item = list->first; item; item = item->next) {
        struct dt_stored *tensor = &m->tensors[m->tensors_count++];
        const struct dt_tree *shape = dt_tree_get(item, "shape");

        if ((code = read_text(item, "name", tensor->name, sizeof(tensor->name), err)) ||
            (code = read_text(item, "dtype", tensor->dtype, sizeof(tensor->dtype), err)))
            return code;
        if (!shape || shape->kind != DT_TREE_LIST || shape->count < 1 || shape->count > 2 ||
            shape->first->kind != DT_TREE_INT || shape->last->kind != DT_TREE_INT)
            return dt_fail(err, DT_CORRUPT, "tensor %s: shape is not one or two numbers",
                           tensor->name);
        tensor->is_vector = shape->count == 1;
        tensor->rows = tensor->is_vector ? 1 : shape->first->int_value;
        tensor->cols = shape->last->int_value;
        if (tensor->rows < 1 || tensor->cols < 1 || tensor->rows > BYTES_MAX / 8 ||
            tensor->cols > BYTES_MAX / 8 / tensor->rows)
            return dt_fail(err, DT_CORRUPT, "tensor %s: shape out of bounds", tensor->name);
        if ((code = read_slices(dt_tree_get(item, "slices"), m, tensor, err)))
            return code;
    }
    return DT_OK;
}

static int compare_place(const void *left, const void *right)
{
    const struct dt_slice *a = left, *b = right;

    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Sorted by shard and place, the slices must run end to end to the end of each shard. What is
 * before the first one is the shard's header. */
static enum dt_code check_places(const struct dt_manifest *m, const struct dt_slice *slices,
                                 size_t count, struct dt_err *err)
{
    size_t at = 0;

    for (size_t shard = 0; shard < m->shards_count; shard++) {
        int64_t end = at < count && slices[at].shard == shard ? slices[at].begin : 0;

        if (end < 8)
            return dt_fail(err, DT_CORRUPT, "shard %s holds no tensor", m->shards[shard].file);
        for (; at < count && slices[at].shard == shard; at++) {
            if (slices[at].begin != end)
                return dt_fail(err, DT_CORRUPT, "shard %s: byte %lld belongs to none or two "
                               "tensors", m->shards[shard].file, (long long)end);
            end = slices[at].end;
        }
        if (end != m->shards[shard].size)
            return dt_fail(err, DT_CORRUPT, "shard %s: bytes from %lld on belong to no tensor",
                           m->shards[shard].file, (long long)end);
    }
    return DT_OK;
}

static enum dt_code check_cover(const struct dt_manifest *m, struct dt_err *err)
{
    struct dt_slice *slices;
    size_t count = 0;
    enum dt_code code;

    for (size_t i = 0; i < m->tensors_count; i++)
        count += m->tensors[i].slices_count;
    slices = dt_alloc(count + 1, sizeof(*slices));
    count = 0;
    for (size_t i = 0; i < m->tensors_count; i++) {
        memcpy(slices + count, m->tensors[i].slices,
               m->tensors[i].slices_count * sizeof(*slices));
        count += m->tensors[i].slices_count;
    }
    qsort(slices, count, sizeof(*slices), compare_place);
    code = check_places(m, slices, count, err);
    dt_free(slices);
    return code;
}

static enum dt_code read_layout(const struct dt_tree *map, struct dt_manifest *m,
                                struct dt_err *err)
{
    const struct { const char *key; int *value; } rows[] = {
        {"world", &m->world},       {"tensor", &m->tensor}, {"context", &m->context},
        {"pipeline", &m->pipeline}, {"data", &m->data},     {"zero", &m->zero},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        int64_t value;
        enum dt_code code = read_int(map, rows[i].key, COUNT_MAX, &value, err);

        if (code)
            return code;
        *rows[i].value = (int)value;
    }
    return DT_OK;
}

static enum dt_code read_state(const struct dt_tree *map, struct dt_manifest *m,
                               struct dt_err *err)
{
    int64_t crc;
    enum dt_code code;

    m->seed = dt_tree_u64(map, "seed", 0);
    if ((code = read_int(map, "consumed_samples", INT64_MAX, &m->consumed, err)) ||
        (code = read_int(map, "optimizer_step", INT64_MAX, &m->optimizer_step, err)) ||
        (code = read_int(map, "horizon_samples", INT64_MAX, &m->horizon, err)) ||
        (code = read_int(map, "warmup_samples", INT64_MAX, &m->warmup, err)) ||
        (code = read_int(map, "weights_crc32c", UINT32_MAX, &crc, err)))
        return code;
    m->weights_crc32c = (uint32_t)crc;
    return DT_OK;
}

static enum dt_code read_all(const struct dt_tree *tree, struct dt_manifest *m,
                             struct dt_err *err)
{
    enum dt_code code;

    if (strcmp(dt_tree_str(tree, "format", ""), "dt-checkpoint") != 0)
        return dt_fail(err, DT_CORRUPT, "this is not a manifest of dt");
    if (dt_tree_int(tree, "version", 0) != VERSION)
        return dt_fail(err, DT_UNSUPPORTED, "manifest version %lld, this program reads %d",
                       (long long)dt_tree_int(tree, "version", 0), VERSION);
    m->gen = dt_tree_u64(tree, "gen", 0);
    m->parent_gen = dt_tree_u64(tree, "parent_gen", 0);
    if ((code = read_text(tree, "job", m->job, sizeof(m->job), err)) ||
        (code = read_int(tree, "step", 999999999999, &m->step, err)) ||
        (code = read_int(tree, "parent_step", 999999999999, &m->parent_step, err)) ||
        (code = read_text(tree, "model_fingerprint", m->model_fingerprint,
                          sizeof(m->model_fingerprint), err)) ||
        (code = read_text(tree, "data_fingerprint", m->data_fingerprint,
                          sizeof(m->data_fingerprint), err)) ||
        (code = read_layout(dt_tree_get(tree, "layout"), m, err)) ||
        (code = read_state(dt_tree_get(tree, "state"), m, err)) ||
        (code = read_shards(dt_tree_get(tree, "shards"), m, err)) ||
        (code = read_tensors(dt_tree_get(tree, "tensors"), m, err)))
        return code;
    return check_cover(m, err);
}

enum dt_code dt_manifest_read(const char *bytes, size_t size, struct dt_manifest *manifest,
                              struct dt_err *err)
{
    static const struct dt_json_limits limits = {DT_MANIFEST_BYTES_MAX, 8, 8000000};
    struct dt_manifest draft = {0};
    struct dt_tree *tree = NULL;
    enum dt_code code = dt_json_parse(bytes, size, &limits, &tree, err);

    if (code) {
        if (err)
            err->code = DT_CORRUPT;
        return DT_CORRUPT;
    }
    if ((code = read_all(tree, &draft, err)))
        goto out;
    *manifest = draft;
    draft = (struct dt_manifest){0};
out:
    dt_manifest_release(&draft);
    dt_tree_free(tree);
    return code;
}

void dt_manifest_release(struct dt_manifest *manifest)
{
    if (!manifest)
        return;
    for (size_t i = 0; i < manifest->shards_count; i++)
        dt_free(manifest->shards[i].crc32c);
    for (size_t i = 0; i < manifest->tensors_count; i++)
        dt_free(manifest->tensors[i].slices);
    dt_free(manifest->shards);
    dt_free(manifest->tensors);
    *manifest = (struct dt_manifest){0};
}

const struct dt_stored *dt_manifest_find(const struct dt_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->tensors_count; i++)
        if (strcmp(manifest->tensors[i].name, name) == 0)
            return &manifest->tensors[i];
    return NULL;
}
