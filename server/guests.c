/* Connections to the API: how many, from where, and how long one may keep us waiting. */
#include "guests.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "dt/base/set.h"
#include "dt/os/log.h"

#define GUESTS_MAX 512       /* all together */
#define GUESTS_EACH_MAX 128  /* of one address, or of one user on the socket */
#define REQUEST_MS 10000     /* from a request's first byte to its last, and */
#define ANSWER_MS 30000      /* from an answer's first byte to its last: so long */
#define BYTES_PER_MS 32      /* and as long again as this rate needs */
#define SILENT_MS 40000      /* without a byte of a request; also a TLS handshake that drips */
#define LOOK_MS 1000

/* One connection. Its times are of the loop. */
struct guest {
    struct guests *guests;
    struct evhttp_connection *connection;
    char who[64];           /* address, or "uid N" */
    int64_t quiet_ms;       /* since when: accepted or answered */
    int64_t begun_ms;       /* first byte of the request; 0 = none yet */
    int64_t bytes;          /* of the request so far */
    int64_t answer_bytes;   /* of the last answer */
    guest_gone *gone;       /* busy: a request is being answered */
    void *owner;
};

/* A connection just made, until evhttp has set it up. */
struct fresh {
    struct guests *guests;
    struct bufferevent *bev;
};

struct guests {
    struct dt_loop *loop;
    struct dt_tls *tls;
    struct dt_timer *look;
    struct dt_set set; /* address of the evhttp_connection -> struct guest, owned */
    struct guests_count count;
};

static int64_t now_of(const struct guests *guests)
{
    return dt_loop_now_ms(guests->loop);
}

static struct guest *guest_of(struct guests *guests, struct evhttp_connection *connection)
{
    struct guest *guest = dt_set_get(&guests->set, (uint64_t)(uintptr_t)connection);

    assert(guest); /* adopted before the first byte could be read */
    return guest;
}

static void guest_free(struct guest *guest)
{
    dt_set_remove(&guest->guests->set, (uint64_t)(uintptr_t)guest->connection);
    dt_free(guest);
}

static void on_gone(struct evhttp_connection *connection, void *arg)
{
    struct guest *guest = arg;

    (void)connection;
    if (guest->gone)
        guest->gone(guest->owner);
    guest_free(guest);
}

/* evhttp takes what comes at once: only here is it seen when a request begins. */
static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    struct guest *guest = arg;

    (void)buffer;
    if (!info->n_added || guest->gone)
        return;
    if (!guest->begun_ms)
        guest->begun_ms = now_of(guest->guests);
    guest->bytes += (int64_t)info->n_added;
}

static void name_guest(struct guest *guest, struct bufferevent *bev, bool is_tls)
{
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t size = sizeof(cred);
    ev_uint16_t port = 0;
    char *address = NULL;

    if (is_tls) {
        evhttp_connection_get_peer(guest->connection, &address, &port);
        snprintf(guest->who, sizeof(guest->who), "%s", address ? address : "?");
    } else {
        getsockopt(bufferevent_getfd(bev), SOL_SOCKET, SO_PEERCRED, &cred, &size);
        snprintf(guest->who, sizeof(guest->who), "uid %ld", (long)cred.uid);
    }
}

static bool is_full(const struct guests *guests, const char *who)
{
    size_t same = 0;

    for (size_t i = 0; i < guests->set.count; i++)
        same += strcmp(((const struct guest *)guests->set.items[i].value)->who, who) == 0;
    return guests->set.count >= GUESTS_MAX || same >= GUESTS_EACH_MAX;
}

/* evhttp has made its connection of the bufferevent, and nothing was read yet. */
static void on_fresh(evutil_socket_t fd, short what, void *arg)
{
    struct fresh *fresh = arg;
    struct guests *guests = fresh->guests;
    struct guest *guest = dt_alloc(1, sizeof(*guest));
    void *connection = NULL;

    (void)fd;
    (void)what;
    bufferevent_getcb(fresh->bev, NULL, NULL, NULL, &connection);
    assert(evhttp_connection_get_bufferevent(connection) == fresh->bev);
    guest->guests = guests;
    guest->connection = connection;
    guest->quiet_ms = now_of(guests);
    name_guest(guest, fresh->bev, bufferevent_openssl_get_ssl(fresh->bev) != NULL);
    if (is_full(guests, guest->who)) {
        if (guests->count.full++ % 1000 == 0)
            dt_log(DT_LOG_WARN, "too many connections to the API: the newest is closed", "from",
                   guest->who, NULL);
        dt_free(guest);
        evhttp_connection_free(connection);
    } else {
        dt_set_put(&guests->set, (uint64_t)(uintptr_t)connection, guest);
        evhttp_connection_set_closecb(connection, on_gone, guest);
        evbuffer_add_cb(bufferevent_get_input(fresh->bev), on_input, guest);
    }
    dt_free(fresh);
}

