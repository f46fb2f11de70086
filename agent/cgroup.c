/* Control groups, whichever kind this machine has (launch.md, cgroups). */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dt/base/buf.h"
#include "dt/os/file.h"

/* Our own path in a hierarchy: the line "N:controllers:PATH" of /proc/self/cgroup. */
static void own_path(const char *self, const char *controller, char *path, size_t size)
{
    snprintf(path, size, "%s", "");
    for (const char *line = self; line && *line; line = strchr(line, '\n')) {
        const char *first, *second;
        int length;

        line += *line == '\n';
        first = strchr(line, ':');
        second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            return;
        length = (int)strcspn(second + 1, "\n");
        if ((size_t)(second - first - 1) == strlen(controller) &&
            strncmp(first + 1, controller, strlen(controller)) == 0 &&
            !(length == 1 && second[1] == '/'))
            snprintf(path, size, "%.*s", length, second + 1);
    }
}

/* The option is one of a list with commas. */
static bool has_option(const char *options, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, size) == 0 && (!at[size] || at[size] == ','))
            return true;
    }
    return false;
}

/* One line of mountinfo: ... mount-point options ... - type source super-options */
static void mount_line(const char *line, const char *self, struct cgroup_mounts *mounts)
{
    const char *dash = strstr(line, " - "), *end = strchr(line, '\n');
    char point[200] = "", type[32] = "", options[256] = "", own[200];

    if (!dash || (end && dash > end) || sscanf(line, "%*s %*s %*s %*s %199s", point) != 1 ||
        sscanf(dash + 3, "%31s %*s %255s", type, options) < 1)
        return;
    if (strcmp(type, "cgroup2") == 0 && !mounts->top[0]) {
        own_path(self, "", own, sizeof(own));
        snprintf(mounts->top, sizeof(mounts->top), "%s", point);
        snprintf(mounts->v2, sizeof(mounts->v2), "%s%s", point, own);
    } else if (strcmp(type, "cgroup") == 0 && has_option(options, "memory")) {
        own_path(self, "memory", own, sizeof(own));
        snprintf(mounts->memory, sizeof(mounts->memory), "%s%s", point, own);
    }
}

void cgroup_parse(const char *mountinfo, const char *self, struct cgroup_mounts *mounts)
{
    *mounts = (struct cgroup_mounts){0};
    for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        mount_line(line, self, mounts);
    }
}

static void read_mounts(struct cgroup_mounts *mounts)
{
    struct dt_buf info = {0}, self = {0};

    *mounts = (struct cgroup_mounts){0};
    if (dt_file_read("/proc/self/mountinfo", 4 << 20, &info, NULL) == DT_OK &&
        dt_file_read("/proc/self/cgroup", 65536, &self, NULL) == DT_OK)
        cgroup_parse(dt_buf_str(&info), dt_buf_str(&self), mounts);
    if (mounts->v2[0] && access(mounts->v2, W_OK) != 0)
        snprintf(mounts->v2, sizeof(mounts->v2), "%s", mounts->top);
    dt_buf_release(&info);
    dt_buf_release(&self);
}

static bool write_text(const char *dir, const char *name, const char *text)
{
    char path[600];
    ssize_t put;
    int fd;

    if (!dt_path_join(path, sizeof(path), dir, name))
        return false;
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    put = write(fd, text, strlen(text));
    close(fd);
    return put == (ssize_t)strlen(text);
}

const char *cgroup_mode(char *sentence, size_t size)
{
    struct cgroup_mounts mounts;
    bool has_kill;

    read_mounts(&mounts);
    has_kill = mounts.v2[0] && access(mounts.v2, W_OK) == 0;
    if (has_kill && mounts.memory[0]) {
        snprintf(sentence, size, "ranks are tracked in cgroup2, memory limits in cgroup v1");
        return "hybrid";
    }
    if (has_kill) {
        snprintf(sentence, size, "ranks are tracked and limited in cgroup2");
        return "v2";
    }
    snprintf(sentence, size, "no writable cgroup2: ranks are tracked as children of the step "
                             "process, without memory limits");
    return "none";
}

/* Make dir/name and its parents below dir; "" when that is not possible. */
static void make_below(char *path, size_t size, const char *dir, const char *name)
{
    if (!dir[0] || snprintf(path, size, "%s/dt/%s", dir, name) >= (int)size ||
        dt_dir_make(path, 0755, NULL) != DT_OK)
        path[0] = 0;
}

/* On a pure v2 machine limits need their controllers switched on above; refused where processes
 * sit in between, and then there is no limit. */
