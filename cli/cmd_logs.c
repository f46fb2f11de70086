/* dtctl logs: what the ranks of a job wrote. */
#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "cmds.h"
#include "dt/core/job.h"
#include "dt/os/proc.h"
#include "http.h"
#include "render.h"
#include "safe.h"
#include "say.h"

#define PIECE_BYTES "262144"
#define LINE_BYTES_MAX ((size_t)64 * 1024) /* a longer line is printed in parts */
#define RANKS_SHOWN 8                      /* without --rank */
#define LOOK_FIRST_MS 100
#define LOOK_MOST_MS 1000

static const struct dt_opt opts[] = {
    {.name = "follow", .letter = 'f', .type = DT_OPT_FLAG,
     .help = "go on with new lines until the job ends; Ctrl-C leaves it running"},
    {.name = "rank", .letter = 'r', .type = DT_OPT_STR, .arg = "LIST", .unit = "",
     .help = "ranks such as 0, 0-7 or 1,4-5; all of them when they are 8 or fewer, else rank 0"},
    {.name = "generation", .letter = 'g', .type = DT_OPT_STR, .arg = "N|all", .unit = "",
     .help = "a generation, or all; else the newest"},
    {.name = "tail", .letter = 'n', .type = DT_OPT_INT, .arg = "N", .unit = "lines", .least = 0,
     .most = 1000000, .help = "only the last N lines of each rank"},
    {.name = "grep", .type = DT_OPT_STR, .arg = "RE", .unit = "",
     .help = "only lines that match this POSIX extended regular expression"},
    {.name = "raw", .type = DT_OPT_FLAG,
     .help = "leave escape sequences as they are, also on a terminal"},
    {.name = "no-prefix", .type = DT_OPT_FLAG, .help = "no rank before each line"},
    DT_API_ROWS,
};

/* One rank that is read. */
struct reader {
    int rank;
    int64_t offset;     /* of the next byte; -1 = nothing read yet */
    bool is_at_end;     /* of what is there */
    struct dt_buf line; /* an unfinished line */
};

struct logs {
    struct dt_api api;
    const struct dt_args *args;
    char id[32];
    int64_t gen;            /* being read; 0 = none has started */
    bool has_prefix, has_gen, is_safe;
    regex_t *grep;          /* NULL = every line */
    struct reader *readers; /* readers_count, owned */
    size_t readers_count;
    struct dt_buf out;
};

static void line_put(struct logs *logs, const struct reader *reader, const char *text,
                     size_t size, bool is_ended)
{
    if (logs->grep) {
        regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)size};

        if (regexec(logs->grep, text, 1, &all, REG_STARTEND) != 0)
            return;
    }
    if (logs->has_prefix && logs->has_gen)
        dt_buf_print(&logs->out, "g%lld ", (long long)logs->gen);
    if (logs->has_prefix)
        dt_buf_print(&logs->out, "r%d | ", reader->rank);
    if (logs->is_safe)
        dt_safe_add(&logs->out, text, size, false);
    else
        dt_buf_add(&logs->out, text, size);
    if (is_ended || logs->has_prefix || logs->is_safe)
        dt_buf_byte(&logs->out, '\n');
}

/* Complete lines go out; on a terminal a carriage return ends a line, too. */
static void bytes_put(struct logs *logs, struct reader *reader, const char *bytes, size_t size)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t take, line_size;

        if (logs->is_safe) {
            const char *back = memchr(bytes, '\r', end ? (size_t)(end - bytes) : size);

            end = back ? back : end;
        }
        take = end ? (size_t)(end - bytes) + 1 : size;
        dt_buf_add(&reader->line, bytes, take);
        line_size = reader->line.size - (end ? 1 : 0);
        if (end && (line_size || *end == '\n')) {
            bool had_return = logs->is_safe && *end == '\r' && take < size && end[1] == '\n';

            line_put(logs, reader, reader->line.data, line_size, true);
            take += had_return;
        }
        if (!end && reader->line.size >= LINE_BYTES_MAX)
            line_put(logs, reader, reader->line.data, reader->line.size, false);
        if (end || reader->line.size >= LINE_BYTES_MAX)
            dt_buf_clear(&reader->line);
        bytes += take;
        size -= take;
    }
    dt_put(&logs->out);
    dt_buf_clear(&logs->out);
}

