/* Stay with jobs until they end, showing how they get on. */
#include "follow.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/units.h"
#include "dt/core/job.h"
#include "dt/os/proc.h"
#include "progress.h"
#include "render.h"
#include "say.h"
#include "watch.h"

#define LOOK_MS 500 /* progress is not an event: it is looked up so often */

/* One job that is followed. */
struct item {
    char id[32];
    uint64_t seq;
    int exit;
    bool is_over;
};

struct state {
    const struct dt_follow *follow;
    struct item *items; /* follow->ids_count */
    size_t over_count;
    struct dt_progress_bar bar;
    struct dt_watch watch;
    int64_t end_ms; /* 0 = none */
};

static bool is_over(const struct dt_tree *job)
{
    enum dt_job_state state = dt_job_state_from_name(dt_tree_str(job, "state", ""));

    return state != DT_JOB_STATE_COUNT && dt_job_is_terminal(state);
}

static int job_exit(const struct dt_tree *job)
{
    const char *state = dt_tree_str(job, "state", "");
    const char *cause = dt_tree_str(dt_tree_get(job, "result"), "cause", "");
    int64_t exit = dt_tree_int(dt_tree_get(job, "result"), "exit", -1);

    if (exit >= 10 && exit <= 13)
        return (int)exit;
    if (strcmp(state, "succeeded") == 0)
        return 0;
    if (strcmp(state, "cancelled") == 0)
        return 11;
    if (strcmp(state, "expired") == 0 || strcmp(cause, "time-limit") == 0 ||
        strcmp(cause, "queue-time") == 0)
        return 12;
    if (strcmp(cause, "node_lost") == 0 || strcmp(cause, "xid") == 0 ||
        strcmp(cause, "ecc") == 0)
        return 13;
    return 10;
}

static void cause_add(struct dt_buf *buf, const struct dt_tree *result)
{
    int64_t rank = dt_tree_int(result, "rank", -1), number = dt_tree_int(result, "signal", 0);
    const char *node = dt_tree_str(result, "node", ""), *reason = dt_tree_str(result, "reason", "");

    if (*reason) {
        dt_buf_text(buf, ": ");
        dt_add_safe(buf, reason);
        return;
    }
    if (rank < 0)
        return;
    dt_buf_print(buf, ": rank %lld", (long long)rank);
    if (*node) {
        dt_buf_text(buf, " on ");
        dt_add_safe(buf, node);
    }
    if (number)
        dt_buf_print(buf, " was ended by signal %lld", (long long)number);
    else
        dt_buf_print(buf, " exited with %lld", (long long)dt_tree_int(result, "code", 0));
}

void dt_job_sentence(struct dt_buf *buf, const struct dt_tree *job)
{
    const char *state = dt_tree_str(job, "state", "?"), *reason = dt_tree_str(job, "reason", "");
    int64_t restarts = dt_tree_int(dt_tree_get(job, "restarts"), "total", 0);
    int64_t started = 0, finished = 0;
    char time[64];

    dt_add_safe(buf, state);
    if (!is_over(job)) {
        if (*reason) {
            dt_buf_text(buf, ": ");
            dt_add_safe(buf, reason);
        }
        return;
    }
    if (strcmp(state, "succeeded") != 0)
        cause_add(buf, dt_tree_get(job, "result"));
    if (dt_parse_instant_ms(dt_tree_str(job, "started", ""), &started, NULL) == DT_OK &&
        dt_parse_instant_ms(dt_tree_str(job, "finished", ""), &finished, NULL) == DT_OK) {
        dt_format_age(finished - started, time, sizeof(time));
        dt_buf_print(buf, " (ran %s", time);
        if (restarts > 0)
            dt_buf_print(buf, ", %lld restart%s", (long long)restarts, restarts == 1 ? "" : "s");
        dt_buf_byte(buf, ')');
    }
}

void dt_event_line(struct dt_buf *buf, const struct dt_tree *event)
{
    const char *at = dt_tree_str(event, "at", "");
    const char *gen = dt_cell_text(dt_tree_get(event, "gen"));

    if (strlen(at) >= 19)
        dt_buf_print(buf, "%.8s  ", at + 11);
    dt_add_safe(buf, dt_tree_str(event, "job", ""));
    if (strcmp(gen, "-") != 0 && strcmp(gen, "0") != 0) {
        dt_buf_text(buf, " g");
        dt_add_safe(buf, gen);
    }
    dt_buf_byte(buf, ' ');
    dt_add_safe(buf, dt_tree_str(event, "what", ""));
    if (*dt_tree_str(event, "text", "")) {
        dt_buf_text(buf, ": ");
        dt_add_safe(buf, dt_tree_str(event, "text", ""));
    }
}

static void over(struct state *state, struct item *item, const struct dt_tree *job)
{
    struct dt_buf line = {0}, put = {0};

    item->is_over = true;
    item->exit = job_exit(job);
    state->over_count++;
    dt_progress_hide(&state->bar);
    dt_job_sentence(&line, job);
    dt_say("%s %s", item->id, dt_buf_str(&line));
    if (state->follow->puts_results && !(dt_stdout_is_terminal() && dt_stderr_is_terminal())) {
        dt_buf_print(&put, "%s %s\n", item->id, dt_tree_str(job, "state", "?"));
        dt_put(&put);
    }
    dt_buf_release(&line);
    dt_buf_release(&put);
}

