/* Does the plan fit into this machine's memory? */
#include "memory.h"

#include "dt/base/buf.h"
#include "dt/base/units.h"

#include <stdio.h>
#include <string.h>

/* The first number of a one-line file; INT64_MAX when absent or "max". */
static int64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[64] = "";
    int64_t value = INT64_MAX;

    if (!file)
        return value;
    if (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        if (!dt_parse_int(line, 0, INT64_MAX, &value))
            value = INT64_MAX;
    }
    fclose(file);
    return value;
}

static int64_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    int64_t kib = INT64_MAX / 1024;

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "MemAvailable:", 13) == 0) {
            char *digits = line + 13 + strspn(line + 13, " ");

            digits[strspn(digits, "0123456789")] = 0;
            if (!dt_parse_int(digits, 0, INT64_MAX / 1024, &kib))
                kib = INT64_MAX / 1024;
        }
    }
    if (file)
        fclose(file);
    return kib * 1024;
}

/* The smallest limit of a cgroup and those above it. */
static int64_t limit_upwards(const char *mount, char *path, const char *name)
{
    int64_t least = INT64_MAX;
    char file[1200];

    for (;;) {
        char *slash = strrchr(path, '/');
        int64_t limit;

        if (snprintf(file, sizeof(file), "%s%s/%s", mount, path, name) < (int)sizeof(file)) {
            limit = number_in(file);
            least = limit < least ? limit : least;
        }
        if (!slash || slash == path)
            return least;
        *slash = 0;
    }
}

static int64_t cgroup_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    int64_t least = INT64_MAX, limit;
    char line[1024];

    while (file && fgets(line, sizeof(line), file)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        limit = INT64_MAX;
        if (names[1] == 0)
            limit = limit_upwards("/sys/fs/cgroup", path, "memory.max");
        else if (strcmp(names + 1, "memory") == 0)
            limit = limit_upwards("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (file)
        fclose(file);
    return least;
}

enum dt_code memory_check(const struct dt_run_shape *run, int ranks, struct dt_err *err)
{
    int64_t bytes[DT_MEMORY_COUNT], total = 0, free_bytes = available(), limit = cgroup_limit();
    struct dt_buf parts = {0};

    dt_run_bytes(run, bytes);
    for (int i = 0; i < DT_MEMORY_COUNT; i++) {
        total += bytes[i];
        dt_buf_print(&parts, "%s%s %.1f MiB", i ? ", " : "", dt_memory_name((enum dt_memory)i),
                     (double)bytes[i] / 1048576);
    }
    limit = limit < free_bytes ? limit : free_bytes;
    if (total <= limit / ranks) {
        dt_buf_release(&parts);
        return DT_OK;
    }
    dt_fail(err, DT_QUOTA, "the model needs %.1f MiB on each of %d ranks here, %.1f MiB are "
            "there: %s", (double)total / 1048576, ranks, (double)limit / 1048576,
            dt_buf_str(&parts));
    dt_hint(err, "trainer.recompute: full, smaller micro_batch or seq_len, fewer ranks on a node, "
                 "or more memory_per_node");
    dt_buf_release(&parts);
    return DT_QUOTA;
}