static void reader_finish(struct logs *logs, struct reader *reader)
{
    if (reader->line.size)
        line_put(logs, reader, reader->line.data, reader->line.size, false);
    dt_buf_clear(&reader->line);
    dt_put(&logs->out);
    dt_buf_clear(&logs->out);
}

static void logs_path(const struct logs *logs, const struct reader *reader, struct dt_buf *path)
{
    char number[24];

    dt_api_path(path, "/v1/jobs/", logs->id, "/logs");
    snprintf(number, sizeof(number), "%d", reader->rank);
    dt_api_query(path, "rank", number);
    snprintf(number, sizeof(number), "%lld", (long long)logs->gen);
    dt_api_query(path, "gen", number);
    snprintf(number, sizeof(number), "%lld", (long long)(reader->offset < 0 ? 0 : reader->offset));
    if (reader->offset < 0 && dt_args_str(logs->args, "tail"))
        dt_api_query(path, "tail", dt_args_str(logs->args, "tail"));
    else
        dt_api_query(path, "offset", number);
    dt_api_query(path, "limit", PIECE_BYTES);
}

/* The next piece of one rank. *got tells whether bytes came. */
static enum dt_code piece_read(struct logs *logs, struct reader *reader, bool *got,
                               struct dt_err *err)
{
    struct dt_answer answer = {0};
    struct dt_buf path = {0};
    struct dt_call call = {.method = "GET"};
    char text[32];
    int64_t next;
    enum dt_code code;

    *got = false;
    logs_path(logs, reader, &path);
    call.path = dt_buf_str(&path);
    code = dt_api_call(&logs->api, &call, &answer, err);
    dt_buf_release(&path);
    if (code)
        return code;
    reader->is_at_end = dt_http_header(&answer.head, "Dt-Eof", text, sizeof(text)) &&
                        (strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
    if (!dt_http_header(&answer.head, "Dt-Next", text, sizeof(text)) ||
        !dt_parse_int(text, 0, INT64_MAX, &next)) {
        dt_answer_release(&answer);
        return dt_fail(err, DT_CORRUPT, "the controller's answer has no Dt-Next");
    }
    *got = answer.body.size > 0;
    if (*got)
        bytes_put(logs, reader, answer.body.data, answer.body.size);
    else
        reader->is_at_end = true;
    reader->offset = next;
    dt_answer_release(&answer);
    return DT_OK;
}

static enum dt_code job_read(struct logs *logs, const char *id, struct dt_tree **job,
                             struct dt_err *err)
{
    struct dt_buf path = {0};
    enum dt_code code;

    dt_api_path(&path, "/v1/jobs/", id, "");
    code = dt_api_get(&logs->api, dt_buf_str(&path), job, err);
    dt_buf_release(&path);
    return code;
}

static void reader_add(struct logs *logs, int64_t rank)
{
    logs->readers = dt_realloc(logs->readers, logs->readers_count + 1, sizeof(*logs->readers));
    logs->readers[logs->readers_count++] = (struct reader){.rank = (int)rank, .offset = -1};
}

/* "0-7,9" into readers. */
static enum dt_code ranks_parse(struct logs *logs, const char *text, int64_t ranks,
                                struct dt_err *err)
{
    while (*text) {
        size_t size = strcspn(text, ",");
        char part[32] = {0};
        char *dash;
        int64_t first, last;

        if (size >= sizeof(part))
            return dt_fail(err, DT_USAGE, "--rank: expected a list such as 0-3,7");
        memcpy(part, text, size);
        dash = strchr(part, '-');
        if (dash)
            *dash = 0;
        if (!dt_parse_int(part, 0, DT_RANKS_MAX - 1, &first) ||
            !dt_parse_int(dash ? dash + 1 : part, first, DT_RANKS_MAX - 1, &last))
            return dt_fail(err, DT_USAGE, "--rank: expected a list such as 0-3,7");
        if (ranks > 0 && last >= ranks)
            return dt_fail(err, DT_NOT_FOUND, "%s has no rank %lld: it has %lld ranks", logs->id,
                           (long long)last, (long long)ranks);
        for (; first <= last; first++)
            reader_add(logs, first);
        text += size + (text[size] == ',');
    }
    return DT_OK;
}

static enum dt_code ranks_choose(struct logs *logs, const struct dt_tree *job,
                                 struct dt_err *err)
{
    const char *wanted = dt_args_str(logs->args, "rank");
    int64_t ranks = dt_tree_int(job, "ranks", 1);
    int64_t failed = dt_tree_int(dt_tree_get(job, "result"), "rank", -1);

