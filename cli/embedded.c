/* The processes of an embedded cluster: those of our programs that name its run directory. */
#include "embedded.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"
#include "where.h"

#define COMMAND_BYTES_MAX (128 * 1024)
#define KILL_MS 5000

/* run_dir as a whole path or the beginning of one, somewhere in the command line. */
static bool names_dir(const struct dt_buf *command, const char *run_dir)
{
    size_t size = strlen(run_dir);

    for (size_t i = 0; i + size <= command->size; i++) {
        char next;

        if (memcmp(command->data + i, run_dir, size) != 0)
            continue;
        next = command->data[i + size];
        if (next == '/' || next == 0 || next == ' ')
            return true;
    }
    return false;
}

static bool has_word(const struct dt_buf *command, const char *word)
{
    size_t first = strlen(command->data) + 1; /* the second word */

    return first < command->size && strcmp(command->data + first, word) == 0;
}

/* What the command lines of one cluster's processes name. */
struct dirs {
    const char *run;
    char state[DT_WHERE_PATH_BYTES_MAX];
};

struct dt_tree *dt_embedded_note(const char *run_dir)
{
    static const struct dt_json_limits limits = {65536, 8, 1000};
    char path[DT_WHERE_PATH_BYTES_MAX];
    struct dt_tree *note = NULL;
    struct dt_buf bytes = {0};

    if (dt_path_join(path, sizeof(path), run_dir, "cluster.json") &&
        dt_file_read(path, limits.bytes_max, &bytes, NULL) == DT_OK &&
        dt_json_parse(dt_buf_str(&bytes), bytes.size, &limits, &note, NULL))
        note = NULL;
    dt_buf_release(&bytes);
    return note;
}

void dt_embedded_state_dir(const char *run_dir, char *text, size_t size)
{
    struct dt_tree *note = dt_embedded_note(run_dir);
    const char *dir = note ? dt_tree_str(note, "state_dir", "") : "";

    text[0] = 0;
    if (dir[0] == '/' && dir[1] && strlen(dir) < size)
        snprintf(text, size, "%s", dir);
    dt_tree_free(note);
}

/* Which of our programs is it, by the file it runs? */
static bool role_of(const char *pid, const struct dt_buf *command, enum dt_role *role)
{
    char path[64], program[512];
    const char *base;
    ssize_t size;

    snprintf(path, sizeof(path), "/proc/%.16s/exe", pid);
    size = readlink(path, program, sizeof(program) - 1);
    if (size <= 0)
        return false;
    program[size] = 0;
    base = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    /* A rebuilt program reads "dtagent (deleted)"; redis-server may be a link to its checker. */
    if (strncmp(base, "dtserver", 8) == 0)
        *role = DT_ROLE_SERVER;
    else if (strncmp(base, "dtagent", 7) == 0)
        *role = has_word(command, "step") ? DT_ROLE_STEP : DT_ROLE_AGENT;
    else if (strncmp(base, "redis", 5) == 0 || strncmp(base, "valkey", 6) == 0)
        *role = DT_ROLE_REDIS;
    else
        return false;
    return true;
}

static bool is_ours(const char *pid, const struct dirs *dirs, enum dt_role *role)
{
    struct dt_buf command = {0};
    struct stat info;
    char path[64];
    bool is;

    snprintf(path, sizeof(path), "/proc/%.16s", pid);
    if (stat(path, &info) != 0 || info.st_uid != geteuid())
        return false;
    snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
    if (dt_file_read(path, COMMAND_BYTES_MAX, &command, NULL) || !command.size) {
        dt_buf_release(&command);
        return false;
    }
    is = (names_dir(&command, dirs->run) ||
          (dirs->state[0] && names_dir(&command, dirs->state))) &&
         role_of(pid, &command, role);
    dt_buf_release(&command);
    return is;
}

/* The word after --node of an agent's command line. */
static void note_node(const char *pid, struct dt_held_proc *proc)
{
    struct dt_buf command = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%.16s/cmdline", pid);
    if (dt_file_read(path, COMMAND_BYTES_MAX, &command, NULL) == DT_OK) {
        const char *text = dt_buf_str(&command), *end = text + command.size;

        for (const char *at = text; at < end; at += strlen(at) + 1) {
            const char *next = at + strlen(at) + 1;

            if (strcmp(at, "--node") == 0 && next < end)
                snprintf(proc->node, sizeof(proc->node), "%s", next);
        }
    }
    dt_buf_release(&command);
}

