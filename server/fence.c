/* PMIx fences: blobs of all nodes of a generation, joined in order of arrival. */
#include <stdio.h>
#include <string.h>

#include "runtime.h"

#define FENCE_BYTES_MAX (64 * 1024 * 1024)
#define FENCES_MAX 1024

struct fence {
    uint64_t job, gen;
    int64_t no;
    int nodes, given;
    bool *has_given; /* nodes */
    struct dt_buf joined;
    struct dt_buf *parts; /* nodes: of nodes that send in parts */
};

struct fences {
    struct fence *items[FENCES_MAX];
    size_t count;
};

struct fences *fences_make(void)
{
    return dt_alloc(1, sizeof(struct fences));
}

static void fence_free(struct fence *fence)
{
    for (int i = 0; i < fence->nodes; i++)
        dt_buf_release(&fence->parts[i]);
    dt_buf_release(&fence->joined);
    dt_free(fence->parts);
    dt_free(fence->has_given);
    dt_free(fence);
}

void fences_free(struct fences *fences)
{
    if (!fences)
        return;
    for (size_t i = 0; i < fences->count; i++)
        fence_free(fences->items[i]);
    dt_free(fences);
}

static void remove_at(struct fences *fences, size_t at)
{
    fence_free(fences->items[at]);
    fences->items[at] = fences->items[--fences->count];
}

static size_t find(const struct fences *fences, uint64_t job, uint64_t gen, int64_t no)
{
    size_t at = 0;

    while (at < fences->count && (fences->items[at]->job != job || fences->items[at]->gen != gen ||
                                  fences->items[at]->no != no))
        at++;
    return at;
}

static struct fence *make(struct fences *fences, uint64_t job, uint64_t gen, int64_t no,
                          int nodes)
{
    struct fence *fence = dt_alloc(1, sizeof(*fence));

    fence->job = job;
    fence->gen = gen;
    fence->no = no;
    fence->nodes = nodes;
    fence->has_given = dt_alloc((size_t)nodes, sizeof(bool));
    fence->parts = dt_alloc((size_t)nodes, sizeof(struct dt_buf));
    fences->items[fences->count++] = fence;
    return fence;
}

/* Fences of generations that are over, and those that every node has left behind. */
static void sweep(struct fences *fences, const struct dt_core *core)
{
    for (size_t i = fences->count; i > 0; i--) {
        const struct fence *fence = fences->items[i - 1];
        const struct dt_job *job = dt_core_job(core, fence->job);

        if (!job || dt_job_is_terminal(job->state) || job->gen != fence->gen)
            remove_at(fences, i - 1);
    }
}

/* A node came to the next fence only after it had this one. */
static void drop_passed(struct fences *fences, const struct fence *now)
{
    for (size_t i = fences->count; i > 0; i--) {
        const struct fence *fence = fences->items[i - 1];

        if (fence->job == now->job && fence->gen == now->gen && fence->no < now->no)
            remove_at(fences, i - 1);
    }
}

/* The node's data, whole or the next part; told again after a reconnect it is not taken twice. */
static void take(struct fence *fence, const struct dt_frame *frame, int64_t from)
{
    int64_t part = dt_tree_int(frame->body, "part", 0);

    if (fence->has_given[from])
        return;
    if (part == 0)
        dt_buf_clear(&fence->parts[from]);
    dt_buf_add(&fence->parts[from], frame->blob ? frame->blob : "", frame->blob_size);
    if (part + 1 < dt_tree_int(frame->body, "parts", 1))
        return;
    dt_buf_add(&fence->joined, dt_buf_str(&fence->parts[from]), fence->parts[from].size);
    dt_buf_release(&fence->parts[from]);
    fence->has_given[from] = true;
    fence->given++;
}

const struct dt_buf *fences_add(struct fences *fences, const struct dt_core *core,
                                const struct dt_frame *frame, struct dt_err *err)
{
    const struct dt_tree *header = frame->body;
    uint64_t job = (uint64_t)dt_tree_int(header, "job", 0), gen = dt_tree_u64(header, "gen", 0);
    int64_t no = dt_tree_int(header, "no", 0), from = dt_tree_int(header, "node_rank", 0);
    int nodes = (int)dt_tree_int(header, "nodes", 1);
    size_t at = find(fences, job, gen, no);
    struct fence *fence;

    if (at == fences->count) {
        sweep(fences, core);
        at = fences->count;
    }
    if (at == FENCES_MAX) {
        dt_fail(err, DT_BUSY, "too many fences at once");
        return NULL;
    }
    fence = at < fences->count ? fences->items[at] : make(fences, job, gen, no, nodes);
    if (from >= fence->nodes || fence->nodes != nodes ||
        fence->joined.size + fence->parts[from].size + frame->blob_size > FENCE_BYTES_MAX) {
        dt_fail(err, DT_INVALID, "fence %lld of job %llu: not expected from node rank %lld",
                (long long)no, (unsigned long long)job, (long long)from);
        return NULL;
    }
    take(fence, frame, from);
    if (fence->given < fence->nodes ||
        dt_tree_int(header, "part", 0) + 1 < dt_tree_int(header, "parts", 1))
        return NULL;
    drop_passed(fences, fence);
    return &fence->joined;
}
