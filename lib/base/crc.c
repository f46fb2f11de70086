/* CRC-32C and SHA-256: by the processor's instructions where it has them, else by tables. */
#include "dt/base/crc.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static uint32_t crc_table[8][256];

/* Before main, so that no thread can see half-filled tables. */
__attribute__((constructor)) static void crc_tables_fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        crc_table[0][i] = crc;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            crc_table[t][i] = crc_table[t - 1][i] >> 8 ^
                              crc_table[0][crc_table[t - 1][i] & 0xff];
}

static uint32_t crc_by_tables(uint32_t crc, const unsigned char *at, size_t size)
{
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                              (uint32_t)at[3] << 24);

        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
              crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^ crc_table[3][at[4]] ^
              crc_table[2][at[5]] ^ crc_table[1][at[6]] ^ crc_table[0][at[7]];
    }
    for (; size; at++, size--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at) & 0xff];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc,
                                                                     const unsigned char *at,
                                                                     size_t size)
{
    uint64_t wide = crc;

    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size; at++, size--)
        crc = __builtin_ia32_crc32qi(crc, *at);
    return crc;
}
#endif

uint32_t dt_crc32c(uint32_t crc, const void *bytes, size_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_by_instruction(~crc, bytes, size);
#endif
    return ~crc_by_tables(~crc, bytes, size);
}

static const uint32_t sha_round[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn_right(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

static void sha_by_rounds(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    for (; blocks; blocks--, at += 64) {
        uint32_t w[64], s[8];

        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)at[4 * i] << 24 | (uint32_t)at[4 * i + 1] << 16 |
                   (uint32_t)at[4 * i + 2] << 8 | at[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            uint32_t a = w[i - 15], b = w[i - 2];

            w[i] = w[i - 16] + (turn_right(a, 7) ^ turn_right(a, 18) ^ a >> 3) + w[i - 7] +
                   (turn_right(b, 17) ^ turn_right(b, 19) ^ b >> 10);
        }
        memcpy(s, state, sizeof(s));
        for (int i = 0; i < 64; i++) {
            uint32_t e = s[4], a = s[0];
            uint32_t one = s[7] + (turn_right(e, 6) ^ turn_right(e, 11) ^ turn_right(e, 25)) +
                           ((e & s[5]) ^ (~e & s[6])) + sha_round[i] + w[i];
            uint32_t two = (turn_right(a, 2) ^ turn_right(a, 13) ^ turn_right(a, 22)) +
                           ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

            s[7] = s[6], s[6] = s[5], s[5] = e, s[4] = s[3] + one;
            s[3] = s[2], s[2] = s[1], s[1] = a, s[0] = one + two;
        }
        for (int i = 0; i < 8; i++)
            state[i] += s[i];
    }
}

#if defined(__x86_64__)
static bool has_sha_instructions;

/* __builtin_cpu_supports knows no "sha" in gcc 12 and clang 14. */
__attribute__((constructor)) static void sha_instructions_find(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    has_sha_instructions = __builtin_cpu_supports("sse4.1") &&
                           __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 29 & 1;
}

/* The instructions want the state as the words ABEF and CDGH, highest first. */
__attribute__((target("sha,sse4.1"))) static void
sha_by_instructions(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 0)), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    __m128i feba, dchg;

    for (; blocks; blocks--, at += 64) {
        __m128i abef_before = abef, cdgh_before = cdgh, w[4];

        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(at + 16 * i)), swap);
        for (int i = 0; i < 64; i += 4) {
            __m128i k = _mm_loadu_si128((const __m128i *)(sha_round + i)), next;

            k = _mm_add_epi32(k, w[0]);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
            next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]),
                                 _mm_alignr_epi8(w[3], w[2], 4));
            next = _mm_sha256msg2_epu32(next, w[3]);
            w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    feba = _mm_shuffle_epi32(abef, 0x1b);
    dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(state + 0), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

static void sha_blocks(uint32_t state[8], const unsigned char *at, size_t blocks)
{
#if defined(__x86_64__)
    if (has_sha_instructions) {
        sha_by_instructions(state, at, blocks);
        return;
    }
#endif
    sha_by_rounds(state, at, blocks);
}

void dt_sha256_init(struct dt_sha256 *sha)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    *sha = (struct dt_sha256){0};
    memcpy(sha->state, first, sizeof(first));
}

void dt_sha256_add(struct dt_sha256 *sha, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t held = (size_t)(sha->size % 64);

    sha->size += size;
    if (held && held + size >= 64) {
        memcpy(sha->block + held, at, 64 - held);
        sha_blocks(sha->state, sha->block, 1);
        at += 64 - held;
        size -= 64 - held;
        held = 0;
    }
    if (!held) {
        sha_blocks(sha->state, at, size / 64);
        at += size / 64 * 64;
        size %= 64;
    }
    if (size)
        memcpy(sha->block + held, at, size);
}

void dt_sha256_end(struct dt_sha256 *sha, unsigned char digest[DT_SHA256_BYTES])
{
    static const unsigned char pad[64] = {0x80};
    unsigned char bits[8];
    uint64_t size = sha->size * 8;

    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(size >> (56 - 8 * i));
    dt_sha256_add(sha, pad, (size_t)((119 - sha->size % 64) % 64 + 1));
    dt_sha256_add(sha, bits, sizeof(bits));
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void dt_sha256_hex(const void *bytes, size_t size, char hex[DT_SHA256_HEX_BYTES])
{
    unsigned char digest[DT_SHA256_BYTES];
    struct dt_sha256 sha;

    dt_sha256_init(&sha);
    dt_sha256_add(&sha, bytes, size);
    dt_sha256_end(&sha, digest);
    for (int i = 0; i < DT_SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
