/* Numbers, UTF-8, near misses and host lists. */
#include "dt/base/text.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

TEST(parse_int__takes_plain_decimal_numbers_only)
{
    static const char *const wrong[] = {"", "-", "+1", " 1", "1 ", "01", "-0", "-01", "1.0", "0x1",
                                        "9223372036854775808", "1e3"};
    int64_t value = 5;

    for (size_t i = 0; i < DT_COUNT(wrong); i++)
        dt_check_true(!dt_parse_int(wrong[i], INT64_MIN, INT64_MAX, &value), wrong[i], __FILE__,
                      __LINE__);
    CHECK_INT(value, 5);
    CHECK(dt_parse_int("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    CHECK(value == INT64_MIN);
    CHECK(dt_parse_int("0", 0, 0, &value) && value == 0);
    CHECK(!dt_parse_int("11", 0, 10, &value));
    CHECK(!dt_parse_int(NULL, 0, 10, &value));
}

TEST(parse_u64__goes_to_the_end)
{
    uint64_t value = 0;

    CHECK(dt_parse_u64("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
    CHECK(!dt_parse_u64("18446744073709551616", UINT64_MAX, &value));
    CHECK(!dt_parse_u64("-1", UINT64_MAX, &value));
    CHECK(!dt_parse_u64("5", 4, &value));
}

TEST(utf8__refuses_overlong_surrogates_and_cut_characters)
{
    CHECK(dt_utf8_is_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
    CHECK(!dt_utf8_is_valid("\xc0\x80", 2));
    CHECK(!dt_utf8_is_valid("\xe0\x80\x80", 3));
    CHECK(!dt_utf8_is_valid("\xed\xa0\x80", 3));
    CHECK(!dt_utf8_is_valid("\xf4\x90\x80\x80", 4));
    CHECK(!dt_utf8_is_valid("\xc3", 1));
    CHECK(!dt_utf8_is_valid("\xff", 1));
    CHECK(dt_utf8_is_valid("", 0));
}

TEST(distance__counts_a_swap_as_one)
{
    CHECK_INT(dt_text_distance("nodes", "nodes", 2), 0);
    CHECK_INT(dt_text_distance("ndoes", "nodes", 2), 1);
    CHECK_INT(dt_text_distance("node", "nodes", 2), 1);
    CHECK_INT(dt_text_distance("nodes", "quota", 2), 3);
    CHECK_INT(dt_text_distance("", "ab", 2), 2);
}

TEST(nearest__is_strict_with_short_words)
{
    static const char *const words[] = {"env", "nodes", "name"};

    CHECK_TEXT(dt_text_nearest("envs", words, 3), "env");
    CHECK_TEXT(dt_text_nearest("noeds", words, 3), "nodes");
    CHECK(dt_text_nearest("xy", words, 3) == NULL);
    CHECK(dt_text_nearest("mode", words, 0) == NULL);
}

static void check_hosts(const char *text, const char *expected, int line)
{
    char **names = NULL;
    size_t count = 0;
    struct dt_buf joined = {0};
    struct dt_err err = {0};

    if (dt_hosts_expand(text, 100, &names, &count, &err))
        dt_buf_text(&joined, "refused");
    for (size_t i = 0; i < count; i++)
        dt_buf_print(&joined, "%s%s", i ? " " : "", names[i]);
    dt_check_text(dt_buf_str(&joined), expected, text, __FILE__, line);
    dt_names_free(names, count);
    dt_buf_release(&joined);
}

TEST(hosts__expand_ranges_and_keep_their_width)
{
    check_hosts("gpu-[01-03,7],a", "gpu-01 gpu-02 gpu-03 gpu-7 a", __LINE__);
    check_hosts("n1", "n1", __LINE__);
    check_hosts("n[9-11]", "n9 n10 n11", __LINE__);
    check_hosts("n[9-11]x", "refused", __LINE__);
    check_hosts("n[3-1]", "refused", __LINE__);
    check_hosts("n[1-", "refused", __LINE__);
    check_hosts("n[]", "refused", __LINE__);
    check_hosts("n1][4]", "refused", __LINE__);
    check_hosts("n 1", "refused", __LINE__);
    check_hosts("n\x1b[1]", "refused", __LINE__);
    check_hosts("n[1-1000000]", "refused", __LINE__);
    check_hosts("n[1-99],m[1-2]", "refused", __LINE__); /* more than 100 */
}

TEST(hosts__fold_is_the_reverse)
{
    static const char *const names[] = {"gpu-03", "gpu-01", "a", "gpu-02", "gpu-02", "gpu-10"};
    struct dt_buf folded = {0};
    char **again = NULL;
    size_t count = 0;
    struct dt_err err = {0};

    dt_hosts_fold(&folded, names, DT_COUNT(names));
    CHECK_TEXT(dt_buf_str(&folded), "a,gpu-[01-03,10]");
    CHECK_INT(dt_hosts_expand(dt_buf_str(&folded), 100, &again, &count, &err), DT_OK);
    CHECK_INT(count, 5);
    dt_names_free(again, count);
    dt_buf_release(&folded);
}
