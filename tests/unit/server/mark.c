/* The high-water mark: kept, compared, and refused when damaged. */
#include "mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dt/os/file.h"
#include "test.h"

TEST(mark__is_read_as_it_was_written)
{
    char dir[] = "/tmp/dt-mark-XXXXXX", path[64];
    struct mark mark = {9, 9, 9};

    CHECK(mkdtemp(dir) != NULL);
    CHECK_INT(mark_read(dir, &mark, NULL), DT_OK);
    CHECK_INT(mark.epoch + mark.seq + mark.job_next, 0); /* none yet */
    CHECK_INT(mark_write(dir, &(struct mark){3, UINT64_C(1) << 60, 12}, NULL), DT_OK);
    CHECK_INT(mark_read(dir, &mark, NULL), DT_OK);
    CHECK_INT(mark.epoch, 3);
    CHECK(mark.seq == UINT64_C(1) << 60);
    CHECK_INT(mark.job_next, 12);
    snprintf(path, sizeof(path), "%s/high-water-mark", dir);
    CHECK_INT(dt_file_replace(path, "{\"epoch\":", 9, 0600, NULL), DT_OK);
    CHECK_INT(mark_read(dir, &mark, NULL), DT_CORRUPT);
    unlink(path);
    rmdir(dir);
}

TEST(mark__tells_a_store_that_is_behind)
{
    struct mark mark = {.epoch = 2, .seq = 100};
    struct dt_err err = {0};

    CHECK_INT(mark_check(&mark, 100, NULL), DT_OK);
    CHECK_INT(mark_check(&mark, 101, NULL), DT_OK);
    CHECK_INT(mark_check(&mark, 99, &err), DT_CONFLICT);
    CHECK(strstr(err.text, "99") && strstr(err.text, "100") && strstr(err.hint, "accept"));
}
