/* The trainer's model: presets written out, and the divisions that must hold. */
#include "spec_table.h"

#include <string.h>

static const struct preset {
    const char *name, *arch;
    int layers, hidden, heads, kv_heads, ffn, vocab;
    bool is_tied;
    int positions; /* gpt2 */
} presets[] = {
    {"llama-nano", "llama", 4, 128, 4, 4, 344, 256, false, 0},
    {"bench-6m", "llama", 8, 256, 8, 8, 688, 256, false, 0},
    {"bench-38m", "llama", 12, 512, 8, 8, 1376, 256, false, 0},
    {"llama-1b", "llama", 16, 2048, 32, 8, 8192, 128256, true, 0},
    {"llama-3b", "llama", 28, 3072, 24, 8, 8192, 128256, true, 0},
    {"llama-7b", "llama", 32, 4096, 32, 32, 11008, 32000, false, 0},
    {"llama-13b", "llama", 40, 5120, 40, 40, 13824, 32000, false, 0},
    {"llama-70b", "llama", 80, 8192, 64, 8, 28672, 128256, false, 0},
    {"gpt2-124m", "gpt2", 12, 768, 12, 12, 3072, 50257, true, 1024},
    {"gpt3-13b", "gpt2", 40, 5120, 40, 40, 20480, 51200, true, 2048},
    {"gpt3-175b", "gpt2", 96, 12288, 96, 96, 49152, 51200, true, 2048},
};

