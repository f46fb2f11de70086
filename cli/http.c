/* HTTP/1.1 as bytes: writing a request, reading one answer that arrives in any pieces. */
#include "http.h"

#include <string.h>
#include <strings.h>

#define BODY_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define LINE_BYTES_MAX 1024

void dt_http_write(struct dt_buf *buf, const struct dt_call *call, const char *host,
                   const char *authorization)
{
    dt_buf_print(buf, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n",
                 call->method, call->path, host);
    if (authorization)
        dt_buf_print(buf, "Authorization: %s\r\n", authorization);
    if (call->key)
        dt_buf_print(buf, "Idempotency-Key: %s\r\n", call->key);
    if (call->body || strcmp(call->method, "GET") != 0)
        dt_buf_print(buf, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                     call->body ? call->body_size : 0);
    dt_buf_text(buf, "\r\n");
    if (call->body)
        dt_buf_add(buf, call->body, call->body_size);
}

bool dt_http_header(const struct dt_buf *head, const char *name, char *text, size_t size)
{
    const char *line = dt_buf_str(head);
    size_t name_size = strlen(name);

    while ((line = strchr(line, '\n'))) {
        const char *value = line + 1 + name_size;
        size_t length;

        line++;
        if (strncasecmp(line, name, name_size) != 0 || *value != ':')
            continue;
        value++;
        value += strspn(value, " \t");
        length = strcspn(value, "\r\n");
        if (length >= size)
            length = size - 1;
        memcpy(text, value, length);
        text[length] = 0;
        return true;
    }
    return false;
}

static enum dt_code head_status(struct dt_http *http, struct dt_err *err)
{
    const char *head = dt_buf_str(&http->head);
    char digits[4] = {0};
    int64_t status;

    if (strncmp(head, "HTTP/1.", 7) != 0 || strlen(head) < 12 || head[8] != ' ')
        return dt_fail(err, DT_CORRUPT, "the answer is not HTTP/1.1");
    memcpy(digits, head + 9, 3);
    if (!dt_parse_int(digits, 100, 599, &status))
        return dt_fail(err, DT_CORRUPT, "the answer has no HTTP status");
    http->status = (int)status;
    http->is_closing = head[7] == '0';
    return DT_OK;
}

/* What kind of body follows the complete head? */
static enum dt_code head_finish(struct dt_http *http, struct dt_err *err)
{
    enum dt_code code = head_status(http, err);
    char value[64];

    if (code)
        return code;
    if (http->status < 200) { /* an interim answer: the real one follows */
        dt_buf_clear(&http->head);
        return DT_OK;
    }
    if (dt_http_header(&http->head, "Connection", value, sizeof(value)))
        http->is_closing = strcasecmp(value, "keep-alive") != 0;
    if (http->status == 204 || http->status == 304) {
        http->at = DT_HTTP_DONE;
    } else if (dt_http_header(&http->head, "Transfer-Encoding", value, sizeof(value))) {
        if (strcasecmp(value, "chunked") != 0)
            return dt_fail(err, DT_CORRUPT, "unknown transfer encoding in the answer");
        http->at = DT_HTTP_CHUNK_SIZE;
    } else if (dt_http_header(&http->head, "Content-Length", value, sizeof(value))) {
        if (!dt_parse_u64(value, UINT64_MAX, &http->left))
            return dt_fail(err, DT_CORRUPT, "the answer's Content-Length is not a number");
        http->at = http->left ? DT_HTTP_LENGTH : DT_HTTP_DONE;
    } else {
        http->at = DT_HTTP_TO_END;
        http->is_closing = true;
    }
    return DT_OK;
}

static bool head_is_complete(const struct dt_buf *head)
{
    size_t size = head->size;

    return (size >= 4 && memcmp(head->data + size - 4, "\r\n\r\n", 4) == 0) ||
           (size >= 2 && memcmp(head->data + size - 2, "\n\n", 2) == 0);
}

/* Append bytes up to and with a line end; true when the line is complete. */
static bool line_take(struct dt_buf *line, const char *bytes, size_t size, size_t *took)
{
    const char *end = memchr(bytes, '\n', size);

    *took = end ? (size_t)(end - bytes) + 1 : size;
    dt_buf_add(line, bytes, *took);
    return end != NULL;
}

static enum dt_code head_feed(struct dt_http *http, const char *bytes, size_t size, size_t *took,
                              struct dt_err *err)
{
    bool is_line = line_take(&http->head, bytes, size, took);

