/* Tests of the environment of a rank. */
#include "dt/core/rankenv.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "test.h"

#define NODES "\"nodes\":[{\"node\":\"n1\",\"addr\":\"10.0.0.1\",\"rank_first\":0,\"ranks\":2}," \
              "{\"node\":\"n2\",\"addr\":\"10.0.0.2\",\"rank_first\":2,\"ranks\":2}]"

/* Node 1 of two, two ranks with a GPU each; rank 3 is looked at. */
static struct dt_tree *bundle_make(const char *more)
{
    struct dt_tree *bundle = NULL;
    char text[2048];

    snprintf(text, sizeof(text),
             "{\"job\":7,\"gen\":\"3\",\"name\":\"fine\",\"node_rank\":1,\"world\":4," NODES ","
             "\"ranks\":[{\"rank\":2,\"local_rank\":0,\"devices\":[\"GPU-a\"]},"
             "{\"rank\":3,\"local_rank\":1,\"devices\":[\"GPU-b\"]}],"
             "\"device_kind\":\"gpu\",\"workdir\":\"/w\",\"output_dir\":\"/o\","
             "\"checkpoint_dir\":\"/c\",\"restarts\":2,\"restart_max\":10%s}", more);
    CHECK_INT(dt_json_parse(text, strlen(text), &dt_json_limits_wire, &bundle, NULL), DT_OK);
    return bundle;
}

static struct dt_texts env_of(const char *more, char *const *base)
{
    static const struct dt_rank_place place = {.master_addr = "10.0.0.1", .master_port = 20001,
                                               .metrics_socket = "/run/m.sock",
                                               .hostfile = "/run/hosts", .cpus = 4};
    struct dt_tree *bundle = bundle_make(more);
    struct dt_texts env = {0};

    dt_rank_environment(bundle, dt_tree_get(bundle, "ranks")->first->next, base, &place, &env);
    dt_tree_free(bundle);
    return env;
}

static void check_env(const struct dt_texts *env, const char *name, const char *value)
{
    const char *got = dt_env_get(env, name);

    CHECK_TEXT(got ? got : "(unset)", value);
}

