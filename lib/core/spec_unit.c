/* Advice on durations, sizes and instants that could not be read: their likely meanings. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/units.h"

/* "four minutes" as Slurm counts; digits above twelve. */
static void number_print(struct dt_buf *buf, int64_t number, const char *unit)
{
    static const char *const words[] = {"no", "one", "two", "three", "four", "five", "six",
                                        "seven", "eight", "nine", "ten", "eleven", "twelve"};

    if (number >= 0 && number < (int64_t)DT_COUNT(words))
        dt_buf_print(buf, "%s %s%s", words[number], unit, number == 1 ? "" : "s");
    else
        dt_buf_print(buf, "%lld %ss", (long long)number, unit);
}

/* Up to three numbers between colons, each at most 6 digits; returns how many, 0 = no such text. */
static int colon_numbers(const char *text, int64_t number[3])
{
    int count = 0;

    for (;; text++) {
        size_t digits = strspn(text, "0123456789");

        if (!digits || digits > 6 || count == 3)
            return 0;
        number[count] = 0;
        for (; digits; digits--, text++)
            number[count] = number[count] * 10 + (*text - '0');
        count++;
        if (!*text)
            return count;
        if (*text != ':')
            return 0;
    }
}

static void two_units(struct dt_buf *buf, int64_t first, int64_t second, const char *units)
{
    if (first || !second)
        dt_buf_print(buf, "%lld%c", (long long)first, units[0]);
    if (second)
        dt_buf_print(buf, "%lld%c", (long long)second, units[1]);
}

/* 4:00 and 1:30:00: what they may mean, and what Slurm would make of them. */
static void colon_help(struct dt_buf *help, const char *text, const int64_t number[3], int count)
{
    dt_buf_text(help, "write ");
    if (count == 2) {
        two_units(help, number[0], number[1], "ms");
        dt_buf_text(help, " or ");
        two_units(help, number[0], number[1], "hm");
        dt_buf_print(help, "  (Slurm would read %s as ", text);
        number_print(help, number[0], "minute");
        if (number[1]) {
            dt_buf_text(help, " and ");
            number_print(help, number[1], "second");
        }
        dt_buf_byte(help, ')');
    } else {
        if (number[0])
            dt_buf_print(help, "%lldh", (long long)number[0]);
        if (number[1] || number[2] || !number[0])
            two_units(help, number[1], number[2], "ms");
        dt_buf_print(help, "  (hours, minutes and seconds, as Slurm would read %s)", text);
    }
}

static void value_text(const struct dt_tree *node, char *text, size_t size)
{
    if (node->kind == DT_TREE_INT)
        snprintf(text, size, "%lld", (long long)node->int_value);
    else
        snprintf(text, size, "%.60s", node->text ? node->text : "");
}

static void duration_problem(struct dt_problem *problem, const struct dt_spec_field *field,
                             const char *text)
{
    struct dt_buf help = {0};
    int64_t number[3] = {0}, value;
    int count = colon_numbers(text, number);
    char low[64], high[64];

    if (count == 1) {
        dt_problem_text(problem, "%s needs a unit", problem->path);
        dt_problem_help(problem, field->object ? "write %ss, %sm, %sh or {steps: %s}"
                                               : "write %ss, %sm or %sh", text, text, text, text);
    } else if (count) {
        dt_problem_text(problem, "%s needs a unit", problem->path);
        colon_help(&help, text, number, count);
        dt_problem_help(problem, "%s", dt_buf_str(&help));
    } else if (dt_parse_duration_ms(text, &value, NULL) == DT_OK) {
        dt_format_duration(field->least, low, sizeof(low));
        dt_format_duration(field->most, high, sizeof(high));
        snprintf(problem->code, sizeof(problem->code), "spec.range");
        dt_problem_text(problem, "%s must be %s to %s, found %s", problem->path, low, high, text);
        return;
    } else {
        snprintf(problem->code, sizeof(problem->code), "spec.duration");
        dt_problem_text(problem, "%s: \"%s\" is not a duration", problem->path, text);
        dt_problem_help(problem, "units are ms s m h d, the largest first: 90s, 15m, 2h30m, 1d");
        if (field->types & DT_SPEC_WORD) {
            dt_buf_text(&help, "write a duration such as 15m, or ");
            dt_spec_words_print(&help, field->words);
            dt_problem_help(problem, "%s", dt_buf_str(&help));
        }
    }
    dt_buf_release(&help);
}

