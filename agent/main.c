/* dtagent: owns a node; and, as `dtagent step`, the parent of a job's ranks. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "cgroup.h"
#include "dt/base/opts.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "step/step_main.h"

static int run_agent(const struct dt_args *args);
static int run_step(const struct dt_args *args);

static const struct dt_opt agent_opts[] = {
    {.name = "node", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "name of this node, as in its certificate"},
    {.name = "run-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = "/run/dt-agent",
     .help = "sockets of the step processes; private to this user"},
    {.name = "state-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "",
     .initial = "/var/lib/dt-agent", .help = "the ledger"},
    {.name = "keys", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = "/etc/dt/node",
     .help = "cert.pem, key.pem, ca.pem and cluster, made by dtserver"},
    {.name = "controller", .type = DT_OPT_STR, .arg = "ADDR", .unit = "", .initial = NULL,
     .help = "address:port of the controller, or a file that holds it"},
    {.name = "cpu-slots", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = NULL, .least = 0,
     .most = 448, .help = "CPU slots to offer; one a core when not given"},
    {.name = "host", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "host name to tell; the kernel's when not given"},
    {.name = "stop-jobs-on-exit", .type = DT_OPT_FLAG, .unit = "",
     .help = "end the ranks when this agent is asked to end"},
};

static const struct dt_opt step_opts[] = {
    {.name = "agent", .type = DT_OPT_STR, .arg = "SOCKET", .unit = "", .initial = NULL,
     .help = "socket of the agent"},
    {.name = "run-dir", .type = DT_OPT_STR, .arg = "DIR", .unit = "", .initial = NULL,
     .help = "run directory of the agent"},
    {.name = "node", .type = DT_OPT_STR, .arg = "NAME", .unit = "", .initial = NULL,
     .help = "name of the node"},
};

static const struct dt_cmd cmd_agent = {
    .name = "", .operands = "", .operands_least = 0, .operands_most = 0,
    .summary = "run the agent of a node",
    .detail = "Offers this node's devices to the controller and runs ranks on them. It may be "
              "restarted at any time: ranks go on and are taken over again.",
    .opts = agent_opts, .opts_count = DT_COUNT(agent_opts), .run = run_agent};
static const struct dt_cmd cmd_step = {
    .name = "step", .operands = "", .operands_least = 0, .operands_most = 0,
    .summary = "be the parent of a job's ranks (started by the agent)",
    .opts = step_opts, .opts_count = DT_COUNT(step_opts), .run = run_step};
static const struct dt_cmd *const cmds[] = {&cmd_agent, &cmd_step};

static int fail(const struct dt_err *err)
{
    fprintf(stderr, "dtagent: %s\n", err->text);
    if (err->hint[0])
        fprintf(stderr, "  help: %s\n", err->hint);
    return dt_code_exit(err->code);
}

static void on_stop(void *owner, int signal_number)
{
    struct agent *agent = owner;

    (void)signal_number;
    if (agent->stops_jobs_on_exit)
        gangs_stop_all(agent);
    dt_log(DT_LOG_INFO, agent->stops_jobs_on_exit ? "stopping, with the ranks"
                                                  : "stopping; ranks go on", NULL);
    dt_loop_stop(agent->loop);
}

static void on_step_beat(void *owner);

static struct dt_timer *step_beat;

static void on_step_beat(void *owner)
{
    struct agent *agent = owner;

    dt_timer_set(step_beat, 1000);
    steps_beat(agent->steps, session_is_connected(agent->session), false);
}

static enum dt_code read_cluster(struct agent *agent, struct dt_err *err)
{
    struct dt_buf text = {0};
    char path[400];
    enum dt_code code;

    snprintf(path, sizeof(path), "%s/cluster", agent->keys_dir);
    code = dt_file_read(path, 64, &text, err);
    if (!code)
        snprintf(agent->cluster_id, sizeof(agent->cluster_id), "%.*s",
                 (int)strcspn(dt_buf_str(&text), "\r\n"), dt_buf_str(&text));
    dt_buf_release(&text);
    return code;
}

static enum dt_code fill(struct agent *agent, const struct dt_args *args, struct dt_err *err)
{
    const char *node = dt_args_str(args, "node"), *controller = dt_args_str(args, "controller");

    if (!node || !controller)
        return dt_fail(err, DT_USAGE, "--node and --controller are needed");
    if (strlen(node) >= sizeof(agent->node) || strpbrk(node, "/ ,[]"))
        return dt_fail(err, DT_USAGE, "--node: \"%s\" is no node name", node);
    snprintf(agent->node, sizeof(agent->node), "%s", node);
    snprintf(agent->controller, sizeof(agent->controller), "%s", controller);
    snprintf(agent->run_dir, sizeof(agent->run_dir), "%s", dt_args_str(args, "run-dir"));
    snprintf(agent->state_dir, sizeof(agent->state_dir), "%s", dt_args_str(args, "state-dir"));
    snprintf(agent->keys_dir, sizeof(agent->keys_dir), "%s", dt_args_str(args, "keys"));
    snprintf(agent->host, sizeof(agent->host), "%s",
             dt_args_str(args, "host") ? dt_args_str(args, "host") : "");
    agent->cpu_slots = (int)dt_args_int(args, "cpu-slots", -1);
    agent->stops_jobs_on_exit = dt_args_has(args, "stop-jobs-on-exit");
    if (agent->run_dir[0] != '/' || agent->state_dir[0] != '/')
        return dt_fail(err, DT_USAGE, "--run-dir and --state-dir must be absolute paths");
    return DT_OK;
}

static enum dt_code open_all(struct agent *agent, int *lock, struct dt_err *err)
{
    char path[400], sentence[200];
    enum dt_code code;

    if ((code = dt_dir_make(agent->run_dir, 0700, err)) ||
        (code = dt_dir_make(agent->state_dir, 0700, err)))
        return code;
    snprintf(path, sizeof(path), "%s/lock", agent->state_dir);
    if ((code = dt_file_lock(path, lock, err))) {
        dt_prefix(err, "another agent may serve this node");
        return code;
    }
    if ((code = read_cluster(agent, err)) || (code = node_inventory(agent, err)) ||
        (code = gangs_open(agent, err)) || (code = steps_open(agent, err)) ||
        (code = session_open(agent, err)))
        return code;
    dt_log(DT_LOG_INFO, "agent started", "node", agent->node, "cgroups",
           cgroup_mode(sentence, sizeof(sentence)), NULL);
    return DT_OK;
}

static int run_agent(const struct dt_args *args)
{
    struct agent agent = {0};
    struct dt_err err = {0};
    int lock = -1;

    umask(0077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* step processes are known by their connections, not as children */
    dt_log_open("dtagent", 2, DT_LOG_INFO);
    if (fill(&agent, args, &err))
        return fail(&err);
    agent.loop = dt_loop_make();
    agent.out = (struct gangs_out){session_report, session_send, steps_beat, steps_claim};
    if (open_all(&agent, &lock, &err))
        return fail(&err);
    dt_loop_on_signal(agent.loop, SIGTERM, on_stop, &agent);
    dt_loop_on_signal(agent.loop, SIGINT, on_stop, &agent);
    step_beat = dt_timer_make(agent.loop, on_step_beat, &agent);
    dt_timer_set(step_beat, 1000);
    dt_loop_run(agent.loop, NULL, NULL);
    close(lock);
    return 0; /* the process ends: connections and tables go with it */
}

