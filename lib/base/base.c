/* Memory that never fails and numbers read strictly. */
#include "dt/base/base.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *dt_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);

    if (!memory)
        abort();
    return memory;
}

void *dt_realloc(void *memory, size_t count, size_t size)
{
    size_t bytes;
    void *grown;

    if (__builtin_mul_overflow(count, size, &bytes))
        abort();
    grown = realloc(memory, bytes ? bytes : 1);
    if (!grown)
        abort();
    return grown;
}

char *dt_copy_bytes(const void *bytes, size_t size)
{
    char *copy;

    assert(size < SIZE_MAX);
    copy = dt_alloc(size + 1, 1);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

char *dt_copy_text(const char *text)
{
    return text ? dt_copy_bytes(text, strlen(text)) : NULL;
}

void dt_free(void *memory)
{
    free(memory);
}

/* Only digits, no leading zero before another digit. */
static bool is_plain_number(const char *text)
{
    if (!*text || (text[0] == '0' && text[1]))
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9')
            return false;
    return true;
}

bool dt_parse_int(const char *text, int64_t least, int64_t most, int64_t *value)
{
    long long number;

    if (!text || !is_plain_number(text[0] == '-' ? text + 1 : text))
        return false;
    if (text[0] == '-' && text[1] == '0')
        return false;
    errno = 0;
    number = strtoll(text, NULL, 10);
    if (errno || number < least || number > most)
        return false;
    *value = number;
    return true;
}

bool dt_parse_u64(const char *text, uint64_t most, uint64_t *value)
{
    unsigned long long number;

    if (!text || !is_plain_number(text))
        return false;
    errno = 0;
    number = strtoull(text, NULL, 10);
    if (errno || number > most)
        return false;
    *value = number;
    return true;
}

bool dt_text_equal(const char *left, const char *right)
{
    if (!left || !right)
        return left == right;
    return strcmp(left, right) == 0;
}
