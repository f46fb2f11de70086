/* The HTTP reader: every answer in pieces of every size, and answers that must be refused. */
#include <string.h>

#include "http.h"
#include "test.h"

/* Feed text in pieces of size; the code of the first failure, or of the end. */
static enum dt_code feed(struct dt_http *http, const char *text, size_t total, size_t size)
{
    for (size_t at = 0; at < total && http->at != DT_HTTP_DONE;) {
        size_t piece = total - at < size ? total - at : size, used = 0;
        enum dt_code code = dt_http_feed(http, text + at, piece, &used, NULL);

        if (code)
            return code;
        at += used;
    }
    return http->at == DT_HTTP_DONE ? DT_OK : dt_http_end(http, NULL);
}

static const struct {
    const char *text;
    int status;
    const char *body;
} good[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
    {"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404, ""},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, "hi"},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx", 201, "x"},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n"
     "Trailer: t\r\n\r\n", 200, "abc0123456789"},
    {"HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end"},
};

TEST(http__reads_answers_in_pieces_of_any_size)
{
    for (size_t i = 0; i < DT_COUNT(good); i++) {
        size_t total = strlen(good[i].text);

        for (size_t size = 1; size <= total; size++) {
            struct dt_http http = {0};

            CHECK_INT(feed(&http, good[i].text, total, size), DT_OK);
            CHECK_INT(http.status, good[i].status);
            CHECK_TEXT(dt_buf_str(&http.body), good[i].body);
            dt_http_release(&http);
        }
    }
}

TEST(http__leaves_bytes_behind_an_answer_alone)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 ";
    struct dt_http http = {0};
    size_t used = 0;

    CHECK_INT(dt_http_feed(&http, text, strlen(text), &used, NULL), DT_OK);
    CHECK_INT(http.at, DT_HTTP_DONE);
    CHECK_TEXT(text + used, "HTTP/1.1 ");
    dt_http_release(&http);
}

TEST(http__refuses_what_is_no_answer)
{
    static const char *const bad[] = {
        "SSH-2.0-OpenSSH_9\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhiX\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        "HTTP/1.1 200",
    };

    for (size_t i = 0; i < DT_COUNT(bad); i++) {
        struct dt_http http = {0};

        CHECK(feed(&http, bad[i], strlen(bad[i]), 7) != DT_OK);
        dt_http_release(&http);
    }
}

TEST(http__bounds_head_and_body)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n", line[] = "X-Long: 0123456789\r\n";
    struct dt_http http = {.body_bytes_max = 4};
    enum dt_code code = DT_OK;
    size_t used;

    CHECK_INT(feed(&http, good[0].text, strlen(good[0].text), 64), DT_INVALID);
    dt_http_release(&http);
    code = dt_http_feed(&http, head, strlen(head), &used, NULL);
    for (int i = 0; i < 4000 && !code; i++)
        code = dt_http_feed(&http, line, strlen(line), &used, NULL);
    CHECK_INT(code, DT_INVALID);
    dt_http_release(&http);
}

TEST(http__finds_headers_in_any_case)
{
    struct dt_buf head = {0};
    char value[8];

    dt_buf_text(&head, "HTTP/1.1 200 OK\r\nDt-Next:  42 \r\nX: much too long for it\r\n\r\n");
    CHECK(dt_http_header(&head, "DT-NEXT", value, sizeof(value)));
    CHECK_TEXT(value, "42 ");
    CHECK(dt_http_header(&head, "x", value, sizeof(value)));
    CHECK_TEXT(value, "much to");
    CHECK(!dt_http_header(&head, "Dt", value, sizeof(value)));
    CHECK(!dt_http_header(&head, "HTTP/1.1 200 OK", value, sizeof(value)));
    dt_buf_release(&head);
}
