/* Talk to the person: errors and notes on stderr, data on stdout, and signals that stop a wait. */
#ifndef DT_CLI_SAY_H
#define DT_CLI_SAY_H

#include "dt/base/buf.h"
#include "dt/base/err.h"

/* "dtctl: text" and the hint on stderr; returns the exit status of err->code. */
int dt_say_error(const struct dt_err *err);

/* A line on stderr. */
void dt_say(const char *format, ...) DT_PRINTF(1, 2);

/* Data on stdout, all of it. A closed pipe ends the program quietly, another failure with 1. */
void dt_put(const struct dt_buf *buf);

/* As dt_put for a text made harmless when stdout is a terminal. */
void dt_put_safe(const char *text, size_t size);

/* Append text as people see it: made harmless always (labels, names, reasons in our pages). */
void dt_add_safe(struct dt_buf *buf, const char *text);

/* Somebody looks at stdout. */
bool dt_stdout_is_terminal(void);
/* Somebody looks at stderr. */
bool dt_stderr_is_terminal(void);
/* stdout is a terminal and NO_COLOR is not set. */
bool dt_has_colour(void);

/* From now on SIGINT and SIGTERM only set what dt_stop_signal returns (the first time). */
void dt_stop_watch(void);
/* The signal that asked us to stop, or 0. */
int dt_stop_signal(void);

#endif
