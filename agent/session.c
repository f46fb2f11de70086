/* The connection to the controller: hello, beats, reports, orders. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "dt/wire/msg.h"

#define REDIAL_MS_LEAST 50
#define REDIAL_MS_MOST 2000
#define SETTLE_MS 50
#define DEAF_MS 10000
#define CLOCK_WARN_MS 10000

struct session {
    struct agent *agent;
    struct dt_tls *tls;
    struct dt_conn *conn;     /* NULL = away */
    bool is_welcome;          /* orders and reports may pass */
    uint64_t epoch;           /* highest seen; kept on disk */
    uint64_t report_next;
    int64_t beat_ms, beat_number;
    int64_t heard_ms;         /* loop time of the controller's last frame */
    int64_t wait_ms;          /* before the next dial */
    struct dt_timer *dial, *beat;
};

bool session_is_connected(const struct session *session)
{
    return session->is_welcome && dt_loop_now_ms(session->agent->loop) - session->heard_ms <
                                      3 * session->beat_ms + 1000;
}

void session_send(struct session *session, const struct dt_tree *body, const void *blob,
                  size_t size)
{
    if (session->conn && session->is_welcome)
        dt_conn_send(session->conn, body, blob, size);
}

void session_report(struct session *session, const struct dt_gang_report *report)
{
    struct dt_gang_report numbered = *report;
    struct dt_tree *body;

    numbered.number = ++session->report_next;
    body = dt_msg_report_tree(&numbered);
    session_send(session, body, NULL, 0);
    dt_tree_free(body);
}

/* ---- hello ---- */

static enum dt_report_what state_word(const struct gang *gang)
{
    if (gang->state == DT_GANG_GONE)
        return DT_REPORT_GONE;
    if (gang->exits_count)
        return DT_REPORT_EXIT;
    return gang->is_up ? DT_REPORT_UP : DT_REPORT_PREPARED;
}

static void add_gangs(struct session *session, struct dt_tree *hello)
{
    struct dt_tree *list = dt_tree_put_new(hello, "gangs", DT_TREE_LIST);
    struct gangs *gangs = session->agent->gangs;

    for (size_t i = 0; i < gangs_count(gangs); i++) {
        const struct gang *gang = gangs_at(gangs, i);
        struct dt_gang_report report;

        if (gang->state == DT_GANG_PREPARING)
            continue; /* it tells when it is prepared */
        report = gangs_report(gang, state_word(gang));
        dt_tree_add(list, NULL, dt_msg_report_tree(&report));
    }
}

static void send_hello(struct session *session)
{
    struct agent *agent = session->agent;
    struct dt_tree *hello = dt_msg_make("hello"), *proto;

    proto = dt_tree_put_new(hello, "proto", DT_TREE_MAP);
    dt_tree_put_int(proto, "min", DT_PROTO_MIN);
    dt_tree_put_int(proto, "max", DT_PROTO_MAX);
    dt_tree_put_str(hello, "cluster", agent->cluster_id);
    dt_tree_put_str(hello, "node", agent->node);
    dt_tree_put_u64(hello, "epoch", session->epoch);
    dt_tree_put_str(hello, "version", DT_VERSION);
    dt_tree_add(hello, "inventory", dt_msg_inventory_tree(&agent->inventory));
    add_gangs(session, hello);
    dt_conn_send(session->conn, hello, NULL, 0);
    dt_tree_free(hello);
}

static void epoch_path(const struct session *session, char *path, size_t size)
{
    snprintf(path, size, "%s/epoch", session->agent->state_dir);
}

static void epoch_note(struct session *session, uint64_t epoch)
{
    char path[400], text[24];

    if (epoch <= session->epoch)
        return;
    session->epoch = epoch;
    epoch_path(session, path, sizeof(path));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)epoch);
    if (dt_file_replace(path, text, strlen(text), 0600, NULL))
        dt_log(DT_LOG_WARN, "the controller's epoch cannot be kept", "path", path, NULL);
}

static void epoch_read(struct session *session)
{
    struct dt_buf text = {0};
    char path[400];

    epoch_path(session, path, sizeof(path));
    if (dt_file_read(path, 32, &text, NULL) == DT_OK &&
        !dt_parse_u64(dt_buf_str(&text), UINT64_MAX, &session->epoch))
        dt_log(DT_LOG_WARN, "the kept epoch is damaged", "path", path, NULL);
    dt_buf_release(&text);
}

