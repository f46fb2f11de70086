/* What follows a failed generation: restart, elsewhere, or the end. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

static const struct dt_restart_rule *rule_of(const struct dt_spec *spec,
                                             const struct dt_result *result)
{
    for (size_t i = 0; i < spec->rules_count; i++) {
        const struct dt_restart_rule *rule = &spec->rules[i];
        bool is_code = rule->codes_count == 0;

        if (strcmp(rule->on, result->cause) != 0)
            continue;
        for (size_t j = 0; j < rule->codes_count; j++)
            is_code |= rule->codes[j] == (result->signal ? result->signal : result->code);
        if (is_code)
            return rule;
    }
    return NULL;
}

/* Jitter that replays: a hash of job and generation, 0..99. */
static int64_t jitter_percent(const struct dt_job *job)
{
    uint64_t x = job->id * 0x9e3779b97f4a7c15u ^ job->gen * 0xbf58476d1ce4e5b9u;

    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return (int64_t)((x >> 33) % 100);
}

/* The first restart is immediate; from the second without progress it waits, doubling. */
static int64_t backoff_ms(const struct dt_job *job)
{
    int64_t wait = job->spec->backoff_initial_ms;

    if (job->restarts.without_progress <= 1)
        return 0;
    for (int i = 2; i < job->restarts.without_progress && wait < job->spec->backoff_max_ms; i++)
        wait *= 2;
    if (wait > job->spec->backoff_max_ms)
        wait = job->spec->backoff_max_ms;
    return wait / 2 + wait * jitter_percent(job) / 200;
}

static void forget_old(struct dt_restarts *restarts, int64_t now_ms, int64_t window_ms)
{
    int kept = 0;

    for (int i = 0; i < restarts->counted; i++)
        if (now_ms - restarts->counted_ms[i] < window_ms)
            restarts->counted_ms[kept++] = restarts->counted_ms[i];
    restarts->counted = kept;
}

static void note_progress(struct dt_job *draft)
{
    struct dt_restarts *restarts = &draft->restarts;
    int64_t reached = draft->progress.checkpoint_step >= 0 ? draft->progress.checkpoint_step : 0;

    if (reached > restarts->last_step)
        restarts->without_progress = 0;
    restarts->last_step = reached > restarts->last_step ? reached : restarts->last_step;
    restarts->without_progress++;
}

enum ledger_verdict ledger_decide(struct dt_job *draft, int64_t now_ms, char *text, size_t size)
{
    const struct dt_restart_rule *rule = rule_of(draft->spec, &draft->result);
    struct dt_restarts *restarts = &draft->restarts;
    bool is_counted = !rule || rule->is_counted;
    bool is_elsewhere = (rule && strcmp(rule->action, "restart-elsewhere") == 0) ||
                        strcmp(draft->result.cause, "launch") == 0;

    forget_old(restarts, now_ms, draft->spec->restart_window_ms);
    if (rule && strcmp(rule->action, "fail") == 0) {
        snprintf(text, size, "%s; restart.rules say fail", draft->result.reason);
        return LEDGER_FAIL;
    }
    if (is_counted && restarts->counted >= draft->spec->restart_max) {
        snprintf(text, size, "%s; restart budget used up (%d within the window)",
                 draft->result.reason, restarts->counted);
        return LEDGER_FAIL;
    }
    note_progress(draft);
    if (is_counted && restarts->counted < (int)DT_COUNT(restarts->counted_ms))
        restarts->counted_ms[restarts->counted++] = now_ms;
    restarts->total++;
    draft->not_before_ms = now_ms + backoff_ms(draft);
    snprintf(text, size, "%s; restart %d%s%s", draft->result.reason, restarts->total,
             is_counted ? "" : ", not counted", is_elsewhere ? ", elsewhere" : "");
    return is_elsewhere ? LEDGER_ELSEWHERE : LEDGER_RESTART;
}
