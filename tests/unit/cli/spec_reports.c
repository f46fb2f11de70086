/* Reports of errors, letter by letter as the user sees them. */
#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "reading.h"
#include "test.h"

#define CHECK_REPORT(text, report) check_report((text), (report), __LINE__)

static void check_report(const char *text, const char *report, int line)
{
    struct reading reading = reading_of_text(text);

    dt_check_int(reading.code, DT_INVALID, "code", __FILE__, line);
    dt_check_text(dt_buf_str(&reading.report), report, "report", __FILE__, line);
    reading_release(&reading);
}

TEST(report__near_miss_of_a_key)
{
    CHECK_REPORT("version: 1\n"
                 "name: a\n"
                 "command: [x]\n"
                 "\n"
                 "resources:\n"
                 "  nodes: 1\n"
                 "  gpu_per_node: 8\n",
                 "job.yaml:7:3: error[spec.unknown-key]: unknown key \"gpu_per_node\" "
                 "in resources\n"
                 "    7 |   gpu_per_node: 8\n"
                 "      |   ^~~~~~~~~~~~\n"
                 "  help: did you mean \"gpus_per_node\"?\n");
}

TEST(report__duration_without_a_unit)
{
    CHECK_REPORT("version: 1\ncommand: [x]\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
                 "limits:\n  time: 4:00\n",
                 "job.yaml:21:9: error[spec.duration-unit]: limits.time needs a unit\n"
                 "   21 |   time: 4:00\n"
                 "      |         ^~~~\n"
                 "  help: write 4m or 4h  (Slurm would read 4:00 as four minutes)\n");
}

TEST(report__tensor_does_not_divide_the_ranks_of_a_node)
{
    CHECK_REPORT("version: 1\ncommand: [x]\nresources:\n  gpus_per_node: 8\n\n\n\n\n\n\n\n\n\n"
                 "parallel:\n  tensor: 6\n",
                 "job.yaml:15:11: error[spec.divide]: parallel.tensor (6) does not divide "
                 "ranks_per_node (8)\n"
                 "   15 |   tensor: 6\n"
                 "      |           ^\n"
                 "  help: 1, 2, 4 or 8\n");
}

TEST(report__batch_is_not_a_multiple_of_the_micro_batch)
{
    CHECK_REPORT("version: 1\n\n\n\n\n\n\n\n\n\n\n\ntrainer:\n  model: llama-nano\n"
                 "  data: {text: /x}\n  steps: 1\n  micro_batch: 2\n  global_batch: 1001\n",
                 "job.yaml:18:17: error[spec.divide]: trainer.global_batch (1001) is not a "
                 "multiple of micro_batch (2)\n"
                 "   18 |   global_batch: 1001\n"
                 "      |                 ^~~~\n"
                 "  help: nearest: 1000 or 1002\n");
}

TEST(report__all_errors_at_once_in_their_order)
{
    CHECK_REPORT("version: 1\n"
                 "limits: {time: 90, grace: 1 m}\n"
                 "name: A\n"
                 "tensor: 2\n"
                 "name: b\n",
                 "job.yaml:1:1: error[spec.one-of]: nothing to run: exactly one of trainer, "
                 "command and script\n"
                 "    1 | version: 1\n"
                 "      | ^~~~~~~~~~\n"
                 "  help: for example  command: [\"python\", \"train.py\"]\n"
                 "job.yaml:2:16: error[spec.duration-unit]: limits.time needs a unit\n"
                 "    2 | limits: {time: 90, grace: 1 m}\n"
                 "      |                ^~\n"
                 "  help: write 90s, 90m or 90h\n"
                 "job.yaml:2:27: error[spec.duration]: limits.grace: \"1 m\" is not a duration\n"
                 "    2 | limits: {time: 90, grace: 1 m}\n"
                 "      |                           ^~~\n"
                 "  help: units are ms s m h d, the largest first: 90s, 15m, 2h30m, 1d\n"
                 "job.yaml:3:7: error[spec.name]: name is not a name\n"
                 "    3 | name: A\n"
                 "      |       ^\n"
                 "  help: 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends\n"
                 "job.yaml:4:1: error[spec.unknown-key]: unknown key \"tensor\"\n"
                 "    4 | tensor: 2\n"
                 "      | ^~~~~~\n"
                 "  help: \"tensor\" belongs under \"parallel\"\n"
                 "job.yaml:5:1: error[yaml.duplicate-key]: \"name\" is here twice, first in "
                 "line 3\n"
                 "    5 | name: b\n"
                 "      | ^~~~\n"
                 "  help: keep one of the two\n");
}