static void on_welcome(struct session *session, const struct dt_tree *body)
{
    int64_t clock_ms = dt_wall_ms() - dt_tree_int(body, "wall_ms", 0);
    uint64_t epoch = dt_tree_u64(body, "epoch", 0);

    if (epoch < session->epoch) {
        dt_conn_close(session->conn, "this controller is older than one seen before");
        return;
    }
    epoch_note(session, epoch);
    session->is_welcome = true;
    session->agent->out.beat(session->agent->steps, true, true);
    session->wait_ms = REDIAL_MS_LEAST;
    session->beat_ms = dt_tree_int(body, "beat_ms", 1000);
    dt_timer_set(session->beat, session->beat_ms);
    dt_log(DT_LOG_INFO, "connected to the controller", NULL);
    if (clock_ms > CLOCK_WARN_MS || clock_ms < -CLOCK_WARN_MS)
        dt_logf(DT_LOG_WARN, "this node's clock is %lld s off the controller's",
                (long long)(clock_ms / 1000));
}

/* ---- logs ---- */

static void answer_log(struct session *session, const struct dt_tree *body)
{
    int64_t offset = dt_tree_int(body, "offset", 0), size_max = dt_tree_int(body, "size_max", 1);
    struct dt_tree *answer = dt_msg_make("logs");
    struct stat info = {0};
    char path[700], *bytes = dt_alloc((size_t)size_max + 1, 1);
    ssize_t got = -1;
    int fd, why;

    snprintf(path, sizeof(path), "%.500s/logs/g%06llu/rank-%05d.log",
             dt_tree_str(body, "output_dir", "/nowhere"),
             (unsigned long long)dt_tree_u64(body, "gen", 0), (int)dt_tree_int(body, "rank", 0));
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &info) == 0) {
        if (offset < 0)
            offset = info.st_size + offset > 0 ? info.st_size + offset : 0;
        got = pread(fd, bytes, (size_t)size_max, offset);
    }
    why = errno;
    dt_tree_put_int(answer, "id", dt_tree_int(body, "id", 0));
    dt_tree_put_int(answer, "job", dt_tree_int(body, "job", 0));
    dt_tree_put_u64(answer, "gen", dt_tree_u64(body, "gen", 0));
    dt_tree_put_int(answer, "rank", dt_tree_int(body, "rank", 0));
    dt_tree_put_int(answer, "offset", offset < 0 ? 0 : offset);
    dt_tree_put_int(answer, "size_total", info.st_size);
    dt_tree_put_bool(answer, "eof", got >= 0 && offset + got >= info.st_size);
    if (got < 0)
        dt_tree_put_str(answer, "error",
                        why == ENOENT ? "it wrote no log" : strerror(why));
    session_send(session, answer, bytes, got > 0 ? (size_t)got : 0);
    dt_tree_free(answer);
    dt_free(bytes);
    if (fd >= 0)
        close(fd);
}

/* ---- frames ---- */

static void on_order(struct session *session, struct dt_frame *frame)
{
    struct agent *agent = session->agent;
    const char *type = dt_tree_str(frame->body, "type", "");

    if (strcmp(type, "prepare") == 0)
        gangs_prepare(agent, frame->body);
    else if (strcmp(type, "go") == 0)
        gangs_go(agent, frame->body);
    else if (strcmp(type, "stop") == 0)
        gangs_stop(agent, frame->body);
    else if (strcmp(type, "forget") == 0)
        gangs_forget(agent, frame->body);
    else if (strcmp(type, "fence_all") == 0)
        gangs_fence_all(agent, frame);
    else if (strcmp(type, "log_get") == 0)
        answer_log(session, frame->body);
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct session *session = owner;
    const char *type = dt_tree_str(frame->body, "type", "");
    struct dt_err err = {0};

    session->heard_ms = dt_loop_now_ms(session->agent->loop);
    if (dt_msg_check(frame->body, DT_FROM_CONTROLLER, &err)) {
        dt_log(DT_LOG_ERROR, "bad message of the controller", "why", err.text, NULL);
        dt_conn_close(conn, err.text);
        return;
    }
    if (strcmp(type, "welcome") == 0)
        on_welcome(session, frame->body);
    else if (strcmp(type, "refused") == 0)
        dt_log(DT_LOG_ERROR, "refused by the controller", "why",
               dt_tree_str(frame->body, "reason", ""), NULL);
    else if (session->is_welcome)
        on_order(session, frame);
}

