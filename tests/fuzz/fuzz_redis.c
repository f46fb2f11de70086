/* Any bytes as replies of Redis: the store loads, refuses or waits, whole and byte by byte. */
#include <stdlib.h>
#include <string.h>

#include "dt/core/core.h"
#include "store_redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct redis_link *made; /* the newest link */

/* A link without a Redis: what is asked waits in order for the replies of the input. */
struct redis_link {
    redis_reply *reply[4096];
    void *owner[4096];
    size_t first, count;
    void (*on_up)(void *owner);
    void *up_owner;
};

struct redis_link *redis_link_make(struct dt_loop *loop, const char *path,
                                   void (*on_up)(void *owner), void *owner)
{
    struct redis_link *link = dt_alloc(1, sizeof(*link));

    (void)loop;
    (void)path;
    link->on_up = on_up;
    link->up_owner = owner;
    return made = link;
}

void redis_link_free(struct redis_link *link)
{
    dt_free(link);
}

bool redis_link_is_up(const struct redis_link *link)
{
    return link != NULL;
}

void redis_link_send(struct redis_link *link, const struct redis_arg *args, size_t count,
                     redis_reply *reply, void *owner)
{
    static const struct redis_value lost = {.kind = REDIS_LOST, .text = ""};

    (void)args;
    (void)count;
    if (link->count == DT_COUNT(link->reply)) {
        reply(owner, &lost);
        return;
    }
    link->reply[link->count] = reply;
    link->owner[link->count++] = owner;
}

/* What the store said in the end. */
struct heard {
    int loaded, failed, done, refused;
    size_t replies;
};

struct run {
    struct redis_link *link;
    struct store_redis *store;
    struct heard heard;
    bool is_committing;
};

static void on_loaded(void *owner, const struct store_loaded *loaded, const struct dt_err *err)
{
    struct run *run = owner;

    (void)loaded;
    run->heard.loaded += !err->code;
    run->heard.failed += err->code != 0;
}

static void on_committed(void *owner, enum dt_commit outcome)
{
    struct run *run = owner;

    run->heard.done += outcome == DT_COMMIT_DONE;
    run->heard.refused += outcome == DT_COMMIT_REFUSED;
}

static void on_event(void *owner, uint64_t seq, uint64_t job, const char *json, size_t size)
{
    (void)owner, (void)seq, (void)job, (void)json, (void)size;
}

static void on_reply(void *owner, const struct redis_value *value)
{
    struct run *run = owner;
    struct redis_link *link = run->link;
    size_t at = link->first;

    run->heard.replies++;
    if (at == link->count)
        return;
    link->first++;
    link->reply[at](link->owner[at], value);
}

/* Commit one record once the store is loaded. */
static void go_on(struct run *run, struct dt_record *record)
{
    store_redis_poll(run->store);
    if (!run->heard.loaded || run->is_committing)
        return;
    run->is_committing = true;
    store_redis_ops(run->store)->commit(store_redis_ops(run->store), record, 1);
}

static struct heard run_all(const char *bytes, size_t size, size_t piece)
{
    struct dt_node node = {.name = "n1", .version = 1};
    struct dt_record record = {.kind = DT_RECORD_NODE, .node = &node, .seq = 8, .what = "joined"};
    static const struct store_calls calls = {on_loaded, on_committed, on_event};
    struct dt_core *core = dt_core_make("fuzz");
    struct dt_loop *loop = dt_loop_make();
    struct redis_reader *reader = redis_reader_make();
    struct run run = {0};
    enum dt_code code = DT_OK;

    run.store = store_redis_make(loop, "/none",
                                 &(struct store_place){.cluster_id = "fuzz", .core = core}, &calls,
                                 &run);
    run.link = made;
    made->on_up(made->up_owner);
    for (size_t at = 0; at < size && !code; at += piece) {
        size_t part = size - at < piece ? size - at : piece;

        code = redis_reader_feed(reader, bytes + at, part, NULL);
        while (!code && !run.heard.refused && !run.heard.failed &&
               redis_reader_next(reader, on_reply, &run, &code, NULL))
            go_on(&run, &record);
    }
    redis_reader_free(reader);
    store_redis_free(run.store);
    dt_loop_free(loop);
    dt_core_free(core);
    return run.heard;
}

/* hiredis 0.14 allocates a list as long as it says: our own Redis says the truth. */
static bool asks_for_too_much(const char *bytes, size_t size)
{
    size_t digits = 6; /* since the newest star; 6 = none */

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '*')
            digits = 0;
        else if (digits < 6 && strchr("-+0123456789", bytes[i]))
            digits++;
        else
            digits = 6;
        if (digits == 5)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heard whole, single;

    if (asks_for_too_much((const char *)data, size))
        return 0;
    whole = run_all((const char *)data, size, size ? size : 1);
    single = run_all((const char *)data, size, 1);
    if (whole.replies != single.replies || whole.loaded != single.loaded ||
        whole.failed != single.failed || whole.loaded + whole.failed > 1)
        abort();
    return 0;
}