static const struct preset *preset_find(const char *name)
{
    for (size_t i = 0; name && i < DT_COUNT(presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

/* A key that neither the preset nor a default gives. */
static void model_require(struct dt_tree *resolved, struct dt_problems *problems,
                          const char *path, const char *key)
{
    struct dt_tree *model = dt_spec_at(resolved, "trainer.model");
    struct dt_problem *problem;

    if (dt_tree_get(model, key))
        return;
    problem = dt_spec_problem(problems, resolved, path, "spec.required");
    dt_problem_text(problem, "%s is required", path);
    dt_problem_help(problem, strcmp(key, "vocab") == 0
                                 ? "the size of the vocabulary the token shards were made with"
                                 : "give it, or a preset such as llama-1b");
    dt_tree_add(model, key, dt_tree_make(DT_TREE_NULL));
}

static void model_from_preset(struct dt_tree *model, const struct preset *preset)
{
    dt_spec_default_str(model, "arch", preset->arch);
    dt_spec_default_int(model, "layers", preset->layers);
    dt_spec_default_int(model, "hidden", preset->hidden);
    dt_spec_default_int(model, "heads", preset->heads);
    dt_spec_default_int(model, "kv_heads", preset->kv_heads);
    dt_spec_default_int(model, "ffn", preset->ffn);
    dt_spec_default_int(model, "vocab", preset->vocab);
    if (!dt_tree_get(model, "tied"))
        dt_tree_put_bool(model, "tied", preset->is_tied);
    if (preset->positions)
        dt_spec_default_int(model, "positions", preset->positions);
}

static void model_defaults(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_tree *model = dt_spec_at(resolved, "trainer.model");
    bool is_gpt2;
    int64_t hidden, heads, seq_len;

    model_require(resolved, problems, "trainer.model.layers", "layers");
    model_require(resolved, problems, "trainer.model.hidden", "hidden");
    model_require(resolved, problems, "trainer.model.heads", "heads");
    if (dt_spec_at(resolved, "trainer.data.text"))
        dt_spec_default_int(model, "vocab", 256);
    else if (dt_spec_at(resolved, "trainer.data"))
        model_require(resolved, problems, "trainer.model.vocab", "vocab");
    dt_spec_default_str(model, "arch", "llama");
    is_gpt2 = strcmp(dt_tree_str(model, "arch", ""), "gpt2") == 0;
    if (dt_spec_int_at(model, "heads", &heads))
        dt_spec_default_int(model, "kv_heads", heads);
    if (dt_spec_int_at(model, "hidden", &hidden)) {
        int64_t grain = hidden >= 1024 ? 256 : 8;

        dt_spec_default_int(model, "ffn", is_gpt2 ? 4 * hidden
                                                  : ((8 * hidden + 2) / 3 + grain - 1) / grain *
                                                        grain);
    }
    if (!dt_tree_get(model, "tied"))
        dt_tree_put_bool(model, "tied", is_gpt2);
    if (dt_spec_int_at(resolved, "trainer.seq_len", &seq_len))
        dt_spec_default_int(model, "positions", is_gpt2 && seq_len < 1024 ? 1024 : seq_len);
}

/* whole must be a multiple of part; both are paths, words name them in the sentence. */
struct division {
    const char *whole, *whole_word;
    const char *part, *part_word;
};

static void check_division(struct dt_tree *resolved, struct dt_problems *problems,
                           const struct division *division)
{
    struct dt_problem *problem;
    struct dt_buf help = {0};
    int64_t whole, part;

    if (!dt_spec_int_at(resolved, division->whole, &whole) ||
        !dt_spec_int_at(resolved, division->part, &part) || whole % part == 0)
        return;
    problem = dt_spec_problem(problems, resolved, division->part, "spec.divide");
    dt_problem_text(problem, "%s (%lld) does not divide %s (%lld)", division->part_word,
                    (long long)part, division->whole_word, (long long)whole);
    dt_spec_divisors_print(&help, whole, part < 64 ? 64 : part);
    dt_problem_help(problem, "%s", dt_buf_str(&help));
    dt_buf_release(&help);
}

/* A tensor-parallel rank holds whole key-value heads, or a whole share of one. */
static void check_kv(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_problem *problem;
    int64_t tensor, kv;

    if (!dt_spec_int_at(resolved, "parallel.tensor", &tensor) ||
        !dt_spec_int_at(resolved, "trainer.model.kv_heads", &kv) || tensor % kv == 0 ||
        kv % tensor == 0)
        return;
    problem = dt_spec_problem(problems, resolved, "parallel.tensor", "spec.divide");
    dt_problem_text(problem, "parallel.tensor (%lld) and kv_heads (%lld): neither divides the "
                             "other", (long long)tensor, (long long)kv);
}

static void check_bounds(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct dt_problem *problem;
    int64_t pipeline, layers, seq_len, positions, vocab, hidden, heads;

    if (dt_spec_int_at(resolved, "parallel.pipeline", &pipeline) &&
        dt_spec_int_at(resolved, "trainer.model.layers", &layers) && pipeline > layers) {
        problem = dt_spec_problem(problems, resolved, "parallel.pipeline", "spec.range");
        dt_problem_text(problem, "parallel.pipeline (%lld) is more than the %lld layers",
                        (long long)pipeline, (long long)layers);
    }
    if (dt_spec_int_at(resolved, "trainer.seq_len", &seq_len) &&
        dt_spec_int_at(resolved, "trainer.model.positions", &positions) && seq_len > positions) {
        problem = dt_spec_problem(problems, resolved, "trainer.seq_len", "spec.range");
        dt_problem_text(problem, "trainer.seq_len (%lld) is longer than the model's %lld "
                                 "positions", (long long)seq_len, (long long)positions);
    }
    if (dt_spec_at(resolved, "trainer.data.text") &&
        dt_spec_int_at(resolved, "trainer.model.vocab", &vocab) && vocab < 256) {
        problem = dt_spec_problem(problems, resolved, "trainer.model.vocab", "spec.range");
        dt_problem_text(problem, "trainer.model.vocab (%lld) is too small for bytes",
                        (long long)vocab);
        dt_problem_help(problem, "data.text makes a token of each byte: at least 256");
    }
    if (dt_spec_int_at(resolved, "trainer.model.hidden", &hidden) &&
        dt_spec_int_at(resolved, "trainer.model.heads", &heads) && hidden % heads == 0 &&
        hidden / heads % 2) {
        problem = dt_spec_problem(problems, resolved, "trainer.model.heads", "spec.divide");
        dt_problem_text(problem, "hidden / heads (%lld / %lld) is odd", (long long)hidden,
                        (long long)heads);
        dt_problem_help(problem, "rotary positions turn pairs of channels");
    }
}

void dt_spec_model(struct dt_tree *resolved, struct dt_problems *problems)
{
    static const struct division divisions[] = {
        {"trainer.model.hidden", "hidden", "trainer.model.heads", "trainer.model.heads"},
        {"trainer.model.heads", "heads", "trainer.model.kv_heads", "trainer.model.kv_heads"},
        {"trainer.model.heads", "heads", "parallel.tensor", "parallel.tensor"},
        {"trainer.model.ffn", "ffn", "parallel.tensor", "parallel.tensor"},
        {"trainer.seq_len", "seq_len", "parallel.context", "parallel.context"},
    };
    struct dt_tree *model = dt_spec_at(resolved, "trainer.model");
    const struct dt_tree *named;
    const struct preset *preset;

    if (!model)
        return;
    named = dt_tree_get(model, "preset");
    if (named && named->kind == DT_TREE_NULL)
        return; /* refused already: its shape is unknown */
    preset = preset_find(dt_tree_str(model, "preset", NULL));
    if (preset)
        model_from_preset(model, preset);
    model_defaults(resolved, problems);
    for (size_t i = 0; i < DT_COUNT(divisions); i++)
        check_division(resolved, problems, &divisions[i]);
    check_kv(resolved, problems);
    check_bounds(resolved, problems);
}
