/* The life of a job as a table. */
#include "dt/core/job.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const state_names[DT_JOB_STATE_COUNT] = {
    [DT_JOB_PENDING] = "pending",       [DT_JOB_HELD] = "held",
    [DT_JOB_STARTING] = "starting",     [DT_JOB_RUNNING] = "running",
    [DT_JOB_RECOVERING] = "recovering", [DT_JOB_STOPPING] = "stopping",
    [DT_JOB_PREEMPTING] = "preempting", [DT_JOB_SUCCEEDED] = "succeeded",
    [DT_JOB_FAILED] = "failed",         [DT_JOB_CANCELLED] = "cancelled",
    [DT_JOB_EXPIRED] = "expired",
};

static const char *const on_names[DT_JOB_ON_COUNT] = {
    [DT_ON_PLACED] = "a gang was placed",
    [DT_ON_UP] = "every rank is up",
    [DT_ON_FAILED_GEN] = "a rank, node or launch failed",
    [DT_ON_FINISHED_GEN] = "every rank ended well, every node is empty",
    [DT_ON_RESTART] = "the failed generation is gone, a restart is due",
    [DT_ON_GIVE_UP] = "the failed generation is gone, no restart is due",
    [DT_ON_CANCEL] = "cancel",
    [DT_ON_TIME_LIMIT] = "limits.time passed",
    [DT_ON_STOPPED] = "every node is empty",
    [DT_ON_EXPIRE] = "limits.queue_time passed",
    [DT_ON_HOLD] = "hold",
    [DT_ON_RELEASE] = "release",
};

static const struct {
    enum dt_job_state from;
    enum dt_job_on on;
    enum dt_job_state to;
} rows[] = {
    {DT_JOB_PENDING, DT_ON_PLACED, DT_JOB_STARTING},
    {DT_JOB_PENDING, DT_ON_CANCEL, DT_JOB_CANCELLED},
    {DT_JOB_PENDING, DT_ON_EXPIRE, DT_JOB_EXPIRED},
    {DT_JOB_PENDING, DT_ON_GIVE_UP, DT_JOB_FAILED},
    {DT_JOB_PENDING, DT_ON_HOLD, DT_JOB_HELD},
    {DT_JOB_HELD, DT_ON_RELEASE, DT_JOB_PENDING},
    {DT_JOB_HELD, DT_ON_CANCEL, DT_JOB_CANCELLED},
    {DT_JOB_STARTING, DT_ON_UP, DT_JOB_RUNNING},
    {DT_JOB_STARTING, DT_ON_FAILED_GEN, DT_JOB_RECOVERING},
    {DT_JOB_STARTING, DT_ON_FINISHED_GEN, DT_JOB_SUCCEEDED},
    {DT_JOB_STARTING, DT_ON_CANCEL, DT_JOB_STOPPING},
    {DT_JOB_STARTING, DT_ON_TIME_LIMIT, DT_JOB_STOPPING},
    {DT_JOB_RUNNING, DT_ON_FAILED_GEN, DT_JOB_RECOVERING},
    {DT_JOB_RUNNING, DT_ON_FINISHED_GEN, DT_JOB_SUCCEEDED},
    {DT_JOB_RUNNING, DT_ON_CANCEL, DT_JOB_STOPPING},
    {DT_JOB_RUNNING, DT_ON_TIME_LIMIT, DT_JOB_STOPPING},
    {DT_JOB_RECOVERING, DT_ON_RESTART, DT_JOB_PENDING},
    {DT_JOB_RECOVERING, DT_ON_GIVE_UP, DT_JOB_FAILED},
    {DT_JOB_RECOVERING, DT_ON_CANCEL, DT_JOB_STOPPING},
    {DT_JOB_RECOVERING, DT_ON_TIME_LIMIT, DT_JOB_STOPPING},
    {DT_JOB_STOPPING, DT_ON_STOPPED, DT_JOB_CANCELLED},
    {DT_JOB_STOPPING, DT_ON_GIVE_UP, DT_JOB_FAILED},
    {DT_JOB_PREEMPTING, DT_ON_RESTART, DT_JOB_PENDING},
    {DT_JOB_PREEMPTING, DT_ON_CANCEL, DT_JOB_STOPPING},
};

const char *dt_job_state_name(enum dt_job_state state)
{
    assert((unsigned)state < DT_JOB_STATE_COUNT);
    return state_names[state];
}

enum dt_job_state dt_job_state_from_name(const char *name)
{
    int state = 0;

    while (state < DT_JOB_STATE_COUNT && !dt_text_equal(state_names[state], name))
        state++;
    return (enum dt_job_state)state;
}

bool dt_job_is_terminal(enum dt_job_state state)
{
    return state == DT_JOB_SUCCEEDED || state == DT_JOB_FAILED || state == DT_JOB_CANCELLED ||
           state == DT_JOB_EXPIRED;
}

enum dt_job_state dt_job_next(enum dt_job_state state, enum dt_job_on on)
{
    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (rows[i].from == state && rows[i].on == on)
            return rows[i].to;
    return DT_JOB_STATE_COUNT;
}

void dt_job_states_doc(struct dt_buf *buf)
{
    dt_buf_text(buf, "# States of a job\n\nPrinted from the table in `lib/core/job.c`; what is not "
                     "listed is refused.\n\n| state | when | next |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < DT_COUNT(rows); i++)
        dt_buf_print(buf, "| %s | %s | %s |\n", state_names[rows[i].from], on_names[rows[i].on],
                     state_names[rows[i].to]);
    dt_buf_text(buf, "\nTerminal:");
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++)
        if (dt_job_is_terminal((enum dt_job_state)state))
            dt_buf_print(buf, " %s", state_names[state]);
    dt_buf_text(buf, ".\n");
}

void dt_job_id_format(uint64_t id, char *text, size_t size)
{
    snprintf(text, size, "j-%06llu", (unsigned long long)id);
}

uint64_t dt_job_id_parse(const char *text)
{
    uint64_t id = 0;

    if (!text || strncmp(text, "j-", 2) != 0)
        return 0;
    text += 2;
    if (strlen(text) < 6 || strlen(text) > 18 || (text[0] == '0' && strlen(text) > 6))
        return 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return 0;
        id = id * 10 + (uint64_t)(*text - '0');
    }
    return id;
}

struct dt_member *dt_members_copy(const struct dt_member *members, size_t count)
{
    struct dt_member *copy;

    if (!count)
        return NULL;
    copy = dt_alloc(count, sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = members[i];
        copy[i].devices = dt_alloc(members[i].devices_count, sizeof(*copy[i].devices));
        if (members[i].devices_count)
            memcpy(copy[i].devices, members[i].devices,
                   members[i].devices_count * sizeof(*copy[i].devices));
    }
    return copy;
}

void dt_members_free(struct dt_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dt_free(members[i].devices);
    dt_free(members);
}

struct dt_job *dt_job_copy(const struct dt_job *job)
{
    struct dt_job *copy = dt_alloc(1, sizeof(*copy));

    *copy = *job;
    copy->members = dt_members_copy(job->members, job->members_count);
    copy->held = dt_members_copy(job->held, job->held_count);
    return copy;
}

void dt_job_free(struct dt_job *job, bool owns_spec)
{
    if (!job)
        return;
    dt_members_free(job->members, job->members_count);
    dt_members_free(job->held, job->held_count);
    if (owns_spec) {
        if (job->spec)
            dt_spec_release(job->spec);
        dt_free(job->spec);
        dt_free(job->source);
    }
    dt_free(job);
}
