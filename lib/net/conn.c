/* Framed connections over bufferevents. */
#include "dt/net/conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/os/log.h"

#define QUEUE_BYTES_MAX (8 * 1024 * 1024)
#define DRAINED_BYTES (64 * 1024)
#define READ_BYTES_MAX (2 * 1024 * 1024)
#define HANDSHAKE_MS 5000
#define CONNECTIONS_MAX 20000

struct dt_conn {
    struct dt_loop *loop;
    struct bufferevent *bev;
    struct dt_conn_calls calls;
    void *owner;
    struct dt_peer peer;
    struct dt_timer *timer;     /* handshake, then the time to write before closing */
    struct dt_listener *listener; /* that accepted it, or NULL */
    char peer_uri[160];         /* dial: who must be there */
    char reason[200];
    bool is_open, is_closing, is_over, is_reset, is_tls;
    bool is_in_call; /* frames are being handed out */
};

struct dt_listener {
    struct dt_loop *loop;
    struct evconnlistener *listener;
    struct dt_conn_calls calls;
    void *owner;
    SSL_CTX *context; /* NULL: Unix socket */
    char path[108];
    size_t connections;
    bool is_freed; /* by its owner; goes when the last connection went */
};

static void listener_drop(struct dt_listener *listener)
{
    if (listener->is_freed && !listener->connections) {
        if (listener->context)
            SSL_CTX_free(listener->context);
        dt_free(listener);
    }
}

/* Bytes not yet written. */
static size_t queued(const struct dt_conn *conn)
{
    return evbuffer_get_length(bufferevent_get_output(conn->bev));
}

/* End of a connection: tell the owner once, then free. Runs from the loop, never inside a call. */
static void conn_finish(void *arg)
{
    struct dt_conn *conn = arg;
    SSL *ssl = conn->is_tls ? bufferevent_openssl_get_ssl(conn->bev) : NULL;

    if (conn->calls.on_closed)
        conn->calls.on_closed(conn->owner, conn, conn->is_reset, conn->reason);
    if (ssl && conn->is_open) {
        SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
        SSL_shutdown(ssl);
        ERR_clear_error();
    }
    bufferevent_free(conn->bev);
    dt_timer_free(conn->timer);
    if (conn->listener) {
        conn->listener->connections--;
        listener_drop(conn->listener);
    }
    dt_free(conn);
}

/* Nothing is read or written any more; conn_finish follows in the next turn. */
static void conn_end(struct dt_conn *conn, bool is_reset, const char *reason)
{
    if (conn->is_over)
        return;
    conn->is_over = conn->is_closing = true;
    conn->is_reset = is_reset;
    snprintf(conn->reason, sizeof(conn->reason), "%s", reason);
    bufferevent_disable(conn->bev, EV_READ | EV_WRITE);
    bufferevent_setcb(conn->bev, NULL, NULL, NULL, NULL);
    dt_timer_free(conn->timer);
    conn->timer = dt_timer_make(conn->loop, conn_finish, conn);
    dt_timer_set(conn->timer, 0);
}

static void frames_hand_out(struct dt_conn *conn)
{
    struct evbuffer *input = bufferevent_get_input(conn->bev);
    struct dt_err err = {0};

    while (!conn->is_closing) {
        size_t size = evbuffer_get_length(input), used = 0, want;
        struct dt_frame frame = {0};
        unsigned char head[4];
        const char *bytes;

        if (size < DT_FRAME_HEAD_BYTES)
            return;
        evbuffer_copyout(input, head, sizeof(head));
        want = ((size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]) +
               DT_FRAME_HEAD_BYTES;
        if (want > size && want <= DT_FRAME_BYTES_MAX + DT_FRAME_HEAD_BYTES)
            return;
        if (want > size)
            want = size; /* a bad size: let the reader say so */
        bytes = (const char *)evbuffer_pullup(input, (ev_ssize_t)want);
        if (dt_frame_read(bytes, want, &used, &frame, &err)) {
            conn_end(conn, false, err.text);
            return;
        }
        if (!used)
            return;
        if (conn->calls.on_frame)
            conn->calls.on_frame(conn->owner, conn, &frame);
        dt_frame_release(&frame);
        evbuffer_drain(input, used);
    }
}

static void on_readable(struct bufferevent *bev, void *arg)
{
    (void)bev;
    frames_hand_out(arg);
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct dt_conn *conn = arg;

    if (conn->is_closing && !evbuffer_get_length(bufferevent_get_output(bev)))
        conn_end(conn, false, conn->reason);
    else if (conn->calls.on_drained && !conn->is_closing)
        conn->calls.on_drained(conn->owner, conn);
}

