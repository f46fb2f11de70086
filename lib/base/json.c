/* JSON text to and from trees; jansson reads, we write (docs/adr/0003). */
#include "dt/base/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/text.h"

#define JSON_DEPTH_MAX 64

const struct dt_json_limits dt_json_limits_wire = {
    .bytes_max = 1024 * 1024, .depth_max = 16, .nodes_max = 200000};

static enum dt_code refuse_at(const char *bytes, size_t at, const char *why, struct dt_err *err)
{
    int line = 1, col = 1;

    for (size_t i = 0; i < at; i++) {
        line += bytes[i] == '\n';
        col = bytes[i] == '\n' ? 1 : col + (((unsigned char)bytes[i] & 0xc0) != 0x80);
    }
    return dt_fail(err, DT_INVALID, "JSON: line %d, column %d: %s", line, col, why);
}

/* Limits that must hold before jansson builds anything: it recurses by depth, and a value of one
 * byte becomes a hundred. Each comma outside of strings means one more value. */
static enum dt_code json_scan(const char *bytes, size_t size, const struct dt_json_limits *limits,
                              struct dt_err *err)
{
    int depth_max = limits->depth_max < JSON_DEPTH_MAX ? limits->depth_max : JSON_DEPTH_MAX;
    const char *nul = size ? memchr(bytes, 0, size) : NULL;
    bool is_in_string = false;
    size_t values = 1;
    int depth = 0;

    if (nul) /* jansson takes one for the end of the text */
        return refuse_at(bytes, (size_t)(nul - bytes), "a NUL byte", err);
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];

        if (is_in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                is_in_string = false;
        } else if (c == '"') {
            is_in_string = true;
        } else if ((c == '[' || c == '{') && ++depth > depth_max) {
            return refuse_at(bytes, i, "nested too deep", err);
        } else if (c == ']' || c == '}') {
            depth--;
        } else if (c == ',' && ++values > limits->nodes_max) {
            return refuse_at(bytes, i, "too many values", err);
        }
    }
    return DT_OK;
}

/* Shortest decimal text that reads back as the same double and as a real: 1000.0 rather than 1e+03,
 * 7777770000000005.0 rather than the integer that %g makes of it. */
static void json_real_text(double value, char *text, size_t size)
{
    if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value) {
        snprintf(text, size, "%.1f", value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (!strpbrk(text, ".e"))
        snprintf(text + strlen(text), size - strlen(text), ".0");
}

static bool tree_from_json(const json_t *json, struct dt_tree *tree, size_t *nodes_left);

static bool tree_from_list(const json_t *json, struct dt_tree *tree, size_t *nodes_left)
{
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct dt_tree *child = dt_tree_add(tree, NULL, dt_tree_make(DT_TREE_NULL));

        if (!tree_from_json(json_array_get(json, i), child, nodes_left))
            return false;
    }
    return true;
}

static bool tree_from_map(json_t *json, struct dt_tree *tree, size_t *nodes_left)
{
    const char *key;
    json_t *value;

    json_object_foreach(json, key, value) {
        struct dt_tree *child = dt_tree_add(tree, key, dt_tree_make(DT_TREE_NULL));

        if (!tree_from_json(value, child, nodes_left))
            return false;
    }
    return true;
}

/* Fill tree (fresh but for its key); false when the nodes run out. Depth was checked before. */
static bool tree_from_json(const json_t *json, struct dt_tree *tree, size_t *nodes_left)
{
    char text[40];

    if ((*nodes_left)-- == 0)
        return false;
    switch (json_typeof(json)) {
    case JSON_NULL:
        tree->kind = DT_TREE_NULL;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        tree->kind = DT_TREE_BOOL;
        tree->bool_value = json_is_true(json);
        break;
    case JSON_INTEGER:
        tree->kind = DT_TREE_INT;
        tree->int_value = json_integer_value(json);
        break;
    case JSON_REAL:
        tree->kind = DT_TREE_FLOAT;
        json_real_text(json_real_value(json), text, sizeof(text));
        tree->text = dt_copy_text(text);
        tree->text_size = strlen(text);
        break;
    case JSON_STRING:
        tree->kind = DT_TREE_STR;
        tree->text = dt_copy_bytes(json_string_value(json), json_string_length(json));
        tree->text_size = json_string_length(json);
        break;
    case JSON_ARRAY:
        tree->kind = DT_TREE_LIST;
        return tree_from_list(json, tree, nodes_left);
    case JSON_OBJECT:
        tree->kind = DT_TREE_MAP;
        return tree_from_map((json_t *)json, tree, nodes_left);
    }
    return true;
}

enum dt_code dt_json_parse(const char *bytes, size_t size, const struct dt_json_limits *limits,
                           struct dt_tree **tree, struct dt_err *err)
{
    size_t nodes_left = limits->nodes_max;
    struct dt_tree *made;
    json_error_t error;
    enum dt_code code;
    json_t *json;
    bool is_whole;

