/* dtctl wait: until jobs have ended. */
#include "cmds.h"
#include "follow.h"
#include "say.h"

static const struct dt_opt opts[] = {
    {.name = "timeout", .type = DT_OPT_DURATION, .arg = "TIME", .unit = "",
     .help = "give up after this time, with exit status 124"},
    {.name = "events", .type = DT_OPT_FLAG, .help = "print events on the way, on stderr"},
    DT_API_ROWS,
};

static int wait_run(const struct dt_args *args)
{
    struct dt_api api;
    struct dt_err err = {0};
    struct dt_follow follow = {.api = &api,
                               .ids = args->operands,
                               .ids_count = args->operands_count,
                               .timeout_ms = dt_args_ms(args, "timeout", 0),
                               .shows_events = dt_args_has(args, "events"),
                               .shows_progress = dt_stderr_is_terminal(),
                               .puts_results = true};
    int exit;

    exit = dt_api_open(&api, args, &err) ? dt_say_error(&err) : dt_follow_run(&follow);
    dt_api_release(&api);
    return exit;
}

const struct dt_cmd dt_cli_wait = {
    .name = "wait",
    .operands = "JOB...",
    .operands_least = 1,
    .operands_most = -1,
    .summary = "Wait until jobs have ended; the exit status tells how.",
    .detail = "Prints \"ID state\" for each job as it ends. Exit status: 0 succeeded, 10 failed, "
              "11 cancelled, 12 a limit was exceeded, 13 lost to broken nodes, 124 time-out; with "
              "several jobs that of the first one, in the order given, that did not succeed. "
              "Ctrl-C leaves the jobs running.",
    .examples = "  dtctl wait j-000042\n  dtctl wait --timeout 2h train eval\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_JOBS,
    .run = wait_run,
};
