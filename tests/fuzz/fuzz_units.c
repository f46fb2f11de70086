/* Any text as a duration, size, instant or host list: refused, or written back as itself. */
#include <stdlib.h>
#include <string.h>

#include "dt/base/text.h"
#include "dt/base/units.h"

#define HOSTS_MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_numbers(const char *text)
{
    char back[80];
    int64_t value, again;

    if (dt_parse_duration_ms(text, &value, NULL) == DT_OK) {
        dt_format_duration(value, back, sizeof(back));
        if (dt_parse_duration_ms(back, &again, NULL) || again != value)
            abort();
    }
    if (dt_parse_size_bytes(text, &value, NULL) == DT_OK) {
        dt_format_size(value, back, sizeof(back));
        if (dt_parse_size_bytes(back, &again, NULL) || again != value)
            abort();
    }
    if (dt_parse_instant_ms(text, &value, NULL) == DT_OK) {
        dt_format_instant(value, back, sizeof(back));
        if (dt_parse_instant_ms(back, &again, NULL) || again != value)
            abort();
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void check_hosts(const char *text)
{
    char **names = NULL, **again = NULL;
    size_t count = 0, again_count = 0, unique = 0;
    struct dt_buf folded = {0};

    if (dt_hosts_expand(text, HOSTS_MOST, &names, &count, NULL))
        return;
    dt_hosts_fold(&folded, (const char *const *)names, count);
    if (count && dt_hosts_expand(dt_buf_str(&folded), HOSTS_MOST, &again, &again_count, NULL))
        abort();
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            unique++;
    if (again_count != unique)
        abort();
    qsort(again, again_count, sizeof(*again), by_name);
    for (size_t i = 0, at = 0; i < again_count; i++) {
        if (strcmp(again[i], names[at]) != 0)
            abort();
        for (at++; at < count && strcmp(names[at], names[at - 1]) == 0;)
            at++;
    }
    dt_names_free(names, count);
    dt_names_free(again, again_count);
    dt_buf_release(&folded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = dt_copy_bytes((const char *)data, size);

    check_numbers(text);
    check_hosts(text);
    dt_free(text);
    return 0;
}
