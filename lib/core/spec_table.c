/* Every field of job.yaml in one table: name, type, unit, default, bounds, help. */
#include "spec_table.h"

#define OBJECT(rows) {rows, DT_COUNT(rows)}
#define INTO(member) (offsetof(struct dt_spec, member) + 1)
#define MS_MAX (366LL * 10 * 86400000)
#define BYTES_MAX (1LL << 60)
#define BATCH_MAX (1 << 24)
#define STEPS_MAX 1000000000000
#define MODELS                                                                              \
    "llama-nano bench-6m bench-38m llama-1b llama-3b llama-7b llama-13b llama-70b "         \
    "gpt2-124m gpt3-13b gpt3-175b"

static const struct dt_spec_field text_item = {
    .types = DT_SPEC_STR, .help = "One text."};
static const struct dt_spec_field host_item = {
    .types = DT_SPEC_STR, .help = "A host list such as gpu-[01-16]."};

static const struct dt_spec_field steps_rows[] = {
    {.name = "steps", .types = DT_SPEC_INT, .least = 1, .most = STEPS_MAX, .unit = "steps",
     .is_required = true, .help = "A number of training steps."},
};
static const struct dt_spec_object steps_object = OBJECT(steps_rows);

static const struct dt_spec_field nodes_rows[] = {
    {.name = "min", .types = DT_SPEC_INT, .least = 1, .most = DT_NODES_MAX, .unit = "nodes",
     .is_required = true, .help = "The job runs on no fewer nodes."},
    {.name = "max", .types = DT_SPEC_INT, .least = 1, .most = DT_NODES_MAX, .unit = "nodes",
     .is_required = true, .help = "The job runs on no more nodes."},
    {.name = "step", .types = DT_SPEC_INT, .least = 1, .most = DT_NODES_MAX, .unit = "nodes",
     .initial = "1", .help = "Admissible counts are min, min + step, ... up to max."},
};
static const struct dt_spec_object nodes_object = OBJECT(nodes_rows);

static const struct dt_spec_field resources_rows[] = {
    {.name = "nodes", .types = DT_SPEC_INT | DT_SPEC_MAP, .least = 1, .most = DT_NODES_MAX,
     .unit = "nodes", .initial = "1", .object = &nodes_object, .unserved_types = DT_SPEC_MAP,
     .help = "Nodes of the gang. The map form makes the job elastic."},
    {.name = "spares", .types = DT_SPEC_INT, .most = DT_NODES_MAX, .unit = "nodes",
     .initial = "0", .served = "0", .into = INTO(spares),
     .help = "Warm nodes held on top of nodes, to replace a dead one."},
    {.name = "gpus_per_node", .types = DT_SPEC_INT, .most = DT_GPUS_PER_NODE_MAX,
     .unit = "GPUs", .initial = "0", .into = INTO(gpus_per_node),
     .help = "GPUs on every node of the job."},
    {.name = "gpu_type", .types = DT_SPEC_STR | DT_SPEC_LIST, .initial = "[]", .note = "any",
     .item = &text_item, .wraps = "[]", .most = 32, .into = INTO(gpu_types),
     .help = "GPU type, or types in order of preference; `dtctl nodes types` lists them."},
    {.name = "gpu_memory_min", .types = DT_SPEC_SIZE, .least = 1, .most = BYTES_MAX,
     .unit = "bytes", .served = "", .help = "Least memory of every GPU."},
    {.name = "ranks_per_node", .types = DT_SPEC_INT, .least = 1, .most = 1024,
     .unit = "ranks", .note = "gpus_per_node, or 1", .into = INTO(ranks_per_node),
     .help = "Processes on every node."},
    {.name = "cpus_per_rank", .types = DT_SPEC_INT | DT_SPEC_WORD, .words = "auto",
     .least = 1, .most = 4096, .unit = "cores", .initial = "auto", .into = INTO(cpus_per_rank),
     .help = "Cores of every rank; auto is its share of the cores near its device."},
    {.name = "memory_per_node", .types = DT_SPEC_SIZE | DT_SPEC_WORD, .words = "auto",
     .least = 1, .most = BYTES_MAX, .unit = "bytes", .initial = "auto",
     .into = INTO(memory_per_node), .help = "Memory limit of the job on every node."},
    {.name = "shm", .types = DT_SPEC_SIZE, .most = BYTES_MAX, .unit = "bytes",
     .note = "half of the memory", .served = "", .help = "Size of /dev/shm."},
    {.name = "scratch", .types = DT_SPEC_SIZE, .most = BYTES_MAX, .unit = "bytes",
     .initial = "0B", .served = "", .help = "Local disk space for the job on every node."},
    {.name = "exclusive", .types = DT_SPEC_BOOL, .initial = "false",
     .note = "false; a job that asks for all GPUs of a node has it alone anyway",
     .into = INTO(is_exclusive), .help = "Share the nodes with no other job."},
    {.name = "constraints", .types = DT_SPEC_LIST, .initial = "[]", .item = &text_item,
     .most = 32, .served = "",
     .help = "Conditions on node labels: \"label op value\", op one of == != < <= > >= in."},
    {.name = "include", .types = DT_SPEC_STR | DT_SPEC_LIST, .initial = "[]",
     .item = &host_item, .wraps = "[]", .into = INTO(include),
     .help = "Use only these hosts."},
    {.name = "exclude", .types = DT_SPEC_STR | DT_SPEC_LIST, .initial = "[]",
     .item = &host_item, .wraps = "[]", .into = INTO(exclude),
     .help = "Use none of these hosts."},
};
static const struct dt_spec_object resources_object = OBJECT(resources_rows);

