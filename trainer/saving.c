/* When to save, and what to do when that fails. */
#include "saving.h"

#include "clock.h"

#include <math.h>
#include <stdio.h>

#define RETRY_FIRST_S 10.0
#define RETRY_MOST_S 300.0
#define AUTO_LEAST_S 60.0
#define AUTO_MOST_S 1800.0
#define NODE_DAYS_PER_FAILURE (1000.0 / 6.5) /* as published for a large research cluster */

void saving_open(struct saving *saving, const struct save *save, struct checkpoints *all,
                 struct report *report, int nnodes)
{
    *saving = (struct saving){.all = all, .report = report, .save = *save, .nnodes = nnodes,
                              .last_s = clock_seconds(), .last_step = -1};
    saving->save.all = all;
}

/*
 * checkpoint.every auto: Young's interval sqrt(2 C M), from the measured cost C of a save and a
 * mean time between failures M of 154 days over the number of nodes; within 1 to 30 minutes, and 1
 * minute until a save was measured.
 */
static double auto_interval(const struct saving *saving)
{
    double between = NODE_DAYS_PER_FAILURE * 86400.0 / saving->nnodes;
    double interval = sqrt(2.0 * saving->cost_s * between);

    if (saving->cost_s <= 0 || interval < AUTO_LEAST_S)
        return AUTO_LEAST_S;
    return interval < AUTO_MOST_S ? interval : AUTO_MOST_S;
}

bool saving_is_due(const struct saving *saving, int64_t step)
{
    const struct config *config = saving->save.config;
    double now = clock_seconds(), interval;

    if (!saving->all)
        return false;
    if (saving->retry_s > 0)
        return now >= saving->retry_s;
    if (config->save_steps)
        return step % config->save_steps == 0;
    interval = config->save_ms ? (double)config->save_ms * 1e-3 : auto_interval(saving);
    return now - saving->last_s >= interval;
}

static void on_failure(struct saving *saving, int64_t step, const struct dt_err *err)
{
    char text[1024];

    saving->retry_wait_s = saving->retry_wait_s > 0 ? 2 * saving->retry_wait_s : RETRY_FIRST_S;
    if (saving->retry_wait_s > RETRY_MOST_S)
        saving->retry_wait_s = RETRY_MOST_S;
    saving->retry_s = clock_seconds() + saving->retry_wait_s;
    snprintf(text, sizeof(text), "step %lld is not saved, training goes on, next try in %.0f s: "
             "%s", (long long)step, saving->retry_wait_s, err->text);
    report_alarm(saving->report, step, "save-failed", text);
}

enum dt_code saving_run(struct saving *saving, int64_t step, struct dt_err *err)
{
    const struct config *config = saving->save.config;
    double begin = clock_seconds();
    char path[4200];
    enum dt_code code;

    if (!saving->all || saving->last_step == step)
        return DT_OK;
    report_phase(saving->report, DT_PHASE_SAVE);
    saving->save.step = step;
    code = save_write(&saving->save, path, err);
    saving->last_s = clock_seconds();
    if (code == DT_STALE)
        return code;
    if (code) {
        on_failure(saving, step, err);
        report_phase(saving->report, DT_PHASE_STEP);
        return DT_IO;
    }
    saving->cost_s = saving->last_s - begin;
    saving->retry_s = saving->retry_wait_s = 0;
    saving->last_step = step;
    saving->save.parent = (struct dt_step_at){step, saving->all->gen};
    checkpoints_add(saving->all, step);
    report_checkpoint(saving->report, step, path, saving->cost_s);
    checkpoints_prune(saving->all, config->keep_last, config->keep_every);
    report_phase(saving->report, DT_PHASE_STEP);
    return DT_OK;
}
