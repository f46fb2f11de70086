/* The running controller: events in, effects out, time. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "keys.h"

struct request_wait {
    request_done *done;
    void *owner;
};

int64_t runtime_now_ms(const struct runtime *runtime)
{
    return runtime->dt_base_ms + dt_loop_now_ms(runtime->loop) - runtime->started_ms;
}

void runtime_event(struct runtime *runtime, struct dt_event *event)
{
    int64_t now_ms = runtime_now_ms(runtime);

    runtime->now_ms = now_ms > runtime->now_ms ? now_ms : runtime->now_ms;
    event->now_ms = runtime->now_ms;
    event->wall_ms = dt_wall_ms();
    dt_turn_event(runtime->turn, event);
    dt_event_release(event);
}

uint64_t runtime_wait(struct runtime *runtime, request_done *done, void *owner)
{
    struct request_wait *wait = dt_alloc(1, sizeof(*wait));
    uint64_t handle = ++runtime->request_next;

    wait->done = done;
    wait->owner = owner;
    dt_set_put(&runtime->requests, handle, wait);
    return handle;
}

void runtime_forget(struct runtime *runtime, uint64_t request)
{
    dt_free(dt_set_remove(&runtime->requests, request));
}

void *runtime_take(struct runtime *runtime, uint64_t request)
{
    struct request_wait *wait = dt_set_remove(&runtime->requests, request);
    void *owner = wait ? wait->owner : NULL;

    dt_free(wait);
    return owner;
}

void runtime_read(struct runtime *runtime, uint64_t request)
{
    dt_turn_read(runtime->turn, request);
}

void runtime_fatal(struct runtime *runtime, const char *reason)
{
    if (!runtime->fatal[0])
        snprintf(runtime->fatal, sizeof(runtime->fatal), "%s", reason);
    dt_log(DT_LOG_ERROR, "stopping", "why", reason, NULL);
    runtime->exit_status = 1;
    dt_loop_stop(runtime->loop);
}

bool runtime_is_degraded(const struct runtime *runtime)
{
    return !runtime->is_serving || !store_redis_is_up(runtime->store) ||
           dt_turn_is_degraded(runtime->turn);
}

/* The generation's secret joins the order as it leaves (core has no randomness). */
static void add_secret(struct runtime *runtime, struct dt_tree *message)
{
    struct dt_tree *bundle = dt_tree_get(message, "bundle");
    char secret[33];

    if (!bundle)
        return;
    keys_gang_secret(runtime->state_dir, (uint64_t)dt_tree_int(bundle, "job", 0),
                     dt_tree_u64(bundle, "gen", 0), secret);
    dt_tree_put_str(bundle, "secret", secret);
}

static void deliver(void *owner, struct dt_effect *effect)
{
    struct runtime *runtime = owner;
    struct request_wait *wait;

    switch (effect->kind) {
    case DT_EFF_REPLY:
    case DT_EFF_READ:
        wait = dt_set_remove(&runtime->requests, effect->request);
        if (wait)
            wait->done(wait->owner, effect);
        dt_free(wait);
        break;
    case DT_EFF_SEND:
        add_secret(runtime, effect->message);
        runtime->out.send(runtime->sessions, effect->node, effect->session, effect->message);
        break;
    case DT_EFF_CLOSE:
        runtime->out.fence(runtime->sessions, effect->node, effect->session);
        break;
    }
}

/* Keep the mark of what is durable within half a second of it. */
static void mark_keep(struct runtime *runtime)
{
    struct mark mark = {runtime->epoch, store_redis_seq(runtime->store),
                        dt_core_job_next(runtime->core)};
    struct dt_err err = {0};

    if (mark.epoch == runtime->mark.epoch && mark.seq == runtime->mark.seq)
        return;
    if (mark_write(runtime->state_dir, &mark, &err))
        dt_log(DT_LOG_ERROR, "the high-water mark cannot be kept", "why", err.text, NULL);
    else
        runtime->mark = mark;
}

