/* The API client over a Unix socket, and the door to the remote module. */
#include "client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/os/proc.h"
#include "http.h"

#define CONNECT_MS 1000
#define ANSWER_MS 15000

struct dt_stream {
    int fd;
    struct dt_http http;
};

static enum dt_code nobody(const struct dt_client *client, const char *what, struct dt_err *err)
{
    dt_fail(err, DT_UNREACHABLE, "no answer from the controller at %s: %s",
            client->where.socket, what);
    if (client->where.name[0])
        dt_hint(err, "is it running? start it: dtctl up --name %s", client->where.name);
    else
        dt_hint(err, "is it running? systemctl status dtserver; or start your own: dtctl up");
    return DT_UNREACHABLE;
}

/* Wait for events on fd until the deadline. 1 ready, 0 time-out, -1 interrupted or failed. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd item = {.fd = fd, .events = events};
    int64_t left = deadline_ms - dt_clock_ms();
    int ready = poll(&item, 1, left > 0 ? (int)left : 0);

    return ready > 0 ? 1 : ready;
}

/* The path may be longer than sun_path: then go through its directory's descriptor. */
static enum dt_code address_of(const char *path, struct sockaddr_un *address, int *dir_fd,
                               struct dt_err *err)
{
    const char *slash = strrchr(path, '/');
    char dir[DT_WHERE_PATH_BYTES_MAX];

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *dir_fd = -1;
    if (strlen(path) < sizeof(address->sun_path)) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return DT_OK;
    }
    if (!slash || strlen(slash) > 64 || (size_t)(slash - path) >= sizeof(dir))
        return dt_fail(err, DT_INVALID, "the socket's path is too long: %s", path);
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = 0;
    *dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dir_fd < 0)
        return dt_fail(err, DT_UNREACHABLE, "cannot open %s: %s", dir, strerror(errno));
    snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", *dir_fd, slash);
    return DT_OK;
}

static enum dt_code unix_connect(const struct dt_client *client, int *fd, struct dt_err *err)
{
    struct sockaddr_un address;
    int64_t deadline = dt_clock_ms() + CONNECT_MS;
    enum dt_code code;
    int dir_fd, done, error;

    if ((code = address_of(client->where.socket, &address, &dir_fd, err)))
        return code;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) {
        error = errno;
        if (dir_fd >= 0)
            close(dir_fd);
        return dt_fail(err, DT_IO, "cannot make a socket: %s", strerror(error));
    }
    /* A full backlog answers EAGAIN at once: try again until the deadline. */
    while ((done = connect(*fd, (struct sockaddr *)&address, sizeof(address))) < 0 &&
           errno == EAGAIN && dt_clock_ms() < deadline)
        poll(NULL, 0, 5);
    error = errno;
    if (dir_fd >= 0)
        close(dir_fd);
    if (done == 0)
        return DT_OK;
    close(*fd);
    *fd = -1;
    if (error == EACCES || error == EPERM)
        return dt_fail(err, DT_DENIED, "not allowed to use %s", client->where.socket);
    return nobody(client, error == EAGAIN ? "it does not accept connections" : strerror(error),
                  err);
}

