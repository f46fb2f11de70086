/* What to train and how: the resolved job specification, checked and made into numbers. */
#include "config.h"

#include "dt/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number within bounds; absent gives *value as it is. */
static enum dt_code read_int(const struct dt_tree *map, const char *key, int64_t least,
                             int64_t *value, struct dt_err *err)
{
    const struct dt_tree *member = dt_tree_get(map, key);

    if (!member || member->kind == DT_TREE_NULL)
        return DT_OK;
    if (member->kind != DT_TREE_INT || member->int_value < least)
        return dt_fail(err, DT_INVALID, "%s: expected an integer of at least %lld", key,
                       (long long)least);
    *value = member->int_value;
    return DT_OK;
}

/* A number from 0 on, written as an integer, a float or a decimal text; absent: as it is. */
static enum dt_code read_number(const struct dt_tree *member, const char *key, double *value,
                                struct dt_err *err)
{
    char *end = NULL;
    double number;

    if (!member || member->kind == DT_TREE_NULL)
        return DT_OK;
    if (member->kind == DT_TREE_INT)
        number = (double)member->int_value;
    else if ((member->kind == DT_TREE_FLOAT || member->kind == DT_TREE_STR) && member->text)
        number = strtod(member->text, &end);
    else
        return dt_fail(err, DT_INVALID, "%s: expected a number, found %s", key,
                       dt_tree_kind_name(member->kind));
    if ((end && (*end || end == member->text)) || !isfinite(number) || number < 0)
        return dt_fail(err, DT_INVALID, "%s: expected a number from 0 on", key);
    *value = number;
    return DT_OK;
}

static enum dt_code read_model(const struct dt_tree *map, const struct dt_tree *trainer,
                               struct config *config, struct dt_err *err)
{
    struct dt_model *m = &config->model;
    const char *preset = map && map->kind == DT_TREE_STR ? map->text
                                                         : dt_tree_str(map, "preset", NULL);
    const char *arch;
    enum dt_code code;

    if (preset && !dt_model_preset(preset, m))
        return dt_fail(err, DT_INVALID, "trainer.model.preset: \"%s\" is not known", preset);
    arch = dt_tree_str(map, "arch", dt_arch_name(m->arch));
    if (strcmp(arch, "llama") != 0 && strcmp(arch, "gpt2") != 0)
        return dt_fail(err, DT_INVALID, "trainer.model.arch: expected llama or gpt2, found %s",
                       arch);
    m->arch = strcmp(arch, "gpt2") == 0 ? DT_ARCH_GPT2 : DT_ARCH_LLAMA;
    if (!preset) {
        m->vocab = 256;
        m->is_tied = m->arch == DT_ARCH_GPT2;
    }
    if ((code = read_int(map, "layers", 1, &m->layers, err)) ||
        (code = read_int(map, "hidden", 1, &m->hidden, err)) ||
        (code = read_int(map, "heads", 1, &m->heads, err)) ||
        (code = read_int(map, "vocab", 2, &m->vocab, err)))
        return code;
    if (!preset) {
        m->kv_heads = m->heads;
        m->ffn = m->arch == DT_ARCH_GPT2 ? 4 * m->hidden : (8 * m->hidden / 3 + 7) / 8 * 8;
    }
    config->seq = preset && strcmp(preset, "llama-nano") == 0 ? 64 : 1024;
    if ((code = read_int(map, "kv_heads", 1, &m->kv_heads, err)) ||
        (code = read_int(map, "ffn", 1, &m->ffn, err)) ||
        (code = read_int(trainer, "seq_len", 1, &config->seq, err)))
        return code;
    m->is_tied = dt_tree_bool(map, "tied", m->is_tied);
    if (m->arch == DT_ARCH_LLAMA)
        m->positions = config->seq;
    else if (!preset)
        m->positions = config->seq > 1024 ? config->seq : 1024;
    if ((code = read_int(map, "positions", 1, &m->positions, err)) ||
        (code = dt_model_check(m, err)))
        return code;
    if (config->seq > m->positions)
        return dt_fail(err, DT_INVALID, "trainer.seq_len (%lld) is longer than the model's %lld "
                       "positions", (long long)config->seq, (long long)m->positions);
    return DT_OK;
}

