/* Values inside JSON text, found without building a tree. */
#include "slice.h"

#include <string.h>

static size_t blanks(const char *text, size_t size)
{
    size_t at = 0;

    while (at < size && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' ||
                         text[at] == '\r'))
        at++;
    return at;
}

/* Bytes of the string that begins at text; 0 when it does not end. */
static size_t string_size(const char *text, size_t size)
{
    for (size_t at = 1; at < size; at++) {
        if (text[at] == '\\')
            at++;
        else if (text[at] == '"')
            return at + 1;
    }
    return 0;
}

/* Bytes of the value that begins at text; 0 when it does not end. */
static size_t value_size(const char *text, size_t size)
{
    size_t at = 0, depth = 0;

    do {
        if (text[at] == '"') {
            size_t string = string_size(text + at, size - at);

            if (!string)
                return 0;
            at += string;
            continue;
        }
        if (text[at] == '{' || text[at] == '[') {
            depth++;
        } else if (text[at] == '}' || text[at] == ']') {
            if (!depth)
                return at; /* of the container: a scalar ended before it */
            depth--;
            if (!depth)
                return at + 1;
        } else if (!depth && (text[at] == ',' || blanks(text + at, 1))) {
            return at;
        }
        at++;
    } while (at < size && (depth || text[0] != '"'));
    return depth ? 0 : at;
}

/* Step over blanks and a comma. */
static size_t separator(const char *text, size_t size)
{
    size_t at = blanks(text, size);

    if (at < size && text[at] == ',')
        at += 1 + blanks(text + at + 1, size - at - 1);
    return at;
}

bool dt_slice_member(struct dt_slice map, const char *key, struct dt_slice *value)
{
    size_t at = blanks(map.at, map.size), key_size = strlen(key);

    if (at >= map.size || map.at[at++] != '{')
        return false;
    at += blanks(map.at + at, map.size - at);
    while (at < map.size && map.at[at] == '"') {
        const char *name = map.at + at + 1;
        size_t string = string_size(map.at + at, map.size - at), size;

        if (!string)
            return false;
        at += string;
        at += blanks(map.at + at, map.size - at);
        if (at >= map.size || map.at[at++] != ':')
            return false;
        at += blanks(map.at + at, map.size - at);
        if (at >= map.size || !(size = value_size(map.at + at, map.size - at)))
            return false;
        if (string == key_size + 2 && memcmp(name, key, key_size) == 0) {
            *value = (struct dt_slice){map.at + at, size};
            return true;
        }
        at += size;
        at += separator(map.at + at, map.size - at);
    }
    return false;
}

bool dt_slice_next(struct dt_slice list, size_t *state, struct dt_slice *item)
{
    size_t at = *state, size;

    if (!at) {
        at = blanks(list.at, list.size);
        if (at >= list.size || list.at[at++] != '[')
            return false;
        at += blanks(list.at + at, list.size - at);
    }
    if (at >= list.size || list.at[at] == ']' ||
        !(size = value_size(list.at + at, list.size - at)))
        return false;
    *item = (struct dt_slice){list.at + at, size};
    at += size;
    *state = at + separator(list.at + at, list.size - at);
    return true;
}
