/* Records in Redis through two scripts that validate first and write last. */
#include "store_redis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/os/log.h"
#include "dt/wire/record.h"

#define RECORDS_PER_CALL_MAX 128
#define ARGS_PER_RECORD 8
#define KEYS_PER_RECORD 2
#define STUCK_MS 1000 /* a batch that waits longer: nothing can be stored now */
#define LOG_ENTRIES_MAX "100000"

/* Numbers are texts: Lua would turn them into doubles. */
/* ARGV: cluster, least epoch before this one, least seq. Compared as numbers: both stay far below
 * 2^53, and what is written is the text itself. */
static const char script_takeover[] =
    "local id = redis.call('HGET', KEYS[1], 'cluster') "
    "if id and id ~= ARGV[1] then return redis.error_reply('DTFOREIGN') end "
    "redis.call('HSET', KEYS[1], 'cluster', ARGV[1]) "
    "if tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0') < tonumber(ARGV[2]) then "
    "redis.call('HSET', KEYS[1], 'epoch', ARGV[2]) end "
    "if tonumber(redis.call('HGET', KEYS[1], 'seq') or '0') < tonumber(ARGV[3]) then "
    "redis.call('HSET', KEYS[1], 'seq', ARGV[3]) end "
    "redis.call('HINCRBY', KEYS[1], 'epoch', 1) "
    "return {redis.call('HGET', KEYS[1], 'epoch'), redis.call('HGET', KEYS[1], 'seq') or '0', "
    "redis.call('HGET', KEYS[1], 'now_ms') or '0', redis.call('HGET', KEYS[1], 'wall_ms') or '0'}";

/* KEYS: meta, log, jobs, nodes, then object and events key of each record.
 * ARGV: epoch, seq before, seq after, now_ms, wall_ms, count, then 8 of each record:
 * kind, name, version before, version after, object, members, spec, source; then one event each. */
static const char script_commit[] =
    "if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then "
    "return redis.error_reply('DTSTALE epoch') end "
    "local seq = redis.call('HGET', KEYS[1], 'seq') or '0' "
    "if seq == ARGV[3] then return 'again' end "
    "if seq ~= ARGV[2] then return redis.error_reply('DTSTALE seq') end "
    "local n = tonumber(ARGV[6]) local seen = {} "
    "for i = 0, n - 1 do local a = 7 + i * 8 local key = KEYS[5 + i * 2] "
    "local have = seen[key] if not have then "
    "local t = redis.call('TYPE', key).ok "
    "if t ~= 'none' and t ~= 'hash' then return redis.error_reply('DTTYPE object') end "
    "have = (t == 'hash' and redis.call('HGET', key, 'ver')) or '0' end "
    "if have ~= ARGV[a + 2] then return redis.error_reply('DTSTALE version') end "
    "local e = redis.call('TYPE', KEYS[6 + i * 2]).ok "
    "if e ~= 'none' and e ~= 'list' then return redis.error_reply('DTTYPE events') end "
    "seen[key] = ARGV[a + 3] end "
    "for _, k in ipairs({{KEYS[1], 'hash'}, {KEYS[2], 'stream'}, {KEYS[3], 'set'}, "
    "{KEYS[4], 'set'}}) do "
    "local t = redis.call('TYPE', k[1]).ok "
    "if t ~= 'none' and t ~= k[2] then return redis.error_reply('DTTYPE index') end end "
    "for i = 0, n - 1 do local a = 7 + i * 8 local key = KEYS[5 + i * 2] "
    "redis.call('HSET', key, 'ver', ARGV[a + 3], 'obj', ARGV[a + 4]) "
    "if ARGV[a + 5] ~= '' then redis.call('HSET', key, 'members', ARGV[a + 5]) end "
    "if ARGV[a + 6] ~= '' then redis.call('HSET', key, 'spec', ARGV[a + 6]) end "
    "if ARGV[a + 7] ~= '' then redis.call('HSET', key, 'source', ARGV[a + 7]) end "
    "redis.call('SADD', ARGV[a] == 'j' and KEYS[3] or KEYS[4], ARGV[a + 1]) "
    "local event = ARGV[7 + n * 8 + i] "
    "if ARGV[a] == 'j' then redis.call('RPUSH', KEYS[6 + i * 2], event) end "
    "redis.call('XADD', KEYS[2], 'MAXLEN', '~', " LOG_ENTRIES_MAX ", '*', 'e', event) end "
    "redis.call('HSET', KEYS[1], 'seq', ARGV[3], 'now_ms', ARGV[4], 'wall_ms', ARGV[5]) "
    "return 'done'";

