/* Ranks as processes: started in their group, ended with it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "step.h"
#include "topology.h"

extern char **environ;

#define ARGS_MAX 4096

/* Everything a child needs, made before the fork: the child only makes system calls. */
struct plan {
    char **argv;      /* NULL-terminated; argv[0] is the program */
    char path[1024];  /* absolute */
    char **env;       /* NULL-terminated, borrowed from texts */
    struct dt_texts texts;
    const char *workdir;
    const struct cgroup *group;
    const char *uts_name; /* NULL = keep the host's name */
    bool ignores_sigpipe;
};

static const char *launch_of(const struct step *step)
{
    return dt_tree_str(step->bundle, "launch", "none");
}

static bool launches_mpi(const struct step *step)
{
    return strcmp(launch_of(step), "mpi") == 0;
}

static void group_name(const struct step *step, char *text, size_t size)
{
    char id[24];

    dt_job_id_format(step->job, id, sizeof(id));
    snprintf(text, size, "%.8s/%s/%s-g%llu", dt_tree_str(step->bundle, "cluster", "none"),
             step->node, id, (unsigned long long)step->gen);
}

/* A file of the generation below the run directory. */
static void run_file(const struct step *step, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%.250s/j%llu-g%llu.%s", step->run_dir, (unsigned long long)step->job,
             (unsigned long long)step->gen, name);
}

/* Where MPI keeps the generation's shared memory: a directory of its own, so that nodes on one
 * machine do not clash and what a killed rank left can go without touching another job's. */
static void shm_name(const struct step *step, char *path, size_t size)
{
    snprintf(path, size, "/dev/shm/dt-%.8s-%.64s-j%llu-g%llu",
             dt_tree_str(step->bundle, "cluster", "none"), step->node,
             (unsigned long long)step->job, (unsigned long long)step->gen);
}

