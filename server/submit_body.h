/* The body of POST /v1/jobs, read and checked before anything else sees it. */
#ifndef DT_SERVER_SUBMIT_BODY_H
#define DT_SERVER_SUBMIT_BODY_H

#include "dt/base/json.h"
#include "dt/core/spec.h"

/* What API bodies may be: 1 MiB, 20 deep, 50,000 values. */
extern const struct dt_json_limits api_body_limits;

/* The whole submit; {0} before submit_body_read, submit_body_release afterwards in any case. */
struct submit_body {
    struct dt_tree *tree;   /* the body itself */
    struct dt_spec spec;    /* resolved */
    int count;              /* copies, 1 to 1000 */
    const char *submit_dir; /* absolute; inside tree, or "/" */
    const char *source;     /* the file as the user wrote it, or NULL; inside tree */
    bool is_dry_run, is_if_possible;
};

/* Read it. DT_USAGE: no JSON, or a member of the wrong kind; DT_INVALID and DT_UNSUPPORTED with
 * problems: the specification. O(size). */
DT_MUST_USE enum dt_code submit_body_read(const char *bytes, size_t size,
                                          struct submit_body *body,
                                          struct dt_problems *problems, struct dt_err *err);
/* Free what it holds and zero it. */
void submit_body_release(struct submit_body *body);

/* A body as an object; DT_USAGE when it is none. The caller frees. */
DT_MUST_USE enum dt_code api_body_read(const char *bytes, size_t size, struct dt_tree **tree,
                                       struct dt_err *err);

#endif
