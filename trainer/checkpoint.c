/* A checkpoint directory: which generation we are in it, what counts, what is kept. */
#include "checkpoint.h"

#include "dt/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 5000

/* What a walk over a directory collects. */
struct walk {
    struct checkpoints *all;
    char path[PATH_ROOM];
    enum dt_code code;
    struct dt_err err;
};

static void on_claim(void *owner, const char *name)
{
    struct walk *walk = owner;
    struct checkpoints *all = walk->all;
    struct dt_buf buf = {0};
    struct dt_claim claim = {0};
    char path[PATH_ROOM + 300];
    const char *dot = strchr(name, '.');

    if (walk->code || !dot || strcmp(dot, ".json") != 0 || name[0] < '0' || name[0] > '9')
        return;
    if (!dt_path_join(path, sizeof(path), walk->path, name))
        return;
    walk->code = dt_file_read(path, 65536, &buf, &walk->err);
    if (!walk->code)
        walk->code = dt_claim_read(dt_buf_str(&buf), buf.size, &claim, &walk->err);
    if (!walk->code && claim.gen != strtoull(name, NULL, 10))
        walk->code = dt_fail(&walk->err, DT_CORRUPT, "it is the claim of generation %llu",
                             (unsigned long long)claim.gen);
    if (walk->code) {
        dt_prefix(&walk->err, "claim %s", path);
        dt_hint(&walk->err, "restore it, or give another checkpoint.dir: without it nobody can "
                            "tell which checkpoints count");
    } else {
        all->claims = dt_realloc(all->claims, all->claims_count + 1, sizeof(*all->claims));
        all->claims[all->claims_count++] = claim;
    }
    dt_buf_release(&buf);
}

/* A directory with a manifest is a checkpoint; without one it never became one. */
static void on_step(void *owner, const char *name)
{
    struct walk *walk = owner;
    struct checkpoints *all = walk->all;
    struct dt_step_at at;
    char path[PATH_ROOM + 300];

    if (!dt_step_name_read(name, &at.step, &at.gen))
        return;
    if (snprintf(path, sizeof(path), "%s/%s/manifest.json", all->dir, name) >=
            (int)sizeof(path) ||
        access(path, F_OK))
        return;
    all->steps = dt_realloc(all->steps, all->steps_count + 1, sizeof(*all->steps));
    all->steps[all->steps_count++] = at;
}

/* Our number in the directory, after the job's own numbers and all claims there. */
static enum dt_code find_gen(struct checkpoints *all, uint64_t job_gen, struct dt_err *err)
{
    uint64_t newest = 0, base = 0, own = 0;

    for (size_t i = 0; i < all->claims_count; i++) {
        const struct dt_claim *claim = &all->claims[i];

        newest = claim->gen > newest ? claim->gen : newest;
        if (strcmp(claim->job, all->job) == 0 && claim->gen > own) {
            own = claim->gen;
            base = claim->gen - claim->job_gen;
        }
    }
    all->is_first = own == 0;
    if (all->is_first)
        base = newest;
    all->job_gen = job_gen ? job_gen : own ? newest + 1 - base : 1;
    all->gen = base + all->job_gen;
    if (all->gen == newest && !all->is_first)
        return dt_fail(err, DT_CONFLICT, "%s: generation %llu of %s has claimed this directory "
                       "already", all->dir, (unsigned long long)all->job_gen, all->job);
    if (all->gen <= newest)
        return dt_fail(err, DT_STALE, "%s: a newer generation than %llu has claimed this "
                       "directory", all->dir, (unsigned long long)all->job_gen);
    return DT_OK;
}

enum dt_code checkpoints_open(struct checkpoints *all, const char *dir, const char *job,
                              uint64_t job_gen, struct dt_err *err)
{
    struct walk walk = {0};
    enum dt_code code;

    *all = (struct checkpoints){0};
    walk.all = all;
    if (strlen(dir) >= sizeof(all->dir) || strlen(job) >= sizeof(all->job))
        return dt_fail(err, DT_INVALID, "checkpoint.dir or the job's name is too long");
    memcpy(all->dir, dir, strlen(dir) + 1);
    memcpy(all->job, job, strlen(job) + 1);
    snprintf(walk.path, sizeof(walk.path), "%s/claims", dir);
    if ((code = dt_dir_make(walk.path, 0777, err)) ||
        (code = dt_dir_list(walk.path, on_claim, &walk, err)) ||
        (code = dt_dir_list(dir, on_step, &walk, err)))
        return code;
    if (walk.code) {
        if (err)
            *err = walk.err;
        return walk.code;
    }
    if ((code = find_gen(all, job_gen, err)))
        return code;
    all->steps_count = dt_lineage_chain(all->claims, all->claims_count, all->steps,
                                        all->steps_count);
    return DT_OK;
}

void checkpoints_release(struct checkpoints *all)
{
    dt_free(all->claims);
    dt_free(all->steps);
    *all = (struct checkpoints){0};
}

static enum dt_code write_all(int fd, const struct dt_buf *buf)
{
    for (size_t done = 0; done < buf->size;) {
        ssize_t more = write(fd, buf->data + done, buf->size - done);

        if (more < 0 && errno != EINTR)
            return DT_IO;
        done += more > 0 ? (size_t)more : 0;
    }
    return fsync(fd) ? DT_IO : DT_OK;
}

