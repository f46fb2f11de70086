/* Text from outside: UTF-8, near misses, host lists. */
#include "dt/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX 64

size_t dt_utf8_next(const char *text, size_t size, uint32_t *point, bool *is_valid)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t length;
    uint32_t value;

    *is_valid = true;
    *point = 0xfffd;
    if (!size)
        return 0;
    if (at[0] < 0x80) {
        *point = at[0];
        return 1;
    }
    *is_valid = false;
    length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > size)
        return 1;
    value = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (at[i] & 0x3f);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 1;
    *is_valid = true;
    *point = value;
    return length;
}

bool dt_utf8_is_valid(const char *text, size_t size)
{
    uint32_t point;
    bool is_valid;

    for (size_t i = 0; i < size;) {
        i += dt_utf8_next(text + i, size - i, &point, &is_valid);
        if (!is_valid)
            return false;
    }
    return true;
}

static int least_of(int a, int b, int c)
{
    int two = a < b ? a : b;

    return two < c ? two : c;
}

int dt_text_distance(const char *left, const char *right, int most)
{
    int rows[3][WORD_BYTES_MAX + 1]; /* two rows back, one back, present */
    size_t m = strlen(left), n = strlen(right);
    int *before = rows[0], *last = rows[1], *row = rows[2];

    if (m > WORD_BYTES_MAX || n > WORD_BYTES_MAX || (m > n ? m - n : n - m) > (size_t)most)
        return most + 1;
    for (size_t j = 0; j <= n; j++)
        last[j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int *spare = before;

        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = least_of(last[j] + 1, row[j - 1] + 1,
                              last[j - 1] + (left[i - 1] != right[j - 1]));
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        before = last;
        last = row;
        row = spare;
    }
    return last[n] > most ? most + 1 : last[n];
}

const char *dt_text_nearest(const char *word, const char *const *words, size_t count)
{
    int most = strlen(word) < 5 ? 1 : 2;
    const char *nearest = NULL;

    for (size_t i = 0; i < count && most >= 0; i++) {
        int distance = dt_text_distance(word, words[i], most);

        if (distance <= most) {
            nearest = words[i];
            most = distance - 1;
        }
    }
    return nearest;
}

void dt_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dt_free(names[i]);
    dt_free(names);
}

/* Names being gathered; fails past most. */
struct hosts {
    char **names;
    size_t count, room, most;
};

static bool hosts_add(struct hosts *hosts, const char *prefix, size_t prefix_size,
                      const char *rest, size_t rest_size)
{
    char name[256];

    if (hosts->count == hosts->most || prefix_size + rest_size >= sizeof(name))
        return false;
    memcpy(name, prefix, prefix_size);
    memcpy(name + prefix_size, rest, rest_size);
    name[prefix_size + rest_size] = 0;
    if (hosts->count == hosts->room) {
        hosts->room = hosts->room ? hosts->room * 2 : 16;
        hosts->names = dt_realloc(hosts->names, hosts->room, sizeof(char *));
    }
    hosts->names[hosts->count++] = dt_copy_text(name);
    return true;
}

/* One element "07" or "01-16" between brackets. */
static bool hosts_range(struct hosts *hosts, const char *prefix, size_t prefix_size,
                        const char *range, size_t size)
{
    char text[32], number[32];
    char *dash, *end;
    unsigned long low, high;
    int width;

    if (!size || size >= sizeof(text))
        return false;
    memcpy(text, range, size);
    text[size] = 0;
    if (strspn(text, "0123456789-") != size)
        return false;
    dash = strchr(text, '-');
    width = dash ? (int)(dash - text) : (int)size;
    low = strtoul(text, &end, 10);
    high = dash ? strtoul(dash + 1, &end, 10) : low;
    if (*end || !width || width > 9 || (dash && (!dash[1] || strchr(dash + 1, '-'))) || high < low)
        return false;
    for (unsigned long i = low; i <= high; i++) {
        int length = snprintf(number, sizeof(number), "%0*lu", width, i);

        if (!hosts_add(hosts, prefix, prefix_size, number, (size_t)length))
            return false;
    }
    return true;
}

static bool is_host_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '-' || c == '_';
}

