/* Checks of bytes: CRC-32C against accident, SHA-256 as a name for contents. */
#ifndef DT_BASE_CRC_H
#define DT_BASE_CRC_H

#include "dt/base/base.h"

#define DT_SHA256_BYTES 32
#define DT_SHA256_HEX_BYTES 65 /* 64 digits and NUL */

/* CRC-32C (Castagnoli, reflected 0x82f63b78) going on from crc; begin with 0. */
uint32_t dt_crc32c(uint32_t crc, const void *bytes, size_t size);

/* SHA-256 in progress (FIPS 180-4). */
struct dt_sha256 {
    uint32_t state[8];
    uint64_t size;           /* bytes so far */
    unsigned char block[64]; /* the unfinished block */
};

/* Begin. */
void dt_sha256_init(struct dt_sha256 *sha);
/* Add size bytes. */
void dt_sha256_add(struct dt_sha256 *sha, const void *bytes, size_t size);
/* End; digest receives 32 bytes. */
void dt_sha256_end(struct dt_sha256 *sha, unsigned char digest[DT_SHA256_BYTES]);
/* Digest of size bytes as 64 lower-case digits and NUL. */
void dt_sha256_hex(const void *bytes, size_t size, char hex[DT_SHA256_HEX_BYTES]);

#endif
