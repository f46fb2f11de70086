/* One generation from placed to proven gone. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

struct dt_member *core_member(struct dt_job *job, const char *node)
{
    for (size_t i = 0; i < job->members_count; i++)
        if (strcmp(job->members[i].node, node) == 0)
            return &job->members[i];
    return NULL;
}

static bool is_live(const struct dt_job *job)
{
    return job->state == DT_JOB_STARTING || job->state == DT_JOB_RUNNING;
}

void core_stop_members(struct dt_core *core, const struct dt_job *job, int64_t grace_ms,
                       const char *why, struct dt_outcome *outcome)
{
    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_gone)
            core_send(core, outcome, job->members[i].node,
                      launch_stop(job->id, job->gen, grace_ms, why));
}

void core_fail_gen(struct dt_core *core, struct dt_job *job, const struct dt_result *result,
                   struct dt_outcome *outcome)
{
    struct dt_job *draft;
    char what[32];

    if (!is_live(job))
        return;
    draft = dt_job_copy(job);
    draft->result = *result;
    snprintf(what, sizeof(what), "%s",
             strcmp(result->cause, "node_lost") == 0 ? "node-lost"
             : strcmp(result->cause, "launch") == 0  ? "launch-failed"
             : strcmp(result->cause, "hang") == 0    ? "hang"
                                                     : "rank-exit");
    core_job_move(core, draft, DT_ON_FAILED_GEN);
    job = core_job_put(core, outcome, draft, what, result->reason);
    core_stop_members(core, job, 0, result->reason, outcome);
}

static void forget_all(struct dt_core *core, const struct dt_job *job, bool is_final,
                       struct dt_outcome *outcome)
{
    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_lost)
            core_send(core, outcome, job->members[i].node,
                      launch_forget(job->id, job->gen, is_final));
}

/* Members on dead nodes keep their devices until proof, though the generation is over. */
static void keep_lost(struct dt_job *draft)
{
    for (size_t i = 0; i < draft->members_count; i++) {
        if (!draft->members[i].is_lost || draft->members[i].is_gone)
            continue;
        draft->held = dt_realloc(draft->held, draft->held_count + 1, sizeof(*draft->held));
        struct dt_member *copy = dt_members_copy(&draft->members[i], 1);
        draft->held[draft->held_count++] = *copy;
        dt_free(copy);
    }
}

static void suspect(struct dt_job *draft, const char *node)
{
    if (!node[0])
        return;
    for (size_t i = 0; i < draft->avoid_count; i++)
        if (strcmp(draft->avoid[i], node) == 0)
            return;
    if (draft->avoid_count == DT_COUNT(draft->avoid)) {
        memmove(draft->avoid[0], draft->avoid[1], sizeof(draft->avoid) - sizeof(draft->avoid[0]));
        draft->avoid_count--;
    }
    snprintf(draft->avoid[draft->avoid_count++], DT_NAME_BYTES_MAX, "%s", node);
}

/* The generation is gone; what follows is the ledger's word. */
static void gen_over_failed(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft = dt_job_copy(job);
    char text[512] = "";
    enum ledger_verdict verdict = ledger_decide(draft, core->now_ms, text, sizeof(text));

    keep_lost(draft);
    forget_all(core, job, verdict == LEDGER_FAIL, outcome);
    if (verdict == LEDGER_FAIL) {
        core_job_move(core, draft, DT_ON_GIVE_UP);
        core_job_put(core, outcome, draft, "failed", text);
    } else {
        if (verdict == LEDGER_ELSEWHERE)
            suspect(draft, draft->result.node);
        core_job_move(core, draft, DT_ON_RESTART);
        core_job_put(core, outcome, draft, "restart", text);
    }
}

