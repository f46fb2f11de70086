/* dtserver: the controller of a cluster. */
#include <errno.h>
#include <malloc.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/base/opts.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "keys.h"
#include "redis_child.h"
#include "routes.h"
#include "runtime.h"

static int run_server(const struct dt_args *args);
static int run_cert(const struct dt_args *args);

static const struct dt_opt server_opts[] = {
    {.name = "run-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = "/run/dt",
     .help = "sockets and ready.json; private to this user"},
    {.name = "state-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = "/var/lib/dt",
     .help = "keys and the Redis data"},
    {.name = "name", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = "default",
     .help = "name of the cluster, shown to users"},
    {.name = "listen", .type = DT_OPT_STR, .arg = "ADDR", .unit = "", .initial = "127.0.0.1",
     .help = "IP address of both ports; TLS is always on"},
    {.name = "api-port", .type = DT_OPT_INT, .arg = "PORT", .unit = "", .initial = "7480",
     .least = 0, .most = 65535, .help = "HTTPS port of the API; 0 takes any free one"},
    {.name = "agent-port", .type = DT_OPT_INT, .arg = "PORT", .unit = "", .initial = "7481",
     .least = 0, .most = 65535, .help = "port of the agents; 0 takes any free one"},
    {.name = "redis", .type = DT_OPT_STR, .arg = "PATH", .unit = "", .initial = NULL,
     .help = "the redis-server program; found in PATH when not given"},
    {.name = "node", .type = DT_OPT_LIST, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "make certificates for a local node of this name"},
    {.name = "accept-rollback", .type = DT_OPT_FLAG,
     .help = "serve a store that is older than the high-water mark; jobs it does not know end"},
};

static const struct dt_opt cert_opts[] = {
    {.name = "state-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = "/var/lib/dt",
     .help = "where the cluster's CA lies"},
    {.name = "node", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "name of the node"},
    {.name = "out", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = NULL,
     .help = "directory for cert.pem, key.pem and ca.pem; copy it to the node"},
};

static const struct dt_cmd cmd_server = {
    .name = "", .operands = "", .operands_least = 0, .operands_most = 0,
    .summary = "run the controller of a cluster",
    .detail = "Starts a private Redis, makes what keys are missing, serves the API on "
              "RUN-DIR/api.sock and over HTTPS, and writes RUN-DIR/ready.json when it does.",
    .opts = server_opts, .opts_count = DT_COUNT(server_opts), .run = run_server};
static const struct dt_cmd cmd_cert = {
    .name = "cert", .operands = "", .operands_least = 0, .operands_most = 0,
    .summary = "make the certificate of a node",
    .opts = cert_opts, .opts_count = DT_COUNT(cert_opts), .run = run_cert};
static const struct dt_cmd *const cmds[] = {&cmd_server, &cmd_cert};

static int fail(const struct dt_err *err)
{
    fprintf(stderr, "dtserver: %s\n", err->text);
    if (err->hint[0])
        fprintf(stderr, "  help: %s\n", err->hint);
    return dt_code_exit(err->code);
}

static void on_stop(void *owner, int signal_number)
{
    struct runtime *runtime = owner;

    (void)signal_number;
    runtime->is_stopping = true;
    dt_log(DT_LOG_INFO, "stopping; running jobs go on", NULL);
    dt_loop_stop(runtime->loop);
}

static void on_turn(void *owner)
{
    struct runtime *runtime = owner;

    dt_turn_flush(runtime->turn);
}

static void raise_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Certificates and the controller's address for each local node. */
static enum dt_code write_nodes(const struct runtime *runtime, const struct dt_args *args,
                                const char *address, struct dt_err *err)
{
    const char *node;
    char dir[600], path[700], where[100];
    enum dt_code code = DT_OK;

    snprintf(where, sizeof(where), "%s:%d", address, sessions_port(runtime->sessions));
    for (size_t i = 0; !code && (node = dt_args_nth(args, "node", i)); i++) {
        snprintf(dir, sizeof(dir), "%s/nodes/%s", runtime->run_dir, node);
        snprintf(path, sizeof(path), "%s/controller", dir);
        code = keys_issue_node(runtime->state_dir, runtime->cluster_id, node, dir, err);
        if (!code)
            code = dt_file_replace(path, where, strlen(where), 0644, err);
    }
    return code;
}

