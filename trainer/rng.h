/* Random numbers and orders that are pure functions of their place, so nothing is ever saved. */
#ifndef DT_TRAINER_RNG_H
#define DT_TRAINER_RNG_H

#include "dt/base/base.h"

/* Philox4x32-10 (Salmon et al. 2011): four words from a key and a counter. */
void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Normal deviates of sd 1 for the elements first .. first + count - 1 of a stream. */
void rng_normal(uint64_t seed, uint64_t stream, int64_t first, int64_t count, float *out);

/*
 * Where index goes in the permutation of 0..size-1 that (seed, epoch) name: a 4-round Feistel
 * network on the next even number of bits, walked until it falls inside. size 1..2^62.
 */
uint64_t rng_permute(uint64_t seed, uint64_t epoch, uint64_t size, uint64_t index);

#endif
