/* One value of job.yaml by its row: checked, and made canonical. */
#include "spec_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/text.h"
#include "dt/base/units.h"

#define TEXT_BYTES_MAX 4096
#define LIST_COUNT_MAX 1024

struct walk {
    struct dt_problems *problems;
    struct dt_spec_path path;
};

static struct dt_tree *value_make(struct walk *walk, const struct dt_spec_field *field,
                                  const struct dt_tree *node);
static struct dt_tree *object_make(struct walk *walk, const struct dt_spec_object *object,
                                   const struct dt_tree *map);

static struct dt_tree *unknown(void)
{
    return dt_tree_make(DT_TREE_NULL);
}

static struct dt_problem *refuse(struct walk *walk, const struct dt_tree *node,
                                 const char *code, const char *text)
{
    struct dt_problem *problem = dt_problem_add(walk->problems, walk->path.text, code, node->at);

    dt_problem_text(problem, "%s %s", walk->path.text, text);
    return problem;
}

/* What stands there, as the user sees it. */
static void found_print(struct dt_buf *buf, const struct dt_tree *node)
{
    if (node->kind == DT_TREE_STR)
        dt_buf_print(buf, "\"%.60s\"", node->text);
    else if (node->kind == DT_TREE_FLOAT)
        dt_buf_print(buf, "%.60s", node->text);
    else if (node->kind == DT_TREE_INT)
        dt_buf_print(buf, "%lld", (long long)node->int_value);
    else if (node->kind == DT_TREE_BOOL)
        dt_buf_text(buf, node->bool_value ? "true" : "false");
    else
        dt_buf_text(buf, dt_tree_kind_name(node->kind));
}

/* "X must be T, found Y". */
static struct dt_problem *refuse_type(struct walk *walk, const struct dt_spec_field *field,
                                      const struct dt_tree *node, const char *code)
{
    struct dt_problem *problem;
    struct dt_buf text = {0};

    dt_buf_text(&text, "must be ");
    dt_spec_types_print(&text, field);
    dt_buf_text(&text, ", found ");
    found_print(&text, node);
    problem = refuse(walk, node, code, dt_buf_str(&text));
    dt_buf_release(&text);
    return problem;
}

