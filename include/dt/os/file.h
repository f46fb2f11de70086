/* Files that are either whole or not there. */
#ifndef DT_OS_FILE_H
#define DT_OS_FILE_H

#include "dt/base/buf.h"
#include "dt/base/err.h"

/* Append a whole file to buf; more than bytes_max is DT_INVALID. DT_NOT_FOUND when absent. */
DT_MUST_USE enum dt_code dt_file_read(const char *path, size_t bytes_max, struct dt_buf *buf,
                                      struct dt_err *err);

/* Replace path by size bytes: temporary name, write, fsync, rename, fsync of the directory. */
DT_MUST_USE enum dt_code dt_file_replace(const char *path, const void *bytes, size_t size,
                                         unsigned mode, struct dt_err *err);

/* Make a directory and its parents; existing ones are fine. New ones get mode. */
DT_MUST_USE enum dt_code dt_dir_make(const char *path, unsigned mode, struct dt_err *err);

/* Remove a directory tree, never following links and never leaving the device. Absent is fine. */
DT_MUST_USE enum dt_code dt_dir_remove(const char *path, struct dt_err *err);

/* Call visit for each entry name but "." and "..", sorted; absent directory: DT_NOT_FOUND. */
DT_MUST_USE enum dt_code dt_dir_list(const char *path,
                                     void (*visit)(void *owner, const char *name), void *owner,
                                     struct dt_err *err);

/* fsync a directory, so that names in it are durable. */
DT_MUST_USE enum dt_code dt_dir_sync(const char *path, struct dt_err *err);

/* Take an exclusive lock on path (created 0600), kept while the returned descriptor is open.
 * DT_CONFLICT when another process holds it. */
DT_MUST_USE enum dt_code dt_file_lock(const char *path, int *fd, struct dt_err *err);

/* "a/b" into a caller's buffer; false when it does not fit. */
DT_MUST_USE bool dt_path_join(char *text, size_t size, const char *left, const char *right);

#endif
