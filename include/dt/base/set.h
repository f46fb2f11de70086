/* Ordered sets: values by 64-bit id or by name, always walked in that order. */
#ifndef DT_BASE_SET_H
#define DT_BASE_SET_H

#include "dt/base/base.h"

/* Values by id, ascending. {0} is a valid empty set. Values are borrowed: the set frees none. */
struct dt_set {
    struct dt_set_item { uint64_t id; void *value; } *items; /* count, owned */
    size_t count;
    size_t room;
};

/* Free the index (not the values) and zero it. */
void dt_set_release(struct dt_set *set);
/* The value of id or NULL. O(log n). */
void *dt_set_get(const struct dt_set *set, uint64_t id);
/* Put or replace; value not NULL. O(1) for the greatest id, else O(n). Returns the old value. */
void *dt_set_put(struct dt_set *set, uint64_t id, void *value);
/* Remove and return the value, or NULL. O(n). */
void *dt_set_remove(struct dt_set *set, uint64_t id);
/* Index of the first item whose id is at least id; count when none. O(log n). */
size_t dt_set_seek(const struct dt_set *set, uint64_t id);

/* Values by name in strcmp order. {0} is valid. Names are copied, values borrowed. */
struct dt_dict {
    struct dt_dict_item { char *name; void *value; } *items; /* count, owned */
    size_t count;
    size_t room;
};

/* Free names and index (not the values) and zero it. */
void dt_dict_release(struct dt_dict *dict);
/* The value of name or NULL. O(log n). */
void *dt_dict_get(const struct dt_dict *dict, const char *name);
/* Put or replace; value not NULL. O(n). Returns the old value. */
void *dt_dict_put(struct dt_dict *dict, const char *name, void *value);
/* Remove and return the value, or NULL. O(n). */
void *dt_dict_remove(struct dt_dict *dict, const char *name);

#endif
