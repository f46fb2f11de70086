/* Durations, sizes and instants as people write them (job.md section 1). */
#ifndef DT_BASE_UNITS_H
#define DT_BASE_UNITS_H

#include "dt/base/err.h"

/* "2h30m", "90s", "250ms": units ms s m h d, each at most once, largest first. DT_INVALID with the
 * likely meanings in the hint for a bare number or a colon form. */
DT_MUST_USE enum dt_code dt_parse_duration_ms(const char *text, int64_t *ms, struct dt_err *err);

/* "8GiB", "500MB": B KB MB GB TB PB (decimal), KiB MiB GiB TiB PiB (binary), an integer or a
 * decimal fraction before the unit; a bare number is DT_INVALID with a hint. */
DT_MUST_USE enum dt_code dt_parse_size_bytes(const char *text, int64_t *bytes,
                                             struct dt_err *err);

/* RFC 3339 with offset to milliseconds since 1970 UTC; without an offset DT_INVALID. */
DT_MUST_USE enum dt_code dt_parse_instant_ms(const char *text, int64_t *ms, struct dt_err *err);

/* Shortest exact form, such as "1h30m" or "0s"; buffer of 64 bytes is enough. */
void dt_format_duration(int64_t ms, char *text, size_t size);

/* Shortest exact form, such as "2GiB", "1TB" or "1500B". */
void dt_format_size(int64_t bytes, char *text, size_t size);

/* "2026-12-01T08:00:12.345Z" (milliseconds left out when zero); 32 bytes are enough. */
void dt_format_instant(int64_t ms, char *text, size_t size);

/* For tables: two digits of precision at most, such as "1h30m", "45s", "3d2h". */
void dt_format_age(int64_t ms, char *text, size_t size);

#endif
