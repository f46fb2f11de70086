/* The status page: one writer, any readers, a counter that is odd while it changes. */
#include "dt/ckpt/status.h"

#include <stdatomic.h>
#include <string.h>

#define MAGIC 0x64745354u /* "dtST" */
#define VERSION 1
#define WORDS (sizeof(struct dt_status) / sizeof(uint64_t))
#define TRIES 200

struct page {
    _Atomic uint32_t magic;
    _Atomic uint32_t version;
    _Atomic uint64_t sequence;
    _Atomic uint64_t words[WORDS]; /* of struct dt_status */
};

_Static_assert(sizeof(struct page) <= DT_STATUS_PAGE_BYTES, "the page holds the status");
_Static_assert(sizeof(struct dt_status) % sizeof(uint64_t) == 0, "whole words");

const char *dt_phase_name(enum dt_phase phase)
{
    static const char *const names[] = {"init", "load", "step", "eval", "save", "end"};

    return (size_t)phase < DT_COUNT(names) ? names[phase] : "unknown";
}

void dt_status_write(void *memory, const struct dt_status *status)
{
    struct page *page = memory;
    uint64_t words[WORDS], sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed);

    memcpy(words, status, sizeof(*status));
    sequence += sequence & 1; /* the last writer was killed inside: begin from an even number */
    atomic_store_explicit(&page->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&page->words[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&page->version, VERSION, memory_order_relaxed);
    atomic_store_explicit(&page->magic, MAGIC, memory_order_relaxed);
    atomic_store_explicit(&page->sequence, sequence + 2, memory_order_release);
}

bool dt_status_read(const void *memory, struct dt_status *status)
{
    const struct page *page = memory;
    uint64_t words[WORDS], before, after;

    for (int i = 0; i < TRIES; i++) {
        before = atomic_load_explicit(&page->sequence, memory_order_acquire);
        if (before == 0 || before & 1)
            continue;
        for (size_t w = 0; w < WORDS; w++)
            words[w] = atomic_load_explicit(&page->words[w], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&page->sequence, memory_order_relaxed);
        if (before != after)
            continue;
        if (atomic_load_explicit(&page->magic, memory_order_relaxed) != MAGIC ||
            atomic_load_explicit(&page->version, memory_order_relaxed) != VERSION)
            return false;
        memcpy(status, words, sizeof(*status));
        return true;
    }
    return false;
}
