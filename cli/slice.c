/* Values inside JSON text, found without building a tree. */
#include "slice.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"

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
    size_t at = 1;

    while (at < size) {
        const char *quote = memchr(text + at, '"', size - at);
        size_t end = quote ? (size_t)(quote - text) : size, escapes = 0;

        if (!quote)
            return 0;
        while (end - escapes > at && text[end - escapes - 1] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return end + 1;
        at = end + 1;
    }
    return 0;
}

static size_t container_size(const char *text, size_t size)
{
    size_t at = 0, depth = 0;

    while (at < size) {
        char c = text[at];

        if (c == '"') {
            size_t string = string_size(text + at, size - at);

            if (!string)
                return 0;
            at += string;
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return 0;
}

/* Bytes of the value that begins at text; 0 when it does not end. */
static size_t value_size(const char *text, size_t size)
{
    size_t at = 0;

    if (text[0] == '"')
        return string_size(text, size);
    if (text[0] == '{' || text[0] == '[')
        return container_size(text, size);
    while (at < size && !strchr(",]} \n\t\r", text[at]))
        at++;
    return at;
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

/* A string with escapes, which only the library of JSON reads. */
static void string_decode(struct dt_slice value, char *text, size_t size)
{
    struct dt_tree *tree = NULL;

    if (dt_json_parse(value.at, value.size, &dt_json_limits_wire, &tree, NULL) == DT_OK)
        snprintf(text, size, "%s", tree->text ? tree->text : "");
    dt_tree_free(tree);
}

const char *dt_slice_text(struct dt_slice map, const char *key, char *text, size_t size)
{
    struct dt_slice value;
    size_t n;

    text[0] = 0;
    if (!dt_slice_member(map, key, &value) || value.at[0] == '{' || value.at[0] == '[')
        return text;
    if (value.size == 4 && memcmp(value.at, "null", 4) == 0)
        return text;
    if (value.at[0] == '"' && memchr(value.at, '\\', value.size)) {
        string_decode(value, text, size);
        return text;
    }
    if (value.at[0] == '"')
        value = (struct dt_slice){value.at + 1, value.size - 2};
    n = value.size < size ? value.size : size - 1;
    memcpy(text, value.at, n);
    text[n] = 0;
    return text;
}
