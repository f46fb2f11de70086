/* The test harness behind tests/test.h: CUnit runs, each test in a child with a deadline. */
#include "test.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TESTS_MAX 2048
#define SECONDS_MAX 30
#define SKIPPED_STATUS 77
#define FAILED_STATUS 1

struct test {
    const char *name, *file;
    int line;
    dt_test_function *function;
    enum { NOT_RUN, PASSED, FAILED, SKIPPED } result;
    char reason[200]; /* of a skip, or how the child died */
    double seconds;
};

static struct test tests[TESTS_MAX];
static size_t tests_count;
static int failures;       /* in the child */
static int reason_fd = -1; /* in the child: where dt_test_skip writes */

void dt_test_register(const char *name, const char *file, int line, dt_test_function *function)
{
    if (tests_count == TESTS_MAX)
        abort();
    tests[tests_count++] = (struct test){name, file, line, function, NOT_RUN, "", 0};
}

bool dt_check_true(bool is_true, const char *expression, const char *file, int line)
{
    if (!is_true) {
        failures++;
        printf("\n%s:%d: not so: %s\n", file, line, expression);
    }
    return is_true;
}

bool dt_check_int(int64_t got, int64_t expected, const char *expression, const char *file,
                  int line)
{
    if (got == expected)
        return true;
    failures++;
    printf("\n%s:%d: %s\n  got      %lld\n  expected %lld\n", file, line, expression,
           (long long)got, (long long)expected);
    return false;
}

bool dt_check_text(const char *got, const char *expected, const char *expression,
                   const char *file, int line)
{
    if (dt_text_equal(got, expected))
        return true;
    failures++;
    printf("\n%s:%d: %s\n  got      %s\n  expected %s\n", file, line, expression,
           got ? got : "(NULL)", expected ? expected : "(NULL)");
    return false;
}

bool dt_check_near(double got, double expected, double tolerance, const char *expression,
                   const char *file, int line)
{
    double distance = got > expected ? got - expected : expected - got;

    if (distance <= tolerance)
        return true;
    failures++;
    printf("\n%s:%d: %s\n  got      %.17g\n  expected %.17g within %g\n", file, line, expression,
           got, expected, tolerance);
    return false;
}

