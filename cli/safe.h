/* Text from users and ranks made harmless for a terminal. */
#ifndef DT_CLI_SAFE_H
#define DT_CLI_SAFE_H

#include "dt/base/buf.h"

/*
 * Append text with everything that could move a cursor, start an escape sequence or reorder
 * letters written as \xNN or \u{NNNN}: C0 but tab (and newline when keeps_lines), DEL, C1, bidi
 * and zero-width controls, line and paragraph separators, invalid UTF-8.
 */
void dt_safe_add(struct dt_buf *buf, const char *text, size_t size, bool keeps_lines);

#endif
