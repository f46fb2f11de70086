/* Routes about jobs. */
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/wire/api.h"
#include "http.h"
#include "routes.h"
#include "store_redis.h"
#include "submit_body.h"

#define LIST_MAX 10000
#define LOG_BYTES_MAX (512 * 1024)

/* ---- finding a job ---- */

static const struct dt_job *job_by_name(struct call *call, bool is_destructive,
                                        struct dt_err *err)
{
    const struct dt_core *core = call->runtime->core;
    const struct dt_job *found = NULL;
    int live = 0;

    for (const struct dt_job *job = dt_core_job_from(core, 0); job;
         job = dt_core_job_from(core, job->id + 1)) {
        if (strcmp(job->spec->name, call->id) != 0)
            continue;
        if (job->owner.uid != call->caller.uid && !call->caller.is_operator)
            continue;
        live += !dt_job_is_terminal(job->state);
        found = job;
    }
    if (is_destructive && live > 1) {
        dt_fail(err, DT_CONFLICT, "%d live jobs are named \"%s\"", live, call->id);
        dt_hint(err, "name one by its id: dtctl ls");
        return NULL;
    }
    return found;
}

/* A prefix of an id such as "j-0000" that fits exactly one job. */
static const struct dt_job *job_by_prefix(const struct call *call)
{
    const struct dt_core *core = call->runtime->core;
    const struct dt_job *found = NULL;
    size_t size = strlen(call->id);
    char id[24];

    if (size < 3 || strncmp(call->id, "j-", 2) != 0)
        return NULL;
    for (const struct dt_job *job = dt_core_job_from(core, 0); job;
         job = dt_core_job_from(core, job->id + 1)) {
        dt_job_id_format(job->id, id, sizeof(id));
        if (strncmp(id, call->id, size) != 0)
            continue;
        if (found)
            return NULL;
        found = job;
    }
    return found;
}

const struct dt_job *call_job(struct call *call, bool is_destructive)
{
    const struct dt_job *job = dt_core_job(call->runtime->core, dt_job_id_parse(call->id));
    struct dt_err err = {0};

    if (!job)
        job = job_by_prefix(call);
    if (!job)
        job = job_by_name(call, is_destructive, &err);
    if (!job) {
        if (!err.code) {
            dt_fail(&err, DT_NOT_FOUND, "there is no job \"%.100s\"", call->id);
            dt_hint(&err, "dtctl ls --all lists them");
        }
        call_problem(call, &err, NULL);
    }
    return job;
}

/* What is inside a job is its owner's (and the operators') business. */
static bool may_see_inside(struct call *call, const struct dt_job *job)
{
    struct dt_err err = {0};

    if (call->caller.is_operator || call->caller.uid == job->owner.uid)
        return true;
    dt_fail(&err, DT_DENIED, "the job belongs to %s", job->owner.name);
    call_problem(call, &err, NULL);
    return false;
}

/* ---- submit ---- */

/* `after` names become ids of the caller's newest jobs of that name. */
static enum dt_code resolve_after(struct call *call, struct dt_spec *spec, struct dt_err *err)
{
    for (size_t i = 0; i < spec->after.count; i++) {
        char *text = spec->after.item[i], *colon = strrchr(text, ':');
        const struct dt_job *job;
        char id[40];

        if (!colon || dt_job_id_parse(text))
            continue;
        snprintf(call->id, sizeof(call->id), "%.*s", (int)(colon - text), text);
        job = dt_core_job(call->runtime->core, dt_job_id_parse(call->id));
        job = job ? job : job_by_name(call, false, err);
        if (!job)
            return dt_fail(err, DT_NOT_FOUND, "after: there is no job \"%.60s\"", call->id);
        dt_job_id_format(job->id, id, sizeof(id));
        snprintf(id + strlen(id), sizeof(id) - strlen(id), "%s", colon);
        dt_free(text);
        spec->after.item[i] = dt_copy_text(id);
    }
    return DT_OK;
}

static void on_submitted(void *owner, struct dt_effect *effect)
{
    struct call *call = owner;
    struct dt_tree *tree, *items;
    char id[24];

    call->wait = 0;
    if (effect->err.code) {
        call_problem(call, &effect->err, NULL);
        return;
    }
    call->runtime->counters_submits += (uint64_t)effect->jobs_count;
    tree = dt_tree_make(DT_TREE_MAP);
    items = dt_tree_put_new(tree, "items", DT_TREE_LIST);
    for (int i = 0; i < effect->jobs_count; i++) {
        struct dt_tree *row = dt_tree_put_new(items, NULL, DT_TREE_MAP);

        dt_job_id_format(effect->job_first + (uint64_t)i, id, sizeof(id));
        dt_tree_put_str(row, "id", id);
    }
    call_json(call, 201, tree);
}