TEST(rankenv__gives_the_fifteen_of_torchrun)
{
    static const char *const rows[][2] = {
        {"RANK", "3"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "1"}, {"GROUP_WORLD_SIZE", "2"}, {"ROLE_RANK", "3"},
        {"ROLE_WORLD_SIZE", "4"}, {"ROLE_NAME", "default"}, {"MASTER_ADDR", "10.0.0.1"},
        {"MASTER_PORT", "20001"}, {"TORCHELASTIC_RESTART_COUNT", "2"},
        {"TORCHELASTIC_MAX_RESTARTS", "10"}, {"TORCHELASTIC_RUN_ID", "j-000007"},
        {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
    struct dt_texts env = env_of(",\"launch\":\"torch\"", NULL);

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        check_env(&env, rows[i][0], rows[i][1]);
    dt_texts_release(&env);
}

TEST(rankenv__tells_the_job_by_dts_own_names)
{
    struct dt_texts env = env_of(",\"launch\":\"torch\",\"deadline_wall_ms\":1767225600000", NULL);

    check_env(&env, "DT_JOB_ID", "j-000007");
    check_env(&env, "DT_GENERATION", "3");
    check_env(&env, "DT_RANK", "3");
    check_env(&env, "DT_NODE_RANK", "1");
    check_env(&env, "DT_NNODES", "2");
    check_env(&env, "DT_NODELIST", "n[1-2]");
    check_env(&env, "DT_GPUS_PER_NODE", "2");
    check_env(&env, "DT_CHECKPOINT_DIR", "/c");
    check_env(&env, "DT_METRICS_SOCKET", "/run/m.sock");
    check_env(&env, "DT_HOSTFILE", "/run/hosts");
    check_env(&env, "DT_PREEMPT_SIGNAL", "SIGTERM");
    check_env(&env, "DT_RESUME_FROM", "(unset)");
    check_env(&env, "PWD", "/w");
    check_env(&env, "OMP_NUM_THREADS", "4");
    CHECK(dt_env_get(&env, "DT_DEADLINE") &&
          strncmp(dt_env_get(&env, "DT_DEADLINE"), "2026-01-01T00:00:00", 19) == 0);
    dt_texts_release(&env);
}

TEST(rankenv__shows_torch_all_gpus_and_an_mpi_rank_its_own)
{
    struct dt_texts torch = env_of(",\"launch\":\"torch\"", NULL);
    struct dt_texts mpi = env_of(",\"launch\":\"mpi\"", NULL);

    check_env(&torch, "CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b");
    check_env(&mpi, "CUDA_VISIBLE_DEVICES", "GPU-b");
    check_env(&mpi, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    dt_texts_release(&torch);
    dt_texts_release(&mpi);
}

TEST(rankenv__strips_other_launchers_and_what_belongs_to_the_agent)
{
    static char base[][40] = {"SLURM_JOB_ID=9", "OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=4",
                              "PET_NNODES=1", "RANK=77", "DT_JOB_ID=j-9", "HOME=/root",
                              "RANKING=kept", "noequal"};
    char *list[DT_COUNT(base) + 1] = {NULL};
    struct dt_texts env;

    for (size_t i = 0; i < DT_COUNT(base); i++)
        list[i] = base[i];
    env = env_of(",\"launch\":\"none\"", list);
    check_env(&env, "SLURM_JOB_ID", "(unset)");
    check_env(&env, "OMPI_COMM_WORLD_RANK", "(unset)");
    check_env(&env, "PMIX_RANK", "(unset)");
    check_env(&env, "PET_NNODES", "(unset)");
    check_env(&env, "RANK", "3");
    check_env(&env, "DT_JOB_ID", "j-000007");
    check_env(&env, "HOME", "/root");
    check_env(&env, "RANKING", "kept");
    dt_texts_release(&env);
}

TEST(rankenv__lets_the_job_set_variables_but_not_its_place)
{
    struct dt_texts env = env_of(",\"launch\":\"torch\",\"env\":[\"OMP_NUM_THREADS=1\","
                                 "\"RANK=0\",\"MINE=a=b\",\"TORCH_NCCL_ASYNC_ERROR_HANDLING=0\"]",
                                 NULL);

    check_env(&env, "OMP_NUM_THREADS", "1");
    check_env(&env, "RANK", "3");
    check_env(&env, "MINE", "a=b");
    check_env(&env, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");
    dt_texts_release(&env);
}

TEST(rankenv__speaks_as_other_launchers_only_when_asked)
{
    struct dt_texts plain = env_of("", NULL);
    struct dt_texts env = env_of(",\"compat\":[\"slurm\",\"sky\",\"kubeflow\"]", NULL);

    check_env(&plain, "SLURM_PROCID", "(unset)");
    check_env(&env, "SLURM_JOB_ID", "7");
    check_env(&env, "SLURM_PROCID", "3");
    check_env(&env, "SLURM_NTASKS_PER_NODE", "2");
    check_env(&env, "SLURM_JOB_NODELIST", "n[1-2]");
    check_env(&env, "SKYPILOT_NODE_IPS", "10.0.0.1\n10.0.0.2");
    check_env(&env, "PET_RDZV_ENDPOINT", "10.0.0.1:20001");
    dt_texts_release(&plain);
    dt_texts_release(&env);
}

TEST(rankenv__writes_a_host_file_in_the_order_of_the_ranks)
{
    struct dt_tree *bundle = bundle_make("");
    struct dt_buf text = {0};

    dt_rank_hostfile(bundle, &text);
    CHECK_TEXT(dt_buf_str(&text), "10.0.0.1 slots=2\n10.0.0.2 slots=2\n");
    dt_buf_release(&text);
    dt_tree_free(bundle);
}
