/* What users ask of jobs: submit, cancel; and the limits that end them. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"
#include "dt/base/units.h"

static bool is_fleet_known(const struct dt_core *core)
{
    for (size_t i = 0; i < core->nodes.count; i++) {
        const struct dt_node *node = core->nodes.items[i].value;

        if (!node->inventory.devices_count)
            return false;
    }
    return core->nodes.count > 0;
}

static enum dt_code check_fits(struct dt_core *core, const struct dt_job *draft,
                               struct dt_err *err)
{
    struct dt_want want = dt_want_from_job(draft);
    struct dt_placement placement = {0};
    struct dt_shortage why = {0};
    enum dt_code code;

    if (!is_fleet_known(core))
        return DT_OK; /* it waits for nodes */
    code = dt_place_gang(core->node_list, core->nodes.count, &want, &placement, &why);
    dt_placement_release(&placement);
    if (code != DT_INVALID)
        return DT_OK;
    dt_fail(err, DT_INVALID, "this job can never run here: %s", why.text);
    dt_hint(err, "lower resources.nodes or ranks_per_node, or add nodes; dtctl nodes shows them");
    return DT_INVALID;
}

/* Would the next pass start it? For who would rather not wait. */
static enum dt_code check_possible(const struct dt_core *core, const struct dt_job *draft,
                                   struct dt_err *err)
{
    struct dt_want want = dt_want_from_job(draft);
    struct dt_placement placement = {0};
    struct dt_shortage why = {0};
    const struct dt_job *ahead;
    const char *code = NULL;
    char id[24];
    int jobs;

    if (!core_job_may_start(core, draft, &code)) {
        dt_fail(err, DT_BUSY, "cannot start now: %s",
                strcmp(code, "begin-time") == 0 ? "its begin time has not come"
                                                : "a job it comes after has not ended so");
    } else if ((ahead = core_job_ahead(core, pending_key(draft), &jobs))) {
        dt_job_id_format(ahead->id, id, sizeof(id));
        dt_fail(err, DT_BUSY, "cannot start now: %s (%.60s) is ahead in the queue", id,
                ahead->spec->name);
    } else if (dt_place_gang(core->node_list, core->nodes.count, &want, &placement, &why)) {
        dt_fail(err, DT_BUSY, "cannot start now: %s",
                core->nodes.count ? why.text : "no node has joined this cluster yet");
    } else {
        dt_placement_release(&placement);
        return DT_OK;
    }
    dt_hint(err, "nothing was submitted; without --if-possible it would wait");
    return DT_BUSY;
}

/* Fill a path: as written when absolute, else below base. */
static void path_fill(char *text, size_t size, const char *written, const char *base,
                      const char *otherwise)
{
    if (written && written[0] == '/')
        snprintf(text, size, "%s", written);
    else
        snprintf(text, size, "%.300s/%.200s", base, written ? written : otherwise);
}

static struct dt_job *job_draft(struct dt_core *core, const struct dt_event *event, uint64_t id)
{
    struct dt_job *job = dt_alloc(1, sizeof(*job));
    const struct dt_spec *spec = event->spec;
    const char *workdir;
    char otherwise[64], word[24];

    job->id = id;
    job->state = DT_JOB_PENDING;
    job->owner.uid = event->caller.uid;
    job->owner.gid = event->caller.gid;
    snprintf(job->owner.name, sizeof(job->owner.name), "%s", event->caller.name);
    snprintf(job->submit_dir, sizeof(job->submit_dir), "%s",
             event->submit_dir ? event->submit_dir : "/");
    workdir = spec->workdir ? spec->workdir : job->submit_dir;
    dt_job_id_format(id, word, sizeof(word));
    snprintf(otherwise, sizeof(otherwise), "dt-out/%s", word);
    path_fill(job->output_dir, sizeof(job->output_dir), spec->output_dir, workdir, otherwise);
    path_fill(job->checkpoint_dir, sizeof(job->checkpoint_dir), spec->checkpoint_dir,
              spec->checkpoint_dir ? workdir : job->output_dir, "ckpt");
    job->submitted_ms = job->state_since_ms = core->now_ms;
    job->submitted_wall_ms = job->state_since_wall_ms = core->wall_ms;
    snprintf(job->req_id, sizeof(job->req_id), "%s", event->req_id);
    job->req_first = core->job_next;
    job->req_count = event->count;
    job->result.rank = -1;
    job->progress.step = job->progress.checkpoint_step = -1;
    return job;
}

