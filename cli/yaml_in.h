/* YAML bytes to a tree that knows its places; strict, and plain about what is wrong. */
#ifndef DT_CLI_YAML_IN_H
#define DT_CLI_YAML_IN_H

#include "dt/core/spec.h"

/*
 * Read one YAML document of at most DT_SPEC_BYTES_MAX bytes.
 *
 * bytes     borrowed; a byte order mark is fine
 * tree      out; the caller frees
 * problems  out: codes "yaml.*" with places; sorted into what is there already
 *
 * Scalars are typed by the YAML 1.2 core rules. Duplicate keys, anchors, aliases, merge keys, tags,
 * tabs in indentation, a second document, depth above DT_TREE_DEPTH_MAX and more than
 * DT_TREE_NODES_MAX values are refused.
 * DT_OK; or DT_INVALID with problems: then *tree is NULL, unless all of them leave the rest
 * readable (duplicate keys, anchors, tags), so that a caller may check that too.
 */
DT_MUST_USE enum dt_code dt_yaml_parse(const char *bytes, size_t size, struct dt_tree **tree,
                                       struct dt_problems *problems);

#endif
