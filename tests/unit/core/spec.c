/* The specification without YAML: JSON in, struct and tree out; help from the table. */
#include "dt/core/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/json.h"
#include "spec_table.h"
#include "test.h"

static const struct dt_json_limits limits = {DT_SPEC_BYTES_MAX, DT_TREE_DEPTH_MAX,
                                             DT_TREE_NODES_MAX};

static struct dt_tree *tree_of(const char *json)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};

    CHECK_INT(dt_json_parse(json, strlen(json), &limits, &tree, &err), DT_OK);
    CHECK_TEXT(err.text, "");
    return tree;
}

/* "" when the JSON is a right specification, else its first problem "code: text". */
static const char *first_problem(const char *json)
{
    static char text[1200];
    struct dt_problems problems = {0};
    struct dt_tree *tree = tree_of(json);
    struct dt_spec spec = {0};

    text[0] = 0;
    if (dt_spec_parse(tree, &spec, &problems))
        snprintf(text, sizeof(text), "%s: %s", problems.item[0].code, problems.item[0].text);
    dt_spec_release(&spec);
    dt_problems_release(&problems);
    dt_tree_free(tree);
    return text;
}

TEST(spec__takes_json_without_places)
{
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":[\"true\"]}"), "");
    CHECK_TEXT(first_problem("{\"version\":1}"),
               "spec.one-of: nothing to run: exactly one of trainer, command and script");
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":[\"\",\"x\"]}"),
               "spec.empty: the program is empty");
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":[\"x\",\"\"]}"), "");
    CHECK_TEXT(first_problem("{\"version\":\"1\",\"command\":[\"x\"]}"),
               "spec.quoted-number: version must be 1, found \"1\"");
    CHECK_TEXT(first_problem("[1]"), "spec.type: a specification is a map of keys and values");
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":\"x y\"}"),
               "spec.type: command must be a list, found \"x y\"");
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":[\"x\"],\"env\":{\"A\":\"010\"}}"), "");
    CHECK_TEXT(first_problem("{\"version\":1,\"command\":[\"x\"],\"name\":\"a\\u001bb\"}"),
               "spec.control-character: name has a control character");
}

TEST(spec__failing_leaves_the_output_alone)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = tree_of("{\"version\":2}");
    struct dt_spec spec = {.restart_max = 77};

    CHECK_INT(dt_spec_parse(tree, &spec, &problems), DT_INVALID);
    CHECK_INT(spec.restart_max, 77);
    CHECK(!spec.resolved);
    dt_problems_release(&problems);
    dt_tree_free(tree);
}

TEST(spec__defaults_of_a_plain_command)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = tree_of("{\"version\":1,\"command\":[\"a\",\"b\"],"
                                   "\"resources\":{\"gpus_per_node\":4,\"nodes\":3}}");
    struct dt_spec spec = {0};

    CHECK_INT(dt_spec_parse(tree, &spec, &problems), DT_OK);
    CHECK_TEXT(spec.name, "job");
    CHECK_TEXT(spec.project, "");
    CHECK_TEXT(spec.queue, "default");
    CHECK_INT(spec.launch, DT_LAUNCH_TORCH);
    CHECK_INT(spec.ranks_per_node, 4);
    CHECK_INT(spec.pack, DT_PACK_NVLINK);
    CHECK(!spec.is_topology_required);
    CHECK_INT(spec.data, 12);
    CHECK_INT(spec.nodes_step, 1);
    CHECK_INT(spec.memory_per_node, 0);
    CHECK_INT(spec.cpus_per_rank, 0);
    CHECK_INT(spec.restart_max, 10);
    CHECK_INT(spec.restart_window_ms, 86400000);
    CHECK_INT(spec.backoff_initial_ms, 1000);
    CHECK_INT(spec.backoff_max_ms, 300000);
    CHECK_INT(spec.grace_ms, 60000);
    CHECK_INT(spec.hang_timeout_ms, 600000);
    CHECK_INT(spec.log_bytes, 1LL << 30);
    CHECK_INT(spec.time_ms, 0);
    CHECK_TEXT(spec.resume, "auto");
    CHECK_INT(spec.command.count, 2);
    CHECK_TEXT(spec.rules[0].on, "exit"); /* no rule of the trainer's exit statuses */
    CHECK_INT(spec.rules[0].codes_count, 0);
    dt_spec_release(&spec);
    dt_problems_release(&problems);
    dt_tree_free(tree);
}

