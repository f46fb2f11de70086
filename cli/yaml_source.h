/* The bytes of a YAML file by line and column, and why libyaml stumbles over them. */
#ifndef DT_CLI_YAML_SOURCE_H
#define DT_CLI_YAML_SOURCE_H

#include "dt/core/spec.h"

/* {0} is empty. */
struct dt_yaml_source {
    const char *bytes; /* size, borrowed */
    size_t size;
    size_t *line_at;   /* offset of each of lines lines, owned */
    size_t lines;
};

/* What libyaml says; places count from 1, line 0 = none. */
struct dt_yaml_stumble {
    const char *problem, *context;
    int line, col;
    int context_line, context_col;
    struct dt_place_in_file flow;        /* innermost [ or { that is still open */
    struct dt_place_in_file last_quoted; /* last scalar, when it is quoted and spans lines */
};

/*
 * Index the lines of size borrowed bytes. false, with a problem, for too many bytes, bytes that are
 * not UTF-8, or control characters. Release in any case.
 */
DT_MUST_USE bool dt_yaml_source_open(struct dt_yaml_source *source, const char *bytes,
                                     size_t size, struct dt_problems *problems);
/* Free the index and zero it. */
void dt_yaml_source_release(struct dt_yaml_source *source);
/* Column one past the last character of a line that is no blank; more than col. */
int dt_yaml_source_end_col(const struct dt_yaml_source *source, int line, int col);
/* Column of the first tab in front of col when only blanks stand there, else 0. */
int dt_yaml_source_tab(const struct dt_yaml_source *source, int line, int col);
/* Line and column of a byte. */
void dt_yaml_source_place(const struct dt_yaml_source *source, size_t offset, int *line,
                          int *col);
/* Add the problem a person would name, at the place where it began. */
void dt_yaml_source_explain(const struct dt_yaml_source *source,
                            const struct dt_yaml_stumble *stumble, struct dt_problems *problems);

#endif
