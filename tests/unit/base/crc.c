/* Checksums: published values, and that every way of computing gives the same. */
/* The source itself: the ways that this processor would not take are tested too. */
#include "../../../lib/base/crc.c"

#include "test.h"

/* Bit by bit, as the definition says. */
static uint32_t crc_by_bits(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static void fill(unsigned char *bytes, size_t size)
{
    uint32_t state = 1;

    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

TEST(crc32c__has_the_published_values)
{
    unsigned char bytes[32];

    CHECK_INT(dt_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_INT(dt_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof(bytes)); /* RFC 3720 B.4 */
    CHECK_INT(dt_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    CHECK_INT(dt_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    CHECK_INT(dt_crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
}

TEST(crc32c__goes_on_from_any_place)
{
    static const char digits[] = "123456789";

    for (size_t cut = 0; cut <= 9; cut++)
        CHECK_INT(dt_crc32c(dt_crc32c(0, digits, cut), &digits[cut], 9 - cut), 0xe3069283);
}

TEST(crc32c__is_the_same_by_bits_tables_and_instruction)
{
    unsigned char bytes[300];

    fill(bytes, sizeof(bytes));
    for (size_t from = 0; from < 8; from++)
        for (size_t size = 0; size <= 64; size++) {
            uint32_t expected = crc_by_bits(bytes + from, size);

            CHECK_INT(~crc_by_tables(~0u, bytes + from, size), expected);
            CHECK_INT(dt_crc32c(0, bytes + from, size), expected);
        }
    CHECK_INT(~crc_by_tables(~0u, bytes, sizeof(bytes)), crc_by_bits(bytes, sizeof(bytes)));
    CHECK_INT(dt_crc32c(0, bytes, sizeof(bytes)), crc_by_bits(bytes, sizeof(bytes)));
}

static void check_sha256(const char *text, const char *expected)
{
    char hex[DT_SHA256_HEX_BYTES];

    dt_sha256_hex(text, strlen(text), hex);
    dt_check_text(hex, expected, text, __FILE__, __LINE__);
}

TEST(sha256__has_the_published_digests)
{
    check_sha256("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(sha256__of_a_million_letters_comes_in_pieces)
{
    unsigned char digest[DT_SHA256_BYTES];
    struct dt_sha256 sha;
    char letters[1000];

    memset(letters, 'a', sizeof(letters));
    dt_sha256_init(&sha);
    for (int i = 0; i < 1000; i++)
        dt_sha256_add(&sha, letters, sizeof(letters));
    dt_sha256_end(&sha, digest);
    CHECK_INT((uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
                  digest[3], 0xcdc76e5c);
    CHECK_INT(digest[31], 0xd0);
}

TEST(sha256__does_not_depend_on_the_pieces)
{
    unsigned char bytes[300], whole[DT_SHA256_BYTES], pieces[DT_SHA256_BYTES];
    struct dt_sha256 sha;

    fill(bytes, sizeof(bytes));
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        dt_sha256_init(&sha);
        dt_sha256_add(&sha, bytes, size);
        dt_sha256_end(&sha, whole);
        dt_sha256_init(&sha);
        for (size_t at = 0, piece = 1; at < size; at += piece, piece = piece % 97 + 13) {
            if (piece > size - at)
                piece = size - at;
            dt_sha256_add(&sha, bytes + at, piece);
        }
        dt_sha256_end(&sha, pieces);
        CHECK(memcmp(whole, pieces, sizeof(whole)) == 0);
    }
}

TEST(sha256__is_the_same_by_rounds_and_by_instructions)
{
    uint32_t rounds[8] = {1, 2, 3, 4, 5, 6, 7, 8}, chosen[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char bytes[64 * 5 + 1];

    fill(bytes, sizeof(bytes));
    sha_by_rounds(rounds, bytes + 1, 5);
    sha_blocks(chosen, bytes + 1, 5);
    CHECK(memcmp(rounds, chosen, sizeof(rounds)) == 0);
    CHECK(rounds[0] != 1);
}