    if (size > limits->bytes_max)
        return dt_fail(err, DT_INVALID, "JSON: %zu bytes, at most %zu are taken", size,
                       limits->bytes_max);
    if ((code = json_scan(bytes, size, limits, err)))
        return code;
    /* jansson draws the seed of its hash itself: with one that is known, 70,000 chosen keys take
     * seconds. Nothing here shows the seed, members come in the order of the text. */
    json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json)
        return dt_fail(err, DT_INVALID, "JSON: line %d, column %d: %s", error.line, error.column,
                       error.text);
    made = dt_tree_make(DT_TREE_NULL);
    is_whole = tree_from_json(json, made, &nodes_left);
    json_decref(json);
    if (!is_whole) {
        dt_tree_free(made);
        return dt_fail(err, DT_INVALID, "JSON: more than %zu values", limits->nodes_max);
    }
    *tree = made;
    return DT_OK;
}

void dt_json_quote(struct dt_buf *buf, const char *text, size_t size)
{
    size_t plain = 0;

    dt_buf_byte(buf, '"');
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        uint32_t point = c;
        bool is_valid = true;
        size_t length = c < 0x80 ? 1 : dt_utf8_next(text + i, size - i, &point, &is_valid);

        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && is_valid) {
            i += length;
            continue;
        }
        dt_buf_add(buf, text + plain, i - plain);
        if (!is_valid)
            dt_buf_text(buf, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            dt_buf_print(buf, "\\%c", c);
        else if (c == '\n')
            dt_buf_text(buf, "\\n");
        else
            dt_buf_print(buf, "\\u%04x", c);
        i += length;
        plain = i;
    }
    if (size)
        dt_buf_add(buf, text + plain, size - plain);
    dt_buf_byte(buf, '"');
}

struct json_style {
    bool is_sorted;
    bool is_pretty;
    int depth;
};

static void json_value(struct dt_buf *buf, const struct dt_tree *tree, struct json_style style);

static void json_break(struct dt_buf *buf, struct json_style style)
{
    if (!style.is_pretty)
        return;
    dt_buf_byte(buf, '\n');
    for (int i = 0; i < style.depth; i++)
        dt_buf_text(buf, "  ");
}

static int by_key(const void *left, const void *right)
{
    const struct dt_tree *const *a = left, *const *b = right;

    return strcmp((*a)->key, (*b)->key);
}

static void json_children(struct dt_buf *buf, const struct dt_tree *tree, struct json_style style)
{
    const struct dt_tree **order = dt_alloc(tree->count, sizeof(const struct dt_tree *));
    bool is_map = tree->kind == DT_TREE_MAP;
    size_t count = 0;

    for (const struct dt_tree *child = tree->first; child; child = child->next)
        order[count++] = child;
    if (style.is_sorted && is_map && count)
        qsort(order, count, sizeof(const struct dt_tree *), by_key);
    style.depth++;
    for (size_t i = 0; i < count; i++) {
        if (i)
            dt_buf_byte(buf, ',');
        json_break(buf, style);
        if (is_map) {
            dt_json_quote(buf, order[i]->key, strlen(order[i]->key));
            dt_buf_text(buf, style.is_pretty ? ": " : ":");
        }
        json_value(buf, order[i], style);
    }
    style.depth--;
    if (count)
        json_break(buf, style);
    dt_free(order);
}

static void json_value(struct dt_buf *buf, const struct dt_tree *tree, struct json_style style)
{
    switch (tree->kind) {
    case DT_TREE_NULL:
        dt_buf_text(buf, "null");
        break;
    case DT_TREE_BOOL:
        dt_buf_text(buf, tree->bool_value ? "true" : "false");
        break;
    case DT_TREE_INT:
        dt_buf_print(buf, "%lld", (long long)tree->int_value);
        break;
    case DT_TREE_FLOAT:
        dt_buf_add(buf, tree->text, tree->text_size);
        break;
    case DT_TREE_STR:
        dt_json_quote(buf, tree->text, tree->text_size);
        break;
    case DT_TREE_LIST:
        dt_buf_byte(buf, '[');
        json_children(buf, tree, style);
        dt_buf_byte(buf, ']');
        break;
    case DT_TREE_MAP:
        dt_buf_byte(buf, '{');
        json_children(buf, tree, style);
        dt_buf_byte(buf, '}');
        break;
    }
}

void dt_json_write(struct dt_buf *buf, const struct dt_tree *tree)
{
    json_value(buf, tree, (struct json_style){0});
}

void dt_json_write_canonical(struct dt_buf *buf, const struct dt_tree *tree)
{
    json_value(buf, tree, (struct json_style){.is_sorted = true});
}

void dt_json_write_pretty(struct dt_buf *buf, const struct dt_tree *tree)
{
    json_value(buf, tree, (struct json_style){.is_pretty = true});
}
