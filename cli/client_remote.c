/* The API client over HTTPS: a module that dtctl loads only for remote contexts. */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client.h"
#include "dt/os/file.h"

#define CONNECT_MS 3000L
#define ANSWER_MS 15000L
#define ANSWER_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define TOKEN_BYTES_MAX 4096

/* Kept between calls, so that the connection is reused. */
struct remote {
    CURL *easy;
    struct dt_buf token; /* "Authorization: Bearer ..." */
};

struct dt_stream {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    struct dt_buf bytes; /* arrived, not yet read */
    long status;
    char what[CURL_ERROR_SIZE];
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *owner)
{
    struct dt_buf *buf = owner;

    if (buf->size + size * count > ANSWER_BYTES_MAX)
        return 0;
    dt_buf_add(buf, bytes, size * count);
    return size * count;
}

/* Header lines of the last answer only. */
static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
    struct dt_buf *head = owner;

    if (size * count >= 5 && memcmp(bytes, "HTTP/", 5) == 0)
        dt_buf_clear(head);
    return on_bytes(bytes, size, count, owner);
}

static enum dt_code token_read(struct dt_client *client, struct remote *remote,
                               struct dt_err *err)
{
    struct dt_buf text = {0};
    enum dt_code code;

    if (!client->where.token_file[0])
        return DT_OK;
    if ((code = dt_file_read(client->where.token_file, TOKEN_BYTES_MAX, &text, err))) {
        dt_prefix(err, "token of context %s", client->where.name);
        return code;
    }
    dt_buf_print(&remote->token, "Authorization: Bearer %.*s",
                 (int)strcspn(dt_buf_str(&text), "\r\n \t"), dt_buf_str(&text));
    dt_buf_release(&text);
    return DT_OK;
}

static enum dt_code remote_begin(struct dt_client *client, struct dt_err *err)
{
    struct remote *remote;
    enum dt_code code;

    if (client->state)
        return DT_OK;
    remote = dt_alloc(1, sizeof(*remote));
    code = token_read(client, remote, err);
    if (!code && !(remote->easy = curl_easy_init()))
        code = dt_fail(err, DT_INTERNAL, "libcurl does not start");
    if (code) {
        dt_buf_release(&remote->token);
        dt_free(remote);
        return code;
    }
    client->state = remote;
    return DT_OK;
}

/* Settings of calls and streams. The slist is freed by the caller after use. */
static struct curl_slist *easy_set(CURL *easy, const struct dt_client *client,
                                   const struct dt_call *call)
{
    const struct remote *remote = client->state;
    struct curl_slist *headers = NULL;
    char url[DT_WHERE_PATH_BYTES_MAX + 4096], key[128];

    snprintf(url, sizeof(url), "%s%s", client->where.url, call->path);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    if (remote->token.size)
        headers = curl_slist_append(headers, dt_buf_str(&remote->token));
    if (call->key) {
        snprintf(key, sizeof(key), "Idempotency-Key: %s", call->key);
        headers = curl_slist_append(headers, key);
    }
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "dtctl/" DT_VERSION);
    if (client->where.ca[0])
        curl_easy_setopt(easy, CURLOPT_CAINFO, client->where.ca);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    return headers;
}

static enum dt_code curl_fail(const struct dt_client *client, CURLcode curl, const char *what,
                              struct dt_err *err)
{
    bool is_trust = curl == CURLE_PEER_FAILED_VERIFICATION || curl == CURLE_SSL_CACERT_BADFILE;

    dt_fail(err, is_trust ? DT_DENIED : DT_UNREACHABLE, "%s: %s", client->where.url,
            what && *what ? what : curl_easy_strerror(curl));
    if (is_trust)
        dt_hint(err, "the server's certificate is not signed by the CA of context %s (%s)",
                client->where.name, client->where.ca[0] ? client->where.ca : "the system's");
    return err ? err->code : is_trust ? DT_DENIED : DT_UNREACHABLE;
}

static enum dt_code remote_call(struct dt_client *client, const struct dt_call *call,
                                struct dt_answer *answer, struct dt_err *err)
{
    struct dt_answer draft = {0};
    struct curl_slist *headers;
    char what[CURL_ERROR_SIZE] = "";
    enum dt_code code = remote_begin(client, err);
    struct remote *remote = client->state;
    long status = 0;
    CURLcode curl;

