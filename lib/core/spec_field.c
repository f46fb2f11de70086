/* Rows of the field table: finding, visiting and describing them; paths. */
#include "spec_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct dt_spec_field *dt_spec_field_find(const struct dt_spec_object *object,
                                               const char *name, size_t size)
{
    for (size_t i = 0; i < object->count; i++)
        if (strlen(object->fields[i].name) == size &&
            memcmp(object->fields[i].name, name, size) == 0)
            return &object->fields[i];
    return NULL;
}

int dt_spec_word_index(const char *words, const char *word)
{
    size_t size = strlen(word), length;
    int index = 0;

    for (const char *at = words; at && *at; index++) {
        length = strcspn(at, " ");
        if (length == size && size && memcmp(at, word, size) == 0)
            return index;
        at += length;
        at += strspn(at, " ");
    }
    return -1;
}

void dt_spec_words_print(struct dt_buf *buf, const char *words)
{
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");

        if (at != words)
            dt_buf_text(buf, strchr(at, ' ') ? ", " : " or ");
        dt_buf_add(buf, at, length);
        at += length;
        at += strspn(at, " ");
    }
}

static void types_add(struct dt_buf *parts, const char *text)
{
    dt_buf_text(parts, text);
    dt_buf_byte(parts, '\n');
}

static void types_int(struct dt_buf *parts, const struct dt_spec_field *field)
{
    bool is_count_of_list = field->wraps != NULL;

    if (is_count_of_list || (!field->least && !field->most))
        dt_buf_text(parts, "an integer\n");
    else if (field->least == field->most)
        dt_buf_print(parts, "%lld\n", (long long)field->least);
    else if (field->most >= (1LL << 40))
        dt_buf_print(parts, "an integer of at least %lld\n", (long long)field->least);
    else
        dt_buf_print(parts, "an integer from %lld to %lld\n", (long long)field->least,
                     (long long)field->most);
}

/* "{min, max, step}" */
static void types_map(struct dt_buf *parts, const struct dt_spec_field *field)
{
    if (field->object->count > 4) {
        types_add(parts, "a map");
        return;
    }
    dt_buf_byte(parts, '{');
    for (size_t i = 0; i < field->object->count; i++)
        dt_buf_print(parts, "%s%s", i ? ", " : "", field->object->fields[i].name);
    dt_buf_text(parts, "}\n");
}

void dt_spec_types_print(struct dt_buf *buf, const struct dt_spec_field *field)
{
    static const struct { unsigned type; const char *text; } plain[] = {
        {DT_SPEC_BOOL, "true or false"}, {DT_SPEC_DECIMAL, "a number"},
        {DT_SPEC_NAME, "a name"}, {DT_SPEC_PATH, "an absolute path"}, {DT_SPEC_STR, "a text"},
        {DT_SPEC_DURATION, "a duration such as 90s or 2h30m"},
        {DT_SPEC_SIZE, "a size such as 2GiB"},
        {DT_SPEC_INSTANT, "an instant such as 2026-12-01T08:00:00Z"},
        {DT_SPEC_LIST, "a list"}, {DT_SPEC_DICT, "a map"}, {DT_SPEC_ANY, "a map"},
    };
    struct dt_buf parts = {0};

    if (field->types & DT_SPEC_INT)
        types_int(&parts, field);
    for (size_t i = 0; i < DT_COUNT(plain); i++)
        if (field->types & plain[i].type)
            types_add(&parts, plain[i].text);
    if ((field->types & (DT_SPEC_BLOCK | DT_SPEC_STR)) == DT_SPEC_BLOCK)
        types_add(&parts, "a text");
    if (field->types & DT_SPEC_WORD) {
        dt_spec_words_print(&parts, field->words);
        dt_buf_byte(&parts, '\n');
    }
    if (field->types & DT_SPEC_MAP)
        types_map(&parts, field);
    for (const char *at = dt_buf_str(&parts); *at;) {
        size_t length = strcspn(at, "\n");
        const char *after = at + length + 1;

        if (at != parts.data)
            dt_buf_text(buf, *after ? ", " : " or ");
        dt_buf_add(buf, at, length);
        at = after;
    }
    dt_buf_release(&parts);
}

