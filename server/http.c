/* HTTP on a Unix socket and over TLS: who asks, which route, how the answer leaves. */
#include "http.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dt/base/crc.h"
#include "dt/base/json.h"
#include "dt/os/log.h"
#include "dt/wire/api.h"
#include "guests.h"
#include "submit_body.h"

#define HEADER_BYTES_MAX (16 * 1024)
#define BODY_BYTES_MAX (1024 * 1024)
#define IDLE_S 30
#define HEARTBEAT_MS 15000
#define LAG_BYTES (256 * 1024)
#define LAG_BEATS_MAX 4

/* One of the two ways in. */
struct door {
    struct http *http;
    struct evhttp *server;
    bool is_tls;
};

struct http {
    struct runtime *runtime;
    const struct route *routes; /* routes_count, borrowed */
    size_t routes_count;
    struct door local, remote;
    struct dt_tls *tls;
    struct guests *guests;
    int port;
    char socket_path[108];
    char token_hash[65];
    struct dt_set calls;   /* key -> struct call */
    uint64_t call_next;
    struct dt_timer *heartbeat;
    int64_t name_uid;      /* of the last passwd look-up */
    char name[DT_NAME_BYTES_MAX];
};

/* ---- answers ---- */

void call_free(struct call *call)
{
    if (call->wait)
        runtime_forget(call->runtime, call->wait);
    if (call->ask)
        sessions_log_forget(call->runtime->sessions, call->ask);
    dt_set_remove(&call->http->calls, call->key);
    evhttp_clear_headers(&call->query);
    dt_free(call);
}

static void on_client_gone(void *owner)
{
    struct call *call = owner;

    call->request = NULL;
    call_free(call);
}

static void call_end(struct call *call, int status, struct evbuffer *body)
{
    guests_answered(call->http->guests, evhttp_request_get_connection(call->request),
                    evbuffer_get_length(body));
    evhttp_send_reply(call->request, status, status < 400 ? "OK" : "Refused", body);
    call->request = NULL;
    call_free(call);
}

void call_text(struct call *call, int status, const char *type, const char *text, size_t size)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(call->request);
    struct evbuffer *body = evbuffer_new();

    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evbuffer_add(body, text, size);
    call_end(call, status, body);
    evbuffer_free(body);
}

void call_json(struct call *call, int status, struct dt_tree *take)
{
    struct dt_buf buf = {0};

    dt_json_write(&buf, take);
    dt_buf_byte(&buf, '\n');
    dt_tree_free(take);
    call_text(call, status, "application/json", buf.data, buf.size);
    dt_buf_release(&buf);
}

void call_problem(struct call *call, const struct dt_err *err, const struct dt_problems *problems)
{
    struct dt_tree *tree = dt_api_problem_tree(err, problems);
    struct dt_buf buf = {0};
    int status = (int)dt_tree_int(tree, "status", 500);

    dt_json_write(&buf, tree);
    dt_buf_byte(&buf, '\n');
    dt_tree_free(tree);
    call->runtime->counters_refused++;
    call_text(call, status, "application/problem+json", buf.data, buf.size);
    dt_buf_release(&buf);
}

const char *call_query(const struct call *call, const char *name, const char *otherwise)
{
    const char *value = evhttp_find_header(&call->query, name);

    return value ? value : otherwise;
}

bool call_query_int(struct call *call, const char *name, int64_t least, int64_t most,
                    int64_t *value)
{
    const char *text = call_query(call, name, NULL);
    struct dt_err err = {0};

    if (!text || dt_parse_int(text, least, most, value))
        return true;
    dt_fail(&err, DT_USAGE, "%s: expected a whole number %lld to %lld", name, (long long)least,
            (long long)most);
    call_problem(call, &err, NULL);
    return false;
}

const char *call_bytes(const struct call *call, size_t *size)
{
    struct evbuffer *input = evhttp_request_get_input_buffer(call->request);

    *size = evbuffer_get_length(input);
    return *size ? (const char *)evbuffer_pullup(input, -1) : "";
}