static void gen_over_stopped(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft = dt_job_copy(job);
    bool is_cancel = strcmp(job->result.cause, "cancel") == 0;

    keep_lost(draft);
    forget_all(core, job, true, outcome);
    core_job_move(core, draft, is_cancel ? DT_ON_STOPPED : DT_ON_GIVE_UP);
    core_job_put(core, outcome, draft, is_cancel ? "cancelled" : "failed", draft->result.reason);
}

/* A node says that nothing is left of its ranks, and not every end of them was seen: its step
 * process died with them. */
static void fail_unseen(struct dt_core *core, struct dt_job *job, const struct dt_member *member,
                        const char *why, struct dt_outcome *outcome)
{
    struct dt_result result = {.cause = "node_lost", .rank = member->rank_first};

    snprintf(result.node, sizeof(result.node), "%s", member->node);
    snprintf(result.reason, sizeof(result.reason),
             "the ranks on node %.64s are gone%s%.150s", result.node, why[0] ? ": " : "",
             why[0] ? why : " and nobody saw how they ended");
    core_fail_gen(core, job, &result, outcome);
}

static void gen_over_live(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    uint64_t id = job->id; /* failing replaces the job */
    struct dt_job *draft;

    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_done) {
            fail_unseen(core, job, &job->members[i], "", outcome);
            core_gen_check(core, dt_set_get(&core->jobs, id), outcome);
            return;
        }
    draft = dt_job_copy(job);
    draft->result = (struct dt_result){.rank = -1};
    snprintf(draft->result.reason, sizeof(draft->result.reason), "every rank ended well");
    core_job_move(core, draft, DT_ON_FINISHED_GEN);
    forget_all(core, job, true, outcome);
    core_job_put(core, outcome, draft, "succeeded", draft->result.reason);
}

void core_gen_check(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    uint64_t id = job->id;

    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_gone && !job->members[i].is_lost)
            return;
    if (job->state == DT_JOB_RECOVERING)
        gen_over_failed(core, job, outcome);
    else if (job->state == DT_JOB_STOPPING)
        gen_over_stopped(core, job, outcome);
    else if (is_live(job))
        gen_over_live(core, job, outcome);
    else
        return;
    core->is_full_pass_due = true;
    job = dt_set_get(&core->jobs, id);
    for (size_t i = 0; i < job->members_count; i++)
        core_node_settle(core, job->members[i].node, outcome);
}

static bool is_bad_exit(const struct dt_rank_exit *end)
{
    return end->rank >= 0 && (end->code || end->signal || end->is_oom || end->is_incomplete);
}

/* Of several bad ends on one node the first is the cause; the others are its victims. */
static const struct dt_rank_exit *first_bad(const struct dt_gang_report *report)
{
    const struct dt_rank_exit *first = NULL;

    for (size_t i = 0; i < report->exits_count; i++) {
        const struct dt_rank_exit *end = &report->exits[i];

        if (is_bad_exit(end) && !end->is_stopped && (!first || end->at_ms < first->at_ms))
            first = end;
    }
    return first;
}

static void result_of_exit(const char *node, const struct dt_rank_exit *end,
                           struct dt_result *result)
{
    *result = (struct dt_result){.code = end->code, .signal = end->signal, .rank = end->rank};
    snprintf(result->cause, sizeof(result->cause), "%s",
             end->is_oom           ? "oom"
             : end->class_name[0]  ? end->class_name
             : end->signal         ? "signal"
                                   : "exit");
    snprintf(result->node, sizeof(result->node), "%s", node);
    snprintf(result->excerpt, sizeof(result->excerpt), "%s", end->excerpt);
    if (end->is_oom)
        snprintf(result->reason, sizeof(result->reason),
                 "rank %d on %.64s ran out of memory (resources.memory_per_node)", end->rank, node);
    else if (end->signal)
        snprintf(result->reason, sizeof(result->reason), "rank %d on %.64s was ended by signal %d",
                 end->rank, node, end->signal);
    else if (strcmp(result->cause, "launch") == 0 && end->excerpt[0])
        snprintf(result->reason, sizeof(result->reason), "rank %d on %.64s: %.160s", end->rank,
                 node, end->excerpt);
    else if (end->is_incomplete)
        snprintf(result->reason, sizeof(result->reason),
                 "rank %d on %.64s exited 0 too early: %.120s", end->rank, node, end->excerpt);
    else
        snprintf(result->reason, sizeof(result->reason), "rank %d on %.64s exited with status %d",
                 end->rank, node, end->code);
}

