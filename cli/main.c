/* dtctl: the table of commands, its help, and the way from a command line to its command. */
#include <stdio.h>
#include <string.h>

#include "cmds.h"
#include "dt/base/text.h"
#include "say.h"

static const struct dt_cmd cli_completion, cli_help;

static const struct dt_cmd *const cmds[] = {
    &dt_cli_submit,       &dt_cli_ls,          &dt_cli_show,        &dt_cli_describe,
    &dt_cli_why,          &dt_cli_logs,        &dt_cli_events,      &dt_cli_cancel,
    &dt_cli_wait,         &dt_cli_simulate,    &dt_cli_nodes,       &dt_cli_nodes_ls,
    &dt_cli_nodes_show,
    &dt_cli_nodes_types,  &dt_cli_nodes_cordon, &dt_cli_nodes_drain, &dt_cli_nodes_resume,
    &dt_cli_up,           &dt_cli_down,        &dt_cli_doctor,      &dt_cli_explain,
    &cli_completion,      &dt_cli_version,     &cli_help,
};

static int completion_run(const struct dt_args *args)
{
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    enum dt_code code = dt_cmd_completion(
        &buf, &(struct dt_program){.name = "dtctl", .cmds = cmds, .cmds_count = DT_COUNT(cmds)},
        args->operands[0], &err);

    if (code)
        err.code = DT_USAGE;
    else
        dt_put(&buf);
    dt_buf_release(&buf);
    return code ? dt_say_error(&err) : 0;
}

static const struct dt_cmd cli_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "Print the completion script of a shell.",
    .examples = "  source <(dtctl completion bash)\n",
    .group = DT_GROUP_HELP,
    .run = completion_run,
};

static void all_show(void)
{
    static const char *const titles[] = {[DT_GROUP_JOBS] = "jobs",
                                         [DT_GROUP_PLAN] = "planning",
                                         [DT_GROUP_CLUSTER] = "cluster",
                                         [DT_GROUP_HELP] = "help"};
    struct dt_buf buf = {0};

    dt_buf_text(&buf, "usage: dtctl [--context NAME] COMMAND [options] [operands]\n");
    for (size_t group = 0; group < DT_COUNT(titles); group++) {
        dt_buf_print(&buf, "\n%s:\n", titles[group]);
        for (size_t i = 0; i < DT_COUNT(cmds); i++)
            if (cmds[i]->group == (int)group)
                dt_buf_print(&buf, "  %-13s %-14s %s\n", cmds[i]->name, cmds[i]->operands,
                             cmds[i]->summary);
    }
    dt_buf_text(&buf, "\none command: dtctl help COMMAND\n");
    dt_put(&buf);
    dt_buf_release(&buf);
}

static int help_run(const struct dt_args *args)
{
    struct dt_err err = {0};
    struct dt_buf buf = {0};
    char *words[2] = {NULL, NULL};
    int count = (int)args->operands_count, used = 0;
    const struct dt_cmd *cmd;

    if (!count) {
        all_show();
        return 0;
    }
    for (int i = 0; i < count; i++)
        words[i] = dt_copy_text(args->operands[i]);
    cmd = dt_cmd_find(cmds, DT_COUNT(cmds), count, words, &used);
    if (cmd && used == count) {
        dt_cmd_help(&buf, "dtctl", cmd);
        dt_put(&buf);
    } else {
        dt_fail(&err, DT_USAGE, "no command \"%.40s%s%.40s\"", words[0], words[1] ? " " : "",
                words[1] ? words[1] : "");
        dt_hint(&err, "all commands: dtctl help");
    }
    dt_buf_release(&buf);
    dt_free(words[0]);
    dt_free(words[1]);
    return err.code ? dt_say_error(&err) : 0;
}

static const struct dt_cmd cli_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .operands_most = 2,
    .summary = "All commands, or the options of one.",
    .group = DT_GROUP_HELP,
    .run = help_run,
};

/* The commands of the first day, in the order a newcomer meets them. */
static const struct dt_cmd *const first_day[] = {
    &dt_cli_up, &dt_cli_submit, &dt_cli_ls, &dt_cli_logs,
    &dt_cli_why, &dt_cli_wait, &dt_cli_cancel, &dt_cli_explain,
};

static int first_day_show(void)
{
    struct dt_buf buf = {0};

    dt_buf_text(&buf, "dtctl: distributed training jobs\n\n");
    for (size_t i = 0; i < DT_COUNT(first_day); i++) {
        const struct dt_cmd *cmd = first_day[i];

        dt_buf_print(&buf, "  %-10s %-10s %s\n", cmd->name, cmd->operands, cmd->summary);
    }
    dt_buf_text(&buf, "\nall commands: dtctl help        one of them: dtctl help COMMAND\n");
    dt_put(&buf);
    dt_buf_release(&buf);
    return 0;
}

