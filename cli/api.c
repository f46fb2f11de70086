/* The API as commands use it: open, ask, retry, and refusals as errors. */
#include "api.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "dt/os/proc.h"
#include "say.h"

#define RETRY_FIRST_MS 50
#define RETRY_MOST_MS 1000

/* Lists of many thousands of jobs are read whole. */
static const struct dt_json_limits answer_limits = {(size_t)64 << 20, 40, 8000000};

enum dt_code dt_api_open(struct dt_api *api, const struct dt_args *args, struct dt_err *err)
{
    struct dt_where where;
    enum dt_code code = dt_where_find(dt_args_str(args, "context"), &where, err);

    *api = (struct dt_api){.client.fd = -1};
    if (code)
        return code;
    api->retry_ms = dt_args_ms(args, "retry", 0);
    return dt_client_open(&where, &api->client, err);
}

enum dt_code dt_api_tree(const struct dt_answer *answer, struct dt_tree **tree,
                         struct dt_err *err)
{
    enum dt_code code = dt_json_parse(dt_buf_str(&answer->body), answer->body.size,
                                      &answer_limits, tree, err);

    if (!code)
        return DT_OK;
    dt_prefix(err, "the controller's answer");
    if (err)
        err->code = DT_CORRUPT;
    return DT_CORRUPT;
}

static enum dt_code code_of_status(int status)
{
    static const struct {
        int status;
        enum dt_code code;
    } rows[] = {
        {400, DT_INVALID},  {401, DT_DENIED},      {403, DT_DENIED}, {404, DT_NOT_FOUND},
        {405, DT_INTERNAL}, {408, DT_UNREACHABLE}, {409, DT_CONFLICT}, {413, DT_INVALID},
        {422, DT_INVALID},  {429, DT_QUOTA},       {501, DT_UNSUPPORTED},
        {502, DT_UNREACHABLE}, {503, DT_UNREACHABLE}, {504, DT_UNREACHABLE},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (rows[i].status == status)
            return rows[i].code;
    return status < 500 ? DT_INVALID : DT_INTERNAL;
}

/* A refusal of the server as an error; a body that is no JSON (a proxy's page) is named. */
static enum dt_code refused(struct dt_api *api, const struct dt_answer *answer,
                            struct dt_err *err)
{
    enum dt_code code = code_of_status(answer->status);
    const char *word, *text;

    dt_tree_free(api->refusal);
    api->refusal = NULL;
    if (dt_api_tree(answer, &api->refusal, NULL) || api->refusal->kind != DT_TREE_MAP)
        return dt_fail(err, code, "the controller answered with HTTP status %d",
                       answer->status);
    word = dt_tree_str(api->refusal, "code", "");
    text = dt_tree_str(api->refusal, "detail", dt_tree_str(api->refusal, "title", ""));
    if (dt_code_from_name(word) != DT_INTERNAL || strcmp(word, "internal") == 0)
        code = dt_code_from_name(word);
    dt_fail(err, code, "%s", *text ? text : dt_code_help(code));
    if (dt_tree_get(api->refusal, "hint"))
        dt_hint(err, "%s", dt_tree_str(api->refusal, "hint", ""));
    return code;
}

enum dt_code dt_api_call(struct dt_api *api, const struct dt_call *call,
                         struct dt_answer *answer, struct dt_err *err)
{
    int64_t end = dt_clock_ms() + api->retry_ms, pause = RETRY_FIRST_MS;
    enum dt_code code;

    for (;;) {
        struct dt_answer draft = {0};

        code = dt_client_call(&api->client, call, &draft, err);
        if (!code && draft.status >= 400)
            code = refused(api, &draft, err);
        if (!code) {
            *answer = draft;
            return DT_OK;
        }
        dt_answer_release(&draft);
        if ((code != DT_UNREACHABLE && code != DT_CORRUPT) || dt_stop_signal() ||
            dt_clock_ms() + pause > end)
            return code;
        poll(NULL, 0, (int)pause);
        pause = pause * 2 > RETRY_MOST_MS ? RETRY_MOST_MS : pause * 2;
    }
}

enum dt_code dt_api_get(struct dt_api *api, const char *path, struct dt_tree **tree,
                        struct dt_err *err)
{
    struct dt_call call = {.method = "GET", .path = path};
    struct dt_answer answer = {0};
    enum dt_code code = dt_api_call(api, &call, &answer, err);

    if (!code)
        code = dt_api_tree(&answer, tree, err);
    dt_answer_release(&answer);
    return code;
}

enum dt_code dt_api_post(struct dt_api *api, const char *path, const struct dt_tree *body,
                         struct dt_tree **tree, struct dt_err *err)
{
    struct dt_call call = {.method = "POST", .path = path};
    struct dt_answer answer = {0};
    struct dt_buf text = {0};
    char key[37];
    enum dt_code code;

    if (body)
        dt_json_write(&text, body);
    else
        dt_buf_text(&text, "{}");
    dt_random_uuid(key);
    call.body = dt_buf_str(&text);
    call.body_size = text.size;
    call.key = key;
    code = dt_api_call(api, &call, &answer, err);
    if (!code && tree)
        code = dt_api_tree(&answer, tree, err);
    dt_answer_release(&answer);
    dt_buf_release(&text);
    return code;
}

static void encode(struct dt_buf *path, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~,:";

    for (; *text; text++) {
        if (strchr(plain, *text))
            dt_buf_byte(path, *text);
        else
            dt_buf_print(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

void dt_api_path(struct dt_buf *path, const char *base, const char *name, const char *tail)
{
    dt_buf_text(path, base);
    /* "." and ".." would be folded away: the API has no such names. */
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        dt_buf_text(path, "%2E");
    else
        encode(path, name);
    dt_buf_text(path, tail);
}

void dt_api_query(struct dt_buf *path, const char *key, const char *value)
{
    dt_buf_byte(path, strchr(dt_buf_str(path), '?') ? '&' : '?');
    dt_buf_text(path, key);
    dt_buf_byte(path, '=');
    encode(path, value);
}

void dt_api_release(struct dt_api *api)
{
    dt_client_release(&api->client);
    dt_tree_free(api->refusal);
    api->refusal = NULL;
}
