/* For tests: a text read as job.yaml, with its problems and its report. */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "yaml_in.h"

struct reading reading_of(const char *text, size_t size)
{
    struct reading reading = {0};

    reading.code = dt_yaml_parse(text, size, &reading.tree, &reading.problems);
    if (reading.tree) {
        enum dt_code code = dt_spec_parse(reading.tree, &reading.spec, &reading.problems);

        reading.code = reading.code ? reading.code : code;
    }
    dt_problems_report(&reading.report, &reading.problems, "job.yaml", text, size);
    return reading;
}

struct reading reading_of_text(const char *text)
{
    return reading_of(text, strlen(text));
}

const char *reading_first(const struct reading *reading)
{
    static char text[80];
    const struct dt_problem *first = reading->problems.item;

    text[0] = 0;
    if (reading->problems.count)
        snprintf(text, sizeof(text), "%s %d:%d", first->code, first->at.line, first->at.col);
    return text;
}

void reading_release(struct reading *reading)
{
    dt_spec_release(&reading->spec);
    dt_tree_free(reading->tree);
    dt_problems_release(&reading->problems);
    dt_buf_release(&reading->report);
}

char *source_file(const char *name, size_t *size)
{
    char path[512];
    struct dt_buf buf = {0};
    char chunk[4096];
    size_t n;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", DT_SOURCE_DIR, name);
    file = fopen(path, "rb");
    if (!file)
        return NULL;
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        dt_buf_add(&buf, chunk, n);
    fclose(file);
    *size = buf.size;
    return dt_buf_take(&buf);
}

bool golden_equal(const char *name, const char *text)
{
    char path[256], full[512];
    size_t size;
    char *golden;
    bool is_equal;

    snprintf(path, sizeof(path), "tests/golden/%s", name);
    if (getenv("DT_UPDATE_GOLDEN")) {
        FILE *file;

        snprintf(full, sizeof(full), "%s/%s", DT_SOURCE_DIR, path);
        file = fopen(full, "wb");
        if (!file)
            return CHECK(file != NULL);
        fputs(text, file);
        fclose(file);
        return true;
    }
    golden = source_file(path, &size);
    is_equal = CHECK_TEXT(text, golden);
    dt_free(golden);
    return is_equal;
}
