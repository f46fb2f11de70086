/* One event loop over libevent. */
#include "dt/net/loop.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>

#include "dt/base/base.h"
#include "dt/os/proc.h"

#define SIGNALS_MAX 8

struct dt_loop {
    struct event_base *base;
    int64_t now_ms;
    bool is_stopped;
    struct signal_watch {
        struct event *event;
        dt_loop_signal_call *call;
        void *owner;
    } signals[SIGNALS_MAX];
    size_t signals_count;
};

struct dt_timer {
    struct event *event;
    dt_loop_call *call;
    void *owner;
};

struct dt_watch {
    struct event *event;
    dt_loop_fd_call *call;
    void *owner;
};

struct dt_loop *dt_loop_make(void)
{
    struct dt_loop *loop = dt_alloc(1, sizeof(*loop));
    struct event_config *config = event_config_new();

    assert(config);
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    loop->base = event_base_new_with_config(config);
    assert(loop->base);
    event_config_free(config);
    loop->now_ms = dt_clock_ms();
    return loop;
}

void dt_loop_free(struct dt_loop *loop)
{
    if (!loop)
        return;
    for (size_t i = 0; i < loop->signals_count; i++)
        event_free(loop->signals[i].event);
    event_base_free(loop->base);
    dt_free(loop);
}

struct event_base *dt_loop_base(struct dt_loop *loop)
{
    return loop->base;
}

void dt_loop_run(struct dt_loop *loop, dt_loop_call *on_turn, void *owner)
{
    loop->is_stopped = false;
    while (!loop->is_stopped) {
        if (event_base_loop(loop->base, EVLOOP_ONCE) < 0)
            break;
        loop->now_ms = dt_clock_ms();
        if (on_turn)
            on_turn(owner);
    }
}

void dt_loop_stop(struct dt_loop *loop)
{
    loop->is_stopped = true;
    event_base_loopbreak(loop->base);
}

int64_t dt_loop_now_ms(const struct dt_loop *loop)
{
    return loop->now_ms;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct dt_timer *timer = arg;

    (void)fd;
    (void)what;
    timer->call(timer->owner);
}

struct dt_timer *dt_timer_make(struct dt_loop *loop, dt_loop_call *call, void *owner)
{
    struct dt_timer *timer = dt_alloc(1, sizeof(*timer));

    timer->call = call;
    timer->owner = owner;
    timer->event = event_new(loop->base, -1, 0, on_timer, timer);
    assert(timer->event);
    return timer;
}

void dt_timer_set(struct dt_timer *timer, int64_t delay_ms)
{
    struct timeval delay = {.tv_sec = delay_ms / 1000, .tv_usec = delay_ms % 1000 * 1000};

    event_add(timer->event, &delay);
}

void dt_timer_clear(struct dt_timer *timer)
{
    event_del(timer->event);
}

void dt_timer_free(struct dt_timer *timer)
{
    if (!timer)
        return;
    event_free(timer->event);
    dt_free(timer);
}

static void on_fd(evutil_socket_t fd, short what, void *arg)
{
    struct dt_watch *watch = arg;

    (void)what;
    watch->call(watch->owner, (int)fd);
}

struct dt_watch *dt_watch_make(struct dt_loop *loop, int fd, dt_loop_fd_call *call, void *owner)
{
    struct dt_watch *watch = dt_alloc(1, sizeof(*watch));

    watch->call = call;
    watch->owner = owner;
    watch->event = event_new(loop->base, fd, EV_PERSIST | EV_READ, on_fd, watch);
    assert(watch->event);
    event_add(watch->event, NULL);
    return watch;
}

void dt_watch_free(struct dt_watch *watch)
{
    if (!watch)
        return;
    event_free(watch->event);
    dt_free(watch);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct signal_watch *watch = arg;

    (void)what;
    watch->call(watch->owner, (int)number);
}

void dt_loop_on_signal(struct dt_loop *loop, int signal_number, dt_loop_signal_call *call,
                       void *owner)
{
    struct signal_watch *watch = &loop->signals[loop->signals_count];

    assert(loop->signals_count < SIGNALS_MAX);
    loop->signals_count++;
    watch->call = call;
    watch->owner = owner;
    watch->event = evsignal_new(loop->base, signal_number, on_signal, watch);
    assert(watch->event);
    event_add(watch->event, NULL);
}
