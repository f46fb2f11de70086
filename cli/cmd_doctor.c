/* dtctl doctor: is this machine fit for dt, and what to do where it is not. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "cmds.h"
#include "dt/base/units.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"
#include "render.h"
#include "say.h"

#define PATH_BYTES DT_WHERE_PATH_BYTES_MAX
#define PROGRAM_MS 3000
#define FILES_LEAST 4096
#define SHM_BYTES_LEAST ((uint64_t)256 << 20)

static const struct dt_opt opts[] = {
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",
     .initial = "text", .help = "form of the output", .words = "text json yaml"},
    DT_OPT_ROW_CONTEXT,
};

enum grade { GRADE_OK, GRADE_WARN, GRADE_FAIL };

struct doctor {
    struct dt_tree *items; /* a list of {check, state, text, remedy} */
    int fails;
};

static void note(struct doctor *doctor, enum grade grade, const char *check, const char *text,
                 const char *remedy)
{
    static const char *const names[] = {"ok", "warn", "fail"};
    struct dt_tree *item = dt_tree_put_new(doctor->items, NULL, DT_TREE_MAP);

    dt_tree_put_str(item, "check", check);
    dt_tree_put_str(item, "state", names[grade]);
    dt_tree_put_str(item, "text", text);
    dt_tree_put_str(item, "remedy", grade == GRADE_OK ? NULL : remedy);
    doctor->fails += grade == GRADE_FAIL;
}

/* "7.0.15" at least "6.2"? Compares up to three numbers. */
static bool is_at_least(const char *version, const char *least)
{
    for (int i = 0; i < 3; i++) {
        long has, wants;
        char *end;

        has = strtol(version, &end, 10);
        version = *end == '.' ? end + 1 : end;
        wants = strtol(least, &end, 10);
        least = *end == '.' ? end + 1 : end;
        if (has != wants)
            return has > wants;
    }
    return true;
}

/* What comes out of a pipe until its end or the deadline; bytes. */
static size_t pipe_read(int fd, char *text, size_t size)
{
    int64_t end = dt_clock_ms() + PROGRAM_MS;
    size_t used = 0;

    while (used + 1 < size) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        int64_t left = end - dt_clock_ms();
        ssize_t n;

        if (left <= 0 || poll(&item, 1, (int)left) <= 0)
            break;
        n = read(fd, text + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = 0;
    return used;
}

/* What a program prints with one option, at most size bytes; false when it cannot be run. */
static bool program_output(const char *path, const char *option, char *text, size_t size)
{
    char *const words[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)option, NULL};
    struct dt_spawn spawn = {.path = path, .argv = words, .fd_in = -1, .fd_err = -1};
    int ends[2], pidfd = -1;
    size_t used = 0;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    spawn.fd_out = ends[1];
    if (dt_proc_spawn(&spawn, &pid, &pidfd, NULL)) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    close(ends[1]);
    used = pipe_read(ends[0], text, size);
    close(ends[0]);
    close(pidfd);
    return used > 0;
}

static void check_programs(struct doctor *doctor)
{
    static const char *const names[] = {"dtserver", "dtagent", "dttrain"};
    char dir[PATH_BYTES], path[PATH_BYTES], text[PATH_BYTES + 64];

    if (dt_program_dir(dir, sizeof(dir), NULL))
        return;
    for (size_t i = 0; i < DT_COUNT(names); i++) {
        bool is_there = dt_path_join(path, sizeof(path), dir, names[i]) && access(path, X_OK) == 0;

        snprintf(text, sizeof(text), "%s %s %s", names[i], is_there ? "in" : "is not in", dir);
        note(doctor, is_there ? GRADE_OK : GRADE_FAIL, names[i], text,
             "install dt's programs into one directory");
    }
}

