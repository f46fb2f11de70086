/* Agents: one session a node, the newest counts. */
#include <stdio.h>
#include <string.h>

#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "dt/wire/msg.h"
#include "runtime.h"

#define BEAT_MS 1000
#define LEASE_TOLD_MS 5000
#define FENCE_PART_BYTES (512 * 1024)
#define LOG_ASK_MS 3000
#define TAIL_BYTES_MAX (64 * 1024)
#define TAILS_MAX 4096

struct session {
    struct sessions *all;
    struct dt_conn *conn;
    uint64_t number;     /* 0 = no hello yet */
    char node[DT_NAME_BYTES_MAX];
};

struct log_ask {
    uint64_t id;
    log_done *done;
    void *owner;
    struct log_part part; /* what was asked */
    uint64_t job;
    int64_t asked_ms;
};

struct tail {
    uint64_t job, gen;
    int rank;
    int64_t offset; /* of bytes.data[0] in the log */
    struct dt_buf bytes;
};

struct sessions {
    struct runtime *runtime;
    struct dt_listener *listener;
    struct dt_tls *tls;
    struct dt_dict by_node;  /* node -> struct session, the present one */
    struct dt_set all;       /* address of conn -> struct session */
    struct fences *fences;
    uint64_t number_next;
    struct dt_set asks;      /* id -> struct log_ask, owned */
    uint64_t ask_next;
    struct tail *tails[TAILS_MAX];
    size_t tails_count, tails_next;
    struct dt_timer *timer;
    bool is_closing;
};

static struct session *present(struct sessions *sessions, const char *node)
{
    return dt_dict_get(&sessions->by_node, node);
}

void sessions_send(struct sessions *sessions, const char *node, uint64_t session,
                   const struct dt_tree *message)
{
    struct session *to = present(sessions, node);

    if (to && to->number == session)
        dt_conn_send(to->conn, message, NULL, 0);
}

void sessions_fence(struct sessions *sessions, const char *node, uint64_t session)
{
    for (size_t i = 0; i < sessions->all.count; i++) {
        struct session *one = sessions->all.items[i].value;

        if (one->number == session && strcmp(one->node, node) == 0)
            dt_conn_close(one->conn, "a newer session of this node took over");
    }
}

static void refuse(struct session *session, const char *code, const char *reason)
{
    struct dt_tree *message = dt_msg_make("refused");

    dt_log(DT_LOG_WARN, "agent refused", "why", reason, "peer",
           dt_conn_peer(session->conn)->uri, NULL);
    dt_tree_put_str(message, "code", code);
    dt_tree_put_str(message, "reason", reason);
    dt_conn_send(session->conn, message, NULL, 0);
    dt_tree_free(message);
    dt_conn_close(session->conn, reason);
}

static bool read_reports(const struct dt_tree *list, struct dt_event *event)
{
    struct dt_err err = {0};

    if (!list || !list->count)
        return true;
    event->reports = dt_alloc(list->count, sizeof(*event->reports));
    for (const struct dt_tree *row = list->first; row; row = row->next) {
        if (dt_msg_report_read(row, &event->reports[event->reports_count], &err))
            return false;
        event->reports_count++;
    }
    return true;
}

static void welcome(struct session *session)
{
    struct runtime *runtime = session->all->runtime;
    struct dt_tree *message = dt_msg_make("welcome");

    dt_tree_put_u64(message, "session", session->number);
    dt_tree_put_u64(message, "epoch", runtime->epoch);
    dt_tree_put_u64(message, "seq", dt_core_seq(runtime->core));
    dt_tree_put_int(message, "beat_ms", BEAT_MS);
    dt_tree_put_int(message, "lease_ms", LEASE_TOLD_MS);
    dt_tree_put_int(message, "wall_ms", dt_wall_ms());
    dt_conn_send(session->conn, message, NULL, 0);
    dt_tree_free(message);
}

