/* The environment of a rank. */
#include "dt/core/rankenv.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/text.h"
#include "dt/base/units.h"
#include "dt/core/job.h"

/* Left by a launcher around the agent, they would make a rank believe it belongs there. */
static const char *const stripped[] = {
    "SLURM_", "OMPI_", "PMI", "PET_", "PRTE_", "DT_", "TORCHELASTIC_", "MASTER_", "RANK=",
    "LOCAL_RANK=", "WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=", "ROLE_", "SKYPILOT_",
    "XDG_RUNTIME_DIR=", "CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES="};

void dt_texts_release(struct dt_texts *texts)
{
    if (!texts)
        return;
    dt_names_free(texts->item, texts->count);
    *texts = (struct dt_texts){0};
}

static size_t env_find(const struct dt_texts *env, const char *name, size_t size)
{
    size_t at = 0;

    while (at < env->count &&
           (strncmp(env->item[at], name, size) != 0 || env->item[at][size] != '='))
        at++;
    return at;
}

static void env_put(struct dt_texts *env, const char *pair)
{
    size_t at = env_find(env, pair, strcspn(pair, "="));

    if (at < env->count) {
        dt_free(env->item[at]);
    } else {
        env->item = dt_realloc(env->item, env->count + 1, sizeof(char *));
        env->count++;
    }
    env->item[at] = dt_copy_text(pair);
}

void dt_env_set(struct dt_texts *env, const char *name, const char *value)
{
    struct dt_buf pair = {0};

    dt_buf_print(&pair, "%s=%s", name, value);
    env_put(env, dt_buf_str(&pair));
    dt_buf_release(&pair);
}

const char *dt_env_get(const struct dt_texts *env, const char *name)
{
    size_t at = env_find(env, name, strlen(name));

    return at < env->count ? strchr(env->item[at], '=') + 1 : NULL;
}

static void set_number(struct dt_texts *env, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    dt_env_set(env, name, text);
}

static void set_default(struct dt_texts *env, const char *name, const char *value)
{
    if (!dt_env_get(env, name))
        dt_env_set(env, name, value);
}

static void add_base(struct dt_texts *env, char *const *base)
{
    for (; base && *base; base++) {
        bool is_foreign = !strchr(*base, '=');

        for (size_t i = 0; i < DT_COUNT(stripped) && !is_foreign; i++)
            is_foreign = strncmp(*base, stripped[i], strlen(stripped[i])) == 0;
        if (!is_foreign)
            env_put(env, *base);
    }
}

void dt_rank_hostfile(const struct dt_tree *bundle, struct dt_buf *text)
{
    const struct dt_tree *nodes = dt_tree_get(bundle, "nodes");

    for (const struct dt_tree *row = nodes ? nodes->first : NULL; row; row = row->next)
        dt_buf_print(text, "%s slots=%lld\n", dt_tree_str(row, "addr", ""),
                     (long long)dt_tree_int(row, "ranks", 1));
}

/* Names of the nodes, folded. */
static void add_nodes(struct dt_texts *env, const struct dt_tree *bundle)
{
    const struct dt_tree *nodes = dt_tree_get(bundle, "nodes");
    const char **names = dt_alloc(nodes ? nodes->count : 0, sizeof(char *));
    struct dt_buf folded = {0};
    size_t count = 0;

    for (const struct dt_tree *row = nodes ? nodes->first : NULL; row; row = row->next)
        names[count++] = dt_tree_str(row, "node", "?");
    dt_hosts_fold(&folded, names, count);
    set_number(env, "DT_NNODES", (int64_t)count);
    dt_env_set(env, "DT_NODELIST", dt_buf_str(&folded));
    dt_buf_release(&folded);
    dt_free(names);
}

