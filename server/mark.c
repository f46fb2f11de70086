/* High-water mark of the store, on the controller's own disk: a store behind it was rolled back. */
#include "mark.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/os/file.h"

#define FILE_BYTES_MAX 4096

static bool path_of(const char *state_dir, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s/high-water-mark", state_dir) < size;
}

enum dt_code mark_read(const char *state_dir, struct mark *mark, struct dt_err *err)
{
    struct dt_tree *tree = NULL;
    struct dt_buf text = {0};
    char path[600];
    enum dt_code code = path_of(state_dir, path, sizeof(path))
                            ? dt_file_read(path, FILE_BYTES_MAX, &text, err)
                            : dt_fail(err, DT_INVALID, "path too long: %.200s", state_dir);

    *mark = (struct mark){0};
    if (code == DT_NOT_FOUND) {
        dt_buf_release(&text);
        return DT_OK;
    }
    if (!code && (dt_json_parse(dt_buf_str(&text), text.size, &dt_json_limits_wire, &tree, NULL) ||
                  !dt_tree_u64(tree, "epoch", 0))) {
        code = dt_fail(err, DT_CORRUPT, "%s is damaged", path);
        dt_hint(err, "if the store is known to be whole, remove that file: it is made anew");
    }
    if (!code) {
        mark->epoch = dt_tree_u64(tree, "epoch", 0);
        mark->seq = dt_tree_u64(tree, "seq", 0);
        mark->job_next = dt_tree_u64(tree, "job_next", 0);
    }
    dt_tree_free(tree);
    dt_buf_release(&text);
    return code;
}

enum dt_code mark_write(const char *state_dir, const struct mark *mark, struct dt_err *err)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_buf text = {0};
    char path[600];
    enum dt_code code = DT_OK;

    dt_tree_put_u64(tree, "epoch", mark->epoch);
    dt_tree_put_u64(tree, "seq", mark->seq);
    dt_tree_put_u64(tree, "job_next", mark->job_next);
    dt_json_write(&text, tree);
    dt_buf_byte(&text, '\n');
    if (path_of(state_dir, path, sizeof(path)))
        code = dt_file_replace(path, text.data, text.size, 0600, err);
    dt_tree_free(tree);
    dt_buf_release(&text);
    return code;
}

enum dt_code mark_check(const struct mark *mark, uint64_t seq, struct dt_err *err)
{
    if (seq >= mark->seq)
        return DT_OK;
    dt_fail(err, DT_CONFLICT,
            "the store was rolled back: it ends at record %llu, record %llu had been stored; "
            "nothing is scheduled and running jobs go on",
            (unsigned long long)seq, (unsigned long long)mark->seq);
    dt_hint(err, "bring back the newest copy of STATE/redis; or start once with --accept-rollback: "
            "jobs that the store does not know are then ended on their nodes");
    return DT_CONFLICT;
}