    if (code)
        return code;
    curl_easy_reset(remote->easy);
    headers = easy_set(remote->easy, client, call);
    curl_easy_setopt(remote->easy, CURLOPT_ERRORBUFFER, what);
    curl_easy_setopt(remote->easy, CURLOPT_TIMEOUT_MS,
                     call->timeout_ms ? (long)call->timeout_ms : ANSWER_MS);
    if (call->body || strcmp(call->method, "GET") != 0) {
        curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDSIZE,
                         call->body ? (long)call->body_size : 0L);
        curl_easy_setopt(remote->easy, CURLOPT_POSTFIELDS, call->body ? call->body : "");
    }
    curl_easy_setopt(remote->easy, CURLOPT_WRITEDATA, &draft.body);
    curl_easy_setopt(remote->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(remote->easy, CURLOPT_HEADERDATA, &draft.head);
    curl = curl_easy_perform(remote->easy);
    curl_slist_free_all(headers);
    client->was_sent = curl != CURLE_COULDNT_CONNECT && curl != CURLE_COULDNT_RESOLVE_HOST &&
                       curl != CURLE_PEER_FAILED_VERIFICATION;
    if (curl != CURLE_OK) {
        dt_buf_release(&draft.head);
        dt_buf_release(&draft.body);
        return curl_fail(client, curl, what, err);
    }
    curl_easy_getinfo(remote->easy, CURLINFO_RESPONSE_CODE, &status);
    draft.status = (int)status;
    *answer = draft;
    return DT_OK;
}

static void remote_stream_close(struct dt_stream *stream)
{
    curl_multi_remove_handle(stream->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    curl_multi_cleanup(stream->multi);
    curl_slist_free_all(stream->headers);
    dt_buf_release(&stream->bytes);
    dt_free(stream);
}

static enum dt_code remote_stream_read(struct dt_stream *stream, int64_t wait_ms,
                                       struct dt_buf *bytes, struct dt_err *err)
{
    int running = 0;

    if (!stream->bytes.size)
        curl_multi_poll(stream->multi, NULL, 0, (int)wait_ms, NULL);
    curl_multi_perform(stream->multi, &running);
    curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &stream->status);
    if (stream->bytes.size && stream->status == 200) {
        dt_buf_add(bytes, stream->bytes.data, stream->bytes.size);
        dt_buf_clear(&stream->bytes);
        return DT_OK;
    }
    if (!running || (stream->status && stream->status != 200))
        return dt_fail(err, DT_UNREACHABLE, "the controller ended the stream%s%s",
                       stream->what[0] ? ": " : "", stream->what);
    return DT_OK;
}

static enum dt_code remote_stream_open(struct dt_client *client, const char *path,
                                       struct dt_stream **out, struct dt_err *err)
{
    struct dt_call call = {.method = "GET", .path = path};
    enum dt_code code = remote_begin(client, err);
    struct dt_stream *stream;

    if (code)
        return code;
    stream = dt_alloc(1, sizeof(*stream));
    stream->easy = curl_easy_init();
    stream->multi = curl_multi_init();
    if (!stream->easy || !stream->multi) {
        curl_easy_cleanup(stream->easy);
        curl_multi_cleanup(stream->multi);
        dt_free(stream);
        return dt_fail(err, DT_INTERNAL, "libcurl does not start");
    }
    stream->headers = easy_set(stream->easy, client, &call);
    curl_easy_setopt(stream->easy, CURLOPT_WRITEDATA, &stream->bytes);
    curl_easy_setopt(stream->easy, CURLOPT_ERRORBUFFER, stream->what);
    curl_multi_add_handle(stream->multi, stream->easy);
    *out = stream;
    return DT_OK;
}

static void remote_release(struct dt_client *client)
{
    struct remote *remote = client->state;

    if (!remote)
        return;
    curl_easy_cleanup(remote->easy);
    dt_buf_release(&remote->token);
    dt_free(remote);
    client->state = NULL;
}

/* Found by name after dlopen. */
extern const struct dt_transport dt_remote_transport;
const struct dt_transport dt_remote_transport = {
    .call = remote_call,
    .stream_open = remote_stream_open,
    .stream_read = remote_stream_read,
    .stream_close = remote_stream_close,
    .release = remote_release,
};
