/* YAML bytes: what is read, what is refused, in which words and how fast. */
#include "yaml_in.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dt/base/json.h"
#include "reading.h"
#include "test.h"

/* The tree as JSON; "" when there is none. The caller releases. */
static struct dt_buf json_of(const char *text, size_t size)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = NULL;
    struct dt_buf json = {0};

    if (dt_yaml_parse(text, size, &tree, &problems) == DT_OK)
        dt_json_write(&json, tree);
    dt_tree_free(tree);
    dt_problems_release(&problems);
    return json;
}

static void check_json(const char *yaml, const char *expected, int line)
{
    struct dt_buf json = json_of(yaml, strlen(yaml));

    dt_check_text(dt_buf_str(&json), expected, yaml, __FILE__, line);
    dt_buf_release(&json);
}

#define CHECK_JSON(yaml, expected) check_json((yaml), (expected), __LINE__)

TEST(yaml__types_scalars_by_the_core_rules)
{
    CHECK_JSON("[1, -5, 3e-4, .5, 1., +2.5, 0]", "[1,-5,3e-4,0.5,1.0,2.5,0]");
    CHECK_JSON("[true, false, yes, no, on, off, True]",
               "[true,false,\"yes\",\"no\",\"on\",\"off\",\"True\"]");
    CHECK_JSON("[null, ~, NULL, \"null\"]", "[null,null,\"NULL\",\"null\"]");
    CHECK_JSON("[010, 0x10, 0o7, 1_000, 12:30, 08]",
               "[\"010\",\"0x10\",\"0o7\",\"1_000\",\"12:30\",\"08\"]");
    CHECK_JSON("[\"8\", '8', 9223372036854775807]", "[\"8\",\"8\",9223372036854775807]");
    CHECK_JSON("[.inf, .nan, -]", "[\".inf\",\".nan\",\"-\"]");
}

TEST(yaml__reads_blocks_and_comments)
{
    CHECK_JSON("a: |\n  x\n  \ty\nb: >\n  one\n  two\n# end\n",
               "{\"a\":\"x\\n\\u0009y\\n\",\"b\":\"one two\\n\"}");
    CHECK_JSON("a:\n- 1\n- {b: c}\n", "{\"a\":[1,{\"b\":\"c\"}]}");
    CHECK_JSON("%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}");
}

TEST(yaml__knows_line_and_column_of_keys_and_values)
{
    static const char text[] = "a: 1\nb:\n  cé: \"xy\"\n  d: [1, 22]\n";
    struct dt_problems problems = {0};
    struct dt_tree *tree = NULL;
    const struct dt_tree *node;

    CHECK_INT(dt_yaml_parse(text, strlen(text), &tree, &problems), DT_OK);
    node = dt_tree_get(dt_tree_get(tree, "b"), "c\xc3\xa9");
    CHECK_INT(node->key_at.line, 3);
    CHECK_INT(node->key_at.col, 3);
    CHECK_INT(node->key_at.end_col, 5);
    CHECK_INT(node->at.col, 7);
    CHECK_INT(node->at.end_col, 11);
    CHECK(node->is_quoted);
    node = dt_tree_get(dt_tree_get(tree, "b"), "d");
    CHECK_INT(node->at.col, 6);
    CHECK_INT(node->at.end_col, 13);
    CHECK_INT(node->last->at.col, 10);
    CHECK_INT(node->last->at.end_col, 12);
    dt_tree_free(tree);
    dt_problems_release(&problems);
}

TEST(yaml__takes_a_byte_order_mark)
{
    struct reading reading = reading_of_text("\xef\xbb\xbfversion: 2\ncommand: [x]\n");

    CHECK_TEXT(dt_buf_str(&reading.report),
               "job.yaml:1:10: error[spec.range]: version must be 1, found 2\n"
               "    1 | version: 2\n"
               "      |          ^\n");
    reading_release(&reading);
}


static void check_refusal(const char *yaml, size_t size, const char *report, int line)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = NULL;
    struct dt_buf text = {0};

    dt_check_int(dt_yaml_parse(yaml, size, &tree, &problems), DT_INVALID, yaml, __FILE__, line);
    dt_problems_report(&text, &problems, "f", NULL, 0);
    dt_check_text(dt_buf_str(&text), report, yaml, __FILE__, line);
    dt_buf_release(&text);
    dt_tree_free(tree);
    dt_problems_release(&problems);
}

#define CHECK_REFUSAL(yaml, report) check_refusal((yaml), sizeof(yaml) - 1, (report), __LINE__)

