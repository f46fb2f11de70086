/* What ranks write: to a file with a bound, the newest lines kept at hand. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dt/base/text.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/wire/msg.h"
#include "step.h"

#define LOG_RECENT_BYTES (64 * 1024)
#define PUMP_BYTES_MAX (1024 * 1024) /* per call: a flood must not stop the loop */
#define EXCERPT_LINES 20

enum dt_code logs_open(struct step *step, struct rank *rank, struct dt_err *err)
{
    char dir[600], path[700];
    enum dt_code code;

    snprintf(dir, sizeof(dir), "%.500s/logs/g%06llu", dt_tree_str(step->bundle, "output_dir", "/"),
             (unsigned long long)step->gen);
    snprintf(path, sizeof(path), "%s/rank-%05d.log", dir, rank->number);
    if ((code = dt_dir_make(dir, 0755, err)))
        return code;
    rank->log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (rank->log_fd < 0)
        return dt_fail(err, DT_IO, "cannot write %s: %s", path, strerror(errno));
    return DT_OK;
}

static void file_write(struct rank *rank, const char *bytes, size_t size)
{
    while (size && rank->log_fd >= 0) {
        ssize_t put = write(rank->log_fd, bytes, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return; /* disk full: the newest lines are still kept and shipped */
        bytes += put;
        size -= (size_t)put;
        rank->log_size += put;
    }
}

/* The first bytes go to the file up to its bound, less room for the tail at the end. */
static void take(struct rank *rank, const char *bytes, size_t size)
{
    int64_t head_max = rank->step->log_bytes_max - LOG_RECENT_BYTES;
    int64_t room = head_max - rank->seen_size;

    if (room > 0)
        file_write(rank, bytes, (int64_t)size < room ? size : (size_t)room);
    rank->seen_size += (int64_t)size;
    dt_buf_add(&rank->recent, bytes, size);
    if (rank->recent.size > 2 * LOG_RECENT_BYTES)
        dt_buf_drop(&rank->recent, rank->recent.size - LOG_RECENT_BYTES);
}

/* The file had its bound: say once what is missing, then the newest bytes. */
static void finish_file(struct rank *rank)
{
    int64_t head_max = rank->step->log_bytes_max - LOG_RECENT_BYTES;
    size_t tail = rank->recent.size < LOG_RECENT_BYTES ? rank->recent.size : LOG_RECENT_BYTES;
    char notice[160];

    if (rank->seen_size <= head_max || rank->log_fd < 0)
        return;
    if (rank->seen_size - head_max < (int64_t)tail)
        tail = (size_t)(rank->seen_size - head_max);
    snprintf(notice, sizeof(notice), "\n[dt: %lld bytes left out here, limits.log_bytes]\n",
             (long long)(rank->seen_size - head_max - (int64_t)tail));
    if (rank->seen_size - head_max > (int64_t)tail)
        file_write(rank, notice, strlen(notice));
    file_write(rank, rank->recent.data + rank->recent.size - tail, tail);
}

void logs_close(struct rank *rank)
{
    dt_watch_free(rank->pipe_watch);
    rank->pipe_watch = NULL;
    if (rank->pipe_fd >= 0)
        close(rank->pipe_fd);
    rank->pipe_fd = -1;
    if (rank->log_fd >= 0) {
        finish_file(rank);
        close(rank->log_fd);
    }
    rank->log_fd = -1;
}

void logs_pump(struct rank *rank)
{
    char bytes[65536];
    size_t total = 0;

    while (rank->pipe_fd >= 0 && total < PUMP_BYTES_MAX) {
        ssize_t got = read(rank->pipe_fd, bytes, sizeof(bytes));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            dt_watch_free(rank->pipe_watch);
            rank->pipe_watch = NULL;
            close(rank->pipe_fd);
            rank->pipe_fd = -1;
            return;
        }
        take(rank, bytes, (size_t)got);
        total += (size_t)got;
    }
}

void logs_ship(struct step *step)
{
    for (int i = 0; i < step->ranks_count && step->agent; i++) {
        struct rank *rank = &step->ranks[i];
        int64_t news = rank->seen_size - rank->shipped;
        struct dt_tree *message;

        if (news <= 0)
            continue;
        if (news > (int64_t)rank->recent.size)
            news = (int64_t)rank->recent.size;
        if (news > 16 * 1024)
            news = 16 * 1024;
        message = step_message(step, "step_logs");
        dt_tree_put_int(message, "rank", rank->number);
        dt_tree_put_int(message, "offset", rank->seen_size - news);
        step_tell(step, message, rank->recent.data + rank->recent.size - news, (size_t)news);
        rank->shipped = rank->seen_size;
    }
}

void logs_excerpt(const struct rank *rank, char *text, size_t size)
{
    const char *bytes = dt_buf_str(&rank->recent);
    size_t begin = rank->recent.size, end = rank->recent.size, used = 0;
    int lines = 0;

    while (end && (bytes[end - 1] == '\n' || bytes[end - 1] == ' '))
        end--;
    for (begin = end; begin && end - begin < size - 8; begin--)
        if (bytes[begin - 1] == '\n' && ++lines == EXCERPT_LINES)
            break;
    while (begin < end && used + 5 < size) {
        uint32_t point;
        bool is_valid;
        size_t length = dt_utf8_next(bytes + begin, end - begin, &point, &is_valid);

        if (is_valid && (point >= 0x20 || point == '\n' || point == '\t') && point != 0x7f &&
            (point < 0x80 || point > 0x9f)) {
            memcpy(text + used, bytes + begin, length);
            used += length;
        } else {
            text[used++] = '?';
        }
        begin += length;
    }
    text[used] = 0;
}