size_t dt_spec_path_key(struct dt_spec_path *path, const char *key)
{
    size_t before = path->size;
    int added = snprintf(path->text + before, sizeof(path->text) - before, "%s%.64s",
                         before ? "." : "", key);

    if (added > 0)
        path->size += (size_t)added;
    if (path->size >= sizeof(path->text))
        path->size = sizeof(path->text) - 1;
    return before;
}

size_t dt_spec_path_index(struct dt_spec_path *path, size_t index)
{
    size_t before = path->size;
    int added = snprintf(path->text + before, sizeof(path->text) - before, "[%zu]", index);

    if (added > 0)
        path->size += (size_t)added;
    if (path->size >= sizeof(path->text))
        path->size = sizeof(path->text) - 1;
    return before;
}

void dt_spec_path_cut(struct dt_spec_path *path, size_t size)
{
    assert(size <= path->size);
    path->size = size;
    path->text[size] = 0;
}

struct visit {
    dt_spec_visit *call;
    void *arg;
    struct dt_spec_path path;
};

/* The table nests at most 5 deep. */
static void visit_object(struct visit *visit, const struct dt_spec_object *object)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct dt_spec_field *field = &object->fields[i];
        size_t before = dt_spec_path_key(&visit->path, field->name);

        visit->call(visit->arg, visit->path.text, field);
        if (field->object)
            visit_object(visit, field->object);
        if (field->item && field->item->object)
            visit_object(visit, field->item->object);
        dt_spec_path_cut(&visit->path, before);
    }
}

void dt_spec_each(dt_spec_visit *visit, void *arg)
{
    struct visit state = {.call = visit, .arg = arg};

    visit_object(&state, &dt_spec_root);
}

struct dt_tree *dt_spec_at(const struct dt_tree *resolved, const char *path)
{
    const struct dt_tree *node = resolved;
    char key[64];

    while (node && *path) {
        size_t length = strcspn(path, ".");

        assert(length < sizeof(key));
        memcpy(key, path, length);
        key[length] = 0;
        node = dt_tree_get(node, key);
        path += length;
        path += *path == '.';
    }
    return node && node->kind != DT_TREE_NULL ? (struct dt_tree *)node : NULL;
}

bool dt_spec_int_at(const struct dt_tree *resolved, const char *path, int64_t *value)
{
    const struct dt_tree *node = dt_spec_at(resolved, path);

    if (!node || node->kind != DT_TREE_INT)
        return false;
    *value = node->int_value;
    return true;
}

void dt_spec_default_int(struct dt_tree *map, const char *key, int64_t value)
{
    if (!dt_tree_get(map, key))
        dt_tree_put_int(map, key, value);
}

void dt_spec_default_str(struct dt_tree *map, const char *key, const char *value)
{
    if (!dt_tree_get(map, key))
        dt_tree_put_str(map, key, value);
}

bool dt_spec_nodes(const struct dt_tree *resolved, int64_t *least, int64_t *most, int64_t *step)
{
    if (dt_spec_int_at(resolved, "resources.nodes", least)) {
        *most = *least;
        *step = 1;
        return true;
    }
    return dt_spec_int_at(resolved, "resources.nodes.min", least) &&
           dt_spec_int_at(resolved, "resources.nodes.max", most) &&
           dt_spec_int_at(resolved, "resources.nodes.step", step) && *least <= *most;
}

void dt_spec_divisors_print(struct dt_buf *buf, int64_t number, int64_t most)
{
    int64_t last = 1;

    for (int64_t i = 1; i <= number && i <= most; i++)
        if (number % i == 0)
            last = i;
    for (int64_t i = 1; i <= last; i++)
        if (number % i == 0)
            dt_buf_print(buf, "%s%lld", i == 1 ? "" : i == last ? " or " : ", ", (long long)i);
}
