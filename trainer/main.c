/* dttrain: trains a decoder on this rank, as the launcher says or alone. */
#include "bench.h"
#include "comm.h"
#include "config.h"
#include "data.h"
#include "op.h"
#include "train.h"
#include "world.h"

#include "dt/base/json.h"
#include "dt/base/opts.h"
#include "dt/os/file.h"
#include "dt/rank_env.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct dt_opt opts[] = {
    {.name = "bench", .type = DT_OPT_STR, .arg = "PRESET", .unit = "",
     .help = "measure this model on random tokens and print one line of JSON"},
    {.name = "steps", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "10",
     .least = 1, .most = 1000000, .help = "with --bench: measured steps"},
    {.name = "seq", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "256",
     .least = 2, .most = 1 << 20, .help = "with --bench: tokens of a sequence"},
    {.name = "batch", .type = DT_OPT_INT, .arg = "N", .unit = "", .initial = "4",
     .least = 1, .most = 1 << 16, .help = "with --bench: sequences of a rank and step"},
    {.name = "threads", .type = DT_OPT_INT, .arg = "N", .unit = "", .least = 1,
     .most = 256, .help = "threads of this rank; OMP_NUM_THREADS unless given, else 1"},
    {.name = "help", .letter = 'h', .type = DT_OPT_FLAG, .unit = "",
     .help = "show this help"},
    {.name = "version", .type = DT_OPT_FLAG, .unit = "", .help = "show the version"},
};

static const struct dt_cmd command = {
    .name = "",
    .operands = "CONFIG.json",
    .operands_least = 0,
    .operands_most = 1,
    .summary = "Train a decoder as the resolved job specification says.",
    .detail = "CONFIG.json is the job's specification with every default filled in. Under dt (or "
              "mpirun) each rank runs it; without RANK and WORLD_SIZE it trains alone. SIGUSR1 "
              "saves a checkpoint, SIGTERM saves and stops.\n\n"
              "Exit status: 0 finished; 2 usage; 3 configuration; 20 data; 21 no usable "
              "checkpoint; 22 does not fit in memory; 23 non-finite values beyond the limit; 24 a "
              "peer or the network was lost; 25 device error; 75 asked to stop, saved.",
    .examples = "  dttrain job.json\n  dttrain --bench bench-6m --threads 2\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
};

static void on_signal(int number)
{
    if (number == SIGUSR1)
        train_ask_save();
    else
        train_ask_stop();
}

static void open_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int threads_of(const struct dt_args *args)
{
    int64_t threads = 1;
    const char *text = getenv("OMP_NUM_THREADS");

    if (text && !dt_parse_int(text, 1, 256, &threads))
        threads = 1;
    return (int)dt_args_int(args, "threads", threads);
}

static int open_comm(struct comm *comm, const struct world *world, struct dt_err *err)
{
    if (world->is_alone)
        comm_self_open(comm);
    else if (comm_mpi_open(comm, world->rank, world->size, err))
        return train_fail(TRAIN_PEER_LOST, err);
    return 0;
}

static int read_config(const char *path, struct config *config, struct dt_err *err)
{
    struct dt_tree *tree = NULL;
    struct dt_buf buf = {0};
    enum dt_code code = dt_file_read(path, 1 << 20, &buf, err);

    if (!code)
        code = dt_json_parse(buf.data ? buf.data : "", buf.size, &dt_json_limits_wire, &tree,
                             err);
    if (!code)
        code = config_read(tree, config, err);
    dt_tree_free(tree);
    dt_buf_release(&buf);
    if (!code)
        return 0;
    dt_prefix(err, "%s", path);
    return train_fail(TRAIN_CONFIG, err);
}

static int open_data(const struct config *config, struct data *data, struct data *eval,
                     struct dt_err *err)
{
    const int64_t seq_vocab[2] = {config->seq, config->model.vocab};
    enum dt_code code;

    if (config->text_count)
        code = data_open_text(data, config->text, config->text_count, config->seq, err);
    else
        code = data_open_shards(data, config->train, config->train_count, seq_vocab, err);
    if (!code && config->weights)
        code = data_weigh(data, config->weights, err);
    if (!code)
        code = train_check_data(config, data, err);
    data->seed = eval->seed = config->seed;
    if (!code && config->eval)
        code = data_open_shards(eval, &config->eval, 1, seq_vocab, err);
    if (!code && config->eval && eval->samples == 0)
        code = dt_fail(err, DT_INVALID, "%s holds less than one sample", config->eval);
    return code ? train_fail(TRAIN_DATA, err) : 0;
}