/* The program of that name in PATH. */
static bool path_find(const char *name, char path[PATH_BYTES])
{
    const char *list = getenv("PATH");

    for (list = list ? list : "/usr/bin:/bin"; *list;) {
        size_t size = strcspn(list, ":");
        char dir[PATH_BYTES];

        if (size && size < sizeof(dir)) {
            memcpy(dir, list, size);
            dir[size] = 0;
            if (dt_path_join(path, PATH_BYTES, dir, name) && access(path, X_OK) == 0)
                return true;
        }
        list += size + (list[size] == ':');
    }
    return false;
}

static void check_redis(struct doctor *doctor)
{
    char path[PATH_BYTES], text[256] = "", version[32] = "";
    const char *at;

    if (!path_find("redis-server", path)) {
        note(doctor, GRADE_FAIL, "redis-server", "not found in PATH",
             "apt-get install redis-server");
        return;
    }
    if (program_output(path, "--version", text, sizeof(text)) && (at = strstr(text, "v=")))
        snprintf(version, sizeof(version), "%.*s", (int)strcspn(at + 2, " \n"), at + 2);
    snprintf(text, sizeof(text), "%.180s, version %s", path, *version ? version : "unknown");
    note(doctor, *version && is_at_least(version, "7.0.15") ? GRADE_OK : GRADE_FAIL,
         "redis-server", text, "dt needs redis 7.0.15 or newer: apt-get install redis-server");
}

/* Does the library load, and what does symbol (may be NULL) say of its version? In a process of its
 * own: some (UCX below MPI) begin to work as soon as they are loaded, and complain. */
static bool library_probe(const char *library, const char *symbol, char version[64])
{
    int ends[2], null;
    size_t used;
    char text[66];
    pid_t pid;

    version[0] = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    if ((pid = fork()) == 0) {
        void *handle, *address;
        const char *(*function)(void) = NULL;

        if ((null = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0)
            dup2(null, 2);
        handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        address = handle && symbol ? dlsym(handle, symbol) : NULL;
        memcpy(&function, &address, sizeof(address));
        snprintf(text, sizeof(text), "+%.60s", function ? function() : "");
        _exit(handle && write(ends[1], text, strlen(text)) > 0 ? 0 : 1);
    }
    close(ends[1]);
    used = pid > 0 ? pipe_read(ends[0], text, sizeof(text)) : 0;
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* over already, unless the library hangs */
        waitpid(pid, NULL, 0);
    }
    if (used)
        snprintf(version, 64, "%s", text + 1);
    return used > 0;
}