static void submit(struct call *call, struct submit_body *body)
{
    struct dt_event event = {.kind = DT_EV_SUBMIT, .caller = call->caller};
    const char *key = evhttp_find_header(evhttp_request_get_input_headers(call->request),
                                         "Idempotency-Key");
    struct dt_err err = {0};

    if (resolve_after(call, &body->spec, &err)) {
        call_problem(call, &err, NULL);
        return;
    }
    if (body->is_dry_run) {
        struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

        dt_tree_put_new(tree, "items", DT_TREE_LIST);
        dt_tree_add(tree, "resolved", dt_tree_copy(body->spec.resolved));
        call_json(call, 200, tree);
        return;
    }
    snprintf(event.req_id, sizeof(event.req_id), "%s", key ? key : "");
    event.spec = dt_alloc(1, sizeof(*event.spec));
    *event.spec = body->spec;
    body->spec = (struct dt_spec){0};
    event.source = dt_copy_text(body->source);
    event.submit_dir = dt_copy_text(body->submit_dir);
    event.count = body->count;
    event.is_if_possible = body->is_if_possible;
    event.request = call_wait(call, on_submitted);
    runtime_event(call->runtime, &event);
}

void route_submit(struct call *call)
{
    struct dt_problems problems = {0};
    struct submit_body body = {0};
    size_t size;
    const char *bytes = call_bytes(call, &size);
    struct dt_err err = {0};

    if (submit_body_read(bytes, size, &body, &problems, &err) == DT_OK &&
        runtime_is_degraded(call->runtime))
        dt_fail(&err, DT_BUSY, "store-degraded: nothing can be stored now; running jobs go on");
    if (err.code)
        call_problem(call, &err, &problems);
    else
        submit(call, &body);
    submit_body_release(&body);
    dt_problems_release(&problems);
}

/* ---- lists ---- */

static bool is_listed(const struct call *call, const struct dt_job *job)
{
    const char *state = call_query(call, "state", NULL), *user = call_query(call, "user", NULL);
    const char *name = call_query(call, "name", NULL), *queue = call_query(call, "queue", NULL);
    const char *word = dt_job_state_name(job->state);
    bool is_state = !state;

    if (user && strcmp(user, "me") == 0)
        user = call->caller.name;

    for (const char *at = state; at && *at;) { /* a comma-separated list */
        size_t size = strcspn(at, ",");

        is_state |= strlen(word) == size && strncmp(at, word, size) == 0;
        is_state |= size == 6 && strncmp(at, "active", 6) == 0 && !dt_job_is_terminal(job->state);
        at += size + (at[size] == ',');
    }
    return is_state && (!user || strcmp(user, job->owner.name) == 0) &&
           (!name || strcmp(name, job->spec->name) == 0) &&
           (!queue || strcmp(queue, job->spec->queue) == 0);
}

/* What of a list is asked for. */
struct list_ask {
    bool is_oldest;
    bool is_rows; /* view=row: only what lists show */
    int64_t limit, cursor;
};

/* Each job's tree becomes text at once and goes: thousands of jobs need little memory so. */
static void list_write(struct dt_buf *text, struct call *call, const struct list_ask *ask,
                       const struct dt_job **all, size_t count)
{
    uint64_t next = 0;
    int64_t written = 0;

    dt_buf_text(text, "{\"items\":[");
    for (size_t i = 0; i < count; i++) {
        const struct dt_job *job = ask->is_oldest ? all[i] : all[count - 1 - i];
        uint64_t cursor = (uint64_t)ask->cursor;
        struct dt_tree *tree;

        if (cursor && (ask->is_oldest ? job->id < cursor : job->id > cursor))
            continue;
        if (!is_listed(call, job))
            continue;
        if (written == ask->limit) {
            next = job->id;
            break;
        }
        if (written++)
            dt_buf_byte(text, ',');
        if (ask->is_rows) {
            dt_api_job_row(text, job);
            continue;
        }
        tree = dt_api_job_tree(job);
        dt_json_write(text, tree);
        dt_tree_free(tree);
    }
    if (next)
        dt_buf_print(text, "],\"next\":\"%llu\"}", (unsigned long long)next);
    else
        dt_buf_text(text, "],\"next\":null}");
}