static const struct dt_spec_field topology_rows[] = {
    {.name = "pack", .types = DT_SPEC_WORD, .words = "any node nvlink leaf rack",
     .note = "nvlink when GPUs are asked, else any", .into = INTO(pack),
     .help = "Smallest domain that must hold one tensor-parallel group."},
    {.name = "spread", .types = DT_SPEC_WORD, .words = "node rack", .served = "",
     .help = "Keep spares and replicas apart by this domain."},
    {.name = "mode", .types = DT_SPEC_WORD, .words = "prefer require", .initial = "prefer",
     .help = "require waits for such a place; prefer relaxes after prefer_for and says so."},
    {.name = "prefer_for", .types = DT_SPEC_DURATION, .most = MS_MAX, .unit = "ms",
     .initial = "10m", .help = "How long prefer waits for the better place."},
    {.name = "symmetric", .types = DT_SPEC_BOOL, .initial = "false", .served = "",
     .help = "Equal numbers of replicas in every domain."},
};
static const struct dt_spec_object topology_object = OBJECT(topology_rows);

static const struct dt_spec_field parallel_rows[] = {
    {.name = "tensor", .types = DT_SPEC_INT, .least = 1, .most = DT_RANKS_MAX, .unit = "ranks",
     .initial = "1", .served = "1", .into = INTO(tensor),
     .help = "Tensor-parallel degree: ranks that share each layer."},
    {.name = "pipeline", .types = DT_SPEC_INT, .least = 1, .most = DT_RANKS_MAX,
     .unit = "stages", .initial = "1", .served = "1", .into = INTO(pipeline),
     .help = "Pipeline stages: ranks that share the layers one after the other."},
    {.name = "context", .types = DT_SPEC_INT, .least = 1, .most = DT_RANKS_MAX, .unit = "ranks",
     .initial = "1", .served = "1", .into = INTO(context),
     .help = "Context-parallel degree: ranks that share each sequence."},
    {.name = "expert", .types = DT_SPEC_INT, .least = 1, .most = DT_RANKS_MAX, .unit = "ranks",
     .initial = "1", .served = "1", .into = INTO(expert),
     .help = "Expert-parallel degree, inside the data-parallel ranks."},
    {.name = "data", .types = DT_SPEC_INT | DT_SPEC_WORD, .words = "auto", .least = 1,
     .most = DT_RANKS_MAX, .unit = "replicas", .initial = "auto", .into = INTO(data),
     .note = "auto: the world divided by the other degrees",
     .help = "Data-parallel copies of the model."},
    {.name = "zero", .types = DT_SPEC_INT | DT_SPEC_WORD, .words = "auto", .most = 3,
     .initial = "auto", .for_now = "0", .served = "0 auto",
     .help = "ZeRO stage: 1 shards the optimizer, 2 also gradients, 3 also weights."},
};
static const struct dt_spec_object parallel_object = OBJECT(parallel_rows);

