/* The API client over HTTPS: a module that dtctl loads only for remote contexts. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "dt/base/units.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"
#include "http.h"

#define CONNECT_MS 3000
#define ANSWER_MS 15000
#define TOKEN_BYTES_MAX 4096
#define HOST_BYTES_MAX 256

/* One TLS connection; fd is -1 when there is none. */
struct link {
    int fd;
    SSL *ssl;
};

/* Kept between calls. */
struct remote {
    SSL_CTX *context;
    struct link link;
    char host[HOST_BYTES_MAX], port[8];
    struct dt_buf token; /* "Bearer ...", or empty */
};

struct dt_stream {
    struct link link;
    struct dt_http http;
};

static enum dt_code nobody(const struct dt_client *client, const char *what, struct dt_err *err)
{
    dt_fail(err, DT_UNREACHABLE, "no answer from the controller at %s: %s", client->where.url,
            what);
    dt_hint(err, "is it running, and is this machine allowed to reach it?");
    return DT_UNREACHABLE;
}

static void link_close(struct link *link)
{
    if (link->ssl) {
        SSL_shutdown(link->ssl);
        SSL_free(link->ssl);
    }
    if (link->fd >= 0)
        close(link->fd);
    *link = (struct link){.fd = -1};
}

/* Wait until fd can go on. 1 it can, 0 the time is up, -1 a signal came. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd item = {.fd = fd, .events = events};
    int64_t left = deadline_ms - dt_clock_ms();

    return poll(&item, 1, left > 0 ? (int)left : 0);
}

/* After a call of the library returned result: 1 try again, 0 the time is up, -1 it is over. */
static int ssl_wait(const struct link *link, int result, int64_t deadline_ms)
{
    int want = SSL_get_error(link->ssl, result);

    if (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE)
        return -1;
    return wait_for(link->fd, want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline_ms) == 0
               ? 0 : 1;
}

static const char *ssl_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return reason ? reason : "it closed the connection";
}

/* https://host:port or https://[v6]:port, and nothing behind it. */
static bool url_split(const char *url, struct remote *remote)
{
    const char *host = url + strlen("https://");
    bool is_bracket = *host == '[';
    size_t size = is_bracket ? strcspn(++host, "]") : strcspn(host, ":/");
    const char *port = host + size + (is_bracket && host[size] == ']');
    int64_t number = 443;

    if (!size || size >= sizeof(remote->host) || (*port == ':' &&
        !dt_parse_int(port + 1, 1, 65535, &number)) || (*port && *port != ':'))
        return false;
    memcpy(remote->host, host, size);
    remote->host[size] = 0;
    snprintf(remote->port, sizeof(remote->port), "%d", (int)number);
    return true;
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
    dt_buf_print(&remote->token, "Bearer %.*s", (int)strcspn(dt_buf_str(&text), "\r\n \t"),
                 dt_buf_str(&text));
    dt_buf_release(&text);
    return DT_OK;
}

