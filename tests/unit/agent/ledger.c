/* Tests of what an agent keeps on disk. */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dt/os/file.h"
#include "test.h"

static char dir[64];

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void dir_open(void)
{
    snprintf(dir, sizeof(dir), "/tmp/dt-ledger-XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
}

static void dir_close(void)
{
    CHECK_INT(dt_dir_remove(dir, NULL), DT_OK);
}

static void file_write(const char *name, const char *text)
{
    CHECK_INT(dt_file_replace(path_of(name), text, strlen(text), 0600, NULL), DT_OK);
}

TEST(ledger__gives_back_what_was_written)
{
    struct dt_tree *bundle = dt_tree_make(DT_TREE_MAP);
    struct ledger_entry entry = {.job = 7, .gen = 3, .master_port = 20001, .bundle = bundle}, got;

    dir_open();
    dt_tree_put_str(bundle, "launch", "mpi");
    CHECK_INT(ledger_write(dir, &entry, NULL), DT_OK);
    CHECK(ledger_read(dir, "j7-g3.json", &got));
    CHECK_INT(got.job, 7);
    CHECK_INT(got.gen, 3);
    CHECK_INT(got.master_port, 20001);
    CHECK(!got.is_damaged);
    CHECK_TEXT(dt_tree_str(got.read, "launch", ""), "mpi");
    ledger_remove(dir, 7, 3);
    CHECK(access(path_of("j7-g3.json"), F_OK) != 0);
    dt_tree_free(got.read);
    dt_tree_free(bundle);
    dir_close();
}

TEST(ledger__keeps_a_damaged_entry_aside_and_remembers_its_generation)
{
    static const char *const texts[] = {
        "", "{\"job\":7,\"gen\":\"3\",\"bund", "[]", "{\"job\":7,\"gen\":\"3\"}",
        "{\"job\":8,\"gen\":\"3\",\"bundle\":{}}", "{\"job\":7,\"gen\":\"3\",\"bundle\":5}"};
    struct ledger_entry got;

    for (size_t i = 0; i < DT_COUNT(texts); i++) {
        dir_open();
        file_write("j7-g3.json", texts[i]);
        for (int start = 0; start < 2; start++) { /* the next start must know it too */
            CHECK(ledger_read(dir, "j7-g3.json", &got));
            CHECK_INT(got.job, 7);
            CHECK_INT(got.gen, 3);
            CHECK(got.is_damaged);
            CHECK(got.read == NULL);
        }
        CHECK(access(path_of("damaged/j7-g3.json"), F_OK) == 0);
        dir_close();
    }
}

TEST(ledger__tells_no_generation_of_a_strange_name)
{
    struct ledger_entry got;

    dir_open();
    file_write("j7-g3x.json", "{}");
    CHECK(ledger_read(dir, "j7-g3x.json", &got));
    CHECK_INT(got.job, 0);
    CHECK(got.is_damaged);
    CHECK(access(path_of("j7-g3x.json"), F_OK) != 0);
    CHECK(access(path_of("damaged/j7-g3x.json"), F_OK) == 0);
    CHECK(!ledger_read(dir, "damaged", &got));
    CHECK(!ledger_read(dir, "j7-g3.json.tmp.12", &got));
    dir_close();
}

TEST(tombs__hold_for_the_generation_and_older_ones_over_a_restart)
{
    struct tombs *tombs;

    dir_open();
    tombs = tombs_open(path_of("t"), "boot-a", 1000);
    CHECK(!tombs_has(tombs, 7, 3));
    tombs_add(tombs, 7, 3, 1000);
    tombs_add(tombs, 7, 2, 1001); /* told late */
    tombs_add(tombs, 9, 1, 1002);
    tombs_free(tombs);
    tombs = tombs_open(path_of("t"), "boot-a", 2000);
    CHECK(tombs_has(tombs, 7, 3));
    CHECK(tombs_has(tombs, 7, 1));
    CHECK(!tombs_has(tombs, 7, 4));
    CHECK(tombs_has(tombs, 9, 1));
    CHECK(!tombs_has(tombs, 8, 1));
    tombs_free(tombs);
    tombs = tombs_open(path_of("t"), "boot-b", 2000);
    CHECK(!tombs_has(tombs, 7, 3));
    tombs_free(tombs);
    dir_close();
}

TEST(tombs__are_bounded_in_time_and_number)
{
    struct tombs *tombs;
    struct dt_buf text = {0};

    dir_open();
    tombs = tombs_open(path_of("t"), "boot-a", 0);
    tombs_add(tombs, 1, 1, 0);
    for (uint64_t i = 0; i < 3 * TOMBS_MAX; i++)
        tombs_add(tombs, 2 + i, 1, 10 + (int64_t)i);
    CHECK(!tombs_has(tombs, 1, 1));
    CHECK(tombs_has(tombs, 1 + 3 * TOMBS_MAX, 1));
    CHECK(tombs_has(tombs, 2 + 2 * TOMBS_MAX, 1));
    CHECK(!tombs_has(tombs, 1 + 2 * TOMBS_MAX, 1));
    CHECK_INT(dt_file_read(path_of("t"), 1 << 20, &text, NULL), DT_OK);
    CHECK(text.size < 2 * TOMBS_MAX * 16);
    tombs_add(tombs, 5, 1, TOMBS_KEPT_MS + 5 * TOMBS_MAX);
    CHECK(tombs_has(tombs, 5, 1));
    CHECK(!tombs_has(tombs, 1 + 3 * TOMBS_MAX, 1));
    tombs_free(tombs);
    dt_buf_release(&text);
    dir_close();
}

TEST(tombs__survive_a_cut_line)
{
    struct tombs *tombs;

    dir_open();
    file_write("t", "boot boot-a\n7 3 100\n8 2");
    tombs = tombs_open(path_of("t"), "boot-a", 200);
    CHECK(tombs_has(tombs, 7, 3));
    CHECK(!tombs_has(tombs, 8, 2));
    tombs_add(tombs, 9, 1, 200);
    tombs_free(tombs);
    tombs = tombs_open(path_of("t"), "boot-a", 300);
    CHECK(tombs_has(tombs, 9, 1));
    tombs_free(tombs);
    dir_close();
}