struct dt_tree *call_body(struct call *call)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    size_t size;
    const char *bytes = call_bytes(call, &size);

    if (api_body_read(bytes, size, &tree, &err))
        call_problem(call, &err, NULL);
    return tree;
}

uint64_t call_wait(struct call *call, request_done *done)
{
    call->wait = runtime_wait(call->runtime, done, call);
    return call->wait;
}

/* ---- watches ---- */

static void watch_send(struct call *call, const char *text, size_t size)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(call->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
    size_t queued = evbuffer_get_length(bufferevent_get_output(bev));
    struct evbuffer *chunk;

    if (queued > LAG_BYTES) { /* a reader that does not read gets one word to start over */
        if (call->is_lagging)
            return;
        call->is_lagging = true;
        text = "event: resync\ndata: {}\n\n";
        size = strlen(text);
    } else {
        call->is_lagging = false;
    }
    chunk = evbuffer_new();
    evbuffer_add(chunk, text, size);
    evhttp_send_reply_chunk(call->request, chunk);
    evbuffer_free(chunk);
}

static void watch_line(struct call *call, const struct event_line *line)
{
    struct dt_buf text = {0};

    if (call->watch_job && call->watch_job != line->job)
        return;
    dt_buf_print(&text, "id: %llu\ndata: %s\n\n", (unsigned long long)line->seq, line->json);
    watch_send(call, text.data, text.size);
    dt_buf_release(&text);
}

void call_watch(struct call *call, uint64_t job, uint64_t from)
{
    const struct runtime *runtime = call->runtime;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(call->request);
    struct evhttp_connection *connection = evhttp_request_get_connection(call->request);

    evhttp_add_header(headers, "Content-Type", "text/event-stream");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_connection_set_timeout(connection, 0);
    evhttp_send_reply_start(call->request, 200, "OK");
    call->is_watch = true;
    call->watch_job = job;
    watch_send(call, ": dt\n\n", 6);
    if (!from)
        return;
    if (runtime->ring_count && runtime->ring[runtime->ring_first].seq > from &&
        runtime->ring[runtime->ring_first].seq > 1)
        watch_send(call, "event: resync\ndata: {}\n\n", 24);
    for (size_t i = 0; i < runtime->ring_count; i++) {
        const struct event_line *line = &runtime->ring[(runtime->ring_first + i) % RING_COUNT];

        if (line->seq >= from)
            watch_line(call, line);
    }
}

void http_event(struct http *http, const struct event_line *line)
{
    for (size_t i = 0; http && i < http->calls.count; i++) {
        struct call *call = http->calls.items[i].value;

        if (call->is_watch && call->request)
            watch_line(call, line);
    }
}

static void on_heartbeat(void *owner)
{
    struct http *http = owner;

    dt_timer_set(http->heartbeat, HEARTBEAT_MS);
    for (size_t i = 0; i < http->calls.count; i++) {
        struct call *call = http->calls.items[i].value;

        if (!call->is_watch || !call->request)
            continue;
        watch_send(call, ": beat\n\n", 8);
        call->lag_beats = call->is_lagging ? call->lag_beats + 1 : 0;
        if (call->lag_beats > LAG_BEATS_MAX)
            guests_close(evhttp_request_get_connection(call->request));
    }
}

/* ---- who asks ---- */

static void name_of_uid(struct http *http, int64_t uid, char *name, size_t size)
{
    struct passwd entry, *found = NULL;
    char bytes[4096];

    if (uid != http->name_uid || !http->name[0]) {
        http->name_uid = uid;
        if (getpwuid_r((uid_t)uid, &entry, bytes, sizeof(bytes), &found) == 0 && found)
            snprintf(http->name, sizeof(http->name), "%s", found->pw_name);
        else
            snprintf(http->name, sizeof(http->name), "uid-%lld", (long long)uid);
    }
    snprintf(name, size, "%s", http->name);
}

