/* A second look at ownership: recomputed from the jobs, compared with the devices. */
#include <string.h>

#include "core_state.h"

/* Its members must hold devices now. */
static bool holds(const struct dt_job *job)
{
    return !dt_job_is_terminal(job->state) && job->state != DT_JOB_PENDING &&
           job->state != DT_JOB_HELD;
}

static size_t device_count(const struct dt_node *node, uint64_t job, const char *id)
{
    size_t count = 0;

    for (size_t i = 0; i < node->inventory.devices_count; i++)
        count += node->inventory.devices[i].job == job &&
                 strcmp(node->inventory.devices[i].id, id) == 0;
    return count;
}

static enum dt_code check_member(const struct dt_core *core, const struct dt_job *job,
                                 const struct dt_member *member, size_t *held, struct dt_err *err)
{
    const struct dt_node *node = dt_core_node(core, member->node);

    if (!node || !node->inventory.devices_count)
        return DT_OK; /* not heard yet in this epoch */
    for (size_t i = 0; i < member->devices_count; i++) {
        if (device_count(node, job->id, member->devices[i]) != 1)
            return dt_fail(err, DT_INTERNAL, "job %llu should own %s on %s and does not",
                           (unsigned long long)job->id, member->devices[i], member->node);
        (*held)++;
    }
    return DT_OK;
}

static enum dt_code check_job(const struct dt_core *core, const struct dt_job *job, size_t *held,
                              struct dt_err *err)
{
    enum dt_code code = DT_OK;

    for (size_t i = 0; i < job->members_count && holds(job) && !code; i++)
        code = check_member(core, job, &job->members[i], held, err);
    for (size_t i = 0; i < job->held_count && !code; i++)
        code = check_member(core, job, &job->held[i], held, err);
    return code;
}

enum dt_code dt_core_audit(const struct dt_core *core, struct dt_err *err)
{
    size_t expected = 0, owned = 0;
    enum dt_code code = DT_OK;

    for (size_t i = 0; i < core->jobs.count && !code; i++)
        code = check_job(core, core->jobs.items[i].value, &expected, err);
    if (code)
        return code;
    for (size_t i = 0; i < core->nodes.count; i++)
        for (size_t j = 0; j < core->node_list[i]->inventory.devices_count; j++)
            owned += core->node_list[i]->inventory.devices[j].job != 0;
    if (owned != expected)
        return dt_fail(err, DT_INTERNAL, "%zu devices have an owner, the jobs account for %zu",
                       owned, expected);
    return DT_OK;
}
