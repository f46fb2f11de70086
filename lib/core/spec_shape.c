/* The world of a job and its parallel degrees: products and divisions that must fit. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

struct degrees {
    int64_t tensor, pipeline, context, expert;
    int64_t ranks_per_node;
    int64_t least, most, step; /* nodes */
};

/* A sentence about the counts of an elastic job, or nothing. */
static const char *nodes_text(const struct degrees *degrees, int64_t nodes, char *text,
                              size_t size)
{
    text[0] = 0;
    if (degrees->least != degrees->most)
        snprintf(text, size, " with %lld nodes", (long long)nodes);
    return text;
}

/* tensor divides ranks_per_node, or is a multiple of it inside one multi-node NVLink domain. */
static bool tensor_fits(struct dt_tree *resolved, struct dt_problems *problems,
                        const struct degrees *degrees)
{
    const struct dt_tree *pack = dt_spec_at(resolved, "topology.pack");
    bool is_one_node = pack && strcmp(pack->text, "node") == 0;
    struct dt_problem *problem;
    struct dt_buf help = {0};

    if (degrees->ranks_per_node % degrees->tensor == 0)
        return true;
    if (degrees->tensor % degrees->ranks_per_node == 0 && !is_one_node)
        return true;
    problem = dt_spec_problem(problems, resolved, "parallel.tensor", "spec.divide");
    dt_problem_text(problem, "parallel.tensor (%lld) does not divide ranks_per_node (%lld)",
                    (long long)degrees->tensor, (long long)degrees->ranks_per_node);
    dt_spec_divisors_print(&help, degrees->ranks_per_node, degrees->ranks_per_node);
    if (degrees->tensor > degrees->ranks_per_node && !is_one_node)
        dt_buf_print(&help, ", or a multiple of %lld inside one NVLink domain",
                     (long long)degrees->ranks_per_node);
    dt_problem_help(problem, "%s", dt_buf_str(&help));
    dt_buf_release(&help);
    return false;
}

/* The written degree that is greatest: where to point at. */
static const char *greatest_degree(const struct degrees *degrees)
{
    if (degrees->tensor >= degrees->pipeline && degrees->tensor >= degrees->context)
        return "parallel.tensor";
    return degrees->pipeline >= degrees->context ? "parallel.pipeline" : "parallel.context";
}

/* The world of every admissible count of nodes is a multiple of the degrees. */
static bool world_fits(struct dt_tree *resolved, struct dt_problems *problems,
                       const struct degrees *degrees)
{
    int64_t model = degrees->tensor * degrees->pipeline * degrees->context;
    struct dt_problem *problem;
    char text[64];

    for (int64_t nodes = degrees->least; nodes <= degrees->most; nodes += degrees->step) {
        int64_t world = nodes * degrees->ranks_per_node;

        if (world % model == 0)
            continue;
        problem = dt_spec_problem(problems, resolved, greatest_degree(degrees), "spec.world");
        dt_problem_text(problem, "%lld ranks%s are not a multiple of tensor x pipeline x context "
                                 "(%lld x %lld x %lld)", (long long)world,
                        nodes_text(degrees, nodes, text, sizeof(text)),
                        (long long)degrees->tensor, (long long)degrees->pipeline,
                        (long long)degrees->context);
        dt_problem_help(problem, "ranks are nodes (%lld) x ranks_per_node (%lld)",
                        (long long)nodes, (long long)degrees->ranks_per_node);
        return false;
    }
    return true;
}

/* data is the quotient: filled in when auto, held against it when written. */
static void data_fits(struct dt_tree *resolved, struct dt_problems *problems,
                      const struct degrees *degrees)
{
    int64_t model = degrees->tensor * degrees->pipeline * degrees->context;
    int64_t world = degrees->least * degrees->ranks_per_node, data;
    struct dt_tree *parallel = dt_spec_at(resolved, "parallel");
    struct dt_problem *problem;

    if (dt_spec_int_at(resolved, "parallel.data", &data)) {
        if (degrees->least != degrees->most) {
            problem = dt_spec_problem(problems, resolved, "parallel.data", "spec.elastic");
            dt_problem_text(problem, "parallel.data is fixed, but the number of nodes is not");
            dt_problem_help(problem, "write data: auto");
        } else if (data * model != world) {
            problem = dt_spec_problem(problems, resolved, "parallel.data", "spec.world");
            dt_problem_text(problem, "tensor x pipeline x context x data is %lld, but the job has "
                                     "%lld ranks", (long long)(data * model), (long long)world);
            dt_problem_help(problem, "data: %lld, or leave it out  (%lld nodes x %lld "
                                     "ranks_per_node)", (long long)(world / model),
                            (long long)degrees->least, (long long)degrees->ranks_per_node);
        }
    } else if (dt_spec_at(resolved, "parallel.data") && degrees->least == degrees->most) {
        data = world / model;
        dt_tree_put_int(parallel, "data", data);
    } else {
        return;
    }
    if (data % degrees->expert) {
        problem = dt_spec_problem(problems, resolved, "parallel.expert", "spec.divide");
        dt_problem_text(problem, "parallel.expert (%lld) does not divide data (%lld)",
                        (long long)degrees->expert, (long long)data);
    }
}

void dt_spec_shape(struct dt_tree *resolved, struct dt_problems *problems)
{
    struct degrees degrees = {0};
    struct dt_problem *problem;

    if (!dt_spec_int_at(resolved, "parallel.tensor", &degrees.tensor) ||
        !dt_spec_int_at(resolved, "parallel.pipeline", &degrees.pipeline) ||
        !dt_spec_int_at(resolved, "parallel.context", &degrees.context) ||
        !dt_spec_int_at(resolved, "parallel.expert", &degrees.expert) ||
        !dt_spec_int_at(resolved, "resources.ranks_per_node", &degrees.ranks_per_node) ||
        !dt_spec_nodes(resolved, &degrees.least, &degrees.most, &degrees.step))
        return;
    if (degrees.most * degrees.ranks_per_node > DT_RANKS_MAX) {
        problem = dt_spec_problem(problems, resolved, "resources.nodes", "spec.range");
        dt_problem_text(problem, "%lld nodes x %lld ranks_per_node are more than %d ranks",
                        (long long)degrees.most, (long long)degrees.ranks_per_node, DT_RANKS_MAX);
        return;
    }
    if (!tensor_fits(resolved, problems, &degrees)) {
        dt_tree_put_str(dt_spec_at(resolved, "parallel"), "tensor", NULL); /* now unknown */
        dt_tree_put_str(dt_spec_at(resolved, "parallel"), "data", NULL);
    } else if (!world_fits(resolved, problems, &degrees)) {
        dt_tree_put_str(dt_spec_at(resolved, "parallel"), "data", NULL);
    } else {
        data_fits(resolved, problems, &degrees);
    }
}
