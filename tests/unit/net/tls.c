/* Mutual TLS over loopback: who is let in, who is not, and what is said of it. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "certs.h"
#include "dt/net/conn.h"
#include "dt/wire/msg.h"
#include "test.h"

#define CONTROLLER "dt://c1/controller"
#define NODE "dt://c1/node/n1"

/* One side's view. */
struct side {
    struct dt_loop *loop;
    int opened, closed, frames;
    bool stops_at_frame;
    char text[64], reason[256], uri[160];
};

/* A listener, its files, and both views. */
struct place {
    char dir[32];
    struct dt_loop *loop;
    struct dt_tls *server_tls;
    struct dt_listener *listener;
    struct side server, client;
};

static void on_open(void *owner, struct dt_conn *conn)
{
    struct side *side = owner;

    side->opened++;
    snprintf(side->uri, sizeof(side->uri), "%s", dt_conn_peer(conn)->uri);
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct side *side = owner;

    (void)conn;
    side->frames++;
    snprintf(side->text, sizeof(side->text), "%s", dt_tree_str(frame->body, "text", ""));
    if (side->stops_at_frame)
        dt_loop_stop(side->loop);
}

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct side *side = owner;

    (void)conn;
    (void)is_reset;
    side->closed++;
    snprintf(side->reason, sizeof(side->reason), "%s", reason);
    dt_loop_stop(side->loop);
}

static const struct dt_conn_calls calls = {.on_open = on_open, .on_frame = on_frame,
                                           .on_closed = on_closed};

static void on_deadline(void *owner)
{
    CHECK_TEXT("the deadline passed", "all came in time");
    dt_loop_stop(owner);
}

/* Run until a side ends or hears; a test that waits for nothing fails after 5 s. */
static void run(struct dt_loop *loop)
{
    struct dt_timer *deadline = dt_timer_make(loop, on_deadline, loop);

    dt_timer_set(deadline, 5000);
    dt_loop_run(loop, NULL, NULL);
    dt_timer_free(deadline);
}

/* The files NAME.pem, NAME-key.pem and CA.pem; "server" plays the server. */
static enum dt_code load(const struct place *place, const char *name, const char *ca,
                         struct dt_tls **tls, struct dt_err *err)
{
    char cert[80], key[80], root[80];

    snprintf(cert, sizeof(cert), "%s/%s.pem", place->dir, name);
    snprintf(key, sizeof(key), "%s/%s-key.pem", place->dir, name);
    snprintf(root, sizeof(root), "%s/%s.pem", place->dir, ca);
    return dt_tls_load(tls, strcmp(name, "server") == 0, &(struct dt_tls_files){cert, key, root},
                       err);
}

/* A place whose listener shows such a certificate ({0}: a good one). */
static void place_open(struct place *place, struct cert_like server)
{
    struct dt_endpoint endpoint = {.calls = &calls, .owner = &place->server};
    struct dt_err err = {0};

    *place = (struct place){.dir = "/tmp/dt-tls-XXXXXX"};
    CHECK(mkdtemp(place->dir) != NULL);
    place->loop = place->server.loop = place->client.loop = dt_loop_make();
    certs_ca(place->dir, "ca");
    certs_ca(place->dir, "other");
    server.name = "server";
    server.uris = server.uris ? server.uris : "URI:" CONTROLLER;
    certs_leaf(place->dir, &server);
    certs_leaf(place->dir, &(struct cert_like){.name = "n1", .uris = "URI:" NODE});
    CHECK_INT(load(place, "server", "ca", &place->server_tls, &err), DT_OK);
    endpoint.loop = place->loop;
    endpoint.tls = place->server_tls;
    CHECK_INT(dt_listen_tls(&endpoint, "127.0.0.1", 0, &place->listener, &err), DT_OK);
    CHECK_TEXT(err.text, "");
}

static void place_release(struct place *place)
{
    DIR *dir = opendir(place->dir);
    struct dirent *entry;
    char path[320];

    dt_listener_free(place->listener);
    dt_tls_free(place->server_tls);
    dt_loop_free(place->loop);
    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%s", place->dir, entry->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    CHECK_INT(rmdir(place->dir), 0);
}

