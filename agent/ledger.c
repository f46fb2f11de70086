/* The agent's files: an entry a generation, damaged ones kept aside, tombstones of ended ones. */
#include "ledger.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dt/base/json.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"

#define ENTRY_BYTES_MAX (4 << 20)

/* ---- entries ---- */

static void entry_path(const char *dir, uint64_t job, uint64_t gen, char *path, size_t size)
{
    snprintf(path, size, "%.400s/j%" PRIu64 "-g%" PRIu64 ".json", dir, job, gen);
}

enum dt_code ledger_write(const char *dir, const struct ledger_entry *entry, struct dt_err *err)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_buf buf = {0};
    char path[500];
    enum dt_code code;

    dt_tree_put_int(tree, "job", (int64_t)entry->job);
    dt_tree_put_u64(tree, "gen", entry->gen);
    dt_tree_put_int(tree, "master_port", entry->master_port);
    if (entry->is_damaged)
        dt_tree_put_bool(tree, "is_damaged", true);
    if (entry->bundle)
        dt_tree_add(tree, "bundle", dt_tree_copy(entry->bundle));
    dt_json_write(&buf, tree);
    entry_path(dir, entry->job, entry->gen, path, sizeof(path));
    code = dt_file_replace(path, buf.data, buf.size, 0600, err);
    dt_buf_release(&buf);
    dt_tree_free(tree);
    return code;
}

void ledger_remove(const char *dir, uint64_t job, uint64_t gen)
{
    char path[500];

    entry_path(dir, job, gen, path, sizeof(path));
    unlink(path);
}

/* Which generation a file's name tells: "j7-g3.json". */
static bool read_name(const char *name, uint64_t *job, uint64_t *gen)
{
    char again[64];

    if (sscanf(name, "j%" SCNu64 "-g%" SCNu64, job, gen) != 2 || !*job)
        return false;
    snprintf(again, sizeof(again), "j%" PRIu64 "-g%" PRIu64 ".json", *job, *gen);
    return strcmp(again, name) == 0;
}

/* Whole, and about the generation of its name. */
static bool read_entry(const char *path, struct ledger_entry *entry)
{
    struct dt_buf text = {0};
    struct dt_tree *tree = NULL;
    bool is_good = false;

    if (dt_file_read(path, ENTRY_BYTES_MAX, &text, NULL) == DT_OK &&
        dt_json_parse(text.data ? text.data : "", text.size, &dt_json_limits_wire, &tree, NULL) ==
            DT_OK &&
        dt_tree_int(tree, "job", 0) == (int64_t)entry->job &&
        dt_tree_u64(tree, "gen", 0) == entry->gen) {
        entry->is_damaged = dt_tree_bool(tree, "is_damaged", false);
        entry->master_port = (int)dt_tree_int(tree, "master_port", 0);
        entry->read = dt_tree_take(tree, "bundle");
        is_good = entry->is_damaged || (entry->read && entry->read->kind == DT_TREE_MAP);
    }
    if (!is_good) {
        dt_tree_free(entry->read);
        entry->read = NULL;
    }
    dt_tree_free(tree);
    dt_buf_release(&text);
    return is_good;
}

/* Keep what cannot be read for whoever looks into it. */
static void set_aside(const char *dir, const char *name, const char *path)
{
    char aside[500], target[800];

    snprintf(aside, sizeof(aside), "%.400s/damaged", dir);
    snprintf(target, sizeof(target), "%s/%.200s", aside, name);
    if (dt_dir_make(aside, 0700, NULL) == DT_OK && rename(path, target) == 0)
        dt_log(DT_LOG_ERROR, "a ledger entry cannot be read: kept aside, its ranks are ended",
               "path", target, NULL);
    else
        dt_log(DT_LOG_ERROR, "a ledger entry cannot be read and not be moved", "path", path, NULL);
}

bool ledger_read(const char *dir, const char *name, struct ledger_entry *entry)
{
    char path[600];
    struct dt_err err = {0};
    const char *dot = strrchr(name, '.');

    *entry = (struct ledger_entry){0};
    if (!dot || strcmp(dot, ".json") != 0 || strstr(name, ".tmp.") ||
        !dt_path_join(path, sizeof(path), dir, name))
        return false;
    if (!read_name(name, &entry->job, &entry->gen)) {
        set_aside(dir, name, path);
        *entry = (struct ledger_entry){.is_damaged = true};
        return true;
    }
    if (read_entry(path, entry))
        return true;
    set_aside(dir, name, path);
    entry->is_damaged = true;
    entry->master_port = 0;
    if (ledger_write(dir, entry, &err))
        dt_log(DT_LOG_ERROR, "ledger", "why", err.text, NULL);
    return true;
}

