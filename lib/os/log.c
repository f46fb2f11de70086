/* One JSON line an event. */
#include "dt/os/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/base/units.h"
#include "dt/os/proc.h"

#define LINE_BYTES_MAX (64 * 1024)

static struct {
    char program[32];
    int fd;
    enum dt_log_level least;
} sink = {.program = "dt", .fd = 2, .least = DT_LOG_INFO};

void dt_log_open(const char *program, int fd, enum dt_log_level least)
{
    snprintf(sink.program, sizeof(sink.program), "%s", program);
    sink.fd = fd;
    sink.least = least;
}

static void field(struct dt_buf *line, const char *key, const char *value)
{
    if (line->size > 1)
        dt_buf_byte(line, ',');
    dt_json_quote(line, key, strlen(key));
    dt_buf_byte(line, ':');
    dt_json_quote(line, value ? value : "", value ? strlen(value) : 0);
}

static void line_begin(struct dt_buf *line, enum dt_log_level level, const char *msg)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    char at[40];

    dt_format_instant(dt_wall_ms(), at, sizeof(at));
    dt_buf_byte(line, '{');
    field(line, "t", at);
    field(line, "level", names[level]);
    field(line, "program", sink.program);
    field(line, "msg", msg);
}

/* One write, so that lines of several processes do not mix; a full pipe loses the line. */
static void line_end(struct dt_buf *line)
{
    ssize_t written;

    dt_buf_text(line, "}\n");
    if (line->size <= LINE_BYTES_MAX) {
        written = write(sink.fd, line->data, line->size);
        (void)written;
    }
    dt_buf_release(line);
}

void dt_log(enum dt_log_level level, const char *msg, ...)
{
    struct dt_buf line = {0};
    const char *key;
    va_list args;

    if (level < sink.least)
        return;
    line_begin(&line, level, msg);
    va_start(args, msg);
    while ((key = va_arg(args, const char *)))
        field(&line, key, va_arg(args, const char *));
    va_end(args);
    line_end(&line);
}

void dt_logf(enum dt_log_level level, const char *format, ...)
{
    struct dt_buf line = {0};
    char text[1024];
    va_list args;

    if (level < sink.least)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    line_begin(&line, level, text);
    line_end(&line);
}
