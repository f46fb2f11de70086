/* Small models, data and runs for the trainer's tests. */
#include "parts.h"

#include "dt/base/json.h"
#include "dt/os/file.h"

#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dt_model tiny_model(enum dt_arch arch)
{
    return (struct dt_model){.arch = arch, .layers = 2, .hidden = 16, .heads = 4,
                             .kv_heads = arch == DT_ARCH_LLAMA ? 2 : 4, .ffn = 24, .vocab = 64,
                             .is_tied = arch == DT_ARCH_GPT2, .positions = 10};
}

struct config tiny_config(enum dt_arch arch, int64_t micro_batch, int64_t global_batch)
{
    return (struct config){.model = tiny_model(arch), .seq = 10, .micro_batch = micro_batch,
                           .global_batch = global_batch, .steps = 6,
                           .lr = {.peak = 1e-2, .floor = 1e-3, .warmup = global_batch,
                                  .horizon = 6 * global_batch},
                           .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1, .clip = 1.0,
                           .seed = 5};
}

struct rank_thread {
    void (*body)(void *arg, struct comm *comm);
    void *arg;
    struct comm *comm;
};

static void *rank_main(void *arg)
{
    struct rank_thread *thread = arg;

    thread->body(thread->arg, thread->comm);
    comm_close(thread->comm);
    return NULL;
}

void with_ranks(int ranks, void (*body)(void *arg, struct comm *comm), void *arg)
{
    struct comm comms[16];
    struct rank_thread threads[16];
    pthread_t ids[16];

    comm_thr_open(comms, ranks);
    for (int i = 0; i < ranks; i++) {
        threads[i] = (struct rank_thread){body, arg, &comms[i]};
        CHECK_INT(pthread_create(&ids[i], NULL, rank_main, &threads[i]), 0);
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(ids[i], NULL);
}

static char made[8][256]; /* directories of this test */
static size_t made_count;
static pid_t made_by;

static void remove_made(void)
{
    for (size_t i = 0; i < made_count && getpid() == made_by; i++)
        (void)!dt_dir_remove(made[i], NULL);
}

const char *temporary_dir(void)
{
    char *path = made[made_count];
    const char *base = getenv("TMPDIR");

    if (made_count++ == 0) {
        made_by = getpid();
        atexit(remove_made);
    }
    snprintf(path, sizeof(made[0]), "%s/dt-test-XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(path) != NULL);
    return path;
}

const char *write_text(const char *dir, const char *name, int64_t size)
{
    static char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    for (int64_t i = 0; file && i < size; i++)
        fputc("the rank that fell was found again; "[(i * i / 50 + i) % 36], file);
    if (file)
        fclose(file);
    return path;
}

char *read_losses(const char *dir)
{
    char path[512], text[64], *line = NULL, *hex[4096] = {0};
    size_t room = 0;
    struct dt_buf buf = {0};
    FILE *file;

    snprintf(path, sizeof(path), "%s/metrics.jsonl", dir);
    file = fopen(path, "r");
    while (file && getline(&line, &room, file) > 0) {
        struct dt_tree *tree = NULL;
        int64_t step;

        if (dt_json_parse(line, strlen(line), &dt_json_limits_wire, &tree, NULL))
            continue;
        step = dt_tree_int(tree, "step", -1);
        if (step > 0 && step < 4096) {
            dt_free(hex[step]);
            snprintf(text, sizeof(text), "%s/%s", dt_tree_str(tree, "loss_hex", "?"),
                     dt_tree_str(tree, "digest", "?"));
            hex[step] = dt_copy_text(text);
        }
        dt_tree_free(tree);
    }
    for (int i = 0; i < 4096; i++) {
        if (hex[i])
            dt_buf_print(&buf, "%d:%s ", i, hex[i]);
        dt_free(hex[i]);
    }
    free(line);
    if (file)
        fclose(file);
    return dt_buf_take(&buf);
}