/* A file for the ranks. It need not outlive a crash of the machine: no sync on the way to them. */
static enum dt_code file_make(const char *path, const char *bytes, size_t size, mode_t mode,
                              struct dt_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    ssize_t put = fd >= 0 ? write(fd, bytes, size) : -1;
    enum dt_code code = DT_OK;

    if (put != (ssize_t)size)
        code = dt_fail(err, DT_IO, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return code;
}

static enum dt_code write_inputs(struct step *step, struct dt_err *err)
{
    const struct dt_tree *spec = dt_tree_get(step->bundle, "spec");
    const char *script = dt_tree_str(step->bundle, "script", NULL);
    struct dt_buf text = {0};
    char path[400];
    enum dt_code code = DT_OK;

    if (spec) {
        run_file(step, "spec.json", path, sizeof(path));
        dt_json_write(&text, spec);
        code = file_make(path, text.data, text.size, 0600, err);
    } else if (script) {
        run_file(step, "script", path, sizeof(path));
        code = file_make(path, script, strlen(script), 0700, err);
    }
    dt_buf_clear(&text);
    dt_rank_hostfile(step->bundle, &text);
    run_file(step, "hosts", path, sizeof(path));
    if (!code)
        code = file_make(path, dt_buf_str(&text), text.size, 0600, err);
    dt_buf_release(&text);
    return code;
}

static enum dt_code ranks_make(struct step *step, struct dt_err *err)
{
    const struct dt_tree *rows = dt_tree_get(step->bundle, "ranks");
    bool is_single = strcmp(launch_of(step), "none") == 0;
    enum dt_code code = DT_OK;

    step->ranks_count = is_single ? 1 : (int)rows->count;
    step->ranks = dt_alloc((size_t)step->ranks_count, sizeof(*step->ranks));
    for (int i = 0; i < step->ranks_count; i++) {
        struct rank *rank = &step->ranks[i];

        rank->step = step;
        rank->pidfd = rank->pipe_fd = rank->log_fd = -1;
        rank->local = i;
    }
    const struct dt_tree *row = rows->first;
    for (int i = 0; i < step->ranks_count && row && !code; i++, row = row->next) {
        step->ranks[i].number = (int)dt_tree_int(row, "rank", 0);
        code = logs_open(step, &step->ranks[i], err);
    }
    return code;
}

enum dt_code spawn_prepare(struct step *step, struct dt_err *err)
{
    const struct dt_tree *rows = dt_tree_get(step->bundle, "ranks");
    char name[200], shm[200];
    enum dt_code code;

    if (!rows || !rows->count || rows->count > DT_DEVICES_PER_NODE_MAX)
        return dt_fail(err, DT_INVALID, "the order names no ranks for this node");
    if (access(dt_tree_str(step->bundle, "workdir", "/"), X_OK) != 0) {
        dt_fail(err, DT_NOT_FOUND, "the working directory %.200s is not there: %s",
                dt_tree_str(step->bundle, "workdir", "/"), strerror(errno));
        return DT_NOT_FOUND;
    }
    step->log_bytes_max = dt_tree_int(step->bundle, "log_bytes", 1 << 30);
    if (step->log_bytes_max < 256 * 1024)
        step->log_bytes_max = 256 * 1024;
    group_name(step, name, sizeof(name));
    cgroup_make(&step->group, name, dt_tree_int(step->bundle, "memory_bytes", 0));
    if ((code = dt_dir_make(dt_tree_str(step->bundle, "output_dir", "/"), 0755, err)) ||
        (code = write_inputs(step, err)) || (code = ranks_make(step, err)) ||
        (code = metrics_open(step, err)))
        return code;
    if (!launches_mpi(step))
        return DT_OK;
    shm_name(step, shm, sizeof(shm));
    if ((code = dt_dir_make(shm, 0700, err)))
        return code;
    return pmix_generation(step->pmix, err);
}

/* ---- one rank ---- */

/* The program in PATH, or as it is when it has a slash. */
static enum dt_code find_program(struct plan *plan, struct dt_err *err)
{
    const char *at = dt_env_get(&plan->texts, "PATH"), *name = plan->argv[0];
    const char *workdir = plan->workdir;
    char *path = plan->path;
    size_t size = sizeof(plan->path);

    if (strchr(name, '/')) {
        snprintf(path, size, "%s%s%s", name[0] == '/' ? "" : workdir, name[0] == '/' ? "" : "/",
                 name);
        if (access(path, X_OK) == 0)
            return DT_OK;
        return dt_fail(err, DT_NOT_FOUND, "cannot run %s: %s", path, strerror(errno));
    }
    for (at = at ? at : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");

        snprintf(path, size, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0)
            return DT_OK;
        at += length + (at[length] == ':');
    }
    return dt_fail(err, DT_NOT_FOUND, "cannot run %s: it is not in PATH", name);
}

static void argv_add(char **argv, size_t *count, const char *word)
{
    if (*count + 1 < ARGS_MAX)
        argv[(*count)++] = dt_copy_text(word);
}

static enum dt_code plan_program(const struct step *step, struct plan *plan, struct dt_err *err)
{
    const struct dt_tree *command = dt_tree_get(step->bundle, "command");
    const char *script = dt_tree_str(step->bundle, "script", NULL);
    char path[512], file[400];
    size_t count = 0;
    enum dt_code code;

    plan->argv = dt_alloc(ARGS_MAX, sizeof(char *));
    if (dt_tree_bool(step->bundle, "trainer", false)) {
        if ((code = dt_program_dir(path, sizeof(path), err)))
            return code;
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/dttrain");
        run_file(step, "spec.json", file, sizeof(file));
        argv_add(plan->argv, &count, path);
        argv_add(plan->argv, &count, file);
    } else if (script) {
        run_file(step, "script", file, sizeof(file));
        if (strncmp(script, "#!", 2) != 0) {
            argv_add(plan->argv, &count, "bash");
            argv_add(plan->argv, &count, "-eo");
            argv_add(plan->argv, &count, "pipefail");
        }
        argv_add(plan->argv, &count, file);
    } else {
        for (const struct dt_tree *word = command ? command->first : NULL; word; word = word->next)
            argv_add(plan->argv, &count, word->text);
    }
    if (!count)
        return dt_fail(err, DT_INVALID, "the order names no program");
    return find_program(plan, err);
}

/* Is another node of this generation on this very machine? Then MPI would mix up their names. */
static bool shares_host(const struct step *step)
{
    const struct dt_tree *nodes = dt_tree_get(step->bundle, "nodes");

    for (const struct dt_tree *a = nodes ? nodes->first : NULL; a; a = a->next)
        for (const struct dt_tree *b = a->next; b; b = b->next)
            if (strcmp(dt_tree_str(a, "host", ""), dt_tree_str(b, "host", "?")) == 0)
                return true;
    return false;
}

/* A setting of ours stands behind the user's own. */
static void env_default(struct plan *plan, const char *name, const char *value)
{
    if (!dt_env_get(&plan->texts, name))
        dt_env_set(&plan->texts, name, value);
}

/* What a rank of a PMIx server uses, or can never use; 5.x ignores what it does not have. */
static const struct {
    const char *name, *value;
} lean[] = {
    {"OMPI_MCA_pml", "ob1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_orte_externally_bound", "1"},
    {"OMPI_MCA_coll", "^han,adapt,monitoring,sync,sm"}, /* the latter are never chosen */
    {"OMPI_MCA_osc", "^ucx,monitoring"},
    {"OMPI_MCA_shmem", "mmap"},
    {"OMPI_MCA_pmix", "^flux,isolated,cray,s1,s2"},
    {"OMPI_MCA_ess", "pmi"},
    {"OMPI_MCA_state", "app"},
    {"OMPI_MCA_errmgr", "default_app"},
    {"OMPI_MCA_schizo", "ompi"},
};

/* For MPI programs that ask for it: only the components a rank needs are loaded, and hwloc reads
 * the agent's file instead of the machine. Its plugins (X11, OpenCL, libxml2) stay out: they are
 * half of MPI_Init's processor time, and a file needs none of them. */
static void plan_lean(const struct step *step, struct plan *plan, bool is_shared)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char topology[400];

    env_default(plan, "OMPI_MCA_btl", pmix_shared_btl());
    for (size_t i = 0; i < DT_COUNT(lean); i++)
        env_default(plan, lean[i].name, lean[i].value);
    if (!dt_env_get(&plan->texts, TOPOLOGY_VARIABLE) &&
        topology_path(step->run_dir, topology, sizeof(topology))) {
        dt_env_set(&plan->texts, TOPOLOGY_VARIABLE, topology);
        dt_env_set(&plan->texts, TOPOLOGY_IS_OURS, "1");
        env_default(plan, TOPOLOGY_PLUGINS, TOPOLOGY_PLUGINS_NONE);
    }
    if ((is_shared ? dt_tree_int(step->bundle, "world", 1) : step->ranks_count) > cores)
        env_default(plan, "OMPI_MCA_mpi_yield_when_idle", "1");
}