/* What must hold before an agent is heard; NULL when all does. */
static const char *hello_problem(const struct session *session, const struct dt_tree *body,
                                 const char **code)
{
    const struct runtime *runtime = session->all->runtime;
    const struct dt_tree *proto = dt_tree_get(body, "proto");
    char uri[160];

    snprintf(uri, sizeof(uri), "dt://%s/node/%s", runtime->cluster_id,
             dt_tree_str(body, "node", ""));
    *code = "denied";
    if (strcmp(dt_tree_str(body, "cluster", ""), runtime->cluster_id) != 0)
        return "the agent belongs to another cluster";
    if (strcmp(dt_conn_peer(session->conn)->uri, uri) != 0)
        return "the node name is not the certificate's";
    *code = "unsupported";
    if (dt_tree_int(proto, "min", 0) > DT_PROTO_MAX || dt_tree_int(proto, "max", 0) < DT_PROTO_MIN)
        return "no protocol version in common";
    *code = "stale";
    if (dt_tree_u64(body, "epoch", 0) > runtime->epoch)
        return "the agent has seen a newer controller: this store is older";
    return NULL;
}

static void on_hello(struct session *session, const struct dt_tree *body)
{
    struct sessions *all = session->all;
    struct dt_event event = {.kind = DT_EV_NODE_HELLO};
    struct dt_err err = {0};
    const char *code, *problem = hello_problem(session, body, &code);

    if (!all->runtime->is_serving) {
        dt_conn_close(session->conn, "not serving yet");
        return;
    }
    event.inventory = dt_alloc(1, sizeof(*event.inventory));
    if (!problem &&
        (dt_msg_inventory_read(dt_tree_get(body, "inventory"), event.inventory, &err) ||
         !read_reports(dt_tree_get(body, "gangs"), &event))) {
        code = "invalid";
        problem = "inventory or generations cannot be read";
    }
    if (problem) {
        refuse(session, code, problem);
        dt_event_release(&event);
        return;
    }
    session->number = ++all->number_next;
    snprintf(session->node, sizeof(session->node), "%s", dt_tree_str(body, "node", ""));
    dt_dict_put(&all->by_node, session->node, session);
    dt_log(DT_LOG_INFO, "agent connected", "node", session->node, NULL);
    welcome(session);
    snprintf(event.node, sizeof(event.node), "%s", session->node);
    event.session = session->number;
    runtime_event(all->runtime, &event);
}

static void on_reports(struct session *session, const struct dt_tree *body,
                       enum dt_event_kind kind)
{
    struct dt_event event = {.kind = kind, .session = session->number};
    struct dt_err err = {0};
    bool is_good = true;

    snprintf(event.node, sizeof(event.node), "%s", session->node);
    if (kind == DT_EV_NODE_BEAT) {
        is_good = read_reports(dt_tree_get(body, "gangs"), &event);
    } else {
        event.reports = dt_alloc(1, sizeof(*event.reports));
        is_good = dt_msg_report_read(body, event.reports, &err) == DT_OK;
        event.reports_count = is_good;
    }
    if (is_good)
        runtime_event(session->all->runtime, &event);
    else
        dt_conn_close(session->conn, "a report that cannot be read");
    dt_event_release(&event);
}

/* The agent must see that it is heard; reports are acknowledged by core, once durable. */
static void acknowledge_beat(struct session *session)
{
    struct dt_tree *message = dt_msg_make("ack");

    dt_tree_put_u64(message, "number", 0);
    dt_conn_send(session->conn, message, NULL, 0);
    dt_tree_free(message);
}

/* Send joined fence data to every node of the generation, in parts. */
static void fence_out(struct sessions *all, const struct dt_tree *header,
                      const struct dt_buf *joined)
{
    const struct dt_job *job = dt_core_job(all->runtime->core,
                                           (uint64_t)dt_tree_int(header, "job", 0));
    size_t parts = joined->size / FENCE_PART_BYTES + 1;
    struct dt_tree *message = dt_msg_make("fence_all");

    dt_tree_put_int(message, "job", dt_tree_int(header, "job", 0));
    dt_tree_put_u64(message, "gen", dt_tree_u64(header, "gen", 0));
    dt_tree_put_int(message, "no", dt_tree_int(header, "no", 0));
    dt_tree_put_int(message, "parts", (int64_t)parts);
    for (size_t part = 0; job && part < parts; part++) {
        size_t begin = part * FENCE_PART_BYTES;
        size_t size = joined->size - begin < FENCE_PART_BYTES ? joined->size - begin
                                                              : FENCE_PART_BYTES;

        dt_tree_put_int(message, "part", (int64_t)part);
        for (size_t i = 0; i < job->members_count; i++) {
            struct session *to = present(all, job->members[i].node);

            if (to)
                dt_conn_send(to->conn, message, dt_buf_str(joined) + begin, size);
        }
    }
    dt_tree_free(message);
}

