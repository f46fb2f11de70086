/* What lies in the store comes back as it was. */
#include "dt/wire/record.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/wire/api.h"
#include "test.h"

/* A job with every durable part filled; members and held on two nodes. */
static struct dt_job *job_make(void)
{
    static const char json[] = "{\"version\":1,\"name\":\"train\",\"command\":[\"x\"],"
                               "\"resources\":{\"nodes\":2}}";
    struct dt_job *job = dt_alloc(1, sizeof(*job));
    struct dt_problems problems = {0};
    struct dt_tree *tree = NULL;
    struct dt_err err = {0};

    CHECK_INT(dt_json_parse(json, strlen(json), &dt_json_limits_wire, &tree, &err), DT_OK);
    job->spec = dt_alloc(1, sizeof(*job->spec));
    CHECK_INT(dt_spec_parse(tree, job->spec, &problems), DT_OK);
    dt_tree_free(tree);
    dt_problems_release(&problems);
    job->id = 42;
    job->version = 9;
    job->state = DT_JOB_RUNNING;
    job->gen = 3;
    job->owner.uid = 1000;
    snprintf(job->owner.name, sizeof(job->owner.name), "ana");
    snprintf(job->submit_dir, sizeof(job->submit_dir), "/home/ana");
    snprintf(job->output_dir, sizeof(job->output_dir), "/home/ana/dt-out/j-000042");
    job->submitted_ms = 5;
    job->restarts.total = 2;
    job->restarts.counted = 1;
    job->restarts.counted_ms[0] = 77;
    job->result.rank = -1;
    snprintf(job->avoid[job->avoid_count++], DT_NAME_BYTES_MAX, "n9");
    job->progress.step = 100;
    job->progress.checkpoint_step = 90;
    job->members_count = 2;
    job->members = dt_alloc(2, sizeof(*job->members));
    for (int i = 0; i < 2; i++) {
        struct dt_member *member = &job->members[i];

        snprintf(member->node, sizeof(member->node), "n%d", i + 1);
        member->rank_first = i;
        member->ranks_count = 1;
        member->gen = 3;
        member->devices_count = 1;
        member->devices = dt_alloc(1, sizeof(*member->devices));
        snprintf(member->devices[0], sizeof(*member->devices), "cpu-%d", i);
    }
    job->held = dt_members_copy(job->members, 1);
    job->held_count = 1;
    job->held[0].gen = 2;
    return job;
}

static enum dt_code read_parts(const struct dt_tree *object, const struct dt_tree *members,
                               const struct dt_tree *resolved, struct dt_job **job)
{
    struct dt_record_parts parts = {object, members, resolved, "source"};
    struct dt_err err = {0};

    return dt_record_job_read(&parts, job, &err);
}

TEST(record__jobs_round_trip)
{
    struct dt_job *job = job_make(), *read = NULL;
    struct dt_tree *object = dt_record_job_tree(job), *members = dt_record_members_tree(job);
    struct dt_tree *again;

    CHECK_INT(read_parts(object, members, job->spec->resolved, &read), DT_OK);
    if (read) {
        CHECK_INT(read->id, 42);
        CHECK_INT(read->state, DT_JOB_RUNNING);
        CHECK_INT(read->gen, 3);
        CHECK_TEXT(read->source, "source");
        CHECK_TEXT(read->owner.name, "ana");
        CHECK_INT(read->restarts.counted_ms[0], 77);
        CHECK_TEXT(read->avoid[0], "n9");
        CHECK_INT(read->members_count, 2);
        CHECK_TEXT(read->members[1].node, "n2");
        CHECK_TEXT(read->members[1].devices[0], "cpu-1");
        CHECK_INT(read->held_count, 1);
        CHECK_INT(read->held[0].gen, 2);
        CHECK_INT(read->progress.checkpoint_step, 90);
        again = dt_record_job_tree(read);
        CHECK(dt_tree_equal(object, again));
        dt_tree_free(again);
    }
    dt_tree_free(object);
    dt_tree_free(members);
    dt_job_free(read, true);
    dt_job_free(job, true);
}

