/* Processes, clocks, randomness, and the daemons' log. */
#include "dt/os/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/os/log.h"
#include "test.h"

/* What comes out of fd until its end, at most size - 1 bytes, within 5 s. */
static void read_all(int fd, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    while (used + 1 < size) {
        struct pollfd wait_for = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&wait_for, 1, 5000) <= 0 || (n = read(fd, text + used, size - 1 - used)) <= 0)
            break;
        used += (size_t)n;
        text[used] = 0;
    }
}

TEST(spawn__gives_environment_output_and_status)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"echo $A-$B; pwd; exit 7", NULL};
    char *env[] = {(char *)"A=x", NULL};
    struct dt_spawn spawn = {.path = "/bin/sh", .argv = argv, .env = env, .workdir = "/",
                             .fd_in = -1, .fd_err = -1};
    struct dt_err err = {0};
    int fds[2], pidfd = -1, status = 0;
    char text[64];
    pid_t pid;

    CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
    spawn.fd_out = fds[1];
    CHECK_INT(dt_proc_spawn(&spawn, &pid, &pidfd, &err), DT_OK);
    close(fds[1]);
    read_all(fds[0], text, sizeof(text));
    CHECK_TEXT(text, "x-\n/\n");
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(WEXITSTATUS(status), 7);
    CHECK(pidfd >= 0);
    close(pidfd);
    close(fds[0]);
}

TEST(spawn__closes_every_other_descriptor)
{
    char *argv[] = {(char *)"ls", (char *)"/proc/self/fd", NULL};
    struct dt_spawn spawn = {.path = "/bin/ls", .argv = argv, .fd_in = -1, .fd_err = -1};
    struct dt_err err = {0};
    int fds[2], leaked = open("/dev/null", O_RDONLY); /* no close-on-exec on purpose */
    char text[128];
    pid_t pid;

    CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
    spawn.fd_out = fds[1];
    CHECK_INT(dt_proc_spawn(&spawn, &pid, NULL, &err), DT_OK);
    close(fds[1]);
    read_all(fds[0], text, sizeof(text));
    CHECK_TEXT(text, "0\n1\n2\n3\n"); /* 3 is the folder ls reads */
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    close(leaked);
    close(fds[0]);
}

TEST(spawn__says_what_cannot_be_run)
{
    char *argv[] = {(char *)"x", NULL};
    struct dt_spawn spawn = {.path = "/no/such/program", .argv = argv, .fd_in = -1, .fd_out = -1,
                             .fd_err = -1};
    struct dt_err err = {0};
    pid_t pid = 0;

    CHECK_INT(dt_proc_spawn(&spawn, &pid, NULL, &err), DT_NOT_FOUND);
    CHECK(strstr(err.text, "/no/such/program") != NULL);
    spawn.path = "/etc/passwd";
    CHECK(dt_proc_spawn(&spawn, &pid, NULL, &err) != DT_OK);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

TEST(clock__goes_forward_and_names_are_random)
{
    int64_t before = dt_clock_ms(), before_us = dt_clock_us();
    unsigned char a[16] = {0}, b[16] = {0};
    char boot[64], uuid[37], other[37], dir[512];
    struct dt_err err = {0};

    CHECK(dt_clock_ms() >= before);
    CHECK(dt_clock_us() >= before_us && dt_clock_us() / 1000 >= before);
    CHECK(dt_wall_ms() > 1600000000000);
    dt_random(a, sizeof(a));
    dt_random(b, sizeof(b));
    CHECK(memcmp(a, b, sizeof(a)) != 0);
    dt_random_uuid(uuid);
    dt_random_uuid(other);
    CHECK_INT(strlen(uuid), 36);
    CHECK(uuid[14] == '4' && strcmp(uuid, other) != 0);
    CHECK_INT(dt_boot_id(boot, sizeof(boot), &err), DT_OK);
    CHECK_INT(strlen(boot), 36);
    CHECK_INT(dt_program_dir(dir, sizeof(dir), &err), DT_OK);
    CHECK(dir[0] == '/' && dir[strlen(dir) - 1] != '/');
    CHECK(dt_proc_rss_bytes() > 0);
}

TEST(log__writes_one_json_line_whatever_the_values_are)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    char text[1024];
    int fds[2];

    CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
    dt_log_open("dttest", fds[1], DT_LOG_INFO);
    dt_log(DT_LOG_DEBUG, "not shown", NULL);
    dt_log(DT_LOG_WARN, "a \"quoted\"\nline", "node", "n1\x1b[31m\xff", "job", "j-000001", NULL);
    close(fds[1]);
    read_all(fds[0], text, sizeof(text));
    CHECK_INT(strcspn(text, "\n"), strlen(text) - 1);
    CHECK_INT(dt_json_parse(text, strlen(text) - 1, &dt_json_limits_wire, &tree, &err), DT_OK);
    CHECK_TEXT(dt_tree_str(tree, "level", ""), "warn");
    CHECK_TEXT(dt_tree_str(tree, "program", ""), "dttest");
    CHECK_TEXT(dt_tree_str(tree, "msg", ""), "a \"quoted\"\nline");
    CHECK_TEXT(dt_tree_str(tree, "job", ""), "j-000001");
    CHECK(!strchr(text, 0x1b));
    dt_tree_free(tree);
    close(fds[0]);
}
