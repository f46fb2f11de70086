/* JSON text to trees and back, and the trees themselves. */
#include "dt/base/json.h"

#include <string.h>

#include "test.h"

static const struct dt_json_limits small = {.bytes_max = 200, .depth_max = 4, .nodes_max = 10};

/* What the JSON prints as again, or the error's text. Static. */
static const char *again(const char *json)
{
    static struct dt_buf out;
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};

    dt_buf_release(&out);
    if (dt_json_parse(json, strlen(json), &small, &tree, &err))
        dt_buf_text(&out, "refused");
    else
        dt_json_write(&out, tree);
    dt_tree_free(tree);
    return dt_buf_str(&out);
}

TEST(json__round_trips_every_kind)
{
    CHECK_TEXT(again("{\"a\":[1,-2,true,false,null],\"b\":{\"c\":\"d\"}}"),
               "{\"a\":[1,-2,true,false,null],\"b\":{\"c\":\"d\"}}");
    CHECK_TEXT(again("\"q\\\"b\\\\n\\n\\u00e9\\u001b\""), "\"q\\\"b\\\\n\\n\xc3\xa9\\u001b\"");
    CHECK_TEXT(again("9223372036854775807"), "9223372036854775807");
}

TEST(json__prints_reals_short_and_as_people_write_them)
{
    CHECK_TEXT(again("[0.1, 1e-8, 1.0, 1e3, -0.0]"), "[0.1,1e-08,1.0,1000.0,-0.0]");
    CHECK_TEXT(again("[-777777000000000054885730e-8]"), "[-7777770000000001.0]");
    CHECK_TEXT(again("[0.30000000000000004, 123456.789, 1e22]"),
               "[0.30000000000000004,123456.789,1e+22]");
    CHECK_TEXT(again("[1.7976931348623157e308, 5e-324]"), "[1.7976931348623157e+308,5e-324]");
    CHECK_TEXT(again("999999999999999.0"), "999999999999999.0");
    CHECK_TEXT(again("1e400"), "refused");
}

TEST(json__says_where)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};

    CHECK_INT(dt_json_parse("[1,\n \"\xc3\xa9\" [[[[2]]]]]", 19, &small, &tree, &err), DT_INVALID);
    CHECK_TEXT(err.text, "JSON: line 2, column 9: nested too deep");
    CHECK_INT(dt_json_parse("[1,\n,]", 7, &small, &tree, &err), DT_INVALID);
    CHECK_INT(dt_json_parse("[1,2,3,4,5,6,7,8,9,10,11]", 25, &small, &tree, &err), DT_INVALID);
    CHECK_TEXT(err.text, "JSON: line 1, column 22: too many values");
    CHECK(!tree);
}