static int run_step(const struct dt_args *args)
{
    const char *agent = dt_args_str(args, "agent"), *dir = dt_args_str(args, "run-dir");
    const char *node = dt_args_str(args, "node");
    struct dt_err err = {0};

    if (!agent || !dir || !node) {
        dt_fail(&err, DT_USAGE, "step: --agent, --run-dir and --node are needed");
        return fail(&err);
    }
    return step_main(agent, dir, node);
}

static int run_common(const struct dt_cmd *cmd, const char *word)
{
    struct dt_buf buf = {0};

    if (strcmp(word, "--version") == 0)
        dt_buf_print(&buf, "dtagent %s\n", DT_VERSION);
    else if (strcmp(word, "--man") == 0)
        dt_cmd_man(&buf, &(struct dt_program){.name = "dtagent", .section = 8,
                                              .summary = "agent of a node of a dt cluster",
                                              .description = cmd_agent.detail, .cmds = cmds,
                                              .cmds_count = DT_COUNT(cmds)});
    else
        dt_cmd_help(&buf, "dtagent", cmd);
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

    cmd = dt_cmd_find(cmds, DT_COUNT(cmds), argc - 1, argv + 1, &words);
    cmd = cmd ? cmd : &cmd_agent;
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "--man") == 0))
        return run_common(cmd, argv[1]);
    if (dt_args_parse(cmd, argc - 1 - words, argv + 1 + words, &args, &err))
        return fail(&err);
    status = dt_args_has(&args, "help") ? run_common(cmd, "--help") : cmd->run(&args);
    dt_args_release(&args);
    return status;
}
