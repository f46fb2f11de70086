/* One event loop: timers, descriptors, signals, calls from other threads. */
#ifndef DT_NET_LOOP_H
#define DT_NET_LOOP_H

#include "dt/base/err.h"

struct event_base;
struct dt_loop;  /* opaque */
struct dt_timer; /* opaque */
struct dt_watch; /* opaque: a descriptor */

typedef void dt_loop_call(void *owner);
typedef void dt_loop_fd_call(void *owner, int fd);
typedef void dt_loop_signal_call(void *owner, int signal_number);

/* A loop; the caller frees with dt_loop_free. */
struct dt_loop *dt_loop_make(void);
/* Free the loop; timers, watches and connections must be gone. */
void dt_loop_free(struct dt_loop *loop);
/* The libevent base, for evhttp in dtserver. */
struct event_base *dt_loop_base(struct dt_loop *loop);
/* Run until dt_loop_stop. on_turn (may be NULL) is called at the end of every turn in which
 * anything happened: the place to flush. */
void dt_loop_run(struct dt_loop *loop, dt_loop_call *on_turn, void *owner);
/* Leave dt_loop_run after the present turn. */
void dt_loop_stop(struct dt_loop *loop);
/* CLOCK_BOOTTIME ms, sampled once a turn. */
int64_t dt_loop_now_ms(const struct dt_loop *loop);

/* A timer, not set; one call each time it is set. */
struct dt_timer *dt_timer_make(struct dt_loop *loop, dt_loop_call *call, void *owner);
/* Call in delay_ms from now (0 = next turn); replaces an earlier setting. */
void dt_timer_set(struct dt_timer *timer, int64_t delay_ms);
/* Do not call. */
void dt_timer_clear(struct dt_timer *timer);
/* Clear and free; NULL is fine. */
void dt_timer_free(struct dt_timer *timer);

/* Watch a descriptor (pipe, pidfd, eventfd, socket) for reading; level-triggered. */
struct dt_watch *dt_watch_make(struct dt_loop *loop, int fd, dt_loop_fd_call *call, void *owner);
/* Stop watching and free; the descriptor stays open. NULL is fine. */
void dt_watch_free(struct dt_watch *watch);

/* Call on a signal, from the loop. One owner a signal. */
void dt_loop_on_signal(struct dt_loop *loop, int signal_number, dt_loop_signal_call *call,
                       void *owner);

#endif