/* Package versions that carry needed fixes are the distribution's matter; here the libraries'. */
static void check_libraries(struct doctor *doctor)
{
    static const struct {
        const char *check, *library, *symbol, *least, *remedy;
    } rows[] = {
        {"libevent", "libevent_core-2.1.so.7", "event_get_version", "2.1.12",
         "apt-get install libevent-2.1-7, at least 2.1.12-stable-8+deb12u1"},
        {"openssl", "libcrypto.so.3", NULL, "3.0", "apt-get install libssl3"},
        {"jansson", "libjansson.so.4", "jansson_version_str", "2.13",
         "apt-get install libjansson4"},
        {"libpmix", "libpmix.so.2", NULL, "4.2", "apt-get install libpmix2"},
        {"libhwloc", "libhwloc.so.15", NULL, "2.0", "apt-get install libhwloc15"},
        {"open-mpi", "libmpi.so.40", NULL, "4.1", "apt-get install libopenmpi3"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        char version[64], text[128];
        bool is_there = library_probe(rows[i].library, rows[i].symbol, version);

        snprintf(text, sizeof(text), "%s%s%s%.40s", rows[i].library,
                 is_there ? "" : " is not installed", *version ? ", version " : "", version);
        note(doctor,
             !is_there || (*version && !is_at_least(version, rows[i].least)) ? GRADE_FAIL
                                                                              : GRADE_OK,
             rows[i].check, text, rows[i].remedy);
    }
}

/* Where our cgroup is, and whether we may make groups in it. */
static void check_cgroup(struct doctor *doctor)
{
    static const char remedy[] = "ranks are ended by process group and subreaper instead; for "
                                 "cgroups run the agent under systemd with Delegate=yes";
    bool is_v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    bool is_hybrid = access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0;
    const char *mode = is_v2 ? "v2" : is_hybrid ? "hybrid" : "v1";
    char dir[PATH_BYTES] = "", text[PATH_BYTES + 64];
    struct dt_buf own = {0};
    const char *line;

    if (access("/sys/fs/cgroup", F_OK) != 0) {
        note(doctor, GRADE_WARN, "cgroup", "no /sys/fs/cgroup", remedy);
        return;
    }
    if (dt_file_read("/proc/self/cgroup", 65536, &own, NULL) == DT_OK) {
        line = strstr(dt_buf_str(&own), is_v2 || is_hybrid ? "0::" : ":pids:");
        line = line ? strchr(line, '/') : NULL;
        snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s%.*s",
                 is_v2 ? "" : is_hybrid ? "/unified" : "/pids",
                 line ? (int)strcspn(line, "\n") : 0, line ? line : "");
    }
    dt_buf_release(&own);
    if (*dir && access(dir, W_OK) == 0) {
        snprintf(text, sizeof(text), "%s, writable at %s", mode, dir);
        note(doctor, GRADE_OK, "cgroup", text, NULL);
    } else {
        snprintf(text, sizeof(text), "%s, not writable at %s", mode, dir);
        note(doctor, GRADE_WARN, "cgroup", text, remedy);
    }
}

static void check_shm(struct doctor *doctor)
{
    struct statvfs info;
    char size[32], text[96];
    uint64_t free_bytes;

    if (statvfs("/dev/shm", &info) != 0) {
        note(doctor, GRADE_FAIL, "/dev/shm", strerror(errno), "mount a tmpfs at /dev/shm");
        return;
    }
    free_bytes = (uint64_t)info.f_bavail * info.f_frsize;
    snprintf(size, sizeof(size), "%.1f GiB", (double)free_bytes / (double)((uint64_t)1 << 30));
    snprintf(text, sizeof(text), "%s free", size);
    note(doctor, free_bytes >= SHM_BYTES_LEAST ? GRADE_OK : GRADE_WARN, "/dev/shm", text,
         "ranks of one node share memory there: give it at least 256 MiB");
}

static void check_ports(struct doctor *doctor)
{
    static const struct {
        const char *check;
        uint16_t port;
    } rows[] = {{"port 7480", 7480}, {"port 7481", 7481}};

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(rows[i].port)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
        bool is_free;

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        is_free = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
        note(doctor, is_free ? GRADE_OK : GRADE_WARN, rows[i].check,
             is_free ? "free" : "in use (fine when it is a dtserver of yours)",
             "a service install wants 7480 and 7481; an embedded cluster takes any port");
        close(fd);
    }
}