static void note_progress(struct dt_core *core, struct dt_job *job,
                          const struct dt_gang_report *report, struct dt_outcome *outcome)
{
    const struct dt_progress *news = &report->progress;
    struct dt_progress *known = &job->progress;
    bool is_new_checkpoint = news->checkpoint_step >= 0 &&
                             news->checkpoint_step != known->checkpoint_step &&
                             strcmp(news->checkpoint_path, known->checkpoint_path) != 0;

    /* of the nodes' steps the greatest counts; a new generation may begin at a lower one */
    if (news->step >= 0 && (news->step > known->step || !job->progress_ms)) {
        job->progress_ms = core->now_ms;
        known->step = news->step;
    }
    if (news->step == known->step && news->loss[0]) {
        known->tokens = news->tokens;
        known->step_us = news->step_us;
        memcpy(known->loss, news->loss, sizeof(known->loss));
    }
    if (news->phase[0])
        memcpy(known->phase, news->phase, sizeof(known->phase));
    if (is_new_checkpoint) {
        struct dt_job *draft = dt_job_copy(job);
        char text[512];

        draft->progress.checkpoint_step = news->checkpoint_step;
        memcpy(draft->progress.checkpoint_path, news->checkpoint_path,
               sizeof(draft->progress.checkpoint_path));
        snprintf(text, sizeof(text), "step %lld: %.400s", (long long)news->checkpoint_step,
                 news->checkpoint_path);
        core_job_put(core, outcome, draft, "checkpoint", text);
    }
}

static void all_prepared(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft;

    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_prepared)
            return;
    if (job->state != DT_JOB_STARTING || job->is_go_sent)
        return;
    draft = dt_job_copy(job);
    draft->is_go_sent = true;
    job = core_job_put(core, outcome, draft, "go", "every node is prepared");
    for (size_t i = 0; i < job->members_count; i++)
        core_send(core, outcome, job->members[i].node, launch_go(core, job));
}

static void all_up(struct dt_core *core, struct dt_job *job, struct dt_outcome *outcome)
{
    struct dt_job *draft;
    char text[96];

    if (job->state != DT_JOB_STARTING)
        return;
    for (size_t i = 0; i < job->members_count; i++)
        if (!job->members[i].is_up)
            return;
    draft = dt_job_copy(job);
    core_job_move(core, draft, DT_ON_UP);
    if (!draft->started_ms) {
        draft->started_ms = core->now_ms;
        draft->started_wall_ms = core->wall_ms;
    }
    snprintf(text, sizeof(text), "generation %llu: every rank is up",
             (unsigned long long)job->gen);
    core_job_put(core, outcome, draft, "running", text);
}

static void member_refused(struct dt_core *core, struct dt_job *job, struct dt_member *member,
                           const struct dt_gang_report *report, struct dt_outcome *outcome)
{
    struct dt_result result = {.cause = "launch", .rank = member->rank_first};

    member->is_gone = true;
    snprintf(result.node, sizeof(result.node), "%s", member->node);
    snprintf(result.reason, sizeof(result.reason), "node %.64s refused: %.180s", member->node,
             report->reason);
    core_fail_gen(core, job, &result, outcome);
}

/* Why nothing is left of a live generation, when no rank ended badly by itself. Ranks that were
 * stopped though nobody here asked for it: the node did so by itself. */
