/* Tests of finding what dead generations left. */
#include "strays.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dt/os/proc.h"
#include "test.h"

/* A sleeping process with the environment of a rank of job 7. */
static pid_t sleeper(const char *run_dir, const char *gen)
{
    static char word_sleep[] = "sleep", word_long[] = "60", job[] = "DT_JOB_ID=j-000007";
    char *argv[] = {word_sleep, word_long, NULL}, socket_path[200], generation[40];
    char *env[] = {socket_path, job, generation, NULL};
    pid_t pid = 0;

    snprintf(socket_path, sizeof(socket_path), "DT_METRICS_SOCKET=%s/m12.sock", run_dir);
    snprintf(generation, sizeof(generation), "DT_GENERATION=%s", gen);
    CHECK_INT(dt_proc_spawn(&(struct dt_spawn){.path = "/bin/sleep", .argv = argv, .env = env,
                                               .fd_in = -1, .fd_out = -1, .fd_err = -1},
                            &pid, NULL, NULL), DT_OK);
    return pid;
}

static bool is_old(void *owner, uint64_t job, uint64_t gen)
{
    (void)owner;
    return job == 7 && gen == 3;
}

static bool has_ended(pid_t pid)
{
    int status;

    for (int i = 0; i < 200; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        usleep(5000);
    }
    return false;
}

TEST(strays__kills_a_dead_generation_of_this_agent_and_nothing_else)
{
    char own[64], other[64];
    struct strays strays = {.cluster_id = "no-such-cluster", .node = "no-such-node",
                            .run_dir = own, .is_stray = is_old};
    pid_t stray, newer, foreign;

    snprintf(own, sizeof(own), "/tmp/dt-strays-%d-a", (int)getpid());
    snprintf(other, sizeof(other), "/tmp/dt-strays-%d-b", (int)getpid());
    CHECK_INT(strays_kill(&strays), 0);
    stray = sleeper(own, "3");
    newer = sleeper(own, "4");
    foreign = sleeper(other, "3");
    CHECK_INT(strays_kill(&strays), 1);
    CHECK(has_ended(stray));
    CHECK_INT(kill(newer, 0), 0);
    CHECK_INT(waitpid(newer, NULL, WNOHANG), 0);
    CHECK_INT(waitpid(foreign, NULL, WNOHANG), 0);
    CHECK_INT(strays_kill(&strays), 0);
    kill(newer, SIGKILL);
    kill(foreign, SIGKILL);
    CHECK(has_ended(newer) && has_ended(foreign));
}
