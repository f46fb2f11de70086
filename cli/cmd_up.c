/* dtctl up: start an embedded cluster on this machine. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "cmds.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"
#include "embedded.h"
#include "safe.h"
#include "say.h"

#define DEADLINE_MS 15000
#define LOOK_MS 10
#define NODES_MOST 64
#define WORDS_MOST (16 + 2 * NODES_MOST)
#define PATH_BYTES DT_WHERE_PATH_BYTES_MAX
#define LOG_TAIL_BYTES 2000

static const struct dt_opt opts[] = {
    {.name = "name", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = "local",
     .help = "name of the cluster, for --context"},
    {.name = "nodes", .letter = 'N', .type = DT_OPT_INT, .arg = "N", .unit = "nodes",
     .initial = "2", .least = 1, .most = NODES_MOST, .help = "agents to start: n1, n2, ..."},
    {.name = "slots", .letter = 's', .type = DT_OPT_INT, .arg = "N", .unit = "CPU slots",
     .initial = "2", .least = 1, .most = 256, .help = "ranks that a node takes at a time"},
    {.name = "state-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "",
     .help = "where jobs and keys are kept; else under the user's state directory"},
};

struct up {
    const char *name;
    int64_t nodes, slots;
    char run_dir[PATH_BYTES], state_dir[PATH_BYTES], bin_dir[PATH_BYTES];
    int pidfds[1 + NODES_MOST]; /* dtserver, then agents; -1 = not started */
    pid_t server_pid;
    int64_t end_ms;
    bool is_repair;           /* some of its processes run: only the missing ones are started */
    bool has_server, has_agent[NODES_MOST];
    struct dt_tree *ready; /* what dtserver wrote; owned */
};

/* dir/file into path (PATH_BYTES); too long is an error. */
static enum dt_code join(char *path, const char *dir, const char *file, struct dt_err *err)
{
    if (dt_path_join(path, PATH_BYTES, dir, file))
        return DT_OK;
    return dt_fail(err, DT_INVALID, "the path is too long: %s/%s", dir, file);
}

/* state-dir may be relative: daemons run in /. */
static enum dt_code state_dir_choose(struct up *up, const struct dt_args *args,
                                     struct dt_err *err)
{
    const char *given = dt_args_str(args, "state-dir");
    char here[PATH_BYTES];

    if (!given)
        return dt_where_state_dir(up->name, up->state_dir, sizeof(up->state_dir), err);
    if (given[0] == '/')
        return join(up->state_dir, "", given + 1, err);
    if (!getcwd(here, sizeof(here)))
        return dt_fail(err, DT_IO, "the current directory: %s", strerror(errno));
    return join(up->state_dir, here, given, err);
}

/* Which of the cluster's processes run? What up was asked for when it began is asked for again. */
static void look_around(struct up *up)
{
    struct dt_tree *note = dt_embedded_note(up->run_dir);
    struct dt_held_procs procs;

    dt_embedded_find(up->run_dir, &procs);
    up->is_repair = procs.count > 0;
    up->has_server = up->is_repair && !note; /* nobody knows what it should have: leave it alone */
    memset(up->has_agent, up->has_server, sizeof(up->has_agent));
    for (size_t i = 0; i < procs.count; i++) {
        const struct dt_held_proc *proc = &procs.item[i];
        int64_t number;

        up->has_server |= proc->role == DT_ROLE_SERVER;
        if (proc->node[0] == 'n' && dt_parse_int(proc->node + 1, 1, NODES_MOST, &number))
            up->has_agent[number - 1] = true;
    }
    if (up->is_repair && note) {
        int64_t nodes = dt_tree_int(note, "nodes", up->nodes);

        up->nodes = nodes >= 1 && nodes <= NODES_MOST ? nodes : up->nodes;
        up->slots = dt_tree_int(note, "slots", up->slots);
        snprintf(up->state_dir, sizeof(up->state_dir), "%s",
                 dt_tree_str(note, "state_dir", up->state_dir));
    }
    dt_tree_free(note);
    dt_held_procs_release(&procs);
}

static bool is_complete(const struct up *up)
{
    for (int64_t i = 0; i < up->nodes; i++)
        if (!up->has_agent[i])
            return false;
    return up->has_server;
}

/* A cluster whose controller or agents died, with the rest of it alive: ready.json of the dead
 * controller must not pass for that of the next. */
static enum dt_code repair_prepare(struct up *up, struct dt_err *err)
{
    char path[PATH_BYTES];
    enum dt_code code = join(path, up->run_dir, "ready.json", err);

