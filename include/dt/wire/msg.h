/* The message table: every type, who may send it, its fields and their bounds. */
#ifndef DT_WIRE_MSG_H
#define DT_WIRE_MSG_H

#include "dt/base/err.h"
#include "dt/core/core.h"

#define DT_PROTO_MIN 1
#define DT_PROTO_MAX 1

enum dt_msg_from {
    DT_FROM_AGENT,      /* agent -> controller */
    DT_FROM_CONTROLLER, /* controller -> agent */
    DT_FROM_STEP,       /* step process -> its agent */
    DT_FROM_AGENT_STEP  /* agent -> its step process */
};

/*
 * Check a decoded message against the table: known type, allowed sender, required fields there,
 * kinds and bounds right; unknown fields are allowed (a newer peer). DT_OK, or DT_INVALID with
 * what is wrong. docs/protocol.md lists the same rows.
 */
DT_MUST_USE enum dt_code dt_msg_check(const struct dt_tree *body, enum dt_msg_from from,
                                      struct dt_err *err);

/* A new message {"type": type}; the caller frees. */
struct dt_tree *dt_msg_make(const char *type);

/* One gang's report to and from a tree (message "report", and members of hello and beat). */
struct dt_tree *dt_msg_report_tree(const struct dt_gang_report *report);
/* The reverse; the caller frees report->exits. DT_INVALID when a field is out of bounds. */
DT_MUST_USE enum dt_code dt_msg_report_read(const struct dt_tree *tree,
                                            struct dt_gang_report *report, struct dt_err *err);

/* One rank's end to and from a tree. */
struct dt_tree *dt_msg_exit_tree(const struct dt_rank_exit *end);
void dt_msg_exit_read(const struct dt_tree *tree, struct dt_rank_exit *end);

/* Progress to and from a tree; a NULL tree reads as "none yet". */
struct dt_tree *dt_msg_progress_tree(const struct dt_progress *progress);
void dt_msg_progress_read(const struct dt_tree *tree, struct dt_progress *progress);

/* An inventory to and from a tree (member "inventory" of hello). */
struct dt_tree *dt_msg_inventory_tree(const struct dt_inventory *inventory);
/* The reverse; the caller releases. */
DT_MUST_USE enum dt_code dt_msg_inventory_read(const struct dt_tree *tree,
                                               struct dt_inventory *inventory,
                                               struct dt_err *err);

/* Append the table as Markdown (docs/protocol.md is checked against it). */
void dt_msg_doc(struct dt_buf *buf);

#endif
