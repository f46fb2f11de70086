/* Stored objects: jobs and nodes as JSON with a checksum. */
#ifndef DT_WIRE_RECORD_H
#define DT_WIRE_RECORD_H

#include "dt/core/core.h"

/* A job's durable part without specification, source and members; the caller frees. */
struct dt_tree *dt_record_job_tree(const struct dt_job *job);
/* Its members, including held ones of older generations. */
struct dt_tree *dt_record_members_tree(const struct dt_job *job);
/* A node's durable part. */
struct dt_tree *dt_record_node_tree(const struct dt_node *node);

/* What the store has of one job; all borrowed. */
struct dt_record_parts {
    const struct dt_tree *object;   /* dt_record_job_tree */
    const struct dt_tree *members;  /* dt_record_members_tree, or NULL */
    const struct dt_tree *resolved; /* the specification */
    const char *source;             /* as the user wrote it, or NULL; copied */
};

/* The reverse: a job from its parts. DT_CORRUPT when a field is missing or contradicts. The caller
 * frees with dt_job_free(job, true). */
DT_MUST_USE enum dt_code dt_record_job_read(const struct dt_record_parts *parts,
                                            struct dt_job **job, struct dt_err *err);
/* A node from its object. */
DT_MUST_USE enum dt_code dt_record_node_read(const struct dt_tree *object, struct dt_node *node,
                                             struct dt_err *err);

/* The event of a record as the API shows it (docs/api.md); also what the log stores. */
struct dt_tree *dt_record_event_tree(const struct dt_record *record);

/* JSON text followed by "#" and its CRC-32C in 8 hex digits: how values lie in the store. */
void dt_record_seal(struct dt_buf *buf, const struct dt_tree *tree);
/* The reverse; DT_CORRUPT when the checksum or the JSON is wrong. The caller frees. */
DT_MUST_USE enum dt_code dt_record_unseal(const char *bytes, size_t size, struct dt_tree **tree,
                                          struct dt_err *err);

#endif