    if (wanted && strcmp(wanted, "all") != 0)
        return ranks_parse(logs, wanted, ranks, err);
    if (wanted || ranks <= RANKS_SHOWN) {
        for (int64_t i = 0; i < ranks; i++)
            reader_add(logs, i);
        return DT_OK;
    }
    reader_add(logs, 0);
    if (failed > 0)
        reader_add(logs, failed);
    dt_say("%lld ranks: rank 0%s is shown; others: --rank 0-%lld", (long long)ranks,
           failed > 0 ? " and the one that failed" : "", (long long)ranks - 1);
    return DT_OK;
}

/* One generation to its present end. Missing logs of some rank are said, not fatal. */
static enum dt_code gen_read(struct logs *logs, struct dt_err *err)
{
    size_t missing = 0;
    enum dt_code code = DT_OK;

    for (size_t i = 0; i < logs->readers_count; i++) {
        struct reader *reader = &logs->readers[i];
        bool got;

        reader->offset = -1;
        reader->is_at_end = false;
        while (!reader->is_at_end && !(code = piece_read(logs, reader, &got, err)))
            ;
        reader_finish(logs, reader);
        if (code && code != DT_NOT_FOUND)
            return code;
        missing += code == DT_NOT_FOUND;
    }
    return missing && missing == logs->readers_count ? DT_NOT_FOUND : DT_OK;
}

static enum dt_code all_read(struct logs *logs, struct dt_err *err)
{
    int64_t last = logs->gen;
    enum dt_code code = DT_OK;

    if (!logs->has_gen)
        return gen_read(logs, err);
    for (logs->gen = 1; logs->gen <= last; logs->gen++) {
        code = gen_read(logs, err);
        if (code && code != DT_NOT_FOUND)
            return code;
    }
    return DT_OK;
}

/* One round over the ranks. */
static enum dt_code round_read(struct logs *logs, bool *got_any, struct dt_err *err)
{
    *got_any = false;
    for (size_t i = 0; i < logs->readers_count && !dt_stop_signal(); i++) {
        bool got = false;
        enum dt_code code = piece_read(logs, &logs->readers[i], &got, err);

        if (code && code != DT_NOT_FOUND)
            return code;
        *got_any = *got_any || got || (!code && !logs->readers[i].is_at_end);
    }
    return DT_OK;
}

/* The job's generation grew: read the new one from its start. */
static void gen_next(struct logs *logs, int64_t gen)
{
    for (size_t i = 0; i < logs->readers_count; i++) {
        reader_finish(logs, &logs->readers[i]);
        logs->readers[i].offset = 0;
        logs->readers[i].is_at_end = false;
    }
    if (logs->gen)
        dt_say("-- generation %lld", (long long)gen);
    logs->gen = gen;
}

/* Look at the job when a round brought nothing. *is_over: it ended and everything was read. */
static enum dt_code job_look(struct logs *logs, bool was_over, bool *is_over,
                             struct dt_err *err)
{
    struct dt_tree *job = NULL;
    enum dt_code code = job_read(logs, logs->id, &job, err);
    enum dt_job_state state = dt_job_state_from_name(dt_tree_str(job, "state", ""));
    int64_t gen = dt_tree_int(job, "gen", 0);

    if (!code && gen > logs->gen)
        gen_next(logs, gen);
    else if (!code)
        /* one more round after the end was seen, for the last lines */
        *is_over = was_over || (state != DT_JOB_STATE_COUNT && dt_job_is_terminal(state));
    dt_tree_free(job);
    return code;
}

static enum dt_code follow(struct logs *logs, struct dt_err *err)
{
    int64_t pause = LOOK_FIRST_MS;
    bool is_over = false, was_over = false, got = true;
    enum dt_code code = DT_OK;