/* Read one job; notes its end, shows its progress. */
static enum dt_code look(struct state *state, struct item *item, const char *name,
                         struct dt_err *err)
{
    struct dt_buf path = {0};
    struct dt_tree *job = NULL;
    enum dt_code code;

    dt_api_path(&path, "/v1/jobs/", name, "");
    code = dt_api_get(state->follow->api, dt_buf_str(&path), &job, err);
    dt_buf_release(&path);
    if (code)
        return code;
    snprintf(item->id, sizeof(item->id), "%s", dt_tree_str(job, "id", name));
    item->seq = dt_tree_u64(job, "seq", item->seq);
    if (is_over(job))
        over(state, item, job);
    else if (state->follow->shows_progress && state->follow->ids_count == 1)
        dt_progress_show(&state->bar, job);
    dt_tree_free(job);
    return DT_OK;
}

/* Read every job that is not over. A lost controller is the watch's business. */
static enum dt_code look_all(struct state *state, struct dt_err *err)
{
    for (size_t i = 0; i < state->follow->ids_count; i++) {
        enum dt_code code;

        if (state->items[i].is_over)
            continue;
        code = look(state, &state->items[i], state->items[i].id, err);
        if (code && code != DT_UNREACHABLE && code != DT_CORRUPT)
            return code;
    }
    return DT_OK;
}

static enum dt_code on_event(struct state *state, const struct dt_tree *event,
                             struct dt_err *err)
{
    const char *id = dt_tree_str(event, "job", "");

    for (size_t i = 0; i < state->follow->ids_count; i++) {
        struct item *item = &state->items[i];

        if (item->is_over || strcmp(item->id, id) != 0)
            continue;
        if (state->follow->shows_events) {
            struct dt_buf line = {0};

            dt_progress_hide(&state->bar);
            dt_event_line(&line, event);
            dt_say("%s", dt_buf_str(&line));
            dt_buf_release(&line);
        }
        if (is_over(event))
            return look(state, item, item->id, err);
    }
    return DT_OK;
}

/* Detach: say how to go on and how to stop it. */
static int interrupted(struct state *state)
{
    int number = dt_stop_signal();

    dt_progress_hide(&state->bar);
    for (size_t i = 0; i < state->follow->ids_count; i++)
        if (!state->items[i].is_over)
            dt_say("%s is still running; follow again: dtctl wait %s; stop it: dtctl cancel %s",
                   state->items[i].id, state->items[i].id, state->items[i].id);
    return 128 + number;
}

static int64_t wait_time(const struct state *state)
{
    int64_t left = state->end_ms ? state->end_ms - dt_clock_ms() : 10000;
    int64_t most = state->follow->shows_progress && state->follow->ids_count == 1 ? LOOK_MS
                                                                                  : 10000;

    return left < 0 ? 0 : left < most ? left : most;
}

/* Until all are over, the time is up, or a signal came. */
static enum dt_code follow_loop(struct state *state, struct dt_err *err)
{
    enum dt_code code = DT_OK;

    while (!code && state->over_count < state->follow->ids_count && !dt_stop_signal()) {
        struct dt_news news = {0};

        if (state->end_ms && dt_clock_ms() >= state->end_ms)
            return dt_fail(err, DT_TIMEOUT, "%zu of %zu jobs have not ended in time",
                           state->follow->ids_count - state->over_count,
                           state->follow->ids_count);
        code = dt_watch_next(&state->watch, wait_time(state), &news, err);
        if (!code && news.event)
            code = on_event(state, news.event, err);
        else if (!code && state->watch.stream && !dt_stop_signal())
            code = look_all(state, err);
        dt_tree_free(news.event);
    }
    return code;
}

static enum dt_code follow_begin(struct state *state, struct dt_err *err)
{
    const struct dt_follow *follow = state->follow;
    uint64_t seq = UINT64_MAX;
    enum dt_code code;

    for (size_t i = 0; i < follow->ids_count; i++) {
        if ((code = look(state, &state->items[i], follow->ids[i], err)))
            return code;
        if (!state->items[i].is_over && state->items[i].seq < seq)
            seq = state->items[i].seq;
    }
    if (state->over_count == follow->ids_count)
        return DT_OK;
    return dt_watch_open(&state->watch, follow->api,
                         follow->ids_count == 1 ? state->items[0].id : NULL,
                         follow->shows_events ? 0 : seq, err);
}

int dt_follow_run(const struct dt_follow *follow)
{
    struct state state = {.follow = follow};
    struct dt_err err = {0};
    enum dt_code code;
    int exit = 0;

    dt_stop_watch();
    state.items = dt_alloc(follow->ids_count, sizeof(*state.items));
    if (follow->timeout_ms)
        state.end_ms = dt_clock_ms() + follow->timeout_ms;
    code = follow_begin(&state, &err);
    if (!code)
        code = follow_loop(&state, &err);
    if (dt_stop_signal()) {
        exit = interrupted(&state);
    } else if (code) {
        dt_progress_hide(&state.bar);
        exit = dt_say_error(&err);
    }
    for (size_t i = 0; i < follow->ids_count && !exit; i++)
        exit = state.items[i].exit;
    dt_watch_close(&state.watch);
    dt_free(state.items);
    return exit;
}
