/* Trees of values: building, copying, looking up. */
#include "dt/base/tree.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct dt_tree *dt_tree_make(enum dt_tree_kind kind)
{
    struct dt_tree *tree = dt_alloc(1, sizeof(*tree));

    tree->kind = kind;
    return tree;
}

/* Recursion is bounded by the depth limit of every reader. */
void dt_tree_release(struct dt_tree *tree)
{
    struct dt_tree *child, *next;

    if (!tree)
        return;
    for (child = tree->first; child; child = next) {
        next = child->next;
        dt_tree_free(child);
    }
    dt_free(tree->text);
    dt_free(tree->key);
    *tree = (struct dt_tree){0};
}

void dt_tree_free(struct dt_tree *tree)
{
    dt_tree_release(tree);
    dt_free(tree);
}

struct dt_tree *dt_tree_copy(const struct dt_tree *tree)
{
    struct dt_tree *copy;

    if (!tree)
        return NULL;
    copy = dt_tree_make(tree->kind);
    copy->is_quoted = tree->is_quoted;
    copy->bool_value = tree->bool_value;
    copy->int_value = tree->int_value;
    copy->text = tree->text ? dt_copy_bytes(tree->text, tree->text_size) : NULL;
    copy->text_size = tree->text_size;
    copy->key_at = tree->key_at;
    copy->at = tree->at;
    for (const struct dt_tree *child = tree->first; child; child = child->next)
        dt_tree_add(copy, child->key, dt_tree_copy(child));
    copy->key = dt_copy_text(tree->key);
    return copy;
}

static bool scalar_equal(const struct dt_tree *left, const struct dt_tree *right)
{
    switch (left->kind) {
    case DT_TREE_BOOL:
        return left->bool_value == right->bool_value;
    case DT_TREE_INT:
        return left->int_value == right->int_value;
    case DT_TREE_STR:
    case DT_TREE_FLOAT:
        return left->text_size == right->text_size &&
               memcmp(left->text, right->text, left->text_size) == 0;
    case DT_TREE_NULL:
    case DT_TREE_LIST:
    case DT_TREE_MAP:
        break;
    }
    return true;
}

bool dt_tree_equal(const struct dt_tree *left, const struct dt_tree *right)
{
    const struct dt_tree *other;

    if (!left || !right)
        return left == right;
    if (left->kind != right->kind || left->count != right->count || !scalar_equal(left, right))
        return false;
    other = right->first;
    for (const struct dt_tree *child = left->first; child; child = child->next) {
        const struct dt_tree *twin = left->kind == DT_TREE_MAP ? dt_tree_get(right, child->key)
                                                               : other;
        if (!twin || !dt_tree_equal(child, twin))
            return false;
        other = other->next;
    }
    return true;
}

struct dt_tree *dt_tree_add(struct dt_tree *parent, const char *key, struct dt_tree *take)
{
    char *name;

    assert(parent->kind == DT_TREE_LIST || parent->kind == DT_TREE_MAP);
    assert((parent->kind == DT_TREE_MAP) == (key != NULL));
    name = dt_copy_text(key);
    dt_free(take->key);
    take->key = name;
    take->next = NULL;
    if (parent->last)
        parent->last->next = take;
    else
        parent->first = take;
    parent->last = take;
    parent->count++;
    return take;
}

struct dt_tree *dt_tree_take(struct dt_tree *map, const char *key)
{
    struct dt_tree *before = NULL;

    if (!map || map->kind != DT_TREE_MAP)
        return NULL;
    for (struct dt_tree *child = map->first; child; before = child, child = child->next) {
        if (strcmp(child->key, key) != 0)
            continue;
        if (before)
            before->next = child->next;
        else
            map->first = child->next;
        if (map->last == child)
            map->last = before;
        map->count--;
        child->next = NULL;
        return child;
    }
    return NULL;
}

