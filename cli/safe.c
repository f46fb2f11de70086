/* Text from users and ranks made harmless for a terminal. */
#include "safe.h"

#include "dt/base/text.h"

static bool is_harmless(uint32_t point, bool keeps_lines)
{
    if (point < 0x20)
        return point == '\t' || (keeps_lines && point == '\n');
    if (point >= 0x7f && point < 0xa0)
        return false;
    if (point == 0x61c || (point >= 0x200b && point <= 0x200f))
        return false; /* zero width, left-to-right and right-to-left marks */
    if (point >= 0x2028 && point <= 0x202e)
        return false; /* separators, embeddings, overrides */
    if (point >= 0x2060 && point <= 0x206f)
        return false; /* isolates, invisible operators */
    return point != 0xfeff && !(point >= 0xfff9 && point <= 0xfffb) &&
           !(point >= 0xe0000 && point <= 0xe007f);
}

void dt_safe_add(struct dt_buf *buf, const char *text, size_t size, bool keeps_lines)
{
    while (size > 0) {
        uint32_t point;
        bool is_valid = true;
        size_t length = dt_utf8_next(text, size, &point, &is_valid);

        if (is_valid && is_harmless(point, keeps_lines))
            dt_buf_add(buf, text, length);
        else if (is_valid && point >= 0x80)
            dt_buf_print(buf, "\\u{%x}", (unsigned)point);
        else
            dt_buf_print(buf, "\\x%02x", (unsigned)(unsigned char)*text);
        text += length;
        size -= length;
    }
}