/* Newest first unless order=oldest; the cursor is the id to go on at. */
void route_jobs(struct call *call)
{
    const struct dt_core *core = call->runtime->core;
    struct list_ask ask = {.limit = 100};
    struct dt_buf text = {0};
    const struct dt_job **all;
    size_t count = 0, room = 0;

    ask.is_rows = strcmp(call_query(call, "view", "full"), "row") == 0;
    ask.is_oldest = strcmp(call_query(call, "order", "newest"), "oldest") == 0;
    if (!call_query_int(call, "limit", 1, LIST_MAX, &ask.limit) ||
        !call_query_int(call, "cursor", 1, INT64_MAX, &ask.cursor))
        return;
    for (const struct dt_job *job = dt_core_job_from(core, 0); job;
         job = dt_core_job_from(core, job->id + 1))
        room++;
    all = dt_alloc(room, sizeof(*all));
    for (const struct dt_job *job = dt_core_job_from(core, 0); job;
         job = dt_core_job_from(core, job->id + 1))
        all[count++] = job;
    list_write(&text, call, &ask, all, count);
    call_text(call, 200, "application/json", text.data, text.size);
    dt_buf_release(&text);
    dt_free(all);
}

void route_job(struct call *call)
{
    const struct dt_job *job = call_job(call, false);
    struct dt_tree *tree;

    if (!job)
        return;
    tree = dt_api_job_tree(job);
    dt_tree_put_u64(tree, "seq", dt_core_seq(call->runtime->core));
    call_json(call, 200, tree);
}

void route_job_spec(struct call *call)
{
    const struct dt_job *job = call_job(call, false);
    struct dt_tree *tree;

    if (!job || !may_see_inside(call, job))
        return;
    tree = dt_tree_make(DT_TREE_MAP);
    dt_tree_add(tree, "resolved", dt_tree_copy(job->spec->resolved));
    dt_tree_put_str(tree, "source", job->source);
    call_json(call, 200, tree);
}

void route_job_why(struct call *call)
{
    const struct dt_job *job = call_job(call, false);

    if (job)
        call_json(call, 200,
                  dt_core_why(call->runtime->core, job->id, runtime_now_ms(call->runtime)));
}

/* ---- cancel ---- */

static void on_cancelled(void *owner, struct dt_effect *effect)
{
    struct call *call = owner;
    const struct dt_job *job = dt_core_job(call->runtime->core, effect->job_first);

    call->wait = 0;
    if (effect->err.code)
        call_problem(call, &effect->err, NULL);
    else
        call_json(call, 202, job ? dt_api_job_tree(job) : dt_tree_make(DT_TREE_MAP));
}

void route_job_cancel(struct call *call)
{
    const struct dt_job *job = call_job(call, true);
    struct dt_event event = {.kind = DT_EV_CANCEL, .caller = call->caller, .grace_ms = -1};
    struct dt_tree *body = NULL;
    struct dt_err err = {0};

    if (!job)
        return;
    if (runtime_is_degraded(call->runtime)) {
        dt_fail(&err, DT_BUSY, "store-degraded: nothing can be stored now; running jobs go on");
        call_problem(call, &err, NULL);
        return;
    }
    if (evbuffer_get_length(evhttp_request_get_input_buffer(call->request)) &&
        !(body = call_body(call)))
        return;
    event.job = job->id;
    event.grace_ms = dt_tree_int(body, "grace_ms", -1);
    if (event.grace_ms > 86400000)
        event.grace_ms = 86400000;
    dt_tree_free(body);
    event.request = call_wait(call, on_cancelled);
    runtime_event(call->runtime, &event);
}

/* ---- events ---- */

/* A question to the store, which may outlive its caller. */
struct events_ask {
    struct runtime *runtime;
    uint64_t wait;
    int64_t from, limit;
};

static void events_answer(struct call *call, const struct events_ask *ask,
                          const struct redis_value *value)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *items = dt_tree_put_new(tree, "items", DT_TREE_LIST);

    for (size_t i = 0; i < value->count && (int64_t)items->count < ask->limit; i++) {
        struct dt_tree *event = NULL;

        if (dt_json_parse(value->items[i].text, value->items[i].size, &dt_json_limits_wire,
                          &event, NULL))
            continue;
        if ((int64_t)dt_tree_u64(event, "seq", 0) < ask->from)
            dt_tree_free(event);
        else
            dt_tree_add(items, NULL, event);
    }
    dt_tree_put_str(tree, "next", NULL);
    call_json(call, 200, tree);
}

