/* Messages against their table, and what travels in them. */
#include "dt/wire/msg.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "test.h"

static enum dt_code check(const char *json, enum dt_msg_from from)
{
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};
    enum dt_code code;

    code = dt_json_parse(json, strlen(json), &dt_json_limits_wire, &tree, &err);
    CHECK_INT(code, DT_OK);
    code = dt_msg_check(tree, from, &err);
    dt_tree_free(tree);
    return code;
}

TEST(msg__knows_who_may_send_what)
{
    static const char ack[] = "{\"type\":\"ack\",\"number\":\"7\"}";

    CHECK_INT(check(ack, DT_FROM_CONTROLLER), DT_OK);
    CHECK_INT(check(ack, DT_FROM_AGENT), DT_INVALID);
    CHECK_INT(check("{\"type\":\"nosuch\"}", DT_FROM_CONTROLLER), DT_INVALID);
    CHECK_INT(check("{\"type\":\"ack\"}", DT_FROM_CONTROLLER), DT_INVALID);
    CHECK_INT(check("{\"type\":\"ack\",\"number\":\"7\",\"later\":1}", DT_FROM_CONTROLLER), DT_OK);
    CHECK_INT(check("{\"type\":\"ack\",\"number\":[]}", DT_FROM_CONTROLLER), DT_INVALID);
}

TEST(msg__reports_round_trip)
{
    struct dt_rank_exit ends[2] = {
        {.rank = 3, .signal = 9, .is_oom = true, .at_ms = 123, .excerpt = "Killed \"x\"\n"},
        {.rank = 4, .code = 7, .is_stopped = true, .class_name = "exit"},
    };
    struct dt_gang_report report = {
        .job = 42, .gen = UINT64_MAX, .number = 17, .what = DT_REPORT_GONE, .exits = ends,
        .exits_count = 2, .is_gone = true,
        .progress = {.step = 12, .tokens = 99, .step_us = 5, .loss = "1.25", .phase = "train",
                     .checkpoint_step = 10, .checkpoint_path = "/c/10"}};
    struct dt_tree *tree = dt_msg_report_tree(&report), *again;
    struct dt_gang_report read = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_msg_report_read(tree, &read, &err), DT_OK);
    CHECK_INT(read.job, 42);
    CHECK(read.gen == UINT64_MAX);
    CHECK_INT(read.what, DT_REPORT_GONE);
    CHECK_INT(read.exits_count, 2);
    CHECK_INT(read.exits[0].signal, 9);
    CHECK(read.exits[0].is_oom && !read.exits[0].is_stopped && read.exits[1].is_stopped);
    CHECK_TEXT(read.exits[0].excerpt, "Killed \"x\"\n");
    CHECK_TEXT(read.progress.checkpoint_path, "/c/10");
    again = dt_msg_report_tree(&read);
    CHECK(dt_tree_equal(tree, again));
    dt_free(read.exits);
    dt_tree_free(tree);
    dt_tree_free(again);
}

TEST(msg__inventories_round_trip)
{
    struct dt_device devices[2] = {
        {.kind = "cpu", .id = "cpu-0", .domain = "n1", .rail = -1},
        {.kind = "gpu", .id = "GPU-1234", .type = "h100", .domain = "rack/3",
         .memory_bytes = 1LL << 36, .rail = 2, .is_unhealthy = true},
    };
    struct dt_inventory inventory = {
        .boot_id = "b-1", .host = "n1.site", .version = "0.1.0", .uid = 1000, .user = "ana",
        .cpus = 64, .memory_bytes = 1LL << 40, .addr_job = {"10.0.0.1", "fe80::1"},
        .addr_job_count = 2, .devices = devices, .devices_count = 2};
    struct dt_tree *tree = dt_msg_inventory_tree(&inventory), *again;
    struct dt_inventory read = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_msg_inventory_read(tree, &read, &err), DT_OK);
    CHECK_TEXT(read.host, "n1.site");
    CHECK_INT(read.devices_count, 2);
    CHECK_TEXT(read.devices[1].type, "h100");
    CHECK(read.devices[1].is_unhealthy);
    CHECK_INT(read.addr_job_count, 2);
    CHECK_TEXT(read.addr_job[1], "fe80::1");
    again = dt_msg_inventory_tree(&read);
    CHECK(dt_tree_equal(tree, again));
    dt_inventory_release(&read);
    dt_tree_free(tree);
    dt_tree_free(again);
}

TEST(msg__progress_of_nothing_is_none_yet)
{
    struct dt_progress progress = {.step = 7};

    dt_msg_progress_read(NULL, &progress);
    CHECK_INT(progress.step, -1);
    CHECK_INT(progress.checkpoint_step, -1);
}

/* docs/protocol.md names every type of the table. */
TEST(msg__documentation_names_every_type)
{
    struct dt_buf table = {0}, page = {0};
    char path[512], chunk[4096];
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/docs/protocol.md", DT_SOURCE_DIR);
    file = fopen(path, "rb");
    if (!CHECK(file != NULL))
        return;
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        dt_buf_add(&page, chunk, n);
    fclose(file);
    dt_msg_doc(&table);
    for (const char *at = dt_buf_str(&table); (at = strstr(at, "| `"));) {
        char word[80];

        at += 2;
        snprintf(word, sizeof(word), "%.*s`", (int)strcspn(at + 1, "`") + 1, at);
        dt_check_true(strstr(dt_buf_str(&page), word) != NULL, word, __FILE__, __LINE__);
        at += strcspn(at, "\n");
    }
    dt_buf_release(&table);
    dt_buf_release(&page);
}