/* Dial with files name and ca, say one frame, and run until somebody closes or hears. */
static struct dt_conn *dial(struct place *place, const char *name, const char *ca)
{
    struct dt_endpoint endpoint = {.loop = place->loop, .calls = &calls, .owner = &place->client};
    struct dt_tree *body = dt_msg_make("beat");
    struct dt_conn *conn = NULL;
    struct dt_err err = {0};
    char address[40];

    snprintf(address, sizeof(address), "127.0.0.1:%d", dt_listener_port(place->listener));
    dt_tree_put_str(body, "text", "let me in");
    CHECK_INT(load(place, name, ca, &endpoint.tls, &err), DT_OK);
    CHECK_INT(dt_dial_tls(&endpoint, address, CONTROLLER, &conn, &err), DT_OK);
    dt_tls_free(endpoint.tls);
    dt_conn_send(conn, body, NULL, 0);
    dt_tree_free(body);
    run(place->loop);
    return conn;
}

/* Run until both sides are told of the end. */
static void finish(struct place *place)
{
    for (int i = 0; i < 4 && !(place->server.closed && place->client.closed); i++)
        run(place->loop);
    CHECK_INT(place->server.closed, 1);
    CHECK_INT(place->client.closed, 1);
}

TEST(tls__both_sides_know_each_other_by_name)
{
    struct dt_conn *conn;
    struct place place;

    place_open(&place, (struct cert_like){0});
    place.server.stops_at_frame = true;
    conn = dial(&place, "n1", "ca");
    CHECK_TEXT(place.server.text, "let me in");
    CHECK_TEXT(place.server.uri, NODE);
    CHECK_TEXT(place.client.uri, CONTROLLER);
    dt_conn_close(conn, "done");
    finish(&place);
    CHECK_TEXT(place.server.reason, "closed by the other side");
    place_release(&place);
}

TEST(tls__a_controller_that_is_not_ours_gets_nothing)
{
    static const struct {
        struct cert_like server;
        const char *ca;     /* that the node trusts */
        const char *reason; /* that the node gives */
    } rows[] = {
        {{0}, "other", "certificate verify failed"},
        {{.ca = "other"}, "ca", "certificate verify failed"},
        {{.from_s = -7200, .to_s = -60}, "ca", "certificate verify failed"},
        {{.from_s = 3600, .to_s = 7200}, "ca", "certificate verify failed"},
        {{.purpose = "clientAuth"}, "ca", "certificate verify failed"},
        {{.uris = "URI:dt://c2/controller"}, "ca", "expected " CONTROLLER},
        {{.uris = "URI:" NODE}, "ca", "expected " CONTROLLER},
        {{.uris = "DNS:localhost"}, "ca", "expected " CONTROLLER},
        {{.uris = "URI:" CONTROLLER "x"}, "ca", "expected " CONTROLLER},
        {{.uris = "URI:" CONTROLLER ",URI:" NODE}, "ca", "expected " CONTROLLER},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct place place;

        place_open(&place, rows[i].server);
        dial(&place, "n1", rows[i].ca);
        finish(&place);
        CHECK_INT(place.client.opened, 0);
        CHECK_INT(place.server.frames, 0);
        if (!CHECK(strstr(place.client.reason, rows[i].reason) != NULL))
            printf("  row %zu: %s\n", i, place.client.reason);
        place_release(&place);
    }
}