static enum dt_code write_ready(const struct runtime *runtime, const char *name,
                                struct dt_err *err)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_buf buf = {0};
    char path[600];
    enum dt_code code;

    dt_tree_put_int(tree, "pid", getpid());
    dt_tree_put_str(tree, "name", name);
    dt_tree_put_str(tree, "version", DT_VERSION);
    dt_tree_put_int(tree, "api_port", http_port(runtime->http));
    dt_tree_put_int(tree, "agent_port", sessions_port(runtime->sessions));
    snprintf(path, sizeof(path), "%s/api.sock", runtime->run_dir);
    dt_tree_put_str(tree, "socket", path);
    dt_tree_put_str(tree, "cluster_id", runtime->cluster_id);
    snprintf(path, sizeof(path), "%s/token", runtime->run_dir);
    dt_tree_put_str(tree, "token_file", path);
    snprintf(path, sizeof(path), "%s/keys/ca.pem", runtime->state_dir);
    dt_tree_put_str(tree, "ca_file", path);
    dt_json_write_pretty(&buf, tree);
    dt_buf_byte(&buf, '\n');
    snprintf(path, sizeof(path), "%s/ready.json", runtime->run_dir);
    code = dt_file_replace(path, buf.data, buf.size, 0644, err);
    dt_buf_release(&buf);
    dt_tree_free(tree);
    return code;
}

/* Directories, lock, keys. */
static enum dt_code prepare(struct runtime *runtime, const struct dt_args *args, int *lock,
                            struct dt_err *err)
{
    char path[600];
    enum dt_code code;

    snprintf(runtime->run_dir, sizeof(runtime->run_dir), "%s", dt_args_str(args, "run-dir"));
    snprintf(runtime->state_dir, sizeof(runtime->state_dir), "%s",
             dt_args_str(args, "state-dir"));
    if (runtime->run_dir[0] != '/' || runtime->state_dir[0] != '/')
        return dt_fail(err, DT_USAGE, "--run-dir and --state-dir must be absolute paths");
    if ((code = dt_dir_make(runtime->run_dir, 0700, err)) ||
        (code = dt_dir_make(runtime->state_dir, 0700, err)))
        return code;
    snprintf(path, sizeof(path), "%s/lock", runtime->state_dir);
    if ((code = dt_file_lock(path, lock, err))) {
        dt_prefix(err, "another dtserver may serve this state directory");
        return code;
    }
    runtime->accepts_rollback = dt_args_has(args, "accept-rollback");
    if ((code = mark_read(runtime->state_dir, &runtime->mark, err)))
        return code;
    return keys_open(runtime->state_dir, runtime->cluster_id, err);
}

static enum dt_code open_all(struct runtime *runtime, const struct dt_args *args,
                             struct redis_child **redis, struct dt_err *err)
{
    const char *address = dt_args_str(args, "listen");
    char socket[600], token_hash[65], path[600];
    struct http_door door;
    enum dt_code code;

    if ((code = redis_child_start(runtime->loop,
                                  &(struct redis_place){dt_args_str(args, "redis"),
                                                        runtime->state_dir, runtime->run_dir},
                                  redis, socket, err)))
        return code;
    runtime->out = (struct runtime_out){sessions_send, sessions_fence, http_event};
    runtime_open(runtime, socket);
    snprintf(path, sizeof(path), "%s/token", runtime->run_dir);
    if ((code = keys_make_token(path, token_hash, err)) ||
        (code = sessions_open(runtime, address, (int)dt_args_int(args, "agent-port", 7481), err)))
        return code;
    snprintf(path, sizeof(path), "%s/api.sock", runtime->run_dir);
    door = (struct http_door){.socket_path = path, .address = address,
                              .port = (int)dt_args_int(args, "api-port", 7480),
                              .token_hash = token_hash, .routes = routes,
                              .routes_count = routes_count};
    if ((code = http_open(runtime, &door, err)) ||
        (code = write_nodes(runtime, args, address, err)))
        return code;
    return write_ready(runtime, dt_args_str(args, "name"), err);
}