/* Directories: what the launcher says, else the specification, else beside us. */
static void find_dirs(struct train *train, char *output, char *checkpoint, size_t size)
{
    const struct world *world = train->world;
    const struct config *config = train->config;
    const char *dir = world->checkpoint_dir ? world->checkpoint_dir : config->checkpoint_dir;

    snprintf(output, size, "%s", world->output_dir   ? world->output_dir
                                 : config->output_dir ? config->output_dir
                                                      : "dt-out");
    if (dir)
        snprintf(checkpoint, size, "%s", dir);
    else
        snprintf(checkpoint, size, "%.3000s/ckpt", output);
    train->output_dir = output;
    train->checkpoint_dir = checkpoint;
}

static int run_training(const struct dt_args *args, const struct world *world, struct comm *comm,
                        struct dt_err *err)
{
    char output[4096], checkpoint[4096];
    struct config config = {0};
    struct data data = {0}, eval = {0};
    struct train train = {.config = &config, .world = world, .data = &data, .comm = comm};
    int status;

    if ((status = read_config(args->operands[0], &config, err)) ||
        (status = open_data(&config, &data, &eval, err)) ||
        (status = open_comm(comm, world, err)))
        goto out;
    find_dirs(&train, output, checkpoint, sizeof(output));
    train.eval = config.eval ? &eval : NULL;
    train.ops = op_cpu(threads_of(args));
    train.peak = world->rank == 0 ? op_cpu_peak(train.ops) : 0;
    status = train_run(&train);
out:
    data_close(&eval);
    data_close(&data);
    config_release(&config);
    return status;
}

static int run_bench(const struct dt_args *args, const struct world *world, struct comm *comm,
                     struct dt_err *err)
{
    struct config config = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1, .clip = 1,
                            .lr = {.peak = 3e-4, .floor = 3e-4}};
    const char *preset = dt_args_str(args, "bench");
    int status;

    if (!dt_model_preset(preset, &config.model)) {
        dt_fail(err, DT_USAGE, "--bench: there is no preset \"%s\"", preset);
        return train_fail(2, err);
    }
    config.seq = dt_args_int(args, "seq", 256);
    config.micro_batch = dt_args_int(args, "batch", 4);
    config.global_batch = config.micro_batch * world->size;
    config.steps = dt_args_int(args, "steps", 10);
    if ((status = open_comm(comm, world, err)))
        return status;
    return bench_run(&config, comm, op_cpu(threads_of(args)));
}

static int run(const struct dt_args *args, struct comm *comm, struct dt_err *err)
{
    struct world world;
    struct dt_buf help = {0};

    if (dt_args_has(args, "help")) {
        dt_cmd_help(&help, "dttrain", &command);
        fputs(dt_buf_str(&help), stdout);
        dt_buf_release(&help);
        return 0;
    }
    if (dt_args_has(args, "version")) {
        puts("dttrain " DT_VERSION);
        return 0;
    }
    if (world_read(&world, err))
        return train_fail(TRAIN_CONFIG, err);
    if (dt_args_has(args, "bench"))
        return run_bench(args, &world, comm, err);
    if (args->operands_count == 1)
        return run_training(args, &world, comm, err);
    dt_fail(err, DT_USAGE, "which configuration? dttrain CONFIG.json, or see dttrain --help");
    return train_fail(2, err);
}

/* The manual page, printed for the install. */
static int print_man(void)
{
    static const struct dt_cmd *const cmds[] = {&command};
    static const struct dt_program program = {
        .name = "dttrain", .summary = "train a model as one rank", .cmds = cmds, .cmds_count = 1,
        .description = "One rank of a training job; dt starts as many as the job asks for.",
        .has_own_exits = true};
    struct dt_buf page = {0};

    dt_cmd_man(&page, &program);
    fputs(dt_buf_str(&page), stdout);
    dt_buf_release(&page);
    return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct dt_args args = {0};
    struct dt_err err = {0};
    struct comm comm = {0};
    int status;

    if (argc == 2 && strcmp(argv[1], "--man") == 0)
        return print_man();
    op_cpu_choose_core(argv);
    open_signals();
    if (dt_args_parse(&command, argc - 1, argv + 1, &args, &err))
        return train_fail(2, &err);
    status = run(&args, &comm, &err);
    dt_args_release(&args);
    fflush(NULL);
    /* After a failure the others may be anywhere: leave at once, the launcher ends them. */
    if (status != TRAIN_DONE && status != TRAIN_STOPPED)
        _exit(status);
    comm_close(&comm);
    return status;
}