static void add_torch(struct dt_texts *env, const struct dt_tree *bundle,
                      const struct dt_tree *rank, const struct dt_rank_place *place)
{
    const struct dt_tree *ranks = dt_tree_get(bundle, "ranks");
    const struct dt_tree *nodes = dt_tree_get(bundle, "nodes");
    int64_t number = dt_tree_int(rank, "rank", 0), world = dt_tree_int(bundle, "world", 1);
    char id[24];

    set_number(env, "RANK", number);
    set_number(env, "LOCAL_RANK", dt_tree_int(rank, "local_rank", 0));
    set_number(env, "WORLD_SIZE", world);
    set_number(env, "LOCAL_WORLD_SIZE", ranks ? (int64_t)ranks->count : 1);
    set_number(env, "GROUP_RANK", dt_tree_int(bundle, "node_rank", 0));
    set_number(env, "GROUP_WORLD_SIZE", nodes ? (int64_t)nodes->count : 1);
    set_number(env, "ROLE_RANK", number);
    set_number(env, "ROLE_WORLD_SIZE", world);
    dt_env_set(env, "ROLE_NAME", "default");
    dt_env_set(env, "MASTER_ADDR", place->master_addr);
    set_number(env, "MASTER_PORT", place->master_port);
    set_number(env, "TORCHELASTIC_RESTART_COUNT", dt_tree_int(bundle, "restarts", 0));
    set_number(env, "TORCHELASTIC_MAX_RESTARTS", dt_tree_int(bundle, "restart_max", 0));
    dt_job_id_format((uint64_t)dt_tree_int(bundle, "job", 0), id, sizeof(id));
    dt_env_set(env, "TORCHELASTIC_RUN_ID", id);
    dt_env_set(env, "TORCHELASTIC_USE_AGENT_STORE", "False");
    if (place->error_file)
        dt_env_set(env, "TORCHELASTIC_ERROR_FILE", place->error_file);
    set_default(env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

static void add_dt(struct dt_texts *env, const struct dt_tree *bundle, const struct dt_tree *rank,
                   const struct dt_rank_place *place)
{
    bool is_gpu = strcmp(dt_tree_str(bundle, "device_kind", "cpu"), "gpu") == 0;
    const struct dt_tree *ranks = dt_tree_get(bundle, "ranks");
    int64_t deadline = dt_tree_int(bundle, "deadline_wall_ms", 0), gpus = 0;
    char text[40];

    for (const struct dt_tree *row = ranks ? ranks->first : NULL; row && is_gpu; row = row->next)
        gpus += (int64_t)dt_tree_get(row, "devices")->count;
    dt_job_id_format((uint64_t)dt_tree_int(bundle, "job", 0), text, sizeof(text));
    dt_env_set(env, "DT_JOB_ID", text);
    dt_env_set(env, "DT_JOB_NAME", dt_tree_str(bundle, "name", ""));
    dt_env_set(env, "DT_GENERATION", dt_tree_str(bundle, "gen", "1"));
    set_number(env, "DT_RANK", dt_tree_int(rank, "rank", 0));
    set_number(env, "DT_NODE_RANK", dt_tree_int(bundle, "node_rank", 0));
    set_number(env, "DT_GPUS_PER_NODE", gpus);
    dt_env_set(env, "DT_CHECKPOINT_DIR", dt_tree_str(bundle, "checkpoint_dir", ""));
    dt_env_set(env, "DT_OUTPUT_DIR", dt_tree_str(bundle, "output_dir", ""));
    if (place->metrics_socket)
        dt_env_set(env, "DT_METRICS_SOCKET", place->metrics_socket);
    dt_env_set(env, "DT_PREEMPT_SIGNAL", "SIGTERM"); /* what a stop with grace sends */
    if (place->hostfile)
        dt_env_set(env, "DT_HOSTFILE", place->hostfile);
    if (place->resume_from)
        dt_env_set(env, "DT_RESUME_FROM", place->resume_from);
    if (deadline) {
        dt_format_instant(deadline, text, sizeof(text));
        dt_env_set(env, "DT_DEADLINE", text);
    }
    if (place->cpus > 0) {
        snprintf(text, sizeof(text), "%d", place->cpus);
        set_default(env, "OMP_NUM_THREADS", text);
    }
    add_nodes(env, bundle);
}

static void join_devices(struct dt_buf *list, const struct dt_tree *row)
{
    const struct dt_tree *devices = dt_tree_get(row, "devices");

    for (const struct dt_tree *id = devices ? devices->first : NULL; id; id = id->next)
        dt_buf_print(list, "%s%s", list->size ? "," : "", id->text);
}

/* torch sees all GPUs of the node in LOCAL_RANK order, an MPI rank its own. */
static void add_devices(struct dt_texts *env, const struct dt_tree *bundle,
                        const struct dt_tree *rank)
{
    const struct dt_tree *ranks = dt_tree_get(bundle, "ranks");
    bool is_mpi = strcmp(dt_tree_str(bundle, "launch", ""), "mpi") == 0;
    struct dt_buf list = {0};

    if (strcmp(dt_tree_str(bundle, "device_kind", "cpu"), "gpu") != 0) {
        dt_env_set(env, "CUDA_VISIBLE_DEVICES", "");
        return;
    }
    if (is_mpi)
        join_devices(&list, rank);
    else
        for (const struct dt_tree *row = ranks ? ranks->first : NULL; row; row = row->next)
            join_devices(&list, row);
    dt_env_set(env, "CUDA_VISIBLE_DEVICES", dt_buf_str(&list));
    dt_env_set(env, "NVIDIA_VISIBLE_DEVICES", dt_buf_str(&list));
    dt_env_set(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    dt_buf_release(&list);
}

static bool is_compat(const struct dt_tree *bundle, const char *word)
{
    const struct dt_tree *list = dt_tree_get(bundle, "compat");

    for (const struct dt_tree *at = list ? list->first : NULL; at; at = at->next)
        if (at->kind == DT_TREE_STR && strcmp(at->text, word) == 0)
            return true;
    return false;
}

static void add_slurm(struct dt_texts *env)
{
    static const struct { const char *name, *from; } rows[] = {
        {"SLURM_PROCID", "RANK"}, {"SLURM_LOCALID", "LOCAL_RANK"}, {"SLURM_NODEID", "GROUP_RANK"},
        {"SLURM_NTASKS", "WORLD_SIZE"}, {"SLURM_NTASKS_PER_NODE", "LOCAL_WORLD_SIZE"},
        {"SLURM_JOB_NUM_NODES", "DT_NNODES"}, {"SLURM_JOB_NODELIST", "DT_NODELIST"},
        {"SLURM_STEP_NODELIST", "DT_NODELIST"}, {"SLURM_GPUS_ON_NODE", "DT_GPUS_PER_NODE"},
        {"SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"}, {"SLURM_SUBMIT_DIR", "PWD"},
        {"SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"}};
    const char *id = dt_env_get(env, "DT_JOB_ID");

    dt_env_set(env, "SLURM_JOB_ID", id + 2 + strspn(id + 2, "0"));
    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (dt_env_get(env, rows[i].from))
            dt_env_set(env, rows[i].name, dt_env_get(env, rows[i].from));
}

static void add_compat(struct dt_texts *env, const struct dt_tree *bundle)
{
    struct dt_buf text = {0};

    if (is_compat(bundle, "slurm"))
        add_slurm(env);
    if (is_compat(bundle, "sky")) {
        const struct dt_tree *nodes = dt_tree_get(bundle, "nodes");

        for (const struct dt_tree *row = nodes ? nodes->first : NULL; row; row = row->next)
            dt_buf_print(&text, "%s%s", text.size ? "\n" : "", dt_tree_str(row, "addr", ""));
        dt_env_set(env, "SKYPILOT_NODE_IPS", dt_buf_str(&text));
        dt_env_set(env, "SKYPILOT_NODE_RANK", dt_env_get(env, "DT_NODE_RANK"));
        dt_env_set(env, "SKYPILOT_NUM_NODES", dt_env_get(env, "DT_NNODES"));
        dt_env_set(env, "SKYPILOT_NUM_GPUS_PER_NODE", dt_env_get(env, "DT_GPUS_PER_NODE"));
    }
    if (is_compat(bundle, "kubeflow")) {
        dt_env_set(env, "PET_NNODES", dt_env_get(env, "DT_NNODES"));
        dt_env_set(env, "PET_NPROC_PER_NODE", dt_env_get(env, "LOCAL_WORLD_SIZE"));
        dt_env_set(env, "PET_NODE_RANK", dt_env_get(env, "DT_NODE_RANK"));
        dt_buf_clear(&text);
        dt_buf_print(&text, "%s:%s", dt_env_get(env, "MASTER_ADDR"),
                     dt_env_get(env, "MASTER_PORT"));
        dt_env_set(env, "PET_RDZV_ENDPOINT", dt_buf_str(&text));
    }
    dt_buf_release(&text);
}

void dt_rank_environment(const struct dt_tree *bundle, const struct dt_tree *rank,
                         char *const *base, const struct dt_rank_place *place,
                         struct dt_texts *env)
{
    const struct dt_tree *own = dt_tree_get(bundle, "env");

    add_base(env, base);
    for (const struct dt_tree *pair = own ? own->first : NULL; pair; pair = pair->next)
        if (pair->kind == DT_TREE_STR && strchr(pair->text, '='))
            env_put(env, pair->text);
    dt_env_set(env, "PWD", dt_tree_str(bundle, "workdir", "/"));
    add_torch(env, bundle, rank, place);
    add_dt(env, bundle, rank, place);
    add_devices(env, bundle, rank);
    add_compat(env, bundle);
}
