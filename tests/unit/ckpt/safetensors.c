/* safetensors: what is written is read; what does not add up is refused. */
#include "dt/ckpt/safetensors.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

/* A file of this header and data_size zero bytes; returns what reading it gives. */
static enum dt_code read_text(const char *header, int64_t data_size)
{
    struct dt_safetensors file = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};
    enum dt_code code;

    dt_buf_add(&buf, "\0\0\0\0\0\0\0\0", 8);
    dt_buf_text(&buf, header);
    buf.data[0] = (char)(strlen(header) & 0xff);
    buf.data[1] = (char)(strlen(header) >> 8);
    code = dt_safetensors_read(buf.data, buf.size, (int64_t)buf.size + data_size, &file, &err);
    dt_safetensors_release(&file);
    dt_buf_release(&buf);
    return code;
}

TEST(safetensors__reads_what_it_wrote)
{
    struct dt_safetensor items[2] = {
        {.name = "a", .dtype = "F32", .shape = {2, 3}, .dims = 2, .begin = 0, .end = 24},
        {.name = "b.\"quoted\"", .dtype = "BF16", .shape = {5}, .dims = 1, .begin = 24, .end = 34},
    };
    struct dt_safetensors file = {0};
    struct dt_buf buf = {0};
    struct dt_err err = {0};

    dt_safetensors_write(&buf, items, 2);
    CHECK_INT(buf.size % 8, 0);
    CHECK_INT(dt_safetensors_read(buf.data, buf.size, (int64_t)buf.size + 34, &file, &err), DT_OK);
    CHECK_INT(file.count, 2);
    CHECK_INT(file.data_begin, buf.size);
    CHECK_TEXT(file.items[1].name, "b.\"quoted\"");
    CHECK_TEXT(file.items[1].dtype, "BF16");
    CHECK(file.items[0].shape[1] == 3 && file.items[1].end == 34);
    dt_safetensors_release(&file);
    dt_buf_release(&buf);
}

TEST(safetensors__refuses_what_does_not_add_up)
{
    const struct { const char *header; int64_t size; } rows[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}", 6},
        {"{\"\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4},
        {"[]", 0},
        {"{", 0},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (read_text(rows[i].header, rows[i].size) != DT_CORRUPT)
            CHECK_TEXT(rows[i].header, "refused");
    CHECK_INT(read_text("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8),
              DT_OK);
    CHECK_INT(read_text("{}", 0), DT_OK);
}

TEST(safetensors__refuses_a_header_longer_than_the_file)
{
    struct dt_safetensors file = {0};
    struct dt_err err = {0};

    CHECK_INT(dt_safetensors_read("\377\377\0\0\0\0\0\0{}", 10, 10, &file, &err), DT_CORRUPT);
    CHECK_INT(dt_safetensors_read("\2\0\0", 3, 3, &file, &err), DT_CORRUPT);
    CHECK_INT(dt_safetensors_read("\377\377\377\377\377\377\377\377{}", 10, 10, &file, &err),
              DT_CORRUPT);
}