/* Open MPI without mpirun (launch.md): the lean set only where it is asked for. */
static void plan_mpi(const struct step *step, struct plan *plan)
{
    bool is_shared = shares_host(step);
    char shm[200];

    shm_name(step, shm, sizeof(shm));
    env_default(plan, "OMPI_MCA_btl_vader_backing_directory", shm); /* 4.x */
    env_default(plan, "OMPI_MCA_btl_sm_backing_directory", shm);    /* 5.x */
    if (dt_tree_bool(step->bundle, "lean", false))
        plan_lean(step, plan, is_shared);
    env_default(plan, "OMPI_MCA_schizo", "^orte");
    plan->ignores_sigpipe = true;
    if (is_shared && geteuid() == 0)
        plan->uts_name = step->node;
    /* ranks of a loopback cluster have no other way to each other; 5.x leaves loopback out */
    if (strncmp(step->master_addr, "127.", 4) == 0)
        env_default(plan, "OMPI_MCA_btl_tcp_if_include", "lo");
}

static const char *resume_from(const struct step *step, char *path, size_t size)
{
    const char *dir = dt_tree_str(step->bundle, "checkpoint_dir", "");

    if (step->reported_path[0])
        return step->reported_path;
    snprintf(path, size, "%s", dir);
    return step->gen > 1 && access(dir, F_OK) == 0 ? path : NULL;
}

