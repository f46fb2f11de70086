/* For tests: a text read as job.yaml, with its problems and its report. */
#ifndef DT_TESTS_READING_H
#define DT_TESTS_READING_H

#include "dt/core/spec.h"

struct reading {
    struct dt_tree *tree;
    struct dt_spec spec;
    struct dt_problems problems;
    enum dt_code code;
    struct dt_buf report; /* as the user sees it, the file is job.yaml */
};

/* Parse and check size bytes. */
struct reading reading_of(const char *text, size_t size);
/* As reading_of for a NUL-terminated text. */
struct reading reading_of_text(const char *text);
/* "spec.range 4:10" of the first problem, "" when there is none. Static buffer. */
const char *reading_first(const struct reading *reading);
/* Free everything. */
void reading_release(struct reading *reading);
/* A file below the source tree; the caller frees. NULL when absent. */
char *source_file(const char *name, size_t *size);
/* Check text against a file below tests/golden, or write it when DT_UPDATE_GOLDEN is set. */
bool golden_equal(const char *name, const char *text);

#endif