TEST(yaml__says_tabs_in_the_indentation)
{
    CHECK_REFUSAL("a:\n\tb: 1\n", "f:2:1: error[yaml.tab]: a tab in the indentation\n"
                                  "  help: indent with spaces\n");
    CHECK_REFUSAL("a:\n  b: 1\n\tc: 2\n", "f:3:1: error[yaml.tab]: a tab in the indentation\n"
                                          "  help: indent with spaces\n");
    CHECK_REFUSAL("a: {\n\tb: 1}\n", "f:2:1: error[yaml.tab]: a tab in the indentation\n"
                                     "  help: indent with spaces\n");
    CHECK_REFUSAL("a:\n -\tb: 1\n", "f:2:3: error[yaml.tab]: a tab in front of a value\n"
                                    "  help: indent with spaces\n");
}

TEST(yaml__says_a_missing_colon)
{
    CHECK_REFUSAL("a: 1\nresources\n  nodes: 1\n",
                  "f:2:1: error[yaml.colon]: a colon is missing behind the key\n"
                  "  help: write \"key: value\", or \"key:\" above an indented block\n");
    CHECK_REFUSAL("a: 1\nb\n",
                  "f:2:1: error[yaml.colon]: a colon is missing behind the key\n"
                  "  help: write \"key: value\", or \"key:\" above an indented block\n");
}

TEST(yaml__says_a_missing_space_behind_the_colon)
{
    CHECK_REFUSAL("a: 1\nb:2\nc: 3\n",
                  "f:2:2: error[yaml.colon]: a space is missing after the colon\n"
                  "  help: write \"b: 2\"\n");
    CHECK_REFUSAL("a:\n  b:2\n  c: 3\n",
                  "f:2:4: error[yaml.colon]: a space is missing after the colon\n"
                  "  help: write \"b: 2\"\n");
}

TEST(yaml__says_bad_indentation)
{
    CHECK_REFUSAL("a:\n  b: 1\n   c: 2\n",
                  "f:3:4: error[yaml.indent]: the indentation does not fit the lines above\n"
                  "  help: line 2 begins at column 3 and has its value already\n");
    CHECK_REFUSAL("a:\n   b: 1\n  c: 2\n",
                  "f:3:3: error[yaml.indent]: the indentation does not fit the lines above\n"
                  "  help: the block began in line 1 at column 1; this line begins at "
                  "column 3\n");
    CHECK_REFUSAL("a:\n  - x\n b: 2\n",
                  "f:3:2: error[yaml.indent]: the indentation does not fit the lines above\n"
                  "  help: the block began in line 1 at column 1; this line begins at column 2\n");
}

TEST(yaml__points_at_the_bracket_that_is_never_closed)
{
    CHECK_REFUSAL("a: [1, 2\nb: 3\n", "f:1:4: error[yaml.unclosed]: [ is never closed\n"
                                      "  help: write ] where it ends\n");
    CHECK_REFUSAL("a: [1,\n  {b: 2,\n  c: 3]\n",
                  "f:2:3: error[yaml.unclosed]: { is never closed\n"
                  "  help: write } where it ends\n");
    CHECK_REFUSAL("a: [1, 2", "f:1:4: error[yaml.unclosed]: [ is never closed\n"
                              "  help: write ] where it ends\n");
}

TEST(yaml__points_at_the_quote_that_is_never_closed)
{
    CHECK_REFUSAL("a: \"x\nb: 1\n", "f:1:4: error[yaml.unclosed]: \" is never closed\n"
                                    "  help: write the closing \"\n");
    CHECK_REFUSAL("a: 'x\nb: 'y'\n", "f:1:4: error[yaml.unclosed]: ' is never closed\n"
                                     "  help: write the closing '\n");
}

TEST(yaml__says_which_character_needs_quotes)
{
    CHECK_REFUSAL("a: @x\n", "f:1:4: error[yaml.unquoted]: a value cannot begin with @\n"
                             "  help: put it in quotes: \"@...\"\n");
    CHECK_REFUSAL("a: %x\n", "f:1:4: error[yaml.unquoted]: a value cannot begin with %\n"
                             "  help: put it in quotes: \"%...\"\n");
    CHECK_REFUSAL("a: *.txt\n", "f:1:4: error[yaml.unquoted]: a value cannot begin with *\n"
                                "  help: put it in quotes: \"*...\"\n");
    CHECK_REFUSAL("a: `x`\n", "f:1:4: error[yaml.unquoted]: a value cannot begin with `\n"
                              "  help: put it in quotes: \"`...\"\n");
}