enum phase { WAITING, TAKING_OVER, LISTING, LOADING, READY, FAILED };

struct store_redis {
    struct dt_store ops; /* owner = this */
    struct dt_loop *loop;
    struct redis_link *link;
    struct dt_core *core;
    struct store_calls calls;
    void *owner;
    char cluster_id[40];
    enum phase phase;
    uint64_t epoch_least, seq_least;
    uint64_t epoch, seq;
    int64_t now_ms, wall_ms;
    char commit_sha[64];     /* "" = send the whole script */
    size_t loads_left;
    bool has_failed_load;
    /* batch under way */
    const struct dt_record *records;
    size_t records_count, done_count; /* done_count are durable */
    size_t sent_count;       /* of the call under way; 0 = none */
    struct dt_buf *events;   /* sent_count event texts of the call under way, owned */
    bool is_unknown;         /* the call under way got no answer that tells */
    int64_t since_ms;        /* loop time when the batch was given */
};

static struct redis_arg text_arg(const char *text)
{
    return (struct redis_arg){text, strlen(text)};
}

static void key_of(const struct store_redis *store, char *text, size_t size, const char *rest)
{
    snprintf(text, size, "dt:{%s}:%s", store->cluster_id, rest);
}

static void load_failed(struct store_redis *store, const char *what, const char *detail)
{
    struct dt_err err = {0};

    if (store->phase == FAILED)
        return;
    store->phase = FAILED;
    dt_fail(&err, DT_CORRUPT, "%s%s%s", what, *detail ? ": " : "", detail);
    dt_hint(&err, "restore the state directory from a backup, or start with an empty one");
    store->calls.on_loaded(store->owner, &(struct store_loaded){0}, &err);
}

static const struct redis_value *field_of(const struct redis_value *hash, const char *name)
{
    for (size_t i = 0; i + 1 < hash->count; i += 2)
        if (redis_value_is(&hash->items[i], name))
            return &hash->items[i + 1];
    return NULL;
}

/* A sealed field as a tree; NULL when absent or damaged (*is_bad). */
static struct dt_tree *unseal(const struct redis_value *hash, const char *name, bool *is_bad)
{
    const struct redis_value *value = field_of(hash, name);
    struct dt_tree *tree = NULL;

    if (value && dt_record_unseal(value->text, value->size, &tree, NULL))
        *is_bad = true;
    return tree;
}

static enum dt_code apply_job(struct store_redis *store, const struct redis_value *hash,
                              struct dt_err *err)
{
    struct dt_record record = {.kind = DT_RECORD_JOB, .has_spec = true, .has_members = true};
    bool is_bad = false;
    struct dt_tree *object = unseal(hash, "obj", &is_bad);
    struct dt_tree *members = unseal(hash, "members", &is_bad);
    struct dt_tree *spec = unseal(hash, "spec", &is_bad);
    const struct redis_value *source = field_of(hash, "source");
    char *text = source ? dt_copy_bytes(source->text, source->size) : NULL;
    enum dt_code code = DT_CORRUPT;

    if (is_bad || !object || !spec)
        dt_fail(err, DT_CORRUPT, "a stored job is damaged or incomplete");
    else
        code = dt_record_job_read(&(struct dt_record_parts){object, members, spec, text},
                                  &record.job, err);
    if (!code) {
        struct dt_spec *owned = record.job->spec;

        code = dt_core_apply(store->core, &record, err);
        if (code) { /* core did not take the specification */
            dt_spec_release(owned);
            dt_free(owned);
        }
        dt_job_free(record.job, false);
    }
    dt_free(text);
    dt_tree_free(object);
    dt_tree_free(members);
    dt_tree_free(spec);
    return code;
}

static enum dt_code apply_node(struct store_redis *store, const struct redis_value *hash,
                               struct dt_err *err)
{
    struct dt_node node = {0};
    struct dt_record record = {.kind = DT_RECORD_NODE, .node = &node};
    bool is_bad = false;
    struct dt_tree *object = unseal(hash, "obj", &is_bad);
    enum dt_code code = DT_CORRUPT;

