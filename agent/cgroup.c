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

struct mounts {
    char v2[256];     /* mount point plus our own path there; "" = none */
    char memory[400]; /* the same for the v1 memory controller */
};

/* Our own path in a hierarchy: the line "N:controllers:PATH" of /proc/self/cgroup. */
static void own_path(const char *controller, char *path, size_t size)
{
    struct dt_buf text = {0};
    char *line, *rest = NULL;

    snprintf(path, size, "%s", "");
    if (dt_file_read("/proc/self/cgroup", 65536, &text, NULL) == DT_OK)
        for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;

            if (!second)
                continue;
            *second = 0;
            if (strcmp(first + 1, controller) == 0)
                snprintf(path, size, "%s", strcmp(second + 1, "/") == 0 ? "" : second + 1);
        }
    dt_buf_release(&text);
}

/* Fields of mountinfo: ... mount-point options ... - type source super-options */
static void read_mounts(struct mounts *mounts)
{
    struct dt_buf text = {0};
    char *line, *rest = NULL, own[200];

    *mounts = (struct mounts){0};
    if (dt_file_read("/proc/self/mountinfo", 4 << 20, &text, NULL) != DT_OK)
        return;
    for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *dash = strstr(line, " - "), point[256] = "", type[32] = "", options[256] = "";

        if (!dash || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
            sscanf(dash + 3, "%31s %*s %255s", type, options) < 1)
            continue;
        if (strcmp(type, "cgroup2") == 0 && !mounts->v2[0]) {
            own_path("", own, sizeof(own));
            snprintf(mounts->v2, sizeof(mounts->v2), "%s%s", point, own);
            if (access(mounts->v2, W_OK) != 0)
                snprintf(mounts->v2, sizeof(mounts->v2), "%s", point);
        } else if (strcmp(type, "cgroup") == 0 && strstr(options, "memory")) {
            own_path("memory", own, sizeof(own));
            snprintf(mounts->memory, sizeof(mounts->memory), "%s%s", point, own);
        }
    }
    dt_buf_release(&text);
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
    struct mounts mounts;
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
    struct mounts mounts;
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
    struct mounts mounts;

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