/* The specification of one more copy; the event's own goes to the first job. */
static struct dt_spec *spec_for(struct dt_event *event, int copy)
{
    struct dt_spec *spec;
    struct dt_problems problems = {0};
    enum dt_code code;

    if (copy == event->count - 1) {
        spec = event->spec;
        event->spec = NULL;
        return spec;
    }
    spec = dt_alloc(1, sizeof(*spec));
    code = dt_spec_parse(event->spec->resolved, spec, &problems);
    assert(code == DT_OK); /* a resolved specification is valid */
    (void)code;
    dt_problems_release(&problems);
    return spec;
}

void core_submit(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    struct dt_err err = {0};
    uint64_t first = core->job_next, earlier;
    struct dt_job *draft;
    int count;

    assert(event->spec && event->count >= 1);
    if (event->req_id[0] &&
        (earlier = dt_core_request(core, event->caller.uid, event->req_id, &count))) {
        core_reply(outcome, event, earlier, count);
        return;
    }
    draft = job_draft(core, event, first);
    draft->spec = event->spec;
    if (event->is_if_possible ? check_possible(core, draft, &err)
                              : check_fits(core, draft, &err)) {
        core_refuse(outcome, event, &err);
        dt_job_free(draft, false);
        return;
    }
    dt_job_free(draft, false);
    for (int copy = 0; copy < event->count; copy++) {
        bool is_last = copy == event->count - 1;

        draft = job_draft(core, event, first + (uint64_t)copy);
        draft->req_first = first;
        draft->source = is_last ? event->source : dt_copy_text(event->source);
        draft->spec = spec_for(event, copy);
        if (is_last)
            event->source = NULL;
        core_job_put(core, outcome, draft, "submitted", draft->spec->name);
    }
    core_reply(outcome, event, first, event->count);
}

static void cancel_now(struct dt_core *core, struct dt_job *job, const struct dt_event *event,
                       struct dt_outcome *outcome)
{
    struct dt_job *draft = dt_job_copy(job);
    int64_t grace_ms = event->grace_ms >= 0 ? event->grace_ms : job->spec->grace_ms;
    char text[128];

    snprintf(text, sizeof(text), "cancelled by %.64s", event->caller.name);
    snprintf(draft->result.cause, sizeof(draft->result.cause), "cancel");
    snprintf(draft->result.reason, sizeof(draft->result.reason), "%s", text);
    core_job_move(core, draft, DT_ON_CANCEL);
    if (draft->state == DT_JOB_STOPPING)
        draft->stop_deadline_ms = core->now_ms + grace_ms;
    job = core_job_put(core, outcome, draft, "cancel", text);
    if (job->state != DT_JOB_STOPPING)
        return;
    core_stop_members(core, job, grace_ms, text, outcome);
    core_gen_check(core, job, outcome);
}

void core_cancel(struct dt_core *core, struct dt_event *event, struct dt_outcome *outcome)
{
    struct dt_job *job = dt_set_get(&core->jobs, event->job);
    struct dt_err err = {0};

    if (!job) {
        dt_fail(&err, DT_NOT_FOUND, "there is no job %llu", (unsigned long long)event->job);
    } else if (!event->caller.is_operator && event->caller.uid != job->owner.uid) {
        dt_fail(&err, DT_DENIED, "the job belongs to %s", job->owner.name);
    } else if (dt_job_is_terminal(job->state) && job->state != DT_JOB_CANCELLED) {
        dt_fail(&err, DT_CONFLICT, "the job has already %s", dt_job_state_name(job->state));
    }
    if (err.code) {
        core_refuse(outcome, event, &err);
        return;
    }
    if (job->state == DT_JOB_STOPPING) /* a shorter grace may hurry it */
        core_stop_members(core, job, event->grace_ms >= 0 ? event->grace_ms : 0, "cancel again",
                          outcome);
    else if (job->state != DT_JOB_CANCELLED)
        cancel_now(core, job, event, outcome);
    core_reply(outcome, event, event->job, 1);
}

