/* Jobs, nodes and errors as the API shows them. */
#include "dt/wire/api.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/base/units.h"
#include "dt/wire/msg.h"

static void put_instant(struct dt_tree *tree, const char *key, int64_t wall_ms)
{
    char text[40];

    dt_format_instant(wall_ms, text, sizeof(text));
    dt_tree_put_str(tree, key, wall_ms ? text : NULL);
}

int dt_api_job_exit(const struct dt_job *job)
{
    if (!dt_job_is_terminal(job->state))
        return -1;
    if (job->state == DT_JOB_SUCCEEDED)
        return 0;
    if (job->state == DT_JOB_CANCELLED)
        return 11;
    if (job->state == DT_JOB_EXPIRED || strcmp(job->result.cause, "time-limit") == 0)
        return 12;
    return strcmp(job->result.cause, "node_lost") == 0 ? 13 : 10;
}

static void put_result(struct dt_tree *tree, const struct dt_job *job)
{
    const struct dt_result *result = &job->result;
    struct dt_tree *row;

    if (!result->cause[0] && !result->reason[0]) {
        dt_tree_put_str(tree, "result", NULL);
        return;
    }
    row = dt_tree_put_new(tree, "result", DT_TREE_MAP);
    dt_tree_put_str(row, "cause", result->cause);
    dt_tree_put_int(row, "code", result->code);
    dt_tree_put_int(row, "signal", result->signal);
    dt_tree_put_int(row, "rank", result->rank);
    dt_tree_put_str(row, "node", result->node[0] ? result->node : NULL);
    dt_tree_put_str(row, "reason", result->reason);
    dt_tree_put_str(row, "excerpt", result->excerpt);
    if (dt_api_job_exit(job) >= 0)
        dt_tree_put_int(row, "exit", dt_api_job_exit(job));
}

/* Steps the trainer was asked for, or 0. */
static int64_t steps_asked(const struct dt_job *job)
{
    return dt_tree_int(dt_tree_get(job->spec->resolved, "trainer"), "steps", 0);
}

static void put_progress(struct dt_tree *tree, const struct dt_job *job)
{
    const struct dt_progress *progress = &job->progress;
    struct dt_tree *row;
    char text[40];

    if (progress->step < 0 && !progress->phase[0]) {
        dt_tree_put_str(tree, "progress", NULL);
    } else {
        row = dt_tree_put_new(tree, "progress", DT_TREE_MAP);
        dt_tree_put_int(row, "step", progress->step);
        dt_tree_put_int(row, "steps", steps_asked(job));
        dt_tree_put_str(row, "loss", progress->loss[0] ? progress->loss : NULL);
        dt_tree_put_int(row, "tokens", progress->tokens);
        snprintf(text, sizeof(text), "%lld.%03lld", (long long)(progress->step_us / 1000),
                 (long long)(progress->step_us % 1000));
        dt_tree_put_float(row, "step_ms", text);
        dt_tree_put_str(row, "phase", progress->phase[0] ? progress->phase : NULL);
    }
    if (progress->checkpoint_step < 0) {
        dt_tree_put_str(tree, "checkpoint", NULL);
        return;
    }
    row = dt_tree_put_new(tree, "checkpoint", DT_TREE_MAP);
    dt_tree_put_int(row, "step", progress->checkpoint_step);
    dt_tree_put_str(row, "path", progress->checkpoint_path);
}

static void put_dirs(struct dt_tree *tree, const struct dt_job *job)
{
    struct dt_tree *dirs = dt_tree_put_new(tree, "dirs", DT_TREE_MAP);
    char text[600];

    dt_tree_put_str(dirs, "output", job->output_dir);
    dt_tree_put_str(dirs, "checkpoint", job->checkpoint_dir);
    snprintf(text, sizeof(text), "%s/logs", job->output_dir);
    dt_tree_put_str(dirs, "logs", text);
    snprintf(text, sizeof(text), "%s/metrics.jsonl", job->output_dir);
    dt_tree_put_str(dirs, "metrics", job->spec->is_trainer ? text : NULL);
}