/* One text or a list of texts (or of maps that name a file); appended to *list. */
static enum dt_code read_paths(const struct dt_tree *member, const char *key, char ***list,
                               size_t *count, struct dt_err *err)
{
    const struct dt_tree *item = member && member->kind == DT_TREE_LIST ? member->first : member;

    if (!member)
        return DT_OK;
    *list = dt_alloc(member->kind == DT_TREE_LIST ? member->count + 1 : 1, sizeof(**list));
    for (; item; item = member->kind == DT_TREE_LIST ? item->next : NULL) {
        const char *text = item->kind == DT_TREE_STR ? item->text
                                                     : dt_tree_str(item, "file", NULL);

        if (!text || *count >= CONFIG_PATHS_MAX)
            return dt_fail(err, DT_INVALID, "trainer.data.%s: expected a text or a list of at "
                           "most %d", key, CONFIG_PATHS_MAX);
        (*list)[(*count)++] = dt_copy_text(text);
    }
    return DT_OK;
}

/* The weights of a list of files: all have one, or none has. */
static enum dt_code read_weights(const struct dt_tree *train, struct config *config,
                                 struct dt_err *err)
{
    const struct dt_tree *item = train && train->kind == DT_TREE_LIST ? train->first : NULL;
    size_t weighted = 0;
    enum dt_code code;

    config->weights = dt_alloc(config->train_count + 1, sizeof(*config->weights));
    for (size_t i = 0; item; item = item->next, i++) {
        const struct dt_tree *weight = dt_tree_get(item, "weight");

        weighted += weight != NULL;
        if ((code = read_number(weight, "trainer.data.train.weight", &config->weights[i], err)))
            return code;
    }
    if (weighted && weighted != config->train_count)
        return dt_fail(err, DT_INVALID, "trainer.data.train: %zu of %zu files have a weight, "
                       "expected all or none", weighted, config->train_count);
    if (!weighted) {
        dt_free(config->weights);
        config->weights = NULL;
    }
    return DT_OK;
}

static enum dt_code read_data(const struct dt_tree *data, struct config *config,
                              struct dt_err *err)
{
    enum dt_code code;

    if ((code = read_paths(dt_tree_get(data, "text"), "text", &config->text,
                           &config->text_count, err)) ||
        (code = read_paths(dt_tree_get(data, "train"), "train", &config->train,
                           &config->train_count, err)) ||
        (code = read_weights(dt_tree_get(data, "train"), config, err)))
        return code;
    config->eval = dt_copy_text(dt_tree_str(data, "eval", NULL));
    if ((config->text_count == 0) == (config->train_count == 0))
        return dt_fail(err, DT_INVALID, "trainer.data needs exactly one of text and train");
    if (config->text_count && config->model.vocab < 256)
        return dt_fail(err, DT_INVALID, "trainer.model.vocab (%lld) is too small for bytes",
                       (long long)config->model.vocab);
    return DT_OK;
}

/* Members that say how to compute, not what. */
static enum dt_code read_way(const struct dt_tree *trainer, struct config *config,
                             struct dt_err *err)
{
    const char *word = dt_tree_str(trainer, "recompute", "none");

    if (!dt_recompute_read(word, &config->recompute))
        return dt_fail(err, DT_INVALID, "trainer.recompute: expected none, selective or full, "
                       "found %s", word);
    if (dt_tree_str(trainer, "tokenizer", NULL))
        return dt_fail(err, DT_UNSUPPORTED, "trainer.tokenizer is not supported: token shards "
                       "hold numbers already");
    config->is_deterministic = dt_tree_bool(trainer, "deterministic", false);
    return DT_OK;
}

static enum dt_code read_length(const struct dt_tree *trainer, struct config *config,
                                struct dt_err *err)
{
    int64_t tokens = 0;
    enum dt_code code;

    config->micro_batch = 1;
    if ((code = read_int(trainer, "micro_batch", 1, &config->micro_batch, err)))
        return code;
    config->global_batch = config->micro_batch;
    if ((code = read_int(trainer, "global_batch", 1, &config->global_batch, err)) ||
        (code = read_int(trainer, "steps", 1, &config->steps, err)) ||
        (code = read_int(trainer, "tokens", 1, &tokens, err)))
        return code;
    if (config->global_batch % config->micro_batch)
        return dt_fail(err, DT_INVALID, "trainer.global_batch (%lld) is not a multiple of "
                       "micro_batch (%lld)", (long long)config->global_batch,
                       (long long)config->micro_batch);
    if (!config->steps && tokens)
        config->steps = (tokens - 1) / (config->global_batch * config->seq) + 1;
    if (!config->steps)
        return dt_fail(err, DT_INVALID, "trainer needs steps or tokens");
    if (config->global_batch > (1 << 24) || config->steps > ((int64_t)1 << 40))
        return dt_fail(err, DT_INVALID, "trainer: a batch of at most 2^24 and 2^40 steps");
    return DT_OK;
}