TEST(report__carets_stand_below_wide_and_combined_characters)
{
    CHECK_REPORT("version: 1\ncommand: [x]\nlabels: {\"日本e\xcc\x81\": \"1\", n: 1.5}\n",
                 "job.yaml:3:26: error[spec.unquoted]: labels.n must be a text, found 1.5\n"
                 "    3 | labels: {\"日本e\xcc\x81\": \"1\", n: 1.5}\n"
                 "      |                           ^~~\n"
                 "  help: put it in quotes: \"1.5\"\n");
}

TEST(report__escapes_do_not_reach_the_terminal)
{
    CHECK_REPORT("version: 1\ncommand: [x]\nqu\xe2\x80\xae" "eue: a\n",
                 "job.yaml:3:1: error[spec.unknown-key]: unknown key \"qu\xef\xbf\xbd" "eue\"\n"
                 "    3 | qu\xef\xbf\xbd" "eue: a\n"
                 "      | ^~~~~~\n"
                 "  help: known here: version, name, project, queue, priority, labels, resources, "
                 "topology, parallel, trainer, command, script, launch, mpi, workdir, env, "
                 "secrets, compat, checkpoint, restart, health, limits, preempt, after, begin, "
                 "deadline, "
                 "on_control_loss, output, notify, container\n");
}

TEST(report__long_lines_are_cut_around_the_caret)
{
    struct dt_buf text = {0};
    struct reading reading;

    dt_buf_text(&text, "version: 1\nlabels: {a: \"");
    for (int i = 0; i < 200; i++)
        dt_buf_byte(&text, 'x');
    dt_buf_text(&text, "\", b: 1.5, c: \"");
    for (int i = 0; i < 200; i++)
        dt_buf_byte(&text, 'y');
    dt_buf_text(&text, "\"}\ncommand: [x]\n");
    reading = reading_of(text.data, text.size);
    CHECK_TEXT(dt_buf_str(&reading.report),
               "job.yaml:2:220: error[spec.unquoted]: labels.b must be a text, found 1.5\n"
               "    2 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
               "\", b: 1.5, c: \"yyyyyyyyyyyyyyyyyyyyyy"
               "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n"
               "      |                                            ^~~\n"
               "  help: put it in quotes: \"1.5\"\n");
    reading_release(&reading);
    dt_buf_release(&text);
}

TEST(report__stops_at_twenty_and_says_how_many_more)
{
    struct dt_buf text = {0};
    struct reading reading;
    const char *last;

    dt_buf_text(&text, "version: 1\ncommand: [x]\n");
    for (int i = 0; i < 30; i++)
        dt_buf_print(&text, "unknown_%d: 1\n", i);
    reading = reading_of(text.data, text.size);
    CHECK_INT(reading.problems.count, 20);
    CHECK_INT(reading.problems.errors, 30);
    CHECK_INT(reading.problems.item[19].at.line, 22);
    last = strstr(dt_buf_str(&reading.report), "10 more");
    CHECK_TEXT(last, "10 more not shown\n");
    reading_release(&reading);
    dt_buf_release(&text);
}

TEST(report__json_has_places_and_suggestions)
{
    struct reading reading = reading_of_text("version: 1\ncommand: [x]\nresources: {node: 2}\n");
    struct dt_tree *list = dt_problems_tree(&reading.problems, "job.yaml");
    struct dt_buf json = {0};

    dt_json_write(&json, list);
    CHECK_TEXT(dt_buf_str(&json),
               "[{\"file\":\"job.yaml\",\"line\":3,\"column\":13,\"end_column\":17,"
               "\"path\":\"resources.node\",\"code\":\"spec.unknown-key\",\"severity\":\"error\","
               "\"message\":\"unknown key \\\"node\\\" in resources\","
               "\"help\":\"did you mean \\\"nodes\\\"?\",\"suggestions\":[\"nodes\"]}]");
    dt_buf_release(&json);
    dt_tree_free(list);
    reading_release(&reading);
}