/* Only a member of the present generation may take part. */
static void on_fence(struct session *session, const struct dt_frame *frame)
{
    struct sessions *all = session->all;
    uint64_t id = (uint64_t)dt_tree_int(frame->body, "job", 0);
    const struct dt_job *job = dt_core_job(all->runtime->core, id);
    int64_t rank = dt_tree_int(frame->body, "node_rank", 0);
    const struct dt_buf *joined;
    struct dt_err err = {0};

    if (!job || job->gen != dt_tree_u64(frame->body, "gen", 0) ||
        rank >= (int64_t)job->members_count ||
        dt_tree_int(frame->body, "nodes", 0) != (int64_t)job->members_count ||
        strcmp(job->members[rank].node, session->node) != 0)
        return; /* of an old generation */
    joined = fences_add(all->fences, all->runtime->core, frame, &err);
    if (joined)
        fence_out(all, frame->body, joined);
    else if (err.code)
        dt_log(DT_LOG_WARN, "fence refused", "why", err.text, "node", session->node, NULL);
}

static struct tail *tail_find(struct sessions *all, uint64_t job, uint64_t gen, int rank)
{
    for (size_t i = 0; i < all->tails_count; i++)
        if (all->tails[i]->job == job && all->tails[i]->gen == gen && all->tails[i]->rank == rank)
            return all->tails[i];
    return NULL;
}

static void tail_note(struct sessions *all, const struct dt_frame *frame)
{
    uint64_t job = (uint64_t)dt_tree_int(frame->body, "job", 0);
    uint64_t gen = dt_tree_u64(frame->body, "gen", 0);
    int rank = (int)dt_tree_int(frame->body, "rank", 0);
    int64_t offset = dt_tree_int(frame->body, "offset", 0);
    struct tail *tail = tail_find(all, job, gen, rank);

    if (!tail) {
        if (all->tails_count < TAILS_MAX) {
            tail = all->tails[all->tails_count++] = dt_alloc(1, sizeof(*tail));
        } else { /* the oldest goes */
            tail = all->tails[all->tails_next++ % TAILS_MAX];
            dt_buf_release(&tail->bytes);
        }
        *tail = (struct tail){.job = job, .gen = gen, .rank = rank, .offset = offset};
    }
    if (offset != tail->offset + (int64_t)tail->bytes.size) { /* a gap: keep the newest */
        dt_buf_clear(&tail->bytes);
        tail->offset = offset;
    }
    dt_buf_add(&tail->bytes, frame->blob ? frame->blob : "", frame->blob_size);
    if (tail->bytes.size > TAIL_BYTES_MAX) {
        size_t extra = tail->bytes.size - TAIL_BYTES_MAX;

        dt_buf_drop(&tail->bytes, extra);
        tail->offset += (int64_t)extra;
    }
}

static void ask_answer(struct sessions *all, struct log_ask *ask)
{
    dt_set_remove(&all->asks, ask->id);
    ask->done(ask->owner, &ask->part);
    dt_free(ask);
}

/* The node cannot answer: what it shipped while it lived. */
static void ask_from_tail(struct sessions *all, struct log_ask *ask, const char *why)
{
    struct tail *tail = tail_find(all, ask->job, ask->part.gen, ask->part.rank);
    int64_t skip = 0;

    if (!tail) {
        snprintf(ask->part.error, sizeof(ask->part.error), "%s, and nothing was shipped", why);
        ask_answer(all, ask);
        return;
    }
    if (ask->part.offset >= tail->offset)
        skip = ask->part.offset - tail->offset;
    if (skip > (int64_t)tail->bytes.size)
        skip = (int64_t)tail->bytes.size;
    ask->part.bytes = dt_buf_str(&tail->bytes) + skip;
    ask->part.size = tail->bytes.size - (size_t)skip;
    ask->part.offset = tail->offset + skip;
    ask->part.size_total = tail->offset + (int64_t)tail->bytes.size;
    ask->part.is_eof = true;
    ask_answer(all, ask);
}