static bool caller_of_socket(struct call *call)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(call->request);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(bufferevent_getfd(bev), SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
        return false;
    call->caller.uid = cred.uid;
    call->caller.gid = cred.gid;
    call->caller.is_operator = cred.uid == 0 || cred.uid == geteuid();
    name_of_uid(call->http, cred.uid, call->caller.name, sizeof(call->caller.name));
    return true;
}

/* Constant time in the secret: only digests are compared, all of them. */
static bool caller_of_token(struct call *call)
{
    const char *header = evhttp_find_header(evhttp_request_get_input_headers(call->request),
                                            "Authorization");
    char hash[DT_SHA256_HEX_BYTES];
    unsigned difference = 0;

    if (!header || strncmp(header, "Bearer ", 7) != 0 || strlen(header) > 300)
        return false;
    dt_sha256_hex(header + 7, strlen(header + 7), hash);
    for (size_t i = 0; i < sizeof(hash); i++)
        difference |= (unsigned)(hash[i] ^ call->http->token_hash[i]);
    if (difference)
        return false;
    call->caller.uid = geteuid();
    call->caller.gid = getegid();
    call->caller.is_operator = true;
    name_of_uid(call->http, call->caller.uid, call->caller.name, sizeof(call->caller.name));
    return true;
}

/* ---- routing ---- */

static int count_of(const struct evkeyvalq *headers, const char *name)
{
    const struct evkeyval *header;
    int count = 0;

    TAILQ_FOREACH(header, headers, next)
        count += strcasecmp(header->key, name) == 0;
    return count;
}

/* Strict before anything else: what a proxy or a browser could twist is refused. */
static const char *request_problem(struct evhttp_request *request)
{
    const char *uri = evhttp_request_get_uri(request);
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    size_t path = strcspn(uri, "?");

    if (uri[0] != '/' || strlen(uri) > 2048)
        return "the request target must be a path of at most 2048 bytes";
    for (const char *at = uri; *at; at++)
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f)
            return "the request target has a control or non-ASCII byte";
    if (strstr(uri, "%00") || memmem(uri, path, "//", 2) || memmem(uri, path, "..", 2) ||
        memmem(uri, path, "%2e", 3) || memmem(uri, path, "%2E", 3) || memmem(uri, path, "%2f", 3) ||
        memmem(uri, path, "%2F", 3) || strchr(uri, '\\'))
        return "the request target is not normal";
    if (!evhttp_find_header(headers, "Host"))
        return "the header Host is missing";
    if (evhttp_find_header(headers, "Transfer-Encoding"))
        return "chunked requests are not taken";
    if (count_of(headers, "Content-Length") > 1 || count_of(headers, "Host") > 1)
        return "the headers Host and Content-Length may stand once";
    return NULL;
}

/* Host names that reach this server; others are a browser being rebound. */
static bool is_host_allowed(const struct http *http, struct evhttp_request *request, bool is_tls)
{
    const char *host = evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    const char *origin = evhttp_find_header(evhttp_request_get_input_headers(request), "Origin");
    size_t size = strcspn(host, ":");

    (void)http;
    if (origin)
        return false; /* no browser page talks to this API yet */
    if (!is_tls)
        return true;
    return host[0] == '[' || (size == 9 && strncmp(host, "localhost", 9) == 0) ||
           strspn(host, "0123456789.") == size;
}

/* Match "/v1/jobs/{id}/events"; id receives the part in braces, decoded. */
static bool path_matches(const char *pattern, const char *path, char *id, size_t size)
{
    while (*pattern && *path) {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        size_t length = strcspn(path, "/");
        char *decoded;
        size_t decoded_size = 0;
        char raw[128];

        if (!length || length >= sizeof(raw))
            return false;
        snprintf(raw, sizeof(raw), "%.*s", (int)length, path);
        decoded = evhttp_uridecode(raw, 0, &decoded_size);
        snprintf(id, size, "%s", decoded ? decoded : "");
        free(decoded);
        path += length;
        pattern += strcspn(pattern, "}") + 1;
    }
    return *pattern == *path;
}

