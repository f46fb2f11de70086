/* What dtctl writes: harmless text, YAML that reads back, progress lines. */
#include <string.h>

#include "dt/base/json.h"
#include "progress.h"
#include "safe.h"
#include "test.h"
#include "yaml_in.h"
#include "yaml_out.h"

static const char *safe(struct dt_buf *buf, const char *text)
{
    dt_buf_clear(buf);
    dt_safe_add(buf, text, strlen(text), true);
    return dt_buf_str(buf);
}

TEST(safe__keeps_text_and_escapes_what_drives_a_terminal)
{
    struct dt_buf buf = {0};

    CHECK_TEXT(safe(&buf, "gr\xc3\xbc\xc3\x9f" "e\ttab\n"), "gr\xc3\xbc\xc3\x9f" "e\ttab\n");
    CHECK_TEXT(safe(&buf, "\x1b]52;c;x\x07"), "\\x1b]52;c;x\\x07");
    CHECK_TEXT(safe(&buf, "\xc2\x9b" "31m"), "\\u{9b}31m");
    CHECK_TEXT(safe(&buf, "\x9b" "31m\xff"), "\\x9b31m\\xff");
    CHECK_TEXT(safe(&buf, "\xe2\x80\xae" "a\xe2\x81\xa6"), "\\u{202e}a\\u{2066}");
    CHECK_TEXT(safe(&buf, "\xe2\x80\x8b\xef\xbb\xbf\x7f\r"), "\\u{200b}\\u{feff}\\x7f\\x0d");
    dt_buf_clear(&buf);
    dt_safe_add(&buf, "a\nb", 3, false);
    CHECK_TEXT(dt_buf_str(&buf), "a\\x0ab");
    dt_buf_release(&buf);
}

/* JSON -> YAML -> tree must be the same tree. */
static void round_trip(const char *json)
{
    static const struct dt_json_limits limits = {65536, 16, 1000};
    struct dt_tree *tree = NULL, *again = NULL;
    struct dt_problems problems = {0};
    struct dt_buf yaml = {0};

    CHECK_INT(dt_json_parse(json, strlen(json), &limits, &tree, NULL), DT_OK);
    dt_yaml_write(&yaml, tree);
    CHECK_INT(dt_yaml_parse(dt_buf_str(&yaml), yaml.size, &again, &problems), DT_OK);
    if (!CHECK(again && dt_tree_equal(tree, again)))
        CHECK_TEXT(dt_buf_str(&yaml), json);
    dt_tree_free(tree);
    dt_tree_free(again);
    dt_problems_release(&problems);
    dt_buf_release(&yaml);
}

TEST(yaml_out__reads_back_as_the_same_tree)
{
    round_trip("{\"a\":1,\"b\":-2,\"c\":true,\"d\":null,\"e\":[],\"f\":{},\"g\":0.5}");
    round_trip("{\"words\":[\"true\",\"No\",\"null\",\"~\",\"1\",\"1e3\",\"0x1f\",\".5\",\"\","
               "\" x\",\"x \",\"a: b\",\"a #b\",\"- a\",\"@x\",\"%x\",\"*x\",\"&x\",\"!x\",\"'\","
               "\"\\\"\",\"[x]\",\"{x}\",\"a,b\",\"?\",\"|\",\">\",\"=\",\"<<\",\"---\"]}");
    round_trip("{\"list\":[[1,[2,3]],{\"a\":[{\"b\":[]}]},[],{}]}");
    round_trip("{\"script\":\"echo hi\\n  indented\\n\\nlast\\n\",\"s\":\"no end\\nhere\","
               "\"t\":\" lead\\n\",\"u\":\"two\\n\\n\",\"v\":\"\\n\",\"w\":\"a\\u0001\\nb\\n\"}");
    round_trip("{\"yes\":1,\"a b\":2,\"3\":4,\"on\":[{\"on\":\"x\"}],"
               "\"gr\\u00fc\\u00dfe\":\"\\u221a\"}");
    round_trip("[1,\"two\",[3]]");
    round_trip("\"just text\"");
}

static const char *progress(struct dt_buf *buf, const char *json, int64_t rate, int width)
{
    static const struct dt_json_limits limits = {4096, 4, 100};
    struct dt_tree *tree = NULL;

    dt_buf_clear(buf);
    CHECK_INT(dt_json_parse(json, strlen(json), &limits, &tree, NULL), DT_OK);
    dt_progress_line(buf, tree, rate, width);
    dt_tree_free(tree);
    return dt_buf_str(buf);
}

TEST(progress__tells_step_loss_and_rate)
{
    struct dt_buf buf = {0};

    CHECK_TEXT(progress(&buf, "{\"step\":50,\"steps\":200,\"loss\":\"2.34567\"}", 123456, 0),
               "step 50/200  loss 2.3457  123.4k tokens/s");
    CHECK_TEXT(progress(&buf, "{\"step\":7,\"steps\":0,\"loss\":null}", 0, 60), "step 7");
    CHECK_TEXT(progress(&buf, "{\"step\":-1,\"phase\":\"load\"}", 0, 0), "load");
    CHECK_TEXT(progress(&buf, "{}", 0, 80), "");
    CHECK_TEXT(progress(&buf, "{\"step\":50,\"steps\":100}", 0, 24),
               "[#####     ] step 50/100");
    CHECK_TEXT(progress(&buf, "{\"step\":300,\"steps\":100}", 0, 23),
               "[########] step 300/100");
    dt_buf_release(&buf);
}
