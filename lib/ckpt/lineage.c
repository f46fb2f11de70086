/* Which checkpoints count: the chain of claims that the generations of a directory wrote. */
#include "dt/ckpt/lineage.h"

#include "dt/base/json.h"

#include <stdlib.h>
#include <string.h>

void dt_claim_write(struct dt_buf *buf, const struct dt_claim *claim)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    dt_tree_put_str(tree, "format", "dt-claim");
    dt_tree_put_int(tree, "version", 1);
    dt_tree_put_str(tree, "job", claim->job);
    dt_tree_put_u64(tree, "gen", claim->gen);
    dt_tree_put_u64(tree, "job_gen", claim->job_gen);
    dt_tree_put_u64(tree, "from_gen", claim->from_gen);
    dt_tree_put_int(tree, "from_step", claim->from_step);
    dt_tree_put_str(tree, "digest", claim->digest);
    dt_json_write_canonical(buf, tree);
    dt_buf_byte(buf, '\n');
    dt_tree_free(tree);
}

enum dt_code dt_claim_read(const char *bytes, size_t size, struct dt_claim *claim,
                           struct dt_err *err)
{
    static const struct dt_json_limits limits = {65536, 4, 100};
    struct dt_tree *tree = NULL;
    struct dt_claim draft = {0};
    const char *job, *digest;
    enum dt_code code = DT_OK;

    if (dt_json_parse(bytes, size, &limits, &tree, err)) {
        if (err)
            err->code = DT_CORRUPT;
        return DT_CORRUPT;
    }
    job = dt_tree_str(tree, "job", "");
    digest = dt_tree_str(tree, "digest", "");
    draft.gen = dt_tree_u64(tree, "gen", 0);
    draft.job_gen = dt_tree_u64(tree, "job_gen", 0);
    draft.from_gen = dt_tree_u64(tree, "from_gen", 0);
    draft.from_step = dt_tree_int(tree, "from_step", -1);
    if (strcmp(dt_tree_str(tree, "format", ""), "dt-claim") != 0 || draft.gen == 0 ||
        draft.job_gen == 0 || draft.from_gen >= draft.gen || draft.from_step < 0 ||
        strlen(job) >= sizeof(draft.job) || strlen(digest) >= sizeof(draft.digest)) {
        code = dt_fail(err, DT_CORRUPT, "this is not a claim of dt");
    } else {
        memcpy(draft.job, job, strlen(job) + 1);
        memcpy(draft.digest, digest, strlen(digest) + 1);
        *claim = draft;
    }
    dt_tree_free(tree);
    return code;
}

static const struct dt_claim *claim_of(const struct dt_claim *claims, size_t count, uint64_t gen)
{
    for (size_t i = 0; i < count; i++)
        if (claims[i].gen == gen)
            return &claims[i];
    return NULL;
}

static int compare_newest(const void *left, const void *right)
{
    const struct dt_step_at *a = left, *b = right;

    if (a->step != b->step)
        return a->step > b->step ? -1 : 1;
    return a->gen > b->gen ? -1 : a->gen < b->gen;
}

size_t dt_lineage_chain(const struct dt_claim *claims, size_t claims_count,
                        struct dt_step_at *found, size_t count)
{
    const struct dt_claim *claim = NULL;
    size_t kept = 0;
    int64_t most = INT64_MAX;
    uint64_t gen;

    for (size_t i = 0; i < claims_count; i++)
        if (!claim || claims[i].gen > claim->gen)
            claim = &claims[i];
    for (gen = claim ? claim->gen : 0; gen; claim = claim_of(claims, claims_count, gen)) {
        int64_t least = claim ? claim->from_step : -1;

        /* Moves what counts to the front; the order among the rest does not matter. */
        for (size_t i = kept; i < count; i++) {
            struct dt_step_at item = found[i];

            if (item.gen != gen || item.step > most || (claim && item.step < least))
                continue;
            found[i] = found[kept];
            found[kept++] = item;
        }
        most = claim ? claim->from_step : 0;
        gen = claim && claim->from_gen < gen ? claim->from_gen : 0;
    }
    if (kept)
        qsort(found, kept, sizeof(*found), compare_newest);
    return kept;
}