static const struct route *route_of(struct call *call, const char *method, const char *path,
                                    bool *is_known_path)
{
    const struct route *routes = call->http->routes;

    *is_known_path = false;
    for (size_t i = 0; i < call->http->routes_count; i++) {
        if (!path_matches(routes[i].path, path, call->id, sizeof(call->id)))
            continue;
        *is_known_path = true;
        if (strcmp(routes[i].method, method) == 0)
            return &routes[i];
    }
    return NULL;
}

static void on_read_due(void *owner, struct dt_effect *effect)
{
    struct call *call = owner;

    (void)effect;
    call->wait = 0;
    call->route->handler(call);
}

static void refuse(struct call *call, int status, enum dt_code code, const char *text)
{
    struct dt_err err = {0};
    struct dt_tree *tree;
    struct dt_buf buf = {0};

    dt_fail(&err, code, "%s", text);
    if (status == 401)
        evhttp_add_header(evhttp_request_get_output_headers(call->request), "WWW-Authenticate",
                          "Bearer");
    tree = dt_api_problem_tree(&err, NULL);
    dt_tree_put_int(tree, "status", status);
    dt_json_write(&buf, tree);
    dt_tree_free(tree);
    call_text(call, status, "application/problem+json", buf.data, buf.size);
    dt_buf_release(&buf);
}

static void call_run(struct call *call, bool is_tls)
{
    struct runtime *runtime = call->runtime;
    bool is_known = is_tls ? caller_of_token(call) : caller_of_socket(call);

    if (!is_known && call->route->role != ROLE_OPEN)
        refuse(call, 401, DT_DENIED, "a valid token is needed: Authorization: Bearer ...");
    else if (call->route->role == ROLE_OPERATOR && !call->caller.is_operator)
        refuse(call, 403, DT_DENIED, "only an operator may do this");
    else if (call->route->role != ROLE_OPEN && !runtime->is_serving)
        refuse(call, 503, DT_BUSY, "store-degraded: the store is being loaded");
    else if (call->route->is_read)
        runtime_read(runtime, call_wait(call, on_read_due));
    else
        call->route->handler(call);
}

static const char *method_name(struct evhttp_request *request)
{
    switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_POST:
        return "POST";
    default:
        return "?";
    }
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct door *door = arg;
    struct http *http = door->http;
    struct call *call = dt_alloc(1, sizeof(*call));
    const char *uri = evhttp_request_get_uri(request);
    const char *problem = request_problem(request);
    char path[2049];
    bool is_known_path;

    call->http = http;
    call->runtime = http->runtime;
    call->request = request;
    call->key = ++http->call_next;
    TAILQ_INIT(&call->query);
    dt_set_put(&http->calls, call->key, call);
    guests_busy(http->guests, evhttp_request_get_connection(request), on_client_gone, call);
    if (!problem && !is_host_allowed(http, request, door->is_tls))
        problem = "this Host or Origin is not allowed";
    if (problem) {
        refuse(call, 400, DT_USAGE, problem);
        return;
    }
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(uri, "?"), uri);
    call->route = route_of(call, method_name(request), path, &is_known_path);
    if (!call->route) {
        refuse(call, is_known_path ? 405 : 404, DT_NOT_FOUND,
               is_known_path ? "this path has no such method" : "there is no such path");
        return;
    }
    if (strchr(uri, '?'))
        evhttp_parse_query_str(strchr(uri, '?') + 1, &call->query);
    call_run(call, door->is_tls);
}

/* ---- listening ---- */

