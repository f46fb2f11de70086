/* Which checkpoints count: the chain of claims that the generations of a directory wrote. */
#ifndef DT_CKPT_LINEAGE_H
#define DT_CKPT_LINEAGE_H

#include "dt/base/buf.h"
#include "dt/base/crc.h"
#include "dt/base/err.h"

/*
 * claims/<gen>.json, written once by a generation before its first step: which checkpoint it goes
 * on from. gen numbers the claims of a directory; job_gen is the job's own number, the same unless
 * several jobs used the directory.
 */
struct dt_claim {
    char job[128];
    uint64_t gen, job_gen;
    uint64_t from_gen; /* 0: from nothing */
    int64_t from_step;
    char digest[DT_SHA256_HEX_BYTES]; /* SHA-256 of the manifest's bytes; "" from nothing */
};

/* Append as JSON. */
void dt_claim_write(struct dt_buf *buf, const struct dt_claim *claim);

/* Read; DT_CORRUPT. */
DT_MUST_USE enum dt_code dt_claim_read(const char *bytes, size_t size, struct dt_claim *claim,
                                       struct dt_err *err);

/* A checkpoint by its directory's name. */
struct dt_step_at {
    int64_t step;
    uint64_t gen;
};

/*
 * Keep, newest first, those of count found checkpoints that lie on the chain of claims: the ones of
 * the newest claim's generation, then of the generation it went on from those up to the step it
 * names, and so on. What a stale generation committed late is not among them. Returns how many.
 * O(found log found + claims).
 */
size_t dt_lineage_chain(const struct dt_claim *claims, size_t claims_count,
                        struct dt_step_at *found, size_t count);

#endif
