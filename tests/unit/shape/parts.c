/* Shares, buckets and the mesh: everything belongs to exactly one. */
#include "dt/shape/parts.h"

#include "dt/shape/mesh.h"

#include "test.h"

TEST(parts__shares_tile_and_differ_by_one_at_most)
{
    for (int64_t total = 0; total < 20; total++)
        for (int64_t parts = 1; parts < 8; parts++) {
            int64_t at = 0;

            for (int64_t i = 0; i < parts; i++) {
                struct dt_span span = dt_share(total, parts, i);

                CHECK(span.first == at && span.count >= total / parts &&
                      span.count <= total / parts + 1);
                at += span.count;
            }
            CHECK_INT(at, total);
        }
}

TEST(parts__buckets_run_down_from_the_head_and_tile_the_buffer)
{
    const char *const presets[] = {"llama-nano", "bench-6m", "gpt2-124m", "llama-13b"};

    for (size_t p = 0; p < DT_COUNT(presets); p++) {
        struct dt_model model;
        struct dt_buckets buckets;
        int64_t end;

        CHECK(dt_model_preset(presets[p], &model));
        dt_buckets_init(&buckets, &model, 4 << 20);
        end = dt_model_params(&model);
        for (size_t i = 0; i < buckets.count; i++) {
            const struct dt_bucket *bucket = &buckets.items[i];

            CHECK_INT(bucket->span.first + bucket->span.count, end);
            CHECK(i == 0 || bucket->layer < buckets.items[i - 1].layer);
            end = bucket->span.first;
        }
        CHECK_INT(end, 0);
        CHECK_INT(buckets.items[buckets.count - 1].layer, -1);
        dt_buckets_release(&buckets);
    }
}

TEST(parts__a_bucket_begins_at_its_layer)
{
    struct dt_model model;
    struct dt_buckets buckets;

    CHECK(dt_model_preset("bench-6m", &model));
    dt_buckets_init(&buckets, &model, 1); /* one bucket a layer */
    CHECK_INT(buckets.count, 9);
    for (size_t t = 0; t < dt_model_tensors_count(&model); t++) {
        struct dt_tensor tensor;
        size_t i = 0;

        dt_model_tensor(&model, t, &tensor);
        while (tensor.offset < buckets.items[i].span.first)
            i++;
        CHECK(buckets.items[i].layer <= tensor.layer); /* complete only after its backward */
    }
    dt_buckets_release(&buckets);
}

TEST(parts__ring_bytes_are_two_slices_less_one)
{
    CHECK_INT(dt_reduce_bytes(1000, 1), 0);
    CHECK_INT(dt_reduce_bytes(1000, 2), 4000);
    CHECK_INT(dt_reduce_bytes(1000, 4), 6000);
}

TEST(mesh__tensor_varies_fastest_and_data_slowest)
{
    struct dt_mesh mesh = {.tensor = 2, .context = 1, .pipeline = 3};
    struct dt_err err = {0};
    struct dt_coords coords;

    CHECK_INT(dt_mesh_fill(&mesh, 24, &err), DT_OK);
    CHECK_INT(mesh.data, 4);
    coords = dt_mesh_coords(&mesh, 1);
    CHECK(coords.tensor == 1 && coords.pipeline == 0 && coords.data == 0);
    coords = dt_mesh_coords(&mesh, 6);
    CHECK(coords.tensor == 0 && coords.pipeline == 0 && coords.data == 1);
    for (int rank = 0; rank < 24; rank++) {
        coords = dt_mesh_coords(&mesh, rank);
        CHECK_INT(dt_mesh_rank(&mesh, &coords), rank);
    }
}

TEST(mesh__refuses_a_world_that_does_not_divide)
{
    struct dt_mesh mesh = {.tensor = 3, .context = 1, .pipeline = 1};
    struct dt_err err = {0};

    CHECK_INT(dt_mesh_fill(&mesh, 8, &err), DT_INVALID);
}
