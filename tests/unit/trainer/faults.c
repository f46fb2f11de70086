/* Saving with a fault at each of its system calls: killed there, or the call fails once. */
#include "checkpoint.h"
#include "runs.h"

#include "dt/os/file.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * These stand before the C library's in this program. They count the calls that change a checkpoint
 * directory and do what was asked at one of them; everything else goes through.
 */
static long fault_at;    /* 0: none; counts from 1 */
static int fault_errno;  /* 0: SIGKILL instead */
static long calls;
static bool is_armed;

static bool is_ours(const char *path)
{
    return path && strstr(path, "/ckpt") != NULL;
}

static bool is_ours_fd(int fd)
{
    char name[64], path[4096];
    ssize_t size;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    size = readlink(name, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = 0;
    return is_ours(path);
}

/* At the call that was asked for: dies, or says that the call shall fail. */
static bool fault(bool is_ckpt)
{
    if (!is_armed || !is_ckpt || ++calls != fault_at)
        return false;
    if (!fault_errno)
        kill(getpid(), SIGKILL);
    errno = fault_errno;
    return true;
}

static long watched(bool is_ckpt, long number, const long args[3])
{
    return fault(is_ckpt) ? -1 : syscall(number, args[0], args[1], args[2]);
}

/* Of the writes to one file in a row every eighth counts: they differ in nothing else. */
ssize_t write(int fd, const void *bytes, size_t size)
{
    static int last_fd = -1;
    static long in_a_row;
    bool is_counted = false;

    if (is_armed && is_ours_fd(fd)) {
        in_a_row = fd == last_fd ? in_a_row + 1 : 0;
        last_fd = fd;
        is_counted = in_a_row % 8 == 0;
    }
    return watched(is_counted, SYS_write, (const long[3]){fd, (long)(uintptr_t)bytes, (long)size});
}

int fsync(int fd)
{
    return (int)watched(is_armed && is_ours_fd(fd), SYS_fsync, (const long[3]){fd, 0, 0});
}

int rename(const char *from, const char *to)
{
    return (int)watched(is_ours(to), SYS_rename,
                        (const long[3]){(long)(uintptr_t)from, (long)(uintptr_t)to, 0});
}

int link(const char *from, const char *to)
{
    return (int)watched(is_ours(to), SYS_link,
                        (const long[3]){(long)(uintptr_t)from, (long)(uintptr_t)to, 0});
}

int mkdir(const char *path, mode_t mode)
{
    return (int)watched(is_ours(path), SYS_mkdir,
                        (const long[3]){(long)(uintptr_t)path, (long)mode, 0});
}

int unlink(const char *path)
{
    return (int)watched(is_ours(path), SYS_unlink, (const long[3]){(long)(uintptr_t)path, 0, 0});
}

/* The pause between two tries of the last save. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    return is_armed ? 0 : (int)syscall(SYS_nanosleep, wanted, left);
}

static void arm(void)
{
    is_armed = true;
}

static struct place place;

static void open_small(void)
{
    place_open(&place);
    place.config.model.layers = 1;
    place.config.steps = 6;
    place.config.lr.horizon = 6 * 4;
    place.config.save_steps = 3;
    place.config.keep_last = 1;
    CHECK_INT(run(&place, "calm"), 0);
}

/* The newest step in dir that is a checkpoint by its name and manifest; -1: none. */
static void on_entry(void *owner, const char *name)
{
    int64_t *newest = owner, step;
    uint64_t gen;
    char path[700];

    snprintf(path, sizeof(path), "%s/hit/ckpt/%s/manifest.json", place.dir, name);
    if (dt_step_name_read(name, &step, &gen) && access(path, F_OK) == 0 && step > *newest)
        *newest = step;
}

static int64_t newest_step(void)
{
    char dir[600];
    int64_t newest = -1;

    snprintf(dir, sizeof(dir), "%s/hit/ckpt", place.dir);
    (void)!dt_dir_list(dir, on_entry, &newest, NULL);
    return newest;
}

/* Where the last run of hit said it began; -1: anew. */
static int64_t resumed_step(void)
{
    char path[600];
    struct dt_buf log = {0};
    const char *said;
    int64_t step = -1;

    snprintf(path, sizeof(path), "%s/hit.log", place.dir);
    CHECK_INT(dt_file_read(path, 1 << 20, &log, NULL), DT_OK);
    said = strstr(dt_buf_str(&log), "resuming from step ");
    if (said)
        step = strtoll(said + strlen("resuming from step "), NULL, 10);
    dt_buf_release(&log);
    return step;
}

static void forget_log(void)
{
    char log[600];

    snprintf(log, sizeof(log), "%s/hit.log", place.dir);
    unlink(log);
}

static void forget_hit(void)
{
    char dir[600];

    snprintf(dir, sizeof(dir), "%s/hit", place.dir);
    CHECK_INT(dt_dir_remove(dir, NULL), DT_OK);
    forget_log();
}

static void on_temporary(void *owner, const char *name)
{
    *(int *)owner += strncmp(name, ".tmp-", 5) == 0;
}

static void check_no_rest(void)
{
    char dir[600];
    int rests = 0;

    snprintf(dir, sizeof(dir), "%s/hit/ckpt", place.dir);
    CHECK_INT(dt_dir_list(dir, on_temporary, &rests, NULL), DT_OK);
    CHECK_INT(rests, 0);
}

/* One run with the fault, one without: the second goes on from the newest whole one. Returns the
 * first one's status. */
static int hit(long at)
{
    int status;
    int64_t newest;

    forget_hit();
    fault_at = at;
    place.in_child = arm;
    status = run(&place, "hit");
    place.in_child = NULL;
    newest = newest_step();
    if (status == TRAIN_NO_CHECKPOINT)
        CHECK_INT(newest, -1); /* it could not even begin */
    else if (status != -SIGKILL)
        CHECK_INT(status, 0);
    forget_log();
    CHECK_INT(run(&place, "hit"), 0);
    CHECK_INT(resumed_step(), newest);
    CHECK_INT(newest_step(), 6);
    check_no_rest();
    check_same_losses(&place, "calm", "hit");
    return status;
}

/* Every call once, until a run makes fewer: at least 30. */
static void hit_all(int number)
{
    long at = 0;
    int status;

    open_small();
    fault_errno = number;
    do
        status = hit(++at);
    while (status || (number && at < 36)); /* a failure is often overcome, a kill never */
    CHECK(at >= 30);
    place_close(&place);
}

TEST(save__killed_at_any_system_call_resumes_from_the_newest_whole_one)
{
    hit_all(0);
}

TEST(save__any_system_call_may_fail_once_and_nothing_is_lost)
{
    hit_all(EIO);
}