static enum dt_code plan_make(struct step *step, struct rank *rank, struct plan *plan,
                              struct dt_err *err)
{
    const struct dt_tree *row = dt_tree_get(step->bundle, "ranks")->first;
    char error_file[400], name[32], resume[512], hosts[400];
    struct dt_rank_place place = {.master_addr = step->master_addr,
                                  .master_port = step->master_port,
                                  .metrics_socket = step->metrics_path};
    enum dt_code code;
    int64_t cpus;

    for (int i = 0; i < rank->local && row; i++)
        row = row->next;
    snprintf(name, sizeof(name), "error-%d", rank->number);
    run_file(step, name, error_file, sizeof(error_file));
    cpus = dt_tree_int(step->bundle, "cpus_per_rank", 0);
    place.error_file = error_file;
    run_file(step, "hosts", hosts, sizeof(hosts));
    place.hostfile = hosts;
    place.cpus = cpus > 0 ? (int)cpus : 1;
    place.resume_from = resume_from(step, resume, sizeof(resume));
    plan->workdir = dt_tree_str(step->bundle, "workdir", "/");
    plan->group = &step->group;
    dt_rank_environment(step->bundle, row, environ, &place, &plan->texts);
    if (launches_mpi(step)) {
        plan_mpi(step, plan);
        if ((code = pmix_rank_env(step->pmix, rank->number, &plan->texts, err)))
            return code;
    }
    if ((code = plan_program(step, plan, err)))
        return code;
    plan->env = dt_alloc(plan->texts.count + 1, sizeof(char *));
    for (size_t i = 0; i < plan->texts.count; i++)
        plan->env[i] = plan->texts.item[i];
    return DT_OK;
}

static void plan_release(struct plan *plan)
{
    for (size_t i = 0; plan->argv && plan->argv[i]; i++)
        dt_free(plan->argv[i]);
    dt_free(plan->argv);
    dt_free(plan->env);
    dt_texts_release(&plan->texts);
}

/* What failed in the child, by number over the error pipe. */
static const char *const stages[] = {"", "join its control group", "start a session",
                                     "name its host", "change to the working directory",
                                     "place its output", "run"};

static void child_fail(int pipe_fd, int stage)
{
    int report[2] = {stage, errno};
    ssize_t put = write(pipe_fd, report, sizeof(report));

    (void)put;
    _exit(127);
}

/* From fork to exec, in this order; any failure exits before the program runs. */
static void child(const struct plan *plan, int out_fd, int pipe_fd, pid_t parent)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int keep = fcntl(pipe_fd, F_DUPFD_CLOEXEC, 100);
    sigset_t none;

    if (!cgroup_enter(plan->group))
        child_fail(pipe_fd, 1);
    if (setsid() < 0)
        child_fail(pipe_fd, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    if (plan->ignores_sigpipe)
        signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(0022);
    if (plan->uts_name && (unshare(CLONE_NEWUTS) < 0 ||
                           sethostname(plan->uts_name, strlen(plan->uts_name)) < 0))
        child_fail(pipe_fd, 3);
    if (chdir(plan->workdir) < 0)
        child_fail(pipe_fd, 4);
    if (dup2(null_fd, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(out_fd, 2) < 0 || keep < 0)
        child_fail(pipe_fd, 5);
    syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0u);
    syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0u);
    execve(plan->path, plan->argv, plan->env);
    child_fail(keep, 6);
}

static void on_pipe(void *owner, int fd)
{
    (void)fd;
    logs_pump(owner);
}

