/* What every file of dt may rely on: memory that never fails, attributes, strict numbers. */
#ifndef DT_BASE_BASE_H
#define DT_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_VERSION "0.1.0"

#define DT_MUST_USE __attribute__((warn_unused_result))
#define DT_PRINTF(format_index, args_index) \
    __attribute__((format(printf, format_index, args_index)))
#define DT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Zeroed memory for count items of size bytes. Never NULL: out of memory aborts the process, so a
 * count that comes from outside is checked against a bound first. The caller frees with dt_free.
 */
void *dt_alloc(size_t count, size_t size);

/* Grow or shrink to count items of size bytes; new bytes are not zeroed. Never NULL. */
void *dt_realloc(void *memory, size_t count, size_t size);

/* A copy of text, owned by the caller; NULL gives NULL. */
char *dt_copy_text(const char *text);

/* A copy of size bytes with a NUL behind them, owned by the caller. */
char *dt_copy_bytes(const void *bytes, size_t size);

/* Free what dt_alloc, dt_realloc or a copy gave; NULL is fine. */
void dt_free(void *memory);

/*
 * A decimal integer, the whole text and nothing else: an optional minus, digits, no leading zeros,
 * no blanks. false when it is not one or lies outside least..most; *value only on success.
 */
DT_MUST_USE bool dt_parse_int(const char *text, int64_t least, int64_t most, int64_t *value);

/* As dt_parse_int for 64-bit numbers without a sign. */
DT_MUST_USE bool dt_parse_u64(const char *text, uint64_t most, uint64_t *value);

/* Text equality that takes NULL: two NULLs are equal. */
bool dt_text_equal(const char *left, const char *right);

#endif