    if (is_bad || !object)
        dt_fail(err, DT_CORRUPT, "a stored node is damaged");
    else if (!(code = dt_record_node_read(object, &node, err)))
        code = dt_core_apply(store->core, &record, err);
    dt_tree_free(object);
    return code;
}

static void load_finished(struct store_redis *store)
{
    struct dt_err err = {0};

    store->phase = READY;
    store->calls.on_loaded(store->owner,
                           &(struct store_loaded){store->epoch, store->seq, store->now_ms,
                                                  store->wall_ms},
                           &err);
}

static void on_object(struct store_redis *store, const struct redis_value *value, bool is_job)
{
    struct dt_err err = {0};
    enum dt_code code;

    store->loads_left--;
    if (store->phase != LOADING)
        return;
    if (value->kind != REDIS_LIST) {
        store->has_failed_load = true;
    } else {
        code = is_job ? apply_job(store, value, &err) : apply_node(store, value, &err);
        if (code) {
            load_failed(store, err.text, "");
            return;
        }
    }
    if (store->loads_left)
        return;
    if (store->has_failed_load)
        load_failed(store, "the store was lost while it was read", "");
    else
        load_finished(store);
}

static void on_job(void *owner, const struct redis_value *value)
{
    on_object(owner, value, true);
}

static void on_node(void *owner, const struct redis_value *value)
{
    on_object(owner, value, false);
}

static void load_each(struct store_redis *store, const struct redis_value *names,
                      const char *prefix, redis_reply *reply)
{
    for (size_t i = 0; i < names->count; i++) {
        char rest[160], key[256];
        struct redis_arg args[2];

        snprintf(rest, sizeof(rest), "%s%.*s", prefix, (int)names->items[i].size,
                 names->items[i].text);
        key_of(store, key, sizeof(key), rest);
        args[0] = text_arg("HGETALL");
        args[1] = text_arg(key);
        redis_link_send(store->link, args, 2, reply, store);
    }
}

static void on_job_names(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;

    if (value->kind != REDIS_LIST) {
        load_failed(store, "the index of jobs cannot be read", "");
        return;
    }
    store->loads_left += value->count;
    load_each(store, value, "job:", on_job);
    store->phase = LOADING;
    if (--store->loads_left == 0)
        load_finished(store);
}

static void on_node_names(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;
    struct redis_arg args[2] = {text_arg("SMEMBERS")};
    char key[128];

    if (value->kind != REDIS_LIST) {
        load_failed(store, "the index of nodes cannot be read", "");
        return;
    }
    /* replies come in order: nodes and the list of jobs before any job; one is the list itself */
    store->loads_left = value->count + 1;
    store->phase = LOADING;
    load_each(store, value, "node:", on_node);
    key_of(store, key, sizeof(key), "jobs");
    args[1] = text_arg(key);
    redis_link_send(store->link, args, 2, on_job_names, store);
}

static uint64_t number_of(const struct redis_value *value)
{
    char text[32];
    uint64_t number = 0;

    snprintf(text, sizeof(text), "%.*s", (int)value->size, value->text);
    if (!dt_parse_u64(text, UINT64_MAX, &number))
        number = 0;
    return number;
}

static void on_taken_over(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;
    struct redis_arg args[2] = {text_arg("SMEMBERS")};
    char key[128];

    if (value->kind == REDIS_LOST ||
        (value->kind == REDIS_ERROR && strncmp(value->text, "LOADING", 7) == 0)) {
        store->phase = WAITING; /* tried again by poll */
        return;
    }
    if (value->kind != REDIS_LIST || value->count != 4) {
        load_failed(store, "takeover was refused",
                    value->kind == REDIS_ERROR ? value->text : "unexpected reply");
        return;
    }
    store->epoch = number_of(&value->items[0]);
    store->seq = number_of(&value->items[1]);
    store->now_ms = (int64_t)number_of(&value->items[2]);
    store->wall_ms = (int64_t)number_of(&value->items[3]);
    store->phase = LISTING;
    key_of(store, key, sizeof(key), "nodes");
    args[1] = text_arg(key);
    redis_link_send(store->link, args, 2, on_node_names, store);
}

