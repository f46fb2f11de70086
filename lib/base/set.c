/* Sorted arrays as sets: by id and by name. */
#include "dt/base/set.h"

#include <assert.h>
#include <string.h>

void dt_set_release(struct dt_set *set)
{
    if (!set)
        return;
    dt_free(set->items);
    *set = (struct dt_set){0};
}

size_t dt_set_seek(const struct dt_set *set, uint64_t id)
{
    size_t low = 0, high = set->count;

    if (high && set->items[high - 1].id < id)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *dt_set_get(const struct dt_set *set, uint64_t id)
{
    size_t at = dt_set_seek(set, id);

    return at < set->count && set->items[at].id == id ? set->items[at].value : NULL;
}

void *dt_set_put(struct dt_set *set, uint64_t id, void *value)
{
    size_t at = dt_set_seek(set, id);

    assert(value);
    if (at < set->count && set->items[at].id == id) {
        void *old = set->items[at].value;

        set->items[at].value = value;
        return old;
    }
    if (set->count == set->room) {
        set->room = set->room ? set->room * 2 : 16;
        set->items = dt_realloc(set->items, set->room, sizeof(*set->items));
    }
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof(*set->items));
    set->items[at] = (struct dt_set_item){id, value};
    set->count++;
    return NULL;
}

void *dt_set_remove(struct dt_set *set, uint64_t id)
{
    size_t at = dt_set_seek(set, id);
    void *value;

    if (at >= set->count || set->items[at].id != id)
        return NULL;
    value = set->items[at].value;
    set->count--;
    memmove(set->items + at, set->items + at + 1, (set->count - at) * sizeof(*set->items));
    return value;
}

void dt_dict_release(struct dt_dict *dict)
{
    if (!dict)
        return;
    for (size_t i = 0; i < dict->count; i++)
        dt_free(dict->items[i].name);
    dt_free(dict->items);
    *dict = (struct dt_dict){0};
}

/* Index of the first item whose name is at least name. */
static size_t dict_seek(const struct dt_dict *dict, const char *name)
{
    size_t low = 0, high = dict->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(dict->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool dict_holds(const struct dt_dict *dict, size_t at, const char *name)
{
    return at < dict->count && strcmp(dict->items[at].name, name) == 0;
}

void *dt_dict_get(const struct dt_dict *dict, const char *name)
{
    size_t at = dict_seek(dict, name);

    return dict_holds(dict, at, name) ? dict->items[at].value : NULL;
}

void *dt_dict_put(struct dt_dict *dict, const char *name, void *value)
{
    size_t at = dict_seek(dict, name);

    assert(value);
    if (dict_holds(dict, at, name)) {
        void *old = dict->items[at].value;

        dict->items[at].value = value;
        return old;
    }
    if (dict->count == dict->room) {
        dict->room = dict->room ? dict->room * 2 : 16;
        dict->items = dt_realloc(dict->items, dict->room, sizeof(*dict->items));
    }
    memmove(dict->items + at + 1, dict->items + at, (dict->count - at) * sizeof(*dict->items));
    dict->items[at] = (struct dt_dict_item){dt_copy_text(name), value};
    dict->count++;
    return NULL;
}

void *dt_dict_remove(struct dt_dict *dict, const char *name)
{
    size_t at = dict_seek(dict, name);
    void *value;

    if (!dict_holds(dict, at, name))
        return NULL;
    value = dict->items[at].value;
    dt_free(dict->items[at].name);
    dict->count--;
    memmove(dict->items + at, dict->items + at + 1, (dict->count - at) * sizeof(*dict->items));
    return value;
}
