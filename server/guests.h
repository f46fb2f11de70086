/* Connections to the API: how many, from where, and how long one may keep us waiting. */
#ifndef DT_SERVER_GUESTS_H
#define DT_SERVER_GUESTS_H

#include <event2/http.h>

#include "dt/net/loop.h"
#include "dt/net/conn.h"

struct guests;
typedef void guest_gone(void *owner);

/* Numbers that the metrics show. */
struct guests_count {
    size_t open;
    uint64_t full; /* closed at once: too many */
    uint64_t late; /* closed: a request or the reading of an answer took too long */
};

/* Caller frees with guests_free, before the loop ends. */
struct guests *guests_make(struct dt_loop *loop);
/* After evhttp_free of all servers. NULL is fine. */
void guests_free(struct guests *guests);

/* Watch the connections of a server: TLS when tls is given, else plain. */
void guests_watch(struct guests *guests, struct evhttp *server, struct dt_tls *tls);

/* A request is being answered: no deadline now; gone(owner) runs once should the client go away
 * before guests_answered. */
void guests_busy(struct guests *guests, struct evhttp_connection *connection, guest_gone *gone,
                 void *owner);
/* The answer of so many bytes is on its way: gone is forgotten, the deadline runs again. */
void guests_answered(struct guests *guests, struct evhttp_connection *connection, size_t bytes);
/* End a connection soon, from the loop: gone runs for a busy one. */
void guests_close(struct evhttp_connection *connection);

/* The numbers as they stand. O(1). */
struct guests_count guests_count(const struct guests *guests);

#endif
