/* A job's row in lists says what the whole job says. */
#include "dt/wire/api.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "test.h"

static struct dt_tree *parsed(const char *text, size_t size)
{
    struct dt_tree *tree = NULL;

    CHECK_INT(dt_json_parse(text, size, &dt_json_limits_wire, &tree, NULL), DT_OK);
    return tree;
}

/* Every member of part is in whole with the same value. */
static void check_part(const struct dt_tree *part, const struct dt_tree *whole)
{
    for (const struct dt_tree *row = part->first; row; row = row->next) {
        const struct dt_tree *same = dt_tree_get(whole, row->key);

        if (!CHECK(same != NULL))
            printf("  %s is not in the job\n", row->key);
        else if (row->kind == DT_TREE_MAP)
            check_part(row, same);
        else if (!CHECK(dt_tree_equal(row, same)))
            printf("  %s differs\n", row->key);
    }
}

static void check_job(const struct dt_job *job)
{
    struct dt_tree *whole = dt_api_job_tree(job), *row;
    struct dt_buf text = {0};

    dt_api_job_row(&text, job);
    row = parsed(dt_buf_str(&text), text.size);
    check_part(row, whole);
    CHECK_TEXT(dt_tree_str(row, "name", NULL), job->spec->name);
    dt_tree_free(whole);
    dt_tree_free(row);
    dt_buf_release(&text);
}

TEST(api__shows_the_same_job_in_a_row_and_whole)
{
    static const char text[] = "{\"version\":1,\"name\":\"row\",\"launch\":\"none\","
                               "\"command\":[\"true\"]}";
    struct dt_tree *tree = parsed(text, strlen(text));
    struct dt_problems problems = {0};
    struct dt_spec spec = {0};
    struct dt_job job = {.id = 7, .spec = &spec, .state = DT_JOB_PENDING, .gen = 3};

    CHECK_INT(dt_spec_parse(tree, &spec, &problems), DT_OK);
    snprintf(job.output_dir, sizeof(job.output_dir), "/out/\"quoted\"\n");
    job.submitted_wall_ms = 1764590000123;
    job.progress = (struct dt_progress){.step = -1, .checkpoint_step = -1};
    check_job(&job);
    job.state = DT_JOB_RUNNING;
    job.progress.step = 12;
    job.progress.checkpoint_step = 10;
    snprintf(job.progress.loss, sizeof(job.progress.loss), "2.25");
    check_job(&job);
    dt_spec_release(&spec);
    dt_problems_release(&problems);
    dt_tree_free(tree);
}
