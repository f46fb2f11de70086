/* Finds what dead generations left: by control groups, and by the environment of processes. */
#include "strays.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup.h"
#include "dt/base/buf.h"
#include "dt/core/job.h"
#include "dt/os/file.h"
#include "dt/os/log.h"

#define ENVIRONMENT_BYTES_MAX (4 << 20)

struct search {
    const struct strays *strays;
    size_t found;
};

/* ---- control groups ---- */

/* "j-000007-g3" */
static bool read_group_name(const char *name, uint64_t *job, uint64_t *gen)
{
    const char *dash = strrchr(name, '-');
    char id[40];

    if (!dash || sscanf(dash, "-g%" SCNu64, gen) != 1 ||
        snprintf(id, sizeof(id), "%.*s", (int)(dash - name), name) >= (int)sizeof(id))
        return false;
    *job = dt_job_id_parse(id);
    return *job != 0;
}

static void on_group(void *owner, const char *name)
{
    struct search *search = owner;
    const struct strays *strays = search->strays;
    struct cgroup group;
    uint64_t job, gen;
    char path[200];

    if (!read_group_name(name, &job, &gen) || !strays->is_stray(strays->owner, job, gen))
        return;
    snprintf(path, sizeof(path), "%.8s/%.63s/%.80s", strays->cluster_id, strays->node, name);
    cgroup_find(&group, path);
    if (!cgroup_is_empty(&group)) {
        search->found++;
        dt_log(DT_LOG_WARN, "killing a stray control group", "group", path, NULL);
        cgroup_kill(&group);
    } else {
        cgroup_remove(&group);
    }
}

/* ---- processes ---- */

static const char *variable(const struct dt_buf *environment, const char *name)
{
    const char *at = environment->data, *end = at ? at + environment->size : NULL;
    size_t size = strlen(name);

    while (at && at < end) {
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
        at += strlen(at) + 1; /* the buffer ends with NUL */
    }
    return "";
}

/* Does the process' environment say that it is of a stray generation of this very agent? */
static bool is_ours(const struct strays *strays, const struct dt_buf *environment)
{
    const char *socket_path = variable(environment, "DT_METRICS_SOCKET");
    char prefix[120];
    uint64_t job, gen;

    /* as the step process names the socket: metrics.c */
    snprintf(prefix, sizeof(prefix), "%.80s/m", strays->run_dir);
    job = dt_job_id_parse(variable(environment, "DT_JOB_ID"));
    return strncmp(socket_path, prefix, strlen(prefix)) == 0 && job &&
           dt_parse_u64(variable(environment, "DT_GENERATION"), UINT64_MAX, &gen) &&
           strays->is_stray(strays->owner, job, gen);
}

/* The descriptor is taken before the look, so that the number cannot become another's between. */
static void on_process(void *owner, const char *name)
{
    struct search *search = owner;
    struct dt_buf environment = {0};
    struct stat info;
    char path[64];
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    int pidfd;

    if (pid <= 1 || pid == getpid() ||
        snprintf(path, sizeof(path), "/proc/%d", (int)pid) >= (int)sizeof(path) ||
        stat(path, &info) < 0 || info.st_uid != geteuid())
        return;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (dt_file_read(path, ENVIRONMENT_BYTES_MAX, &environment, NULL) == DT_OK) {
        dt_buf_str(&environment);
        if (is_ours(search->strays, &environment)) {
            search->found++;
            dt_log(DT_LOG_WARN, "killing a stray process", "pid", name, NULL);
            syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        }
    }
    dt_buf_release(&environment);
    close(pidfd);
}

size_t strays_kill(const struct strays *strays)
{
    struct search search = {.strays = strays};
    char name[100];

    snprintf(name, sizeof(name), "%.8s/%.63s", strays->cluster_id, strays->node);
    cgroup_list(name, on_group, &search);
    if (dt_dir_list("/proc", on_process, &search, NULL))
        dt_log(DT_LOG_WARN, "/proc cannot be listed: stray processes are not looked for", NULL);
    return search.found;
}