static void on_open(void *owner, struct dt_conn *conn)
{
    struct session *session = owner;

    session->conn = conn;
    send_hello(session);
}

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct session *session = owner;

    (void)conn;
    (void)is_reset;
    if (session->is_welcome)
        dt_log(DT_LOG_WARN, "the controller is away; ranks go on", "why", reason, NULL);
    else if (session->wait_ms >= REDIAL_MS_MOST)
        dt_log(DT_LOG_WARN, "the controller does not answer", "why", reason, NULL);
    session->conn = NULL;
    session->is_welcome = false;
    dt_timer_clear(session->beat);
    dt_timer_set(session->dial, session->wait_ms);
    session->wait_ms = session->wait_ms * 2 > REDIAL_MS_MOST ? REDIAL_MS_MOST
                                                             : session->wait_ms * 2;
}

static const struct dt_conn_calls controller_calls = {.on_open = on_open, .on_frame = on_frame,
                                                      .on_closed = on_closed};

/* The address itself, or what the file says now (a restarted controller has a new port). */
static bool controller_address(const struct agent *agent, char *text, size_t size)
{
    struct dt_buf buf = {0};
    bool is_good = true;

    if (agent->controller[0] != '/') {
        snprintf(text, size, "%s", agent->controller);
        return true;
    }
    is_good = dt_file_read(agent->controller, 200, &buf, NULL) == DT_OK;
    snprintf(text, size, "%.*s", (int)strcspn(dt_buf_str(&buf), "\r\n"), dt_buf_str(&buf));
    dt_buf_release(&buf);
    return is_good;
}

static void on_dial(void *owner)
{
    struct session *session = owner;
    struct dt_err err = {0};
    struct dt_conn *conn;
    char address[200], uri[100];

    if (session->conn)
        return;
    if (!gangs_are_settled(session->agent->gangs)) { /* first know what is here */
        dt_timer_set(session->dial, SETTLE_MS);
        return;
    }
    snprintf(uri, sizeof(uri), "dt://%s/controller", session->agent->cluster_id);
    if (controller_address(session->agent, address, sizeof(address)) &&
        dt_dial_tls(&(struct dt_endpoint){session->agent->loop, &controller_calls, session,
                                          session->tls},
                    address, uri, &conn, &err) == DT_OK) {
        session->conn = conn; /* until on_closed */
        return;
    }
    dt_timer_set(session->dial, REDIAL_MS_MOST / 4);
}

static void on_beat(void *owner)
{
    struct session *session = owner;
    struct gangs *gangs = session->agent->gangs;
    struct dt_tree *beat = dt_msg_make("beat"), *list;

    dt_timer_set(session->beat, session->beat_ms);
    if (dt_loop_now_ms(session->agent->loop) - session->heard_ms > DEAF_MS) {
        dt_tree_free(beat);
        dt_conn_close(session->conn, "the controller was not heard");
        return;
    }
    dt_tree_put_int(beat, "n", ++session->beat_number);
    list = dt_tree_put_new(beat, "gangs", DT_TREE_LIST);
    for (size_t i = 0; i < gangs_count(gangs); i++) {
        const struct gang *gang = gangs_at(gangs, i);
        struct dt_gang_report report = gangs_report(gang, DT_REPORT_PROGRESS);

        report.exits_count = 0;
        if (gang->state == DT_GANG_UP || gang->state == DT_GANG_STARTING)
            dt_tree_add(list, NULL, dt_msg_report_tree(&report));
    }
    session_send(session, beat, NULL, 0);
    dt_tree_free(beat);
}

enum dt_code session_open(struct agent *agent, struct dt_err *err)
{
    struct session *session = dt_alloc(1, sizeof(*session));
    char cert[400], key[400], ca[400];
    enum dt_code code;

    agent->session = session;
    session->agent = agent;
    session->wait_ms = REDIAL_MS_LEAST;
    session->beat_ms = 1000;
    epoch_read(session);
    snprintf(cert, sizeof(cert), "%s/cert.pem", agent->keys_dir);
    snprintf(key, sizeof(key), "%s/key.pem", agent->keys_dir);
    snprintf(ca, sizeof(ca), "%s/ca.pem", agent->keys_dir);
    if ((code = dt_tls_load(&session->tls, false, &(struct dt_tls_files){cert, key, ca}, err)))
        return code;
    session->dial = dt_timer_make(agent->loop, on_dial, session);
    session->beat = dt_timer_make(agent->loop, on_beat, session);
    dt_timer_set(session->dial, 0);
    return DT_OK;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    dt_timer_free(session->dial);
    dt_timer_free(session->beat);
    dt_tls_free(session->tls);
    dt_free(session);
}