static int unknown(const char *word, const char *second)
{
    const char *names[DT_COUNT(cmds)];
    struct dt_err err = {0};
    const char *near;
    char both[65];

    for (size_t i = 0; i < DT_COUNT(cmds); i++)
        names[i] = cmds[i]->name;
    dt_fail(&err, DT_USAGE, "unknown command \"%.64s\"", word);
    near = dt_text_nearest(word, names, DT_COUNT(cmds));
    if (second) {
        snprintf(both, sizeof(both), "%.31s %.31s", word, second);
        if (!near || strcmp(near, word) == 0)
            near = dt_text_nearest(both, names, DT_COUNT(cmds));
        dt_fail(&err, DT_USAGE, "unknown command \"%s\"", near && !strchr(near, ' ') ? word : both);
    }
    if (near)
        dt_hint(&err, "did you mean \"dtctl %s\"?", near);
    else
        dt_hint(&err, "all commands: dtctl help");
    return dt_say_error(&err);
}

/* "nodes frobnicate": a group's first word with something else behind it. */
static bool is_group_mistake(const struct dt_cmd *cmd, int words, int argc, char **argv)
{
    char prefix[65];

    if (words >= argc || argv[words][0] == '-' || cmd->operands_most != 0)
        return false;
    snprintf(prefix, sizeof(prefix), "%.60s ", cmd->name);
    for (size_t i = 0; i < DT_COUNT(cmds); i++)
        if (strncmp(cmds[i]->name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static int cmd_run(const struct dt_cmd *cmd, int argc, char **argv)
{
    struct dt_args args = {0};
    struct dt_err err = {0};
    int exit;

    if (dt_args_parse(cmd, argc, argv, &args, &err))
        return dt_say_error(&err);
    if (dt_args_has(&args, "help")) {
        struct dt_buf buf = {0};

        dt_cmd_help(&buf, "dtctl", cmd);
        dt_put(&buf);
        dt_buf_release(&buf);
        exit = 0;
    } else {
        exit = cmd->run(&args);
    }
    dt_args_release(&args);
    return exit;
}

/* The manual page, for the install. */
static int man_print(void)
{
    /* Beside those of the error codes; job_exit() in follow.c gives 10 to 13. */
    static const struct dt_exit exits[] = {
        {0, "With --wait or --follow, and of wait: the job succeeded."},
        {10, "The job that was waited for failed."},
        {11, "The job that was waited for was cancelled."},
        {12, "The job that was waited for exceeded a limit: its time, or its time in the queue."},
        {13, "The job that was waited for was lost to broken nodes."},
        {14, "With --if-possible: the job cannot start now."},
        {130, "Ctrl-C ended dtctl, or a question was answered with no; jobs go on."},
        {143, "SIGTERM ended dtctl; jobs go on."},
    };
    static const struct dt_program program = {
        .name = "dtctl",
        .summary = "submit and watch distributed training jobs",
        .cmds = cmds,
        .cmds_count = DT_COUNT(cmds),
        .description =
            "dtctl talks to the controller of a cluster, dtserver: over its Unix socket on the "
            "same machine, over HTTPS to another one. A job is described by a file, see "
            "job.yaml(5); submit sends it and prints its id, and the job is stored by then. why "
            "tells what a job waits for or what ended it, logs what its ranks wrote.\n\n"
            "The cluster is named by --context, else DT_CONTEXT, else current of contexts.yaml "
            "in $XDG_CONFIG_HOME/dt: one of that file, or an embedded one that up started. Without "
            "any of these it is the only embedded one that runs, else the system's.\n\n"
            "Data goes to standard output, talk and errors to standard error. Nothing is "
            "coloured or cut when standard output is no terminal.",
        .exits = exits,
        .exits_count = DT_COUNT(exits),
    };
    struct dt_buf buf = {0};

    dt_cmd_man(&buf, &program);
    dt_put(&buf);
    dt_buf_release(&buf);
    return 0;
}

/*
 * --context NAME may stand before the command: rotate those words behind the command's, which are
 * at most two. Returns how many words lead.
 */
static int lead_count(int argc, char **argv)
{
    int lead = 0;

    while (lead < argc) {
        bool has_value = strcmp(argv[lead], "--context") == 0 || strcmp(argv[lead], "-c") == 0;

        if (!has_value && strncmp(argv[lead], "--context=", 10) != 0)
            break;
        lead += has_value ? 2 : 1;
    }
    return lead < argc ? lead : 0;
}

/* Turn argv[0..lead) argv[lead..lead+words) round in place. */
static void rotate(char **argv, int lead, int words)
{
    for (int i = 0; i < words; i++) {
        char *word = argv[lead + i];

        memmove(argv + i + 1, argv + i, (size_t)lead * sizeof(*argv));
        argv[i] = word;
    }
}

int main(int argc, char **argv)
{
    const struct dt_cmd *cmd;
    int words = 0, lead;

    argc--;
    argv++;
    if (!argc)
        return first_day_show();
    lead = lead_count(argc, argv);
    cmd = dt_cmd_find(cmds, DT_COUNT(cmds), argc - lead, argv + lead, &words);
    rotate(argv, lead, cmd ? words : 1);
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return cmd_run(&cli_help, argc - 1, argv + 1);
    if (strcmp(argv[0], "--version") == 0)
        return cmd_run(&dt_cli_version, argc - 1, argv + 1);
    if (strcmp(argv[0], "--man") == 0)
        return man_print();
    if (!cmd)
        return unknown(argv[0], argc > 1 && argv[1][0] != '-' ? argv[1] : NULL);
    if (is_group_mistake(cmd, words, argc, argv))
        return unknown(argv[0], argv[words]);
    return cmd_run(cmd, argc - words, argv + words);
}