static const struct dt_spec_field model_rows[] = {
    {.name = "preset", .types = DT_SPEC_WORD, .words = MODELS,
     .help = "A known model; keys beside it override single values."},
    {.name = "arch", .types = DT_SPEC_WORD, .words = "llama gpt2", .note = "llama",
     .help = "llama: RMSNorm, RoPE, SwiGLU. gpt2: LayerNorm, learned positions, GeLU, biases."},
    {.name = "layers", .types = DT_SPEC_INT, .least = 1, .most = 1024, .unit = "layers",
     .note = "from the preset, else required", .help = "Decoder blocks."},
    {.name = "hidden", .types = DT_SPEC_INT, .least = 8, .most = 1 << 17, .unit = "channels",
     .note = "from the preset, else required", .help = "Width of the residual stream."},
    {.name = "heads", .types = DT_SPEC_INT, .least = 1, .most = 1024, .unit = "heads",
     .note = "from the preset, else required", .help = "Attention heads; must divide hidden."},
    {.name = "kv_heads", .types = DT_SPEC_INT, .least = 1, .most = 1024, .unit = "heads",
     .note = "heads", .help = "Key-value heads (grouped-query attention); must divide heads."},
    {.name = "ffn", .types = DT_SPEC_INT, .least = 1, .most = 1 << 20, .unit = "channels",
     .note = "8/3 hidden rounded up to 256 (8 below 1024) for llama, 4 hidden for gpt2",
     .help = "Width inside the feed-forward part."},
    {.name = "vocab", .types = DT_SPEC_INT, .least = 2, .most = 1 << 22, .unit = "tokens",
     .note = "from the preset; 256 with data.text",
     .help = "Vocabulary; any size."},
    {.name = "tied", .types = DT_SPEC_BOOL, .note = "false for llama, true for gpt2",
     .help = "The head shares the embedding's weights."},
    {.name = "positions", .types = DT_SPEC_INT, .least = 1, .most = 1 << 22, .unit = "tokens",
     .note = "seq_len for llama; 1024, or seq_len when longer, for gpt2",
     .help = "Longest sequence with learned positions."},
};
static const struct dt_spec_object model_object = OBJECT(model_rows);

static const struct dt_spec_field shard_rows[] = {
    {.name = "file", .types = DT_SPEC_STR, .is_required = true, .help = "A token shard."},
    {.name = "weight", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000000000,
     .note = "by size; give all or none",
     .help = "Share of the samples that come from this file, among all weights."},
};
static const struct dt_spec_object shard_object = OBJECT(shard_rows);
static const struct dt_spec_field shard_item = {
    .types = DT_SPEC_MAP, .object = &shard_object, .help = "A file and its weight."};

static const struct dt_spec_field data_rows[] = {
    {.name = "text", .types = DT_SPEC_STR | DT_SPEC_LIST, .least = 1, .item = &text_item,
     .wraps = "[]", .help = "Globs of text files; their bytes are the tokens."},
    {.name = "train", .types = DT_SPEC_STR | DT_SPEC_LIST, .least = 1, .item = &shard_item,
     .help = "Token shards to train on: a file, or a list of {file, weight}."},
    {.name = "eval", .types = DT_SPEC_STR, .help = "Token shard to evaluate on."},
};
static const struct dt_spec_object data_object = OBJECT(data_rows);

static const struct dt_spec_field beta_item = {
    .types = DT_SPEC_DECIMAL, .least = 0, .most = 999999, .help = "A decay rate below 1."};

static const struct dt_spec_field optimizer_rows[] = {
    {.name = "name", .types = DT_SPEC_WORD, .words = "adamw", .initial = "adamw",
     .help = "The optimizer."},
    {.name = "lr", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000000, .initial = "3e-4",
     .help = "Peak learning rate."},
    {.name = "betas", .types = DT_SPEC_LIST, .least = 2, .most = 2, .item = &beta_item,
     .note = "[0.9, 0.95]", .help = "Decay of the first and second moment."},
    {.name = "weight_decay", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000000,
     .initial = "0.1", .help = "Decoupled weight decay."},
    {.name = "clip", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000000000,
     .initial = "1.0", .help = "Largest global gradient norm; 0 is off."},
    {.name = "eps", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000, .initial = "1e-8",
     .help = "Added to the root of the second moment."},
};
static const struct dt_spec_object optimizer_object = OBJECT(optimizer_rows);

