/* A tree as YAML text. */
#ifndef DT_CLI_YAML_OUT_H
#define DT_CLI_YAML_OUT_H

#include "dt/base/tree.h"
#include "dt/base/buf.h"

/* Append tree as YAML in block style; texts that would read as something else are quoted. */
void dt_yaml_write(struct dt_buf *buf, const struct dt_tree *tree);

#endif
