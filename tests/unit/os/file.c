/* Files that are whole or not there; directories; locks. */
#include "dt/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

/* A fresh directory of this test; removed by dt_dir_remove. */
static void folder_make(char path[64])
{
    snprintf(path, 64, "/tmp/dt-test-XXXXXX");
    if (!mkdtemp(path))
        abort();
}

TEST(file__is_replaced_whole_and_read_back)
{
    char dir[64], path[128];
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    struct stat status;

    folder_make(dir);
    CHECK(dt_path_join(path, sizeof(path), dir, "a"));
    CHECK_INT(dt_file_read(path, 100, &buf, &err), DT_NOT_FOUND);
    CHECK_INT(dt_file_replace(path, "one", 3, 0600, &err), DT_OK);
    CHECK_INT(dt_file_replace(path, "second", 6, 0640, &err), DT_OK);
    CHECK_INT(dt_file_read(path, 100, &buf, &err), DT_OK);
    CHECK_TEXT(dt_buf_str(&buf), "second");
    CHECK_INT(stat(path, &status), 0);
    CHECK_INT(status.st_mode & 0777, 0640);
    CHECK_INT(dt_file_read(path, 5, &buf, &err), DT_INVALID);
    CHECK(dt_file_replace("/proc/nosuch/x", "a", 1, 0600, &err) != DT_OK);
    dt_buf_release(&buf);
    CHECK_INT(dt_dir_remove(dir, &err), DT_OK);
}

static void on_name(void *owner, const char *name)
{
    dt_buf_print(owner, "%s ", name);
}

TEST(dir__is_made_listed_and_removed)
{
    char dir[64], path[128], link[128], outside[64];
    struct dt_buf names = {0};
    struct dt_err err = {0};

    folder_make(dir);
    folder_make(outside);
    CHECK(dt_path_join(path, sizeof(path), dir, "a/b/c"));
    CHECK_INT(dt_dir_make(path, 0700, &err), DT_OK);
    CHECK_INT(dt_dir_make(path, 0700, &err), DT_OK);
    CHECK(dt_path_join(path, sizeof(path), dir, "z"));
    CHECK_INT(dt_file_replace(path, "", 0, 0600, &err), DT_OK);
    CHECK(dt_path_join(path, sizeof(path), outside, "keep"));
    CHECK_INT(dt_file_replace(path, "", 0, 0600, &err), DT_OK);
    CHECK(dt_path_join(link, sizeof(link), dir, "m"));
    CHECK_INT(symlink(outside, link), 0);
    CHECK_INT(dt_dir_list(dir, on_name, &names, &err), DT_OK);
    CHECK_TEXT(dt_buf_str(&names), "a m z ");
    CHECK_INT(dt_dir_remove(dir, &err), DT_OK);
    CHECK_INT(access(dir, F_OK), -1);
    CHECK_INT(access(path, F_OK), 0); /* links are not followed */
    CHECK_INT(dt_dir_remove(dir, &err), DT_OK);
    CHECK_INT(dt_dir_list(dir, on_name, &names, &err), DT_NOT_FOUND);
    dt_buf_release(&names);
    CHECK_INT(dt_dir_remove(outside, &err), DT_OK);
}

TEST(lock__has_one_holder)
{
    char dir[64], path[128];
    struct dt_err err = {0};
    int first = -1, second = -1;

    folder_make(dir);
    CHECK(dt_path_join(path, sizeof(path), dir, "lock"));
    CHECK_INT(dt_file_lock(path, &first, &err), DT_OK);
    CHECK_INT(dt_file_lock(path, &second, &err), DT_CONFLICT);
    close(first);
    CHECK_INT(dt_file_lock(path, &second, &err), DT_OK);
    close(second);
    CHECK_INT(dt_dir_remove(dir, &err), DT_OK);
}

TEST(path__does_not_overrun)
{
    char text[8];

    CHECK(dt_path_join(text, sizeof(text), "abc", "def"));
    CHECK_TEXT(text, "abc/def");
    CHECK(!dt_path_join(text, sizeof(text), "abcd", "def"));
}