static void take_over(struct store_redis *store)
{
    char key[128], epoch[24], seq[24];
    struct redis_arg args[7] = {text_arg("EVAL"), text_arg(script_takeover), text_arg("1")};

    key_of(store, key, sizeof(key), "meta");
    snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)store->epoch_least);
    snprintf(seq, sizeof(seq), "%llu", (unsigned long long)store->seq_least);
    args[3] = text_arg(key);
    args[4] = text_arg(store->cluster_id);
    args[5] = text_arg(epoch);
    args[6] = text_arg(seq);
    store->phase = TAKING_OVER;
    redis_link_send(store->link, args, 7, on_taken_over, store);
}

/* One setting as it must be, read back from the running Redis. */
static void on_setting(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;
    static const struct { const char *name, *wanted; } rows[] = {
        {"appendonly", "yes"}, {"appendfsync", "always"}, {"maxmemory-policy", "noeviction"},
        {"no-appendfsync-on-rewrite", "no"}, {"aof-load-truncated", "no"}};

    if (value->kind != REDIS_LIST)
        return; /* lost: asked again when it is back */
    for (size_t i = 0; i + 1 < value->count; i += 2)
        for (size_t row = 0; row < DT_COUNT(rows); row++)
            if (redis_value_is(&value->items[i], rows[row].name) &&
                !redis_value_is(&value->items[i + 1], rows[row].wanted)) {
                load_failed(store, "Redis does not have the setting it must have",
                            rows[row].name);
                return;
            }
}

static void commit_next(struct store_redis *store);
static void commit_look(struct store_redis *store);

/* A batch waits and no call for it is under way whose answer will come. */
static bool is_look_due(const struct store_redis *store)
{
    return store->phase == READY && store->records && (store->is_unknown || !store->sent_count);
}

static void on_link_up(void *owner)
{
    struct store_redis *store = owner;
    struct redis_arg args[3] = {text_arg("CONFIG"), text_arg("GET"), text_arg("*a*")};

    redis_link_send(store->link, args, 3, on_setting, store);
    if (store->phase == WAITING)
        take_over(store);
    else if (is_look_due(store))
        commit_look(store);
}

/* Texts that a commit call borrows until it is sent. */
struct call {
    struct redis_arg *args;
    size_t count;
    char **owned; /* owned_count, freed after sending */
    size_t owned_count;
};

static void call_own(struct call *call, char *text, size_t size)
{
    call->owned[call->owned_count++] = text;
    call->args[call->count++] = (struct redis_arg){text, size};
}

static void call_number(struct call *call, uint64_t number)
{
    char text[24];
    int size = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);

    call_own(call, dt_copy_text(text), (size_t)size);
}

static void call_sealed(struct call *call, struct dt_tree *take)
{
    struct dt_buf buf = {0};
    size_t size;

    dt_record_seal(&buf, take);
    dt_tree_free(take);
    size = buf.size;
    call_own(call, dt_buf_take(&buf), size);
}

static void call_key(struct store_redis *store, struct call *call, const char *prefix,
                     const char *name)
{
    char rest[160], key[256];

    snprintf(rest, sizeof(rest), "%s%s", prefix, name);
    key_of(store, key, sizeof(key), rest);
    call_own(call, dt_copy_text(key), strlen(key));
}

static void name_of(const struct dt_record *record, char *text, size_t size)
{
    if (record->job)
        snprintf(text, size, "%llu", (unsigned long long)record->job->id);
    else
        snprintf(text, size, "%s", record->node->name);
}

static void call_record(struct call *call, const struct dt_record *record)
{
    const struct dt_job *job = record->job;
    uint64_t version = job ? job->version : record->node->version;
    char name[DT_NAME_BYTES_MAX];

    name_of(record, name, sizeof(name));
    call->args[call->count++] = text_arg(job ? "j" : "n");
    call_own(call, dt_copy_text(name), strlen(name));
    call_number(call, version - 1);
    call_number(call, version);
    call_sealed(call, job ? dt_record_job_tree(job) : dt_record_node_tree(record->node));
    if (job && record->has_members)
        call_sealed(call, dt_record_members_tree(job));
    else
        call->args[call->count++] = text_arg("");
    if (job && record->has_spec) {
        call_sealed(call, dt_tree_copy(job->spec->resolved));
        call->args[call->count++] = text_arg(job->source ? job->source : "");
    } else {
        call->args[call->count++] = text_arg("");
        call->args[call->count++] = text_arg("");
    }
}

