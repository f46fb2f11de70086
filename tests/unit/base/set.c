/* Sets by id and by name; checksums; errors. */
#include "dt/base/set.h"

#include <string.h>

#include "dt/base/crc.h"
#include "dt/base/err.h"
#include "test.h"

TEST(set__keeps_ids_in_order_whatever_the_order_of_arrival)
{
    static int values[100];
    struct dt_set set = {0};

    for (size_t i = 0; i < 100; i++)
        CHECK(dt_set_put(&set, (i * 37) % 100, &values[(i * 37) % 100]) == NULL);
    CHECK_INT(set.count, 100);
    for (size_t i = 0; i < 100; i++) {
        CHECK_INT(set.items[i].id, i);
        CHECK(dt_set_get(&set, i) == &values[i]);
    }
    CHECK(dt_set_put(&set, 5, &values[6]) == &values[5]);
    CHECK(dt_set_remove(&set, 5) == &values[6]);
    CHECK(dt_set_remove(&set, 5) == NULL);
    CHECK(dt_set_get(&set, 5) == NULL);
    CHECK_INT(dt_set_seek(&set, 5), 5); /* the next one, 6 */
    CHECK_INT(dt_set_seek(&set, 1000), 99);
    dt_set_release(&set);
    CHECK_INT(dt_set_seek(&set, 1), 0);
}

TEST(dict__copies_names_and_walks_them_in_order)
{
    struct dt_dict dict = {0};
    char name[] = "b";
    int one, two;

    CHECK(dt_dict_put(&dict, name, &one) == NULL);
    name[0] = 'a';
    CHECK(dt_dict_put(&dict, name, &two) == NULL);
    CHECK_TEXT(dict.items[0].name, "a");
    CHECK(dt_dict_get(&dict, "b") == &one);
    CHECK(dt_dict_put(&dict, "b", &two) == &one);
    CHECK(dt_dict_remove(&dict, "a") == &two);
    CHECK(dt_dict_get(&dict, "a") == NULL);
    CHECK_INT(dict.count, 1);
    dt_dict_release(&dict);
}

TEST(crc32c__has_the_published_check_value)
{
    CHECK_INT(dt_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_INT(dt_crc32c(dt_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    CHECK_INT(dt_crc32c(0, "", 0), 0);
}

TEST(sha256__has_the_published_digests)
{
    char hex[DT_SHA256_HEX_BYTES], long_text[1001];
    unsigned char digest[DT_SHA256_BYTES], piecewise[DT_SHA256_BYTES];
    struct dt_sha256 sha;

    dt_sha256_hex("abc", 3, hex);
    CHECK_TEXT(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    dt_sha256_hex("", 0, hex);
    CHECK_TEXT(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    memset(long_text, 'a', sizeof(long_text));
    dt_sha256_init(&sha);
    dt_sha256_add(&sha, long_text, 1001);
    dt_sha256_end(&sha, digest);
    dt_sha256_init(&sha);
    for (size_t i = 0; i < 1001; i += 77)
        dt_sha256_add(&sha, long_text + i, i + 77 < 1001 ? 77 : 1001 - i);
    dt_sha256_end(&sha, piecewise);
    CHECK(memcmp(digest, piecewise, sizeof(digest)) == 0);
}

TEST(err__is_cut_and_never_overrun)
{
    struct dt_err err = {0};
    char long_text[2000];

    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    CHECK_INT(dt_fail(&err, DT_BUSY, "%s", long_text), DT_BUSY);
    CHECK_INT(strlen(err.text), DT_ERR_TEXT_BYTES_MAX - 1);
    dt_hint(&err, "%s", long_text);
    CHECK_INT(strlen(err.hint), DT_ERR_HINT_BYTES_MAX - 1);
    dt_prefix(&err, "%s", long_text);
    CHECK(strlen(err.text) < DT_ERR_TEXT_BYTES_MAX);
    CHECK_INT(dt_fail(NULL, DT_IO, "nobody listens"), DT_IO);
    dt_fail(&err, DT_IO, "second");
    CHECK_TEXT(err.hint, "");
    dt_prefix(&err, "first");
    CHECK_TEXT(err.text, "first: second");
}

TEST(err__every_code_has_its_words)
{
    for (int code = 0; code < DT_CODE_COUNT; code++) {
        CHECK(dt_code_name((enum dt_code)code)[0] != 0);
        CHECK(dt_code_help((enum dt_code)code)[0] != 0);
        CHECK_INT(dt_code_from_name(dt_code_name((enum dt_code)code)), code);
        CHECK(dt_code_http((enum dt_code)code) >= 200);
    }
    CHECK_INT(dt_code_exit(DT_INVALID), 3);
    CHECK_INT(dt_code_exit(DT_UNREACHABLE), 8);
    CHECK_INT(dt_code_from_name("nosuch"), DT_INTERNAL);
}
