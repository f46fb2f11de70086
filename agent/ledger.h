/* What an agent keeps on disk: entries of generations, damaged ones aside, and tombstones. */
#ifndef DT_AGENT_LEDGER_H
#define DT_AGENT_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "dt/base/err.h"
#include "dt/base/tree.h"

#define TOMBS_MAX 4096
#define TOMBS_KEPT_MS (7LL * 24 * 3600 * 1000)

/* One generation as its file tells it. */
struct ledger_entry {
    uint64_t job, gen;
    int master_port;
    const struct dt_tree *bundle; /* when writing: borrowed; NULL in a damaged entry */
    struct dt_tree *read;         /* when reading: the bundle, owned by the caller */
    bool is_damaged;              /* what it held is not known */
};

/* Make the entry's file in dir durable. */
DT_MUST_USE enum dt_code ledger_write(const char *dir, const struct ledger_entry *entry,
                                      struct dt_err *err);
/* Read dir/name; false when that is no entry. A file that cannot be understood is moved to
 * dir/damaged, and a damaged entry of the generation in its name takes its place (job 0: the name
 * tells none). */
bool ledger_read(const char *dir, const char *name, struct ledger_entry *entry);
/* Drop an entry. */
void ledger_remove(const char *dir, uint64_t job, uint64_t gen);

/* The newest ended generation of each job: it and older ones never start again on this node. */
struct tombs;

/* Read them back from path; those of another boot are dropped, as no order outlives a boot. */
struct tombs *tombs_open(const char *path, const char *boot_id, int64_t now_ms);
void tombs_free(struct tombs *tombs);
/* Generation gen of the job has ended; at most TOMBS_MAX jobs are kept, for TOMBS_KEPT_MS. */
void tombs_add(struct tombs *tombs, uint64_t job, uint64_t gen, int64_t now_ms);
/* The generation, or a newer one of its job, has ended here. */
bool tombs_has(const struct tombs *tombs, uint64_t job, uint64_t gen);

#endif
