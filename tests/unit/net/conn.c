/* Loops and framed connections over a socket pair and a Unix socket. */
#include "dt/net/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/wire/msg.h"
#include "test.h"

/* One side's view of a connection. */
struct side {
    struct dt_loop *loop;
    struct dt_conn *conn;
    int opened, closed, frames;
    size_t blob_size;
    char text[64];     /* of the last frame */
    char reason[128];  /* of the end */
    int stop_after;    /* frames; 0 = never */
};

static void on_open(void *owner, struct dt_conn *conn)
{
    struct side *side = owner;

    side->opened++;
    side->conn = conn;
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct side *side = owner;

    (void)conn;
    side->frames++;
    side->blob_size = frame->blob_size;
    snprintf(side->text, sizeof(side->text), "%s", dt_tree_str(frame->body, "text", ""));
    if (side->frames == side->stop_after)
        dt_loop_stop(side->loop);
}

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct side *side = owner;

    (void)conn;
    (void)is_reset;
    side->closed++;
    side->conn = NULL;
    snprintf(side->reason, sizeof(side->reason), "%s", reason);
    dt_loop_stop(side->loop);
}

static const struct dt_conn_calls calls = {.on_open = on_open, .on_frame = on_frame,
                                           .on_closed = on_closed};

static void on_deadline(void *owner)
{
    CHECK_TEXT("the deadline passed", "all came in time");
    dt_loop_stop(owner);
}

/* Run with a deadline of 5 s. */
static void run(struct dt_loop *loop)
{
    struct dt_timer *deadline = dt_timer_make(loop, on_deadline, loop);

    dt_timer_set(deadline, 5000);
    dt_loop_run(loop, NULL, NULL);
    dt_timer_free(deadline);
}

static void send_text(struct dt_conn *conn, const char *text, size_t blob_size)
{
    struct dt_tree *body = dt_msg_make("beat");
    char *blob = blob_size ? dt_alloc(blob_size, 1) : NULL;

    dt_tree_put_str(body, "text", text);
    dt_conn_send(conn, body, blob, blob_size);
    dt_tree_free(body);
    dt_free(blob);
}

/* A listener in a folder of its own, and its socket's path. */
struct place {
    struct dt_listener *listener;
    char folder[64], path[80];
};

static struct place place_make(struct dt_loop *loop, struct side *server)
{
    struct place place = {.folder = "/tmp/dt-test-XXXXXX"};
    struct dt_endpoint endpoint = {.loop = loop, .calls = &calls, .owner = server};
    struct dt_err err = {0};

    CHECK(mkdtemp(place.folder) != NULL);
    snprintf(place.path, sizeof(place.path), "%s/s", place.folder);
    CHECK_INT(dt_listen_unix(&endpoint, place.path, &place.listener, &err), DT_OK);
    CHECK_TEXT(err.text, "");
    return place;
}

static void place_release(struct place *place)
{
    dt_listener_free(place->listener);
    unlink(place->path);
    rmdir(place->folder);
}

static struct dt_conn *dial(struct dt_loop *loop, const char *path, struct side *client)
{
    struct dt_endpoint endpoint = {.loop = loop, .calls = &calls, .owner = client};
    struct dt_conn *conn = NULL;
    struct dt_err err = {0};

    if (dt_dial_unix(&endpoint, path, &conn, &err))
        return NULL;
    return conn;
}

TEST(conn__frames_arrive_in_order_both_ways)
{
    struct dt_loop *loop = dt_loop_make();
    struct side client = {.loop = loop, .stop_after = 1}, server = {.loop = loop, .stop_after = 3};
    struct place place = place_make(loop, &server);
    struct dt_conn *conn = dial(loop, place.path, &client);

    send_text(conn, "one", 0);
    send_text(conn, "two", 900000); /* larger than any socket buffer */
    send_text(conn, "three", 0);
    run(loop);
    CHECK_INT(server.frames, 3);
    CHECK_TEXT(server.text, "three");
    CHECK_INT(server.opened, 1);
    send_text(server.conn, "back", 5);
    run(loop);
    CHECK_TEXT(client.text, "back");
    CHECK_INT(client.blob_size, 5);
    dt_conn_close(conn, "done");
    while (!client.closed || !server.closed)
        run(loop);
    CHECK_INT(client.closed, 1);
    CHECK_INT(server.closed, 1);
    place_release(&place);
    dt_loop_free(loop);
}

TEST(conn__garbage_closes_with_a_reason)
{
    struct dt_loop *loop = dt_loop_make();
    struct side server = {.loop = loop};
    struct place place = place_make(loop, &server);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", place.path);
    CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_INT(write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    run(loop);
    CHECK_INT(server.closed, 1);
    CHECK_INT(server.frames, 0);
    CHECK(server.reason[0] != 0);
    close(fd);
    place_release(&place);
    dt_loop_free(loop);
}

TEST(conn__a_unix_listener_knows_its_peer)
{
    struct dt_loop *loop = dt_loop_make();
    struct side server = {.loop = loop, .stop_after = 1}, client = {.loop = loop};
    struct place place = place_make(loop, &server);
    struct dt_conn *conn = dial(loop, place.path, &client);

    send_text(conn, "hello", 0);
    run(loop);
    CHECK_TEXT(server.text, "hello");
    if (CHECK(server.conn != NULL)) {
        CHECK_INT(dt_conn_peer(server.conn)->uid, getuid());
        CHECK_INT(dt_conn_peer(server.conn)->pid, getpid());
    }
    dt_conn_close(conn, "bye");
    while (!server.closed || !client.closed)
        run(loop);
    place_release(&place);
    dt_loop_free(loop);
}

TEST(conn__nobody_listening_is_said)
{
    struct dt_loop *loop = dt_loop_make();
    struct side client = {.loop = loop};

    if (dial(loop, "/tmp/dt-no-such-socket", &client)) {
        run(loop);
        CHECK_INT(client.closed, 1);
        CHECK(client.reason[0] != 0);
    }
    dt_loop_free(loop);
}

static int ticks;

static void on_tick(void *owner)
{
    ticks++;
    dt_loop_stop(owner);
}

TEST(timer__calls_once_each_time_it_is_set)
{
    struct dt_loop *loop = dt_loop_make();
    struct dt_timer *timer = dt_timer_make(loop, on_tick, loop);
    struct dt_timer *never = dt_timer_make(loop, on_deadline, loop);

    dt_timer_set(never, 1);
    dt_timer_clear(never);
    dt_timer_set(timer, 1000);
    dt_timer_set(timer, 5);
    run(loop);
    CHECK_INT(ticks, 1);
    dt_timer_set(timer, 0);
    run(loop);
    CHECK_INT(ticks, 2);
    dt_timer_free(timer);
    dt_timer_free(never);
    dt_loop_free(loop);
}

static void on_readable(void *owner, int fd)
{
    char byte;

    CHECK_INT(read(fd, &byte, 1), 1);
    dt_loop_stop(owner);
}

TEST(watch__tells_that_a_pipe_has_bytes)
{
    struct dt_loop *loop = dt_loop_make();
    struct dt_watch *watch;
    int fds[2];

    CHECK_INT(pipe(fds), 0);
    watch = dt_watch_make(loop, fds[0], on_readable, loop);
    CHECK_INT(write(fds[1], "x", 1), 1);
    run(loop);
    dt_watch_free(watch);
    close(fds[0]);
    close(fds[1]);
    dt_loop_free(loop);
}
