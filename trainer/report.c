/* Progress told to the outside: metrics.jsonl, datagrams, the status page, lines for people. */
#include "report.h"

#include "clock.h"
#include "mfu.h"

#include "dt/base/json.h"
#include "dt/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void open_socket(struct report *report, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!path || strlen(path) >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    report->socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (report->socket_fd >= 0 &&
        connect(report->socket_fd, (struct sockaddr *)&address, sizeof(address))) {
        close(report->socket_fd);
        report->socket_fd = -1;
    }
}

static void open_page(struct report *report, const char *path)
{
    int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_CREAT, 0600) : -1;
    struct stat status;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 &&
        (status.st_size >= DT_STATUS_PAGE_BYTES || ftruncate(fd, DT_STATUS_PAGE_BYTES) == 0)) {
        report->page = mmap(NULL, DT_STATUS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (report->page == MAP_FAILED)
            report->page = NULL;
    }
    close(fd);
}

/* A rank that was killed while it wrote leaves half a line: end it, so that ours stands alone. */
static void end_half_line(int fd)
{
    char last;
    off_t size = lseek(fd, 0, SEEK_END);

    if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
        write(fd, "\n", 1) != 1)
        return;
}

enum dt_code report_open(struct report *report, const struct world *world,
                         const char *output_dir, struct dt_err *err)
{
    char path[4096];
    enum dt_code code;

    *report = (struct report){.rank = world->rank, .ranks = world->size, .gen = world->gen,
                              .metrics_fd = -1, .socket_fd = -1};
    report->status = (struct dt_status){.gen = world->gen, .rank = (uint32_t)world->rank};
    open_socket(report, world->metrics_socket);
    open_page(report, world->status_page);
    if (world->rank != 0)
        return DT_OK;
    if ((code = dt_dir_make(output_dir, 0777, err)))
        return code;
    if (!dt_path_join(path, sizeof(path), output_dir, "metrics.jsonl"))
        return dt_fail(err, DT_INVALID, "output.dir is too long");
    report->metrics_fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (report->metrics_fd < 0)
        return dt_fail(err, DT_IO, "cannot write %s: %s", path, strerror(errno));
    end_half_line(report->metrics_fd);
    return DT_OK;
}

void report_close(struct report *report)
{
    if (report->metrics_fd >= 0)
        close(report->metrics_fd);
    if (report->socket_fd >= 0)
        close(report->socket_fd);
    if (report->page)
        munmap(report->page, DT_STATUS_PAGE_BYTES);
    *report = (struct report){.metrics_fd = -1, .socket_fd = -1};
}