    if (logs->api.retry_ms < 60000)
        logs->api.retry_ms = 60000; /* a restarted controller is waited for */
    while (!code && !dt_stop_signal()) {
        got = false;
        if (logs->gen && (code = round_read(logs, &got, err)))
            break;
        if (got) {
            pause = LOOK_FIRST_MS;
            continue;
        }
        if (was_over)
            break;
        if ((code = job_look(logs, was_over, &is_over, err)))
            break;
        was_over = is_over;
        if (!is_over)
            poll(NULL, 0, (int)pause);
        pause = pause * 2 > LOOK_MOST_MS ? LOOK_MOST_MS : pause * 2;
    }
    for (size_t i = 0; i < logs->readers_count; i++)
        reader_finish(logs, &logs->readers[i]);
    return dt_stop_signal() ? DT_OK : code;
}

static enum dt_code gen_choose(struct logs *logs, const struct dt_tree *job, struct dt_err *err)
{
    const char *wanted = dt_args_str(logs->args, "generation");
    int64_t newest = dt_tree_int(job, "gen", 0);

    logs->gen = newest;
    if (!wanted || strcmp(wanted, "all") == 0) {
        logs->has_gen = wanted != NULL;
    } else if (!dt_parse_int(wanted, 1, INT64_MAX, &logs->gen)) {
        return dt_fail(err, DT_USAGE, "--generation: expected a number or all, found \"%s\"",
                       wanted);
    } else if (logs->gen > newest) {
        return dt_fail(err, DT_NOT_FOUND, "%s has no generation %lld: the newest is %lld",
                       logs->id, (long long)logs->gen, (long long)newest);
    }
    if (newest || dt_args_has(logs->args, "follow"))
        return DT_OK;
    dt_fail(err, DT_NOT_FOUND, "%s has not started: there are no logs yet", logs->id);
    dt_hint(err, "dtctl why %s; or wait for lines: dtctl logs -f %s", logs->id, logs->id);
    return DT_NOT_FOUND;
}

static enum dt_code logs_begin(struct logs *logs, const struct dt_args *args, regex_t *grep,
                               struct dt_err *err)
{
    const char *expression = dt_args_str(args, "grep");
    struct dt_tree *job = NULL;
    enum dt_code code;
    int failed;

    logs->args = args;
    logs->is_safe = dt_stdout_is_terminal() && !dt_args_has(args, "raw");
    if ((code = dt_api_open(&logs->api, args, err)))
        return code;
    if (expression && (failed = regcomp(grep, expression, REG_EXTENDED))) {
        char text[128];

        regerror(failed, grep, text, sizeof(text));
        return dt_fail(err, DT_USAGE, "--grep: %s", text);
    }
    logs->grep = expression ? grep : NULL;
    if ((code = job_read(logs, args->operands[0], &job, err)))
        return code;
    snprintf(logs->id, sizeof(logs->id), "%s", dt_tree_str(job, "id", ""));
    if (!(code = gen_choose(logs, job, err)))
        code = ranks_choose(logs, job, err);
    logs->has_prefix = logs->readers_count > 1 && !dt_args_has(args, "no-prefix");
    dt_tree_free(job);
    return code;
}

static int logs_run(const struct dt_args *args)
{
    struct logs logs = {.api.client.fd = -1};
    struct dt_err err = {0};
    regex_t grep;
    enum dt_code code = logs_begin(&logs, args, &grep, &err);
    int exit = 0;

    if (!code && dt_args_has(args, "follow")) {
        dt_stop_watch();
        code = follow(&logs, &err);
    } else if (!code) {
        code = all_read(&logs, &err);
    }
    if (dt_stop_signal()) {
        dt_say("%s is still running; follow again: dtctl logs -f %s; stop it: dtctl cancel %s",
               logs.id, logs.id, logs.id);
        exit = 128 + dt_stop_signal();
    } else if (code) {
        exit = dt_say_error(&err);
    }
    if (logs.grep)
        regfree(logs.grep);
    for (size_t i = 0; i < logs.readers_count; i++)
        dt_buf_release(&logs.readers[i].line);
    dt_free(logs.readers);
    dt_buf_release(&logs.out);
    dt_api_release(&logs.api);
    return exit;
}

const struct dt_cmd dt_cli_logs = {
    .name = "logs",
    .operands = "JOB",
    .operands_least = 1,
    .operands_most = 1,
    .summary = "What the ranks of a job wrote, live or long finished.",
    .detail = "With several ranks each line begins with its rank. On a terminal, control and "
              "escape sequences are shown as \\xNN instead of being obeyed.",
    .examples = "  dtctl logs -f j-000042\n  dtctl logs --rank 0-3 --tail 20 --grep loss train\n"
                "  dtctl logs --generation all j-000042 >all.log\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_JOBS,
    .run = logs_run,
};
