/* The four reference jobs: each parses, and resolves to what is stored beside the tests. */
#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "reading.h"
#include "test.h"

static void check_example(const char *name)
{
    char path[128];
    struct reading reading;
    struct dt_buf json = {0};
    size_t size = 0;
    char *text;

    snprintf(path, sizeof(path), "deploy/examples/%s.yaml", name);
    text = source_file(path, &size);
    if (!CHECK(text != NULL))
        return;
    reading = reading_of(text, size);
    CHECK_INT(reading.code, DT_OK);
    CHECK_TEXT(dt_buf_str(&reading.report), "");
    if (reading.code == DT_OK) {
        dt_json_write_pretty(&json, reading.spec.resolved);
        dt_buf_byte(&json, '\n');
        snprintf(path, sizeof(path), "spec/%s.json", name);
        golden_equal(path, dt_buf_str(&json));
    }
    dt_buf_release(&json);
    reading_release(&reading);
    dt_free(text);
}

TEST(spec__resolves_the_quickstart_job)
{
    check_example("tiny-cpu");
}

TEST(spec__resolves_the_13b_job)
{
    check_example("llm-13b-pretrain");
}

TEST(spec__resolves_the_elastic_job)
{
    check_example("llm-3b-elastic");
}

TEST(spec__resolves_the_torch_job)
{
    check_example("finetune-vit");
}

/* Through JSON text and back, as the server stores it. */
static void check_again(const char *name)
{
    static const struct dt_json_limits limits = {DT_SPEC_BYTES_MAX, DT_TREE_DEPTH_MAX,
                                                 DT_TREE_NODES_MAX};
    char path[128];
    size_t size = 0;
    struct dt_buf first = {0}, second = {0};
    struct dt_problems problems = {0};
    struct dt_spec again = {0};
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    struct reading reading;
    char *text;

    snprintf(path, sizeof(path), "deploy/examples/%s.yaml", name);
    text = source_file(path, &size);
    reading = reading_of(text, size);
    dt_json_write_canonical(&first, reading.spec.resolved);
    CHECK_INT(dt_json_parse(first.data, first.size, &limits, &tree, &err), DT_OK);
    CHECK_TEXT(err.text, "");
    CHECK_INT(dt_spec_parse(tree, &again, &problems), DT_OK);
    dt_json_write_canonical(&second, again.resolved);
    CHECK_TEXT(dt_buf_str(&second), dt_buf_str(&first));
    CHECK_INT(again.rules_count, reading.spec.rules_count);
    dt_buf_release(&first);
    dt_buf_release(&second);
    dt_spec_release(&again);
    dt_problems_release(&problems);
    dt_tree_free(tree);
    reading_release(&reading);
    dt_free(text);
}

TEST(spec__resolved_jobs_resolve_to_themselves)
{
    check_again("tiny-cpu");
    check_again("llm-13b-pretrain");
    check_again("llm-3b-elastic");
    check_again("finetune-vit");
}

TEST(spec__fills_the_struct_of_the_13b_job)
{
    size_t size = 0;
    char *text = source_file("deploy/examples/llm-13b-pretrain.yaml", &size);
    struct reading reading = reading_of(text, size);
    const struct dt_spec *spec = &reading.spec;

    CHECK_TEXT(spec->name, "llm-13b-pretrain");
    CHECK_TEXT(spec->project, "foundation");
    CHECK_TEXT(spec->queue, "large");
    CHECK_INT(spec->priority, 100);
    CHECK_INT(spec->nodes_min, 8);
    CHECK_INT(spec->nodes_max, 8);
    CHECK_INT(spec->spares, 1);
    CHECK_INT(spec->ranks_per_node, 8);
    CHECK_INT(spec->memory_per_node, 900LL << 30);
    CHECK_TEXT(spec->gpu_types.item[0], "a100-80gb-sxm");
    CHECK_TEXT(spec->exclude.item[0], "gpu-[113-114]");
    CHECK_INT(spec->pack, DT_PACK_NVLINK);
    CHECK(spec->is_topology_required);
    CHECK_INT(spec->tensor, 2);
    CHECK_INT(spec->data, 32);
    CHECK(spec->is_trainer && spec->is_mpi_lean);
    CHECK_INT(spec->launch, DT_LAUNCH_MPI);
    CHECK_TEXT(spec->checkpoint_dir, "/ckpt/llm-13b");
    CHECK_INT(spec->restart_max, 20);
    CHECK_INT(spec->grace_ms, 300000);
    CHECK_INT(spec->time_ms, 21LL * 86400000);
    CHECK_INT(spec->hang_timeout_ms, 480000);
    CHECK_INT(spec->control_loss, DT_CONTROL_KEEP);
    CHECK_TEXT(spec->rules[1].on, "xid");
    CHECK_INT(spec->rules[1].codes_count, 7);
    CHECK_INT(spec->rules[1].codes[6], 119);
    CHECK(!spec->rules[1].is_counted);
    CHECK_TEXT(spec->rules[4].on, "exit"); /* the built-in ones follow */
    CHECK_TEXT(spec->rules[4].action, "fail");
    reading_release(&reading);
    dt_free(text);
}