/* The peer's name: its certificate's URI. Two of them, or one with a NUL or too long, are none. */
static void peer_of_tls(struct dt_conn *conn)
{
    SSL *ssl = bufferevent_openssl_get_ssl(conn->bev);
    X509 *cert = SSL_get1_peer_certificate(ssl);
    GENERAL_NAMES *names = cert ? X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL) : NULL;
    const ASN1_IA5STRING *uri = NULL;
    size_t uris = 0, size;

    for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type != GEN_URI)
            continue;
        uri = name->d.uniformResourceIdentifier;
        uris++;
    }
    size = uris == 1 ? (size_t)ASN1_STRING_length(uri) : 0;
    if (size && size < sizeof(conn->peer.uri) && !memchr(ASN1_STRING_get0_data(uri), 0, size))
        memcpy(conn->peer.uri, ASN1_STRING_get0_data(uri), size); /* zeroed behind */
    GENERAL_NAMES_free(names);
    X509_free(cert);
}

static void conn_opened(struct dt_conn *conn)
{
    dt_timer_clear(conn->timer);
    if (conn->is_tls) {
        peer_of_tls(conn);
        if (conn->peer_uri[0] && strcmp(conn->peer_uri, conn->peer.uri) != 0) {
            char text[400];

            snprintf(text, sizeof(text), "the other side is %s, expected %s", conn->peer.uri,
                     conn->peer_uri);
            conn_end(conn, false, text);
            return;
        }
    }
    conn->is_open = true;
    if (conn->calls.on_open)
        conn->calls.on_open(conn->owner, conn);
}

static void reason_of(struct dt_conn *conn, short what, char *text, size_t size)
{
    unsigned long code = conn->is_tls ? bufferevent_get_openssl_error(conn->bev) : 0;
    int saved = EVUTIL_SOCKET_ERROR();

    if (what & BEV_EVENT_EOF) {
        snprintf(text, size, "closed by the other side");
    } else if (code) {
        snprintf(text, size, "TLS: ");
        ERR_error_string_n(code, text + 5, size - 5);
    } else {
        snprintf(text, size, "%s", saved ? evutil_socket_error_to_string(saved) : "broken");
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct dt_conn *conn = arg;
    char text[200];

    (void)bev;
    if (what & BEV_EVENT_CONNECTED) {
        conn_opened(conn);
        return;
    }
    if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
        return;
    reason_of(conn, what, text, sizeof(text));
    if (conn->is_open)
        frames_hand_out(conn); /* the last bytes and the end come together */
    conn_end(conn, true, text);
}

static void on_handshake_late(void *arg)
{
    conn_end(arg, false, "no handshake in time");
}

static struct dt_conn *conn_make(struct dt_loop *loop, struct bufferevent *bev,
                                 const struct dt_conn_calls *calls, void *owner)
{
    struct dt_conn *conn = dt_alloc(1, sizeof(*conn));

    conn->loop = loop;
    conn->bev = bev;
    conn->calls = *calls;
    conn->owner = owner;
    conn->peer.uid = conn->peer.gid = conn->peer.pid = -1;
    conn->timer = dt_timer_make(loop, on_handshake_late, conn);
    dt_timer_set(conn->timer, HANDSHAKE_MS);
    bufferevent_setcb(bev, on_readable, on_written, on_event, conn);
    bufferevent_setwatermark(bev, EV_READ, 0, READ_BYTES_MAX);
    bufferevent_setwatermark(bev, EV_WRITE, DRAINED_BYTES, 0);
    bufferevent_enable(bev, EV_READ | EV_WRITE);
    return conn;
}

static void peer_of_unix(struct dt_conn *conn, int fd)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
        return;
    conn->peer.uid = cred.uid;
    conn->peer.gid = cred.gid;
    conn->peer.pid = cred.pid;
}

static void address_text(const struct sockaddr *address, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(text, size, "%s:%d", host, ntohs(in->sin_port));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)(const void *)address;

        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(text, size, "[%s]:%d", host, ntohs(in->sin6_port));
    }
}