TEST(tls__a_node_that_is_not_ours_is_never_heard)
{
    static const struct cert_like rows[] = {
        {.name = "x", .uris = "URI:" NODE, .ca = "other"},
        {.name = "x", .uris = "URI:" NODE, .from_s = -7200, .to_s = -60},
        {.name = "x", .uris = "URI:" NODE, .from_s = 3600, .to_s = 7200},
        {.name = "x", .uris = "URI:" NODE, .purpose = "serverAuth"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct place place;

        place_open(&place, (struct cert_like){0});
        certs_leaf(place.dir, &rows[i]);
        dial(&place, "x", "ca");
        finish(&place);
        CHECK_INT(place.server.opened, 0);
        CHECK_INT(place.server.frames, 0);
        if (!CHECK(strstr(place.server.reason, "certificate verify failed") != NULL))
            printf("  row %zu: %s\n", i, place.server.reason);
        place_release(&place);
    }
}

TEST(tls__a_name_is_one_whole_uri)
{
    static const char *const uris[] = {"URI:" NODE ",URI:dt://c1/node/n2", "DNS:n1", "email:a@b.c"};

    for (size_t i = 0; i < DT_COUNT(uris); i++) {
        struct dt_conn *conn;
        struct place place;

        place_open(&place, (struct cert_like){0});
        certs_leaf(place.dir, &(struct cert_like){.name = "x", .uris = uris[i]});
        place.server.stops_at_frame = true;
        conn = dial(&place, "x", "ca");
        CHECK_INT(place.server.opened, 1);
        CHECK_TEXT(place.server.uri, "");
        dt_conn_close(conn, "done");
        finish(&place);
        place_release(&place);
    }
}

/* ---- clients of another make ---- */

enum raw { RAW_SILENT_END, RAW_PLAIN, RAW_TLS12, RAW_NO_CERT, RAW_HALF_CLOSE, RAW_CUT, RAW_TICKET };

static SSL *raw_tls(const struct place *place, enum raw raw, int fd)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    char cert[80], key[80];
    SSL *ssl;

    snprintf(cert, sizeof(cert), "%s/n1.pem", place->dir);
    snprintf(key, sizeof(key), "%s/n1-key.pem", place->dir);
    if (raw == RAW_TLS12)
        SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    if (raw != RAW_NO_CERT && (SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
                               SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1))
        _exit(20);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    return ssl;
}

/* What such a client does; 0 when the answer was as it must be. */
static int raw_client(const struct place *place, enum raw raw, int fd)
{
    struct dt_tree *body = dt_msg_make("beat");
    struct dt_buf frame = {0};
    char bytes[64] = "";
    SSL *ssl;

    dt_tree_put_str(body, "text", "let me in");
    if (dt_frame_write(&frame, body, NULL, 0, NULL))
        return 2;
    if (raw == RAW_SILENT_END)
        return 0;
    if (raw == RAW_PLAIN) {
        if (write(fd, frame.data, frame.size) != (ssize_t)frame.size)
            return 3;
        /* at most an alert comes back, no frame */
        return read(fd, bytes, sizeof(bytes)) >= DT_FRAME_HEAD_BYTES + 8;
    }
    ssl = raw_tls(place, raw, fd);
    if (raw == RAW_TLS12)
        return SSL_connect(ssl) == 1;
    if (SSL_connect(ssl) != 1)
        return 4;
    if (raw == RAW_NO_CERT || raw == RAW_TICKET) {
        int got = SSL_read(ssl, bytes, sizeof(bytes)); /* the refusal, or what our side says */

        return raw == RAW_NO_CERT ? got > 0
                                  : got <= 0 || SSL_SESSION_has_ticket(SSL_get0_session(ssl));
    }
    if (raw == RAW_CUT)
        return SSL_write(ssl, frame.data, (int)frame.size - 1) <= 0;
    if (SSL_write(ssl, frame.data, (int)frame.size) <= 0 || SSL_shutdown(ssl) < 0)
        return 5;
    shutdown(fd, SHUT_WR);
    return SSL_read(ssl, bytes, sizeof(bytes)) > 0; /* until the other side ends too */
}

static void on_child_gone(void *owner, int fd)
{
    (void)fd;
    dt_loop_stop(owner);
}

