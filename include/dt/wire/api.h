/* The shapes of the HTTP API (docs/api.md). */
#ifndef DT_WIRE_API_H
#define DT_WIRE_API_H

#include "dt/core/core.h"

/* A job as the API shows it; the caller frees. */
struct dt_tree *dt_api_job_tree(const struct dt_job *job);
/* Append what lists show of a job: the same members and names as dt_api_job_tree, without those
 * that are null, as JSON at once. A tenth of the cost: lists have thousands of rows. */
void dt_api_job_row(struct dt_buf *buf, const struct dt_job *job);
/* A node; now_ms gives heard_ms_ago. */
struct dt_tree *dt_api_node_tree(const struct dt_node *node, int64_t now_ms);
/* application/problem+json of an error; problems may be NULL. */
struct dt_tree *dt_api_problem_tree(const struct dt_err *err, const struct dt_problems *problems);

/* Exit status that `dtctl wait` gives for a terminal job (job.md section 9); -1 when not over. */
int dt_api_job_exit(const struct dt_job *job);

#endif
