/* Keys, certificates and tokens of a cluster. */
#ifndef DT_SERVER_KEYS_H
#define DT_SERVER_KEYS_H

#include "dt/base/err.h"

/* Make what is missing below state_dir/keys: cluster id, CA, server certificate, the secret that
 * generations' secrets come from. cluster_id receives 32 hex digits (33 bytes). */
DT_MUST_USE enum dt_code keys_open(const char *state_dir, char cluster_id[33],
                                   struct dt_err *err);

/* Write cert.pem, key.pem, ca.pem and cluster for a node into directory (made, 0700). */
DT_MUST_USE enum dt_code keys_issue_node(const char *state_dir, const char *cluster_id,
                                         const char *node, const char *directory,
                                         struct dt_err *err);

/* A new API token: its text goes to path (0600), only its SHA-256 stays in hash (65 bytes). */
DT_MUST_USE enum dt_code keys_make_token(const char *path, char hash[65], struct dt_err *err);

/* 32 hex digits (33 bytes) that only this cluster's controller can make for (job, gen). */
void keys_gang_secret(const char *state_dir, uint64_t job, uint64_t gen, char text[33]);

#endif
