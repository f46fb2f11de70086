/* Error codes as one table, and errors as sentences. */
#include "dt/base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_status; /* job.md section 9 */
    int http_status;
    const char *help;
} rows[DT_CODE_COUNT] = {
    [DT_OK] = {"ok", 0, 200, "The asked-for thing was done."},
    [DT_INTERNAL] = {"internal", 1, 500, "A mistake of dt itself; the log has more."},
    [DT_USAGE] = {"usage", 2, 400, "The command line or request is not of the form it must have."},
    [DT_INVALID] = {"invalid", 3, 422, "The specification or value can never be right as it is."},
    [DT_NOT_FOUND] = {"not-found", 4, 404, "Nothing has that id or name."},
    [DT_DENIED] = {"denied", 5, 403, "The caller is known and may not do this."},
    [DT_CONFLICT] = {"conflict", 6, 409, "Right in itself, but not in the present state."},
    [DT_QUOTA] = {"quota", 7, 429, "A limit of the user, project or server is reached."},
    [DT_UNREACHABLE] = {"unreachable", 8, 503, "Nobody answered; a retry may help."},
    [DT_BUSY] = {"busy", 14, 503, "Not now; it may work later."},
    [DT_TIMEOUT] = {"timeout", 124, 504, "The deadline passed first."},
    [DT_IO] = {"io", 1, 500, "A disk, socket or process operation failed."},
    [DT_CORRUPT] = {"corrupt", 1, 500, "Stored or received bytes are not what was written."},
    [DT_STALE] = {"stale", 6, 409, "The number presented is older than the present one."},
    [DT_UNSUPPORTED] = {"unsupported", 3, 422, "Known, but not served by this build."},
};

static void DT_PRINTF(3, 0) err_write(char *text, size_t size, const char *format, va_list args)
{
    vsnprintf(text, size, format, args);
}

enum dt_code dt_fail(struct dt_err *err, enum dt_code code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->hint[0] = 0;
    va_start(args, format);
    err_write(err->text, sizeof(err->text), format, args);
    va_end(args);
    return code;
}

void dt_hint(struct dt_err *err, const char *format, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    err_write(err->hint, sizeof(err->hint), format, args);
    va_end(args);
}

void dt_prefix(struct dt_err *err, const char *format, ...)
{
    char context[DT_ERR_TEXT_BYTES_MAX];
    char old[DT_ERR_TEXT_BYTES_MAX];
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    err_write(context, sizeof(context), format, args);
    va_end(args);
    memcpy(old, err->text, sizeof(old));
    snprintf(err->text, sizeof(err->text), "%.200s: %.300s", context, old);
}

const char *dt_code_name(enum dt_code code)
{
    assert((unsigned)code < DT_CODE_COUNT);
    return rows[code].name;
}

enum dt_code dt_code_from_name(const char *name)
{
    for (int code = 0; code < DT_CODE_COUNT; code++)
        if (dt_text_equal(rows[code].name, name))
            return (enum dt_code)code;
    return DT_INTERNAL;
}

const char *dt_code_help(enum dt_code code)
{
    assert((unsigned)code < DT_CODE_COUNT);
    return rows[code].help;
}

int dt_code_exit(enum dt_code code)
{
    assert((unsigned)code < DT_CODE_COUNT);
    return rows[code].exit_status;
}

int dt_code_http(enum dt_code code)
{
    assert((unsigned)code < DT_CODE_COUNT);
    return rows[code].http_status;
}