TEST(spec__presets_have_the_sizes_of_the_design)
{
    static const struct { const char *name; int64_t hidden, layers, kv_heads, ffn, vocab; }
    models[] = {
        {"llama-nano", 128, 4, 4, 344, 256},     {"bench-6m", 256, 8, 8, 688, 256},
        {"bench-38m", 512, 12, 8, 1376, 256},    {"llama-1b", 2048, 16, 8, 8192, 128256},
        {"llama-3b", 3072, 28, 8, 8192, 128256}, {"llama-7b", 4096, 32, 32, 11008, 32000},
        {"llama-13b", 5120, 40, 40, 13824, 32000}, {"llama-70b", 8192, 80, 8, 28672, 128256},
        {"gpt2-124m", 768, 12, 12, 3072, 50257}, {"gpt3-13b", 5120, 40, 40, 20480, 51200},
        {"gpt3-175b", 12288, 96, 96, 49152, 51200},
    };

    for (size_t i = 0; i < DT_COUNT(models); i++) {
        struct dt_problems problems = {0};
        struct dt_spec spec = {0};
        struct dt_tree *tree, *model;
        char json[256];

        snprintf(json, sizeof(json), "{\"version\":1,\"trainer\":{\"model\":\"%s\",\"steps\":1,"
                                     "\"data\":{\"train\":\"/x\"}}}", models[i].name);
        tree = tree_of(json);
        CHECK_INT(dt_spec_parse(tree, &spec, &problems), DT_OK);
        model = dt_tree_get(dt_tree_get(spec.resolved, "trainer"), "model");
        CHECK_INT(dt_tree_int(model, "hidden", 0), models[i].hidden);
        CHECK_INT(dt_tree_int(model, "layers", 0), models[i].layers);
        CHECK_INT(dt_tree_int(model, "kv_heads", 0), models[i].kv_heads);
        CHECK_INT(dt_tree_int(model, "ffn", 0), models[i].ffn);
        CHECK_INT(dt_tree_int(model, "vocab", 0), models[i].vocab);
        dt_spec_release(&spec);
        dt_problems_release(&problems);
        dt_tree_free(tree);
    }
}

TEST(spec__override_sets_scalars_json_and_texts)
{
    struct dt_tree *tree = tree_of("{\"resources\":{\"nodes\":1}}");
    struct dt_buf json = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_spec_override(tree, "resources.nodes=4", &err), DT_OK);
    CHECK_INT(dt_spec_override(tree, "trainer.optimizer.lr=3e-4", &err), DT_OK);
    CHECK_INT(dt_spec_override(tree, "resources.exclude=[\"a\"]", &err), DT_OK);
    CHECK_INT(dt_spec_override(tree, "env.A.B=1.5", &err), DT_OK);
    CHECK_INT(dt_spec_override(tree, "limits.time=10m", &err), DT_OK);
    dt_json_write(&json, tree);
    CHECK_TEXT(dt_buf_str(&json),
               "{\"resources\":{\"nodes\":4,\"exclude\":[\"a\"]},"
               "\"trainer\":{\"optimizer\":{\"lr\":3e-4}},\"env\":{\"A.B\":\"1.5\"},"
               "\"limits\":{\"time\":\"10m\"}}");
    CHECK_INT(dt_spec_override(tree, "resources.nodes.min=4", &err), DT_INVALID);
    CHECK_TEXT(err.text, "\"nodes\" is an integer, so \"min\" cannot be set in it");
    CHECK_INT(dt_spec_override(tree, "nodes", &err), DT_USAGE);
    CHECK_INT(dt_spec_override(tree, "=1", &err), DT_USAGE);
    CHECK_INT(dt_spec_override(tree, "a.=1", &err), DT_INVALID);
    CHECK_INT(dt_spec_override(tree, "a=[1", &err), DT_INVALID);
    dt_buf_release(&json);
    dt_tree_free(tree);
}

static void check_name(const char *file, const char *name)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_spec_name_after(tree, file);
    CHECK_TEXT(dt_tree_str(tree, "name", ""), name);
    dt_tree_free(tree);
}

TEST(spec__name_follows_the_file)
{
    check_name("runs/My Job_2.yaml", "my-job-2");
    check_name("/a/b/train.v2.yaml", "train");
    check_name("--x--.yaml", "x");
    check_name("-", "");
}

static void check_served(const char *json, const char *path)
{
    struct dt_problems problems = {0};
    struct dt_tree *tree = tree_of(json);

    CHECK_INT(dt_spec_check_served(tree, &problems), *path ? DT_UNSUPPORTED : DT_OK);
    CHECK_TEXT(problems.count ? problems.item[0].path : "", path);
    dt_problems_release(&problems);
    dt_tree_free(tree);
}

