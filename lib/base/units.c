/* Durations, sizes and instants as people write them. */
#include "dt/base/units.h"

#include <stdio.h>
#include <string.h>

static const struct { const char *name; int64_t ms; } duration_rows[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* Formatting takes the largest that divides. */
static const struct { const char *name; int64_t bytes; } size_rows[] = {
    {"PiB", 1LL << 50}, {"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20},
    {"KiB", 1LL << 10}, {"PB", 1000000000000000}, {"TB", 1000000000000}, {"GB", 1000000000},
    {"MB", 1000000}, {"KB", 1000}, {"B", 1},
};

/* Digits at *text into *number; false on overflow or none. */
static bool take_digits(const char **text, int64_t *number)
{
    const char *begin = *text;

    *number = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, **text - '0', number))
            return false;
    return *text != begin;
}

static enum dt_code duration_refuse(const char *text, struct dt_err *err)
{
    size_t digits = strspn(text, "0123456789");

    if (digits && !text[digits]) {
        dt_fail(err, DT_INVALID, "\"%.60s\" needs a unit", text);
        dt_hint(err, "write %.20ss, %.20sm or %.20sh", text, text, text);
    } else if (digits && strspn(text, "0123456789:") == strlen(text)) {
        dt_fail(err, DT_INVALID, "\"%.60s\" needs a unit", text);
        dt_hint(err, "write %.*sm or %.*sh  (Slurm would read %.20s as %s)", (int)digits, text,
                (int)digits, text, text,
                strchr(text, ':') == strrchr(text, ':') ? "minutes and seconds"
                                                        : "hours, minutes and seconds");
    } else {
        dt_fail(err, DT_INVALID, "\"%.60s\" is not a duration", text);
        dt_hint(err, "write a number with a unit: 90s, 15m, 2h30m, 1d, 250ms");
    }
    return DT_INVALID;
}

enum dt_code dt_parse_duration_ms(const char *text, int64_t *ms, struct dt_err *err)
{
    const char *at = text;
    int64_t total = 0;
    size_t next_row = 0; /* units must get smaller */

    if (!*text)
        return duration_refuse(text, err);
    while (*at) {
        int64_t number;
        size_t row, length;

        if (!take_digits(&at, &number))
            return duration_refuse(text, err);
        length = strspn(at, "dhms");
        for (row = next_row; row < DT_COUNT(duration_rows); row++)
            if (strlen(duration_rows[row].name) == length &&
                strncmp(duration_rows[row].name, at, length) == 0)
                break;
        if (row == DT_COUNT(duration_rows) ||
            __builtin_mul_overflow(number, duration_rows[row].ms, &number) ||
            __builtin_add_overflow(total, number, &total))
            return duration_refuse(text, err);
        at += length;
        next_row = row + 1;
    }
    *ms = total;
    return DT_OK;
}

/* A decimal fraction ".5" of one unit, exact to 9 digits; *bytes grows by it. */
static bool take_fraction(const char **at, int64_t unit_bytes, int64_t *bytes)
{
    __int128 part = 0, scale = 1;
    const char *begin = ++*at;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (*at - begin == 9)
            return false;
        part = part * 10 + (**at - '0');
        scale *= 10;
    }
    part = part * unit_bytes;
    if (*at == begin || part % scale != 0)
        return false;
    return !__builtin_add_overflow(*bytes, (int64_t)(part / scale), bytes);
}

static enum dt_code size_refuse(const char *text, struct dt_err *err)
{
    size_t digits = strspn(text, "0123456789");

    if (digits && !text[digits]) {
        dt_fail(err, DT_INVALID, "\"%.60s\" needs a unit", text);
        dt_hint(err, "write %.20sMiB or %.20sGiB", text, text);
    } else {
        dt_fail(err, DT_INVALID, "\"%.60s\" is not a size", text);
        dt_hint(err, "write a number with B KB MB GB TB or KiB MiB GiB TiB: 512MiB, 900GiB");
    }
    return DT_INVALID;
}

enum dt_code dt_parse_size_bytes(const char *text, int64_t *bytes, struct dt_err *err)
{
    const char *at = text, *fraction;
    const char *unit = text + strspn(text, "0123456789.");
    int64_t whole, total;

    for (size_t row = 0; row < DT_COUNT(size_rows); row++) {
        if (strcmp(size_rows[row].name, unit) != 0)
            continue;
        if (!take_digits(&at, &whole) ||
            __builtin_mul_overflow(whole, size_rows[row].bytes, &total))
            break;
        fraction = at;
        if (*fraction == '.' && !take_fraction(&at, size_rows[row].bytes, &total))
            break;
        if (at != unit)
            break;
        *bytes = total;
        return DT_OK;
    }
    return size_refuse(text, err);
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t era, of_era, of_year;

    year -= month <= 2;
    era = (year >= 0 ? year : year - 399) / 400;
    of_era = year - era * 400;
    of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    int64_t era, of_era, years, of_year, shifted;

    days += 719468;
    era = (days >= 0 ? days : days - 146096) / 146097;
    of_era = days - era * 146097;
    years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    of_year = of_era - (365 * years + years / 4 - years / 100);
    shifted = (5 * of_year + 2) / 153;
    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = years + era * 400 + (*month <= 2);
}

