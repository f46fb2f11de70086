/* docs/checkpoint.md tells how to read a checkpoint: its program must do so. */
#include "runs.h"

#include "dt/base/json.h"
#include "dt/os/file.h"

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3"

/* Run python3 with these arguments, its output to path; the exit status. */
static int python(const char *const arguments[3], const char *path)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

        unsetenv("LD_PRELOAD");
        dup2(fd, 1);
        dup2(fd, 2);
        execl(PYTHON, "python3", arguments[0], arguments[1], arguments[2], (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_program(const char *path)
{
    struct dt_buf page = {0};
    char *begin, *end;

    CHECK_INT(dt_file_read(DT_SOURCE_DIR "/docs/checkpoint.md", 1 << 20, &page, NULL), DT_OK);
    begin = strstr(dt_buf_str(&page), "```python\n");
    CHECK(begin != NULL);
    begin += strlen("```python\n");
    end = strstr(begin, "```");
    CHECK(end != NULL);
    CHECK_INT(dt_file_replace(path, begin, (size_t)(end - begin), 0666, NULL), DT_OK);
    dt_buf_release(&page);
}

TEST(document__its_program_reads_a_checkpoint)
{
    struct place place;
    struct dt_buf said = {0};
    char program[600], output[600], checkpoint[600], *all, *digest;

    place_open(&place);
    snprintf(output, sizeof(output), "%s/said", place.dir);
    if (python((const char *const[3]){"-c", "import numpy", NULL}, output)) {
        place_close(&place);
        dt_test_skip(PYTHON " has no numpy (python3-numpy)");
    }
    CHECK_INT(run(&place, "a"), 0);
    snprintf(program, sizeof(program), "%s/read.py", place.dir);
    snprintf(checkpoint, sizeof(checkpoint), "%s/a/ckpt/step-000000000020.g000001", place.dir);
    write_program(program);
    CHECK_INT(python((const char *const[3]){program, checkpoint, NULL}, output), 0);
    CHECK_INT(dt_file_read(output, 65536, &said, NULL), DT_OK);
    all = losses(&place, "a");
    *strrchr(all, ' ') = 0;
    digest = strrchr(all, '/') + 1; /* of step 20 */
    CHECK_INT(strlen(digest), 16);
    if (!strstr(dt_buf_str(&said), digest))
        CHECK_TEXT(dt_buf_str(&said), digest);
    dt_free(all);
    dt_buf_release(&said);
    place_close(&place);
}