/* Everything goes out, or errno's text in *what. */
static bool send_all(int fd, const struct dt_buf *bytes, int64_t deadline_ms, const char **what)
{
    size_t sent = 0;

    while (sent < bytes->size) {
        ssize_t n = send(fd, bytes->data + sent, bytes->size - sent, MSG_NOSIGNAL);

        if (n > 0) {
            sent += (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (wait_for(fd, POLLOUT, deadline_ms) == 0) {
                *what = "it takes no data";
                return false;
            }
        } else {
            *what = strerror(errno);
            return false;
        }
    }
    return true;
}

/* Read until the answer is complete. *got: any byte came. */
static enum dt_code answer_read(const struct dt_client *client, struct dt_http *http,
                                int64_t deadline_ms, bool *got, struct dt_err *err)
{
    char bytes[65536];

    *got = false;
    while (http->at != DT_HTTP_DONE) {
        ssize_t n = recv(client->fd, bytes, sizeof(bytes), 0);
        enum dt_code code = DT_OK;
        size_t used;

        if (n > 0) {
            *got = true;
            code = dt_http_feed(http, bytes, (size_t)n, &used, err);
        } else if (n == 0 && !*got) {
            return nobody(client, "it closed the connection", err);
        } else if (n == 0) {
            code = dt_http_end(http, err);
        } else if (errno == EAGAIN || errno == EINTR) {
            if (wait_for(client->fd, POLLIN, deadline_ms) == 0)
                return nobody(client, "it does not answer in time", err);
        } else {
            return nobody(client, strerror(errno), err);
        }
        if (code)
            return code;
    }
    return DT_OK;
}

static void unix_close(struct dt_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

/* One try on the open connection. *got tells whether any byte of an answer came. */
static enum dt_code call_once(struct dt_client *client, const struct dt_call *call,
                              struct dt_http *http, bool *got, struct dt_err *err)
{
    int64_t deadline = dt_clock_ms() + (call->timeout_ms ? call->timeout_ms : ANSWER_MS);
    struct dt_buf request = {0};
    const char *what = "";
    enum dt_code code = DT_OK;

    *got = client->was_sent = false;
    if (client->fd < 0 && (code = unix_connect(client, &client->fd, err)))
        return code;
    dt_http_write(&request, call, "dt", NULL);
    client->was_sent = true;
    /* A server that refuses a body early closes while we send: its answer still counts. */
    if (!send_all(client->fd, &request, deadline, &what) && strcmp(what, strerror(EPIPE)) != 0)
        code = nobody(client, what, err);
    dt_buf_release(&request);
    if (!code)
        code = answer_read(client, http, deadline, got, err);
    if (code || http->is_closing)
        unix_close(client);
    return code;
}

static enum dt_code unix_call(struct dt_client *client, const struct dt_call *call,
                              struct dt_answer *answer, struct dt_err *err)
{
    bool was_open = client->fd >= 0, got = false;
    struct dt_http http = {0};
    enum dt_code code = call_once(client, call, &http, &got, err);

    /* A kept connection may have been closed by the other side meanwhile: once more, anew. */
    if (code == DT_UNREACHABLE && was_open && !got &&
        (call->key || strcmp(call->method, "GET") == 0)) {
        dt_http_release(&http);
        code = call_once(client, call, &http, &got, err);
    }
    if (!code) {
        *answer = (struct dt_answer){.status = http.status, .head = http.head, .body = http.body};
        http.head = http.body = (struct dt_buf){0};
    }
    dt_http_release(&http);
    return code;
}

static void unix_stream_close(struct dt_stream *stream)
{
    close(stream->fd);
    dt_http_release(&stream->http);
    dt_free(stream);
}

/* Read the head of a stream's answer. */
static enum dt_code stream_begin(struct dt_client *client, struct dt_stream *stream,
                                 const char *path, struct dt_err *err)
{
    int64_t deadline = dt_clock_ms() + ANSWER_MS;
    struct dt_call call = {.method = "GET", .path = path};
    struct dt_buf request = {0};
    const char *what = "";
    bool is_sent;
    char byte;

    dt_http_write(&request, &call, "dt", NULL);
    is_sent = send_all(stream->fd, &request, deadline, &what);
    dt_buf_release(&request);
    if (!is_sent)
        return nobody(client, what, err);
    while (stream->http.at == DT_HTTP_HEAD) {
        ssize_t n = recv(stream->fd, &byte, 1, 0); /* never past the head */
        enum dt_code code;
        size_t used;

        if (n > 0) {
            if ((code = dt_http_feed(&stream->http, &byte, 1, &used, err)))
                return code;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return nobody(client, "it closed the connection", err);
        } else if (wait_for(stream->fd, POLLIN, deadline) == 0) {
            return nobody(client, "it does not answer in time", err);
        }
    }
    if (stream->http.status != 200)
        return dt_fail(err, stream->http.status == 404 ? DT_NOT_FOUND : DT_UNREACHABLE,
                       "the controller answered %d to %s", stream->http.status, path);
    stream->http.body_bytes_max = SIZE_MAX;
    return DT_OK;
}

static enum dt_code unix_stream_open(struct dt_client *client, const char *path,
                                     struct dt_stream **out, struct dt_err *err)
{
    struct dt_stream *stream = dt_alloc(1, sizeof(*stream));
    enum dt_code code = unix_connect(client, &stream->fd, err);

    if (code) {
        dt_free(stream);
        return code;
    }
    if ((code = stream_begin(client, stream, path, err))) {
        unix_stream_close(stream);
        return code;
    }
    *out = stream;
    return DT_OK;
}

static enum dt_code unix_stream_read(struct dt_stream *stream, int64_t wait_ms,
                                     struct dt_buf *bytes, struct dt_err *err)
{
    char piece[16384];
    enum dt_code code;
    ssize_t n;
    size_t used;

    if (wait_for(stream->fd, POLLIN, dt_clock_ms() + wait_ms) <= 0)
        return DT_OK;
    n = recv(stream->fd, piece, sizeof(piece), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return DT_OK;
    if (n <= 0)
        return dt_fail(err, DT_UNREACHABLE, "the controller ended the stream");
    if ((code = dt_http_feed(&stream->http, piece, (size_t)n, &used, err)))
        return code;
    dt_buf_add(bytes, dt_buf_str(&stream->http.body), stream->http.body.size);
    dt_buf_clear(&stream->http.body);
    if (stream->http.at == DT_HTTP_DONE)
        return dt_fail(err, DT_UNREACHABLE, "the controller ended the stream");
    return DT_OK;
}

static const struct dt_transport unix_transport = {
    .call = unix_call,
    .stream_open = unix_stream_open,
    .stream_read = unix_stream_read,
    .stream_close = unix_stream_close,
    .release = unix_close,
};

/* The module lies beside the program (build tree) or in ../lib/dt (installed). */
static enum dt_code remote_load(struct dt_client *client, struct dt_err *err)
{
    static const char *const places[] = {"../lib/dt", "../lib"};
    char dir[DT_WHERE_PATH_BYTES_MAX], path[DT_WHERE_PATH_BYTES_MAX + 64];
    enum dt_code code = dt_program_dir(dir, sizeof(dir), err);
    const char *why = "not found";

    if (code)
        return code;
    for (size_t i = 0; i < DT_COUNT(places) && !client->module; i++) {
        snprintf(path, sizeof(path), "%s/%s/dtctl-remote.so", dir, places[i]);
        if (access(path, R_OK) == 0 && !(client->module = dlopen(path, RTLD_LAZY | RTLD_LOCAL)))
            why = dlerror();
    }
    if (client->module)
        client->transport = dlsym(client->module, DT_REMOTE_SYMBOL);
    if (client->transport)
        return DT_OK;
    dt_fail(err, DT_IO, "the module for remote clusters, dtctl-remote.so, is unusable: %s", why);
    dt_hint(err, "it needs libssl3; on the cluster's own machine use its Unix socket");
    return DT_IO;
}

enum dt_code dt_client_open(const struct dt_where *where, struct dt_client *client,
                            struct dt_err *err)
{
    *client = (struct dt_client){.where = *where, .fd = -1};
    if (!where->url[0]) {
        client->transport = &unix_transport;
        return DT_OK;
    }
    return remote_load(client, err);
}

enum dt_code dt_client_call(struct dt_client *client, const struct dt_call *call,
                            struct dt_answer *answer, struct dt_err *err)
{
    return client->transport->call(client, call, answer, err);
}

enum dt_code dt_stream_open(struct dt_client *client, const char *path,
                            struct dt_stream **stream, struct dt_err *err)
{
    return client->transport->stream_open(client, path, stream, err);
}

enum dt_code dt_stream_read(struct dt_client *client, struct dt_stream *stream, int64_t wait_ms,
                            struct dt_buf *bytes, struct dt_err *err)
{
    return client->transport->stream_read(stream, wait_ms, bytes, err);
}

void dt_stream_close(struct dt_client *client, struct dt_stream *stream)
{
    if (stream)
        client->transport->stream_close(stream);
}

void dt_answer_release(struct dt_answer *answer)
{
    if (!answer)
        return;
    dt_buf_release(&answer->head);
    dt_buf_release(&answer->body);
    *answer = (struct dt_answer){0};
}

void dt_client_release(struct dt_client *client)
{
    if (client->transport)
        client->transport->release(client);
    /* The module stays loaded: the program ends soon, and unloading costs more than that. */
    *client = (struct dt_client){.fd = -1};
}
