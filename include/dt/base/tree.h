/* A tree of values: what YAML and JSON say, with the place where they said it. */
#ifndef DT_BASE_TREE_H
#define DT_BASE_TREE_H

#include "dt/base/err.h"

#define DT_TREE_DEPTH_MAX 16
#define DT_TREE_NODES_MAX 20000

enum dt_tree_kind {
    DT_TREE_NULL,
    DT_TREE_BOOL,
    DT_TREE_INT,
    DT_TREE_FLOAT, /* kept as decimal text: no float in core */
    DT_TREE_STR,
    DT_TREE_LIST,
    DT_TREE_MAP
};

/* A place in the user's file; lines and columns count from 1, characters not bytes; 0 = unknown. */
struct dt_place_in_file {
    int line;
    int col;
    int end_col; /* one past the last character; for a list or map the end of its first line */
};

/*
 * One value. Children form a list (first .. last, by next), so that a child's address never moves.
 * {0} is a valid null. Depth is at most DT_TREE_DEPTH_MAX where input comes from outside.
 */
struct dt_tree {
    enum dt_tree_kind kind;
    bool is_quoted;       /* YAML: a quoted scalar (always STR) */
    bool bool_value;      /* BOOL */
    int64_t int_value;    /* INT */
    char *text;           /* STR, FLOAT; INT from YAML (else NULL): as written, owned, with NUL */
    size_t text_size;     /* bytes of text (a STR from JSON never holds NUL) */
    char *key;            /* name inside a MAP, owned; else NULL */
    struct dt_place_in_file key_at;
    struct dt_place_in_file at;
    struct dt_tree *first; /* LIST, MAP: owned */
    struct dt_tree *last;
    struct dt_tree *next;  /* sibling */
    size_t count;          /* children */
};

/* A new node of this kind, alone; the caller frees with dt_tree_free. */
struct dt_tree *dt_tree_make(enum dt_tree_kind kind);

/* Free what is below and in the node, and zero it; next is dropped, not followed. */
void dt_tree_release(struct dt_tree *tree);

/* dt_tree_release, and the node itself; NULL is fine. */
void dt_tree_free(struct dt_tree *tree);

/* A deep copy (key and places too); the caller frees. NULL gives NULL. */
struct dt_tree *dt_tree_copy(const struct dt_tree *tree);

/* Same kinds, keys, order-free maps and values; places do not count. */
bool dt_tree_equal(const struct dt_tree *left, const struct dt_tree *right);

/* Append child to a LIST, or to a MAP under key; moved: the tree owns it. Returns child. */
struct dt_tree *dt_tree_add(struct dt_tree *parent, const char *key, struct dt_tree *take);

/* Take the child of that key out of a map; the caller owns it. NULL when absent. */
struct dt_tree *dt_tree_take(struct dt_tree *map, const char *key);

/* Set one member of a map (replacing it in place when there); key NULL appends to a list. */
struct dt_tree *dt_tree_put_str(struct dt_tree *parent, const char *key, const char *value);
/* As dt_tree_put_str; value NULL stores null. */
struct dt_tree *dt_tree_put_text(struct dt_tree *parent, const char *key, const char *value,
                                 size_t size);
/* As dt_tree_put_str, an integer. */
struct dt_tree *dt_tree_put_int(struct dt_tree *parent, const char *key, int64_t value);
/* A 64-bit fencing number: stored as decimal text in a string (JSON integers are not safe). */
struct dt_tree *dt_tree_put_u64(struct dt_tree *parent, const char *key, uint64_t value);
/* As dt_tree_put_str, a boolean. */
struct dt_tree *dt_tree_put_bool(struct dt_tree *parent, const char *key, bool value);
/* As dt_tree_put_str, a number kept as its decimal text, such as "3e-4". */
struct dt_tree *dt_tree_put_float(struct dt_tree *parent, const char *key, const char *decimal);
/* A new empty list or map under key. */
struct dt_tree *dt_tree_put_new(struct dt_tree *parent, const char *key, enum dt_tree_kind kind);

/* The member of a map, borrowed; NULL when map is NULL, no map, or has no such key. O(keys). */
struct dt_tree *dt_tree_get(const struct dt_tree *map, const char *key);

/* Text of a STR member, or otherwise when absent or of another kind. Borrowed. */
const char *dt_tree_str(const struct dt_tree *map, const char *key, const char *otherwise);
/* Value of an INT member, or otherwise. */
int64_t dt_tree_int(const struct dt_tree *map, const char *key, int64_t otherwise);
/* A number stored by dt_tree_put_u64 (or a non-negative INT), or otherwise. */
uint64_t dt_tree_u64(const struct dt_tree *map, const char *key, uint64_t otherwise);
/* Value of a BOOL member, or otherwise. */
bool dt_tree_bool(const struct dt_tree *map, const char *key, bool otherwise);

/* Word for a kind as a user reads it: "a list", "an integer". */
const char *dt_tree_kind_name(enum dt_tree_kind kind);

#endif