static void time_limit(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft = dt_job_copy(job);

    snprintf(draft->result.cause, sizeof(draft->result.cause), "time-limit");
    snprintf(draft->result.reason, sizeof(draft->result.reason), "limits.time passed");
    core_job_move(core, draft, DT_ON_TIME_LIMIT);
    draft->stop_deadline_ms = core->now_ms + job->spec->grace_ms;
    job = core_job_put(core, outcome, draft, "time-limit", "limits.time passed");
    core_stop_members(core, job, job->spec->grace_ms, "limits.time passed", outcome);
    core_gen_check(core, job, outcome);
}

static void start_overdue(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_result result = {.cause = "launch", .rank = -1};

    for (size_t i = 0; i < job->members_count; i++)
        if (job->is_go_sent ? !job->members[i].is_up : !job->members[i].is_prepared)
            snprintf(result.node, sizeof(result.node), "%s", job->members[i].node);
    snprintf(result.reason, sizeof(result.reason), "node %.64s did not %s within %d s",
             result.node, job->is_go_sent ? "start its ranks" : "prepare", START_MS_MAX / 1000);
    core_fail_gen(core, job, &result, outcome);
}

/* Has a job that told of progress in this generation stood still for longer than it may? While a
 * node of it is not heard nobody can tell. */
static bool is_hanging(const struct dt_core *core, const struct dt_job *job)
{
    int64_t since = job->progress_ms > core->listening_ms ? job->progress_ms : core->listening_ms;

    if (job->state != DT_JOB_RUNNING || !job->spec->hang_timeout_ms || !job->progress_ms ||
        core->now_ms - since < job->spec->hang_timeout_ms)
        return false;
    for (size_t i = 0; i < job->members_count; i++) {
        const struct dt_node *node = dt_dict_get(&core->nodes, job->members[i].node);

        if (!node || node->state == DT_NODE_SILENT || node->state == DT_NODE_DOWN ||
            node->state == DT_NODE_JOINING)
            return false;
    }
    return true;
}

static void hang(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_result result = {.cause = "hang", .rank = -1};
    char wait[32];

    dt_format_duration(job->spec->hang_timeout_ms, wait, sizeof(wait));
    snprintf(result.reason, sizeof(result.reason),
             "no progress for %s after step %lld (health.hang_timeout)", wait,
             (long long)job->progress.step);
    core_fail_gen(core, job, &result, outcome);
}

/* Jobs by a copy of their ids: deciding about one changes the set. */
static void each_job(struct dt_core *core, const struct dt_set *set, struct dt_outcome *outcome,
                     void (*visit)(struct dt_core *core, struct dt_job *job,
                                   struct dt_outcome *outcome))
{
    uint64_t *ids = dt_alloc(set->count, sizeof(uint64_t));
    size_t count = set->count;

    for (size_t i = 0; i < count; i++)
        ids[i] = ((const struct dt_job *)set->items[i].value)->id;
    for (size_t i = 0; i < count; i++) {
        struct dt_job *job = dt_set_get(&core->jobs, ids[i]);

        if (job)
            visit(core, job, outcome);
    }
    dt_free(ids);
}

static void active_limits(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    bool is_going = job->state == DT_JOB_STARTING || job->state == DT_JOB_RUNNING ||
                    job->state == DT_JOB_RECOVERING;

    if (is_going && job->spec->time_ms && job->started_ms &&
        core->now_ms - job->started_ms >= job->spec->time_ms)
        time_limit(core, job, outcome);
    else if (job->state == DT_JOB_STARTING &&
             core->now_ms - job->state_since_ms >= START_MS_MAX &&
             core->now_ms - core->listening_ms >= START_MS_MAX)
        start_overdue(core, job, outcome);
    else if (is_hanging(core, job))
        hang(core, job, outcome);
}

static void pending_limits(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft;

    if (!job->spec->queue_time_ms || job->gen ||
        core->now_ms - job->submitted_ms < job->spec->queue_time_ms)
        return;
    draft = dt_job_copy(job);
    snprintf(draft->result.cause, sizeof(draft->result.cause), "queue-time");
    snprintf(draft->result.reason, sizeof(draft->result.reason), "limits.queue_time passed");
    core_job_move(core, draft, DT_ON_EXPIRE);
    core_job_put(core, outcome, draft, "expired", "limits.queue_time passed");
}

void core_job_limits(struct dt_core *core, struct dt_outcome *outcome)
{
    each_job(core, &core->active, outcome, active_limits);
    each_job(core, &core->pending, outcome, pending_limits);
}
