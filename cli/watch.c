/* Events as the controller pushes them (server-sent events), across reconnects. */
#include "watch.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "dt/os/proc.h"
#include "say.h"

#define PATIENCE_MS 60000
#define SILENCE_MS 45000 /* the server comments every 15 s */
#define TRY_MS 300
#define EVENT_BYTES_MAX (1024 * 1024)

static const struct dt_json_limits event_limits = {EVENT_BYTES_MAX, 16, 20000};

static enum dt_code stream_open(struct dt_watch *watch, struct dt_err *err)
{
    struct dt_buf path = {0};
    char number[24];
    enum dt_code code;

    /* Events of this seq and above come again; 0 would mean only new ones. */
    snprintf(number, sizeof(number), "%llu", (unsigned long long)(watch->seq ? watch->seq : 1));
    dt_buf_text(&path, "/v1/watch");
    if (watch->job[0])
        dt_api_query(&path, "job", watch->job);
    dt_api_query(&path, "from", number);
    code = dt_stream_open(&watch->api->client, dt_buf_str(&path), &watch->stream, err);
    dt_buf_release(&path);
    dt_buf_clear(&watch->bytes);
    watch->heard_ms = dt_clock_ms();
    return code;
}

enum dt_code dt_watch_open(struct dt_watch *watch, struct dt_api *api, const char *job,
                           uint64_t seq, struct dt_err *err)
{
    *watch = (struct dt_watch){.api = api, .seq = seq};
    watch->patience_ms = api->retry_ms > PATIENCE_MS ? api->retry_ms : PATIENCE_MS;
    snprintf(watch->job, sizeof(watch->job), "%s", job ? job : "");
    return stream_open(watch, err);
}

static void lose(struct dt_watch *watch)
{
    dt_stream_close(&watch->api->client, watch->stream);
    watch->stream = NULL;
    if (!watch->lost_ms)
        watch->lost_ms = dt_clock_ms();
}

/* One try to open the stream again; waits a moment before it. */
static enum dt_code find_again(struct dt_watch *watch, struct dt_news *news, struct dt_err *err)
{
    int64_t now = dt_clock_ms();
    enum dt_code code;

    if (watch->tried_ms && now < watch->tried_ms + TRY_MS)
        poll(NULL, 0, (int)(watch->tried_ms + TRY_MS - now));
    if (dt_stop_signal())
        return DT_OK;
    watch->tried_ms = dt_clock_ms();
    code = stream_open(watch, err);
    if (!code) {
        watch->lost_ms = 0;
        news->is_anew = true;
        return DT_OK;
    }
    watch->stream = NULL;
    if (code != DT_UNREACHABLE && code != DT_CORRUPT)
        return code;
    return dt_clock_ms() - watch->lost_ms > watch->patience_ms ? code : DT_OK;
}

/* Where the first complete message (ended by an empty line) of bytes ends, or 0. */
static size_t message_size(const struct dt_buf *bytes)
{
    for (size_t i = 0; i + 1 < bytes->size; i++) {
        if (bytes->data[i] != '\n')
            continue;
        if (bytes->data[i + 1] == '\n')
            return i + 2;
        if (i + 2 < bytes->size && bytes->data[i + 1] == '\r' && bytes->data[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

/* A line "field: value" of the message; true when it is this field. */
static bool field_is(const char *line, size_t size, const char *field, const char **value,
                     size_t *value_size)
{
    size_t length = strlen(field);

    if (size <= length || strncmp(line, field, length) != 0 || line[length] != ':')
        return false;
    line += length + 1;
    size -= length + 1;
    if (size && *line == ' ') {
        line++;
        size--;
    }
    *value = line;
    *value_size = size;
    return true;
}

static void message_read(struct dt_watch *watch, size_t size, struct dt_news *news)
{
    const char *at = watch->bytes.data, *end = at + size, *value;
    struct dt_buf data = {0};
    struct dt_tree *event = NULL;
    size_t value_size;

    while (at < end) {
        size_t line = strcspn(at, "\r\n");

        if (field_is(at, line, "event", &value, &value_size)) {
            news->is_anew = news->is_anew ||
                            (value_size == 6 && strncmp(value, "resync", 6) == 0);
        } else if (field_is(at, line, "data", &value, &value_size)) {
            dt_buf_add(&data, value, value_size);
        }
        at += line;
        at += *at == '\r';
        at += at < end && *at == '\n';
    }
    if (data.size && !news->is_anew &&
        dt_json_parse(data.data, data.size, &event_limits, &event, NULL) == DT_OK) {
        uint64_t seq = dt_tree_u64(event, "seq", 0);

        if (seq > watch->seq) {
            watch->seq = seq;
            news->event = event;
            event = NULL;
        }
    }
    dt_tree_free(event);
    dt_buf_release(&data);
}

/* Read messages that are here until one tells something. */
static bool message_next(struct dt_watch *watch, struct dt_news *news)
{
    size_t size;

    while ((size = message_size(&watch->bytes))) {
        message_read(watch, size, news);
        dt_buf_drop(&watch->bytes, size);
        if (news->event || news->is_anew)
            return true;
    }
    return false;
}

enum dt_code dt_watch_next(struct dt_watch *watch, int64_t wait_ms, struct dt_news *news,
                           struct dt_err *err)
{
    int64_t end = dt_clock_ms() + wait_ms, left = wait_ms;
    enum dt_code code;

    *news = (struct dt_news){0};
    do {
        size_t before = watch->bytes.size;

        if (!watch->stream) {
            code = find_again(watch, news, err);
            if (code || news->is_anew)
                return code;
        } else if (message_next(watch, news)) {
            return DT_OK;
        } else {
            code = dt_stream_read(&watch->api->client, watch->stream, left, &watch->bytes, err);
            if (watch->bytes.size != before)
                watch->heard_ms = dt_clock_ms();
            if (code || watch->bytes.size > EVENT_BYTES_MAX ||
                dt_clock_ms() - watch->heard_ms > SILENCE_MS)
                lose(watch);
        }
        left = end - dt_clock_ms();
    } while (left > 0 && !dt_stop_signal());
    if (watch->stream)
        message_next(watch, news);
    return DT_OK;
}

void dt_watch_close(struct dt_watch *watch)
{
    if (watch->api)
        dt_stream_close(&watch->api->client, watch->stream);
    dt_buf_release(&watch->bytes);
    *watch = (struct dt_watch){0};
}