static void switch_on(const char *top, const char *name)
{
    char dir[600];
    const char *at = name;

    write_text(top, "cgroup.subtree_control", "+memory");
    snprintf(dir, sizeof(dir), "%s/dt", top);
    write_text(dir, "cgroup.subtree_control", "+memory");
    while ((at = strchr(at, '/'))) {
        snprintf(dir, sizeof(dir), "%s/dt/%.*s", top, (int)(at - name), name);
        write_text(dir, "cgroup.subtree_control", "+memory");
        at++;
    }
}

void cgroup_make(struct cgroup *group, const char *name, int64_t memory_bytes)
{
    struct cgroup_mounts mounts;
    char text[32];

    *group = (struct cgroup){0};
    read_mounts(&mounts);
    make_below(group->path, sizeof(group->path), mounts.v2, name);
    snprintf(text, sizeof(text), "%lld", (long long)memory_bytes);
    if (!memory_bytes)
        return;
    if (!mounts.memory[0] && group->path[0]) {
        switch_on(mounts.v2, name);
        write_text(group->path, "memory.max", text);
        return;
    }
    make_below(group->memory, sizeof(group->memory), mounts.memory, name);
    if (group->memory[0] && !write_text(group->memory, "memory.limit_in_bytes", text)) {
        rmdir(group->memory);
        group->memory[0] = 0;
    }
}

void cgroup_find(struct cgroup *group, const char *name)
{
    struct cgroup_mounts mounts;

    read_mounts(&mounts);
    *group = (struct cgroup){0};
    if (mounts.v2[0])
        snprintf(group->path, sizeof(group->path), "%.250s/dt/%.100s", mounts.v2, name);
    if (access(group->path, F_OK) != 0)
        group->path[0] = 0;
    if (mounts.memory[0])
        snprintf(group->memory, sizeof(group->memory), "%.250s/dt/%.100s", mounts.memory, name);
    if (access(group->memory, F_OK) != 0)
        group->memory[0] = 0;
}

struct listing {
    char dir[400];
    void (*visit)(void *owner, const char *name);
    void *owner;
};

/* Control files are no directories, and another user's groups are not ours. */
static void on_entry(void *owner, const char *name)
{
    const struct listing *listing = owner;
    struct stat info;
    char path[700];

    if (dt_path_join(path, sizeof(path), listing->dir, name) && lstat(path, &info) == 0 &&
        S_ISDIR(info.st_mode) && info.st_uid == geteuid())
        listing->visit(listing->owner, name);
}

void cgroup_list(const char *name, void (*visit)(void *owner, const char *name), void *owner)
{
    struct cgroup_mounts mounts;
    struct listing listing = {.visit = visit, .owner = owner};
    const char *tops[2];
    enum dt_code code;

    read_mounts(&mounts);
    tops[0] = mounts.v2;
    tops[1] = mounts.memory;
    for (int i = 0; i < 2; i++) {
        if (!tops[i][0])
            continue;
        snprintf(listing.dir, sizeof(listing.dir), "%.250s/dt/%.100s", tops[i], name);
        code = dt_dir_list(listing.dir, on_entry, &listing, NULL);
        (void)code; /* absent: nothing is left there */
    }
}

bool cgroup_enter(const struct cgroup *group)
{
    return (!group->path[0] || write_text(group->path, "cgroup.procs", "0")) &&
           (!group->memory[0] || write_text(group->memory, "cgroup.procs", "0"));
}

void cgroup_kill(const struct cgroup *group)
{
    if (group->path[0])
        write_text(group->path, "cgroup.kill", "1");
}

static bool has_line(const char *dir, const char *name, const char *line)
{
    char path[600];
    struct dt_buf text = {0};
    bool has;

    if (!dt_path_join(path, sizeof(path), dir, name))
        return false;
    has = dt_file_read(path, 65536, &text, NULL) == DT_OK && strstr(dt_buf_str(&text), line);
    dt_buf_release(&text);
    return has;
}

bool cgroup_is_empty(const struct cgroup *group)
{
    return !group->path[0] || access(group->path, F_OK) != 0 ||
           has_line(group->path, "cgroup.events", "populated 0");
}

bool cgroup_had_oom(const struct cgroup *group)
{
    if (group->memory[0])
        return !has_line(group->memory, "memory.oom_control", "oom_kill 0") &&
               has_line(group->memory, "memory.oom_control", "oom_kill ");
    return group->path[0] && has_line(group->path, "memory.events", "oom_kill ") &&
           !has_line(group->path, "memory.events", "oom_kill 0");
}

/* Remove the group and the parents dt made, as far as they are empty. */
static void remove_up(const char *path)
{
    char dir[400];

    snprintf(dir, sizeof(dir), "%s", path);
    while (dir[0] && rmdir(dir) == 0) {
        char *slash = strrchr(dir, '/');

        if (!slash || strcmp(slash, "/dt") == 0)
            return;
        *slash = 0;
    }
}

void cgroup_remove(const struct cgroup *group)
{
    remove_up(group->path);
    remove_up(group->memory);
}