static void on_rank_exit(void *owner, int fd)
{
    struct rank *rank = owner;
    int status = 0;

    (void)fd;
    if (waitpid(rank->pid, &status, WNOHANG) != rank->pid)
        return;
    rank->end.rank = rank->number;
    rank->end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    rank->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    rank->end.at_ms = dt_clock_ms();
    dt_watch_free(rank->exit_watch);
    rank->exit_watch = NULL;
    close(rank->pidfd);
    rank->pidfd = -1;
    rank->pid = 0;
    logs_pump(rank);
    rank->step->rank_ended(rank->step, rank);
}

/* Start a rank; fail_fd will tell when it runs its program, or why it cannot. */
static enum dt_code rank_fork(struct rank *rank, const struct plan *plan, int *fail_fd,
                              struct dt_err *err)
{
    int out[2] = {-1, -1}, fail[2] = {-1, -1};
    pid_t parent = getpid(), pid;

    if (pipe2(out, O_CLOEXEC) < 0)
        return dt_fail(err, DT_IO, "rank %d: cannot make a pipe: %s", rank->number,
                       strerror(errno));
    if (pipe2(fail, O_CLOEXEC) < 0) {
        dt_fail(err, DT_IO, "rank %d: cannot make a pipe: %s", rank->number, strerror(errno));
        close(out[0]);
        close(out[1]);
        return DT_IO;
    }
    pid = fork();
    if (pid == 0)
        child(plan, out[1], fail[1], parent);
    close(out[1]);
    close(fail[1]);
    if (pid < 0) {
        dt_fail(err, DT_IO, "rank %d: cannot fork: %s", rank->number, strerror(errno));
        close(out[0]);
        close(fail[0]);
        return DT_IO;
    }
    rank->pid = pid;
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    rank->pipe_fd = out[0];
    *fail_fd = fail[0];
    return DT_OK;
}

/* Wait until the rank runs its program; on failure nothing of it is left. */
static enum dt_code rank_hear(struct rank *rank, const struct plan *plan, int fail_fd,
                              struct dt_err *err)
{
    int report[2];
    ssize_t got;

    do
        got = read(fail_fd, report, sizeof(report));
    while (got < 0 && errno == EINTR);
    close(fail_fd);
    if (got == (ssize_t)sizeof(report)) {
        waitpid(rank->pid, NULL, 0);
        rank->pid = 0;
        close(rank->pipe_fd);
        rank->pipe_fd = -1;
        return dt_fail(err, DT_NOT_FOUND, "cannot %s %s: %s", stages[report[0]],
                       report[0] == 4   ? plan->workdir
                       : report[0] == 6 ? plan->path
                                        : "",
                       report[0] == 6 && report[1] == ENOENT && access(plan->path, F_OK) == 0
                           ? "the interpreter that its first line (#!) names is not there"
                           : strerror(report[1]));
    }
    rank->pidfd = (int)syscall(SYS_pidfd_open, rank->pid, 0);
    rank->exit_watch = dt_watch_make(rank->step->loop, rank->pidfd, on_rank_exit, rank);
    rank->pipe_watch = dt_watch_make(rank->step->loop, rank->pipe_fd, on_pipe, rank);
    return DT_OK;
}

static void launch_failed(struct rank *rank, const struct dt_err *err)
{
    rank->has_ended = true;
    rank->end = (struct dt_rank_exit){.rank = rank->number, .code = 127, .at_ms = dt_clock_ms()};
    snprintf(rank->end.class_name, sizeof(rank->end.class_name), "launch");
    snprintf(rank->end.excerpt, sizeof(rank->end.excerpt), "%s", err->text);
}

enum dt_code spawn_all(struct step *step, struct dt_err *err)
{
    struct plan *plans = dt_alloc((size_t)step->ranks_count, sizeof(*plans));
    int *fail_fds = dt_alloc((size_t)step->ranks_count, sizeof(*fail_fds));
    enum dt_code code = DT_OK;
    int forked = 0;

