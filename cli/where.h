/* Finding the cluster: flag, environment, contexts file, sockets of this user and of the system. */
#ifndef DT_CLI_WHERE_H
#define DT_CLI_WHERE_H

#include "dt/base/err.h"

#define DT_WHERE_PATH_BYTES_MAX 512

/* One cluster's address. Either socket or url is set. */
struct dt_where {
    char name[64];                          /* of the context; "" for the system socket */
    char socket[DT_WHERE_PATH_BYTES_MAX];   /* Unix socket of the API, or "" */
    char url[DT_WHERE_PATH_BYTES_MAX];      /* https://host:port, or "" */
    char ca[DT_WHERE_PATH_BYTES_MAX];       /* PEM file, or "" = the system's */
    char token_file[DT_WHERE_PATH_BYTES_MAX];
};

/*
 * The cluster to talk to. name is --context (NULL: DT_CONTEXT, then the contexts file's
 * `current`, then the only running cluster of this user, then the system socket).
 * DT_UNREACHABLE when there is none, DT_USAGE when several fit, DT_DENIED when a directory on the
 * way belongs to someone else. Nothing is connected.
 */
DT_MUST_USE enum dt_code dt_where_find(const char *name, struct dt_where *where,
                                       struct dt_err *err);

/* Directory of this user's embedded clusters: $XDG_RUNTIME_DIR/dt, else /tmp/dt-UID. */
DT_MUST_USE enum dt_code dt_where_run_dir(char *text, size_t size, struct dt_err *err);

/* Default state directory of the embedded cluster of that name. */
DT_MUST_USE enum dt_code dt_where_state_dir(const char *name, char *text, size_t size,
                                            struct dt_err *err);

/* path is a directory, ours, and closed to others; DT_NOT_FOUND, DT_DENIED. */
DT_MUST_USE enum dt_code dt_where_check_dir(const char *path, struct dt_err *err);

/* A cluster's name: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 40 letters. */
DT_MUST_USE enum dt_code dt_where_check_name(const char *name, struct dt_err *err);

#endif