static void call_head(struct store_redis *store, struct call *call, bool is_sha, size_t count)
{
    static const char *const indexes[] = {"meta", "log", "jobs", "nodes"};
    const struct dt_record *records = store->records + store->done_count;
    char name[DT_NAME_BYTES_MAX];

    call->args[call->count++] = text_arg(is_sha ? "EVALSHA" : "EVAL");
    call->args[call->count++] = text_arg(is_sha ? store->commit_sha : script_commit);
    call_number(call, DT_COUNT(indexes) + count * KEYS_PER_RECORD);
    for (size_t i = 0; i < DT_COUNT(indexes); i++)
        call_key(store, call, indexes[i], "");
    for (size_t i = 0; i < count; i++) {
        name_of(&records[i], name, sizeof(name));
        call_key(store, call, records[i].job ? "job:" : "node:", name);
        call_key(store, call, records[i].job ? "ev:" : "nodeev:", name);
    }
    call_number(call, store->epoch);
    call_number(call, store->seq);
    call_number(call, records[count - 1].seq);
    call_number(call, (uint64_t)records[count - 1].now_ms);
    call_number(call, (uint64_t)records[count - 1].wall_ms);
    call_number(call, count);
}

static void events_release(struct store_redis *store)
{
    for (size_t i = 0; i < store->sent_count; i++)
        dt_buf_release(&store->events[i]);
    dt_free(store->events);
    store->events = NULL;
    store->sent_count = 0;
}

static void call_events(struct store_redis *store, struct call *call, size_t count)
{
    store->events = dt_alloc(count, sizeof(*store->events));
    store->sent_count = count;
    store->is_unknown = false;
    for (size_t i = 0; i < count; i++) {
        struct dt_tree *event = dt_record_event_tree(&store->records[store->done_count + i]);

        dt_json_write(&store->events[i], event);
        dt_tree_free(event);
        call->args[call->count++] = (struct redis_arg){store->events[i].data,
                                                       store->events[i].size};
    }
}

/* The call's records are durable: tell, and go on with the rest. */
static void call_done(struct store_redis *store)
{
    for (size_t i = 0; i < store->sent_count; i++) {
        const struct dt_record *record = &store->records[store->done_count + i];

        store->calls.on_event(store->owner, record->seq, record->job ? record->job->id : 0,
                              store->events[i].data, store->events[i].size);
        store->seq = record->seq;
    }
    store->done_count += store->sent_count;
    events_release(store);
    if (store->done_count < store->records_count) {
        commit_next(store);
        return;
    }
    store->records = NULL;
    store->calls.on_committed(store->owner, DT_COMMIT_DONE);
}

static void on_sequence(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;
    uint64_t epoch, seq;

    if (!store->records)
        return;
    if (value->kind != REDIS_LIST || value->count != 2 || value->items[0].kind != REDIS_TEXT)
        return; /* lost or loading: poll asks again */
    epoch = number_of(&value->items[0]);
    seq = value->items[1].kind == REDIS_TEXT ? number_of(&value->items[1]) : 0;
    if (epoch != store->epoch || (seq != store->seq && !store->sent_count)) {
        store->calls.on_committed(store->owner, DT_COMMIT_REFUSED);
        return;
    }
    if (store->sent_count && seq == store->records[store->done_count + store->sent_count - 1].seq) {
        call_done(store); /* it had been applied */
    } else if (seq == store->seq) {
        events_release(store);
        commit_next(store);
    } else {
        store->calls.on_committed(store->owner, DT_COMMIT_REFUSED);
    }
}

/* The outcome is unknown: the sequence number in the store tells. */
static void commit_look(struct store_redis *store)
{
    char key[128];
    struct redis_arg args[4] = {text_arg("HMGET")};

    key_of(store, key, sizeof(key), "meta");
    args[1] = text_arg(key);
    args[2] = text_arg("epoch");
    args[3] = text_arg("seq");
    redis_link_send(store->link, args, 4, on_sequence, store);
}

static void on_reply(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;

    if (value->kind == REDIS_TEXT) {
        call_done(store);
        return;
    }
    if (value->kind == REDIS_ERROR && strncmp(value->text, "NOSCRIPT", 8) == 0) {
        store->commit_sha[0] = 0;
        events_release(store);
        commit_next(store);
        return;
    }
    if (value->kind == REDIS_ERROR && strncmp(value->text, "DTSTALE", 7) == 0) {
        dt_log(DT_LOG_ERROR, "the store refused a commit", "why", value->text, NULL);
        store->calls.on_committed(store->owner, DT_COMMIT_REFUSED);
        return;
    }
    if (value->kind == REDIS_ERROR)
        dt_log(DT_LOG_ERROR, "the store cannot commit now", "why", value->text, NULL);
    store->is_unknown = true;
    /* unknown: poll looks at the sequence number once the link is there */
}

