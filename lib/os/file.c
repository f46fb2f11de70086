/* Files that are either whole or not there. */
#include "dt/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum dt_code fail_errno(struct dt_err *err, const char *doing, const char *path)
{
    enum dt_code code = errno == ENOENT ? DT_NOT_FOUND : DT_IO;
    int saved = errno;

    dt_fail(err, code, "cannot %s %s: %s", doing, path, strerror(saved));
    if (saved == ENOSPC || saved == EDQUOT)
        dt_hint(err, "the disk is full: free space there, or choose another directory");
    else if (saved == EACCES || saved == EPERM)
        dt_hint(err, "check the owner and mode of the file and of its directories");
    return code;
}

bool dt_path_join(char *text, size_t size, const char *left, const char *right)
{
    int used = snprintf(text, size, "%s/%s", left, right);

    return used >= 0 && (size_t)used < size;
}

enum dt_code dt_file_read(const char *path, size_t bytes_max, struct dt_buf *buf,
                          struct dt_err *err)
{
    char piece[16384];
    size_t total = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return fail_errno(err, "read", path);
    while ((got = read(fd, piece, sizeof(piece))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        total += (size_t)got;
        if (total > bytes_max) {
            close(fd);
            return dt_fail(err, DT_INVALID, "%s: more than %zu bytes", path, bytes_max);
        }
        dt_buf_add(buf, piece, (size_t)got);
    }
    if (got < 0) {
        enum dt_code code = fail_errno(err, "read", path);

        close(fd);
        return code;
    }
    close(fd);
    return DT_OK;
}

enum dt_code dt_dir_sync(const char *path, struct dt_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum dt_code code = DT_OK;

    if (fd < 0)
        return fail_errno(err, "open", path);
    if (fsync(fd) < 0 && errno != EINVAL)
        code = fail_errno(err, "sync", path);
    close(fd);
    return code;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t put = write(fd, bytes, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

enum dt_code dt_file_replace(const char *path, const void *bytes, size_t size, unsigned mode,
                             struct dt_err *err)
{
    char temporary[4096], directory[4096];
    const char *slash = strrchr(path, '/');
    enum dt_code code;
    bool is_good;
    int fd;

    if (snprintf(temporary, sizeof(temporary), "%s.tmp.%d", path, (int)getpid()) >=
        (int)sizeof(temporary))
        return dt_fail(err, DT_INVALID, "path too long: %.200s...", path);
    snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0)
        return fail_errno(err, "write", temporary);
    is_good = write_all(fd, bytes, size) && fsync(fd) == 0;
    if (!is_good)
        code = fail_errno(err, "write", temporary);
    else if (rename(temporary, path) < 0)
        code = fail_errno(err, "rename to", path);
    else
        code = dt_dir_sync(*directory ? directory : "/", err);
    close(fd);
    if (code)
        unlink(temporary);
    return code;
}

enum dt_code dt_dir_make(const char *path, unsigned mode, struct dt_err *err)
{
    char part[4096];
    size_t size = strlen(path);
    struct stat info;

    if (size >= sizeof(part))
        return dt_fail(err, DT_INVALID, "path too long: %.200s...", path);
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, (mode_t)mode) < 0 && errno != EEXIST)
            return fail_errno(err, "make directory", part);
    }
    if (stat(path, &info) < 0)
        return fail_errno(err, "make directory", path);
    if (!S_ISDIR(info.st_mode))
        return dt_fail(err, DT_IO, "%s exists and is not a directory", path);
    return DT_OK;
}

/* Empty the directory fd (consumed); stays on device. Depth is bounded by the path limit. */
static bool dir_empty(int fd, dev_t device, int depth)
{
    DIR *dir = depth < 64 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool is_good = true;

    if (!dir) {
        close(fd);
        return false;
    }
    while ((entry = readdir(dir))) {
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(info.st_mode) && info.st_dev == device) {
            int child = openat(dirfd(dir), entry->d_name,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            if (child >= 0)
                is_good &= dir_empty(child, device, depth + 1);
            is_good &= unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) == 0;
        } else {
            is_good &= unlinkat(dirfd(dir), entry->d_name, 0) == 0;
        }
    }
    closedir(dir);
    return is_good;
}

enum dt_code dt_dir_remove(const char *path, struct dt_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    bool is_empty;

    if (fd < 0)
        return errno == ENOENT ? DT_OK : fail_errno(err, "remove", path);
    if (fstat(fd, &info) < 0) {
        close(fd);
        return fail_errno(err, "remove", path);
    }
    is_empty = dir_empty(fd, info.st_dev, 0);
    if (rmdir(path) < 0 && errno != ENOENT)
        return is_empty ? fail_errno(err, "remove", path)
                        : dt_fail(err, DT_IO, "cannot remove everything below %s", path);
    return DT_OK;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

enum dt_code dt_dir_list(const char *path, void (*visit)(void *owner, const char *name),
                         void *owner, struct dt_err *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char **names = NULL;
    size_t count = 0, room = 0;

    if (!dir)
        return fail_errno(err, "list", path);
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (count == room) {
            room = room ? room * 2 : 32;
            names = dt_realloc(names, room, sizeof(char *));
        }
        names[count++] = dt_copy_text(entry->d_name);
    }
    closedir(dir);
    if (count)
        qsort(names, count, sizeof(char *), by_text);
    for (size_t i = 0; i < count; i++) {
        visit(owner, names[i]);
        dt_free(names[i]);
    }
    dt_free(names);
    return DT_OK;
}

enum dt_code dt_file_lock(const char *path, int *fd, struct dt_err *err)
{
    int made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (made < 0)
        return fail_errno(err, "lock", path);
    if (flock(made, LOCK_EX | LOCK_NB) < 0) {
        enum dt_code code = errno == EWOULDBLOCK
                                ? dt_fail(err, DT_CONFLICT, "%s is held by another process", path)
                                : fail_errno(err, "lock", path);

        close(made);
        return code;
    }
    *fd = made;
    return DT_OK;
}