static const struct dt_spec_field schedule_rows[] = {
    {.name = "name", .types = DT_SPEC_WORD, .words = "cosine linear constant",
     .initial = "cosine", .help = "How the learning rate falls."},
    {.name = "warmup", .types = DT_SPEC_MAP, .object = &steps_object,
     .note = "1 % of the steps", .help = "Steps of linear growth from 0."},
    {.name = "min_lr", .types = DT_SPEC_DECIMAL, .least = 0, .most = 1000000000,
     .note = "0.1 of lr", .help = "Learning rate at the end."},
};
static const struct dt_spec_object schedule_object = OBJECT(schedule_rows);

static const struct dt_spec_field eval_rows[] = {
    {.name = "every", .types = DT_SPEC_MAP, .object = &steps_object, .is_required = true,
     .help = "Evaluate after so many training steps."},
    {.name = "steps", .types = DT_SPEC_INT, .least = 1, .most = 1000000, .unit = "batches",
     .initial = "10", .help = "Batches of one evaluation."},
};
static const struct dt_spec_object eval_object = OBJECT(eval_rows);

static const struct dt_spec_field trainer_rows[] = {
    {.name = "model", .types = DT_SPEC_WORD | DT_SPEC_MAP, .words = MODELS,
     .object = &model_object, .wraps = "preset", .is_required = true,
     .help = "The model: a preset, or its shape."},
    {.name = "data", .types = DT_SPEC_MAP, .object = &data_object, .is_required = true,
     .help = "What to train on: text, or train (and eval)."},
    {.name = "tokenizer", .types = DT_SPEC_STR, .served = "",
     .help = "Tokenizer file the shards were made with."},
    {.name = "seq_len", .types = DT_SPEC_INT, .least = 2, .most = 1 << 22, .unit = "tokens",
     .note = "1024 (llama-nano: 64)", .help = "Tokens of one sequence."},
    {.name = "micro_batch", .types = DT_SPEC_INT, .least = 1, .most = BATCH_MAX,
     .unit = "sequences", .initial = "1", .help = "Sequences one replica computes at once."},
    {.name = "global_batch", .types = DT_SPEC_INT, .least = 1, .most = BATCH_MAX,
     .unit = "sequences", .note = "micro_batch times the replicas",
     .help = "Sequences of one step over all replicas, which take uneven shares if need be."},
    {.name = "steps", .types = DT_SPEC_INT, .least = 1, .most = STEPS_MAX, .unit = "steps",
     .note = "from tokens", .help = "Training steps; or give tokens."},
    {.name = "tokens", .types = DT_SPEC_INT, .least = 1, .most = 1000000000000000000,
     .unit = "tokens", .help = "Tokens to train on; or give steps."},
    {.name = "optimizer", .types = DT_SPEC_MAP, .object = &optimizer_object, .is_filled = true,
     .help = "The optimizer and its constants."},
    {.name = "schedule", .types = DT_SPEC_MAP, .object = &schedule_object, .is_filled = true,
     .help = "The learning rate over time."},
    {.name = "precision", .types = DT_SPEC_WORD, .words = "fp32 bf16 fp16",
     .note = "fp32 on CPU, bf16 on GPU", .served = "fp32", .for_now = "fp32",
     .help = "Arithmetic of the model; master weights are always fp32."},
    {.name = "seed", .types = DT_SPEC_INT, .most = INT64_MAX, .initial = "0",
     .help = "Seed of weights, order of data and dropout."},
    {.name = "recompute", .types = DT_SPEC_WORD, .words = "none selective full",
     .initial = "none",
     .help = "What backward computes again to save memory; selective: norms and activation; "
             "full: layers. Same bits."},
    {.name = "eval", .types = DT_SPEC_MAP, .object = &eval_object,
     .help = "Evaluate now and then; absent: never."},
    {.name = "deterministic", .types = DT_SPEC_BOOL, .initial = "false",
     .help = "Bit-identical also across a changed data-parallel size."},
};
static const struct dt_spec_object trainer_object = OBJECT(trainer_rows);

static const struct dt_spec_field keep_rows[] = {
    {.name = "last", .types = DT_SPEC_INT, .least = 1, .most = 10000, .unit = "checkpoints",
     .initial = "3", .help = "Keep so many of the newest."},
    {.name = "every", .types = DT_SPEC_MAP, .object = &steps_object,
     .help = "Keep also one of every so many steps, for good."},
};
static const struct dt_spec_object keep_object = OBJECT(keep_rows);

