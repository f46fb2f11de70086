/* Random numbers and orders that are pure functions of their place, so nothing is ever saved. */
#include "rng.h"

#include <assert.h>
#include <math.h>

void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];

    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* (0, 1], so that its logarithm is finite. */
static double unit(uint32_t word)
{
    return ((double)word + 1.0) / 4294967296.0;
}

/* The four deviates of one counter, by Box and Muller. */
static void normal_four(uint64_t seed, uint64_t stream, uint64_t block, float out[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, word[4];
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};

    rng_philox(key, counter, word);
    for (int i = 0; i < 4; i += 2) {
        double radius = sqrt(-2.0 * log(unit(word[i])));
        double angle = 6.283185307179586 * unit(word[i + 1]);

        out[i] = (float)(radius * cos(angle));
        out[i + 1] = (float)(radius * sin(angle));
    }
}

void rng_normal(uint64_t seed, uint64_t stream, int64_t first, int64_t count, float *out)
{
    float four[4];
    int64_t i = 0;

    while (i < count) {
        int64_t element = first + i;

        normal_four(seed, stream, (uint64_t)element / 4, four);
        for (int64_t j = element % 4; j < 4 && i < count; j++)
            out[i++] = four[j];
    }
}

uint64_t rng_permute(uint64_t seed, uint64_t epoch, uint64_t size, uint64_t index)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    int half = 1;
    uint64_t mask;

    assert(size >= 1 && index < size);
    while (half < 31 && ((uint64_t)1 << (2 * half)) < size)
        half++;
    mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;

        for (uint32_t round = 0; round < 4; round++) {
            uint32_t counter[4] = {(uint32_t)right, round | 0x46000000u, (uint32_t)epoch,
                                   (uint32_t)(epoch >> 32)}, word[4];
            uint64_t next;

            rng_philox(key, counter, word);
            next = left ^ (word[0] & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= size);
    return index;
}
