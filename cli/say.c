/* Talk to the person: errors and notes on stderr, data on stdout, and signals that stop a wait. */
#include "say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "safe.h"

static volatile sig_atomic_t stop_signal;

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static void talk(const char *text)
{
    struct dt_buf buf = {0};

    dt_safe_add(&buf, text, strlen(text), true);
    dt_buf_byte(&buf, '\n');
    if (!write_all(STDERR_FILENO, buf.data, buf.size)) {
        /* nobody listens: the exit status still tells */
    }
    dt_buf_release(&buf);
}

int dt_say_error(const struct dt_err *err)
{
    struct dt_buf buf = {0};

    dt_buf_print(&buf, "dtctl: %s", err->text);
    if (err->hint[0])
        dt_buf_print(&buf, "\n  help: %s", err->hint);
    talk(dt_buf_str(&buf));
    dt_buf_release(&buf);
    return dt_code_exit(err->code);
}

void dt_say(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    talk(text);
}

void dt_put(const struct dt_buf *buf)
{
    if (write_all(STDOUT_FILENO, dt_buf_str(buf), buf->size))
        return;
    if (errno == EPIPE)
        _exit(128 + SIGPIPE);
    dt_say("dtctl: cannot write to stdout: %s", strerror(errno));
    _exit(1);
}

void dt_put_safe(const char *text, size_t size)
{
    struct dt_buf buf = {0};

    if (dt_stdout_is_terminal())
        dt_safe_add(&buf, text, size, true);
    else
        dt_buf_add(&buf, text, size);
    dt_put(&buf);
    dt_buf_release(&buf);
}

void dt_add_safe(struct dt_buf *buf, const char *text)
{
    dt_safe_add(buf, text, strlen(text), false);
}

static int is_terminal(int fd, int *known)
{
    if (!*known)
        *known = isatty(fd) ? 1 : 2;
    return *known == 1;
}

bool dt_stdout_is_terminal(void)
{
    static int known;

    return is_terminal(STDOUT_FILENO, &known);
}

bool dt_stderr_is_terminal(void)
{
    static int known;

    return is_terminal(STDERR_FILENO, &known);
}

bool dt_has_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return dt_stdout_is_terminal() && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void on_signal(int number)
{
    stop_signal = number;
}

void dt_stop_watch(void)
{
    /* No SA_RESTART: the wait in progress ends. Reset: a second Ctrl-C ends us at once. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int dt_stop_signal(void)
{
    return stop_signal;
}