static void check_limits(struct doctor *doctor)
{
    struct rlimit limit = {0};
    char text[64];

    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(text, sizeof(text), "%llu open files (at most %llu)",
             (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    note(doctor, limit.rlim_max >= FILES_LEAST ? GRADE_OK : GRADE_WARN, "file limit", text,
         "raise the hard limit: ulimit -Hn 65536, or LimitNOFILE= of the service");
}

/* Ports of InfiniBand devices that are up: the lean MPI set does not use them. */
static void check_infiniband(struct doctor *doctor)
{
    static const char top[] = "/sys/class/infiniband";
    DIR *dir = opendir(top);
    struct dirent *entry;
    int active = 0;

    while (dir && (entry = readdir(dir))) {
        struct dt_buf state = {0};
        char path[PATH_BYTES];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%.100s/ports/1/state", top, entry->d_name);
        if (dt_file_read(path, 256, &state, NULL) == DT_OK)
            active += strstr(dt_buf_str(&state), "ACTIVE") != NULL;
        dt_buf_release(&state);
    }
    if (dir)
        closedir(dir);
    if (active)
        note(doctor, GRADE_WARN, "infiniband", "an active port is not used by mpi: lean",
             "set mpi: site in job.yaml, so that Open MPI takes the fabric");
    else
        note(doctor, GRADE_OK, "infiniband", "no active port that would lie idle", NULL);
}

/* Reachable, and is its clock ours? The Date of its answer tells. */
static void check_cluster(struct doctor *doctor, const struct dt_args *args)
{
    struct dt_tree *version = NULL;
    struct dt_api api = {.client.fd = -1};
    struct dt_err err = {0};
    char text[DT_WHERE_PATH_BYTES_MAX + 64];
    enum dt_code code = DT_OK;
    struct dt_where where;
    int64_t server_ms = 0, off;

    code = dt_where_find(dt_args_str(args, "context"), &where, &err);
    if (!code)
        code = dt_client_open(&where, &api.client, &err);
    if (!code)
        code = dt_api_get(&api, "/v1/version", &version, &err);
    if (code) {
        note(doctor, GRADE_WARN, "cluster", err.text,
             err.hint[0] ? err.hint : "start one: dtctl up");
    } else {
        snprintf(text, sizeof(text), "dtserver %s at %s", dt_tree_str(version, "version", "?"),
                 where.socket[0] ? where.socket : where.url);
        note(doctor, GRADE_OK, "cluster", text, NULL);
    }
    if (!code && dt_parse_instant_ms(dt_tree_str(version, "now", ""), &server_ms, NULL) == DT_OK) {
        off = dt_wall_ms() - server_ms;
        snprintf(text, sizeof(text), "%.1f s off the controller's", (double)off / 1000.0);
        note(doctor, off < 10000 && off > -10000 ? GRADE_OK : GRADE_WARN, "clock", text,
             "run chrony or systemd-timesyncd on both machines");
    }
    dt_tree_free(version);
    dt_api_release(&api);
}

static void doctor_print(const struct dt_args *args, const struct doctor *doctor)
{
    struct dt_buf page = {0};

    if (!dt_output_is(args, "text")) {
        struct dt_tree *out = dt_tree_make(DT_TREE_MAP);

        dt_tree_add(out, "items", dt_tree_copy(doctor->items));
        dt_tree_put_int(out, "fails", doctor->fails);
        dt_output_tree(args, out);
        dt_tree_free(out);
        return;
    }
    for (const struct dt_tree *item = doctor->items->first; item; item = item->next) {
        const char *remedy = dt_tree_str(item, "remedy", NULL);

        dt_buf_print(&page, "%-4s  %-13s ", dt_tree_str(item, "state", "?"),
                     dt_tree_str(item, "check", "?"));
        dt_add_safe(&page, dt_tree_str(item, "text", ""));
        dt_buf_byte(&page, '\n');
        if (remedy) {
            dt_buf_print(&page, "%20s-> ", "");
            dt_add_safe(&page, remedy);
            dt_buf_byte(&page, '\n');
        }
    }
    dt_put(&page);
    dt_buf_release(&page);
}

static int doctor_run(const struct dt_args *args)
{
    struct doctor doctor = {.items = dt_tree_make(DT_TREE_LIST)};

    check_programs(&doctor);
    check_redis(&doctor);
    check_libraries(&doctor);
    check_cgroup(&doctor);
    check_shm(&doctor);
    check_limits(&doctor);
    check_ports(&doctor);
    check_infiniband(&doctor);
    check_cluster(&doctor, args);
    doctor_print(args, &doctor);
    dt_tree_free(doctor.items);
    return doctor.fails ? 1 : 0;
}

const struct dt_cmd dt_cli_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "Is this machine fit for dt? Each line ok, warn or fail with its remedy.",
    .detail = "Exit status 1 when anything fails.",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_CLUSTER,
    .run = doctor_run,
};
