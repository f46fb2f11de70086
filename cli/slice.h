/* Values inside JSON text, found without building a tree. */
#ifndef DT_CLI_SLICE_H
#define DT_CLI_SLICE_H

#include "dt/base/base.h"

/* The text of one JSON value, borrowed. Its inside is not checked: dt_json_parse does that. */
struct dt_slice {
    const char *at;
    size_t size;
};

/* The value of a member of a map; false when text is no map or has no such key. A key is compared
 * as written: ours hold no escapes. O(size). */
bool dt_slice_member(struct dt_slice map, const char *key, struct dt_slice *value);

/* The next element of a list; *state begins with 0. false at the end, or when it is no list. */
bool dt_slice_next(struct dt_slice list, size_t *state, struct dt_slice *item);

/* The text of a scalar member of a map: a string decoded, a number or a word as written, cut to
 * size. "" for null, a list or a map, and when there is no such member. Returns text. */
const char *dt_slice_text(struct dt_slice map, const char *key, char *text, size_t size);

#endif