static const struct dt_spec_field checkpoint_rows[] = {
    {.name = "dir", .types = DT_SPEC_PATH, .note = "<output.dir>/ckpt",
     .into = INTO(checkpoint_dir), .help = "Where checkpoints are written."},
    {.name = "every", .types = DT_SPEC_DURATION | DT_SPEC_WORD | DT_SPEC_MAP, .words = "auto",
     .least = 1, .most = MS_MAX, .unit = "ms", .initial = "auto", .object = &steps_object,
     .help = "Time or steps between two; auto: from measured cost and failure rate."},
    {.name = "keep", .types = DT_SPEC_INT | DT_SPEC_MAP, .least = 1, .most = 10000,
     .unit = "checkpoints", .initial = "3", .object = &keep_object,
     .help = "How many of the newest are kept."},
    {.name = "resume", .types = DT_SPEC_WORD | DT_SPEC_PATH, .words = "auto never",
     .initial = "auto", .into = INTO(resume),
     .help = "auto: the newest verified checkpoint; never; or the path of one."},
    {.name = "on_preempt", .types = DT_SPEC_BOOL, .initial = "true",
     .help = "Save before giving nodes back."},
    {.name = "async", .types = DT_SPEC_BOOL, .initial = "false", .served = "false",
     .help = "Write while training goes on."},
    {.name = "verify", .types = DT_SPEC_BOOL, .initial = "true",
     .help = "Read back and check before a checkpoint counts."},
};
static const struct dt_spec_object checkpoint_object = OBJECT(checkpoint_rows);

static const struct dt_spec_field backoff_rows[] = {
    {.name = "initial", .types = DT_SPEC_DURATION, .most = MS_MAX, .unit = "ms",
     .initial = "1s", .into = INTO(backoff_initial_ms), .help = "First wait."},
    {.name = "max", .types = DT_SPEC_DURATION, .most = MS_MAX, .unit = "ms", .initial = "5m",
     .into = INTO(backoff_max_ms), .help = "Longest wait."},
};
static const struct dt_spec_object backoff_object = OBJECT(backoff_rows);

static const struct dt_spec_field code_item = {
    .types = DT_SPEC_INT, .most = 100000, .help = "An exit status, signal or Xid number."};

static const struct dt_spec_field rule_rows[] = {
    {.name = "on", .types = DT_SPEC_WORD, .is_required = true,
     .words = "exit signal oom xid ecc node_lost hang nan timeout preempt",
     .help = "The kind of failure."},
    {.name = "codes", .types = DT_SPEC_INT | DT_SPEC_LIST, .most = 16, .item = &code_item,
     .initial = "[]", .note = "any", .wraps = "[]",
     .help = "Only these exit statuses (exit), signals (signal) or Xid numbers (xid)."},
    {.name = "action", .types = DT_SPEC_WORD, .is_required = true,
     .words = "restart restart-elsewhere shrink rollback fail", .help = "What dt does."},
    {.name = "count", .types = DT_SPEC_BOOL, .initial = "true",
     .help = "Whether it counts against restart.max; false is free."},
};
static const struct dt_spec_object rule_object = OBJECT(rule_rows);
static const struct dt_spec_field rule_item = {
    .types = DT_SPEC_MAP, .object = &rule_object, .help = "One rule; the first match decides."};

static const struct dt_spec_field restart_rows[] = {
    {.name = "max", .types = DT_SPEC_INT, .most = 10000, .unit = "restarts", .initial = "10",
     .into = INTO(restart_max), .help = "Counted restarts within window before the job fails."},
    {.name = "window", .types = DT_SPEC_DURATION, .least = 1, .most = MS_MAX, .unit = "ms",
     .initial = "1d", .into = INTO(restart_window_ms), .help = "Older restarts are forgotten."},
    {.name = "backoff", .types = DT_SPEC_MAP, .object = &backoff_object, .is_filled = true,
     .help = "Jittered wait from the second restart without progress; the first is at once."},
    {.name = "rules", .types = DT_SPEC_LIST, .most = 32, .item = &rule_item, .initial = "[]",
     .note = "the built-in rules alone", 
     .help = "What is done on which failure; the first rule that matches decides. The built-in "
             "rules follow your own."},
    {.name = "in_place", .types = DT_SPEC_BOOL, .initial = "false", .served = "",
     .help = "Pure data-parallel jobs go on without respawn."},
};
static const struct dt_spec_object restart_object = OBJECT(restart_rows);