static enum dt_code context_make(struct dt_client *client, struct remote *remote,
                                 struct dt_err *err)
{
    const char *ca = client->where.ca;
    bool is_good;

    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    remote->context = SSL_CTX_new(TLS_client_method());
    if (!remote->context || !SSL_CTX_set_min_proto_version(remote->context, TLS1_3_VERSION))
        return dt_fail(err, DT_INTERNAL, "TLS does not start: %s", ssl_reason());
    SSL_CTX_set_verify(remote->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(remote->context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(remote->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    is_good = ca[0] ? SSL_CTX_load_verify_file(remote->context, ca) == 1
                    : SSL_CTX_set_default_verify_paths(remote->context) == 1;
    if (!is_good)
        return dt_fail(err, DT_INVALID, "context %s: the CA %s cannot be read: %s",
                       client->where.name, ca, ssl_reason());
    return DT_OK;
}

static void remote_release(struct dt_client *client)
{
    struct remote *remote = client->state;

    if (!remote)
        return;
    link_close(&remote->link);
    SSL_CTX_free(remote->context);
    dt_buf_release(&remote->token);
    dt_free(remote);
    client->state = NULL;
}

static enum dt_code remote_begin(struct dt_client *client, struct dt_err *err)
{
    struct remote *remote;
    enum dt_code code = DT_OK;

    if (client->state)
        return DT_OK;
    client->state = remote = dt_alloc(1, sizeof(*remote));
    remote->link.fd = -1;
    if (!url_split(client->where.url, remote))
        code = dt_fail(err, DT_INVALID, "context %s: expected https://HOST:PORT, found %s",
                       client->where.name, client->where.url);
    if (!code)
        code = token_read(client, remote, err);
    if (!code)
        code = context_make(client, remote, err);
    if (code)
        remote_release(client);
    return code;
}

/* Connect to one address; -1 with errno when it does not answer in time. */
static int tcp_connect(const struct addrinfo *info, int64_t deadline_ms)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    int error = 0;
    socklen_t size = sizeof(error);

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, info->ai_addr, info->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && wait_for(fd, POLLOUT, deadline_ms) == 1)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    else
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static enum dt_code tcp_open(struct dt_client *client, int64_t deadline_ms, int *fd,
                             struct dt_err *err)
{
    const struct remote *remote = client->state;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(remote->host, remote->port, &hints, &list);

    if (failed)
        return nobody(client, gai_strerror(failed), err);
    *fd = -1;
    for (const struct addrinfo *info = list; info && *fd < 0; info = info->ai_next)
        *fd = tcp_connect(info, deadline_ms);
    failed = errno;
    freeaddrinfo(list);
    return *fd < 0 ? nobody(client, strerror(failed), err) : DT_OK;
}

/* The certificate must be for the name or address of the URL. */
static bool peer_expect(SSL *ssl, const char *host)
{
    struct in6_addr address;

    if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static enum dt_code handshake_fail(const struct dt_client *client, const struct link *link,
                                   struct dt_err *err)
{
    long verified = SSL_get_verify_result(link->ssl);
    char now[40];

    if (verified == X509_V_OK)
        return nobody(client, ssl_reason(), err);
    dt_fail(err, DT_DENIED, "%s shows a certificate that does not hold: %s", client->where.url,
            X509_verify_cert_error_string(verified));
    if (verified == X509_V_ERR_CERT_NOT_YET_VALID || verified == X509_V_ERR_CERT_HAS_EXPIRED) {
        dt_format_instant(dt_wall_ms(), now, sizeof(now));
        dt_hint(err, "this machine's clock says %s; if that is wrong run chrony or "
                "systemd-timesyncd, else the operator must renew the certificate", now);
    } else {
        dt_hint(err, "expected one signed by the CA of context %s (%s)", client->where.name,
                client->where.ca[0] ? client->where.ca : "the system's");
    }
    return DT_DENIED;
}

static enum dt_code link_open(struct dt_client *client, struct link *link, struct dt_err *err)
{
    const struct remote *remote = client->state;
    int64_t deadline = dt_clock_ms() + CONNECT_MS;
    enum dt_code code = tcp_open(client, deadline, &link->fd, err);
    int result, next = 1;

    if (code)
        return code;
    link->ssl = SSL_new(remote->context);
    if (!link->ssl || !SSL_set_fd(link->ssl, link->fd) || !peer_expect(link->ssl, remote->host)) {
        link_close(link);
        return dt_fail(err, DT_INTERNAL, "TLS does not start: %s", ssl_reason());
    }
    ERR_clear_error();
    while (next == 1 && (result = SSL_connect(link->ssl)) != 1)
        next = ssl_wait(link, result, deadline);
    if (next == 1)
        return DT_OK;
    code = next == 0 ? nobody(client, "it does not answer in time", err)
                     : handshake_fail(client, link, err);
    link_close(link);
    return code;
}

static enum dt_code link_send(const struct dt_client *client, struct link *link,
                              const struct dt_buf *bytes, int64_t deadline_ms, struct dt_err *err)
{
    size_t sent = 0;

    ERR_clear_error();
    while (sent < bytes->size) {
        int n = SSL_write(link->ssl, bytes->data + sent, (int)(bytes->size - sent));
        int next = n > 0 ? 1 : ssl_wait(link, n, deadline_ms);

        if (next != 1)
            return nobody(client, next == 0 ? "it takes no data" : ssl_reason(), err);
        sent += n > 0 ? (size_t)n : 0;
    }
    return DT_OK;
}

/* Feed what comes into http until it is complete. */
static enum dt_code answer_read(const struct dt_client *client, struct link *link,
                                struct dt_http *http, int64_t deadline_ms, struct dt_err *err)
{
    char bytes[16384];

    ERR_clear_error();
    while (http->at != DT_HTTP_DONE) {
        int n = SSL_read(link->ssl, bytes, sizeof(bytes));
        enum dt_code code = DT_OK;
        size_t used;

        if (n > 0) {
            code = dt_http_feed(http, bytes, (size_t)n, &used, err);
        } else if (SSL_get_error(link->ssl, n) == SSL_ERROR_ZERO_RETURN && http->head.size) {
            code = dt_http_end(http, err);
        } else {
            int next = ssl_wait(link, n, deadline_ms);

            if (next != 1)
                return nobody(client, next == 0 ? "it does not answer in time" : ssl_reason(),
                              err);
        }
        if (code)
            return code;
    }
    return DT_OK;
}

static void request_write(struct dt_buf *buf, const struct remote *remote,
                          const struct dt_call *call)
{
    char host[HOST_BYTES_MAX + 16];
    bool is_v6 = strchr(remote->host, ':') != NULL;

    snprintf(host, sizeof(host), "%s%s%s:%s", is_v6 ? "[" : "", remote->host, is_v6 ? "]" : "",
             remote->port);
    dt_http_write(buf, call, host, remote->token.size ? dt_buf_str(&remote->token) : NULL);
}

static enum dt_code call_once(struct dt_client *client, const struct dt_call *call,
                              struct dt_http *http, struct dt_err *err)
{
    int64_t deadline = dt_clock_ms() + (call->timeout_ms ? call->timeout_ms : ANSWER_MS);
    struct remote *remote = client->state;
    struct dt_buf request = {0};
    enum dt_code code;

    client->was_sent = false;
    if (remote->link.fd < 0 && (code = link_open(client, &remote->link, err)))
        return code;
    client->was_sent = true;
    request_write(&request, remote, call);
    code = link_send(client, &remote->link, &request, deadline, err);
    dt_buf_release(&request);
    if (!code)
        code = answer_read(client, &remote->link, http, deadline, err);
    if (code || http->is_closing)
        link_close(&remote->link);
    return code;
}

static enum dt_code remote_call(struct dt_client *client, const struct dt_call *call,
                                struct dt_answer *answer, struct dt_err *err)
{
    struct dt_http http = {0};
    enum dt_code code = remote_begin(client, err);
    bool was_open;

    if (code)
        return code;
    was_open = ((struct remote *)client->state)->link.fd >= 0;
    code = call_once(client, call, &http, err);
    /* A kept connection may have been closed by the other side meanwhile: once more, anew. */
    if (code == DT_UNREACHABLE && was_open && !http.head.size &&
        (call->key || strcmp(call->method, "GET") == 0))
        code = call_once(client, call, &http, err);
    if (!code) {
        *answer = (struct dt_answer){.status = http.status, .head = http.head, .body = http.body};
        http.head = http.body = (struct dt_buf){0};
    }
    dt_http_release(&http);
    return code;
}

static void remote_stream_close(struct dt_stream *stream)
{
    link_close(&stream->link);
    dt_http_release(&stream->http);
    dt_free(stream);
}

static enum dt_code stream_fail(struct dt_err *err)
{
    return dt_fail(err, DT_UNREACHABLE, "the controller ended the stream");
}

static enum dt_code remote_stream_read(struct dt_stream *stream, int64_t wait_ms,
                                       struct dt_buf *bytes, struct dt_err *err)
{
    char piece[16384];
    enum dt_code code;
    size_t used;
    int n;

    if (!SSL_pending(stream->link.ssl) &&
        wait_for(stream->link.fd, POLLIN, dt_clock_ms() + wait_ms) <= 0)
        return DT_OK;
    ERR_clear_error();
    n = SSL_read(stream->link.ssl, piece, sizeof(piece));
    if (n <= 0)
        return ssl_wait(&stream->link, n, 0) < 0 ? stream_fail(err) : DT_OK;
    if ((code = dt_http_feed(&stream->http, piece, (size_t)n, &used, err)))
        return code;
    if (stream->http.at != DT_HTTP_HEAD && stream->http.status != 200)
        return dt_fail(err, DT_UNREACHABLE, "the controller answered %d", stream->http.status);
    dt_buf_add(bytes, dt_buf_str(&stream->http.body), stream->http.body.size);
    dt_buf_clear(&stream->http.body);
    return stream->http.at == DT_HTTP_DONE ? stream_fail(err) : DT_OK;
}

static enum dt_code remote_stream_open(struct dt_client *client, const char *path,
                                       struct dt_stream **out, struct dt_err *err)
{
    struct dt_call call = {.method = "GET", .path = path};
    enum dt_code code = remote_begin(client, err);
    struct dt_buf request = {0};
    struct dt_stream *stream;

    if (code)
        return code;
    stream = dt_alloc(1, sizeof(*stream));
    stream->link.fd = -1;
    stream->http.body_bytes_max = SIZE_MAX;
    if (!(code = link_open(client, &stream->link, err))) {
        request_write(&request, client->state, &call);
        code = link_send(client, &stream->link, &request, dt_clock_ms() + ANSWER_MS, err);
        dt_buf_release(&request);
    }
    if (code) {
        remote_stream_close(stream);
        return code;
    }
    *out = stream;
    return DT_OK;
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