    if (!code && is_complete(up)) {
        dt_fail(err, DT_CONFLICT, "cluster \"%s\" is already running", up->name);
        dt_hint(err, "use it: --context %s; stop it: dtctl down --name %s; or another --name",
                up->name, up->name);
        return DT_CONFLICT;
    }
    if (!code && !up->has_server)
        unlink(path);
    return code;
}

static enum dt_code up_prepare(struct up *up, const struct dt_args *args, struct dt_err *err)
{
    char base[PATH_BYTES];
    enum dt_code code;

    if ((code = dt_where_run_dir(base, sizeof(base), err)) ||
        (code = join(up->run_dir, base, up->name, err)) ||
        (code = state_dir_choose(up, args, err)) ||
        (code = dt_program_dir(up->bin_dir, sizeof(up->bin_dir), err)))
        return code;
    look_around(up);
    if (up->is_repair)
        return repair_prepare(up, err);
    if ((code = dt_dir_remove(up->run_dir, err)) || (code = dt_dir_make(up->run_dir, 0700, err)) ||
        (code = dt_where_check_dir(up->run_dir, err)))
        return code;
    return dt_dir_make(up->state_dir, 0700, err);
}

/* Start one daemon with its log in the run directory. words[0] is the program's name. */
static enum dt_code daemon_start(struct up *up, const char **words, const char *log_name,
                                 int *pidfd, struct dt_err *err)
{
    char program[PATH_BYTES], log[PATH_BYTES];
    struct dt_spawn spawn = {.path = program, .workdir = "/", .fd_in = -1, .is_session = true};
    pid_t pid = 0;
    enum dt_code code;
    int fd;

    if ((code = join(program, up->bin_dir, words[0], err)) ||
        (code = join(log, up->run_dir, log_name, err)))
        return code;
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return dt_fail(err, DT_IO, "%s: %s", log, strerror(errno));
    spawn.fd_out = spawn.fd_err = fd;
    spawn.argv = (char *const *)(uintptr_t)words;
    code = dt_proc_spawn(&spawn, &pid, pidfd, err);
    close(fd);
    if (code == DT_NOT_FOUND) {
        code = dt_fail(err, DT_IO, "%s is not there", program);
        dt_hint(err, "dt's programs must lie in one directory: %s", up->bin_dir);
    }
    if (!code && pidfd == &up->pidfds[0])
        up->server_pid = pid;
    return code;
}

static bool is_dead(int pidfd)
{
    struct pollfd item = {.fd = pidfd, .events = POLLIN};

    return pidfd >= 0 && poll(&item, 1, 0) > 0;
}

/* Put the end of a daemon's log on stderr. */
static void log_tail_say(const struct up *up, const char *log_name)
{
    struct dt_buf text = {0};
    char path[PATH_BYTES];
    const char *from;

    if (!dt_path_join(path, sizeof(path), up->run_dir, log_name) ||
        dt_file_read(path, (size_t)16 << 20, &text, NULL) || !text.size) {
        dt_buf_release(&text);
        return;
    }
    from = text.size > LOG_TAIL_BYTES ? text.data + text.size - LOG_TAIL_BYTES : text.data;
    if (from != text.data && strchr(from, '\n'))
        from = strchr(from, '\n') + 1;
    dt_say("-- end of %s", path);
    while (*from) {
        size_t size = strcspn(from, "\n");

        dt_say("   %.*s", (int)size, from);
        from += size + (from[size] == '\n');
    }
    dt_buf_release(&text);
}

static enum dt_code server_start(struct up *up, struct dt_err *err)
{
    char names[NODES_MOST][8];
    const char *words[WORDS_MOST];
    size_t count = 0;

    words[count++] = "dtserver";
    words[count++] = "--run-dir";
    words[count++] = up->run_dir;
    words[count++] = "--state-dir";
    words[count++] = up->state_dir;
    words[count++] = "--name";
    words[count++] = up->name;
    words[count++] = "--api-port";
    words[count++] = "0";
    words[count++] = "--agent-port";
    words[count++] = "0";
    for (int64_t i = 0; i < up->nodes; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", (int)(i + 1));
        words[count++] = "--node";
        words[count++] = names[i];
    }
    words[count] = NULL;
    return daemon_start(up, words, "server.log", &up->pidfds[0], err);
}

