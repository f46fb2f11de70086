/* An error as a sentence for the person who can act. */
#ifndef DT_BASE_ERR_H
#define DT_BASE_ERR_H

#include "dt/base/base.h"

/* Outcome of what may fail; 0 is good. docs/errors.md is printed from the table behind it. */
enum dt_code {
    DT_OK = 0,
    DT_INTERNAL,    /* a mistake of ours */
    DT_USAGE,       /* command line */
    DT_INVALID,     /* a spec, body or argument that can never be right */
    DT_NOT_FOUND,
    DT_DENIED,      /* known, not allowed */
    DT_CONFLICT,    /* right in itself, not in the present state */
    DT_QUOTA,
    DT_UNREACHABLE, /* nobody answered; a retry may help */
    DT_BUSY,        /* may fit or work later */
    DT_TIMEOUT,
    DT_IO,          /* disk, socket, process */
    DT_CORRUPT,     /* stored or received bytes are not what was written */
    DT_STALE,       /* an older epoch, session, generation or version */
    DT_UNSUPPORTED, /* known field or call that this build does not serve */
    DT_CODE_COUNT
};

#define DT_ERR_TEXT_BYTES_MAX 512
#define DT_ERR_HINT_BYTES_MAX 256

/* {0} is "no error". Both texts end with NUL and are cut, never overrun. */
struct dt_err {
    enum dt_code code;
    char text[DT_ERR_TEXT_BYTES_MAX]; /* what, where, what was expected */
    char hint[DT_ERR_HINT_BYTES_MAX]; /* what to do; may be empty */
};

/* Fill err (may be NULL) and return code, so that failing is one line. Clears the hint. */
enum dt_code dt_fail(struct dt_err *err, enum dt_code code, const char *format, ...)
    DT_PRINTF(3, 4);

/* Set the remedy of an error; NULL err is fine. */
void dt_hint(struct dt_err *err, const char *format, ...) DT_PRINTF(2, 3);

/* Put "text: " before err's text: context, added once per room on the way up. */
void dt_prefix(struct dt_err *err, const char *format, ...) DT_PRINTF(2, 3);

/* Stable word of a code, such as "not-found"; never NULL. */
const char *dt_code_name(enum dt_code code);

/* The code of a stable word, DT_INTERNAL when unknown. */
enum dt_code dt_code_from_name(const char *name);

/* One sentence about a code, for docs/errors.md; never NULL. */
const char *dt_code_help(enum dt_code code);

/* Exit status of a program that ends with this code (job.md section 9). */
int dt_code_exit(enum dt_code code);

/* HTTP status of an API answer with this code. */
int dt_code_http(enum dt_code code);

#endif