void dt_test_skip(const char *reason)
{
    if (write(reason_fd, reason, strlen(reason)) < 0)
        failures++;
    fflush(NULL);
    _exit(SKIPPED_STATUS);
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* Read the child's reason until it ends; false when the deadline passes. */
static bool child_listen(struct test *test, int fd, double until)
{
    size_t size = 0;

    for (;;) {
        struct pollfd wait_for = {.fd = fd, .events = POLLIN};
        double left = until - now();
        ssize_t n;

        if (left <= 0)
            return false;
        if (poll(&wait_for, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        n = read(fd, test->reason + size, sizeof(test->reason) - 1 - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        size += (size_t)n;
    }
}

static void child_judge(struct test *test, int status, bool is_in_time)
{
    test->result = FAILED;
    if (!is_in_time)
        snprintf(test->reason, sizeof(test->reason), "not over after %d s", SECONDS_MAX);
    else if (WIFSIGNALED(status))
        snprintf(test->reason, sizeof(test->reason), "died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == SKIPPED_STATUS)
        test->result = SKIPPED;
    else if (WEXITSTATUS(status) == 0)
        test->result = PASSED;
    else if (WEXITSTATUS(status) != FAILED_STATUS)
        snprintf(test->reason, sizeof(test->reason), "ended with status %d",
                 WEXITSTATUS(status));
}

static void run_child(struct test *test, int fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a harness that is killed leaves no test behind */
    reason_fd = fd;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a test says before it crashes must not be lost */
    test->function();
    fflush(NULL);
    exit(failures ? FAILED_STATUS : 0); /* exit: leak checks run */
}

/* CUnit calls this for every test; the name says which. */
static void run_current(void)
{
    const char *name = CU_get_current_test()->pName;
    struct test *test = tests;
    double began = now();
    int pipe_fds[2], status = 0;
    bool is_in_time;
    pid_t pid;

    while (strcmp(test->name, name) != 0)
        test++;
    fflush(NULL);
    if (pipe(pipe_fds) || (pid = fork()) < 0) {
        perror("test harness");
        exit(2);
    }
    if (pid == 0) {
        close(pipe_fds[0]);
        run_child(test, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    is_in_time = child_listen(test, pipe_fds[0], began + SECONDS_MAX);
    if (!is_in_time) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(pipe_fds[0]);
    child_judge(test, status, is_in_time);
    test->seconds = now() - began;
    if (test->result == SKIPPED)
        printf("\nskipped %s: %s\n", name, test->reason);
    if (test->result == FAILED)
        printf("\nFAILED %s (%s:%d) %s\n", name, test->file, test->line, test->reason);
    CU_assertImplementation(test->result != FAILED, (unsigned)test->line, name, test->file, "",
                            CU_FALSE);
}

static void xml_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '<' || *text == '&' || *text == '"')
            fprintf(file, "&#%d;", *text);
        else if ((unsigned char)*text >= 0x20)
            fputc(*text, file);
    }
}

static void xml_write(const char *path, const char *suite)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        perror(path);
        return;
    }
    fprintf(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\">\n", suite);
    for (size_t i = 0; i < tests_count; i++) {
        if (tests[i].result == NOT_RUN)
            continue;
        fprintf(file, "  <testcase classname=\"%s\" name=\"%s\" time=\"%.3f\">", suite,
                tests[i].name, tests[i].seconds);
        if (tests[i].result != PASSED) {
            fprintf(file, "<%s message=\"", tests[i].result == SKIPPED ? "skipped" : "failure");
            xml_text(file, tests[i].reason);
            fprintf(file, "\"/>");
        }
        fprintf(file, "</testcase>\n");
    }
    fprintf(file, "</testsuite>\n");
    fclose(file);
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--list] [--run PART] [--xml FILE]\n"
            "  --list      names of the tests\n"
            "  --run PART  only tests whose name contains PART\n"
            "  --xml FILE  also write JUnit XML\n",
            program);
    return 2;
}

static int run_all(const char *suite, const char *part, const char *xml)
{
    size_t counts[4] = {0}, picked = 0;
    CU_pSuite cu_suite;

    if (CU_initialize_registry() || !(cu_suite = CU_add_suite(suite, NULL, NULL)))
        return 2;
    for (size_t i = 0; i < tests_count; i++)
        if (!part || strstr(tests[i].name, part)) {
            CU_add_test(cu_suite, tests[i].name, run_current);
            picked++;
        }
    if (!picked) {
        fprintf(stderr, "%s: no test has \"%s\" in its name; --list shows all\n", suite,
                part ? part : "");
        CU_cleanup_registry();
        return 2;
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    CU_cleanup_registry();
    for (size_t i = 0; i < tests_count; i++)
        counts[tests[i].result]++;
    if (xml)
        xml_write(xml, suite);
    printf("%s: %zu passed, %zu failed, %zu skipped\n", suite, counts[PASSED], counts[FAILED],
           counts[SKIPPED]);
    return counts[FAILED] ? 1 : 0;
}

int main(int argc, char **argv)
{
    const char *suite = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    const char *part = NULL, *xml = NULL;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            for (size_t k = 0; k < tests_count; k++)
                puts(tests[k].name);
            return 0;
        }
        if (i + 1 == argc)
            return usage(argv[0]);
        if (strcmp(argv[i], "--run") == 0)
            part = argv[++i];
        else if (strcmp(argv[i], "--xml") == 0)
            xml = argv[++i];
        else
            return usage(argv[0]);
    }
    return run_all(suite, part, xml);
}