static void on_tick(void *owner)
{
    struct runtime *runtime = owner;
    struct dt_event event = {.kind = DT_EV_TICK};
    struct dt_err err = {0};

    dt_timer_set(runtime->tick, 500);
    store_redis_poll(runtime->store);
    if (!runtime->is_serving || runtime->is_stopping)
        return;
    mark_keep(runtime);
    if (!dt_turn_is_degraded(runtime->turn) && store_redis_is_up(runtime->store))
        runtime_event(runtime, &event);
    if (dt_core_audit(runtime->core, &err))
        dt_log(DT_LOG_ERROR, "audit failed", "why", err.text, NULL);
}

static void on_committed(void *owner, enum dt_commit outcome)
{
    struct runtime *runtime = owner;

    if (outcome == DT_COMMIT_REFUSED) {
        dt_turn_committed(runtime->turn, outcome);
        runtime_fatal(runtime, "the store has a newer controller or was changed by another hand; "
                               "running jobs go on");
        return;
    }
    dt_turn_committed(runtime->turn, outcome);
}

static void on_event(void *owner, uint64_t seq, uint64_t job, const char *json, size_t size)
{
    struct runtime *runtime = owner;
    size_t at = (runtime->ring_first + runtime->ring_count) % RING_COUNT;
    struct event_line *line;

    if (!runtime->ring)
        runtime->ring = dt_alloc(RING_COUNT, sizeof(*runtime->ring));
    if (runtime->ring_count == RING_COUNT) {
        runtime->ring_first = (runtime->ring_first + 1) % RING_COUNT;
        runtime->ring_count--;
    }
    line = &runtime->ring[at];
    dt_free(line->json);
    *line = (struct event_line){seq, job, dt_copy_bytes(json, size), size};
    runtime->ring_count++;
    runtime->out.event(runtime->http, line);
}

static void on_loaded(void *owner, const struct store_loaded *loaded, const struct dt_err *err)
{
    struct runtime *runtime = owner;
    int64_t away_ms = dt_wall_ms() - loaded->wall_ms;
    struct dt_err behind = {0};

    if (err->code) {
        runtime_fatal(runtime, err->text);
        return;
    }
    if (mark_check(&runtime->mark, loaded->seq, &behind)) {
        runtime_fatal(runtime, behind.text);
        snprintf(runtime->fatal_hint, sizeof(runtime->fatal_hint), "%s", behind.hint);
        runtime->exit_status = dt_code_exit(behind.code);
        return;
    }
    dt_core_job_reserve(runtime->core, runtime->mark.job_next);
    away_ms = away_ms < 0 || !loaded->wall_ms ? 0 : away_ms > 3600000 ? 3600000 : away_ms;
    runtime->epoch = loaded->epoch;
    runtime->dt_base_ms = loaded->now_ms + away_ms + 1;
    runtime->started_ms = dt_loop_now_ms(runtime->loop);
    dt_core_resume(runtime->core, loaded->seq, runtime->dt_base_ms);
    runtime->is_serving = true;
    mark_keep(runtime);
    dt_logf(DT_LOG_INFO, "serving: epoch %llu, sequence %llu", (unsigned long long)loaded->epoch,
            (unsigned long long)loaded->seq);
}

static const struct store_calls store_calls_table = {on_loaded, on_committed, on_event};

void runtime_open(struct runtime *runtime, const char *redis_socket)
{
    runtime->core = dt_core_make(runtime->cluster_id);
    runtime->store = store_redis_make(runtime->loop, redis_socket,
                                      &(struct store_place){
                                          runtime->cluster_id, runtime->core, runtime->mark.epoch,
                                          runtime->accepts_rollback ? runtime->mark.seq : 0},
                                      &store_calls_table, runtime);
    runtime->turn = dt_turn_make(runtime->core, store_redis_ops(runtime->store), deliver, runtime);
    runtime->tick = dt_timer_make(runtime->loop, on_tick, runtime);
    dt_timer_set(runtime->tick, 100);
}

void runtime_close(struct runtime *runtime)
{
    if (runtime->is_serving)
        mark_keep(runtime);
    dt_timer_free(runtime->tick);
    dt_turn_free(runtime->turn);
    store_redis_free(runtime->store);
    dt_core_free(runtime->core);
    for (size_t i = 0; i < runtime->requests.count; i++)
        dt_free(runtime->requests.items[i].value);
    dt_set_release(&runtime->requests);
    for (size_t i = 0; runtime->ring && i < RING_COUNT; i++)
        dt_free(runtime->ring[i].json);
    dt_free(runtime->ring);
}
