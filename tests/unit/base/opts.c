/* Command lines by their table. */
#include "dt/base/opts.h"

#include <string.h>

#include "test.h"

static const struct dt_opt opts[] = {
    {.name = "count", .letter = 'n', .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "3",
     .least = 1, .most = 9, .help = "how many"},
    {.name = "grace", .type = DT_OPT_DURATION, .arg = "TIME", .unit = "", .help = "how long"},
    {.name = "memory", .type = DT_OPT_SIZE, .arg = "SIZE", .unit = "", .initial = "2KiB",
     .help = "how much"},
    {.name = "set", .type = DT_OPT_LIST, .arg = "K=V", .unit = "", .help = "change"},
    {.name = "all", .letter = 'a', .type = DT_OPT_FLAG, .help = "all of them"},
    {.name = "output", .letter = 'o', .type = DT_OPT_STR, .arg = "FORM", .unit = "",
     .initial = "table", .words = "table json", .help = "form"},
};
static const struct dt_cmd cmd = {.name = "do it", .operands = "JOB...", .operands_most = 2,
                                  .summary = "Do it.", .opts = opts,
                                  .opts_count = DT_COUNT(opts)};

/* Parse words; the error's text, or "". */
static const char *parse(struct dt_args *args, struct dt_err *err, int argc, char **argv)
{
    *err = (struct dt_err){0};
    *args = (struct dt_args){0};
    if (dt_args_parse(&cmd, argc, argv, args, err))
        return err->text;
    return "";
}

#define PARSE(...) \
    parse(&args, &err, (int)DT_COUNT(((char *[]){__VA_ARGS__})), (char *[]){__VA_ARGS__})

static char w_count4[] = "--count=4", w_n[] = "-n", w_5[] = "5", w_a[] = "-a", w_job[] = "j1",
            w_end[] = "--", w_set[] = "--set", w_x[] = "x=1", w_y[] = "y=2", w_grace[] = "--grace",
            w_90s[] = "90s", w_bad[] = "--cuont", w_99[] = "99", w_o[] = "-ojson",
            w_xml[] = "-oxml", w_alltrue[] = "--all=1";

TEST(args__reads_every_spelling)
{
    struct dt_args args;
    struct dt_err err;

    CHECK_TEXT(PARSE(w_count4, w_a, w_job), "");
    CHECK_INT(dt_args_int(&args, "count", 0), 4);
    CHECK(dt_args_has(&args, "all"));
    CHECK_INT(args.operands_count, 1);
    CHECK_TEXT(args.operands[0], "j1");
    CHECK_INT(dt_args_ms(&args, "grace", -1), -1);
    CHECK_INT(dt_args_bytes(&args, "memory", -1), 2048);
    CHECK_TEXT(dt_args_str(&args, "output"), "table");
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_n, w_5, w_o, w_grace, w_90s, w_set, w_x, w_set, w_y), "");
    CHECK_INT(dt_args_int(&args, "count", 0), 5);
    CHECK_INT(dt_args_ms(&args, "grace", 0), 90000);
    CHECK_TEXT(dt_args_str(&args, "output"), "json");
    CHECK_TEXT(dt_args_nth(&args, "set", 0), "x=1");
    CHECK_TEXT(dt_args_nth(&args, "set", 1), "y=2");
    CHECK(dt_args_nth(&args, "set", 2) == NULL);
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_end, w_a), "");
    CHECK_TEXT(args.operands[0], "-a");
    CHECK(!dt_args_has(&args, "all"));
    CHECK_INT(dt_args_int(&args, "count", 0), 3);
    dt_args_release(&args);
}

TEST(args__refuses_with_a_reason)
{
    struct dt_args args;
    struct dt_err err;

    CHECK_TEXT(PARSE(w_bad), "unknown option --cuont");
    CHECK_TEXT(err.hint, "did you mean --count?");
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_n, w_99), "--count: expected a whole number 1 to 9, found \"99\"");
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_n), "--count needs a value: N");
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_xml), "--output: \"xml\" is none of: table json");
    dt_args_release(&args);
    CHECK_TEXT(PARSE(w_alltrue), "--all takes no value");
    dt_args_release(&args);
    CHECK(strstr(PARSE(w_job, w_job, w_job), "do it") != NULL);
    dt_args_release(&args);
}

TEST(cmd__two_words_win_over_one)
{
    static const struct dt_cmd one = {.name = "do"};
    static const struct dt_cmd *const cmds[] = {&one, &cmd};
    char a[] = "do", b[] = "it", c[] = "x";
    int words = 0;

    CHECK(dt_cmd_find(cmds, 2, 3, (char *[]){a, b, c}, &words) == &cmd);
    CHECK_INT(words, 2);
    CHECK(dt_cmd_find(cmds, 2, 2, (char *[]){a, c}, &words) == &one);
    CHECK_INT(words, 1);
    CHECK(dt_cmd_find(cmds, 2, 1, (char *[]){c}, &words) == NULL);
}