static int run_server(const struct dt_args *args)
{
    struct runtime runtime = {0};
    struct redis_child *redis = NULL;
    struct dt_err err = {0};
    int lock = -1;
    char path[600];

    umask(0077);
    signal(SIGPIPE, SIG_IGN);
    raise_limits();
    dt_log_open("dtserver", 2, DT_LOG_INFO);
    if (prepare(&runtime, args, &lock, &err))
        return fail(&err);
    runtime.loop = dt_loop_make();
    dt_loop_on_signal(runtime.loop, SIGTERM, on_stop, &runtime);
    dt_loop_on_signal(runtime.loop, SIGINT, on_stop, &runtime);
    if (open_all(&runtime, args, &redis, &err)) {
        redis_child_stop(redis);
        return fail(&err);
    }
    dt_loop_run(runtime.loop, on_turn, &runtime);
    snprintf(path, sizeof(path), "%s/ready.json", runtime.run_dir);
    unlink(path);
    http_close(runtime.http);
    sessions_close(runtime.sessions);
    runtime_close(&runtime);
    redis_child_stop(redis);
    if (runtime.fatal[0])
        fprintf(stderr, "dtserver: %s\n%s%s%s", runtime.fatal,
                *runtime.fatal_hint ? "  help: " : "", runtime.fatal_hint,
                *runtime.fatal_hint ? "\n" : "");
    close(lock);
    return runtime.exit_status;
}

static int run_cert(const struct dt_args *args)
{
    const char *state = dt_args_str(args, "state-dir"), *node = dt_args_str(args, "node");
    const char *out = dt_args_str(args, "out");
    struct dt_err err = {0};
    char cluster_id[33];

    if (!node || !out) {
        dt_fail(&err, DT_USAGE, "cert: --node and --out are needed");
        return fail(&err);
    }
    if (keys_open(state, cluster_id, &err) || keys_issue_node(state, cluster_id, node, out, &err))
        return fail(&err);
    printf("%s\n", out);
    return 0;
}

/* --help, --version and --man are the same for every program. */
static int run_common(const struct dt_cmd *cmd, const char *word)
{
    struct dt_buf buf = {0};

    if (strcmp(word, "--version") == 0)
        dt_buf_print(&buf, "dtserver %s\n", DT_VERSION);
    else if (strcmp(word, "--man") == 0)
        dt_cmd_man(&buf, &(struct dt_program){.name = "dtserver", .section = 8,
                                              .summary = "controller of a dt cluster",
                                              .description = cmd_server.detail, .cmds = cmds,
                                              .cmds_count = DT_COUNT(cmds)});
    else
        dt_cmd_help(&buf, "dtserver", cmd);
    fputs(dt_buf_str(&buf), stdout);
    dt_buf_release(&buf);
    return 0;
}

int main(int argc, char **argv)
{
    struct dt_args args = {0};
    struct dt_err err = {0};
    const struct dt_cmd *cmd;
    int words, status;

    /* One request takes and gives back half a megabyte: giving it back to the system each time
     * costs a tenth of the time in page faults. */
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    cmd = dt_cmd_find(cmds, DT_COUNT(cmds), argc - 1, argv + 1, &words);
    cmd = cmd ? cmd : &cmd_server;
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "--man") == 0))
        return run_common(cmd, argv[1]);
    if (dt_args_parse(cmd, argc - 1 - words, argv + 1 + words, &args, &err))
        return fail(&err);
    status = dt_args_has(&args, "help") ? run_common(cmd, "--help") : cmd->run(&args);
    dt_args_release(&args);
    return status;
}
