/* Why a job is where it is: the object of job.md section 10, from the real decision. */
#include <stdio.h>
#include <string.h>

#include "core_state.h"
#include "dt/base/units.h"

static void put_instant(struct dt_tree *map, const char *key, int64_t wall_ms)
{
    char text[40];

    dt_format_instant(wall_ms, text, sizeof(text));
    dt_tree_put_str(map, key, text);
}

static void blocker(struct dt_tree *why, const char *code, const char *text)
{
    struct dt_tree *row = dt_tree_put_new(dt_tree_get(why, "blockers"), NULL, DT_TREE_MAP);

    dt_tree_put_str(row, "code", code);
    dt_tree_put_str(row, "text", text);
    if (dt_tree_get(why, "primary")->kind == DT_TREE_NULL)
        dt_tree_put_str(why, "primary", code);
}

static void put_ahead(const struct dt_core *core, const struct dt_job *job, struct dt_tree *why)
{
    struct dt_tree *ahead = dt_tree_put_new(why, "ahead", DT_TREE_MAP);
    int jobs;
    const struct dt_job *blocking = core_job_ahead(core, pending_key(job), &jobs);
    char text[160], id[24];

    dt_tree_put_int(ahead, "jobs", jobs);
    if (!blocking)
        return;
    dt_job_id_format(blocking->id, id, sizeof(id));
    snprintf(text, sizeof(text), "%s (%.60s) is ahead in the queue and waits for room", id,
             blocking->spec->name);
    blocker(why, "priority", text);
}

static void put_shortage(const struct dt_core *core, const struct dt_job *job,
                         struct dt_tree *why)
{
    struct dt_want want = dt_want_from_job(job);
    struct dt_placement placement = {0};
    struct dt_shortage shortage = {0};
    struct dt_tree *funnel = dt_tree_get(why, "funnel");

    want.avoid_count = 0;
    if (!core->nodes.count) {
        blocker(why, "node-unavailable", "no node has joined this cluster yet");
        return;
    }
    if (dt_place_gang(core->node_list, core->nodes.count, &want, &placement, &shortage)) {
        for (size_t i = 0; i < shortage.funnel_count; i++) {
            struct dt_tree *row = dt_tree_put_new(funnel, NULL, DT_TREE_MAP);

            dt_tree_put_str(row, "step", shortage.funnel[i].step);
            dt_tree_put_int(row, "nodes", shortage.funnel[i].nodes);
        }
        blocker(why, shortage.code, shortage.text);
    }
    dt_placement_release(&placement);
}

static void why_pending(const struct dt_core *core, const struct dt_job *job, struct dt_tree *why)
{
    char text[200], wait[32];
    const char *code = NULL;

    if (!core_job_may_start(core, job, &code)) {
        dt_format_duration(job->not_before_ms - core->now_ms, wait, sizeof(wait));
        if (strcmp(code, "backoff") == 0)
            snprintf(text, sizeof(text), "restart %d waits another %s", job->restarts.total, wait);
        else
            snprintf(text, sizeof(text), "%s",
                     strcmp(code, "dependency") == 0 ? "a job it comes after has not ended yet"
                     : strcmp(code, "begin-time") == 0
                         ? "its begin time has not come"
                         : "a job it comes after ended otherwise or does not exist");
        blocker(why, code, text);
    }
    put_shortage(core, job, why);
    put_ahead(core, job, why);
    if (dt_tree_get(why, "primary")->kind == DT_TREE_NULL)
        blocker(why, "not-evaluated-yet", "the next pass will try it");
}

static void why_active(const struct dt_job *job, struct dt_tree *why)
{
    struct dt_tree *waits = dt_tree_put_new(why, "waits_for", DT_TREE_LIST);

    for (size_t i = 0; i < job->members_count; i++) {
        const struct dt_member *member = &job->members[i];
        char text[160];

        if (job->state == DT_JOB_STARTING && !member->is_up)
            snprintf(text, sizeof(text), "node %.64s has not %s yet", member->node,
                     member->is_prepared ? "started its ranks" : "prepared");
        else if ((job->state == DT_JOB_RECOVERING || job->state == DT_JOB_STOPPING) &&
                 !member->is_gone)
            snprintf(text, sizeof(text), "node %.64s has not proven its ranks gone", member->node);
        else
            continue;
        dt_tree_put_str(waits, NULL, text);
    }
}

struct dt_tree *dt_core_why(const struct dt_core *core, uint64_t id, int64_t now_ms)
{
    const struct dt_job *job = dt_core_job(core, id);
    struct dt_tree *why;
    char text[24];

    (void)now_ms;
    if (!job)
        return NULL;
    why = dt_tree_make(DT_TREE_MAP);
    dt_tree_put_int(why, "schema_version", 1);
    dt_job_id_format(id, text, sizeof(text));
    dt_tree_put_str(why, "job", text);
    dt_tree_put_str(why, "state", dt_job_state_name(job->state));
    put_instant(why, "since", job->state_since_wall_ms);
    dt_tree_put_str(why, "primary", NULL);
    dt_tree_put_new(why, "funnel", DT_TREE_LIST);
    dt_tree_put_new(why, "blockers", DT_TREE_LIST);
    if (job->state == DT_JOB_PENDING)
        why_pending(core, job, why);
    else if (!dt_job_is_terminal(job->state))
        why_active(job, why);
    if (job->result.reason[0])
        dt_tree_put_str(why, "last_failure", job->result.reason);
    if (job->result.excerpt[0])
        dt_tree_put_str(why, "excerpt", job->result.excerpt);
    put_instant(why, "evaluated_at", core->wall_ms);
    return why;
}