static const struct dt_spec_field check_item = {
    .types = DT_SPEC_WORD, .words = "gpu nvlink ib allreduce storage", .help = "One check."};

static const struct dt_spec_field straggler_rows[] = {
    {.name = "factor", .types = DT_SPEC_DECIMAL, .least = 1000001, .most = 100000000,
     .initial = "1.25", .served = "", .help = "Slower than the median by this factor."},
    {.name = "window", .types = DT_SPEC_MAP, .object = &steps_object, .served = "",
     .note = "{steps: 32}", .help = "For so many steps."},
    {.name = "action", .types = DT_SPEC_WORD, .words = "report replace off",
     .initial = "report", .for_now = "off", .served = "off", .help = "What dt does then."},
};
static const struct dt_spec_object straggler_object = OBJECT(straggler_rows);

static const struct dt_spec_field health_rows[] = {
    {.name = "precheck", .types = DT_SPEC_LIST, .most = 5, .item = &check_item,
     .initial = "[gpu]", .for_now = "[]", .served = "[]",
     .help = "Checks of every node before the ranks start."},
    {.name = "hang_timeout", .types = DT_SPEC_DURATION | DT_SPEC_WORD, .words = "off",
     .least = 1000, .most = MS_MAX, .unit = "ms", .initial = "10m",
     .into = INTO(hang_timeout_ms), .help = "A job without progress for so long hangs."},
    {.name = "straggler", .types = DT_SPEC_MAP, .object = &straggler_object, .is_filled = true,
     .help = "When one rank is slower than the others."},
};
static const struct dt_spec_object health_object = OBJECT(health_rows);

static const struct dt_spec_field signal_rows[] = {
    {.name = "name", .types = DT_SPEC_WORD, .words = "USR1 USR2 TERM INT HUP QUIT",
     .is_required = true, .help = "The signal."},
    {.name = "before", .types = DT_SPEC_DURATION, .least = 1, .most = MS_MAX, .unit = "ms",
     .is_required = true, .help = "How long before the time limit."},
};
static const struct dt_spec_object signal_object = OBJECT(signal_rows);

static const struct dt_spec_field limits_rows[] = {
    {.name = "time", .types = DT_SPEC_DURATION, .least = 1, .most = MS_MAX, .unit = "ms",
     .note = "the queue's, else unlimited", .into = INTO(time_ms),
     .help = "Run time over all generations."},
    {.name = "queue_time", .types = DT_SPEC_DURATION, .least = 1, .most = MS_MAX, .unit = "ms",
     .note = "unlimited", .into = INTO(queue_time_ms),
     .help = "Longest wait in the queue; then the job is expired."},
    {.name = "grace", .types = DT_SPEC_DURATION, .most = 86400000, .unit = "ms",
     .initial = "60s", .into = INTO(grace_ms), .help = "Time between SIGTERM and SIGKILL."},
    {.name = "signal", .types = DT_SPEC_MAP, .object = &signal_object, .served = "",
     .help = "A warning signal before the time limit."},
    {.name = "log_bytes", .types = DT_SPEC_SIZE, .least = 4096, .most = BYTES_MAX,
     .unit = "bytes", .initial = "1GiB", .into = INTO(log_bytes),
     .help = "Log of one rank; beyond it head and tail are kept, with one notice."},
};
static const struct dt_spec_object limits_object = OBJECT(limits_rows);

static const struct dt_spec_field preempt_rows[] = {
    {.name = "allowed", .types = DT_SPEC_BOOL, .initial = "true", .served = "",
     .help = "A job of higher priority may take the nodes."},
    {.name = "min_run", .types = DT_SPEC_DURATION, .most = MS_MAX, .unit = "ms",
     .initial = "0s", .served = "", .help = "But not before this run time."},
};
static const struct dt_spec_object preempt_object = OBJECT(preempt_rows);