static void server_limits(struct evhttp *server)
{
    evhttp_set_max_headers_size(server, HEADER_BYTES_MAX);
    evhttp_set_max_body_size(server, BODY_BYTES_MAX);
    evhttp_set_timeout(server, IDLE_S);
    evhttp_set_allowed_methods(server, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_default_content_type(server, NULL);
}

static enum dt_code open_local(struct http *http, struct event_base *base, struct dt_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct evconnlistener *listener;
    mode_t mask;

    if (strlen(http->socket_path) >= sizeof(address.sun_path) - 1)
        return dt_fail(err, DT_INVALID, "socket path too long: %s", http->socket_path);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", http->socket_path);
    unlink(http->socket_path);
    mask = umask(0177);
    listener = evconnlistener_new_bind(base, NULL, NULL,
                                       LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 512,
                                       (struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (!listener)
        return dt_fail(err, DT_IO, "cannot listen on %s: %s", http->socket_path, strerror(errno));
    http->local = (struct door){http, evhttp_new(base), false};
    server_limits(http->local.server);
    guests_watch(http->guests, http->local.server, NULL);
    evhttp_set_gencb(http->local.server, on_request, &http->local);
    evhttp_bind_listener(http->local.server, listener);
    return DT_OK;
}

static enum dt_code open_remote(struct http *http, struct event_base *base, const char *address,
                                int port, struct dt_err *err)
{
    struct evhttp_bound_socket *bound;
    struct sockaddr_storage where;
    socklen_t size = sizeof(where);
    int one = 1;

    http->remote = (struct door){http, evhttp_new(base), true};
    server_limits(http->remote.server);
    evhttp_set_gencb(http->remote.server, on_request, &http->remote);
    guests_watch(http->guests, http->remote.server, http->tls);
    bound = evhttp_bind_socket_with_handle(http->remote.server, address, (uint16_t)port);
    if (!bound) {
        int saved = errno;

        dt_fail(err, saved == EADDRINUSE ? DT_CONFLICT : DT_IO, "cannot listen on %s:%d: %s",
                address, port, strerror(saved));
        dt_hint(err, "port %d may be in use; choose another with --api-port, 0 takes any", port);
        return err->code;
    }
    setsockopt(evhttp_bound_socket_get_fd(bound), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&where, &size) == 0)
        http->port = ntohs(where.ss_family == AF_INET6
                               ? ((struct sockaddr_in6 *)(void *)&where)->sin6_port
                               : ((struct sockaddr_in *)(void *)&where)->sin_port);
    return DT_OK;
}

enum dt_code http_open(struct runtime *runtime, const struct http_door *door, struct dt_err *err)
{
    struct event_base *base = dt_loop_base(runtime->loop);
    struct http *http = dt_alloc(1, sizeof(*http));
    char cert[600], key[600];
    enum dt_code code;

    http->runtime = runtime;
    http->guests = guests_make(runtime->loop);
    http->name_uid = -1;
    snprintf(http->socket_path, sizeof(http->socket_path), "%s", door->socket_path);
    snprintf(http->token_hash, sizeof(http->token_hash), "%s", door->token_hash);
    http->routes = door->routes;
    http->routes_count = door->routes_count;
    snprintf(cert, sizeof(cert), "%s/keys/server.pem", runtime->state_dir);
    snprintf(key, sizeof(key), "%s/keys/server-key.pem", runtime->state_dir);
    if ((code = dt_tls_load_api(&http->tls, cert, key, err)) ||
        (code = open_local(http, base, err)) ||
        (code = open_remote(http, base, door->address, door->port, err))) {
        http_close(http);
        return code;
    }
    http->heartbeat = dt_timer_make(runtime->loop, on_heartbeat, http);
    dt_timer_set(http->heartbeat, HEARTBEAT_MS);
    runtime->http = http;
    return DT_OK;
}

void http_close(struct http *http)
{
    if (!http)
        return;
    for (size_t i = http->calls.count; i > 0; i--) {
        struct call *call = http->calls.items[i - 1].value;

        if (call->request)
            guests_answered(http->guests, evhttp_request_get_connection(call->request), 0);
        call->wait = call->ask = 0;
        call_free(call);
    }
    if (http->local.server) {
        evhttp_free(http->local.server);
        unlink(http->socket_path);
    }
    if (http->remote.server)
        evhttp_free(http->remote.server);
    guests_free(http->guests);
    dt_tls_free(http->tls);
    dt_timer_free(http->heartbeat);
    dt_set_release(&http->calls);
    dt_free(http);
}

struct guests_count http_guests(const struct http *http)
{
    return guests_count(http->guests);
}

int http_port(const struct http *http)
{
    return http->port;
}