static void on_accept(struct evconnlistener *evl, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *arg)
{
    struct dt_listener *listener = arg;
    struct event_base *base = evconnlistener_get_base(evl);
    struct bufferevent *bev;
    struct dt_conn *conn;
    int one = 1;

    (void)size;
    if (listener->connections >= CONNECTIONS_MAX) {
        close(fd);
        return;
    }
    if (listener->context) {
        SSL *ssl = SSL_new(listener->context);

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        bev = ssl ? bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                   BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS)
                  : NULL;
        if (!bev) { /* never serve this port without TLS */
            if (!ssl)
                close(fd);
            return;
        }
    } else {
        bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
        if (!bev) {
            close(fd);
            return;
        }
    }
    conn = conn_make(listener->loop, bev, &listener->calls, listener->owner);
    conn->listener = listener;
    listener->connections++;
    address_text(address, conn->peer.address, sizeof(conn->peer.address));
    conn->is_tls = listener->context != NULL;
    if (conn->is_tls)
        return;
    peer_of_unix(conn, fd);
    conn_opened(conn);
}

static struct dt_listener *listener_make(const struct dt_endpoint *endpoint)
{
    struct dt_listener *listener = dt_alloc(1, sizeof(*listener));

    listener->loop = endpoint->loop;
    listener->calls = *endpoint->calls;
    listener->owner = endpoint->owner;
    return listener;
}

static enum dt_code unix_address(const char *path, struct sockaddr_un *address,
                                 struct dt_err *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address->sun_path)) {
        dt_fail(err, DT_INVALID, "socket path longer than %zu bytes: %s",
                sizeof(address->sun_path) - 1, path);
        dt_hint(err, "choose a shorter --run-dir");
        return DT_INVALID;
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    return DT_OK;
}

enum dt_code dt_listen_unix(const struct dt_endpoint *endpoint, const char *path,
                            struct dt_listener **listener, struct dt_err *err)
{
    struct sockaddr_un address;
    struct dt_listener *made;
    enum dt_code code;
    mode_t mask;

    if ((code = unix_address(path, &address, err)))
        return code;
    made = listener_make(endpoint);
    unlink(path);
    mask = umask(0177);
    made->listener = evconnlistener_new_bind(dt_loop_base(endpoint->loop), on_accept, made,
                                             LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 128,
                                             (struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (!made->listener) {
        dt_free(made);
        return dt_fail(err, DT_IO, "cannot listen on %s: %s", path, strerror(errno));
    }
    snprintf(made->path, sizeof(made->path), "%s", path);
    *listener = made;
    return DT_OK;
}

/* "1.2.3.4" or "::1" with a port into a socket address. */
static bool ip_address(const char *host, int port, struct sockaddr_storage *address, int *size)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)address;

    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        *size = sizeof(*in);
        return true;
    }
    if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)port);
        *size = sizeof(*in6);
        return true;
    }
    return false;
}

enum dt_code dt_listen_tls(const struct dt_endpoint *endpoint, const char *address, int port,
                           struct dt_listener **listener, struct dt_err *err)
{
    struct sockaddr_storage where;
    struct dt_listener *made;
    int size;

    if (!ip_address(address, port, &where, &size))
        return dt_fail(err, DT_INVALID, "%s is not an IP address", address);
    made = listener_make(endpoint);
    made->context = dt_tls_context(endpoint->tls);
    SSL_CTX_up_ref(made->context);
    made->listener = evconnlistener_new_bind(
        dt_loop_base(endpoint->loop), on_accept, made,
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 512,
        (struct sockaddr *)&where, size);
    if (!made->listener) {
        int saved = errno;

        SSL_CTX_free(made->context);
        dt_free(made);
        dt_fail(err, saved == EADDRINUSE ? DT_CONFLICT : DT_IO, "cannot listen on %s:%d: %s",
                address, port, strerror(saved));
        if (saved == EADDRINUSE)
            dt_hint(err, "port %d is in use; choose another, or 0 to take any free one", port);
        return saved == EADDRINUSE ? DT_CONFLICT : DT_IO;
    }
    *listener = made;
    return DT_OK;
}

int dt_listener_port(const struct dt_listener *listener)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);

    if (getsockname(evconnlistener_get_fd(listener->listener), (struct sockaddr *)&address,
                    &size) < 0)
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
    return ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port);
}

void dt_listener_free(struct dt_listener *listener)
{
    if (!listener)
        return;
    evconnlistener_free(listener->listener);
    listener->listener = NULL;
    if (listener->path[0])
        unlink(listener->path);
    listener->is_freed = true;
    listener_drop(listener);
}

static void on_adopted(void *arg)
{
    conn_opened(arg);
}

