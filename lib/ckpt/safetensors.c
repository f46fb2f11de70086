/* The safetensors format: 8 bytes of length, a JSON header, then the tensors' bytes. */
#include "dt/ckpt/safetensors.h"

#include "dt/base/json.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_BYTES ((int64_t)1 << 50)

int64_t dt_safetensors_word(const char *dtype)
{
    static const struct { const char *name; int64_t size; } rows[] = {
        {"F64", 8}, {"I64", 8}, {"U64", 8}, {"F32", 4}, {"I32", 4},  {"U32", 4},
        {"F16", 2}, {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"I8", 1},   {"U8", 1},
        {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (strcmp(rows[i].name, dtype) == 0)
            return rows[i].size;
    return 0;
}

void dt_safetensors_write(struct dt_buf *buf, const struct dt_safetensor *items, size_t count)
{
    size_t begin = buf->size, size;

    dt_buf_add(buf, "\0\0\0\0\0\0\0\0", 8);
    dt_buf_text(buf, "{\"__metadata__\":{\"format\":\"pt\",\"producer\":\"dt\"}");
    for (size_t i = 0; i < count; i++) {
        dt_buf_byte(buf, ',');
        dt_json_quote(buf, items[i].name, strlen(items[i].name));
        dt_buf_print(buf, ":{\"dtype\":\"%s\",\"shape\":[", items[i].dtype);
        for (size_t dim = 0; dim < items[i].dims; dim++)
            dt_buf_print(buf, "%s%lld", dim ? "," : "", (long long)items[i].shape[dim]);
        dt_buf_print(buf, "],\"data_offsets\":[%lld,%lld]}", (long long)items[i].begin,
                     (long long)items[i].end);
    }
    dt_buf_byte(buf, '}');
    while ((buf->size - begin) % 8)
        dt_buf_byte(buf, ' ');
    size = buf->size - begin - 8;
    for (int i = 0; i < 8; i++)
        buf->data[begin + (size_t)i] = (char)(size >> (8 * i) & 0xff);
}

/* An integer from 0 to most among a list's children. */
static bool item_is_int(const struct dt_tree *item, int64_t most)
{
    return item && item->kind == DT_TREE_INT && item->int_value >= 0 && item->int_value <= most;
}

static enum dt_code read_tensor(const struct dt_tree *tree, struct dt_safetensor *tensor,
                                struct dt_err *err)
{
    const struct dt_tree *shape = dt_tree_get(tree, "shape");
    const struct dt_tree *offsets = dt_tree_get(tree, "data_offsets");
    const char *dtype = dt_tree_str(tree, "dtype", "");
    int64_t size = dt_safetensors_word(dtype);

    if (!tree->key || !tree->key[0] || strlen(tree->key) >= sizeof(tensor->name))
        return dt_fail(err, DT_CORRUPT, "a tensor's name is empty or longer than %zu bytes",
                       sizeof(tensor->name) - 1);
    if (size == 0)
        return dt_fail(err, DT_CORRUPT, "tensor %s: unknown dtype \"%.16s\"", tree->key, dtype);
    if (!shape || shape->kind != DT_TREE_LIST || shape->count > DT_SAFETENSORS_DIMS_MAX)
        return dt_fail(err, DT_CORRUPT, "tensor %s: shape is not a list of at most %d",
                       tree->key, DT_SAFETENSORS_DIMS_MAX);
    if (!offsets || offsets->kind != DT_TREE_LIST || offsets->count != 2 ||
        !item_is_int(offsets->first, SIZE_MAX_BYTES) ||
        !item_is_int(offsets->last, SIZE_MAX_BYTES))
        return dt_fail(err, DT_CORRUPT, "tensor %s: data_offsets are not two places", tree->key);
    *tensor = (struct dt_safetensor){.begin = offsets->first->int_value,
                                     .end = offsets->last->int_value};
    memcpy(tensor->name, tree->key, strlen(tree->key) + 1);
    memcpy(tensor->dtype, dtype, strlen(dtype) + 1);
    for (const struct dt_tree *item = shape->first; item; item = item->next) {
        if (!item_is_int(item, SIZE_MAX_BYTES) ||
            (item->int_value && size > SIZE_MAX_BYTES / item->int_value))
            return dt_fail(err, DT_CORRUPT, "tensor %s: shape is too large", tree->key);
        tensor->shape[tensor->dims++] = item->int_value;
        size *= item->int_value;
    }
    if (tensor->end - tensor->begin != size)
        return dt_fail(err, DT_CORRUPT, "tensor %s: shape needs %lld bytes, data_offsets give "
                       "%lld", tree->key, (long long)size,
                       (long long)(tensor->end - tensor->begin));
    return DT_OK;
}

static int compare_begin(const void *left, const void *right)
{
    const struct dt_safetensor *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Tensors sorted by place must lie end to end and fill the file. */
static enum dt_code check_cover(const struct dt_safetensors *file, struct dt_err *err)
{
    int64_t at = 0;

    for (size_t i = 0; i < file->count; i++) {
        if (file->items[i].begin != at)
            return dt_fail(err, DT_CORRUPT, "tensor %s begins at byte %lld, expected %lld",
                           file->items[i].name, (long long)file->items[i].begin, (long long)at);
        at = file->items[i].end;
    }
    if (at != file->data_size)
        return dt_fail(err, DT_CORRUPT, "the tensors hold %lld bytes, the file %lld",
                       (long long)at, (long long)file->data_size);
    return DT_OK;
}

static enum dt_code read_header(const struct dt_tree *tree, struct dt_safetensors *file,
                                struct dt_err *err)
{
    enum dt_code code;

    if (tree->kind != DT_TREE_MAP)
        return dt_fail(err, DT_CORRUPT, "the header is %s, expected a map",
                       dt_tree_kind_name(tree->kind));
    file->items = dt_alloc(tree->count + 1, sizeof(*file->items));
    for (const struct dt_tree *item = tree->first; item; item = item->next) {
        if (strcmp(item->key, "__metadata__") == 0)
            continue;
        if ((code = read_tensor(item, &file->items[file->count], err)))
            return code;
        file->count++;
    }
    qsort(file->items, file->count, sizeof(*file->items), compare_begin);
    return check_cover(file, err);
}

enum dt_code dt_safetensors_read(const void *bytes, size_t size, int64_t file_size,
                                 struct dt_safetensors *file, struct dt_err *err)
{
    static const struct dt_json_limits limits = {DT_SAFETENSORS_HEADER_MAX, 8, 8000000};
    const unsigned char *at = bytes;
    struct dt_safetensors draft = {0};
    struct dt_tree *tree = NULL;
    uint64_t header = 0;
    enum dt_code code;

    if (size < 8)
        return dt_fail(err, DT_CORRUPT, "the file ends inside its first 8 bytes");
    for (int i = 7; i >= 0; i--)
        header = header << 8 | at[i];
    if (header > DT_SAFETENSORS_HEADER_MAX || header > size - 8)
        return dt_fail(err, DT_CORRUPT, "the header's length (%llu) is past the end of the file "
                       "or above the limit", (unsigned long long)header);
    draft.data_begin = (int64_t)header + 8;
    draft.data_size = file_size - draft.data_begin;
    if ((code = dt_json_parse((const char *)at + 8, (size_t)header, &limits, &tree, err))) {
        code = err ? (err->code = DT_CORRUPT) : DT_CORRUPT;
        goto out;
    }
    if ((code = read_header(tree, &draft, err)))
        goto out;
    *file = draft;
    draft = (struct dt_safetensors){0};
out:
    dt_safetensors_release(&draft);
    dt_tree_free(tree);
    return code;
}

void dt_safetensors_release(struct dt_safetensors *file)
{
    if (!file)
        return;
    dt_free(file->items);
    *file = (struct dt_safetensors){0};
}