TEST(spec__fills_the_struct_of_the_torch_job)
{
    size_t size = 0;
    char *text = source_file("deploy/examples/finetune-vit.yaml", &size);
    struct reading reading = reading_of(text, size);
    const struct dt_spec *spec = &reading.spec;

    CHECK_INT(spec->launch, DT_LAUNCH_TORCH);
    CHECK_TEXT(spec->workdir, "/home/ana/vit");
    CHECK_INT(spec->env.count, 1); /* DATA_ROOT is null */
    CHECK_TEXT(spec->env.item[0], "PYTHONUNBUFFERED=1");
    CHECK(spec->script && strncmp(spec->script, "source .venv/bin/activate\n", 26) == 0);
    CHECK_TEXT(spec->after.item[0], "prep-imagenet:ok");
    CHECK_INT(spec->control_loss, DT_CONTROL_STOP);
    CHECK_INT(spec->control_loss_stop_ms, 60000);
    CHECK(!spec->is_mpi_lean && !spec->is_trainer);
    reading_release(&reading);
    dt_free(text);
}

static enum dt_code served(const char *name, char *codes, size_t size)
{
    struct dt_problems problems = {0};
    struct reading reading;
    enum dt_code code;
    char path[128];
    size_t bytes = 0, used = 0;
    char *text;

    snprintf(path, sizeof(path), "deploy/examples/%s.yaml", name);
    text = source_file(path, &bytes);
    reading = reading_of(text, bytes);
    code = dt_spec_check_served(reading.tree, &problems);
    codes[0] = 0;
    for (size_t i = 0; i < problems.count && used < size; i++)
        used += (size_t)snprintf(codes + used, size - used, "%s%s", i ? " " : "",
                                 problems.item[i].path);
    dt_problems_release(&problems);
    reading_release(&reading);
    dt_free(text);
    return code;
}

TEST(spec__serves_the_quickstart_job)
{
    char paths[1024];

    CHECK_INT(served("tiny-cpu", paths, sizeof(paths)), DT_OK);
    CHECK_TEXT(paths, "");
}

TEST(spec__names_every_field_that_is_not_served_yet)
{
    char paths[1024];

    CHECK_INT(served("llm-13b-pretrain", paths, sizeof(paths)), DT_UNSUPPORTED);
    CHECK_TEXT(paths, "resources.spares parallel.tensor parallel.zero trainer.tokenizer "
                      "trainer.precision health.precheck health.straggler.window "
                      "health.straggler.action secrets output.tensorboard notify");
    CHECK_INT(served("llm-3b-elastic", paths, sizeof(paths)), DT_UNSUPPORTED);
    CHECK_TEXT(paths, "resources.nodes resources.spares parallel.tensor parallel.zero "
                      "trainer.precision preempt.min_run");
    CHECK_INT(served("finetune-vit", paths, sizeof(paths)), DT_INVALID); /* env has a null */
    CHECK_TEXT(paths, "resources.shm env.DATA_ROOT secrets limits.signal after");
}