/* link() fails when the name is taken: exactly one process can claim a generation. */
static enum dt_code publish(const struct checkpoints *all, const struct dt_buf *buf,
                            struct dt_err *err)
{
    char temporary[PATH_ROOM], path[PATH_ROOM], dir[PATH_ROOM];
    enum dt_code code = DT_OK;
    int fd;

    snprintf(dir, sizeof(dir), "%s/claims", all->dir);
    snprintf(path, sizeof(path), "%s/claims/%llu.json", all->dir,
             (unsigned long long)all->gen);
    snprintf(temporary, sizeof(temporary), "%s/claims/.new-%llu-%ld", all->dir,
             (unsigned long long)all->gen, (long)getpid());
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return dt_fail(err, DT_IO, "cannot write %s: %s", temporary, strerror(errno));
    if (write_all(fd, buf))
        code = dt_fail(err, DT_IO, "cannot write %s: %s", temporary, strerror(errno));
    close(fd);
    if (!code && link(temporary, path))
        code = dt_fail(err, errno == EEXIST ? DT_CONFLICT : DT_IO, "cannot claim %s: %s", path,
                       strerror(errno));
    unlink(temporary);
    return code ? code : dt_dir_sync(dir, err);
}

enum dt_code checkpoints_claim(struct checkpoints *all, const struct dt_step_at *from,
                               const char *digest, struct dt_err *err)
{
    struct dt_claim claim = {.gen = all->gen, .job_gen = all->job_gen, .from_gen = from->gen,
                             .from_step = from->gen ? from->step : 0};
    struct dt_buf buf = {0};
    size_t kept = 0;
    enum dt_code code;

    snprintf(claim.job, sizeof(claim.job), "%s", all->job);
    snprintf(claim.digest, sizeof(claim.digest), "%s", digest);
    dt_claim_write(&buf, &claim);
    code = publish(all, &buf, err);
    dt_buf_release(&buf);
    if (code)
        return code;
    /* What is newer than where we go on from is off the chain from now on. */
    for (size_t i = 0; i < all->steps_count; i++)
        if (from->gen && all->steps[i].step <= claim.from_step)
            all->steps[kept++] = all->steps[i];
    all->steps_count = kept;
    return DT_OK;
}

static void on_newer(void *owner, const char *name)
{
    struct walk *walk = owner;

    if (name[0] >= '0' && name[0] <= '9' && strtoull(name, NULL, 10) > walk->all->gen)
        walk->code = DT_STALE;
}

enum dt_code checkpoints_check(const struct checkpoints *all, struct dt_err *err)
{
    struct checkpoints copy = *all;
    struct walk walk = {.all = &copy};
    enum dt_code code;

    snprintf(walk.path, sizeof(walk.path), "%s/claims", all->dir);
    if ((code = dt_dir_list(walk.path, on_newer, &walk, err)))
        return code;
    if (walk.code)
        return dt_fail(err, DT_STALE, "a newer generation than %llu has taken over %s",
                       (unsigned long long)all->job_gen, all->dir);
    return DT_OK;
}

void checkpoints_add(struct checkpoints *all, int64_t step)
{
    all->steps = dt_realloc(all->steps, all->steps_count + 1, sizeof(*all->steps));
    memmove(all->steps + 1, all->steps, all->steps_count * sizeof(*all->steps));
    all->steps[0] = (struct dt_step_at){step, all->gen};
    all->steps_count++;
}

/* Did our job write the checkpoints of this generation? */
static bool is_ours(const struct checkpoints *all, uint64_t gen)
{
    if (gen == all->gen)
        return true;
    for (size_t i = 0; i < all->claims_count; i++)
        if (all->claims[i].gen == gen)
            return strcmp(all->claims[i].job, all->job) == 0;
    return false;
}

/* The manifest goes first: from then on it is no checkpoint, whatever happens. */
static bool remove_step(const struct checkpoints *all, const struct dt_step_at *at)
{
    char name[DT_STEP_NAME_BYTES], path[PATH_ROOM], manifest[PATH_ROOM + 20];

    dt_step_name(name, at->step, at->gen);
    snprintf(path, sizeof(path), "%s/%s", all->dir, name);
    snprintf(manifest, sizeof(manifest), "%s/manifest.json", path);
    if (unlink(manifest) && errno != ENOENT)
        return false;
    return dt_dir_sync(path, NULL) == DT_OK && dt_dir_remove(path, NULL) == DT_OK;
}

void checkpoints_prune(struct checkpoints *all, int64_t keep_last, int64_t keep_every)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->steps_count; i++) {
        struct dt_step_at at = all->steps[i];
        bool is_kept = (int64_t)i < keep_last || (keep_every && at.step % keep_every == 0) ||
                       !is_ours(all, at.gen);

        if (is_kept || !remove_step(all, &at))
            all->steps[kept++] = at;
    }
    all->steps_count = kept;
}

static void on_half(void *owner, const char *name)
{
    struct walk *walk = owner;
    char path[PATH_ROOM + 300];
    const char *gen = strstr(name, ".g");

    /* A temporary of a newer generation may still be in the making. */
    if (strncmp(name, ".tmp-step-", 10) != 0 || !gen ||
        strtoull(gen + 2, NULL, 10) >= walk->all->gen)
        return;
    if (dt_path_join(path, sizeof(path), walk->all->dir, name))
        (void)!dt_dir_remove(path, NULL);
}

void checkpoints_sweep(const struct checkpoints *all)
{
    struct checkpoints copy = *all;
    struct walk walk = {.all = &copy};

    (void)!dt_dir_list(all->dir, on_half, &walk, NULL);
}