void dt_embedded_find(const char *run_dir, struct dt_held_procs *procs)
{
    DIR *dir = opendir("/proc");
    struct dirs dirs = {.run = run_dir};
    struct dirent *entry;

    dt_embedded_state_dir(run_dir, dirs.state, sizeof(dirs.state));
    *procs = (struct dt_held_procs){0};
    while (dir && (entry = readdir(dir))) {
        enum dt_role role;
        int64_t pid;
        int pidfd;

        if (!dt_parse_int(entry->d_name, 2, INT32_MAX, &pid) || pid == getpid() ||
            !is_ours(entry->d_name, &dirs, &role))
            continue;
        pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
        if (pidfd < 0)
            continue;
        /* Looked at again with the pidfd in hand: now it cannot become someone else. */
        if (!is_ours(entry->d_name, &dirs, &role)) {
            close(pidfd);
            continue;
        }
        procs->item = dt_realloc(procs->item, procs->count + 1, sizeof(*procs->item));
        procs->item[procs->count] = (struct dt_held_proc){(pid_t)pid, pidfd, role, ""};
        if (role == DT_ROLE_AGENT)
            note_node(entry->d_name, &procs->item[procs->count]);
        procs->count++;
    }
    if (dir)
        closedir(dir);
}

/* Wait until all of a role are gone; returns how many are still there at the deadline. */
static size_t wait_gone(const struct dt_held_procs *procs, enum dt_role role, int64_t wait_ms)
{
    int64_t end = dt_clock_ms() + wait_ms;
    size_t left = 0;

    for (size_t i = 0; i < procs->count; i++) {
        struct pollfd item = {.fd = procs->item[i].pidfd, .events = POLLIN};
        int64_t rest = end - dt_clock_ms();

        if (procs->item[i].role != role)
            continue;
        if (poll(&item, 1, rest > 0 ? (int)rest : 0) == 0)
            left++;
    }
    return left;
}

static void signal_role(const struct dt_held_procs *procs, enum dt_role role, int number)
{
    for (size_t i = 0; i < procs->count; i++)
        if (procs->item[i].role == role)
            syscall(SYS_pidfd_send_signal, procs->item[i].pidfd, number, NULL, 0);
}

enum dt_code dt_embedded_stop(const char *run_dir, enum dt_role role, int64_t grace_ms,
                              size_t *killed, struct dt_err *err)
{
    struct dt_held_procs procs;
    enum dt_code code = DT_OK;
    size_t left;

    dt_embedded_find(run_dir, &procs);
    signal_role(&procs, role, SIGTERM);
    if ((left = wait_gone(&procs, role, grace_ms))) {
        *killed += left;
        signal_role(&procs, role, SIGKILL);
        if ((left = wait_gone(&procs, role, KILL_MS)))
            code = dt_fail(err, DT_TIMEOUT, "%zu processes under %s do not die of SIGKILL", left,
                           run_dir);
    }
    dt_held_procs_release(&procs);
    return code;
}

void dt_held_procs_release(struct dt_held_procs *procs)
{
    for (size_t i = 0; i < procs->count; i++)
        close(procs->item[i].pidfd);
    dt_free(procs->item);
    *procs = (struct dt_held_procs){0};
}

enum dt_code dt_embedded_lock(const char *name, int *fd, struct dt_err *err)
{
    char base[DT_WHERE_PATH_BYTES_MAX], file[80], path[DT_WHERE_PATH_BYTES_MAX];
    enum dt_code code;

    if ((code = dt_where_check_name(name, err)) ||
        (code = dt_where_run_dir(base, sizeof(base), err)) ||
        (code = dt_dir_make(base, 0700, err)) || (code = dt_where_check_dir(base, err)))
        return code;
    snprintf(file, sizeof(file), ".%s.lock", name);
    if (!dt_path_join(path, sizeof(path), base, file))
        return dt_fail(err, DT_INVALID, "the run directory's path is too long");
    code = dt_file_lock(path, fd, err);
    if (code == DT_CONFLICT)
        dt_fail(err, DT_CONFLICT, "another dtctl up or down of \"%s\" is at work", name);
    return code;
}
