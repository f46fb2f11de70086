/* A job file as the command line changed it, with everything that is wrong with it. */
#ifndef DT_CLI_JOBFILE_H
#define DT_CLI_JOBFILE_H

#include "dt/base/opts.h"
#include "dt/core/spec.h"

/* {0} is empty. */
struct dt_jobfile {
    const char *path;            /* borrowed; "-" is standard input */
    struct dt_buf source;        /* as written */
    struct dt_tree *tree;        /* with overrides; owned */
    struct dt_problems problems; /* owned */
};

/*
 * Read path, apply --set, --env, --name and --after, and check. DT_INVALID with problems when the
 * file is wrong; without problems (err says what) when it cannot be read or an option is wrong.
 * The caller releases.
 */
DT_MUST_USE enum dt_code dt_jobfile_read(struct dt_jobfile *file, const char *path,
                                         const struct dt_args *args, struct dt_err *err);

/* Turn the `errors` of a server's refusal (may be NULL) into problems with places in this file;
 * false when it has none. */
bool dt_jobfile_refused(struct dt_jobfile *file, const struct dt_tree *refusal);

/* Free the contents and zero it. */
void dt_jobfile_release(struct dt_jobfile *file);

#endif