static struct dt_conn *conn_adopt(const struct dt_endpoint *endpoint, int fd)
{
    struct bufferevent *bev;
    struct dt_conn *conn;

    evutil_make_socket_nonblocking(fd);
    bev = bufferevent_socket_new(dt_loop_base(endpoint->loop), fd,
                                 BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    assert(bev);
    conn = conn_make(endpoint->loop, bev, endpoint->calls, endpoint->owner);
    peer_of_unix(conn, fd);
    dt_timer_free(conn->timer);
    conn->timer = dt_timer_make(endpoint->loop, on_adopted, conn);
    dt_timer_set(conn->timer, 0);
    return conn;
}

enum dt_code dt_dial_unix(const struct dt_endpoint *endpoint, const char *path,
                          struct dt_conn **conn, struct dt_err *err)
{
    struct sockaddr_un address;
    enum dt_code code;
    int fd;

    if ((code = unix_address(path, &address, err)))
        return code;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        dt_fail(err, DT_UNREACHABLE, "cannot connect to %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return DT_UNREACHABLE;
    }
    *conn = conn_adopt(endpoint, fd);
    return DT_OK;
}

enum dt_code dt_dial_tls(const struct dt_endpoint *endpoint, const char *address,
                         const char *peer_uri, struct dt_conn **conn, struct dt_err *err)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_storage where;
    struct bufferevent *bev;
    char host[64];
    int64_t port;
    int size, one = 1, fd;
    SSL *ssl;

    if (!colon || colon - address >= (int)sizeof(host) ||
        !dt_parse_int(colon + 1, 1, 65535, &port))
        return dt_fail(err, DT_INVALID, "%s is not address:port", address);
    snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
    if (!ip_address(host, (int)port, &where, &size))
        return dt_fail(err, DT_INVALID, "%s is not an IP address with a port", address);
    ssl = SSL_new(dt_tls_context(endpoint->tls));
    fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bev = ssl && fd >= 0
              ? bufferevent_openssl_socket_new(dt_loop_base(endpoint->loop), fd, ssl,
                                               BUFFEREVENT_SSL_CONNECTING,
                                               BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS)
              : NULL;
    if (!bev)
        return dt_fail(err, DT_IO, "cannot set up a connection to %s", address);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    *conn = conn_make(endpoint->loop, bev, endpoint->calls, endpoint->owner);
    (*conn)->is_tls = true;
    snprintf((*conn)->peer_uri, sizeof((*conn)->peer_uri), "%s", peer_uri);
    snprintf((*conn)->peer.address, sizeof((*conn)->peer.address), "%s", address);
    if (bufferevent_socket_connect(bev, (struct sockaddr *)&where, size) < 0)
        conn_end(*conn, false, "cannot connect");
    return DT_OK;
}

void dt_conn_send(struct dt_conn *conn, const struct dt_tree *body, const void *blob,
                  size_t blob_size)
{
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    if (conn->is_closing)
        return;
    if (queued(conn) > QUEUE_BYTES_MAX) {
        conn_end(conn, false, "the other side does not read");
        return;
    }
    if (dt_frame_write(&buf, body, blob, blob_size, &err)) {
        dt_log(DT_LOG_ERROR, "message not sent", "type", dt_tree_str(body, "type", ""), "why",
               err.text, NULL);
        return;
    }
    bufferevent_write(conn->bev, buf.data, buf.size);
    dt_buf_release(&buf);
}

const struct dt_peer *dt_conn_peer(const struct dt_conn *conn)
{
    return &conn->peer;
}

void dt_conn_set_calls(struct dt_conn *conn, const struct dt_conn_calls *calls, void *owner)
{
    conn->calls = *calls;
    conn->owner = owner;
}

static void on_close_late(void *arg)
{
    struct dt_conn *conn = arg;

    conn_end(conn, false, conn->reason);
}

void dt_conn_close(struct dt_conn *conn, const char *reason)
{
    if (conn->is_closing)
        return;
    snprintf(conn->reason, sizeof(conn->reason), "%s", reason);
    if (!queued(conn) || !conn->is_open) {
        conn_end(conn, false, reason);
        return;
    }
    conn->is_closing = true;
    bufferevent_setwatermark(conn->bev, EV_WRITE, 0, 0);
    dt_timer_free(conn->timer);
    conn->timer = dt_timer_make(conn->loop, on_close_late, conn);
    dt_timer_set(conn->timer, 1000);
}