/* SHA-1 of the script as Redis names it; asked from Redis once. */
static void on_script(void *owner, const struct redis_value *value)
{
    struct store_redis *store = owner;

    if (value->kind == REDIS_TEXT && value->size < sizeof(store->commit_sha))
        snprintf(store->commit_sha, sizeof(store->commit_sha), "%.*s", (int)value->size,
                 value->text);
}

static void commit_next(struct store_redis *store)
{
    size_t count = store->records_count - store->done_count;
    struct call call = {0};
    size_t room;

    count = count < RECORDS_PER_CALL_MAX ? count : RECORDS_PER_CALL_MAX;
    room = 20 + count * (ARGS_PER_RECORD + KEYS_PER_RECORD + 1);
    call.args = dt_alloc(room, sizeof(*call.args));
    call.owned = dt_alloc(room, sizeof(*call.owned));
    call_head(store, &call, store->commit_sha[0] != 0, count);
    for (size_t i = 0; i < count; i++)
        call_record(&call, &store->records[store->done_count + i]);
    call_events(store, &call, count);
    assert(call.count <= room);
    if (!store->commit_sha[0]) {
        struct redis_arg load[3] = {text_arg("SCRIPT"), text_arg("LOAD"), text_arg(script_commit)};

        redis_link_send(store->link, load, 3, on_script, store);
    }
    redis_link_send(store->link, call.args, call.count, on_reply, store);
    for (size_t i = 0; i < call.owned_count; i++)
        dt_free(call.owned[i]);
    dt_free(call.owned);
    dt_free(call.args);
}

static void commit(struct dt_store *ops, const struct dt_record *records, size_t count)
{
    struct store_redis *store = ops->owner;

    assert(!store->records && count);
    store->records = records;
    store->records_count = count;
    store->done_count = 0;
    store->since_ms = dt_loop_now_ms(store->loop);
    if (redis_link_is_up(store->link))
        commit_next(store);
}

struct store_redis *store_redis_make(struct dt_loop *loop, const char *socket,
                                     const struct store_place *place,
                                     const struct store_calls *calls, void *owner)
{
    struct store_redis *store = dt_alloc(1, sizeof(*store));

    store->ops = (struct dt_store){commit, store};
    store->loop = loop;
    store->core = place->core;
    store->epoch_least = place->epoch_least;
    store->seq_least = place->seq_least;
    store->calls = *calls;
    store->owner = owner;
    snprintf(store->cluster_id, sizeof(store->cluster_id), "%s", place->cluster_id);
    store->link = redis_link_make(loop, socket, on_link_up, store);
    return store;
}

void store_redis_free(struct store_redis *store)
{
    if (!store)
        return;
    redis_link_free(store->link);
    events_release(store);
    dt_free(store);
}

struct dt_store *store_redis_ops(struct store_redis *store)
{
    return &store->ops;
}

bool store_redis_is_up(const struct store_redis *store)
{
    bool is_stuck = store->records &&
                    dt_loop_now_ms(store->loop) - store->since_ms > STUCK_MS;

    return store->phase == READY && redis_link_is_up(store->link) && !is_stuck;
}

uint64_t store_redis_seq(const struct store_redis *store)
{
    return store->seq;
}

void store_redis_poll(struct store_redis *store)
{
    if (!redis_link_is_up(store->link))
        return;
    if (store->phase == WAITING)
        take_over(store);
    else if (is_look_due(store))
        commit_look(store);
}

void store_redis_events(struct store_redis *store, uint64_t job, redis_reply *reply, void *owner)
{
    struct redis_arg args[4] = {text_arg("LRANGE"), {0}, text_arg("0"), text_arg("-1")};
    char rest[40], key[128];

    snprintf(rest, sizeof(rest), "ev:%llu", (unsigned long long)job);
    key_of(store, key, sizeof(key), rest);
    args[1] = text_arg(key);
    redis_link_send(store->link, args, 4, reply, owner);
}