struct dt_tree *dt_tree_get(const struct dt_tree *map, const char *key)
{
    if (!map || map->kind != DT_TREE_MAP)
        return NULL;
    for (struct dt_tree *child = map->first; child; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

/* The member to write: an existing one emptied in place, or a new one. */
static struct dt_tree *tree_slot(struct dt_tree *parent, const char *key, enum dt_tree_kind kind)
{
    struct dt_tree *slot = key ? dt_tree_get(parent, key) : NULL;
    struct dt_tree *next;
    char *name;

    if (!slot)
        return dt_tree_add(parent, key, dt_tree_make(kind));
    next = slot->next;
    name = slot->key;
    slot->key = NULL;
    dt_tree_release(slot);
    slot->key = name;
    slot->next = next;
    slot->kind = kind;
    return slot;
}

struct dt_tree *dt_tree_put_text(struct dt_tree *parent, const char *key, const char *value,
                                 size_t size)
{
    struct dt_tree *slot = tree_slot(parent, key, value ? DT_TREE_STR : DT_TREE_NULL);

    if (value) {
        slot->text = dt_copy_bytes(value, size);
        slot->text_size = size;
    }
    return slot;
}

struct dt_tree *dt_tree_put_str(struct dt_tree *parent, const char *key, const char *value)
{
    return dt_tree_put_text(parent, key, value, value ? strlen(value) : 0);
}

struct dt_tree *dt_tree_put_int(struct dt_tree *parent, const char *key, int64_t value)
{
    struct dt_tree *slot = tree_slot(parent, key, DT_TREE_INT);

    slot->int_value = value;
    return slot;
}

struct dt_tree *dt_tree_put_u64(struct dt_tree *parent, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return dt_tree_put_str(parent, key, text);
}

struct dt_tree *dt_tree_put_bool(struct dt_tree *parent, const char *key, bool value)
{
    struct dt_tree *slot = tree_slot(parent, key, DT_TREE_BOOL);

    slot->bool_value = value;
    return slot;
}

struct dt_tree *dt_tree_put_float(struct dt_tree *parent, const char *key, const char *decimal)
{
    struct dt_tree *slot = dt_tree_put_str(parent, key, decimal);

    slot->kind = DT_TREE_FLOAT;
    return slot;
}

struct dt_tree *dt_tree_put_new(struct dt_tree *parent, const char *key, enum dt_tree_kind kind)
{
    return tree_slot(parent, key, kind);
}

const char *dt_tree_str(const struct dt_tree *map, const char *key, const char *otherwise)
{
    const struct dt_tree *member = dt_tree_get(map, key);

    return member && member->kind == DT_TREE_STR ? member->text : otherwise;
}

int64_t dt_tree_int(const struct dt_tree *map, const char *key, int64_t otherwise)
{
    const struct dt_tree *member = dt_tree_get(map, key);

    return member && member->kind == DT_TREE_INT ? member->int_value : otherwise;
}

uint64_t dt_tree_u64(const struct dt_tree *map, const char *key, uint64_t otherwise)
{
    const struct dt_tree *member = dt_tree_get(map, key);
    uint64_t value;

    if (member && member->kind == DT_TREE_INT && member->int_value >= 0)
        return (uint64_t)member->int_value;
    if (member && member->kind == DT_TREE_STR && dt_parse_u64(member->text, UINT64_MAX, &value))
        return value;
    return otherwise;
}

bool dt_tree_bool(const struct dt_tree *map, const char *key, bool otherwise)
{
    const struct dt_tree *member = dt_tree_get(map, key);

    return member && member->kind == DT_TREE_BOOL ? member->bool_value : otherwise;
}

const char *dt_tree_kind_name(enum dt_tree_kind kind)
{
    static const char *const names[] = {
        [DT_TREE_NULL] = "null", [DT_TREE_BOOL] = "true or false", [DT_TREE_INT] = "an integer",
        [DT_TREE_FLOAT] = "a number", [DT_TREE_STR] = "a text", [DT_TREE_LIST] = "a list",
        [DT_TREE_MAP] = "a map",
    };

    return names[kind];
}