/* One comma-separated element, brackets included. */
static bool hosts_element(struct hosts *hosts, const char *text, size_t size)
{
    const char *open = memchr(text, '[', size);
    size_t plain = open ? (size_t)(open - text) : size;
    const char *close, *at;

    if (!size)
        return false;
    for (size_t i = 0; i < plain; i++)
        if (!is_host_letter(text[i]))
            return false;
    if (!open)
        return hosts_add(hosts, text, size, "", 0);
    close = memchr(open, ']', size - (size_t)(open - text));
    if (!close || close != text + size - 1)
        return false;
    for (at = open + 1; at <= close;) {
        const char *comma = memchr(at, ',', (size_t)(close - at));
        const char *end = comma ? comma : close;

        if (!hosts_range(hosts, text, (size_t)(open - text), at, (size_t)(end - at)))
            return false;
        at = end + 1;
    }
    return true;
}

enum dt_code dt_hosts_expand(const char *text, size_t most, char ***names, size_t *count,
                             struct dt_err *err)
{
    struct hosts hosts = {.most = most};
    size_t begin = 0, size = strlen(text);
    bool is_in_brackets = false, is_good = true;

    for (size_t i = 0; i <= size && is_good; i++) {
        if (text[i] == '[')
            is_in_brackets = true;
        else if (text[i] == ']')
            is_in_brackets = false;
        if (i < size && (text[i] != ',' || is_in_brackets))
            continue;
        is_good = !is_in_brackets && hosts_element(&hosts, text + begin, i - begin);
        begin = i + 1;
    }
    if (!is_good) {
        dt_names_free(hosts.names, hosts.count);
        dt_fail(err, DT_INVALID, "\"%.100s\" is not a host list of at most %zu names", text, most);
        dt_hint(err, "write gpu-[01-16], gpu-07 or a list of them");
        return DT_INVALID;
    }
    *names = hosts.names;
    *count = hosts.count;
    return DT_OK;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Where the digits at the end of a name begin (at most 9 of them). */
static size_t digits_at(const char *name)
{
    size_t at = strlen(name), end = at;

    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && end - at < 9)
        at--;
    return at;
}

static bool is_next(const char *left, const char *right)
{
    size_t at = digits_at(left);

    return at == digits_at(right) && strlen(left) == strlen(right) && left[at] &&
           strncmp(left, right, at) == 0 &&
           strtoul(left + at, NULL, 10) + 1 == strtoul(right + at, NULL, 10);
}

static bool is_same_group(const char *left, const char *right)
{
    size_t at = digits_at(left);

    return left[at] && right[digits_at(right)] && at == digits_at(right) &&
           strncmp(left, right, at) == 0;
}

/* Append sorted unique names first..end of one prefix as prefix[a-b,c]. */
static void fold_group(struct dt_buf *buf, const char **names, size_t first, size_t end)
{
    size_t at = digits_at(names[first]);

    dt_buf_add(buf, names[first], at);
    dt_buf_byte(buf, '[');
    for (size_t i = first; i < end;) {
        size_t last = i;

        while (last + 1 < end && is_next(names[last], names[last + 1]))
            last++;
        if (i > first)
            dt_buf_byte(buf, ',');
        dt_buf_text(buf, names[i] + at);
        if (last > i)
            dt_buf_print(buf, "-%s", names[last] + at);
        i = last + 1;
    }
    dt_buf_byte(buf, ']');
}

void dt_hosts_fold(struct dt_buf *buf, const char *const *names, size_t count)
{
    const char **sorted = dt_alloc(count, sizeof(char *));
    size_t unique = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = names[i];
    if (count)
        qsort(sorted, count, sizeof(char *), by_text);
    for (size_t i = 0; i < count; i++)
        if (!unique || strcmp(sorted[unique - 1], sorted[i]) != 0)
            sorted[unique++] = sorted[i];
    for (size_t i = 0; i < unique;) {
        size_t end = i + 1;

        while (end < unique && is_same_group(sorted[i], sorted[end]))
            end++;
        if (i)
            dt_buf_byte(buf, ',');
        if (end - i > 1)
            fold_group(buf, sorted, i, end);
        else
            dt_buf_text(buf, sorted[i]);
        i = end;
    }
    dt_free(sorted);
}
