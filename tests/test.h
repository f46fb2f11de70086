/* The test harness: TEST(room__behaviour), each forked with a deadline; got and expected shown. */
#ifndef DT_TESTS_TEST_H
#define DT_TESTS_TEST_H

#include "dt/base/base.h"

typedef void dt_test_function(void);

/* Add a test to this binary; called by TEST before main. */
void dt_test_register(const char *name, const char *file, int line, dt_test_function *function);

/* TEST(buf__grows_when_full) { ... }: registered by itself; the name reads as a sentence. */
#define TEST(name)                                                            \
    static void name(void);                                                   \
    __attribute__((constructor)) static void name##_register(void)            \
    {                                                                         \
        dt_test_register(#name, __FILE__, __LINE__, name);                    \
    }                                                                         \
    static void name(void)

/* Checks go on after a failure; each prints file:line, the expression, got and expected. */
bool dt_check_true(bool is_true, const char *expression, const char *file, int line);
bool dt_check_int(int64_t got, int64_t expected, const char *expression, const char *file,
                  int line);
bool dt_check_text(const char *got, const char *expected, const char *expression,
                   const char *file, int line);
bool dt_check_near(double got, double expected, double tolerance, const char *expression,
                   const char *file, int line);

#define CHECK(claim) dt_check_true((claim), #claim, __FILE__, __LINE__)
#define CHECK_INT(got, expected) \
    dt_check_int((int64_t)(got), (int64_t)(expected), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, expected) dt_check_text((got), (expected), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, expected, tolerance) \
    dt_check_near((got), (expected), (tolerance), #got, __FILE__, __LINE__)

/* End this test as skipped, with the reason that the summary prints. Does not return. */
void dt_test_skip(const char *reason) __attribute__((noreturn));

#endif
