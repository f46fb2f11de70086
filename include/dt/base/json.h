/* JSON text to and from trees. */
#ifndef DT_BASE_JSON_H
#define DT_BASE_JSON_H

#include "dt/base/buf.h"
#include "dt/base/tree.h"

struct dt_json_limits {
    size_t bytes_max; /* refuse longer input */
    int depth_max;    /* nesting of lists and maps; at most 64 */
    size_t nodes_max;
};

/* Limits for messages between our own programs: 1 MiB, depth 16, 200,000 nodes. */
extern const struct dt_json_limits dt_json_limits_wire;

/*
 * Parse size bytes of one JSON value into a tree the caller frees. Duplicate keys, NUL in strings,
 * invalid UTF-8, integers beyond 64 bits, trailing bytes and anything past the limits are refused.
 * DT_OK or DT_INVALID with line and column in the text. No places in the tree. O(size).
 */
DT_MUST_USE enum dt_code dt_json_parse(const char *bytes, size_t size,
                                       const struct dt_json_limits *limits,
                                       struct dt_tree **tree, struct dt_err *err);

/* Append tree as JSON without white space, members in their order. Invalid UTF-8 -> U+FFFD. */
void dt_json_write(struct dt_buf *buf, const struct dt_tree *tree);

/* As dt_json_write with members sorted by bytes of their key: equal trees, equal bytes. */
void dt_json_write_canonical(struct dt_buf *buf, const struct dt_tree *tree);

/* As dt_json_write, indented by two blanks a level, for people. */
void dt_json_write_pretty(struct dt_buf *buf, const struct dt_tree *tree);

/* Append size bytes as one quoted JSON string; invalid UTF-8 becomes U+FFFD. */
void dt_json_quote(struct dt_buf *buf, const char *text, size_t size);

#endif