TEST(yaml__refuses_bytes_that_are_not_utf8)
{
    CHECK_REFUSAL("a: 1\nb: caf\xe9\n", "f:2:7: error[yaml.utf8]: not UTF-8: byte 0xe9\n"
                                        "  help: save the file as UTF-8\n");
    CHECK_REFUSAL("\xff\xfe" "a\0:\0", "f:1:1: error[yaml.utf8]: not UTF-8: byte 0xff\n"
                  "  help: this looks like UTF-16: save the file as UTF-8\n");
    CHECK_REFUSAL("a: \0\n", "f:1:4: error[yaml.control-character]: control character U+0000\n"
                             "  help: remove it\n");
    CHECK_REFUSAL("a: \"\\0\"\n",
                  "f:1:4: error[yaml.control-character]: a NUL character in a text\n");
}

TEST(yaml__refuses_what_dt_does_not_want_of_yaml)
{
    CHECK_REFUSAL("a: 1\n---\nb: 2\n",
                  "f:2:1: error[yaml.documents]: a second document; one is taken\n");
    CHECK_REFUSAL("a: &x 1\nb: 2\n", "f:1:4: error[yaml.anchor]: anchors are not supported: &x\n"
                                     "  help: write the value where it is needed\n");
    CHECK_REFUSAL("a: *x\n", "f:1:4: error[yaml.alias]: aliases are not supported: *x\n"
                             "  help: write the value here, or put a text in quotes: \"*x\"\n");
    CHECK_REFUSAL("a: !x 1\n",
                  "f:1:4: error[yaml.tag]: tags are not supported\n"
                  "  help: leave it out, or put a text that begins with ! in quotes\n");
    CHECK_REFUSAL("<<: {a: 1}\n", "f:1:1: error[yaml.merge]: merge keys are not supported\n"
                                  "  help: write the values where they are needed\n");
    CHECK_REFUSAL("a: 1\na: {b: 1, b: 2}\n",
                  "f:2:1: error[yaml.duplicate-key]: \"a\" is here twice, first in line 1\n"
                  "  help: keep one of the two\n"
                  "f:2:11: error[yaml.duplicate-key]: \"b\" is here twice, first in line 2\n"
                  "  help: keep one of the two\n");
    CHECK_REFUSAL("? {a: 1}\n: 2\n", "f:1:3: error[yaml.key]: a list or map cannot be a key\n");
    CHECK_REFUSAL("", "f:1:1: error[yaml.empty]: the file has no content\n");
    CHECK_REFUSAL("# only words\n", "f:1:1: error[yaml.empty]: the file has no content\n");
}

/* The first problem of count copies of piece. */
static void check_repeated(const char *piece, size_t count, const char *code)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = NULL;
    struct dt_buf text = {0};
    clock_t from;

    for (size_t i = 0; i < count; i++)
        dt_buf_text(&text, piece);
    from = clock();
    CHECK_INT(dt_yaml_parse(text.data, text.size, &tree, &problems), DT_INVALID);
    CHECK_TEXT(problems.count ? problems.item[0].code : "", code);
    /* processor time: milliseconds without sanitizers; quadratic would be minutes */
    CHECK(clock() - from < 3 * CLOCKS_PER_SEC);
    dt_tree_free(tree);
    dt_buf_release(&text);
    dt_problems_release(&problems);
}

TEST(yaml__stops_early_at_deep_long_and_wide_input)
{
    check_repeated("[", 100000, "yaml.depth");
    check_repeated("{a: ", 60000, "yaml.depth");
    check_repeated("- ", 100000, "yaml.depth");
    check_repeated("- 1\n", 20001, "yaml.nodes");
    check_repeated("a", DT_SPEC_BYTES_MAX + 1, "yaml.size");
    check_repeated("? ", 100000, "yaml.key");
}

TEST(yaml__takes_files_of_exactly_n_pages)
{
    for (size_t size = 4096; size <= 8 * 4096; size += 4096) {
        struct dt_buf text = {0}, json;

        dt_buf_text(&text, "a: ");
        while (text.size < size - 1)
            dt_buf_byte(&text, 'x');
        dt_buf_byte(&text, '\n');
        json = json_of(text.data, text.size);
        CHECK_INT(json.size, size - 4 + strlen("{\"a\":\"\"}"));
        dt_buf_release(&json);
        dt_buf_release(&text);
    }
}
