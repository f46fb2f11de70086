/* Framed connections: Unix sockets, and TCP with mutual TLS 1.3. */
#ifndef DT_NET_CONN_H
#define DT_NET_CONN_H

#include <sys/types.h>

#include "dt/net/loop.h"
#include "dt/wire/frame.h"

struct dt_conn;     /* opaque: one connection */
struct dt_listener; /* opaque */
struct dt_tls;      /* opaque: certificate, key and CA of this program */

/* PEM files: a certificate chain, its key, the CA that peers must chain to. */
struct dt_tls_files {
    const char *cert, *key, *ca;
};

/* Load them. TLS 1.3 only, no tickets, peer certificate required. is_server picks the role. */
DT_MUST_USE enum dt_code dt_tls_load(struct dt_tls **tls, bool is_server,
                                     const struct dt_tls_files *files, struct dt_err *err);
/* As dt_tls_load for a server whose clients show no certificate (HTTPS API with tokens). */
DT_MUST_USE enum dt_code dt_tls_load_api(struct dt_tls **tls, const char *cert_path,
                                         const char *key_path, struct dt_err *err);
/* Free; live connections keep what they need. */
void dt_tls_free(struct dt_tls *tls);
/* The OpenSSL context (SSL_CTX *), for the HTTPS listener. */
void *dt_tls_context(struct dt_tls *tls);

/* Who is on the other side. */
struct dt_peer {
    char uri[160];   /* TLS: the peer's SAN URI, such as dt://<cluster>/node/n1 */
    char address[64];
    int64_t uid, gid, pid; /* Unix socket: SO_PEERCRED; else -1 */
};

/* What a connection calls. frame is borrowed (take body by setting it NULL). closed is called once
 * after the last frame, the connection is freed when it returns; reason is a sentence, is_reset
 * tells that the peer's kernel ended it. */
struct dt_conn_calls {
    void (*on_open)(void *owner, struct dt_conn *conn);
    void (*on_frame)(void *owner, struct dt_conn *conn, struct dt_frame *frame);
    void (*on_closed)(void *owner, struct dt_conn *conn, bool is_reset, const char *reason);
    void (*on_drained)(void *owner, struct dt_conn *conn); /* output went below 64 KiB; or NULL */
};

/* Where connections live and whom they call; calls are copied. */
struct dt_endpoint {
    struct dt_loop *loop;
    const struct dt_conn_calls *calls;
    void *owner;
    struct dt_tls *tls; /* NULL for Unix sockets */
};

/* Listen on a Unix socket path (mode 0600; replaced when stale). */
DT_MUST_USE enum dt_code dt_listen_unix(const struct dt_endpoint *endpoint, const char *path,
                                        struct dt_listener **listener, struct dt_err *err);
/* Listen on address:port with TLS; port 0 picks one, see dt_listener_port. TCP_NODELAY, a cap on
 * connections, 5 s for the handshake. */
DT_MUST_USE enum dt_code dt_listen_tls(const struct dt_endpoint *endpoint, const char *address,
                                       int port, struct dt_listener **listener,
                                       struct dt_err *err);
/* The port in use. */
int dt_listener_port(const struct dt_listener *listener);
/* Stop listening and free; accepted connections live on. NULL is fine. */
void dt_listener_free(struct dt_listener *listener);

/* Connect to a Unix socket; on_open or on_closed follows from the loop. */
DT_MUST_USE enum dt_code dt_dial_unix(const struct dt_endpoint *endpoint, const char *path,
                                      struct dt_conn **conn, struct dt_err *err);
/* Connect with TLS to "host:port"; the peer's SAN URI must equal peer_uri. */
DT_MUST_USE enum dt_code dt_dial_tls(const struct dt_endpoint *endpoint, const char *address,
                                     const char *peer_uri, struct dt_conn **conn,
                                     struct dt_err *err);

/* Send one frame; queued when the peer is slow. More than 8 MiB queued closes the connection
 * (on_closed follows). A closing connection drops it. */
void dt_conn_send(struct dt_conn *conn, const struct dt_tree *body, const void *blob,
                  size_t blob_size);
/* The other side. */
const struct dt_peer *dt_conn_peer(const struct dt_conn *conn);
/* Replace calls and owner (an accepted connection gets its own). */
void dt_conn_set_calls(struct dt_conn *conn, const struct dt_conn_calls *calls, void *owner);
/* Write what is queued (at most 1 s), then close; on_closed follows. */
void dt_conn_close(struct dt_conn *conn, const char *reason);

#endif
