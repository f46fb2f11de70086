/* Sizes: parameters as published, tensors that tile the flat buffer, planned memory. */
#include "dt/shape/sizes.h"

#include "test.h"

#include <string.h>

static int64_t params_of(const char *preset)
{
    struct dt_model model = {0};

    return dt_model_preset(preset, &model) ? dt_model_params(&model) : -1;
}

TEST(sizes__presets_have_their_published_parameters)
{
    CHECK_INT(params_of("llama-13b"), 13015864320);
    CHECK_INT(params_of("llama-70b"), 70553706496);
    CHECK_INT(params_of("gpt3-13b"), 12858214400);
    CHECK_INT(params_of("bench-6m"), 6459648);
    CHECK_INT(params_of("gpt2-124m"), 124439808);
    CHECK_INT(params_of("llama-7b"), 6738415616);
    CHECK_INT(params_of("llama-1b"), 1235814400);
    CHECK(params_of("bench-38m") > 38000000 && params_of("bench-38m") < 38400000);
    CHECK_INT(params_of("llama-9000b"), -1);
}

TEST(sizes__other_published_models_have_their_parameters)
{
    struct dt_model llama65 = {DT_ARCH_LLAMA, 80, 8192, 64, 64, 22016, 32000, false, 2048};

    CHECK_INT(dt_model_params(&llama65), 65285660672);
}

TEST(sizes__tensors_tile_the_flat_buffer)
{
    for (size_t i = 0; dt_model_preset_name(i); i++) {
        struct dt_model model;
        int64_t at = 0;

        CHECK(dt_model_preset(dt_model_preset_name(i), &model));
        for (size_t t = 0; t < dt_model_tensors_count(&model); t++) {
            struct dt_tensor tensor;

            dt_model_tensor(&model, t, &tensor);
            if (tensor.offset != at)
                CHECK_INT(tensor.offset, at);
            at += tensor.rows * tensor.cols;
        }
        CHECK_INT(at, dt_model_params(&model));
    }
}

TEST(sizes__tensor_names_are_unique_and_say_their_layer)
{
    struct dt_model model;
    struct dt_tensor tensor;

    CHECK(dt_model_preset("llama-nano", &model));
    dt_model_tensor(&model, 0, &tensor);
    CHECK_TEXT(tensor.name, "embed.weight");
    CHECK_INT(tensor.layer, -1);
    dt_model_tensor(&model, 11, &tensor);
    CHECK_TEXT(tensor.name, "layers.1.attn.q.weight");
    CHECK_INT(tensor.layer, 1);
    dt_model_tensor(&model, dt_model_tensors_count(&model) - 1, &tensor);
    CHECK_TEXT(tensor.name, "head.weight");
}

TEST(sizes__refuses_shapes_that_do_not_divide)
{
    struct dt_model model;
    struct dt_err err = {0};

    CHECK(dt_model_preset("llama-nano", &model));
    CHECK_INT(dt_model_check(&model, &err), DT_OK);
    model.heads = 5;
    CHECK_INT(dt_model_check(&model, &err), DT_INVALID);
    CHECK(strstr(err.text, "heads (5)") != NULL);
    model.heads = 4, model.kv_heads = 3;
    CHECK_INT(dt_model_check(&model, &err), DT_INVALID);
    model.kv_heads = 4, model.layers = 0;
    CHECK_INT(dt_model_check(&model, &err), DT_INVALID);
}

TEST(sizes__flops_follow_the_published_formula)
{
    struct dt_model model;
    struct dt_flops flops;
    double h = 5120, s = 2048, layers = 40, v = 51200;

    CHECK(dt_model_preset("gpt3-13b", &model));
    flops = dt_model_flops(&model, 2048);
    CHECK_NEAR(flops.six_n, 6.0 * 12858214400.0, 1);
    CHECK_NEAR(flops.full / (72 * layers * h * h * (1 + s / (6 * h) + v / (12 * layers * h))), 1,
               1e-12);
}

TEST(sizes__activations_follow_the_planners_form)
{
    struct dt_run_shape run = {.seq = 2048, .micro_batch = 1, .threads = 1};
    int64_t bytes[DT_MEMORY_COUNT];
    double h, words;

    CHECK(dt_model_preset("gpt3-13b", &run.model));
    dt_run_bytes(&run, bytes);
    h = (double)run.model.hidden;
    /* 32 s b h of 2-byte words for f = 4h, here 4 bytes, beside statistics and the ends. */
    words = 2 * 32 * 2048 * h * 40;
    CHECK((double)bytes[DT_MEMORY_ACTIVATIONS] / words > 0.95);
    CHECK((double)bytes[DT_MEMORY_ACTIVATIONS] / words < 1.05);
    CHECK_INT(bytes[DT_MEMORY_WEIGHTS], 4 * 12858214400);
    /* All computed again: 2 s b h of such words for each layer's input, and one whole layer. */
    run.recompute = DT_RECOMPUTE_FULL;
    dt_run_bytes(&run, bytes);
    words = 2 * 2048 * h * (2 * 40 + 32);
    CHECK((double)bytes[DT_MEMORY_ACTIVATIONS] / words > 0.95);
    CHECK((double)bytes[DT_MEMORY_ACTIVATIONS] / words < 1.05);
    /* A layer without its last product. */
    CHECK_NEAR(dt_run_again_flops(&run) / 39, 2 * 12 * h * h + 4 * 2048 * h - 8 * h * h, 1e3);
    CHECK_INT(bytes[DT_MEMORY_OPTIMIZER], 8 * 12858214400);
}
