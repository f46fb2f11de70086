/* Durations, sizes and instants. */
#include "dt/base/units.h"

#include <string.h>

#include "test.h"

static void check_duration(const char *text, int64_t ms, const char *canonical)
{
    int64_t value = -1;
    char printed[64];

    CHECK_INT(dt_parse_duration_ms(text, &value, NULL), DT_OK);
    dt_check_int(value, ms, text, __FILE__, __LINE__);
    dt_format_duration(value, printed, sizeof(printed));
    dt_check_text(printed, canonical, text, __FILE__, __LINE__);
}

TEST(duration__reads_and_prints_its_units)
{
    check_duration("90s", 90000, "1m30s");
    check_duration("2h30m", 9000000, "2h30m");
    check_duration("250ms", 250, "250ms");
    check_duration("1d", 86400000, "1d");
    check_duration("0s", 0, "0s");
    check_duration("1s500ms", 1500, "1s500ms");
    check_duration("36h", 129600000, "1d12h");
}

TEST(duration__refuses_the_rest)
{
    static const char *const wrong[] = {"", "5", "4:00", "5 m", "m", "5min", "1m1h", "1s1s", "-5s",
                                        "1.5h", "99999999999999999999d", "9223372036854775807d"};
    struct dt_err err = {0};
    int64_t value = 7;

    for (size_t i = 0; i < DT_COUNT(wrong); i++)
        dt_check_int(dt_parse_duration_ms(wrong[i], &value, &err), DT_INVALID, wrong[i], __FILE__,
                     __LINE__);
    CHECK_INT(value, 7);
    CHECK_INT(dt_parse_duration_ms("15", &value, &err), DT_INVALID);
    CHECK_TEXT(err.hint, "write 15s, 15m or 15h");
}

static void check_size(const char *text, int64_t bytes, const char *canonical)
{
    int64_t value = -1;
    char printed[64];

    CHECK_INT(dt_parse_size_bytes(text, &value, NULL), DT_OK);
    dt_check_int(value, bytes, text, __FILE__, __LINE__);
    dt_format_size(value, printed, sizeof(printed));
    dt_check_text(printed, canonical, text, __FILE__, __LINE__);
}

TEST(size__reads_and_prints_its_units)
{
    check_size("2GiB", 2LL << 30, "2GiB");
    check_size("500MB", 500000000, "500MB");
    check_size("1.5KiB", 1536, "1536B");
    check_size("0B", 0, "0B");
    check_size("1TB", 1000000000000, "1TB");
    check_size("1024KiB", 1 << 20, "1MiB");
}

TEST(size__refuses_the_rest)
{
    static const char *const wrong[] = {"", "5", "5G", "5 GiB", "GiB", "-1GiB", "1.GiB", ".5GiB",
                                        "99999999999GiB", "1.0000000001GiB", "1e3B"};
    int64_t value;

    for (size_t i = 0; i < DT_COUNT(wrong); i++)
        dt_check_int(dt_parse_size_bytes(wrong[i], &value, NULL), DT_INVALID, wrong[i], __FILE__,
                     __LINE__);
}

static void check_instant(const char *text, int64_t ms, const char *canonical)
{
    int64_t value = -1;
    char printed[64];

    CHECK_INT(dt_parse_instant_ms(text, &value, NULL), DT_OK);
    dt_check_int(value, ms, text, __FILE__, __LINE__);
    dt_format_instant(value, printed, sizeof(printed));
    dt_check_text(printed, canonical, text, __FILE__, __LINE__);
}

TEST(instant__reads_offsets_and_leap_days)
{
    check_instant("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z");
    check_instant("2026-12-01T09:00:00+01:00", 1796112000000, "2026-12-01T08:00:00Z");
    check_instant("2024-02-29T23:59:59.5Z", 1709251199500, "2024-02-29T23:59:59.500Z");
    check_instant("1969-12-31T23:59:59Z", -1000, "1969-12-31T23:59:59Z");
}

TEST(instant__refuses_local_times_and_wrong_days)
{
    static const char *const wrong[] = {"2026-12-01T08:00:00", "2026-13-01T08:00:00Z",
                                        "2025-02-29T00:00:00Z", "2026-12-01",
                                        "2026-12-01T24:00:00Z", "2026-12-01T08:00:00Zx",
                                        "2026-12-01T08:00:00.Z"};
    int64_t value;

    for (size_t i = 0; i < DT_COUNT(wrong); i++)
        dt_check_int(dt_parse_instant_ms(wrong[i], &value, NULL), DT_INVALID, wrong[i], __FILE__,
                     __LINE__);
}

TEST(age__has_two_units_at_most)
{
    char text[32];

    dt_format_age(45000, text, sizeof(text));
    CHECK_TEXT(text, "45s");
    dt_format_age(5400000, text, sizeof(text));
    CHECK_TEXT(text, "1h30m");
    dt_format_age(3 * 86400000LL + 7200000, text, sizeof(text));
    CHECK_TEXT(text, "3d2h");
}