/* Exactly width digits at *at. */
static bool take_fixed(const char **at, int width, int64_t *number)
{
    *number = 0;
    for (int i = 0; i < width; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (**at - '0');
    }
    return true;
}

static bool take_char(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* "Z" or "+hh:mm" into minutes. */
static bool take_offset(const char **at, int64_t *minutes)
{
    int64_t hours, rest;
    int sign = **at == '-' ? -1 : 1;

    *minutes = 0;
    if (take_char(at, 'Z') || take_char(at, 'z'))
        return true;
    if (**at != '+' && **at != '-')
        return false;
    (*at)++;
    if (!take_fixed(at, 2, &hours) || !take_char(at, ':') || !take_fixed(at, 2, &rest) ||
        hours > 23 || rest > 59)
        return false;
    *minutes = sign * (hours * 60 + rest);
    return true;
}

enum dt_code dt_parse_instant_ms(const char *text, int64_t *ms, struct dt_err *err)
{
    static const int64_t month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *at = text;
    int64_t y, mo, d, h, mi, s, offset, fraction = 0;

    if (!take_fixed(&at, 4, &y) || !take_char(&at, '-') || !take_fixed(&at, 2, &mo) ||
        !take_char(&at, '-') || !take_fixed(&at, 2, &d) ||
        (!take_char(&at, 'T') && !take_char(&at, 't') && !take_char(&at, ' ')) ||
        !take_fixed(&at, 2, &h) || !take_char(&at, ':') || !take_fixed(&at, 2, &mi) ||
        !take_char(&at, ':') || !take_fixed(&at, 2, &s) || mo < 1 || mo > 12 || d < 1 ||
        d > month_days[mo - 1] || h > 23 || mi > 59 || s > 59)
        goto refuse;
    if (mo == 2 && d == 29 && (y % 4 != 0 || (y % 100 == 0 && y % 400 != 0)))
        goto refuse;
    if (take_char(&at, '.')) {
        int digits = 0;

        for (; *at >= '0' && *at <= '9'; at++, digits++)
            if (digits < 3)
                fraction = fraction * 10 + (*at - '0');
        if (!digits)
            goto refuse;
        for (; digits < 3; digits++)
            fraction *= 10;
    }
    if (!take_offset(&at, &offset) || *at)
        goto refuse;
    *ms = (days_of(y, mo, d) * 86400 + h * 3600 + mi * 60 + s - offset * 60) * 1000 + fraction;
    return DT_OK;
refuse:
    dt_fail(err, DT_INVALID, "\"%.60s\" is not an instant with an offset", text);
    dt_hint(err, "write RFC 3339: 2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00");
    return DT_INVALID;
}

void dt_format_duration(int64_t ms, char *text, size_t size)
{
    size_t used = 0;

    if (ms <= 0) {
        snprintf(text, size, "0s");
        return;
    }
    text[0] = 0;
    for (size_t row = 0; row < DT_COUNT(duration_rows) && used < size; row++) {
        int64_t count = ms / duration_rows[row].ms;

        ms %= duration_rows[row].ms;
        if (count)
            used += (size_t)snprintf(text + used, size - used, "%lld%s", (long long)count,
                                     duration_rows[row].name);
    }
}

void dt_format_size(int64_t bytes, char *text, size_t size)
{
    size_t best = DT_COUNT(size_rows) - 1; /* bytes */

    for (size_t row = 0; row < DT_COUNT(size_rows); row++)
        if (bytes && bytes % size_rows[row].bytes == 0 &&
            size_rows[row].bytes > size_rows[best].bytes)
            best = row;
    snprintf(text, size, "%lld%s", (long long)(bytes / size_rows[best].bytes),
             size_rows[best].name);
}

void dt_format_instant(int64_t ms, char *text, size_t size)
{
    int64_t days = ms / 86400000, rest = ms % 86400000, year, month, day;
    int used;

    if (rest < 0) {
        rest += 86400000;
        days--;
    }
    date_of(days, &year, &month, &day);
    used = snprintf(text, size, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld", (long long)year,
                    (long long)month, (long long)day, (long long)(rest / 3600000),
                    (long long)(rest / 60000 % 60), (long long)(rest / 1000 % 60));
    if (used < 0 || (size_t)used >= size)
        return;
    if (rest % 1000)
        snprintf(text + used, size - (size_t)used, ".%03lldZ", (long long)(rest % 1000));
    else
        snprintf(text + used, size - (size_t)used, "Z");
}

void dt_format_age(int64_t ms, char *text, size_t size)
{
    int64_t s = ms < 0 ? 0 : ms / 1000;

    if (s < 60)
        snprintf(text, size, "%llds", (long long)s);
    else if (s < 3600)
        snprintf(text, size, "%lldm%llds", (long long)(s / 60), (long long)(s % 60));
    else if (s < 86400)
        snprintf(text, size, "%lldh%lldm", (long long)(s / 3600), (long long)(s / 60 % 60));
    else
        snprintf(text, size, "%lldd%lldh", (long long)(s / 86400), (long long)(s / 3600 % 24));
}
