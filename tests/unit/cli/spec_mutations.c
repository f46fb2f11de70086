/* One wrong thing in a right job: each is refused with its code, at its place. */
#include <stdio.h>
#include <string.h>

#include "reading.h"
#include "test.h"

#define TINY "deploy/examples/tiny-cpu.yaml"
#define BIG "deploy/examples/llm-13b-pretrain.yaml"
#define ELASTIC "deploy/examples/llm-3b-elastic.yaml"
#define TORCH "deploy/examples/finetune-vit.yaml"

static const struct {
    const char *file, *right, *wrong; /* the first `right` becomes `wrong` */
    const char *problem;              /* the first: code line:column */
} mutations[] = {
    {TINY, "version: 1", "version: 2", "spec.range 1:10"},
    {TINY, "version: 1\n", "", "spec.required 1:1"},
    {TINY, "version: 1", "version: \"1\"", "spec.quoted-number 1:10"},
    {TINY, "version: 1", "version: 01", "spec.leading-zero 1:10"},
    {TINY, "name: tiny-cpu", "name: Tiny_CPU", "spec.name 2:7"},
    {TINY, "name: tiny-cpu", "name: -tiny", "spec.name 2:7"},
    {TINY, "name: tiny-cpu", "name:", "spec.null 2:6"},
    {TINY, "nodes: 2", "nodes: 0", "spec.range 4:10"},
    {TINY, "nodes: 2", "nodes: two", "spec.type 4:10"},
    {TINY, "nodes: 2", "nodes: 2.5", "spec.type 4:10"},
    {TINY, "nodes: 2", "nodes: \"2\"", "spec.quoted-number 4:10"},
    {TINY, "nodes: 2", "nodes: 010", "spec.leading-zero 4:10"},
    {TINY, "nodes: 2", "nodes: 20000", "spec.range 4:10"},
    {TINY, "nodes: 2", "nodes: [2]", "spec.type 4:10"},
    {TINY, "nodes: 2", "node: 2", "spec.unknown-key 4:3"},
    {TINY, "ranks_per_node: 1", "ranks_per_node: 0x1", "spec.type 5:19"},
    {TINY, "memory_per_node: 2GiB", "memory_per_node: 2048", "spec.size-unit 6:20"},
    {TINY, "memory_per_node: 2GiB", "memory_per_node: 2G", "spec.size 6:20"},
    {TINY, "memory_per_node: 2GiB", "memory_per_node: lots", "spec.size 6:20"},
    {TINY, "memory_per_node: 2GiB", "gpu_type: a100", "spec.needs 6:13"},
    {TINY, "memory_per_node: 2GiB", "exclusive: yes", "spec.bool 6:14"},
    {TINY, "memory_per_node: 2GiB", "exclusive: True", "spec.bool 6:14"},
    {TINY, "memory_per_node: 2GiB", "include: [\"n[1-\"]", "spec.hosts 6:13"},
    {TINY, "memory_per_node: 2GiB", "include: n1", "spec.hosts 6:12"},
    {TINY, "memory_per_node: 2GiB", "constraints: [\"rack = r1\"]", "spec.constraint 6:17"},
    {TINY, "memory_per_node: 2GiB", "tensor: 2", "spec.unknown-key 6:3"},
    {TINY, "{preset: llama-nano}", "{preset: llama-nan}", "spec.word 8:19"},
    {TINY, "{preset: llama-nano}", "{layers: 4, hidden: 128}", "spec.required 8:3"},
    {TINY, "{preset: llama-nano}", "{layers: 4, hidden: 130, heads: 4}", "spec.divide 8:42"},
    {TINY, "{preset: llama-nano}", "{preset: llama-nano, vocab: 255}", "spec.range 8:38"},
    {TINY, "seq_len: 64", "seq_len: 1", "spec.range 10:12"},
    {TINY, "micro_batch: 4", "micro_batch: 3", "spec.divide 12:17"},
    {TINY, "global_batch: 16", "global_batch: 4", "spec.batch 12:17"},
    {TINY, "steps: 200", "steps: 200\n  tokens: 5", "spec.one-of 14:11"},
    {TINY, "  steps: 200\n", "", "spec.one-of 7:1"},
    {TINY, "precision: fp32", "precision: fp23", "spec.word 14:14"},
    {TINY, "lr: 3e-3", "lr: -1", "spec.range 15:32"},
    {TINY, "lr: 3e-3", "lr: .inf", "spec.type 15:32"},
    {TINY, "lr: 3e-3", "lr: \"3e-3\"", "spec.quoted-number 15:32"},
    {TINY, "name: adamw", "name: adam", "spec.word 15:21"},
    {TINY, "seed: 7", "seed: -7", "spec.range 16:9"},
    {TINY, "seed: 7", "seed: null", "spec.null 16:9"},
    {TINY, "every: {steps: 50}", "every: 50", "spec.duration-unit 18:10"},
    {TINY, "every: {steps: 50}", "every: {step: 50}", "spec.unknown-key 18:11"},
    {TINY, "keep: 2", "keep: 0", "spec.range 19:9"},
    {TINY, "keep: 2", "dir: ckpt", "spec.path 19:8"},
    {TINY, "time: 10m", "time: 10", "spec.duration-unit 21:9"},
    {TINY, "time: 10m", "time: 10min", "spec.duration 21:9"},
    {TINY, "time: 10m", "time: 1:30:00", "spec.duration-unit 21:9"},
    {TINY, "time: 10m", "time: 0s", "spec.range 21:9"},
    {TINY, "time: 10m", "time: ~", "spec.null 21:9"},
    {TINY, "limits:", "launch: torch\nlimits:", "spec.launch 20:9"},
    {TINY, "limits:", "script: exit 0\nlimits:", "spec.one-of 20:1"},
    {TINY, "limits:", "keep: 2\nlimits:", "spec.unknown-key 20:1"},
    {TINY, "limits:", "parallel: {data: 3}\nlimits:", "spec.world 20:18"},
    {TINY, "limits:", "begin: 2026-12-01T08:00:00\nlimits:", "spec.instant-offset 20:8"},
    {TINY, "limits:", "deadline: tomorrow\nlimits:", "spec.instant 20:11"},
    {TINY, "limits:", "container: docker\nlimits:", "spec.type 20:12"},
    {TINY, "limits:", "after: prep\nlimits:", "spec.type 20:8"},
    {TINY, "limits:", "on_control_loss: {stop: never}\nlimits:", "spec.duration 20:25"},
    {TINY, "limits:", "labels: {zip: 010}\nlimits:", "spec.leading-zero 20:15"},
    {TINY, "limits:", "labels: {note: \"a\\eb\"}\nlimits:", "spec.control-character 20:16"},
    {TINY, "limits:", "priority: 1001\nlimits:", "spec.range 20:11"},
    {TINY, "limits:", "priority: urgent\nlimits:", "spec.type 20:11"},
    {TINY, "limits:", "preempt: false\nlimits:", "spec.type 20:10"},
    {BIG, "tensor: 2", "tensor: 3", "spec.divide 19:11"},
    {BIG, "tensor: 2", "tensor: 4", "spec.world 21:9"},
    {BIG, "pipeline: 1", "pipeline: 80\n  context: 1", "spec.world 20:13"},
    {BIG, "heads: 40", "heads: 42", "spec.divide 27:12"},
    {BIG, "heads: 40", "heads: 40\n    kv_heads: 7", "spec.divide 19:11"},
    {BIG, "global_batch: 1024 ", "global_batch: 60 ", "spec.batch 36:17"},
    {BIG, "betas: [0.9, 0.95]", "betas: [0.9]", "spec.range 40:45"},
    {BIG, "betas: [0.9, 0.95]", "betas: [0.9, 1.0]", "spec.range 40:51"},
    {BIG, "min_lr: 3e-5", "min_lr: 3e-3", "spec.order 41:59"},
    {BIG, "warmup: {steps: 2000}", "warmup: {steps: 200000}", "spec.order 41:44"},
    {BIG, "eval: /data/corpus/eval.bin",
     "evaluation: /data/corpus/eval.bin", "spec.unknown-key 33:5"},
    {BIG, "    eval: /data/corpus/eval.bin\n", "", "spec.needs 41:3"},
    {BIG, "{on: nan, action: rollback}",
     "{on: nan, codes: [1], action: rollback}", "spec.needs 55:24"},
    {BIG, "{on: nan, action: rollback}", "{on: nan, action: shrink}", "spec.needs 55:25"},
    {BIG, "{on: nan, action: rollback}", "{on: nan}", "spec.required 55:7"},
    {BIG, "{on: nan, action: rollback}", "{on: no, action: rollback}", "spec.word 55:12"},
    {BIG, "codes: [2], action: fail", "codes: [two], action: fail", "spec.type 56:26"},
    {BIG, "precheck: [gpu, nvlink, ib, allreduce]",
     "precheck: [gpu, nvlink, ip, allreduce]", "spec.word 58:27"},
    {BIG, "factor: 1.25", "factor: 0.9", "spec.range 60:23"},
    {BIG, "tensorboard: true", "tensorboard: on", "spec.bool 67:16"},
    {BIG, "tensorboard: true", "rank_logs: 1", "spec.type 67:14"},
    {BIG, "priority: high", "priority: high\npriority: low", "yaml.duplicate-key 6:1"},
    {BIG, "priority: high", "priority: &p high", "yaml.anchor 5:11"},
    {BIG, "priority: high", "priority: *p", "yaml.alias 5:11"},
    {BIG, "priority: high", "priority: !!str high", "yaml.tag 5:11"},
    {BIG, "priority: high", "<<: {priority: high}", "yaml.merge 5:1"},
    {BIG, "webhook: ops-chat", "webhook: ops-chat, command: [x]", "spec.one-of 70:5"},
    {ELASTIC, "max: 16", "max: 2", "spec.range 6:24"},
    {ELASTIC, "max: 16", "max: 15", "spec.divide 6:24"},
    {ELASTIC, "data: auto", "data: 16", "spec.elastic 12:9"},
    {ELASTIC, "  global_batch: 768 ", "  # ", "spec.required 14:1"},
    {ELASTIC, "global_batch: 768 ", "global_batch: 60 ", "spec.batch 19:17"},
    {ELASTIC, "tensor: 8", "tensor: 12", "spec.divide 11:11"},
    {ELASTIC, "zero: 2", "zero: 4", "spec.range 13:9"},
    {ELASTIC, "min_run: 20m", "min_run: 20", "spec.duration-unit 23:35"},
    {TORCH, "gpus_per_node: 4", "gpus_per_node: 4\n  ranks_per_node: 3", "spec.divide 6:19"},
    {TORCH, "gpus_per_node: 4", "gpus_per_node: 65", "spec.range 5:18"},
    {TORCH, "launch: torch", "launch: torchrun", "spec.word 8:9"},
    {TORCH, "workdir: /home/ana/vit", "workdir: vit", "spec.path 9:10"},
    {TORCH, "DATA_ROOT: null ", "1DATA: x ", "spec.env-name 12:3"},
    {TORCH, "DATA_ROOT: null ", "DATA_ROOT: 1.10 ", "spec.unquoted 12:14"},
    {TORCH, "PYTHONUNBUFFERED: \"1\"",
     "PYTHONUNBUFFERED: yes\n  PYTHONUNBUFFERED: \"1\"", "yaml.duplicate-key 12:3"},
    {TORCH, "secrets: [HF_TOKEN]", "secrets: HF_TOKEN", "spec.type 13:10"},
    {TORCH, "{name: USR1, before: 90s}", "{name: USR1, before: 13h}", "spec.order 26:32"},
    {TORCH, "{name: USR1, before: 90s}", "{name: SIGUSR1, before: 90s}", "spec.word 26:18"},
    {TORCH, "  time: 12h\n", "", "spec.needs 25:3"},
    {TORCH, "{job: prep-imagenet, on: ok}", "{job: prep-imagenet, on: done}", "spec.word 28:30"},
    {TORCH, "{job: prep-imagenet, on: ok}", "prep-imagenet", "spec.type 28:5"},
    {TORCH, "window: 12h", "window: 12h30s5m", "spec.duration 22:11"},
    {TORCH, "max: 3", "max: 3\n  backoff: {initial: 10m}", "spec.order 22:22"},
    {TINY, "resources:", "resources:\n\tnodes: 3", "yaml.tab 4:1"},
    {TINY, "resources:", "resources", "yaml.colon 3:1"},
    {TINY, "  nodes: 2", "  nodes:2", "yaml.colon 4:8"},
    {TINY, "  memory_per_node: 2GiB", "   memory_per_node: 2GiB", "yaml.indent 6:4"},
    {TINY, "  memory_per_node: 2GiB", " memory_per_node: 2GiB", "yaml.indent 6:2"},
    {TINY, "[\"/usr/share/perl/*/pod/*.pod\"]",
     "[\"/usr/share/perl/*/pod/*.pod\"", "yaml.unclosed 9:16"},
    {TINY, "name: tiny-cpu", "name: \"tiny-cpu", "yaml.unclosed 2:7"},
    {TINY, "name: tiny-cpu", "name: 'tiny-cpu", "yaml.unclosed 2:7"},
    {TINY, "name: tiny-cpu", "name: @tiny", "yaml.unquoted 2:7"},
    {TINY, "name: tiny-cpu", "name: %tiny", "yaml.unquoted 2:7"},
    {TINY, "name: tiny-cpu", "name: *.tiny", "yaml.unquoted 2:7"},
    {TINY, "name: tiny-cpu", "name: tiny: cpu", "yaml.colon 2:11"},
    {TINY, "limits:", "---\nlimits:", "yaml.documents 20:1"},
    {TINY, "limits:", "? [a, b]\n: c\nlimits:", "yaml.key 20:3"},
    {TINY, "{steps: 50}", "{steps: 50", "yaml.unclosed 18:10"},
    {TINY, "name: tiny-cpu", "name: tiny\001cpu", "yaml.control-character 2:11"},
    {TINY, "limits:", "tp: 2\nlimits:", "spec.unknown-key 20:1"},
    {TINY, "nodes: 2", "num_nodes: 2", "spec.unknown-key 4:3"},
    {TINY, "time: 10m", "walltime: 10m", "spec.unknown-key 21:3"},
    {TINY, "limits:", "partition: gpu\nlimits:", "spec.unknown-key 20:1"},
    {TINY, "optimizer: {name: adamw, lr: 3e-3}",
     "optimizer: {name: adamw lr: 3e-3}", "yaml.comma 15:29"},
    {TINY, "limits:", "env: {DT X: 1}\nlimits:", "spec.env-name 20:7"},
    {BIG, "labels: {team: pretraining, run: \"2026-12-a\"}", "labels: [team]", "spec.type 6:9"},
    {ELASTIC, "{min: 4, max: 16, step: 4}", "{min: 4}", "spec.required 6:3"},
    {TINY, "text: [\"/usr/share/perl/*/pod/*.pod\"]", "text: []", "spec.range 9:16"},
    {TINY, "text: [\"/usr/share/perl/*/pod/*.pod\"]", "text: /a, train: /b", "spec.one-of 9:3"},
    {TINY, "every: {steps: 50}", "every: -5s", "spec.duration 18:10"},
    {TINY, "memory_per_node: 2GiB", "gpus_per_node: 9223372036854775808", "spec.type 6:18"},
    {BIG, "hang_timeout: 8m", "hang_timeout: never", "spec.duration 59:17"},
    {BIG, "keep: {last: 3, every: {steps: 10000}}",
     "keep: {last: 3, every: 10000}", "spec.type 47:26"},
};

static void check_mutation(size_t index)
{
    size_t size = 0, at;
    char *text = source_file(mutations[index].file, &size), name[256];
    const char *found = text ? strstr(text, mutations[index].right) : NULL;
    struct dt_buf changed = {0};
    struct reading reading;

    snprintf(name, sizeof(name), "%s: %s", mutations[index].file, mutations[index].wrong);
    if (!dt_check_true(found != NULL, name, __FILE__, __LINE__))
        return;
    at = (size_t)(found - text);
    dt_buf_add(&changed, text, at);
    dt_buf_text(&changed, mutations[index].wrong);
    dt_buf_text(&changed, found + strlen(mutations[index].right));
    reading = reading_of(changed.data, changed.size);
    dt_check_int(reading.code, DT_INVALID, name, __FILE__, __LINE__);
    dt_check_text(reading_first(&reading), mutations[index].problem, name, __FILE__, __LINE__);
    reading_release(&reading);
    dt_buf_release(&changed);
    dt_free(text);
}

TEST(spec__refuses_every_mutation_at_its_place)
{
    for (size_t i = 0; i < DT_COUNT(mutations); i++)
        check_mutation(i);
}