TEST(record__a_job_that_contradicts_is_corrupt)
{
    struct dt_job *job = job_make(), *read = NULL;
    struct dt_tree *object = dt_record_job_tree(job), *members = dt_record_members_tree(job);
    struct dt_tree *wrong = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(object, "state", "dancing");
    CHECK_INT(read_parts(object, members, job->spec->resolved, &read), DT_CORRUPT);
    dt_tree_put_str(object, "state", "running");
    CHECK_INT(read_parts(object, members, wrong, &read), DT_CORRUPT);
    CHECK_INT(read_parts(wrong, members, job->spec->resolved, &read),
              DT_CORRUPT);
    CHECK_INT(read_parts(object, members, NULL, &read), DT_CORRUPT);
    CHECK(!read);
    dt_tree_free(object);
    dt_tree_free(members);
    dt_tree_free(wrong);
    dt_job_free(job, true);
}

TEST(record__nodes_round_trip)
{
    struct dt_node node = {.name = "n1", .version = 4, .state = DT_NODE_DOWN,
                           .wish = DT_NODE_CORDONED, .reason = "disk"};
    struct dt_tree *tree = dt_record_node_tree(&node);
    struct dt_node read = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_record_node_read(tree, &read, &err), DT_OK);
    CHECK_TEXT(read.name, "n1");
    CHECK_INT(read.version, 4);
    CHECK_INT(read.state, DT_NODE_DOWN);
    CHECK_INT(read.wish, DT_NODE_CORDONED);
    CHECK_TEXT(read.reason, "disk");
    dt_tree_put_int(tree, "state", 99);
    CHECK_INT(dt_record_node_read(tree, &read, &err), DT_CORRUPT);
    dt_tree_free(tree);
}

TEST(seal__notices_every_changed_byte)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *read = NULL;
    struct dt_buf sealed = {0};
    struct dt_err err = {0};

    dt_tree_put_str(tree, "a", "value");
    dt_record_seal(&sealed, tree);
    CHECK_INT(dt_record_unseal(sealed.data, sealed.size, &read, &err), DT_OK);
    CHECK(dt_tree_equal(tree, read));
    dt_tree_free(read);
    for (size_t i = 0; i < sealed.size; i++) {
        read = NULL;
        sealed.data[i] ^= 1;
        CHECK_INT(dt_record_unseal(sealed.data, sealed.size, &read, &err), DT_CORRUPT);
        CHECK(!read);
        sealed.data[i] ^= 1;
    }
    for (size_t size = 0; size < sealed.size; size++)
        CHECK_INT(dt_record_unseal(sealed.data, size, &read, &err), DT_CORRUPT);
    dt_buf_release(&sealed);
    dt_tree_free(tree);
}

TEST(api__exit_statuses_of_ended_jobs)
{
    struct dt_job *job = job_make();

    CHECK_INT(dt_api_job_exit(job), -1);
    job->state = DT_JOB_SUCCEEDED;
    CHECK_INT(dt_api_job_exit(job), 0);
    job->state = DT_JOB_CANCELLED;
    CHECK_INT(dt_api_job_exit(job), 11);
    job->state = DT_JOB_EXPIRED;
    CHECK_INT(dt_api_job_exit(job), 12);
    job->state = DT_JOB_FAILED;
    snprintf(job->result.cause, sizeof(job->result.cause), "exit");
    CHECK_INT(dt_api_job_exit(job), 10);
    snprintf(job->result.cause, sizeof(job->result.cause), "time-limit");
    CHECK_INT(dt_api_job_exit(job), 12);
    dt_job_free(job, true);
}

TEST(api__problems_carry_code_and_errors)
{
    struct dt_problems problems = {0};
    struct dt_err err = {0};
    struct dt_tree *tree;

    dt_fail(&err, DT_INVALID, "no");
    dt_problem_text(dt_problem_add(&problems, "name", "spec.name", (struct dt_place_in_file){2, 3,
                                                                                            4}),
                    "wrong");
    tree = dt_api_problem_tree(&err, &problems);
    CHECK_TEXT(dt_tree_str(tree, "code", ""), "invalid");
    CHECK_INT(dt_tree_int(tree, "status", 0), 422);
    CHECK_INT(dt_tree_get(tree, "errors") ? dt_tree_get(tree, "errors")->count : 0, 1);
    dt_tree_free(tree);
    dt_problems_release(&problems);
}