TEST(cmd__help_names_every_option_and_default)
{
    struct dt_buf help = {0};
    const char *text;

    dt_cmd_help(&help, "dtx", &cmd);
    text = dt_buf_str(&help);
    CHECK(strstr(text, "dtx do it"));
    for (size_t i = 0; i < DT_COUNT(opts); i++)
        dt_check_true(strstr(text, opts[i].name) != NULL, opts[i].name, __FILE__, __LINE__);
    CHECK(strstr(text, "2KiB"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 100);
    dt_buf_release(&help);
}

TEST(cmd__completion_knows_three_shells)
{
    static const struct dt_cmd one = {.name = "do", .summary = "Do.", .opts = opts,
                                      .opts_count = DT_COUNT(opts)};
    static const struct dt_cmd *const cmds[] = {&one};
    const struct dt_program program = {.name = "dtx", .cmds = cmds, .cmds_count = 1};
    static const char *const shells[] = {"bash", "zsh", "fish"};
    struct dt_err err = {0};

    for (size_t i = 0; i < DT_COUNT(shells); i++) {
        struct dt_buf script = {0};

        CHECK_INT(dt_cmd_completion(&script, &program, shells[i], &err), DT_OK);
        dt_check_true(strstr(dt_buf_str(&script), "count") != NULL, shells[i], __FILE__, __LINE__);
        dt_buf_release(&script);
    }
    CHECK_INT(dt_cmd_completion(&(struct dt_buf){0}, &program, "tcsh", &err), DT_INVALID);
}

/* A group of two-word commands, and a name that begins like another. */
static const struct dt_opt up_opts[] = {
    {.name = "form", .letter = 'f', .type = DT_OPT_STR, .arg = "F", .help = "it's", .words = "a b"},
};
static const struct dt_cmd up_cmd = {.name = "up", .operands = "", .summary = "Up.",
                                     .opts = up_opts,
                                     .opts_count = DT_COUNT(up_opts)};
static const struct dt_cmd upgrade_cmd = {.name = "upgrade", .operands = "", .summary = "More."};
static const struct dt_cmd set_cmd = {.name = "node", .operands = "", .summary = "Nodes."};
static const struct dt_cmd set_ls_cmd = {.name = "node ls", .operands = "", .summary = "List.",
                                         .opts = up_opts,
                                         .opts_count = DT_COUNT(up_opts)};
static const struct dt_cmd set_rm_cmd = {.name = "node rm", .operands = "", .summary = "Remove."};
static const struct dt_cmd *const group_cmds[] = {&up_cmd, &upgrade_cmd, &set_cmd, &set_ls_cmd,
                                                  &set_rm_cmd};
static const struct dt_program group = {.name = "dtx", .cmds = group_cmds,
                                        .cmds_count = DT_COUNT(group_cmds)};

TEST(cmd__completion_offers_the_second_words_of_a_group)
{
    static const struct {
        const char *shell, *has;
    } rows[] = {
        {"bash", "*) COMPREPLY=($(compgen -W \"up upgrade node\" --"},
        {"bash", "  \"node \"*)\n    case \"$prev\" in\n    esac\n"
                 "    COMPREPLY=($(compgen -f -W \" ls rm\" --"},
        {"bash", "--form|-f) COMPREPLY=($(compgen -W \"a b\" --"},
        {"zsh", "  node) commands=(\n    'ls:List.'\n    'rm:Remove.'\n    ); _describe"},
        {"zsh", "  'node ls') shift 2 words; (( CURRENT -= 2 )); _arguments "
                "'--form[it'\\''s]:value:(a b)'"},
        {"fish", "'__fish_seen_subcommand_from node; and not __fish_seen_subcommand_from ls rm' "
                 "-a 'rm' -d 'Remove.'"},
        {"fish", "'__fish_seen_subcommand_from node; and __fish_seen_subcommand_from ls' -l form "
                 "-s f -x -a 'a b'"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct dt_buf script = {0};
        struct dt_err err = {0};

        CHECK_INT(dt_cmd_completion(&script, &group, rows[i].shell, &err), DT_OK);
        dt_check_true(strstr(dt_buf_str(&script), rows[i].has) != NULL, rows[i].has, __FILE__,
                      __LINE__);
        dt_buf_release(&script);
    }
}

TEST(cmd__help_keeps_paragraphs)
{
    static const struct dt_cmd two = {.name = "x", .operands = "", .summary = "X.",
                                      .detail = "One\nline.\n\nTwo."};
    struct dt_buf help = {0};

    dt_cmd_help(&help, "dtx", &two);
    CHECK_TEXT(dt_buf_str(&help), "usage: dtx x\n\nX.\n\nOne line.\n\nTwo.\n");
    dt_buf_release(&help);
}

TEST(roff__takes_no_text_for_a_request)
{
    struct dt_buf page = {0};

    dt_roff_text(&page, "'quoted'\n.dot a.b\n'x -o \\ ~^`");
    CHECK_TEXT(dt_buf_str(&page),
              "\\(aqquoted\\(aq\n\\&.dot a.b\n\\(aqx \\-o \\e \\(ti\\(ha\\(ga");
    dt_buf_release(&page);
}

TEST(man__shows_description_and_each_status_once)
{
    static const struct dt_exit exits[] = {{0, "Twice good."}, {10, "It failed."}};
    struct dt_program program = group;
    struct dt_buf page = {0};
    const char *text;

    program.section = 8;
    program.summary = "do things";
    program.description = "First.\n\n.Second.";
    program.exits = exits;
    program.exits_count = DT_COUNT(exits);
    dt_cmd_man(&page, &program);
    text = dt_buf_str(&page);
    CHECK(strncmp(text, ".TH dtx 8 ", 10) == 0);
    CHECK(strstr(text, ".SH DESCRIPTION\n.PP\nFirst.\n.PP\n\\&.Second.\n.SH COMMANDS\n"));
    CHECK(strstr(text, ".B 0\nThe asked\\-for thing was done. Twice good.\n"));
    CHECK(strstr(text, ".B 10\nIt failed.\n"));
    CHECK(strstr(strstr(text, ".B 1\n") + 1, ".B 1\n") == NULL);
    dt_buf_clear(&page);
    program.has_own_exits = true;
    dt_cmd_man(&page, &program);
    CHECK(!strstr(dt_buf_str(&page), ".B 2\n"));
    dt_buf_release(&page);
}