    for (int i = 0; i < step->ranks_count && !code; i++) {
        if (!(code = plan_make(step, &step->ranks[i], &plans[i], err)))
            code = rank_fork(&step->ranks[i], &plans[i], &fail_fds[i], err);
        if (code)
            launch_failed(&step->ranks[i], err);
        else
            forked++;
    }
    for (int i = 0; i < forked; i++) { /* they execute beside each other */
        struct dt_err why = {0};
        enum dt_code failed = rank_hear(&step->ranks[i], &plans[i], fail_fds[i], &why);

        if (failed)
            launch_failed(&step->ranks[i], &why);
        if (failed && !code) {
            code = failed;
            *err = why;
        }
    }
    for (int i = 0; i < step->ranks_count; i++)
        plan_release(&plans[i]);
    dt_free(plans);
    dt_free(fail_fds);
    return code;
}

/* ---- ending ---- */

/* To the rank's whole session: a shell waits for the program it runs and would keep the signal to
 * itself. A rank not yet waited for keeps its number, so the group can be no other's. */
void spawn_signal(struct step *step, int signal_number)
{
    for (int i = 0; i < step->ranks_count; i++)
        if (step->ranks[i].pid > 0)
            kill(-step->ranks[i].pid, signal_number);
}

/* Children of this process: ranks, and whatever they left (we are their subreaper). */
static int each_child(void (*visit)(const struct step *step, pid_t pid), const struct step *step)
{
    char path[64];
    struct dt_buf text = {0};
    char *word, *rest = NULL;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    if (dt_file_read(path, 1 << 20, &text, NULL) == DT_OK && text.data)
        for (word = strtok_r(text.data, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            visit(step, (pid_t)strtol(word, NULL, 10));
            count++;
        }
    dt_buf_release(&text);
    return count;
}

static void kill_child(const struct step *step, pid_t pid)
{
    (void)step;
    kill(pid, SIGKILL); /* a child not yet waited for: its number cannot be another's */
}

void spawn_kill(struct step *step)
{
    if (!step->killed_ms)
        step->killed_ms = dt_clock_ms();
    if (step->group.path[0])
        cgroup_kill(&step->group);
    else
        each_child(kill_child, step);
}

static void reap_stray(const struct step *step, pid_t pid)
{
    for (int i = 0; i < step->ranks_count; i++)
        if (step->ranks[i].pid == pid)
            return; /* its watch reaps it, with its status */
    waitpid(pid, NULL, WNOHANG);
}

void spawn_reap_strays(struct step *step)
{
    each_child(reap_stray, step);
}

bool spawn_is_gone(struct step *step)
{
    for (int i = 0; i < step->ranks_count; i++)
        if (step->ranks[i].pid)
            return false;
    each_child(reap_stray, step);
    return cgroup_is_empty(&step->group) && each_child(reap_stray, step) == 0;
}

void spawn_clean(struct step *step)
{
    static const char *const files[] = {"spec.json", "script", "hosts"};
    char path[400], name[32];

    for (int i = 0; i < step->ranks_count; i++) {
        logs_close(&step->ranks[i]);
        dt_buf_release(&step->ranks[i].recent);
        snprintf(name, sizeof(name), "error-%d", step->ranks[i].number);
        run_file(step, name, path, sizeof(path));
        unlink(path);
    }
    for (size_t i = 0; i < DT_COUNT(files); i++) {
        run_file(step, files[i], path, sizeof(path));
        unlink(path);
    }
    metrics_close(step);
    if (launches_mpi(step)) {
        pmix_generation_end(step->pmix);
        shm_name(step, path, sizeof(path));
        if (dt_dir_remove(path, NULL))
            dt_log(DT_LOG_WARN, "shared memory not removed", "path", path, NULL);
    }
    cgroup_remove(&step->group);
    dt_free(step->ranks);
    step->ranks = NULL;
    step->ranks_count = 0;
    step->group = (struct cgroup){0};
}
