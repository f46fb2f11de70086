/* Processes, clocks and identity of this machine. */
#include "dt/os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dt/base/buf.h"
#include "dt/os/file.h"

int64_t dt_clock_us(void)
{
    struct timespec at;

    clock_gettime(CLOCK_BOOTTIME, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

int64_t dt_clock_ms(void)
{
    return dt_clock_us() / 1000;
}

int64_t dt_wall_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

enum dt_code dt_boot_id(char *text, size_t size, struct dt_err *err)
{
    struct dt_buf buf = {0};
    enum dt_code code = dt_file_read("/proc/sys/kernel/random/boot_id", 64, &buf, err);

    if (!code)
        snprintf(text, size, "%.36s", dt_buf_str(&buf));
    dt_buf_release(&buf);
    return code;
}

void dt_random(void *bytes, size_t size)
{
    char *at = bytes;

    while (size) {
        ssize_t got = getrandom(at, size, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        at += got;
        size -= (size_t)got;
    }
}

void dt_random_uuid(char text[37])
{
    unsigned char b[16];

    dt_random(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(text, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

/* Move fd to at least 10, so that 0..2 can be placed. */
static int move_high(int fd)
{
    return fd < 0 ? open("/dev/null", O_RDWR) : fcntl(fd, F_DUPFD, 10);
}

/* Close everything from 3 up but the kept ones and the error pipe. */
static void close_others(const struct dt_spawn *spawn, int pipe_fd)
{
    for (int fd = 3;; fd++) {
        unsigned next = ~0u; /* least kept descriptor >= fd */

        for (size_t i = 0; i < spawn->fds_kept_count; i++)
            if (spawn->fds_kept[i] >= fd && (unsigned)spawn->fds_kept[i] < next)
                next = (unsigned)spawn->fds_kept[i];
        if (pipe_fd >= fd && (unsigned)pipe_fd < next)
            next = (unsigned)pipe_fd;
        if (next == ~0u) {
            syscall(SYS_close_range, (unsigned)fd, ~0u, 0);
            return;
        }
        if (next > (unsigned)fd)
            syscall(SYS_close_range, (unsigned)fd, next - 1, 0);
        fd = (int)next;
    }
}

static void child_say(int pipe_fd, int stage)
{
    int report[2] = {stage, errno};
    ssize_t put = write(pipe_fd, report, sizeof(report));

    (void)put;
    _exit(127);
}

static void child_run(const struct dt_spawn *spawn, int pipe_fd, pid_t parent)
{
    extern char **environ;
    int fds[3] = {move_high(spawn->fd_in), move_high(spawn->fd_out), move_high(spawn->fd_err)};
    sigset_t none;

    if (spawn->is_session && setsid() < 0)
        child_say(pipe_fd, 1);
    if (spawn->dies_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
    }
    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (spawn->workdir && chdir(spawn->workdir) < 0)
        child_say(pipe_fd, 2);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            child_say(pipe_fd, 3);
    for (size_t i = 0; i < spawn->fds_kept_count; i++)
        fcntl(spawn->fds_kept[i], F_SETFD, 0);
    close_others(spawn, pipe_fd);
    execve(spawn->path, spawn->argv, spawn->env ? spawn->env : environ);
    child_say(pipe_fd, 4);
}

enum dt_code dt_proc_spawn(const struct dt_spawn *spawn, pid_t *pid, int *pidfd,
                           struct dt_err *err)
{
    static const char *const stages[] = {"", "start a session for", "change to the directory of",
                                         "place descriptors of", "run"};
    int ends[2], report[2];
    pid_t parent = getpid(), child;
    ssize_t got;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return dt_fail(err, DT_IO, "cannot make a pipe: %s", strerror(errno));
    child = fork();
    if (child < 0) {
        int saved = errno;

        close(ends[0]);
        close(ends[1]);
        return dt_fail(err, DT_IO, "cannot fork: %s", strerror(saved));
    }
    if (child == 0) {
        int high = fcntl(ends[1], F_DUPFD_CLOEXEC, 20);

        child_run(spawn, high < 0 ? ends[1] : high, parent);
    }
    close(ends[1]);
    if (pidfd)
        *pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    do
        got = read(ends[0], report, sizeof(report));
    while (got < 0 && errno == EINTR);
    close(ends[0]);
    if (got == (ssize_t)sizeof(report)) {
        if (pidfd && *pidfd >= 0)
            close(*pidfd);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ; /* it exits at once: leave no zombie */
        return dt_fail(err, report[1] == ENOENT ? DT_NOT_FOUND : DT_IO, "cannot %s %s: %s",
                       stages[report[0]], spawn->path, strerror(report[1]));
    }
    *pid = child;
    return DT_OK;
}

enum dt_code dt_program_dir(char *text, size_t size, struct dt_err *err)
{
    ssize_t got = readlink("/proc/self/exe", text, size - 1);
    char *slash;

    if (got < 0 || (size_t)got >= size - 1)
        return dt_fail(err, DT_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    text[got] = 0;
    slash = strrchr(text, '/');
    if (slash)
        *slash = 0;
    return DT_OK;
}

int64_t dt_proc_rss_bytes(void)
{
    struct dt_buf buf = {0};
    long long pages = 0;

    if (dt_file_read("/proc/self/statm", 256, &buf, NULL) == DT_OK) {
        const char *second = strchr(dt_buf_str(&buf), ' ');

        pages = second ? strtoll(second, NULL, 10) : 0;
    }
    dt_buf_release(&buf);
    return pages * sysconf(_SC_PAGESIZE);
}
