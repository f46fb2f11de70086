/* The daemon's own log: one JSON line an event, on stderr or in a file. */
#ifndef DT_OS_LOG_H
#define DT_OS_LOG_H

#include "dt/base/base.h"

enum dt_log_level { DT_LOG_DEBUG, DT_LOG_INFO, DT_LOG_WARN, DT_LOG_ERROR };

/* Name the program, and log to fd from now on (default: stderr), from this level up. */
void dt_log_open(const char *program, int fd, enum dt_log_level least);

/*
 * One line {"t","level","program","msg", ...}. Then pairs of key and value texts, ended by NULL:
 * dt_log(DT_LOG_INFO, "node joined", "node", name, NULL). Values are escaped. Never blocks long,
 * never fails; keys in use: job gen node rank req_id session.
 */
void dt_log(enum dt_log_level level, const char *msg, ...) __attribute__((sentinel));

/* As dt_log with a formatted message and no pairs. */
void dt_logf(enum dt_log_level level, const char *format, ...) DT_PRINTF(2, 3);

#endif
