/* Slices of JSON text: every element and member, and text that is no JSON. */
#include "slice.h"

#include <string.h>

#include "test.h"

static struct dt_slice of(const char *text)
{
    return (struct dt_slice){text, strlen(text)};
}

static const char *text_of(struct dt_slice slice, char *text, size_t size)
{
    size_t n = slice.size < size ? slice.size : size - 1;

    memcpy(text, slice.at, n);
    text[n] = 0;
    return text;
}

TEST(slice__finds_members_of_any_kind)
{
    struct dt_slice map = of(" { \"a\" : 1 ,\"b\":\"x}]\\\"\",\"c\":[1,{\"a\":2}], \"d\":null}");
    static const char *const rows[][2] = {
        {"a", "1"}, {"b", "\"x}]\\\"\""}, {"c", "[1,{\"a\":2}]"}, {"d", "null"}};
    struct dt_slice value;
    char text[64];

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        CHECK(dt_slice_member(map, rows[i][0], &value));
        CHECK_TEXT(text_of(value, text, sizeof(text)), rows[i][1]);
    }
    CHECK(!dt_slice_member(map, "e", &value));
    CHECK(!dt_slice_member(of("[1]"), "a", &value));
    CHECK(!dt_slice_member(of("{}"), "a", &value));
}

TEST(slice__walks_lists)
{
    struct dt_slice list = of("[ {\"x\":[1,2]} , \"a,b\" ,3,[], -1.5e3]"), item;
    static const char *const items[] = {"{\"x\":[1,2]}", "\"a,b\"", "3", "[]", "-1.5e3"};
    size_t state = 0;
    char text[64];

    for (size_t i = 0; i < DT_COUNT(items); i++) {
        CHECK(dt_slice_next(list, &state, &item));
        CHECK_TEXT(text_of(item, text, sizeof(text)), items[i]);
    }
    CHECK(!dt_slice_next(list, &state, &item));
    state = 0;
    CHECK(!dt_slice_next(of("[]"), &state, &item));
    CHECK(!dt_slice_next(of("{}"), &state, &item));
}

TEST(slice__ends_on_every_cut_text)
{
    static const char text[] = "{\"a\":[{\"b\":\"c\\\\\"},[1,2]],\"d\":{\"e\":[]}}";
    char cut[sizeof(text)];

    for (size_t size = 0; size < sizeof(text); size++) {
        struct dt_slice map = {cut, size}, value, item;
        size_t state = 0, count = 0;

        memcpy(cut, text, size);
        if (dt_slice_member(map, "a", &value))
            while (dt_slice_next(value, &state, &item))
                CHECK(++count <= 2);
        CHECK(!dt_slice_member(map, "z", &value));
    }
}

TEST(slice__gives_the_text_of_scalars)
{
    struct dt_slice map = of("{\"a\":\"plain\","
                             "\"b\":\"q\\\"\\u00e9\\\\\",\"c\":-1.5e3,"
                             "\"d\":null,\"e\":[1],\"f\":\"long enough to be cut\","
                             "\"g\":\"\\\\\",\"h\":true}");
    static const char *const rows[][2] = {
        {"a", "plain"}, {"b", "q\"\xc3\xa9\\"}, {"c", "-1.5e3"}, {"d", ""},    {"e", ""},
        {"f", "long enoug"}, {"g", "\\"},          {"h", "true"}, {"none", ""}};
    char text[11];

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        CHECK_TEXT(dt_slice_text(map, rows[i][0], text, sizeof(text)), rows[i][1]);
    CHECK_TEXT(dt_slice_text(of(""), "a", text, sizeof(text)), "");
    CHECK_TEXT(dt_slice_text(of("{\"a\":\"no end"), "a", text, sizeof(text)), "");
}