static void put_members(struct dt_tree *tree, const struct dt_job *job)
{
    struct dt_tree *list = dt_tree_put_new(tree, "members", DT_TREE_LIST);

    for (size_t i = 0; i < job->members_count; i++) {
        struct dt_tree *row = dt_tree_put_new(list, NULL, DT_TREE_MAP), *devices;

        dt_tree_put_str(row, "node", job->members[i].node);
        dt_tree_put_int(row, "rank_first", job->members[i].rank_first);
        dt_tree_put_int(row, "ranks", job->members[i].ranks_count);
        devices = dt_tree_put_new(row, "devices", DT_TREE_LIST);
        for (size_t j = 0; j < job->members[i].devices_count; j++)
            dt_tree_put_str(devices, NULL, job->members[i].devices[j]);
    }
}

/* One word of why it waits; the whole object is at /why. */
static const char *reason_of(const struct dt_job *job)
{
    if (job->state == DT_JOB_PENDING)
        return job->reason[0] ? job->reason : "priority";
    return job->result.cause[0] ? job->result.cause : NULL;
}

static void put_restarts(struct dt_tree *tree, const struct dt_job *job)
{
    struct dt_tree *row = dt_tree_put_new(tree, "restarts", DT_TREE_MAP);

    dt_tree_put_int(row, "total", job->restarts.total);
    dt_tree_put_int(row, "counted", job->restarts.counted);
    dt_tree_put_int(row, "max", job->spec->restart_max);
}

struct dt_tree *dt_api_job_tree(const struct dt_job *job)
{
    static const char *const launches[] = {
        [DT_LAUNCH_MPI] = "mpi", [DT_LAUNCH_TORCH] = "torch", [DT_LAUNCH_NONE] = "none"};
    const struct dt_spec *spec = job->spec;
    const struct dt_tree *labels = dt_tree_get(spec->resolved, "labels");
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    char id[24];

    dt_job_id_format(job->id, id, sizeof(id));
    dt_tree_put_str(tree, "id", id);
    dt_tree_put_str(tree, "name", spec->name);
    dt_tree_put_str(tree, "user", job->owner.name);
    dt_tree_put_int(tree, "uid", job->owner.uid);
    dt_tree_put_str(tree, "project", spec->project[0] ? spec->project : NULL);
    dt_tree_put_str(tree, "queue", spec->queue);
    dt_tree_put_int(tree, "priority", spec->priority);
    if (labels)
        dt_tree_add(tree, "labels", dt_tree_copy(labels));
    else
        dt_tree_put_new(tree, "labels", DT_TREE_MAP);
    dt_tree_put_str(tree, "state", dt_job_state_name(job->state));
    dt_tree_put_str(tree, "reason", reason_of(job));
    dt_tree_put_int(tree, "gen", (int64_t)job->gen);
    dt_tree_put_int(tree, "nodes", spec->nodes_min);
    dt_tree_put_int(tree, "ranks", (int64_t)spec->nodes_min * spec->ranks_per_node);
    dt_tree_put_str(tree, "launch", launches[spec->launch]);
    put_instant(tree, "submitted", job->submitted_wall_ms);
    put_instant(tree, "started", job->started_wall_ms);
    put_instant(tree, "finished", job->finished_wall_ms);
    put_instant(tree, "since", job->state_since_wall_ms);
    put_restarts(tree, job);
    put_result(tree, job);
    put_progress(tree, job);
    put_members(tree, job);
    put_dirs(tree, job);
    dt_tree_put_u64(tree, "version", job->version);
    return tree;
}

static void row_text(struct dt_buf *buf, const char *key, const char *text)
{
    if (!text)
        return;
    dt_buf_print(buf, ",\"%s\":", key);
    dt_json_quote(buf, text, strlen(text));
}

void dt_api_job_row(struct dt_buf *buf, const struct dt_job *job)
{
    const struct dt_progress *progress = &job->progress;
    const struct dt_spec *spec = job->spec;
    char text[40];

    dt_job_id_format(job->id, text, sizeof(text));
    dt_buf_print(buf, "{\"id\":\"%s\"", text);
    row_text(buf, "name", spec->name);
    row_text(buf, "user", job->owner.name);
    row_text(buf, "queue", spec->queue);
    row_text(buf, "state", dt_job_state_name(job->state));
    row_text(buf, "reason", reason_of(job));
    dt_format_instant(job->submitted_wall_ms, text, sizeof(text));
    row_text(buf, "submitted", job->submitted_wall_ms ? text : NULL);
    dt_buf_print(buf, ",\"gen\":%lld,\"nodes\":%d,\"ranks\":%lld,\"restarts\":{\"total\":%d}",
                 (long long)job->gen, spec->nodes_min,
                 (long long)spec->nodes_min * spec->ranks_per_node, job->restarts.total);
    if (progress->step >= 0 || progress->phase[0]) {
        dt_buf_print(buf, ",\"progress\":{\"step\":%lld,\"steps\":%lld",
                     (long long)progress->step, (long long)steps_asked(job));
        row_text(buf, "loss", progress->loss[0] ? progress->loss : NULL);
        dt_buf_byte(buf, '}');
    }
    if (progress->checkpoint_step >= 0)
        dt_buf_print(buf, ",\"checkpoint\":{\"step\":%lld}",
                     (long long)progress->checkpoint_step);
    dt_buf_text(buf, ",\"dirs\":{\"output\":");
    dt_json_quote(buf, job->output_dir, strlen(job->output_dir));
    dt_buf_text(buf, "}}");
}

