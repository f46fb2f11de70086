/* Whole training runs in processes of their own, for tests that kill, harm and resume them. */
#include "runs.h"

#include "dt/os/file.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void place_open(struct place *place)
{
    *place = (struct place){.ranks = 1, .config = tiny_config(DT_ARCH_LLAMA, 1, 4)};
    snprintf(place->dir, sizeof(place->dir), "%s", temporary_dir());
    snprintf(place->text, sizeof(place->text), "%s", write_text(place->dir, "text", 3000));
    place->config.model.vocab = 256;
    place->config.steps = 20;
    place->config.lr.horizon = 20 * 4;
    place->config.save_steps = 4;
    place->config.keep_last = 100;
    place->config.is_verified = true;
    place->config.resume = dt_copy_text("auto");
}

void place_close(struct place *place)
{
    config_release(&place->config);
    CHECK_INT(dt_dir_remove(place->dir, NULL), DT_OK);
}

/* What the threads of a run share. */
struct job {
    const struct place *place;
    const char *sub; /* directory below place.dir */
    int status;
};

static void job_body(void *arg, struct comm *comm)
{
    struct job *job = arg;
    struct config config = job->place->config;
    char output[600], checkpoint[700], *globs[1] = {(char *)(uintptr_t)job->place->text};
    struct world world = {.rank = comm->rank, .size = comm->size, .local_size = comm->size,
                          .nnodes = 1, .job = "j-000001",
                          .resume_from = job->place->resume_from};
    struct data data = {0};
    struct dt_err err = {0};
    struct train train = {.config = &config, .world = &world, .data = &data, .comm = comm,
                          .ops = op_cpu(1), .output_dir = output, .checkpoint_dir = checkpoint};
    int status;

    snprintf(output, sizeof(output), "%s/%s", job->place->dir, job->sub);
    snprintf(checkpoint, sizeof(checkpoint), "%s/ckpt", output);
    if (data_open_text(&data, globs, 1, config.seq, &err))
        status = train_fail(TRAIN_DATA, &err);
    else {
        data.seed = config.seed;
        status = train_run(&train);
    }
    if (comm->rank == 0)
        job->status = status;
    data_close(&data);
    if (status && comm->size > 1)
        _exit(status); /* as main does: the others may be anywhere */
}

int run_for(const struct place *place, const char *sub, long kill_us)
{
    struct timespec pause = {kill_us / 1000000, kill_us % 1000000 * 1000};
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        struct job job = {place, sub, 0};
        char log[600];
        int fd;

        snprintf(log, sizeof(log), "%s/%s.log", place->dir, sub);
        if (place->in_child)
            place->in_child();
        fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
        dup2(fd, 1);
        dup2(fd, 2);
        with_ranks(place->ranks, job_body, &job);
        fflush(NULL);
        _exit(job.status);
    }
    if (kill_us) {
        nanosleep(&pause, NULL);
        kill(pid, SIGKILL);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int run(const struct place *place, const char *sub)
{
    return run_for(place, sub, 0);
}

char *losses(const struct place *place, const char *sub)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", place->dir, sub);
    return read_losses(path);
}

void check_same_losses(const struct place *place, const char *left, const char *right)
{
    char *a = losses(place, left), *b = losses(place, right);

    CHECK(strlen(a) > 100);
    CHECK_TEXT(a, b);
    dt_free(a);
    dt_free(b);
}