static enum dt_code read_optimizer(const struct dt_tree *trainer, struct config *config,
                                   struct dt_err *err)
{
    const struct dt_tree *map = dt_tree_get(trainer, "optimizer");
    const struct dt_tree *betas = dt_tree_get(map, "betas");
    const char *name = dt_tree_str(map, "name", "adamw");
    enum dt_code code;

    config->lr.peak = 3e-4, config->beta1 = 0.9, config->beta2 = 0.95, config->decay = 0.1;
    config->clip = 1.0, config->eps = 1e-8;
    if (strcmp(name, "adamw") != 0)
        return dt_fail(err, DT_INVALID, "trainer.optimizer.name: expected adamw, found %s", name);
    if (betas && (betas->kind != DT_TREE_LIST || betas->count != 2))
        return dt_fail(err, DT_INVALID, "trainer.optimizer.betas: expected two numbers");
    if ((code = read_number(dt_tree_get(map, "lr"), "trainer.optimizer.lr", &config->lr.peak,
                            err)) ||
        (code = read_number(dt_tree_get(map, "weight_decay"), "trainer.optimizer.weight_decay",
                            &config->decay, err)) ||
        (code = read_number(dt_tree_get(map, "clip"), "trainer.optimizer.clip", &config->clip,
                            err)) ||
        (code = read_number(dt_tree_get(map, "eps"), "trainer.optimizer.eps", &config->eps,
                            err)))
        return code;
    if (betas && ((code = read_number(betas->first, "trainer.optimizer.betas", &config->beta1,
                                      err)) ||
                  (code = read_number(betas->last, "trainer.optimizer.betas", &config->beta2,
                                      err))))
        return code;
    if (config->beta1 >= 1 || config->beta2 >= 1)
        return dt_fail(err, DT_INVALID, "trainer.optimizer.betas: expected numbers below 1");
    return DT_OK;
}

static enum dt_code read_schedule(const struct dt_tree *trainer, struct config *config,
                                  struct dt_err *err)
{
    const struct dt_tree *map = dt_tree_get(trainer, "schedule");
    const struct dt_tree *eval = dt_tree_get(trainer, "eval");
    static const char *const falls[] = {"cosine", "linear", "constant"};
    const char *name = dt_tree_str(map, "name", "cosine");
    const char *precision = dt_tree_str(trainer, "precision", "fp32");
    int64_t warmup = config->steps < 100 ? 1 : config->steps / 100;
    size_t fall = 0;
    enum dt_code code;

    while (strcmp(name, falls[fall]) != 0)
        if (++fall == DT_COUNT(falls))
            return dt_fail(err, DT_INVALID, "trainer.schedule.name: expected cosine, linear or "
                           "constant, found %s", name);
    config->lr.fall = (enum lr_fall)fall;
    if (strcmp(precision, "fp32") != 0)
        return dt_fail(err, DT_INVALID, "trainer.precision: %s is not supported on the CPU; "
                       "expected fp32", precision);
    if ((code = read_int(dt_tree_get(map, "warmup"), "steps", 0, &warmup, err)))
        return code;
    config->lr.floor = 0.1 * config->lr.peak;
    if ((code = read_number(dt_tree_get(map, "min_lr"), "trainer.schedule.min_lr",
                            &config->lr.floor, err)))
        return code;
    config->lr.warmup = warmup * config->global_batch;
    config->lr.horizon = config->steps * config->global_batch;
    if (eval && eval->kind == DT_TREE_MAP) {
        config->eval_steps = 10;
        if ((code = read_int(dt_tree_get(eval, "every"), "steps", 1, &config->eval_every, err)) ||
            (code = read_int(eval, "steps", 1, &config->eval_steps, err)))
            return code;
    }
    return DT_OK;
}