static const char *unseen_why(const struct dt_gang_report *report)
{
    if (report->reason[0])
        return report->reason;
    for (size_t i = 0; i < report->exits_count; i++)
        if (report->exits[i].is_stopped)
            return "stopped by their node, which had not heard the controller for too long "
                   "(on_control_loss) or was told to end";
    return "";
}

static void member_ended(struct dt_core *core, struct dt_job *job, const char *node,
                         const struct dt_gang_report *report, struct dt_outcome *outcome)
{
    const struct dt_rank_exit *bad = first_bad(report);
    struct dt_result result;
    uint64_t id = job->id;

    if (bad && is_live(job)) {
        result_of_exit(node, bad, &result);
        core_fail_gen(core, job, &result, outcome);
        job = dt_set_get(&core->jobs, id);
    }
    if (report->what == DT_REPORT_GONE || report->is_gone) {
        struct dt_member *member = core_member(job, node);
        int ended = 0;

        for (size_t i = 0; i < report->exits_count; i++)
            ended += report->exits[i].rank >= 0 && !is_bad_exit(&report->exits[i]);
        member->is_done = ended > 0 && ended == (int)report->exits_count;
        member->is_gone = true;
        if (!member->is_done && is_live(job)) /* the others must not wait for it for ever */
            fail_unseen(core, job, member, unseen_why(report), outcome);
    }
}

/* A generation that is no longer the job's: it must end, and its devices come free. */
static void old_report(struct dt_core *core, struct dt_job *job, const char *node,
                       const struct dt_gang_report *report, struct dt_outcome *outcome)
{
    bool is_gone = report->what == DT_REPORT_GONE || report->what == DT_REPORT_REFUSED ||
                   report->is_gone;

    if (!is_gone) {
        core_send(core, outcome, node,
                  launch_stop(report->job, report->gen, 0, "an older generation"));
        return;
    }
    for (size_t i = 0; job && i < job->held_count; i++) {
        struct dt_job *draft;

        if (job->held[i].gen != report->gen || strcmp(job->held[i].node, node) != 0)
            continue;
        draft = dt_job_copy(job);
        dt_free(draft->held[i].devices);
        memmove(&draft->held[i], &draft->held[i + 1],
                (draft->held_count - i - 1) * sizeof(*draft->held));
        draft->held_count--;
        job = core_job_put(core, outcome, draft, "released", node);
        core->is_full_pass_due = true;
        break;
    }
    core_send(core, outcome, node,
              launch_forget(report->job, report->gen, !job || dt_job_is_terminal(job->state)));
}

void core_report(struct dt_core *core, const char *node, const struct dt_gang_report *report,
                 struct dt_outcome *outcome)
{
    struct dt_job *job = dt_set_get(&core->jobs, report->job);
    struct dt_member *member = job ? core_member(job, node) : NULL;
    bool is_present = job && job->gen == report->gen && member && !dt_job_is_terminal(job->state) &&
                      job->state != DT_JOB_PENDING;

    if (report->what == DT_REPORT_PROGRESS) {
        if (is_present)
            note_progress(core, job, report, outcome);
        return;
    }
    if (!is_present) {
        old_report(core, job, node, report, outcome);
        return;
    }
    member->is_lost = false;
    if (report->what == DT_REPORT_PREPARED && !member->is_prepared) {
        member->is_prepared = true;
        member->master_port = report->master_port;
    }
    if (report->what == DT_REPORT_UP || report->is_up)
        member->is_prepared = member->is_up = true;
    if (report->what == DT_REPORT_REFUSED)
        member_refused(core, job, member, report, outcome);
    else if (report->what == DT_REPORT_EXIT || report->what == DT_REPORT_GONE || report->is_gone)
        member_ended(core, job, node, report, outcome);
    all_prepared(core, dt_set_get(&core->jobs, report->job), outcome);
    all_up(core, dt_set_get(&core->jobs, report->job), outcome);
    core_gen_check(core, dt_set_get(&core->jobs, report->job), outcome);
}