static void on_events(void *owner, const struct redis_value *value)
{
    struct events_ask *ask = owner;
    struct call *call = runtime_take(ask->runtime, ask->wait);
    struct dt_err err = {0};

    if (call) {
        call->wait = 0;
        if (value->kind == REDIS_LIST) {
            events_answer(call, ask, value);
        } else {
            dt_fail(&err, DT_BUSY, "store-degraded: events cannot be read now");
            call_problem(call, &err, NULL);
        }
    }
    dt_free(ask);
}

void route_job_events(struct call *call)
{
    const struct dt_job *job = call_job(call, false);
    int64_t from = 0, limit = LIST_MAX;
    struct events_ask *ask;

    if (!job || !call_query_int(call, "from", 0, INT64_MAX, &from) ||
        !call_query_int(call, "limit", 1, LIST_MAX, &limit))
        return;
    ask = dt_alloc(1, sizeof(*ask));
    *ask = (struct events_ask){call->runtime, call_wait(call, NULL), from, limit};
    store_redis_events(call->runtime->store, job->id, on_events, ask);
}

/* ---- logs ---- */

static void add_number(struct call *call, const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)number);
    evhttp_add_header(evhttp_request_get_output_headers(call->request), name, text);
}

/* Where the last `lines` lines of bytes begin. */
static size_t tail_begin(const char *bytes, size_t size, int64_t lines)
{
    size_t at = size;

    if (at && bytes[at - 1] == '\n')
        at--;
    while (at && (bytes[at - 1] != '\n' || --lines > 0))
        at--;
    return at;
}

static void on_log(void *owner, const struct log_part *part)
{
    struct call *call = owner;
    struct dt_err err = {0};
    size_t begin = 0;

    call->ask = 0;
    if (part->error[0]) {
        dt_fail(&err, DT_NOT_FOUND, "rank %d, generation %llu: %s", part->rank,
                (unsigned long long)part->gen, part->error);
        call_problem(call, &err, NULL);
        return;
    }
    if (call->tail)
        begin = tail_begin(part->bytes, part->size, call->tail);
    add_number(call, "Dt-Offset", part->offset + (int64_t)begin);
    add_number(call, "Dt-Next", part->offset + (int64_t)part->size);
    add_number(call, "Dt-Eof",
               part->offset + (int64_t)part->size >= part->size_total || part->is_eof);
    add_number(call, "Dt-Gen", (int64_t)part->gen);
    add_number(call, "Dt-Rank", part->rank);
    call_text(call, 200, "text/plain; charset=utf-8", part->size ? part->bytes + begin : "",
              part->size - begin);
}

void route_job_logs(struct call *call)
{
    const struct dt_job *job = call_job(call, false);
    int64_t rank = 0, gen, offset = 0, limit = LOG_BYTES_MAX;
    struct log_part wanted;
    struct dt_err err = {0};

    if (!job || !may_see_inside(call, job))
        return;
    gen = (int64_t)job->gen;
    if (!call_query_int(call, "rank", 0, DT_RANKS_MAX, &rank) ||
        !call_query_int(call, "gen", 1, INT64_MAX, &gen) ||
        !call_query_int(call, "offset", 0, INT64_MAX, &offset) ||
        !call_query_int(call, "limit", 1, INT64_MAX, &limit) ||
        !call_query_int(call, "tail", 0, 100000, &call->tail))
        return;
    if (!gen || gen > (int64_t)job->gen ||
        rank >= (int64_t)job->spec->nodes_min * job->spec->ranks_per_node) {
        dt_fail(&err, DT_NOT_FOUND, "no such rank or generation: %lld ranks, generation %llu",
                (long long)job->spec->nodes_min * job->spec->ranks_per_node,
                (unsigned long long)job->gen);
        call_problem(call, &err, NULL);
        return;
    }
    limit = limit < LOG_BYTES_MAX ? limit : LOG_BYTES_MAX;
    if (call->tail) {
        offset = -(call->tail * 400);
        if (offset < -LOG_BYTES_MAX)
            offset = -LOG_BYTES_MAX;
    }
    wanted = (struct log_part){.gen = (uint64_t)gen, .rank = (int)rank, .offset = offset,
                               .size = (size_t)limit};
    call->ask = sessions_log_get(call->runtime->sessions, job, &wanted, on_log, call);
}