static void put_counts(struct dt_tree *tree, const char *key, const struct dt_inventory *has,
                       const char *kind)
{
    struct dt_tree *row = dt_tree_put_new(tree, key, DT_TREE_MAP);
    int total = 0, held = 0, unhealthy = 0;

    for (size_t i = 0; i < has->devices_count; i++) {
        if (strcmp(has->devices[i].kind, kind) != 0)
            continue;
        total++;
        held += has->devices[i].job != 0;
        unhealthy += !has->devices[i].job && has->devices[i].is_unhealthy;
    }
    dt_tree_put_int(row, "total", total);
    dt_tree_put_int(row, "free", total - held - unhealthy);
    dt_tree_put_int(row, "held", held);
    dt_tree_put_int(row, "unhealthy", unhealthy);
}

static void put_devices(struct dt_tree *tree, const struct dt_inventory *has)
{
    struct dt_tree *list = dt_tree_put_new(tree, "devices", DT_TREE_LIST);
    char id[24];

    for (size_t i = 0; i < has->devices_count; i++) {
        const struct dt_device *device = &has->devices[i];
        struct dt_tree *row = dt_tree_put_new(list, NULL, DT_TREE_MAP);

        dt_tree_put_str(row, "kind", device->kind);
        dt_tree_put_str(row, "id", device->id);
        dt_tree_put_str(row, "type", device->type);
        dt_tree_put_str(row, "domain", device->domain);
        dt_tree_put_str(row, "state",
                        device->job ? "held" : device->is_unhealthy ? "unhealthy" : "free");
        dt_job_id_format(device->job, id, sizeof(id));
        dt_tree_put_str(row, "job", device->job ? id : NULL);
        dt_tree_put_int(row, "gen", (int64_t)device->gen);
    }
}

struct dt_tree *dt_api_node_tree(const struct dt_node *node, int64_t now_ms)
{
    const struct dt_inventory *has = &node->inventory;
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *list;

    dt_tree_put_str(tree, "name", node->name);
    dt_tree_put_str(tree, "state", dt_node_state_name(node->state));
    dt_tree_put_str(tree, "wish", dt_node_state_name(node->wish));
    dt_tree_put_str(tree, "reason", node->reason[0] ? node->reason : NULL);
    dt_tree_put_str(tree, "host", has->host);
    dt_tree_put_str(tree, "version", has->version);
    dt_tree_put_str(tree, "boot_id", has->boot_id);
    dt_tree_put_str(tree, "user", has->user);
    dt_tree_put_int(tree, "cpus", has->cpus);
    dt_tree_put_int(tree, "memory_bytes", has->memory_bytes);
    list = dt_tree_put_new(tree, "addresses", DT_TREE_LIST);
    for (size_t i = 0; i < has->addr_job_count; i++)
        dt_tree_put_str(list, NULL, has->addr_job[i]);
    put_counts(tree, "slots", has, "cpu");
    put_counts(tree, "gpus", has, "gpu");
    put_devices(tree, has);
    dt_tree_put_int(tree, "heard_ms_ago", node->heard_ms ? now_ms - node->heard_ms : -1);
    return tree;
}

struct dt_tree *dt_api_problem_tree(const struct dt_err *err, const struct dt_problems *problems)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(tree, "type", "about:blank");
    dt_tree_put_str(tree, "title", dt_code_help(err->code));
    dt_tree_put_int(tree, "status", dt_code_http(err->code));
    dt_tree_put_str(tree, "code", dt_code_name(err->code));
    dt_tree_put_str(tree, "detail", err->text);
    dt_tree_put_str(tree, "hint", err->hint[0] ? err->hint : NULL);
    if (problems)
        dt_tree_add(tree, "errors", dt_problems_tree(problems, NULL));
    return tree;
}
