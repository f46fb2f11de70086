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
    CHECK_TEXT(again("[0.1, 1e-8, 1.0, 1e3]"), "[0.1,1e-08,1.0,1e+03]");
    CHECK_TEXT(again("\"q\\\"b\\\\n\\n\\u00e9\\u001b\""), "\"q\\\"b\\\\n\\n\xc3\xa9\\u001b\"");
    CHECK_TEXT(again("9223372036854775807"), "9223372036854775807");
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
