/* Manifests: written, read, and every byte and row covered exactly once. */
#include "dt/ckpt/manifest.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

/* Two tensors in one shard, the first in two slices. The caller releases. */
static struct dt_manifest make(void)
{
    struct dt_manifest m = {.job = "j-000001", .gen = 3, .step = 50, .parent_gen = 2,
                            .parent_step = 40, .world = 2, .tensor = 1, .context = 1,
                            .pipeline = 1, .data = 2, .seed = 7, .consumed = 800,
                            .optimizer_step = 50, .horizon = 3200, .warmup = 32,
                            .weights_crc32c = 0xdeadbeef};

    memset(m.model_fingerprint, 'a', 64);
    memset(m.data_fingerprint, 'b', 64);
    m.shards = dt_alloc(1, sizeof(*m.shards));
    m.shards_count = 1;
    snprintf(m.shards[0].file, sizeof(m.shards[0].file), "shard-00000.safetensors");
    m.shards[0].size = 64 + 4 * 8 + 4 * 3;
    memset(m.shards[0].sha256, 'c', 64);
    m.shards[0].crc32c = dt_alloc(1, sizeof(uint32_t));
    m.shards[0].crc32c[0] = 0x12345678;
    m.shards[0].crc_count = 1;
    m.tensors = dt_alloc(2, sizeof(*m.tensors));
    m.tensors_count = 2;
    m.tensors[0] = (struct dt_stored){.name = "w", .dtype = "F32", .rows = 4, .cols = 2};
    m.tensors[0].slices = dt_alloc(2, sizeof(struct dt_slice));
    m.tensors[0].slices_count = 2;
    m.tensors[0].slices[0] = (struct dt_slice){0, 64, 72, 0, 1};
    m.tensors[0].slices[1] = (struct dt_slice){0, 72, 96, 1, 3};
    m.tensors[1] = (struct dt_stored){.name = "b", .dtype = "F32", .rows = 1, .cols = 3,
                                      .is_vector = true};
    m.tensors[1].slices = dt_alloc(1, sizeof(struct dt_slice));
    m.tensors[1].slices_count = 1;
    m.tensors[1].slices[0] = (struct dt_slice){0, 96, 108, 0, 1};
    return m;
}

/* Write m, read it back into *again; both are the caller's. */
static enum dt_code round_trip(const struct dt_manifest *m, struct dt_manifest *again)
{
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    enum dt_code code;

    dt_manifest_write(&buf, m);
    code = dt_manifest_read(buf.data, buf.size, again, &err);
    dt_buf_release(&buf);
    return code;
}

TEST(manifest__reads_what_it_wrote)
{
    struct dt_manifest m = make(), again = {0};

    CHECK_INT(round_trip(&m, &again), DT_OK);
    CHECK_TEXT(again.job, "j-000001");
    CHECK(again.gen == 3 && again.step == 50 && again.parent_gen == 2 && again.parent_step == 40);
    CHECK(again.consumed == 800 && again.horizon == 3200 && again.seed == 7);
    CHECK(again.weights_crc32c == 0xdeadbeef && again.shards[0].crc32c[0] == 0x12345678);
    CHECK_INT(again.tensors[0].slices[1].row_count, 3);
    CHECK(again.tensors[1].is_vector && !again.tensors[0].is_vector);
    CHECK(dt_manifest_find(&again, "b") == &again.tensors[1]);
    CHECK(dt_manifest_find(&again, "x") == NULL);
    dt_manifest_release(&again);
    dt_manifest_release(&m);
}

TEST(manifest__refuses_bytes_that_belong_to_none_or_two)
{
    const struct dt_slice wrong[] = {
        {0, 64, 72, 0, 1}, /* as the first slice of w: twice */
        {0, 97, 109, 0, 1}, {0, 92, 104, 0, 1}, {1, 96, 108, 0, 1}, {0, 96, 108, 1, 1},
        {0, 96, 104, 0, 1},
    };

    for (size_t i = 0; i < DT_COUNT(wrong); i++) {
        struct dt_manifest m = make(), again = {0};

        m.tensors[1].slices[0] = wrong[i];
        CHECK_INT(round_trip(&m, &again), DT_CORRUPT);
        dt_manifest_release(&m);
    }
}

TEST(manifest__refuses_rows_that_are_missing)
{
    struct dt_manifest m = make(), again = {0};

    m.tensors[0].rows = 5;
    CHECK_INT(round_trip(&m, &again), DT_CORRUPT);
    m.tensors[0].rows = 4;
    m.shards[0].size += 4;
    CHECK_INT(round_trip(&m, &again), DT_CORRUPT);
    m.shards[0].size -= 4;
    snprintf(m.shards[0].file, sizeof(m.shards[0].file), "../x");
    CHECK_INT(round_trip(&m, &again), DT_CORRUPT);
    dt_manifest_release(&m);
}

TEST(manifest__survives_any_cut_and_any_flipped_byte)
{
    struct dt_manifest m = make();
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    int refused = 0;

    dt_manifest_write(&buf, &m);
    for (size_t i = 0; i + 1 < buf.size; i++) {
        struct dt_manifest again = {0};
        char kept = buf.data[i];

        CHECK_INT(dt_manifest_read(buf.data, i, &again, &err), DT_CORRUPT);
        buf.data[i] = (char)(kept ^ 1);
        refused += dt_manifest_read(buf.data, buf.size, &again, &err) != DT_OK;
        dt_manifest_release(&again);
        buf.data[i] = kept;
    }
    CHECK(refused > 500);
    dt_buf_release(&buf);
    dt_manifest_release(&m);
}

TEST(manifest__step_names_sort_and_read_back)
{
    char name[DT_STEP_NAME_BYTES];
    int64_t step;
    uint64_t gen;

    dt_step_name(name, 50, 1);
    CHECK_TEXT(name, "step-000000000050.g000001");
    CHECK(dt_step_name_read(name, &step, &gen));
    CHECK(step == 50 && gen == 1);
    dt_step_name(name, 50, 12345678);
    CHECK(dt_step_name_read(name, &step, &gen));
    CHECK_INT(gen, 12345678);
    CHECK(!dt_step_name_read("step-50.g1", &step, &gen));
    CHECK(!dt_step_name_read(".tmp-step-000000000050.g000001", &step, &gen));
    CHECK(!dt_step_name_read("step-000000000050.g000001x", &step, &gen));
    CHECK(!dt_step_name_read("step--00000000050.g000001", &step, &gen));
}