static const struct dt_spec_field after_rows[] = {
    {.name = "job", .types = DT_SPEC_STR, .most = 63, .is_required = true,
     .help = "Id or name of the job to wait for."},
    {.name = "on", .types = DT_SPEC_WORD, .words = "ok any failed", .initial = "ok",
     .help = "The ending to wait for."},
};
static const struct dt_spec_object after_object = OBJECT(after_rows);
static const struct dt_spec_field after_item = {
    .types = DT_SPEC_MAP, .object = &after_object, .help = "One dependency."};

static const struct dt_spec_field output_rows[] = {
    {.name = "dir", .types = DT_SPEC_PATH, .note = "<workdir>/dt-out/<job id>",
     .into = INTO(output_dir), .help = "Where logs, metrics and results go."},
    {.name = "tensorboard", .types = DT_SPEC_BOOL, .initial = "false", .served = "",
     .help = "Write TensorBoard event files."},
    {.name = "jsonl", .types = DT_SPEC_BOOL, .initial = "true", .help = "Write metrics.jsonl."},
    {.name = "rank_logs", .types = DT_SPEC_WORD, .words = "all 0 per-node", .initial = "all",
     .served = "all", .help = "Which ranks' output is kept."},
};
static const struct dt_spec_object output_object = OBJECT(output_rows);

static const struct dt_spec_field notify_on_item = {
    .types = DT_SPEC_WORD, .words = "started restarted succeeded failed cancelled expired",
     .help = "One happening."};
static const struct dt_spec_field notify_rows[] = {
    {.name = "on", .types = DT_SPEC_WORD | DT_SPEC_LIST,
     .words = "started restarted succeeded failed cancelled expired", .least = 1,
     .item = &notify_on_item, .wraps = "[]", .is_required = true, .help = "When."},
    {.name = "webhook", .types = DT_SPEC_NAME, .help = "Name of a webhook the site set up."},
    {.name = "command", .types = DT_SPEC_LIST, .least = 1, .item = &text_item,
     .help = "A program and its arguments."},
};
static const struct dt_spec_object notify_object = OBJECT(notify_rows);
static const struct dt_spec_field notify_item = {
    .types = DT_SPEC_MAP, .object = &notify_object, .help = "One notification."};

static const struct dt_spec_field stop_rows[] = {
    {.name = "stop", .types = DT_SPEC_DURATION, .most = MS_MAX, .unit = "ms",
     .is_required = true, .help = "Stop after so long without the controller."},
};
static const struct dt_spec_object stop_object = OBJECT(stop_rows);

static const struct dt_spec_field label_item = {
    .types = DT_SPEC_STR | DT_SPEC_NUMTEXT, .most = 256, .help = "Value of a label."};
static const struct dt_spec_field env_item = {
    .types = DT_SPEC_STR | DT_SPEC_BLOCK | DT_SPEC_NUMTEXT | DT_SPEC_NULL, .most = 65536,
    .help = "Value; null: must be given with dtctl submit --env NAME=VALUE."};
static const struct dt_spec_field secret_item = {
    .types = DT_SPEC_STR, .most = 128, .help = "Name of a secret."};
static const struct dt_spec_field compat_item = {
    .types = DT_SPEC_WORD, .words = "slurm sky kubeflow", .help = "One set of variables."};
static const struct dt_spec_field argument_item = {
    .types = DT_SPEC_STR | DT_SPEC_BLOCK | DT_SPEC_NUMTEXT, .most = 65536,
    .help = "One argument."};