TEST(spec__written_defaults_are_served)
{
    check_served("{\"resources\":{\"spares\":0,\"scratch\":\"0B\",\"constraints\":[]}}", "");
    check_served("{\"preempt\":{\"allowed\":true,\"min_run\":\"0s\"}}", "");
    check_served("{\"parallel\":{\"tensor\":1,\"data\":8,\"zero\":\"auto\"}}", "");
    check_served("{\"health\":{\"precheck\":[],\"straggler\":{\"action\":\"off\"}}}", "");
    check_served("{\"secrets\":[],\"after\":[],\"notify\":[]}", "");
    check_served("{\"output\":{\"tensorboard\":false}}", "");
    check_served("{\"trainer\":{\"recompute\":\"full\",\"deterministic\":true,"
                 "\"schedule\":{\"name\":\"linear\"}}}", "");
}

TEST(spec__other_values_are_not_served_yet)
{
    check_served("{\"resources\":{\"spares\":1}}", "resources.spares");
    check_served("{\"resources\":{\"nodes\":{\"min\":1,\"max\":2}}}", "resources.nodes");
    check_served("{\"resources\":{\"gpu_memory_min\":\"1GiB\"}}", "resources.gpu_memory_min");
    check_served("{\"topology\":{\"spread\":\"rack\"}}", "topology.spread");
    check_served("{\"parallel\":\"auto\"}", "parallel");
    check_served("{\"parallel\":{\"expert\":2}}", "parallel.expert");
    check_served("{\"trainer\":{\"precision\":\"bf16\"}}", "trainer.precision");
    check_served("{\"trainer\":{\"tokenizer\":\"/t\"}}", "trainer.tokenizer");
    check_served("{\"checkpoint\":{\"async\":true}}", "checkpoint.async");
    check_served("{\"after\":[{\"job\":\"a\"}]}", "after");
    check_served("{\"begin\":\"2026-12-01T08:00:00Z\"}", "begin");
    check_served("{\"container\":{}}", "container");
    check_served("{\"notify\":[{}]}", "notify");
    check_served("{\"restart\":{\"in_place\":true}}", "restart.in_place");
}

static void check_decimal(const char *text, const char *canonical, int64_t micro)
{
    struct dt_tree node = {.kind = DT_TREE_FLOAT, .text = dt_copy_text(text)};
    struct dt_decimal value = {0};
    char printed[64];

    CHECK(dt_decimal_read(&node, &value));
    dt_decimal_print(value, printed, sizeof(printed));
    CHECK_TEXT(printed, canonical);
    CHECK_INT(dt_decimal_micro(value), micro);
    dt_free(node.text);
}

TEST(decimal__is_exact_and_canonical)
{
    check_decimal("3e-4", "0.0003", 300);
    check_decimal("0.00030", "0.0003", 300);
    check_decimal("3E-05", "3e-5", 30);
    check_decimal("1e-8", "1e-8", 0);
    check_decimal("1.5", "1.5", 1500000);
    check_decimal("100", "100.0", 100000000);
    check_decimal("1.50e3", "1500.0", 1500000000);
    check_decimal("-0.25", "-0.25", -250000);
    check_decimal("0.0", "0.0", 0);
    check_decimal("1.25e20", "1.25e20", INT64_MAX);
    check_decimal("123456789012345678", "1.23456789012345678e17", INT64_MAX);
}

TEST(decimal__refuses_what_it_cannot_hold)
{
    static const char *const wrong[] = {"1234567890123456789", "1e31", "1e-40", "1e", "x",
                                        "1e999999999999"};

    for (size_t i = 0; i < DT_COUNT(wrong); i++) {
        struct dt_tree node = {.kind = DT_TREE_FLOAT, .text = dt_copy_text(wrong[i])};
        struct dt_decimal value;

        dt_check_true(!dt_decimal_read(&node, &value), wrong[i], __FILE__, __LINE__);
        dt_free(node.text);
    }
}

TEST(decimal__compares_across_exponents)
{
    CHECK_INT(dt_decimal_compare((struct dt_decimal){3, -4}, (struct dt_decimal){300, -6}), 0);
    CHECK_INT(dt_decimal_compare((struct dt_decimal){1, 30}, (struct dt_decimal){9, -30}), 1);
    CHECK_INT(dt_decimal_compare((struct dt_decimal){-1, 30}, (struct dt_decimal){9, -30}), -1);
    CHECK_INT(dt_decimal_compare((struct dt_decimal){0, 0}, (struct dt_decimal){1, -30}), -1);
}

