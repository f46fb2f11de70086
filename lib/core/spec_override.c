/* Changing a written specification before it is read: scalars typed, paths set, a name given. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/base/text.h"

/* Plain scalars are typed by the YAML 1.2 core rules, narrowed: no octal, hex, infinity, True. */
static size_t scan_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* A JSON-like decimal number; begin and end of its parts. */
struct number {
    const char *sign, *whole, *fraction, *exponent;
    size_t whole_size, fraction_size;
};

static bool number_scan(const char *text, struct number *number)
{
    const char *at = text;

    *number = (struct number){.sign = *at == '-' ? "-" : ""};
    if (*at == '-' || *at == '+')
        at++;
    number->whole = at;
    number->whole_size = scan_digits(at);
    at += number->whole_size;
    if (number->whole_size > 1 && number->whole[0] == '0')
        return false;
    if (*at == '.') {
        number->fraction = ++at;
        number->fraction_size = scan_digits(at);
        at += number->fraction_size;
    }
    if (!number->whole_size && !number->fraction_size)
        return false;
    number->exponent = at;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '-' || *at == '+')
            at++;
        if (!scan_digits(at))
            return false;
        at += scan_digits(at);
    }
    return *at == 0 && (number->fraction || *number->exponent || strlen(text) < 64);
}

/* "+.5e3" becomes "0.5e3": every FLOAT text is also JSON. */
static void float_normalise(struct dt_tree *node, const struct number *number)
{
    struct dt_buf text = {0};

    dt_buf_text(&text, number->sign);
    if (number->whole_size)
        dt_buf_add(&text, number->whole, number->whole_size);
    else
        dt_buf_byte(&text, '0');
    if (number->fraction) {
        dt_buf_byte(&text, '.');
        dt_buf_add(&text, number->fraction_size ? number->fraction : "0",
                   number->fraction_size ? number->fraction_size : 1);
    }
    dt_buf_text(&text, number->exponent);
    dt_free(node->text);
    node->text_size = text.size;
    node->text = dt_buf_take(&text);
    node->kind = DT_TREE_FLOAT;
}

void dt_tree_type_plain(struct dt_tree *node)
{
    const char *text = node->text ? node->text : "";
    struct number number;
    int64_t value;

    if (node->kind != DT_TREE_STR || strlen(text) != node->text_size)
        return;
    if (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0) {
        node->kind = DT_TREE_NULL;
    } else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        node->kind = DT_TREE_BOOL;
        node->bool_value = text[0] == 't';
    } else if (dt_parse_int(text, INT64_MIN, INT64_MAX, &value)) {
        node->kind = DT_TREE_INT;
        node->int_value = value;
    } else if (number_scan(text, &number)) {
        float_normalise(node, &number);
    }
}

/* The map that holds the last word of path, made on the way; last points at that word. */
static enum dt_code map_for(struct dt_tree *tree, const char *path, size_t size,
                            struct dt_tree **map, struct dt_err *err)
{
    char key[128];
    int depth = 1;

    while (memchr(path, '.', size)) {
        size_t length = (size_t)((const char *)memchr(path, '.', size) - path);
        struct dt_tree *child;

        if (!length || length >= sizeof(key) || ++depth >= DT_TREE_DEPTH_MAX)
            return dt_fail(err, DT_INVALID, "\"%.*s\" is not a path", (int)size, path);
        memcpy(key, path, length);
        key[length] = 0;
        child = dt_tree_get(tree, key);
        if (!child || child->kind == DT_TREE_NULL)
            child = dt_tree_put_new(tree, key, DT_TREE_MAP);
        if (child->kind != DT_TREE_MAP)
            return dt_fail(err, DT_INVALID, "\"%s\" is %s, so \"%.*s\" cannot be set in it", key,
                           dt_tree_kind_name(child->kind), (int)(size - length - 1),
                           path + length + 1);
        tree = child;
        path += length + 1;
        size -= length + 1;
        /* variables keep their dots: everything behind env. and labels. is one key */
        if (depth == 2 && (strcmp(key, "env") == 0 || strcmp(key, "labels") == 0))
            break;
    }
    *map = tree;
    return DT_OK;
}

/* A scalar, a JSON value, or (below env and labels) a text as it stands. */
static enum dt_code value_for(const char *path, const char *text, struct dt_tree **value,
                              struct dt_err *err)
{
    static const struct dt_json_limits limits = {DT_SPEC_BYTES_MAX, DT_TREE_DEPTH_MAX,
                                                 DT_TREE_NODES_MAX};
    bool is_text = strncmp(path, "env.", 4) == 0 || strncmp(path, "labels.", 7) == 0;

    if (!is_text && strchr("[{\"", text[0]) && text[0])
        return dt_json_parse(text, strlen(text), &limits, value, err);
    if (!dt_utf8_is_valid(text, strlen(text)))
        return dt_fail(err, DT_INVALID, "the value is not UTF-8");
    *value = dt_tree_make(DT_TREE_STR);
    (*value)->text = dt_copy_text(text);
    (*value)->text_size = strlen(text);
    if (!is_text)
        dt_tree_type_plain(*value);
    return DT_OK;
}

enum dt_code dt_spec_override(struct dt_tree *tree, const char *assignment, struct dt_err *err)
{
    const char *equals = strchr(assignment, '='), *dot;
    struct dt_tree *map = NULL, *value = NULL;
    enum dt_code code;
    char path[256];

    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(path)) {
        code = dt_fail(err, DT_USAGE, "\"%.80s\" is not path=value", assignment);
        dt_hint(err, "write --set resources.nodes=4");
        return code;
    }
    if (tree->kind != DT_TREE_MAP)
        return dt_fail(err, DT_INVALID, "there is no map to set \"%.80s\" in", assignment);
    snprintf(path, sizeof(path), "%.*s", (int)(equals - assignment), assignment);
    if ((code = value_for(path, equals + 1, &value, err)))
        return code;
    if ((code = map_for(tree, path, strlen(path), &map, err))) {
        dt_tree_free(value);
        return code;
    }
    dot = strncmp(path, "env.", 4) == 0 || strncmp(path, "labels.", 7) == 0 ? strchr(path, '.')
                                                                          : strrchr(path, '.');
    dot = dot ? dot + 1 : path;
    if (!*dot) {
        dt_tree_free(value);
        return dt_fail(err, DT_INVALID, "\"%.80s\" is not a path", path);
    }
    dt_tree_free(dt_tree_take(map, dot));
    dt_tree_add(map, dot, value);
    return DT_OK;
}

void dt_spec_name_after(struct dt_tree *tree, const char *file)
{
    const char *stem = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    size_t length = strcspn(stem, "."), size = 0;
    char name[DT_NAME_BYTES_MAX];

    if (tree->kind != DT_TREE_MAP || dt_tree_get(tree, "name"))
        return;
    for (size_t i = 0; i < length && size + 1 < sizeof(name); i++) {
        char c = stem[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            name[size++] = c;
        else if (size && name[size - 1] != '-')
            name[size++] = '-';
    }
    while (size && name[size - 1] == '-')
        size--;
    name[size] = 0;
    if (size)
        dt_tree_put_str(tree, "name", name);
}