/* Until dtserver wrote ready.json. */
static enum dt_code server_wait(struct up *up, struct dt_err *err)
{
    static const struct dt_json_limits limits = {65536, 8, 1000};
    char path[PATH_BYTES];
    enum dt_code code = join(path, up->run_dir, "ready.json", err);

    while (!code) {
        struct dt_buf text = {0};

        if (dt_file_read(path, limits.bytes_max, &text, NULL) == DT_OK &&
            dt_json_parse(dt_buf_str(&text), text.size, &limits, &up->ready, NULL) == DT_OK) {
            dt_buf_release(&text);
            return DT_OK;
        }
        dt_buf_release(&text);
        if (is_dead(up->pidfds[0]))
            code = dt_fail(err, DT_IO, "dtserver ended while it started");
        else if (dt_clock_ms() > up->end_ms || dt_stop_signal())
            code = dt_fail(err, DT_TIMEOUT, "dtserver was not ready within %d s",
                           DEADLINE_MS / 1000);
        else
            poll(NULL, 0, LOOK_MS);
    }
    log_tail_say(up, "server.log");
    return code;
}

static enum dt_code agent_start(struct up *up, int64_t index, struct dt_err *err)
{
    char name[8], log[16], slots[16], keys[PATH_BYTES], run[PATH_BYTES], state[PATH_BYTES];
    char tail[32], controller[PATH_BYTES];
    const char *words[] = {"dtagent", "--node", name, "--run-dir", run, "--state-dir", state,
                           "--keys", keys, "--controller", controller, "--cpu-slots", slots,
                           NULL};
    enum dt_code code;

    snprintf(name, sizeof(name), "n%d", (int)(index + 1));
    snprintf(log, sizeof(log), "%s.log", name);
    snprintf(slots, sizeof(slots), "%lld", (long long)up->slots);
    snprintf(tail, sizeof(tail), "nodes/%s", name);
    if ((code = join(keys, up->run_dir, tail, err)) ||
        (code = join(controller, keys, "controller", err)))
        return code;
    snprintf(tail, sizeof(tail), "agents/%s", name);
    if ((code = join(run, up->run_dir, tail, err)) ||
        (code = join(state, up->state_dir, tail, err)) ||
        (code = dt_dir_make(run, 0700, err)) || (code = dt_dir_make(state, 0700, err)))
        return code;
    return daemon_start(up, words, log, &up->pidfds[1 + index], err);
}

static bool is_there(const char *state)
{
    return *state && strcmp(state, "joining") != 0 && strcmp(state, "silent") != 0 &&
           strcmp(state, "down") != 0;
}

/* How many nodes are there, by the API: a cordon outlives down and up, and keeps nobody waiting. */
static int64_t nodes_there(struct dt_api *api)
{
    struct dt_tree *list = NULL;
    int64_t count = 0;

    if (dt_api_get(api, "/v1/nodes", &list, NULL) == DT_OK) {
        const struct dt_tree *items = dt_tree_get(list, "items");

        for (const struct dt_tree *node = items ? items->first : NULL; node; node = node->next)
            count += is_there(dt_tree_str(node, "state", ""));
    }
    dt_tree_free(list);
    return count;
}

static enum dt_code agents_wait(struct up *up, struct dt_err *err)
{
    struct dt_where where = {0};
    struct dt_api api = {0};
    enum dt_code code = join(where.socket, up->run_dir, "api.sock", err);
    int64_t dead = -1, count = 0;

    snprintf(where.name, sizeof(where.name), "%s", up->name);
    if (!code)
        code = dt_client_open(&where, &api.client, err);
    while (!code && (count = nodes_there(&api)) < up->nodes) {
        for (int64_t i = 0; i < up->nodes; i++)
            dead = is_dead(up->pidfds[1 + i]) ? i : dead;
        if (dead >= 0)
            code = dt_fail(err, DT_IO, "the agent of n%d ended while it started", (int)dead + 1);
        else if (is_dead(up->pidfds[0]))
            code = dt_fail(err, DT_IO, "dtserver ended while the agents started");
        else if (dt_clock_ms() > up->end_ms || dt_stop_signal())
            code = dt_fail(err, DT_TIMEOUT, "only %d of %d nodes joined within %d s", (int)count,
                           (int)up->nodes, DEADLINE_MS / 1000);
        else
            poll(NULL, 0, LOOK_MS);
    }
    dt_api_release(&api);
    if (code) {
        char log[16];

        snprintf(log, sizeof(log), "n%d.log", dead >= 0 ? (int)dead + 1 : 1);
        log_tail_say(up, log);
        log_tail_say(up, "server.log");
    }
    return code;
}

