/* Errors as sentences, and the table of their codes. */
#include "dt/base/err.h"

#include <string.h>

#include "test.h"

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