/* ---- tombstones ---- */

struct tomb {
    uint64_t job, gen;
    int64_t at_ms; /* of this boot */
};

struct tombs {
    char path[400], boot_id[40];
    struct tomb items[TOMBS_MAX];
    size_t count;
    size_t lines; /* in the file */
};

/* Once for each start and each TOMBS_MAX added: only what still counts. */
static void rewrite(struct tombs *tombs)
{
    struct dt_buf text = {0};
    struct dt_err err = {0};

    dt_buf_print(&text, "boot %s\n", tombs->boot_id);
    for (size_t i = 0; i < tombs->count; i++)
        dt_buf_print(&text, "%" PRIu64 " %" PRIu64 " %" PRId64 "\n", tombs->items[i].job,
                     tombs->items[i].gen, tombs->items[i].at_ms);
    tombs->lines = tombs->count;
    if (dt_file_replace(tombs->path, dt_buf_str(&text), text.size, 0600, &err))
        dt_log(DT_LOG_WARN, "tombstones cannot be kept", "why", err.text, NULL);
    dt_buf_release(&text);
}

/* Newest generation of its job; the oldest tombstone makes room. */
static void put(struct tombs *tombs, const struct tomb *tomb)
{
    size_t oldest = 0;

    for (size_t i = 0; i < tombs->count; i++) {
        if (tombs->items[i].job == tomb->job) {
            if (tomb->gen >= tombs->items[i].gen)
                tombs->items[i] = *tomb;
            return;
        }
        if (tombs->items[i].at_ms < tombs->items[oldest].at_ms)
            oldest = i;
    }
    tombs->items[tombs->count < TOMBS_MAX ? tombs->count++ : oldest] = *tomb;
}

static void expire(struct tombs *tombs, int64_t now_ms)
{
    for (size_t i = tombs->count; i > 0; i--)
        if (now_ms - tombs->items[i - 1].at_ms > TOMBS_KEPT_MS)
            tombs->items[i - 1] = tombs->items[--tombs->count];
}

static void read_back(struct tombs *tombs)
{
    struct dt_buf text = {0};
    char boot[40] = "";
    char *line, *rest = NULL;
    struct tomb tomb;

    if (dt_file_read(tombs->path, ENTRY_BYTES_MAX, &text, NULL) == DT_OK && text.data &&
        sscanf(dt_buf_str(&text), "boot %39s", boot) == 1 && strcmp(boot, tombs->boot_id) == 0)
        for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNd64, &tomb.job, &tomb.gen,
                       &tomb.at_ms) == 3)
                put(tombs, &tomb);
    dt_buf_release(&text);
}

struct tombs *tombs_open(const char *path, const char *boot_id, int64_t now_ms)
{
    struct tombs *tombs = dt_alloc(1, sizeof(*tombs));

    snprintf(tombs->path, sizeof(tombs->path), "%s", path);
    snprintf(tombs->boot_id, sizeof(tombs->boot_id), "%s", boot_id);
    read_back(tombs);
    expire(tombs, now_ms);
    rewrite(tombs); /* a line cut by our death must not swallow the next one */
    return tombs;
}

void tombs_free(struct tombs *tombs)
{
    dt_free(tombs);
}

/* Appended without a sync: it must outlive this process, not this boot. */
void tombs_add(struct tombs *tombs, uint64_t job, uint64_t gen, int64_t now_ms)
{
    struct tomb tomb = {job, gen, now_ms};
    char line[80];
    int size = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %" PRId64 "\n", job, gen,
                        now_ms);
    int fd;

    expire(tombs, now_ms);
    put(tombs, &tomb);
    fd = open(tombs->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || write(fd, line, (size_t)size) != size || ++tombs->lines >= 2 * (size_t)TOMBS_MAX)
        rewrite(tombs);
    if (fd >= 0)
        close(fd);
}

bool tombs_has(const struct tombs *tombs, uint64_t job, uint64_t gen)
{
    for (size_t i = 0; i < tombs->count; i++)
        if (tombs->items[i].job == job)
            return tombs->items[i].gen >= gen;
    return false;
}