/* Send report->line as a datagram; a full or absent reader loses it, and never holds us up. */
static void tell(struct report *report)
{
    if (report->socket_fd >= 0)
        (void)!send(report->socket_fd, report->line, strlen(report->line),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void append(struct report *report, const char *text, size_t size)
{
    if (report->metrics_fd >= 0)
        (void)!write(report->metrics_fd, text, size); /* a full disk must not stop training */
}

void report_phase(struct report *report, enum dt_phase phase)
{
    report->status.phase = phase;
    report->status.began_ns = (uint64_t)(clock_seconds() * 1e9);
    if (report->page)
        dt_status_write(report->page, &report->status);
    snprintf(report->line, sizeof(report->line), "phase %s", dt_phase_name(phase));
    tell(report);
}

/* JSON has no infinity: a diverged number is null. */
static void number(char text[32], const char *format, double value)
{
    if (isfinite(value))
        snprintf(text, 32, strcmp(format, "g") == 0 ? "%.9g" : "%.6f", value);
    else
        snprintf(text, 32, "null");
}

static void write_step(struct report *report, int64_t step, int64_t consumed,
                       const struct step_result *r)
{
    double per_s = (double)r->tokens / r->total_s;
    struct mfu mfu = mfu_of(&report->run, per_s, report->peak, report->ranks);
    char loss[32], norm[32], alarm[32] = "";
    int size;

    number(loss, "f", r->loss);
    number(norm, "g", r->norm);
    if (r->is_skipped)
        snprintf(alarm, sizeof(alarm), ",\"skipped\":true");
    size = snprintf(report->line, sizeof(report->line),
                    "{\"step\":%lld,\"gen\":%llu,\"loss\":%s,\"loss_hex\":\"%a\","
                    "\"digest\":\"%016llx\","
                    "\"grad_norm\":%s,\"lr\":%.9g,\"samples\":[%lld,%lld],\"tokens\":%lld,"
                    "\"tokens_per_s\":%.1f,\"step_ms\":%.3f,\"compute_ms\":%.3f,"
                    "\"wait_ms\":%.3f,\"data_ms\":%.3f,\"mfu_6n\":%.4f,\"mfu_full\":%.4f,"
                    "\"hfu\":%.4f,"
                    "\"peak_flops_per_s\":%.4g%s}\n",
                    (long long)step, (unsigned long long)report->gen, loss, r->loss,
                    (unsigned long long)r->digest, norm, r->lr,
                    (long long)(consumed - r->tokens / report->run.seq), (long long)consumed,
                    (long long)r->tokens, per_s, 1e3 * r->total_s, 1e3 * r->compute_s,
                    1e3 * r->wait_s, 1e3 * r->data_s, mfu.six_n, mfu.full, mfu.hardware,
                    report->peak, alarm);
    append(report, report->line, (size_t)size);
}

static void print_step(struct report *report, int64_t step, const struct step_result *r)
{
    double now = clock_seconds();

    if (now - report->line_s < 1.0 && step != 1 && step != report->steps)
        return;
    report->line_s = now;
    printf("step %lld/%lld  loss %.4f  norm %.3f  lr %.2e  %.0f tokens/s  %.1f ms\n",
           (long long)step, (long long)report->steps, r->loss, r->norm, r->lr,
           (double)r->tokens / r->total_s, 1e3 * r->total_s);
    fflush(stdout);
}

void report_step(struct report *report, int64_t step, int64_t consumed,
                 const struct step_result *r, int64_t sent_bytes)
{
    struct dt_status *status = &report->status;

    status->step = step;
    status->began_ns = (uint64_t)(clock_seconds() * 1e9);
    status->step_ns = (uint64_t)(r->total_s * 1e9);
    status->compute_ns = (uint64_t)(r->compute_s * 1e9);
    status->wait_ns = (uint64_t)(r->wait_s * 1e9);
    status->data_ns = (uint64_t)(r->data_s * 1e9);
    status->sent_bytes = (uint64_t)sent_bytes;
    if (report->page)
        dt_status_write(report->page, status);
    if (report->rank == 0) {
        write_step(report, step, consumed, r);
        print_step(report, step, r);
    }
    snprintf(report->line, sizeof(report->line), "step %lld loss %.6f tokens %lld time_ms %.3f",
             (long long)step, r->loss, (long long)r->tokens, 1e3 * r->total_s);
    tell(report);
}

void report_eval(struct report *report, int64_t step, double loss)
{
    char text[32];

    if (report->rank != 0)
        return;
    number(text, "f", loss);
    snprintf(report->line, sizeof(report->line),
             "{\"event\":\"eval\",\"at_step\":%lld,\"gen\":%llu,\"eval_loss\":%s}\n",
             (long long)step, (unsigned long long)report->gen, text);
    append(report, report->line, strlen(report->line));
    printf("eval at step %lld  loss %.4f\n", (long long)step, loss);
}

void report_checkpoint(struct report *report, int64_t step, const char *path, double seconds)
{
    struct dt_buf buf = {0};

    dt_buf_print(&buf, "{\"event\":\"checkpoint\",\"at_step\":%lld,\"gen\":%llu,\"save_ms\":%.1f,"
                       "\"path\":", (long long)step, (unsigned long long)report->gen,
                 1e3 * seconds);
    dt_json_quote(&buf, path, strlen(path));
    dt_buf_text(&buf, "}\n");
    append(report, dt_buf_str(&buf), buf.size);
    dt_buf_release(&buf);
    snprintf(report->line, sizeof(report->line), "checkpoint %lld %s", (long long)step, path);
    tell(report);
    snprintf(report->line, sizeof(report->line), "save-done %lld", (long long)step);
    tell(report);
}

void report_alarm(struct report *report, int64_t step, const char *kind, const char *text)
{
    struct dt_buf buf = {0};

    fprintf(stderr, "dttrain: %s: %s\n", kind, text);
    dt_buf_print(&buf, "{\"event\":\"alarm\",\"kind\":\"%s\",\"at_step\":%lld,\"gen\":%llu,"
                       "\"text\":", kind, (long long)step, (unsigned long long)report->gen);
    dt_json_quote(&buf, text, strlen(text));
    dt_buf_text(&buf, "}\n");
    append(report, dt_buf_str(&buf), buf.size);
    dt_buf_release(&buf);
}
