/* Text from outside: UTF-8, near misses, host lists. */
#ifndef DT_BASE_TEXT_H
#define DT_BASE_TEXT_H

#include "dt/base/buf.h"
#include "dt/base/err.h"

/*
 * Decode the character at text (size bytes left). Returns its length in bytes and stores the code
 * point; an invalid byte returns 1 and U+FFFD with *is_valid false. size 0 returns 0.
 */
size_t dt_utf8_next(const char *text, size_t size, uint32_t *point, bool *is_valid);

/* All of it is valid UTF-8 (no surrogates, no overlong forms). */
bool dt_utf8_is_valid(const char *text, size_t size);

/* Damerau-Levenshtein distance (adjacent swaps), cut off at most+1. Both texts <= 64 bytes, else
 * most+1. */
int dt_text_distance(const char *left, const char *right, int most);

/*
 * The nearest of count words to word: distance <= 2, <= 1 for words under 5 letters; the first of
 * equals. NULL when none is near. Words are borrowed.
 */
const char *dt_text_nearest(const char *word, const char *const *words, size_t count);

/*
 * Expand "gpu-[01-03,7],a" into names, width kept. names receives count owned texts in order.
 * DT_INVALID for a bad range or more than most names. The caller frees with dt_names_free.
 */
DT_MUST_USE enum dt_code dt_hosts_expand(const char *text, size_t most, char ***names,
                                         size_t *count, struct dt_err *err);

/* Fold names (any order; sorted and made unique first) into the shortest such text. */
void dt_hosts_fold(struct dt_buf *buf, const char *const *names, size_t count);

/* Free count owned texts and the array. */
void dt_names_free(char **names, size_t count);

#endif