static const struct dt_spec_field root_rows[] = {
    {.name = "version", .types = DT_SPEC_INT, .least = 1, .most = 1, .is_required = true,
     .help = "Version of this format: 1."},
    {.name = "name", .types = DT_SPEC_NAME, .initial = "job", .note = "the file's stem",
     .into = INTO(name), .help = "Name of the job."},
    {.name = "project", .types = DT_SPEC_NAME, .note = "the user's default",
     .into = INTO(project), .help = "Whose share and limits it uses."},
    {.name = "queue", .types = DT_SPEC_NAME, .initial = "default", .into = INTO(queue),
     .help = "Queue it waits in."},
    {.name = "priority", .types = DT_SPEC_INT | DT_SPEC_WORD, .words = "low high",
     .least = -1000, .most = 1000, .initial = "0", .into = INTO(priority),
     .help = "Higher goes first; low is -100, high is 100."},
    {.name = "labels", .types = DT_SPEC_DICT, .most = DT_LABELS_MAX, .item = &label_item,
     .initial = "{}", .help = "Free words to find jobs by."},
    {.name = "resources", .types = DT_SPEC_MAP, .object = &resources_object, .is_filled = true,
     .help = "What the job runs on."},
    {.name = "topology", .types = DT_SPEC_MAP, .object = &topology_object, .is_filled = true,
     .help = "How its ranks lie on the network."},
    {.name = "parallel", .types = DT_SPEC_MAP | DT_SPEC_WORD, .words = "auto",
     .object = &parallel_object, .is_filled = true, .unserved_types = DT_SPEC_WORD,
     .help = "Parallel degrees, for the trainer and for placement; auto: the planner's choice."},
    {.name = "trainer", .types = DT_SPEC_MAP, .object = &trainer_object,
     .help = "The bundled trainer. Exactly one of trainer, command and script is given."},
    {.name = "command", .types = DT_SPEC_LIST, .least = 1, .most = 1024, .item = &argument_item,
     .into = INTO(command), .help = "A program and its arguments; no shell."},
    {.name = "script", .types = DT_SPEC_BLOCK, .most = 131072, .into = INTO(script),
     .help = "A bash script, run with -eo pipefail; a #! line is respected."},
    {.name = "launch", .types = DT_SPEC_WORD, .words = "mpi torch none",
     .note = "mpi with trainer, else torch", .into = INTO(launch),
     .help = "mpi or torch: one process per rank. none: one per node."},
    {.name = "mpi", .types = DT_SPEC_WORD, .words = "site lean",
     .note = "lean with trainer, else site", .help = "Set of Open MPI components."},
    {.name = "workdir", .types = DT_SPEC_PATH, .note = "where dtctl submit was called",
     .into = INTO(workdir), .help = "Working directory; it must exist on every node."},
    {.name = "env", .types = DT_SPEC_DICT, .most = 1024, .item = &env_item, .initial = "{}",
     .into = INTO(env), .help = "Environment of the ranks; values are not expanded."},
    {.name = "secrets", .types = DT_SPEC_LIST, .most = 64, .item = &secret_item,
     .initial = "[]", .served = "",
     .help = "Names of secrets in the server's store, given to the ranks as variables."},
    {.name = "compat", .types = DT_SPEC_LIST, .most = 3, .item = &compat_item, .initial = "[]",
     .into = INTO(compat), .help = "Also set the variables of these systems."},
    {.name = "checkpoint", .types = DT_SPEC_MAP, .object = &checkpoint_object,
     .is_filled = true, .help = "Saving and resuming."},
    {.name = "restart", .types = DT_SPEC_MAP, .object = &restart_object, .is_filled = true,
     .help = "What happens after a failure."},
    {.name = "health", .types = DT_SPEC_MAP, .object = &health_object, .is_filled = true,
     .help = "How trouble is noticed."},
    {.name = "limits", .types = DT_SPEC_MAP, .object = &limits_object, .is_filled = true,
     .help = "Time and size limits."},
    {.name = "preempt", .types = DT_SPEC_MAP, .object = &preempt_object, .is_filled = true,
     .help = "Whether the job may be moved aside."},
    {.name = "after", .types = DT_SPEC_LIST, .most = 64, .item = &after_item, .initial = "[]",
     .served = "", .help = "Start after these jobs."},
    {.name = "begin", .types = DT_SPEC_INSTANT, .into = INTO(begin_ms), .served = "",
     .help = "Start no earlier."},
    {.name = "deadline", .types = DT_SPEC_INSTANT, .into = INTO(deadline_ms), .served = "",
     .help = "Must have ended by then."},
    {.name = "on_control_loss", .types = DT_SPEC_WORD | DT_SPEC_MAP, .words = "keep",
     .object = &stop_object, .note = "keep with trainer, else {stop: 60s}",
     .help = "What ranks do when their node cannot reach the controller."},
    {.name = "output", .types = DT_SPEC_MAP, .object = &output_object, .is_filled = true,
     .help = "Where results go."},
    {.name = "notify", .types = DT_SPEC_LIST, .most = 16, .item = &notify_item,
     .initial = "[]", .served = "", .help = "Whom to tell."},
    {.name = "container", .types = DT_SPEC_ANY, .served = "",
     .help = "Reserved for a later version."},
};
const struct dt_spec_object dt_spec_root = OBJECT(root_rows);
