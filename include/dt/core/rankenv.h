/* The environment of a rank (job.md section 6). */
#ifndef DT_CORE_RANKENV_H
#define DT_CORE_RANKENV_H

#include "dt/base/buf.h"
#include "dt/base/tree.h"
#include "dt/core/spec.h"

/* What the node adds to a bundle. */
struct dt_rank_place {
    const char *master_addr;
    int master_port;
    const char *metrics_socket;
    const char *error_file;   /* TORCHELASTIC_ERROR_FILE */
    const char *hostfile;     /* DT_HOSTFILE, or NULL */
    const char *resume_from;  /* DT_RESUME_FROM, or NULL */
    int cpus;                 /* cores of the rank: OMP_NUM_THREADS unless set */
};

/*
 * The variables of one rank as "K=V" texts, owned; the caller frees with dt_texts_release.
 *
 * bundle  borrowed: docs/protocol.md
 * rank    borrowed: one row of bundle.ranks
 * base    borrowed: variables of the agent that ranks inherit; foreign launchers' are stripped
 *
 * Later ones win: base, the job's env, dt's own. O(variables).
 */
void dt_rank_environment(const struct dt_tree *bundle, const struct dt_tree *rank,
                         char *const *base, const struct dt_rank_place *place,
                         struct dt_texts *env);

/* The host file of a generation: "addr slots=N" for each node, in the order of the ranks. */
void dt_rank_hostfile(const struct dt_tree *bundle, struct dt_buf *text);

/* Add or replace a variable. */
void dt_env_set(struct dt_texts *env, const char *name, const char *value);
/* The value of a variable or NULL; borrowed. */
const char *dt_env_get(const struct dt_texts *env, const char *name);
/* Free the texts and zero it. */
void dt_texts_release(struct dt_texts *texts);

#endif