TEST(json__takes_only_whole_texts_without_nul)
{
    struct dt_tree *tree = NULL;

    CHECK_INT(dt_json_parse("1", 2, &small, &tree, NULL), DT_INVALID); /* its NUL too */
    CHECK_INT(dt_json_parse("1\0x", 3, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse("\"a\0b\"", 5, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse("{\"\\u0000\":1}", 12, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse(NULL, 0, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse("\"abc", 4, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse("\"abc\\", 5, &small, &tree, NULL), DT_INVALID);
    CHECK_INT(dt_json_parse("truex", 4, &small, &tree, NULL), DT_OK);
    CHECK_INT(tree->kind, DT_TREE_BOOL);
    dt_tree_free(tree);
}

TEST(json__refuses_what_is_not_strict)
{
    CHECK_TEXT(again("{\"a\":1,\"a\":2}"), "refused");
    CHECK_TEXT(again("[1,]"), "refused");
    CHECK_TEXT(again("[1] x"), "refused");
    CHECK_TEXT(again("9223372036854775808"), "refused");
    CHECK_TEXT(again("\"\\u0000\""), "refused");
    CHECK_TEXT(again("\"\xff\""), "refused");
    CHECK_TEXT(again(""), "refused");
    CHECK_TEXT(again("nan"), "refused");
    CHECK_TEXT(again("01"), "refused");
    CHECK_TEXT(again("+1"), "refused");
    CHECK_TEXT(again(".5"), "refused");
    CHECK_TEXT(again("5."), "refused");
    CHECK_TEXT(again("-9223372036854775809"), "refused");
    CHECK_TEXT(again("-9223372036854775808"), "-9223372036854775808");
    CHECK_TEXT(again("'a'"), "refused");
    CHECK_TEXT(again("[1] // why"), "refused");
    CHECK_TEXT(again("\xef\xbb\xbf" "1"), "refused");
    CHECK_TEXT(again("\"\\ud800\""), "refused");
    CHECK_TEXT(again("\"\xed\xa0\x80\""), "refused");
    CHECK_TEXT(again("\"\xc0\x80\""), "refused");
    CHECK_TEXT(again("\"\n\""), "refused");
    CHECK_TEXT(again("]]]]]]]]]]"), "refused");
}

TEST(json__keeps_its_limits)
{
    char long_text[260];

    memset(long_text, ' ', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = 0;
    long_text[0] = '1';
    CHECK_TEXT(again("[[[[1]]]]"), "[[[[1]]]]");
    CHECK_TEXT(again("[[[[[1]]]]]"), "refused");
    CHECK_TEXT(again("[1,2,3,4,5,6,7,8,9]"), "[1,2,3,4,5,6,7,8,9]");
    CHECK_TEXT(again("[1,2,3,4,5,6,7,8,9,10]"), "refused");
    CHECK_TEXT(again(long_text), "refused");
}

TEST(json__canonical_form_sorts_keys)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_buf out = {0};

    dt_tree_put_int(tree, "b", 1);
    dt_tree_put_str(tree, "a", "x");
    dt_tree_put_bool(dt_tree_put_new(tree, "aa", DT_TREE_MAP), "z", true);
    dt_json_write_canonical(&out, tree);
    CHECK_TEXT(dt_buf_str(&out), "{\"a\":\"x\",\"aa\":{\"z\":true},\"b\":1}");
    dt_buf_clear(&out);
    dt_json_write_pretty(&out, tree);
    CHECK_TEXT(dt_buf_str(&out), "{\n  \"b\": 1,\n  \"a\": \"x\",\n  \"aa\": {\n    \"z\": true\n"
                                 "  }\n}");
    dt_buf_release(&out);
    dt_tree_free(tree);
}

TEST(json__writes_invalid_bytes_as_replacement_characters)
{
    struct dt_buf out = {0};

    dt_json_quote(&out, "a\xff" "b\x7f", 4);
    CHECK_TEXT(dt_buf_str(&out), "\"a\xef\xbf\xbd" "b\\u007f\"");
    dt_buf_release(&out);
}

TEST(tree__puts_replace_in_place)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *taken;
    struct dt_buf out = {0};

    dt_tree_put_int(tree, "a", 1);
    dt_tree_put_int(tree, "b", 2);
    dt_tree_put_str(tree, "a", "one");
    dt_tree_put_u64(tree, "c", UINT64_MAX);
    dt_tree_put_float(tree, "d", "0.5");
    dt_json_write(&out, tree);
    CHECK_TEXT(dt_buf_str(&out),
               "{\"a\":\"one\",\"b\":2,\"c\":\"18446744073709551615\",\"d\":0.5}");
    CHECK(dt_tree_u64(tree, "c", 0) == UINT64_MAX);
    CHECK_INT(dt_tree_u64(tree, "b", 0), 2);
    CHECK_INT(dt_tree_int(tree, "a", -1), -1);
    CHECK_TEXT(dt_tree_str(tree, "nosuch", "otherwise"), "otherwise");
    taken = dt_tree_take(tree, "b");
    CHECK_INT(taken->int_value, 2);
    CHECK_INT(tree->count, 3);
    CHECK(!dt_tree_take(tree, "b"));
    dt_tree_free(taken);
    taken = dt_tree_take(tree, "d"); /* the last one */
    dt_tree_free(taken);
    dt_tree_put_bool(tree, "e", true);
    CHECK(dt_tree_bool(tree, "e", false));
    dt_buf_release(&out);
    dt_tree_free(tree);
}

TEST(tree__equality_forgets_the_order_of_maps_only)
{
    struct dt_tree *left = NULL, *right = NULL, *copy;
    struct dt_err err = {0};

    CHECK_INT(dt_json_parse("{\"a\":[1,2],\"b\":3}", 17, &small, &left, &err), DT_OK);
    CHECK_INT(dt_json_parse("{\"b\":3,\"a\":[1,2]}", 17, &small, &right, &err), DT_OK);
    CHECK(dt_tree_equal(left, right));
    copy = dt_tree_copy(left);
    CHECK(dt_tree_equal(left, copy));
    dt_tree_put_int(dt_tree_get(copy, "a"), NULL, 5);
    CHECK(!dt_tree_equal(left, copy));
    CHECK(!dt_tree_equal(left, NULL));
    CHECK(dt_tree_equal(NULL, NULL));
    dt_tree_free(left);
    dt_tree_free(right);
    dt_tree_free(copy);
}
