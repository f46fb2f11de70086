/* RESP over a bufferevent; hiredis formats the commands. */
#include "redis_link.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/base/base.h"
#include "dt/os/log.h"

#define DEADLINE_MS 10000
#define REDIAL_MS 100

struct waiting {
    redis_reply *reply;
    void *owner;
    int64_t since_ms;
    struct waiting *next;
};

struct redis_link {
    struct dt_loop *loop;
    char path[108];
    void (*on_up)(void *owner);
    void *owner;
    struct bufferevent *bev;
    struct redis_reader *reader;
    struct waiting *first, *last;
    struct dt_timer *timer; /* redial, and the deadline of the oldest command */
    bool is_up;
};

static void dial(struct redis_link *link);

/* Tell everybody who waits that the outcome is unknown. */
static void lose_all(struct redis_link *link)
{
    static const struct redis_value lost = {.kind = REDIS_LOST};
    struct waiting *waiting = link->first;

    link->first = link->last = NULL;
    while (waiting) {
        struct waiting *next = waiting->next;

        waiting->reply(waiting->owner, &lost);
        dt_free(waiting);
        waiting = next;
    }
}

/* A late reply must never answer another command: reader and connection go together. */
static void drop(struct redis_link *link)
{
    if (link->bev)
        bufferevent_free(link->bev);
    redis_reader_free(link->reader);
    link->bev = NULL;
    link->reader = NULL;
    link->is_up = false;
    dt_timer_set(link->timer, REDIAL_MS);
    lose_all(link);
}

/* The next reply belongs to the oldest command. */
static void answer(void *owner, const struct redis_value *value)
{
    struct redis_link *link = owner;
    struct waiting *waiting = link->first;

    if (!waiting)
        return; /* nobody asked */
    link->first = waiting->next;
    if (!link->first)
        link->last = NULL;
    waiting->reply(waiting->owner, value);
    dt_free(waiting);
}

static void on_readable(struct bufferevent *bev, void *arg)
{
    struct redis_link *link = arg;
    struct evbuffer *input = bufferevent_get_input(bev);
    struct dt_err err = {0};
    char piece[65536];
    int got;

    while (link->bev == bev && (got = evbuffer_remove(input, piece, sizeof(piece))) > 0) {
        enum dt_code code = redis_reader_feed(link->reader, piece, (size_t)got, &err);

        while (!code && link->bev == bev &&
               redis_reader_next(link->reader, answer, link, &code, &err))
            ;
        if (code && link->bev == bev) {
            dt_log(DT_LOG_ERROR, err.text, NULL);
            drop(link);
        }
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct redis_link *link = arg;

    if (what & BEV_EVENT_CONNECTED) {
        link->is_up = true;
        link->on_up(link->owner);
        return;
    }
    if (bev == link->bev)
        drop(link);
}

static void on_timer(void *arg)
{
    struct redis_link *link = arg;

    if (!link->bev) {
        dial(link);
        return;
    }
    if (link->first && dt_loop_now_ms(link->loop) - link->first->since_ms >= DEADLINE_MS) {
        dt_log(DT_LOG_ERROR, "Redis: no answer in time", NULL);
        drop(link);
        return;
    }
    dt_timer_set(link->timer, DEADLINE_MS / 4);
}

static void dial(struct redis_link *link)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", link->path);
    link->reader = redis_reader_make();
    link->bev = bufferevent_socket_new(dt_loop_base(link->loop), -1,
                                       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    assert(link->bev);
    bufferevent_setcb(link->bev, on_readable, NULL, on_event, link);
    bufferevent_enable(link->bev, EV_READ | EV_WRITE);
    dt_timer_set(link->timer, DEADLINE_MS / 4);
    if (bufferevent_socket_connect(link->bev, (struct sockaddr *)&address, sizeof(address)) < 0)
        drop(link);
}

struct redis_link *redis_link_make(struct dt_loop *loop, const char *path,
                                   void (*on_up)(void *owner), void *owner)
{
    struct redis_link *link = dt_alloc(1, sizeof(*link));

    assert(strlen(path) < sizeof(link->path));
    link->loop = loop;
    snprintf(link->path, sizeof(link->path), "%s", path);
    link->on_up = on_up;
    link->owner = owner;
    link->timer = dt_timer_make(loop, on_timer, link);
    dt_timer_set(link->timer, 0);
    return link;
}

void redis_link_free(struct redis_link *link)
{
    if (!link)
        return;
    drop(link);
    dt_timer_free(link->timer);
    dt_free(link);
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link->is_up;
}

void redis_link_send(struct redis_link *link, const struct redis_arg *args, size_t count,
                     redis_reply *reply, void *owner)
{
    static const struct redis_value lost = {.kind = REDIS_LOST};
    const char **words = dt_alloc(count, sizeof(char *));
    size_t *sizes = dt_alloc(count, sizeof(size_t));
    char *command = NULL;
    struct waiting *waiting;
    int size;

    for (size_t i = 0; i < count; i++) {
        words[i] = args[i].bytes;
        sizes[i] = args[i].size;
    }
    size = link->is_up ? (int)redisFormatCommandArgv(&command, (int)count, words, sizes) : -1;
    dt_free(words);
    dt_free(sizes);
    if (size < 0) {
        reply(owner, &lost);
        return;
    }
    waiting = dt_alloc(1, sizeof(*waiting));
    waiting->reply = reply;
    waiting->owner = owner;
    waiting->since_ms = dt_loop_now_ms(link->loop);
    if (link->last)
        link->last->next = waiting;
    else
        link->first = waiting;
    link->last = waiting;
    bufferevent_write(link->bev, command, (size_t)size);
    redisFreeCommand(command);
}
