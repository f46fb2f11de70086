/* Progress as ranks tell it: one line a datagram. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/wire/msg.h"
#include "dt/os/proc.h"
#include "step.h"

#define TELL_MS 1000
#define LINE_BYTES_MAX 1024

/* The next blank-separated word of *at, at most size - 1 bytes. */
static bool next_word(const char **at, const char *end, char *word, size_t size)
{
    size_t length = 0;

    while (*at < end && **at == ' ')
        (*at)++;
    while (*at < end && **at != ' ' && **at != '\n') {
        if (length + 1 < size)
            word[length++] = **at;
        (*at)++;
    }
    word[length] = 0;
    return length > 0;
}

/* A decimal number as text: digits, sign, point, exponent, or nan and inf. */
static bool is_decimal(const char *text)
{
    return strlen(text) < 31 && strspn(text, "0123456789+-.eEnaif") == strlen(text);
}

/* A time that no step can have is not noted (and would not fit). */
static void note_time(struct dt_progress *progress, double time_ms)
{
    if (time_ms >= 0 && time_ms < 1e12)
        progress->step_us = (int64_t)(time_ms * 1000);
}

static bool step_line(struct dt_progress *progress, const char *at, const char *end)
{
    char word[64], value[64];
    int64_t number;

    if (!next_word(&at, end, word, sizeof(word)) || !dt_parse_int(word, 0, INT64_MAX, &number))
        return false;
    progress->step = number;
    while (next_word(&at, end, word, sizeof(word)) && next_word(&at, end, value, sizeof(value))) {
        if (strcmp(word, "loss") == 0 && is_decimal(value))
            snprintf(progress->loss, sizeof(progress->loss), "%s", value);
        else if (strcmp(word, "tokens") == 0 && dt_parse_int(value, 0, INT64_MAX, &number))
            progress->tokens = number;
        else if (strcmp(word, "time_ms") == 0 && is_decimal(value))
            note_time(progress, strtod(value, NULL));
    }
    return true;
}

static bool checkpoint_line(struct dt_progress *progress, const char *at, const char *end)
{
    char word[64], path[512];
    int64_t number;

    if (!next_word(&at, end, word, sizeof(word)) || !dt_parse_int(word, 0, INT64_MAX, &number) ||
        !next_word(&at, end, path, sizeof(path)))
        return false;
    progress->checkpoint_step = number;
    snprintf(progress->checkpoint_path, sizeof(progress->checkpoint_path), "%s", path);
    return true;
}

bool metrics_line(struct dt_progress *progress, const char *line, size_t size)
{
    const char *at = line, *end = line + size;
    char word[64];

    if (!next_word(&at, end, word, sizeof(word)))
        return false;
    if (strcmp(word, "step") == 0)
        return step_line(progress, at, end);
    if (strcmp(word, "checkpoint") == 0)
        return checkpoint_line(progress, at, end);
    if (strcmp(word, "phase") == 0)
        return next_word(&at, end, progress->phase, sizeof(progress->phase));
    return strcmp(word, "save-done") == 0;
}

static void tell_progress(struct step *step)
{
    struct dt_tree *message = step_message(step, "step_progress");

    dt_tree_add(message, "progress", dt_msg_progress_tree(&step->progress));
    step_tell(step, message, NULL, 0);
    step->told_step = step->progress.step;
    step->told_ms = dt_clock_ms();
}

void metrics_tell(struct step *step)
{
    if (step->bundle && step->progress.step != step->told_step &&
        dt_clock_ms() - step->told_ms >= TELL_MS)
        tell_progress(step);
}

static void on_datagram(void *owner, int fd)
{
    struct step *step = owner;
    int64_t checkpoint = step->progress.checkpoint_step, before = step->progress.step;
    struct dt_progress news = step->progress;
    char line[LINE_BYTES_MAX];
    ssize_t size;

    while ((size = recv(fd, line, sizeof(line), MSG_DONTWAIT)) >= 0) {
        metrics_line(&news, line, (size_t)size);
        if (news.step < step->progress.step)
            news.step = step->progress.step; /* ranks tell in any order */
        step->progress = news;
    }
    if (step->progress.checkpoint_step != checkpoint) {
        snprintf(step->reported_path, sizeof(step->reported_path), "%s",
                 step->progress.checkpoint_path);
        tell_progress(step);
    } else if (before < 0 && step->progress.step >= 0) {
        tell_progress(step);
    }
}

enum dt_code metrics_open(struct step *step, struct dt_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    step->metrics_fd = -1;
    if (snprintf(step->metrics_path, sizeof(step->metrics_path), "%.80s/m%d.sock", step->run_dir,
                 (int)getpid()) >= (int)sizeof(address.sun_path))
        return dt_fail(err, DT_INVALID, "socket path too long: %s", step->run_dir);
    unlink(step->metrics_path);
    memcpy(address.sun_path, step->metrics_path, sizeof(address.sun_path));
    step->metrics_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (step->metrics_fd < 0 ||
        bind(step->metrics_fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        metrics_close(step);
        return dt_fail(err, DT_IO, "cannot make %s: %s", step->metrics_path, strerror(errno));
    }
    step->metrics_watch = dt_watch_make(step->loop, step->metrics_fd, on_datagram,
                                        step);
    return DT_OK;
}

void metrics_close(struct step *step)
{
    dt_watch_free(step->metrics_watch);
    step->metrics_watch = NULL;
    if (step->metrics_fd >= 0)
        close(step->metrics_fd);
    step->metrics_fd = -1;
    if (step->metrics_path[0])
        unlink(step->metrics_path);
    step->metrics_path[0] = 0;
}
