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

void fences_drop(struct fences *fences, uint64_t job, uint64_t gen_below)
{
    for (size_t i = fences->count; i > 0; i--)
        if (fences->items[i - 1]->job == job && fences->items[i - 1]->gen < gen_below)
            remove_at(fences, i - 1);
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

bool fences_add(struct fences *fences, const struct dt_frame *frame, struct dt_buf *joined,
                struct dt_err *err)
{
    const struct dt_tree *header = frame->body;
    uint64_t job = (uint64_t)dt_tree_int(header, "job", 0), gen = dt_tree_u64(header, "gen", 0);
    int64_t no = dt_tree_int(header, "no", 0), from = dt_tree_int(header, "node_rank", 0);
    int64_t part = dt_tree_int(header, "part", 0), parts = dt_tree_int(header, "parts", 1);
    int nodes = (int)dt_tree_int(header, "nodes", 1);
    size_t at;
    struct fence *fence;

    fences_drop(fences, job, gen);
    at = find(fences, job, gen, no);
    if (at == fences->count && fences->count == FENCES_MAX) {
        dt_fail(err, DT_BUSY, "too many fences at once");
        return false;
    }
    fence = at < fences->count ? fences->items[at] : make(fences, job, gen, no, nodes);
    if (from >= fence->nodes || fence->nodes != nodes || fence->has_given[from] ||
        fence->joined.size + fence->parts[from].size + frame->blob_size > FENCE_BYTES_MAX) {
        dt_fail(err, DT_INVALID, "fence %lld of job %llu: not expected from node rank %lld",
                (long long)no, (unsigned long long)job, (long long)from);
        return false;
    }
    dt_buf_add(&fence->parts[from], frame->blob ? frame->blob : "", frame->blob_size);
    if (part + 1 < parts)
        return false;
    dt_buf_add(&fence->joined, dt_buf_str(&fence->parts[from]), fence->parts[from].size);
    dt_buf_release(&fence->parts[from]);
    fence->has_given[from] = true;
    if (++fence->given < fence->nodes)
        return false;
    *joined = fence->joined;
    fence->joined = (struct dt_buf){0};
    remove_at(fences, find(fences, job, gen, no));
    return true;
}