static void on_logs(struct session *session, const struct dt_frame *frame)
{
    struct sessions *all = session->all;
    uint64_t id = (uint64_t)dt_tree_int(frame->body, "id", 0);
    struct log_ask *ask;

    if (!id) {
        tail_note(all, frame);
        return;
    }
    ask = dt_set_get(&all->asks, id);
    if (!ask)
        return; /* late */
    if (dt_tree_str(frame->body, "error", "")[0]) {
        ask_from_tail(all, ask, dt_tree_str(frame->body, "error", ""));
        return;
    }
    ask->part.offset = dt_tree_int(frame->body, "offset", 0);
    ask->part.size_total = dt_tree_int(frame->body, "size_total", 0);
    ask->part.is_eof = dt_tree_bool(frame->body, "eof", false);
    ask->part.bytes = frame->blob;
    ask->part.size = frame->blob_size;
    ask_answer(all, ask);
}

uint64_t sessions_log_get(struct sessions *sessions, const struct dt_job *job,
                          const struct log_part *wanted, log_done *done, void *owner)
{
    struct log_ask *ask = dt_alloc(1, sizeof(*ask));
    struct session *to = NULL;
    struct dt_tree *message;
    uint64_t id = ++sessions->ask_next;

    ask->id = id;
    ask->done = done;
    ask->owner = owner;
    ask->job = job->id;
    ask->part = *wanted;
    ask->asked_ms = dt_loop_now_ms(sessions->runtime->loop);
    ask->part.size = 0;
    dt_set_put(&sessions->asks, id, ask);
    for (size_t i = 0; i < job->members_count; i++)
        if (wanted->rank >= job->members[i].rank_first &&
            wanted->rank < job->members[i].rank_first + job->members[i].ranks_count)
            to = present(sessions, job->members[i].node);
    if (!to) { /* answered from what was shipped, in the next turn */
        ask->asked_ms -= LOG_ASK_MS;
        dt_timer_set(sessions->timer, 0);
        return id;
    }
    message = dt_msg_make("log_get");
    dt_tree_put_int(message, "id", (int64_t)id);
    dt_tree_put_int(message, "job", (int64_t)job->id);
    dt_tree_put_u64(message, "gen", wanted->gen);
    dt_tree_put_int(message, "rank", wanted->rank);
    dt_tree_put_int(message, "offset", wanted->offset);
    dt_tree_put_int(message, "size_max", (int64_t)wanted->size);
    dt_tree_put_str(message, "output_dir", job->output_dir);
    dt_conn_send(to->conn, message, NULL, 0);
    dt_tree_free(message);
    return id;
}

void sessions_log_forget(struct sessions *sessions, uint64_t id)
{
    dt_free(dt_set_remove(&sessions->asks, id));
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct session *session = owner;
    const char *type = dt_tree_str(frame->body, "type", "");
    struct dt_err err = {0};

    if (dt_msg_check(frame->body, DT_FROM_AGENT, &err)) {
        dt_log(DT_LOG_WARN, "bad message", "why", err.text, "node", session->node, NULL);
        dt_conn_close(conn, err.text);
        return;
    }
    if (strcmp(type, "hello") == 0) {
        if (session->number)
            dt_conn_close(conn, "a second hello");
        else
            on_hello(session, frame->body);
        return;
    }
    if (!session->number || present(session->all, session->node) != session) {
        dt_conn_close(conn, session->number ? "fenced by a newer session" : "no hello");
        return;
    }
    if (strcmp(type, "beat") == 0) {
        acknowledge_beat(session);
        on_reports(session, frame->body, DT_EV_NODE_BEAT);
    } else if (strcmp(type, "report") == 0) {
        on_reports(session, frame->body, DT_EV_GANG_REPORT);
    } else if (strcmp(type, "fence") == 0) {
        on_fence(session, frame);
    } else if (strcmp(type, "logs") == 0) {
        on_logs(session, frame);
    }
}

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct session *session = owner;
    struct sessions *all = session->all;
    struct dt_event event = {.kind = DT_EV_NODE_CLOSED, .session = session->number,
                             .is_reset = is_reset};

    dt_set_remove(&all->all, (uint64_t)(uintptr_t)conn);
    if (session->number && present(all, session->node) == session)
        dt_dict_remove(&all->by_node, session->node);
    if (session->number && all->runtime->is_serving && !all->is_closing) {
        dt_log(DT_LOG_INFO, "agent gone", "node", session->node, "why", reason, NULL);
        snprintf(event.node, sizeof(event.node), "%s", session->node);
        runtime_event(all->runtime, &event);
    }
    dt_free(session);
}

