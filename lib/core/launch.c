/* The messages that start, stop and forget a generation (docs/protocol.md). */
#include <stdio.h>
#include <string.h>

#include "core_state.h"

static struct dt_tree *message(const char *type, uint64_t job, uint64_t gen)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(tree, "type", type);
    dt_tree_put_int(tree, "job", (int64_t)job);
    dt_tree_put_u64(tree, "gen", gen);
    return tree;
}

static void put_texts(struct dt_tree *map, const char *key, const struct dt_texts *texts)
{
    struct dt_tree *list = dt_tree_put_new(map, key, DT_TREE_LIST);

    for (size_t i = 0; i < texts->count; i++)
        dt_tree_put_str(list, NULL, texts->item[i]);
}

/* Node addresses as all members need them, in rank order. */
static void put_nodes(const struct dt_core *core, const struct dt_job *job, struct dt_tree *bundle)
{
    struct dt_tree *nodes = dt_tree_put_new(bundle, "nodes", DT_TREE_LIST);

    for (size_t i = 0; i < job->members_count; i++) {
        const struct dt_member *member = &job->members[i];
        const struct dt_node *node = dt_core_node(core, member->node);
        struct dt_tree *row = dt_tree_put_new(nodes, NULL, DT_TREE_MAP);

        dt_tree_put_str(row, "node", member->node);
        dt_tree_put_str(row, "host", node ? node->inventory.host : "");
        dt_tree_put_str(row, "addr",
                        node && node->inventory.addr_job_count ? node->inventory.addr_job[0]
                                                               : "127.0.0.1");
        dt_tree_put_int(row, "rank_first", member->rank_first);
        dt_tree_put_int(row, "ranks", member->ranks_count);
    }
}

static void put_ranks(const struct dt_member *member, struct dt_tree *bundle)
{
    struct dt_tree *ranks = dt_tree_put_new(bundle, "ranks", DT_TREE_LIST);
    size_t each = member->ranks_count ? member->devices_count / (size_t)member->ranks_count : 0;

    for (int local = 0; local < member->ranks_count; local++) {
        struct dt_tree *row = dt_tree_put_new(ranks, NULL, DT_TREE_MAP);
        struct dt_tree *devices;

        dt_tree_put_int(row, "rank", member->rank_first + local);
        dt_tree_put_int(row, "local_rank", local);
        devices = dt_tree_put_new(row, "devices", DT_TREE_LIST);
        for (size_t i = 0; i < each; i++)
            dt_tree_put_str(devices, NULL, member->devices[(size_t)local * each + i]);
    }
}

static void put_program(const struct dt_job *job, struct dt_tree *bundle)
{
    static const char *const kinds[] = {
        [DT_LAUNCH_MPI] = "mpi", [DT_LAUNCH_TORCH] = "torch", [DT_LAUNCH_NONE] = "none"};
    const struct dt_spec *spec = job->spec;

    dt_tree_put_str(bundle, "launch", kinds[spec->launch]);
    dt_tree_put_bool(bundle, "lean", spec->is_mpi_lean);
    dt_tree_put_bool(bundle, "trainer", spec->is_trainer);
    if (spec->command.count)
        put_texts(bundle, "command", &spec->command);
    if (spec->script)
        dt_tree_put_str(bundle, "script", spec->script);
    put_texts(bundle, "env", &spec->env);
    put_texts(bundle, "compat", &spec->compat);
    dt_tree_put_str(bundle, "workdir", spec->workdir ? spec->workdir : job->submit_dir);
    dt_tree_put_str(bundle, "output_dir", job->output_dir);
    dt_tree_put_str(bundle, "checkpoint_dir", job->checkpoint_dir);
    dt_tree_put_str(bundle, "resume", spec->resume ? spec->resume : "auto");
    if (spec->is_trainer)
        dt_tree_add(bundle, "spec", dt_tree_copy(spec->resolved));
}

/* The generation's secret is not here: core has no randomness, the shell adds it when it sends. */
static void put_limits(const struct dt_core *core, const struct dt_job *job,
                       struct dt_tree *bundle)
{
    const struct dt_spec *spec = job->spec;
    int64_t left_ms = spec->time_ms;

    if (spec->time_ms && job->started_ms)
        left_ms -= core->now_ms - job->started_ms;
    dt_tree_put_int(bundle, "memory_bytes", spec->memory_per_node);
    dt_tree_put_int(bundle, "log_bytes", spec->log_bytes);
    dt_tree_put_int(bundle, "grace_ms", spec->grace_ms);
    dt_tree_put_int(bundle, "cpus_per_rank", spec->cpus_per_rank);
    dt_tree_put_int(bundle, "control_loss_ms",
                    spec->control_loss == DT_CONTROL_STOP ? spec->control_loss_stop_ms : 0);
    dt_tree_put_int(bundle, "restarts", job->restarts.total);
    dt_tree_put_int(bundle, "restart_max", spec->restart_max);
    dt_tree_put_int(bundle, "deadline_wall_ms", spec->time_ms ? core->wall_ms + left_ms : 0);
}

struct dt_tree *launch_prepare(const struct dt_core *core, const struct dt_job *job,
                               const struct dt_member *member)
{
    struct dt_tree *tree = message("prepare", job->id, job->gen);
    struct dt_tree *bundle = dt_tree_put_new(tree, "bundle", DT_TREE_MAP);

    dt_tree_put_str(bundle, "cluster", core->cluster_id);
    dt_tree_put_int(bundle, "job", (int64_t)job->id);
    dt_tree_put_u64(bundle, "gen", job->gen);
    dt_tree_put_str(bundle, "name", job->spec->name);
    dt_tree_put_str(bundle, "user", job->owner.name);
    dt_tree_put_int(bundle, "uid", job->owner.uid);
    dt_tree_put_int(bundle, "gid", job->owner.gid);
    dt_tree_put_int(bundle, "node_rank", member - job->members);
    dt_tree_put_int(bundle, "world", (int64_t)job->members_count * job->spec->ranks_per_node);
    dt_tree_put_str(bundle, "device_kind", job->spec->gpus_per_node ? "gpu" : "cpu");
    put_nodes(core, job, bundle);
    put_ranks(member, bundle);
    put_program(job, bundle);
    put_limits(core, job, bundle);
    return tree;
}

struct dt_tree *launch_go(const struct dt_core *core, const struct dt_job *job)
{
    struct dt_tree *tree = message("go", job->id, job->gen);
    const struct dt_node *first = dt_core_node(core, job->members[0].node);

    dt_tree_put_str(tree, "master_addr",
                    first && first->inventory.addr_job_count ? first->inventory.addr_job[0]
                                                             : "127.0.0.1");
    dt_tree_put_int(tree, "master_port", job->members[0].master_port);
    return tree;
}

struct dt_tree *launch_stop(uint64_t job, uint64_t gen, int64_t grace_ms, const char *why)
{
    struct dt_tree *tree = message("stop", job, gen);

    dt_tree_put_int(tree, "grace_ms", grace_ms);
    dt_tree_put_str(tree, "why", why);
    return tree;
}

struct dt_tree *launch_forget(uint64_t job, uint64_t gen, bool is_final)
{
    struct dt_tree *tree = message("forget", job, gen);

    dt_tree_put_bool(tree, "is_final", is_final);
    return tree;
}