/* Run one in a process of its own until it ended and the server side has closed; its status. */
static int raw_run(struct place *place, enum raw raw)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = -1, ends[2];
    struct dt_watch *watch;
    pid_t pid;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)dt_listener_port(place->listener));
    CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_INT(pipe(ends), 0);
    pid = fork();
    if (!pid)
        _exit(raw_client(place, raw, fd));
    close(fd);
    close(ends[1]); /* the child's end is the last: its death shows */
    run(place->loop);
    watch = dt_watch_make(place->loop, ends[0], on_child_gone, place->loop);
    run(place->loop);
    dt_watch_free(watch);
    close(ends[0]);
    kill(pid, SIGKILL); /* one that still waits is killed: no exit status, the test fails */
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST(tls__an_older_protocol_plain_text_and_no_certificate_are_refused)
{
    static const struct {
        enum raw raw;
        const char *reason;
    } rows[] = {
        {RAW_TLS12, "unsupported protocol"},
        {RAW_NO_CERT, "peer did not return a certificate"},
        {RAW_PLAIN, "TLS: "},
        {RAW_SILENT_END, "closed by the other side"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct place place;

        place_open(&place, (struct cert_like){0});
        CHECK_INT(raw_run(&place, rows[i].raw), 0);
        CHECK_INT(place.server.opened, 0);
        CHECK_INT(place.server.frames, 0);
        CHECK_INT(place.server.closed, 1);
        if (!CHECK(strstr(place.server.reason, rows[i].reason) != NULL))
            printf("  row %zu: %s\n", i, place.server.reason);
        place_release(&place);
    }
}

TEST(tls__a_half_closed_peer_is_heard_to_the_end_then_closed)
{
    struct place place;

    place_open(&place, (struct cert_like){0});
    CHECK_INT(raw_run(&place, RAW_HALF_CLOSE), 0);
    CHECK_INT(place.server.frames, 1);
    CHECK_TEXT(place.server.text, "let me in");
    CHECK_INT(place.server.closed, 1);
    place_release(&place);
}

TEST(tls__a_frame_that_is_cut_short_is_not_heard)
{
    struct place place;

    place_open(&place, (struct cert_like){0});
    CHECK_INT(raw_run(&place, RAW_CUT), 0);
    CHECK_INT(place.server.opened, 1);
    CHECK_INT(place.server.frames, 0);
    CHECK_INT(place.server.closed, 1);
    place_release(&place);
}

static void answer(void *owner, struct dt_conn *conn)
{
    struct dt_tree *body = dt_msg_make("beat");

    on_open(owner, conn);
    dt_conn_send(conn, body, NULL, 0);
    dt_tree_free(body);
}

TEST(tls__gives_no_session_ticket)
{
    static const struct dt_conn_calls answering = {.on_open = answer, .on_closed = on_closed};
    struct dt_endpoint endpoint = {.calls = &answering};
    struct place place;
    struct dt_err err = {0};

    place_open(&place, (struct cert_like){0});
    dt_listener_free(place.listener);
    endpoint.loop = place.loop;
    endpoint.tls = place.server_tls;
    endpoint.owner = &place.server;
    CHECK_INT(dt_listen_tls(&endpoint, "127.0.0.1", 0, &place.listener, &err), DT_OK);
    CHECK_INT(raw_run(&place, RAW_TICKET), 0);
    CHECK_INT(place.server.opened, 1);
    place_release(&place);
}

TEST(tls__allows_one_protocol_and_no_renegotiation)
{
    struct place place;
    SSL_CTX *context;

    place_open(&place, (struct cert_like){0});
    context = dt_tls_context(place.server_tls);
    CHECK_INT(SSL_CTX_get_min_proto_version(context), TLS1_3_VERSION);
    CHECK((SSL_CTX_get_options(context) & SSL_OP_NO_RENEGOTIATION) != 0);
    CHECK_INT(SSL_CTX_get_max_early_data(context), 0);
    CHECK_INT(SSL_CTX_get_verify_mode(context),
              SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    place_release(&place);
}

TEST(tls__files_that_do_not_fit_are_named)
{
    struct dt_tls *tls = NULL;
    struct dt_err err = {0};
    struct place place;
    char cert[80], key[80], ca[80];

    place_open(&place, (struct cert_like){0});
    CHECK_INT(load(&place, "absent", "ca", &tls, &err), DT_IO);
    CHECK(strstr(err.text, "absent.pem") != NULL);
    CHECK_INT(load(&place, "n1", "absent", &tls, &err), DT_IO);
    CHECK(strstr(err.text, "absent.pem") != NULL);
    snprintf(cert, sizeof(cert), "%s/n1.pem", place.dir);
    snprintf(key, sizeof(key), "%s/server-key.pem", place.dir); /* of another certificate */
    snprintf(ca, sizeof(ca), "%s/ca.pem", place.dir);
    CHECK_INT(dt_tls_load(&tls, false, &(struct dt_tls_files){cert, key, ca}, &err), DT_IO);
    CHECK(strstr(err.text, "server-key.pem") != NULL);
    CHECK_INT(dt_tls_load_api(&tls, cert, ca, &err), DT_IO); /* no key in there */
    CHECK(strstr(err.text, "ca.pem") != NULL);
    CHECK(tls == NULL);
    place_release(&place);
}
