/* Any bytes as an HTTP answer: read or refused the same way whole and byte by byte. */
#include <stdlib.h>
#include <string.h>

#include "http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum dt_code read_all(struct dt_http *http, const char *bytes, size_t size, size_t piece)
{
    size_t at = 0;

    http->body_bytes_max = 65536;
    while (at < size && http->at != DT_HTTP_DONE) {
        size_t want = size - at < piece ? size - at : piece, used = 0;
        enum dt_code code = dt_http_feed(http, bytes + at, want, &used, NULL);

        if (used > want)
            abort();
        if (code)
            return code;
        at += used;
    }
    return http->at == DT_HTTP_DONE ? DT_OK : dt_http_end(http, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_http whole = {0}, single = {0};
    enum dt_code code = read_all(&whole, (const char *)data, size, size ? size : 1);

    if (code != read_all(&single, (const char *)data, size, 1))
        abort();
    if (!code && (whole.status != single.status || whole.body.size != single.body.size ||
                  memcmp(dt_buf_str(&whole.body), dt_buf_str(&single.body), whole.body.size) != 0))
        abort();
    dt_http_release(&whole);
    dt_http_release(&single);
    return 0;
}