    if (http->head.size > DT_HTTP_HEAD_BYTES_MAX)
        return dt_fail(err, DT_INVALID, "the answer's header exceeds %d bytes",
                       DT_HTTP_HEAD_BYTES_MAX);
    if (memchr(http->head.data + http->head.size - *took, 0, *took))
        return dt_fail(err, DT_CORRUPT, "a zero byte in the answer's header");
    if (is_line && head_is_complete(&http->head))
        return head_finish(http, err);
    return DT_OK;
}

static enum dt_code chunk_begin(struct dt_http *http, struct dt_err *err)
{
    const char *line = dt_buf_str(&http->line);
    uint64_t size = 0;
    int digits = 0;

    for (; *line && strchr("0123456789abcdefABCDEF", *line); line++, digits++) {
        int value = *line <= '9' ? *line - '0' : (*line | 32) - 'a' + 10;

        if (digits >= 15)
            return dt_fail(err, DT_CORRUPT, "a chunk of the answer is too long");
        size = size * 16 + (uint64_t)value;
    }
    if (!digits || !strchr("\r\n; ", *line))
        return dt_fail(err, DT_CORRUPT, "a chunk of the answer has no size");
    http->left = size;
    http->at = size ? DT_HTTP_CHUNK : DT_HTTP_TRAILER;
    return DT_OK;
}

/* Lines of the chunked form: size lines, the empty line behind a chunk, trailers. */
static enum dt_code line_feed(struct dt_http *http, const char *bytes, size_t size, size_t *took,
                              struct dt_err *err)
{
    enum dt_code code = DT_OK;
    bool is_line = line_take(&http->line, bytes, size, took);
    bool is_empty = is_line && strspn(dt_buf_str(&http->line), "\r\n") == http->line.size;

    if (http->line.size > LINE_BYTES_MAX)
        return dt_fail(err, DT_CORRUPT, "a line of the chunked answer is too long");
    if (!is_line)
        return DT_OK;
    if (http->at == DT_HTTP_CHUNK_SIZE)
        code = chunk_begin(http, err);
    else if (http->at == DT_HTTP_CHUNK_END && is_empty)
        http->at = DT_HTTP_CHUNK_SIZE;
    else if (http->at == DT_HTTP_CHUNK_END)
        code = dt_fail(err, DT_CORRUPT, "a chunk of the answer does not end where it should");
    else if (is_empty)
        http->at = DT_HTTP_DONE;
    dt_buf_clear(&http->line);
    return code;
}

static enum dt_code body_feed(struct dt_http *http, const char *bytes, size_t size, size_t *took,
                              struct dt_err *err)
{
    size_t most = http->body_bytes_max ? http->body_bytes_max : BODY_BYTES_MAX;

    *took = http->at != DT_HTTP_TO_END && size > http->left ? (size_t)http->left : size;
    http->body_bytes += *took;
    if (http->body_bytes > most)
        return dt_fail(err, DT_INVALID, "the answer exceeds %zu bytes", most);
    dt_buf_add(&http->body, bytes, *took);
    if (http->at == DT_HTTP_TO_END)
        return DT_OK;
    http->left -= *took;
    if (!http->left)
        http->at = http->at == DT_HTTP_LENGTH ? DT_HTTP_DONE : DT_HTTP_CHUNK_END;
    return DT_OK;
}

enum dt_code dt_http_feed(struct dt_http *http, const char *bytes, size_t size, size_t *used,
                          struct dt_err *err)
{
    enum dt_code code = DT_OK;

    *used = 0;
    while (!code && *used < size && http->at != DT_HTTP_DONE) {
        const char *at = bytes + *used;
        size_t took = 0, left = size - *used;

        switch (http->at) {
        case DT_HTTP_HEAD:
            code = head_feed(http, at, left, &took, err);
            break;
        case DT_HTTP_LENGTH:
        case DT_HTTP_CHUNK:
        case DT_HTTP_TO_END:
            code = body_feed(http, at, left, &took, err);
            break;
        case DT_HTTP_CHUNK_SIZE:
        case DT_HTTP_CHUNK_END:
        case DT_HTTP_TRAILER:
            code = line_feed(http, at, left, &took, err);
            break;
        case DT_HTTP_DONE:
            break;
        }
        *used += took;
    }
    return code;
}

enum dt_code dt_http_end(struct dt_http *http, struct dt_err *err)
{
    if (http->at == DT_HTTP_TO_END)
        http->at = DT_HTTP_DONE;
    if (http->at != DT_HTTP_DONE)
        return dt_fail(err, DT_CORRUPT, "the connection ended in the middle of the answer");
    return DT_OK;
}

void dt_http_release(struct dt_http *http)
{
    if (!http)
        return;
    dt_buf_release(&http->head);
    dt_buf_release(&http->line);
    dt_buf_release(&http->body);
    *http = (struct dt_http){0};
}