static bool is_digits(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static void refuse_bool(struct walk *walk, const struct dt_spec_field *field,
                        const struct dt_tree *node)
{
    static const char *const truth[] = {"yes", "on", "true", "y", "1"};
    static const char *const lies[] = {"no", "off", "false", "n", "0"};
    struct dt_problem *problem = refuse_type(walk, field, node, "spec.bool");
    char lower[8] = {0};

    for (size_t i = 0; node->text && node->text[i] && i + 1 < sizeof(lower); i++) {
        char c = node->text[i];

        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    if (node->kind == DT_TREE_INT)
        snprintf(lower, sizeof(lower), "%d", node->int_value == 1);
    for (size_t i = 0; i < DT_COUNT(truth); i++) {
        if (strcmp(lower, truth[i]) == 0)
            dt_problem_replace(problem, "true");
        if (strcmp(lower, lies[i]) == 0)
            dt_problem_replace(problem, "false");
    }
    if (problem->suggestion)
        dt_problem_help(problem, "write %s", problem->suggestion);
}

/* A text where a number belongs: quoted, octal-looking, too long, or something else. */
static void refuse_number(struct walk *walk, const struct dt_spec_field *field,
                          const struct dt_tree *node)
{
    struct dt_tree plain = {.kind = DT_TREE_STR, .text = dt_copy_text(node->text),
                            .text_size = node->text_size};
    struct dt_problem *problem;

    dt_tree_type_plain(&plain);
    if (plain.kind == DT_TREE_INT || plain.kind == DT_TREE_FLOAT) {
        problem = refuse_type(walk, field, node, "spec.quoted-number");
        dt_problem_replace(problem, node->text);
        dt_problem_help(problem, "remove the quotes: %.60s", node->text);
    } else if (is_digits(node->text) && node->text[0] == '0') {
        const char *rest = node->text + strspn(node->text, "0");

        problem = refuse_type(walk, field, node, "spec.leading-zero");
        dt_problem_replace(problem, *rest ? rest : "0");
        dt_problem_help(problem, "a number has no leading zeros; write %.60s",
                        *rest ? rest : "0");
    } else {
        problem = refuse_type(walk, field, node, "spec.type");
        if (field->types & DT_SPEC_WORD)
            dt_problem_near(problem, node->text, field->words);
    }
    dt_tree_release(&plain);
}

static void refuse_word(struct walk *walk, const struct dt_spec_field *field,
                        const struct dt_tree *node)
{
    dt_problem_near(refuse_type(walk, field, node, "spec.word"), node->text, field->words);
}

/* The value has a kind that the row does not take. */
static struct dt_tree *wrong_kind(struct walk *walk, const struct dt_spec_field *field,
                                  const struct dt_tree *node)
{
    unsigned types = field->types;
    bool is_text = node->kind == DT_TREE_STR;
    struct dt_problem *problem;

    if (node->kind == DT_TREE_NULL) {
        problem = refuse(walk, node, "spec.null", "has no value");
        dt_problem_help(problem, "give a value or remove the line");
    } else if ((types & DT_SPEC_BOOL) && node->kind != DT_TREE_LIST &&
               node->kind != DT_TREE_MAP) {
        refuse_bool(walk, field, node);
    } else if ((types & (DT_SPEC_DURATION | DT_SPEC_SIZE | DT_SPEC_INSTANT)) && !node->first &&
               (is_text || node->kind == DT_TREE_INT || node->kind == DT_TREE_FLOAT)) {
        dt_spec_unit_problem(walk->problems, walk->path.text, field, node);
    } else if (is_text && (types & (DT_SPEC_INT | DT_SPEC_DECIMAL))) {
        refuse_number(walk, field, node);
    } else if (is_text && (types & DT_SPEC_WORD)) {
        refuse_word(walk, field, node);
    } else if (strcmp(walk->path.text, "command") == 0 && is_text) {
        problem = refuse_type(walk, field, node, "spec.type");
        dt_problem_help(problem, "use script: or a list such as [\"python\", \"train.py\"]");
    } else if ((types & DT_SPEC_STR) && (node->kind == DT_TREE_INT ||
                                         node->kind == DT_TREE_FLOAT ||
                                         node->kind == DT_TREE_BOOL)) {
        struct dt_buf found = {0};

        problem = refuse_type(walk, field, node, "spec.unquoted");
        found_print(&found, node);
        dt_problem_help(problem, "put it in quotes: \"%s\"", dt_buf_str(&found));
        dt_buf_release(&found);
    } else {
        problem = refuse_type(walk, field, node, "spec.type");
        if (is_text && (types & DT_SPEC_LIST) && !field->item->object)
            dt_problem_help(problem, "write a list: [%.60s]", node->text);
        if (node->kind == DT_TREE_INT && (types & DT_SPEC_MAP) && field->object->count == 1)
            dt_problem_help(problem, "write {%s: %lld}", field->object->fields[0].name,
                            (long long)node->int_value);
    }
    return unknown();
}

static bool is_in_bounds(struct walk *walk, const struct dt_spec_field *field,
                         const struct dt_tree *node, int64_t value)
{
    if ((!field->least && !field->most) || (value >= field->least && value <= field->most))
        return true;
    refuse_type(walk, field, node, "spec.range");
    return false;
}

static struct dt_tree *int_make(struct walk *walk, const struct dt_spec_field *field,
                                const struct dt_tree *node)
{
    struct dt_tree *made;

    if (!is_in_bounds(walk, field, node, node->int_value))
        return unknown();
    made = dt_tree_make(DT_TREE_INT);
    made->int_value = node->int_value;
    return made;
}

/* Bounds of decimals are in millionths; values below a millionth are only held against 0. */
static struct dt_tree *decimal_make(struct walk *walk, const struct dt_spec_field *field,
                                    const struct dt_tree *node)
{
    struct dt_decimal value, least = {field->least, -6}, most = {field->most, -6};
    struct dt_tree holder = {.kind = DT_TREE_MAP}, *made;
    char text[64];

    if (!dt_decimal_read(node, &value) || dt_decimal_compare(value, least) < 0 ||
        dt_decimal_compare(value, most) > 0) {
        struct dt_problem *problem;
        char low[64], high[64];

        dt_decimal_print(least, low, sizeof(low));
        dt_decimal_print(most, high, sizeof(high));
        problem = dt_problem_add(walk->problems, walk->path.text, "spec.range", node->at);
        dt_problem_text(problem, "%s must be a number from %s to %s, found %.60s",
                        walk->path.text, low, high, node->text ? node->text : "another");
        return unknown();
    }
    dt_decimal_print(value, text, sizeof(text));
    dt_tree_put_float(&holder, "x", text);
    made = dt_tree_take(&holder, "x");
    dt_free(made->key);
    made->key = NULL;
    made->int_value = dt_decimal_micro(value);
    return made;
}

static struct dt_tree *text_tree(const char *text, size_t size)
{
    struct dt_tree *made = dt_tree_make(DT_TREE_STR);

    made->text = dt_copy_bytes(text, size);
    made->text_size = size;
    return made;
}

/* No control characters but, in blocks, tabs and line ends. */
static bool is_printable(const struct dt_tree *node, bool is_block)
{
    uint32_t point;
    bool is_valid;

    for (size_t i = 0; i < node->text_size;) {
        i += dt_utf8_next(node->text + i, node->text_size - i, &point, &is_valid);
        if (!is_valid || point == 0x7f || (point >= 0x80 && point < 0xa0))
            return false;
        if (point < 0x20 && !(is_block && (point == '\n' || point == '\t' || point == '\r')))
            return false;
    }
    return true;
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);

    return size >= 1 && size <= 63 && text[0] != '-' && text[size - 1] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

/* A plain YAML scalar such as 010: a number to some readers, a text to others. */
static bool is_octal_like(const struct dt_tree *node)
{
    return !node->is_quoted && node->at.line > 0 && node->text[0] == '0' && node->text[1] &&
           is_digits(node->text);
}

static struct dt_tree *text_make(struct walk *walk, const struct dt_spec_field *field,
                                 const struct dt_tree *node)
{
    size_t most = (field->types & (DT_SPEC_LIST | DT_SPEC_WORD)) || !field->most
                      ? TEXT_BYTES_MAX
                      : (size_t)field->most;
    bool is_block = (field->types & DT_SPEC_BLOCK) != 0;
    struct dt_problem *problem = NULL;

    if (is_octal_like(node)) {
        problem = refuse(walk, node, "spec.leading-zero", "is a number with a leading zero");
        dt_problem_help(problem, "put it in quotes if it is a text: \"%.60s\"", node->text);
    } else if (!is_printable(node, is_block)) {
        problem = refuse(walk, node, "spec.control-character", "has a control character");
    } else if ((field->types & DT_SPEC_NAME) && !is_name(node->text)) {
        problem = refuse(walk, node, "spec.name", "is not a name");
        dt_problem_help(problem, "1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends");
    } else if ((field->types & DT_SPEC_PATH) && node->text[0] != '/') {
        problem = refuse(walk, node, "spec.path", "must be an absolute path");
        dt_problem_help(problem, field->types & DT_SPEC_WORD
                                     ? "begin it with /, or write auto or never"
                                     : "begin it with /");
    } else if (node->text_size > most) {
        char text[64];

        snprintf(text, sizeof(text), "is longer than %zu bytes", most);
        problem = refuse(walk, node, "spec.range", text);
    } else if (!node->text_size && !(field->types & DT_SPEC_NUMTEXT)) {
        problem = refuse(walk, node, "spec.empty", "is empty");
    }
    return problem ? unknown() : text_tree(node->text, node->text_size);
}

/* Durations, sizes and instants in their canonical form. */
static struct dt_tree *unit_make(struct walk *walk, const struct dt_spec_field *field,
                                 const struct dt_tree *node)
{
    enum dt_code code;
    int64_t value;
    char text[64];

    if (field->types & DT_SPEC_DURATION)
        code = dt_parse_duration_ms(node->text, &value, NULL);
    else if (field->types & DT_SPEC_SIZE)
        code = dt_parse_size_bytes(node->text, &value, NULL);
    else
        code = dt_parse_instant_ms(node->text, &value, NULL);
    if (code)
        return wrong_kind(walk, field, node);
    if (field->types & DT_SPEC_DURATION)
        dt_format_duration(value, text, sizeof(text));
    else if (field->types & DT_SPEC_SIZE)
        dt_format_size(value, text, sizeof(text));
    else
        dt_format_instant(value, text, sizeof(text));
    if (!(field->types & DT_SPEC_INSTANT) &&
        ((field->least && value < field->least) || value > field->most)) {
        dt_spec_unit_problem(walk->problems, walk->path.text, field, node);
        return unknown();
    }
    return text_tree(text, strlen(text));
}

static struct dt_tree *str_make(struct walk *walk, const struct dt_spec_field *field,
                                const struct dt_tree *node)
{
    if ((field->types & DT_SPEC_WORD) && dt_spec_word_index(field->words, node->text) >= 0) {
        if ((field->types & DT_SPEC_MAP) && field->is_filled)
            return object_make(walk, field->object, NULL); /* parallel: auto */
        return text_tree(node->text, node->text_size);
    }
    if (field->types & (DT_SPEC_DURATION | DT_SPEC_SIZE | DT_SPEC_INSTANT))
        return unit_make(walk, field, node);
    if (field->types & (DT_SPEC_NAME | DT_SPEC_PATH | DT_SPEC_STR | DT_SPEC_BLOCK))
        return text_make(walk, field, node);
    return wrong_kind(walk, field, node);
}

static struct dt_tree *scalar_make(struct walk *walk, const struct dt_spec_field *field,
                                   const struct dt_tree *node)
{
    char digits[24];

    switch (node->kind) {
    case DT_TREE_NULL:
        return field->types & DT_SPEC_NULL ? unknown() : wrong_kind(walk, field, node);
    case DT_TREE_BOOL:
        if (!(field->types & DT_SPEC_BOOL))
            break;
        return dt_tree_copy(&(struct dt_tree){.kind = DT_TREE_BOOL,
                                              .bool_value = node->bool_value});
    case DT_TREE_INT:
        snprintf(digits, sizeof(digits), "%lld", (long long)node->int_value);
        if (field->types & DT_SPEC_INT)
            return int_make(walk, field, node);
        if (field->types & DT_SPEC_DECIMAL)
            return decimal_make(walk, field, node);
        if ((field->types & DT_SPEC_NUMTEXT) ||
            ((field->types & DT_SPEC_WORD) && dt_spec_word_index(field->words, digits) >= 0))
            return text_tree(digits, strlen(digits));
        break;
    case DT_TREE_FLOAT:
        if (!(field->types & DT_SPEC_DECIMAL))
            break;
        return decimal_make(walk, field, node);
    case DT_TREE_STR:
        return str_make(walk, field, node);
    case DT_TREE_LIST:
    case DT_TREE_MAP:
        break;
    }
    return wrong_kind(walk, field, node);
}

/* Make one child at its path and hang it below parent. */
static void child_add(struct walk *walk, const struct dt_spec_field *field,
                      const struct dt_tree *node, struct dt_tree *parent)
{
    dt_tree_add(parent, parent->kind == DT_TREE_MAP ? node->key : NULL,
                value_make(walk, field, node));
}

static bool is_count_fine(struct walk *walk, const struct dt_spec_field *field,
                          const struct dt_tree *node)
{
    size_t most = field->most ? (size_t)field->most : LIST_COUNT_MAX;
    char text[80];

    if (node->count >= (size_t)field->least && node->count <= most)
        return true;
    if (!node->count)
        snprintf(text, sizeof(text), "is empty");
    else if ((size_t)field->least == most)
        snprintf(text, sizeof(text), "must have %zu entries, found %zu", most, node->count);
    else
        snprintf(text, sizeof(text), "must have %lld to %zu entries, found %zu",
                 (long long)field->least, most, node->count);
    refuse(walk, node, "spec.range", text);
    return false;
}

static struct dt_tree *list_make(struct walk *walk, const struct dt_spec_field *field,
                                 const struct dt_tree *node)
{
    struct dt_tree *made;
    size_t index = 0;

    if (!is_count_fine(walk, field, node))
        return unknown();
    made = dt_tree_make(DT_TREE_LIST);
    for (const struct dt_tree *item = node->first; item; item = item->next) {
        size_t before = dt_spec_path_index(&walk->path, index++);

        child_add(walk, field->item, item, made);
        dt_spec_path_cut(&walk->path, before);
    }
    return made;
}

static struct dt_tree *dict_make(struct walk *walk, const struct dt_spec_field *field,
                                 const struct dt_tree *node)
{
    struct dt_tree *made;

    if (!is_count_fine(walk, field, node))
        return unknown();
    made = dt_tree_make(DT_TREE_MAP);
    for (const struct dt_tree *item = node->first; item; item = item->next) {
        size_t before = dt_spec_path_key(&walk->path, item->key);

        child_add(walk, field->item, item, made);
        dt_spec_path_cut(&walk->path, before);
    }
    return made;
}

/* A scalar that stands for a list of it, or for {key: it}. */
static struct dt_tree *wrapped_make(struct walk *walk, const struct dt_spec_field *field,
                                    const struct dt_tree *node)
{
    struct dt_tree *made, *inner;

    if (strcmp(field->wraps, "[]") == 0) {
        inner = value_make(walk, field->item, node);
        if (inner->kind == DT_TREE_NULL)
            return inner;
        made = dt_tree_make(DT_TREE_LIST);
        dt_tree_add(made, NULL, inner);
        return made;
    }
    inner = str_make(walk, field, node);
    if (inner->kind == DT_TREE_NULL)
        return inner;
    inner->at = node->at;
    made = dt_tree_make(DT_TREE_MAP);
    dt_tree_add(made, field->wraps, inner);
    return made;
}

static bool is_scalar(const struct dt_tree *node)
{
    return node->kind != DT_TREE_LIST && node->kind != DT_TREE_MAP &&
           node->kind != DT_TREE_NULL;
}

static struct dt_tree *value_make(struct walk *walk, const struct dt_spec_field *field,
                                  const struct dt_tree *node)
{
    struct dt_tree *made;

    if (field->wraps && is_scalar(node) &&
        (node->kind == DT_TREE_STR || (field->types & DT_SPEC_INT)))
        made = wrapped_make(walk, field, node);
    else if (node->kind == DT_TREE_LIST && (field->types & DT_SPEC_LIST))
        made = list_make(walk, field, node);
    else if (node->kind == DT_TREE_MAP && (field->types & DT_SPEC_MAP))
        made = object_make(walk, field->object, node);
    else if (node->kind == DT_TREE_MAP && (field->types & DT_SPEC_DICT))
        made = dict_make(walk, field, node);
    else if (node->kind == DT_TREE_MAP && (field->types & DT_SPEC_ANY))
        made = dt_tree_copy(node);
    else
        made = scalar_make(walk, field, node);
    made->at = node->at;
    made->key_at = node->key_at;
    return made;
}

/* The row's own default as a tree, or NULL. */
static struct dt_tree *default_make(struct walk *walk, const struct dt_spec_field *field)
{
    const char *initial = field->for_now ? field->for_now : field->initial;
    struct dt_tree node = {.kind = DT_TREE_STR};
    struct dt_tree *made;

    if (field->object && field->is_filled)
        return object_make(walk, field->object, NULL);
    if (!field->initial)
        return NULL;
    if (strcmp(initial, "[]") == 0)
        return dt_tree_make(DT_TREE_LIST);
    if (strcmp(initial, "{}") == 0)
        return dt_tree_make(DT_TREE_MAP);
    node.text = dt_copy_text(initial);
    node.text_size = strlen(initial);
    dt_tree_type_plain(&node);
    made = value_make(walk, field, &node);
    assert(made->kind != DT_TREE_NULL);
    dt_tree_release(&node);
    return made;
}

/* Fields that were likely meant by an unknown key count as written, with an unknown value. */
static void unknown_keys(struct walk *walk, const struct dt_spec_object *object,
                         const struct dt_tree *map, struct dt_tree *made)
{
    for (const struct dt_tree *item = map->first; item; item = item->next) {
        const struct dt_spec_field *meant = NULL;

        if (dt_spec_field_find(object, item->key, strlen(item->key)))
            continue;
        dt_spec_unknown_key(walk->problems, &walk->path, object, item, &meant);
        if (meant && !dt_tree_get(map, meant->name) && !dt_tree_get(made, meant->name))
            dt_tree_add(made, meant->name, unknown())->at = item->at;
    }
}

static struct dt_tree *object_make(struct walk *walk, const struct dt_spec_object *object,
                                   const struct dt_tree *map)
{
    struct dt_tree *made = dt_tree_make(DT_TREE_MAP);
    size_t before;

    if (map)
        unknown_keys(walk, object, map, made);
    for (size_t i = 0; i < object->count; i++) {
        const struct dt_spec_field *field = &object->fields[i];
        const struct dt_tree *node = map ? dt_tree_get(map, field->name) : NULL;
        struct dt_tree *value;

        if (dt_tree_get(made, field->name))
            continue;
        before = dt_spec_path_key(&walk->path, field->name);
        value = node ? value_make(walk, field, node) : default_make(walk, field);
        if (value)
            dt_tree_add(made, field->name, value);
        if (!value && field->is_required) {
            struct dt_problem *problem = dt_problem_add(
                walk->problems, walk->path.text, "spec.required",
                map && map->key_at.line ? map->key_at : map ? map->at
                                                            : (struct dt_place_in_file){0});

            dt_problem_text(problem, "%s is required", walk->path.text);
            dt_problem_help(problem, "%s", field->help);
            dt_tree_add(made, field->name, unknown());
        }
        dt_spec_path_cut(&walk->path, before);
    }
    return made;
}

struct dt_tree *dt_spec_resolve(const struct dt_tree *written, struct dt_problems *problems)
{
    struct walk walk = {.problems = problems};
    struct dt_tree *made = object_make(&walk, &dt_spec_root, written);

    made->at = written->at;
    return made;
}