/* Called by evhttp for each connection; runs on_fresh before the loop reads anything. */
static struct bufferevent *adopt(struct guests *guests, struct event_base *base,
                                 struct bufferevent *bev)
{
    struct fresh *fresh = dt_alloc(1, sizeof(*fresh));
    const struct timeval now = {0, 0};

    if (!bev)
        abort(); /* NULL would make libevent serve plain text, also on the TLS port */
    *fresh = (struct fresh){guests, bev};
    if (event_base_once(base, -1, EV_TIMEOUT, on_fresh, fresh, &now))
        abort();
    return bev;
}

static struct bufferevent *on_plain(struct event_base *base, void *arg)
{
    return adopt(arg, base, bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE));
}

static struct bufferevent *on_tls(struct event_base *base, void *arg)
{
    struct guests *guests = arg;
    SSL *ssl = SSL_new(dt_tls_context(guests->tls));

    return adopt(guests, base,
                 ssl ? bufferevent_openssl_socket_new(
                           base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                           BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS)
                     : NULL);
}

/* Does it keep us waiting? */
static bool is_late(const struct guest *guest)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(guest->connection);
    int64_t now = now_of(guest->guests);

    if (guest->gone)
        return false;
    if (guest->begun_ms)
        return now - guest->begun_ms > REQUEST_MS + guest->bytes / BYTES_PER_MS;
    if (evbuffer_get_length(bufferevent_get_output(bev)))
        return now - guest->quiet_ms > ANSWER_MS + guest->answer_bytes / BYTES_PER_MS;
    return now - guest->quiet_ms > SILENT_MS + guest->answer_bytes / BYTES_PER_MS;
}

static void on_look(void *owner)
{
    struct guests *guests = owner;

    dt_timer_set(guests->look, LOOK_MS);
    for (size_t i = 0; i < guests->set.count; i++) {
        const struct guest *guest = guests->set.items[i].value;

        if (!is_late(guest))
            continue;
        if (guests->count.late++ % 1000 == 0)
            dt_log(DT_LOG_WARN, "a connection to the API took too long and is closed", "from",
                   guest->who, NULL);
        guests_close(guest->connection);
    }
}

struct guests *guests_make(struct dt_loop *loop)
{
    struct guests *guests = dt_alloc(1, sizeof(*guests));

    guests->loop = loop;
    guests->look = dt_timer_make(loop, on_look, guests);
    dt_timer_set(guests->look, LOOK_MS);
    return guests;
}

void guests_free(struct guests *guests)
{
    if (!guests)
        return;
    while (guests->set.count)
        guest_free(guests->set.items[guests->set.count - 1].value);
    dt_set_release(&guests->set);
    dt_timer_free(guests->look);
    dt_free(guests);
}

void guests_watch(struct guests *guests, struct evhttp *server, struct dt_tls *tls)
{
    if (tls)
        guests->tls = tls;
    evhttp_set_bevcb(server, tls ? on_tls : on_plain, guests);
}

void guests_busy(struct guests *guests, struct evhttp_connection *connection, guest_gone *gone,
                 void *owner)
{
    struct guest *guest = guest_of(guests, connection);

    guest->gone = gone;
    guest->owner = owner;
}

void guests_answered(struct guests *guests, struct evhttp_connection *connection, size_t bytes)
{
    struct guest *guest = guest_of(guests, connection);

    guest->gone = NULL;
    guest->owner = NULL;
    guest->begun_ms = guest->bytes = 0;
    guest->answer_bytes = (int64_t)bytes;
    guest->quiet_ms = now_of(guests);
}

void guests_close(struct evhttp_connection *connection)
{
    /* evhttp sees the end of the stream and frees what it holds, in its own time */
    shutdown(bufferevent_getfd(evhttp_connection_get_bufferevent(connection)), SHUT_RDWR);
}

struct guests_count guests_count(const struct guests *guests)
{
    struct guests_count count = guests->count;

    count.open = guests->set.count;
    return count;
}