static enum dt_code read_checkpoint(const struct dt_tree *map, struct config *config,
                                    struct dt_err *err)
{
    const struct dt_tree *every = dt_tree_get(map, "every"), *keep = dt_tree_get(map, "keep");
    enum dt_code code;

    config->checkpoint_dir = dt_copy_text(dt_tree_str(map, "dir", NULL));
    config->resume = dt_copy_text(dt_tree_str(map, "resume", "auto"));
    config->is_verified = dt_tree_bool(map, "verify", true);
    config->keep_last = 3;
    if (every && every->kind == DT_TREE_MAP) {
        if ((code = read_int(every, "steps", 1, &config->save_steps, err)))
            return code;
    } else if (every && every->kind == DT_TREE_STR && strcmp(every->text, "auto") != 0) {
        if ((code = dt_parse_duration_ms(every->text, &config->save_ms, err))) {
            dt_prefix(err, "checkpoint.every");
            return code;
        }
    }
    if (keep && keep->kind == DT_TREE_MAP) {
        if ((code = read_int(keep, "last", 1, &config->keep_last, err)) ||
            (code = read_int(dt_tree_get(keep, "every"), "steps", 1, &config->keep_every, err)))
            return code;
    }
    return keep && keep->kind == DT_TREE_INT ? read_int(map, "keep", 1, &config->keep_last, err)
                                             : DT_OK;
}

/* Layouts that this trainer does not run yet are refused, not ignored. */
static enum dt_code read_parallel(const struct dt_tree *map, struct dt_err *err)
{
    static const char *const degrees[] = {"tensor", "pipeline", "context", "expert"};

    for (size_t i = 0; i < DT_COUNT(degrees); i++)
        if (dt_tree_int(map, degrees[i], 1) != 1)
            return dt_fail(err, DT_UNSUPPORTED, "parallel.%s: only 1 is supported, found %lld",
                           degrees[i], (long long)dt_tree_int(map, degrees[i], 1));
    if (dt_tree_int(map, "zero", 0) != 0)
        return dt_fail(err, DT_UNSUPPORTED, "parallel.zero: only 0 is supported, found %lld",
                       (long long)dt_tree_int(map, "zero", 0));
    return DT_OK;
}

enum dt_code config_read(const struct dt_tree *tree, struct config *config, struct dt_err *err)
{
    const struct dt_tree *trainer = dt_tree_get(tree, "trainer");
    struct config draft = {0};
    int64_t seed = 0;
    enum dt_code code;

    if (!trainer) {
        code = dt_fail(err, DT_INVALID, "the configuration has no trainer member");
        goto out;
    }
    snprintf(draft.name, sizeof(draft.name), "%s", dt_tree_str(tree, "name", "train"));
    draft.output_dir = dt_copy_text(dt_tree_str(dt_tree_get(tree, "output"), "dir", NULL));
    if ((code = read_model(dt_tree_get(trainer, "model"), trainer, &draft, err)) ||
        (code = read_data(dt_tree_get(trainer, "data"), &draft, err)) ||
        (code = read_length(trainer, &draft, err)) ||
        (code = read_way(trainer, &draft, err)) ||
        (code = read_optimizer(trainer, &draft, err)) ||
        (code = read_schedule(trainer, &draft, err)) ||
        (code = read_int(trainer, "seed", 0, &seed, err)) ||
        (code = read_parallel(dt_tree_get(tree, "parallel"), err)) ||
        (code = read_checkpoint(dt_tree_get(tree, "checkpoint"), &draft, err)))
        goto out;
    draft.seed = (uint64_t)seed;
    *config = draft;
    draft = (struct config){0};
out:
    config_release(&draft);
    return code;
}

struct dt_run_shape config_run_shape(const struct config *config, int threads)
{
    return (struct dt_run_shape){.model = config->model, .seq = config->seq,
                                 .micro_batch = config->micro_batch, .threads = threads,
                                 .recompute = config->recompute,
                                 .is_exact = config->is_deterministic};
}

void config_release(struct config *config)
{
    for (size_t i = 0; i < config->text_count; i++)
        dt_free(config->text[i]);
    for (size_t i = 0; i < config->train_count; i++)
        dt_free(config->train[i]);
    dt_free(config->text);
    dt_free(config->train);
    dt_free(config->weights);
    dt_free(config->eval);
    dt_free(config->output_dir);
    dt_free(config->checkpoint_dir);
    dt_free(config->resume);
    *config = (struct config){0};
}