static const struct dt_conn_calls session_calls = {.on_frame = on_frame, .on_closed = on_closed};

static void on_open(void *owner, struct dt_conn *conn)
{
    struct sessions *all = owner;
    struct session *session = dt_alloc(1, sizeof(*session));

    session->all = all;
    session->conn = conn;
    dt_set_put(&all->all, (uint64_t)(uintptr_t)conn, session);
    dt_conn_set_calls(conn, &session_calls, session);
}

static void on_late(void *owner)
{
    struct sessions *all = owner;
    int64_t now_ms = dt_loop_now_ms(all->runtime->loop);

    dt_timer_set(all->timer, 500);
    for (size_t i = 0; i < all->asks.count;) {
        struct log_ask *ask = all->asks.items[i].value;

        if (now_ms - ask->asked_ms >= LOG_ASK_MS) {
            ask_from_tail(all, ask, "its node did not answer");
            i = 0;
        } else {
            i++;
        }
    }
}

enum dt_code sessions_open(struct runtime *runtime, const char *address, int port,
                           struct dt_err *err)
{
    static const struct dt_conn_calls accept_calls = {.on_open = on_open};
    struct sessions *made = dt_alloc(1, sizeof(*made));
    char cert[600], key[600], ca[600];
    enum dt_code code;

    snprintf(cert, sizeof(cert), "%s/keys/server.pem", runtime->state_dir);
    snprintf(key, sizeof(key), "%s/keys/server-key.pem", runtime->state_dir);
    snprintf(ca, sizeof(ca), "%s/keys/ca.pem", runtime->state_dir);
    made->runtime = runtime;
    made->fences = fences_make();
    code = dt_tls_load(&made->tls, true, &(struct dt_tls_files){cert, key, ca}, err);
    if (!code)
        code = dt_listen_tls(&(struct dt_endpoint){runtime->loop, &accept_calls, made, made->tls},
                             address, port, &made->listener, err);
    if (code) {
        dt_tls_free(made->tls);
        fences_free(made->fences);
        dt_free(made);
        return code;
    }
    made->timer = dt_timer_make(runtime->loop, on_late, made);
    dt_timer_set(made->timer, 500);
    runtime->sessions = made;
    return DT_OK;
}

void sessions_close(struct sessions *sessions)
{
    if (!sessions)
        return;
    sessions->is_closing = true;
    dt_listener_free(sessions->listener);
    dt_timer_free(sessions->timer);
    dt_tls_free(sessions->tls);
    fences_free(sessions->fences);
    for (size_t i = 0; i < sessions->tails_count; i++) {
        dt_buf_release(&sessions->tails[i]->bytes);
        dt_free(sessions->tails[i]);
    }
    for (size_t i = 0; i < sessions->asks.count; i++)
        dt_free(sessions->asks.items[i].value);
    dt_set_release(&sessions->asks);
    dt_set_release(&sessions->all); /* the process ends: sessions go with it */
    dt_dict_release(&sessions->by_node);
    dt_free(sessions);
}

int sessions_port(const struct sessions *sessions)
{
    return dt_listener_port(sessions->listener);
}

size_t sessions_count(const struct sessions *sessions)
{
    return sessions->by_node.count;
}
