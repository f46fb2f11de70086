/* A pass over the waiting jobs, oldest of the highest priority first. */
#include <stdio.h>
#include <string.h>

#include "core_state.h"

/* State of the job an `after` entry "job:on" names: 1 satisfied, 0 not yet, -1 never. */
static int dependency(const struct dt_core *core, const char *text)
{
    const char *colon = strrchr(text, ':');
    char name[64];
    const struct dt_job *job;
    bool is_ok;

    if (!colon)
        return -1;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    job = dt_core_job(core, dt_job_id_parse(name));
    if (!job)
        return -1;
    if (!dt_job_is_terminal(job->state))
        return 0;
    is_ok = job->state == DT_JOB_SUCCEEDED;
    if (strcmp(colon + 1, "any") == 0)
        return 1;
    return is_ok == (strcmp(colon + 1, "ok") == 0) ? 1 : -1;
}

bool core_job_may_start(const struct dt_core *core, const struct dt_job *job, const char **code)
{
    for (size_t i = 0; i < job->spec->after.count; i++) {
        int met = dependency(core, job->spec->after.item[i]);

        if (met > 0)
            continue;
        *code = met < 0 ? "dependency-failed" : "dependency";
        return false;
    }
    if (core->now_ms < job->not_before_ms) {
        *code = "backoff";
        return false;
    }
    if (job->spec->begin_ms && core->wall_ms < job->spec->begin_ms) {
        *code = "begin-time";
        return false;
    }
    return true;
}

const struct dt_job *core_job_ahead(const struct dt_core *core, uint64_t key, int *jobs)
{
    const struct dt_job *ahead = NULL;

    *jobs = 0;
    for (size_t i = 0; i < core->pending.count; i++) {
        const struct dt_job *other = core->pending.items[i].value;
        const char *code;

        if (pending_key(other) >= key)
            break;
        ++*jobs;
        if (!ahead && core_job_may_start(core, other, &code) &&
            strcmp(other->reason, "node-unavailable") != 0 &&
            strcmp(other->reason, "never-fits") != 0)
            ahead = other;
    }
    return ahead;
}

static void start(struct dt_core *core, const struct dt_job *job, struct dt_placement *placement,
                  struct dt_outcome *outcome)
{
    struct dt_job *draft = dt_job_copy(job);
    char text[160];

    dt_members_free(draft->members, draft->members_count);
    draft->members = placement->members;
    draft->members_count = placement->count;
    *placement = (struct dt_placement){0};
    draft->gen++;
    for (size_t i = 0; i < draft->members_count; i++)
        draft->members[i].gen = draft->gen;
    draft->is_go_sent = false;
    draft->not_before_ms = 0;
    draft->progress_ms = 0;
    draft->reason[0] = 0;
    core_job_move(core, draft, DT_ON_PLACED);
    snprintf(text, sizeof(text), "generation %llu on %zu node%s", (unsigned long long)draft->gen,
             draft->members_count, draft->members_count == 1 ? "" : "s");
    job = core_job_put(core, outcome, draft, "placed", text);
    for (size_t i = 0; i < job->members_count; i++)
        core_send(core, outcome, job->members[i].node,
                  launch_prepare(core, job, &job->members[i]));
}

enum tried { TRIED_STARTED, TRIED_SKIPPED, TRIED_BLOCKS };

static enum tried try_job(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_placement placement = {0};
    struct dt_shortage why = {0};
    struct dt_want want;
    const char *code = NULL;

    if (!core_job_may_start(core, job, &code)) {
        snprintf(job->reason, sizeof(job->reason), "%s", code);
        return TRIED_SKIPPED;
    }
    want = dt_want_from_job(job);
    if (dt_place_gang(core->node_list, core->nodes.count, &want, &placement, &why)) {
        if (job->avoid_count) { /* better a suspect node than none */
            want.avoid_count = 0;
            if (!dt_place_gang(core->node_list, core->nodes.count, &want, &placement, NULL)) {
                start(core, job, &placement, outcome);
                return TRIED_STARTED;
            }
        }
        snprintf(job->reason, sizeof(job->reason), "%s", why.code);
        /* a job that no node now up could hold must not stop the others */
        return strcmp(why.code, "resources") == 0 || strcmp(why.code, "topology") == 0
                   ? TRIED_BLOCKS
                   : TRIED_SKIPPED;
    }
    start(core, job, &placement, outcome);
    return TRIED_STARTED;
}

/* Does any open node have a free device? Without one no gang can start. */
static bool has_room(const struct dt_core *core)
{
    for (size_t i = 0; i < core->nodes.count; i++) {
        const struct dt_node *node = core->nodes.items[i].value;

        if (node->state != DT_NODE_UP)
            continue;
        for (size_t j = 0; j < node->inventory.devices_count; j++)
            if (!node->inventory.devices[j].job && !node->inventory.devices[j].is_unhealthy)
                return true;
    }
    return false;
}

/* Nothing is free: say so on the jobs that no pass has seen yet. */
static void mark_no_room(struct dt_core *core, size_t at)
{
    const char *code = "node-unavailable";

    for (size_t i = 0; i < core->nodes.count; i++)
        if (core->node_list[i]->state == DT_NODE_UP)
            code = "resources";
    for (; at < core->pending.count; at++) {
        struct dt_job *job = core->pending.items[at].value;

        if (!job->reason[0])
            snprintf(job->reason, sizeof(job->reason), "%s", code);
    }
}

/* Try the jobs in order until one does not fit; those behind it that are new wait for it. */
static void pass_from(struct dt_core *core, size_t at, size_t fresh, struct dt_outcome *outcome)
{
    while (at < core->pending.count && !core->is_head_blocked) {
        enum tried tried = try_job(core, core->pending.items[at].value, outcome);

        if (tried == TRIED_STARTED)
            fresh -= fresh > at; /* it left the set: the next one is at the same index */
        else
            at++;
        core->is_head_blocked = tried == TRIED_BLOCKS;
    }
    for (at = at > fresh ? at : fresh; at < core->pending.count; at++) {
        struct dt_job *job = core->pending.items[at].value;

        if (!job->reason[0])
            snprintf(job->reason, sizeof(job->reason), "priority");
    }
}

/* Room, a blocked head and what was tried hold from one pass to the next: only what is new needs a
 * look, unless something else has changed or a new job stands before one that was tried. */
void core_pass(struct dt_core *core, struct dt_outcome *outcome)
{
    size_t fresh = dt_set_seek(&core->pending, core->fresh_from);
    bool is_full = core->is_full_pass_due;
    const struct dt_job *last;

    core->fresh_from = UINT64_MAX;
    core->is_full_pass_due = false;
    if (!core->pending.count || (!is_full && fresh == core->pending.count))
        return;
    last = core->pending.items[core->pending.count - 1].value;
    is_full = is_full || last->reason[0];
    if (is_full)
        core->is_head_blocked = false;
    if (has_room(core))
        pass_from(core, is_full ? 0 : fresh, fresh, outcome);
    else
        mark_no_room(core, fresh);
}