static void summary_put(const struct up *up)
{
    struct dt_buf buf = {0};
    bool is_default = strcmp(up->name, "local") == 0;

    if (up->is_repair)
        dt_buf_text(&buf, "what was missing of it has been started again\n");
    dt_buf_print(&buf, "cluster %s is up: %lld node%s with %lld CPU slot%s each\n", up->name,
                 (long long)up->nodes, up->nodes == 1 ? "" : "s", (long long)up->slots,
                 up->slots == 1 ? "" : "s");
    dt_buf_print(&buf, "  API    %s/api.sock, https://127.0.0.1:%lld\n", up->run_dir,
                 (long long)dt_tree_int(up->ready, "api_port", 0));
    dt_buf_print(&buf, "  state  %s\n  logs   %s/*.log\nnext:\n", up->state_dir, up->run_dir);
    if (!is_default)
        dt_buf_print(&buf, "  export DT_CONTEXT=%s\n", up->name);
    dt_buf_print(&buf, "  dtctl nodes\n  dtctl submit --follow job.yaml\n  dtctl down%s%s\n",
                 is_default ? "" : " --name ", is_default ? "" : up->name);
    dt_put(&buf);
    dt_buf_release(&buf);
}

/* What down needs to know. */
static enum dt_code note_write(const struct up *up, struct dt_err *err)
{
    struct dt_tree *note = dt_tree_make(DT_TREE_MAP);
    struct dt_buf text = {0};
    char path[PATH_BYTES];
    enum dt_code code = join(path, up->run_dir, "cluster.json", err);

    dt_tree_put_str(note, "name", up->name);
    dt_tree_put_str(note, "state_dir", up->state_dir);
    dt_tree_put_int(note, "nodes", up->nodes);
    dt_tree_put_int(note, "slots", up->slots);
    dt_json_write(&text, note);
    if (!code)
        code = dt_file_replace(path, text.data, text.size, 0600, err);
    dt_buf_release(&text);
    dt_tree_free(note);
    return code;
}

/* Nothing half-started stays. */
static void undo(struct up *up)
{
    size_t killed = 0;

    for (int role = 0; role < DT_ROLE_COUNT; role++)
        if (dt_embedded_stop(up->run_dir, (enum dt_role)role, 3000, &killed, NULL))
            dt_say("dtctl: something under %s is still running", up->run_dir);
}

static enum dt_code up_start(struct up *up, struct dt_err *err)
{
    enum dt_code code;

    up->end_ms = dt_clock_ms() + DEADLINE_MS;
    if ((code = note_write(up, err)) ||
        (!up->has_server && (code = server_start(up, err))) || (code = server_wait(up, err)))
        return code;
    for (int64_t i = 0; i < up->nodes; i++)
        if (!up->has_agent[i] && (code = agent_start(up, i, err)))
            return code;
    return agents_wait(up, err);
}

static int up_run(const struct dt_args *args)
{
    struct up up = {.name = dt_args_str(args, "name"),
                    .nodes = dt_args_int(args, "nodes", 2),
                    .slots = dt_args_int(args, "slots", 2)};
    struct dt_err err = {0};
    enum dt_code code;
    int lock = -1;

    for (size_t i = 0; i < DT_COUNT(up.pidfds); i++)
        up.pidfds[i] = -1;
    code = dt_embedded_lock(up.name, &lock, &err);
    if (!code)
        code = up_prepare(&up, args, &err);
    if (!code) {
        dt_stop_watch();
        code = up_start(&up, &err);
        if (code && !up.is_repair)
            undo(&up);
    }
    if (!code)
        summary_put(&up);
    for (size_t i = 0; i < DT_COUNT(up.pidfds); i++)
        if (up.pidfds[i] >= 0)
            close(up.pidfds[i]);
    dt_tree_free(up.ready);
    if (lock >= 0)
        close(lock);
    return code ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_up = {
    .name = "up",
    .operands = "",
    .summary = "Start a cluster of your own on this machine.",
    .detail = "Starts dtserver with a Redis child, a CA of its own and agents with CPU slots, all "
              "on loopback and a private Unix socket, and returns when every node is up. Jobs and "
              "keys stay in the state directory over down and up.",
    .examples = "  dtctl up\n  dtctl up --name play --nodes 4 --slots 1\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_CLUSTER,
    .run = up_run,
};