static void size_problem(struct dt_problem *problem, const struct dt_spec_field *field,
                         const char *text)
{
    static const char *const wrong[][2] = {
        {"K", "KiB"}, {"M", "MiB"}, {"G", "GiB"}, {"T", "TiB"}, {"k", "KiB"}, {"kB", "KB"},
        {"kb", "KB"}, {"Mb", "MB"}, {"mb", "MB"}, {"Gb", "GB"}, {"gb", "GB"}, {"Ki", "KiB"},
        {"Mi", "MiB"}, {"Gi", "GiB"}, {"Ti", "TiB"}, {"g", "GiB"}, {"m", "MiB"},
    };
    size_t digits = strspn(text, "0123456789.");
    int64_t value;
    char low[64], high[64];

    if (digits && !text[digits]) {
        snprintf(problem->code, sizeof(problem->code), "spec.size-unit");
        dt_problem_text(problem, "%s needs a unit", problem->path);
        dt_problem_help(problem, "write %sMiB or %sGiB  (Slurm would read %s as MiB)", text, text,
                        text);
        return;
    }
    if (dt_parse_size_bytes(text, &value, NULL) == DT_OK) {
        dt_format_size(field->least, low, sizeof(low));
        dt_format_size(field->most, high, sizeof(high));
        snprintf(problem->code, sizeof(problem->code), "spec.range");
        dt_problem_text(problem, "%s must be %s to %s, found %s", problem->path, low, high, text);
        return;
    }
    snprintf(problem->code, sizeof(problem->code), "spec.size");
    dt_problem_text(problem, "%s: \"%s\" is not a size", problem->path, text);
    dt_problem_help(problem, "units are B KB MB GB TB and KiB MiB GiB TiB: 512MiB, 900GiB");
    for (size_t i = 0; digits && i < DT_COUNT(wrong); i++) {
        char right[96];

        if (strcmp(text + digits, wrong[i][0]) != 0)
            continue;
        snprintf(right, sizeof(right), "%.*s%s", (int)digits, text, wrong[i][1]);
        dt_problem_replace(problem, right);
        dt_problem_help(problem, "did you mean \"%s\"?", right);
    }
}

static void instant_problem(struct dt_problem *problem, const char *text)
{
    char with_offset[96];
    int64_t value;

    snprintf(with_offset, sizeof(with_offset), "%sZ", text);
    if (dt_parse_instant_ms(with_offset, &value, NULL) == DT_OK) {
        snprintf(problem->code, sizeof(problem->code), "spec.instant-offset");
        dt_problem_text(problem, "%s needs an offset from UTC", problem->path);
        dt_problem_help(problem, "write %sZ for UTC, or %s+01:00", text, text);
        return;
    }
    snprintf(problem->code, sizeof(problem->code), "spec.instant");
    dt_problem_text(problem, "%s: \"%s\" is not an instant", problem->path, text);
    dt_problem_help(problem, "write RFC 3339 with an offset: 2026-12-01T08:00:00Z");
}

void dt_spec_unit_problem(struct dt_problems *problems, const char *path,
                          const struct dt_spec_field *field, const struct dt_tree *node)
{
    struct dt_problem *problem = dt_problem_add(problems, path, "spec.duration-unit", node->at);
    char text[64];

    value_text(node, text, sizeof(text));
    if (field->types & DT_SPEC_DURATION)
        duration_problem(problem, field, text);
    else if (field->types & DT_SPEC_SIZE)
        size_problem(problem, field, text);
    else
        instant_problem(problem, text);
}
