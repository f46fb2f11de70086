/* Configurations: defaults as documented, wrong ones refused with their member. */
#include "config.h"

#include "dt/base/json.h"

#include "test.h"

#include <string.h>

static enum dt_code read_text(const char *json, struct config *config, struct dt_err *err)
{
    struct dt_tree *tree = NULL;
    enum dt_code code = dt_json_parse(json, strlen(json), &dt_json_limits_wire, &tree, err);

    if (!code)
        code = config_read(tree, config, err);
    dt_tree_free(tree);
    return code;
}

#define DATA "\"data\":{\"text\":[\"/x/*.txt\"]}"

TEST(config__fills_in_the_documented_defaults)
{
    struct config c = {0};
    struct dt_err err = {0};

    CHECK_INT(read_text("{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
                        ",\"steps\":300}}", &c, &err), DT_OK);
    CHECK_INT(c.seq, 64);
    CHECK(c.micro_batch == 1 && c.global_batch == 1 && c.seed == 0);
    CHECK_NEAR(c.lr.peak, 3e-4, 0);
    CHECK_NEAR(c.lr.floor, 3e-5, 1e-18);
    CHECK(c.lr.warmup == 3 && c.lr.horizon == 300);
    CHECK(c.beta1 == 0.9 && c.beta2 == 0.95 && c.decay == 0.1 && c.clip == 1 && c.eps == 1e-8);
    CHECK_TEXT(c.resume, "auto");
    CHECK(c.recompute == DT_RECOMPUTE_NONE && !c.is_deterministic);
    CHECK(c.weights == NULL);
    CHECK(c.keep_last == 3 && c.save_steps == 0 && c.save_ms == 0);
    config_release(&c);
}

TEST(config__reads_every_member)
{
    struct config c = {0};
    struct dt_err err = {0};

    CHECK_INT(read_text(
        "{\"name\":\"n\",\"trainer\":{\"model\":{\"arch\":\"gpt2\",\"layers\":2,\"hidden\":16,"
        "\"heads\":2,\"vocab\":300},\"data\":{\"train\":[{\"file\":\"/a\",\"weight\":1.5},"
        "{\"file\":\"/b\",\"weight\":2}],"
        "\"eval\":\"/c\"},\"seq_len\":32,\"micro_batch\":2,\"global_batch\":8,\"tokens\":1000,"
        "\"optimizer\":{\"lr\":1e-3,\"betas\":[0.8,0.9],\"weight_decay\":0,\"clip\":0},"
        "\"schedule\":{\"name\":\"linear\",\"warmup\":{\"steps\":2},\"min_lr\":0},\"seed\":7,"
        "\"recompute\":\"selective\",\"deterministic\":true,"
        "\"eval\":{\"every\":{\"steps\":10},\"steps\":5}},"
        "\"checkpoint\":{\"dir\":\"/ck\",\"every\":\"15m\",\"keep\":{\"last\":2,"
        "\"every\":{\"steps\":100}},\"resume\":\"never\",\"verify\":false}}", &c, &err), DT_OK);
    CHECK_TEXT(err.text, "");
    CHECK(c.model.arch == DT_ARCH_GPT2 && c.model.ffn == 64 && c.model.is_tied);
    CHECK(c.model.positions == 1024 && c.train_count == 2);
    CHECK_TEXT(c.train[1], "/b");
    CHECK(c.weights[0] == 1.5 && c.weights[1] == 2);
    CHECK_INT(c.steps, 4);
    CHECK(c.clip == 0 && c.decay == 0 && c.lr.floor == 0 && c.lr.warmup == 16);
    CHECK(c.save_ms == 900000 && c.keep_last == 2 && c.keep_every == 100 && !c.is_verified);
    CHECK(c.recompute == DT_RECOMPUTE_SELECTIVE && c.is_deterministic);
    CHECK(c.eval_every == 10 && c.eval_steps == 5);
    config_release(&c);
}

TEST(config__refuses_what_it_cannot_do)
{
    const struct { const char *json, *word; } rows[] = {
        {"{}", "trainer"},
        {"{\"trainer\":{\"model\":{\"preset\":\"x\"}," DATA ",\"steps\":1}}", "preset"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"},\"steps\":1}}", "data"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA "}}", "steps"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"micro_batch\":3,\"global_batch\":4}}", "multiple"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"precision\":\"bf16\"}}", "precision"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"optimizer\":{\"lr\":-1}}}", "lr"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\",\"heads\":3}," DATA
         ",\"steps\":1}}", "heads"},
        {"{\"parallel\":{\"tensor\":2},\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1}}", "tensor"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\",\"vocab\":99}," DATA
         ",\"steps\":1}}", "vocab"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"seed\":-4}}", "seed"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"seed\":\"x\"}}", "seed"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"},\"data\":{\"train\":["
         "{\"file\":\"/a\",\"weight\":1},{\"file\":\"/b\"}]},\"steps\":1}}", "weight"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"recompute\":\"some\"}}", "recompute"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"tokenizer\":\"/t.json\"}}", "tokenizer"},
        {"{\"trainer\":{\"model\":{\"preset\":\"llama-nano\"}," DATA
         ",\"steps\":1,\"schedule\":{\"name\":\"step\"}}}", "schedule"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct config c = {0};
        struct dt_err err = {0};

        CHECK(read_text(rows[i].json, &c, &err) != DT_OK);
        if (!strstr(err.text, rows[i].word))
            CHECK_TEXT(err.text, rows[i].word);
    }
}