/* A text against a file of the tree, or into it when DT_UPDATE_GOLDEN is set. */
static void check_file(const char *name, const char *text)
{
    char path[512];
    struct dt_buf buf = {0};
    FILE *file;
    int c;

    snprintf(path, sizeof(path), "%s/%s", DT_SOURCE_DIR, name);
    if (getenv("DT_UPDATE_GOLDEN") && (file = fopen(path, "wb"))) {
        fputs(text, file);
        fclose(file);
        return;
    }
    file = fopen(path, "rb");
    if (!dt_check_true(file != NULL, path, __FILE__, __LINE__))
        return;
    while ((c = fgetc(file)) != EOF)
        dt_buf_byte(&buf, (char)c);
    fclose(file);
    CHECK_TEXT(text, dt_buf_str(&buf));
    dt_buf_release(&buf);
}

TEST(schema__file_is_what_the_table_prints)
{
    struct dt_tree *schema = dt_spec_schema();
    struct dt_buf json = {0};

    dt_json_write_pretty(&json, schema);
    dt_buf_byte(&json, '\n');
    check_file("schema/job.v1.schema.json", dt_buf_str(&json));
    dt_buf_release(&json);
    dt_tree_free(schema);
}

TEST(explain__tells_of_fields_lists_and_rules)
{
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_spec_explain(&buf, "", &err), DT_OK);
    CHECK_INT(dt_spec_explain(&buf, "restart.rules[0].on", &err), DT_OK);
    CHECK_INT(dt_spec_explain(&buf, "restart.rules", &err), DT_OK);
    CHECK_INT(dt_spec_explain(&buf, "resources.memory_per_node", &err), DT_OK);
    check_file("tests/golden/spec/explain.txt", dt_buf_str(&buf));
    CHECK_INT(dt_spec_explain(&buf, "resources.nods", &err), DT_NOT_FOUND);
    CHECK_TEXT(err.hint, "did you mean resources.nodes?");
    CHECK_INT(dt_spec_explain(&buf, "tensor", &err), DT_NOT_FOUND);
    CHECK_TEXT(err.hint, "did you mean parallel.tensor?");
    dt_buf_release(&buf);
}

TEST(man__has_every_field)
{
    struct dt_buf man = {0}, paths = {0};

    dt_spec_man(&man);
    dt_spec_complete(&paths, "");
    CHECK(strncmp(dt_buf_str(&man), ".TH JOB.YAML 5", 14) == 0);
    for (const char *at = dt_buf_str(&paths); *at; at += strcspn(at, "\n") + 1) {
        char row[128];

        snprintf(row, sizeof(row), ".B %.*s\n", (int)strcspn(at, "\n"), at);
        dt_check_true(strstr(dt_buf_str(&man), row) != NULL, row, __FILE__, __LINE__);
    }
    dt_buf_release(&man);
    dt_buf_release(&paths);
}

static void on_row(void *arg, const char *path, const struct dt_spec_field *field)
{
    size_t *rows = arg;

    (*rows)++;
    dt_check_true(field->help && field->help[0], path, __FILE__, __LINE__);
    dt_check_true(!(field->types & DT_SPEC_WORD) || field->words, path, __FILE__, __LINE__);
    dt_check_true(!(field->types & (DT_SPEC_LIST | DT_SPEC_DICT)) || field->item, path, __FILE__,
                  __LINE__);
    dt_check_true(!(field->types & DT_SPEC_MAP) || field->object, path, __FILE__, __LINE__);
    dt_check_true(!(field->types & (DT_SPEC_DURATION | DT_SPEC_SIZE)) || field->unit, path,
                  __FILE__, __LINE__);
}

TEST(table__rows_are_complete)
{
    size_t rows = 0;

    dt_spec_each(on_row, &rows);
    CHECK(rows > 130);
}

TEST(complete__lists_paths_by_prefix)
{
    struct dt_buf paths = {0};

    dt_spec_complete(&paths, "limits.");
    CHECK_TEXT(dt_buf_str(&paths), "limits.time\nlimits.queue_time\nlimits.grace\n"
                                   "limits.signal\nlimits.signal.name\nlimits.signal.before\n"
                                   "limits.log_bytes\n");
    dt_buf_release(&paths);
}
