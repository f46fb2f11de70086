/* dtctl down: stop an embedded cluster and leave nothing running. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "cmds.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"
#include "embedded.h"
#include "say.h"

#define LIVE_PATH                                                                             \
    "/v1/jobs?view=row&limit=1000"                                                            \
    "&state=pending,held,starting,running,recovering,stopping,preempting"
#define PAGE 1000
#define JOBS_MS 10000
#define LOOK_MS 50

static const struct dt_opt opts[] = {
    {.name = "name", .type = DT_OPT_STR, .arg = "NAME", .unit = "",
     .help = "name of the cluster; else DT_CONTEXT, else local"},
    {.name = "all", .type = DT_OPT_FLAG, .help = "every embedded cluster of mine"},
    {.name = "grace", .type = DT_OPT_DURATION, .arg = "TIME", .unit = "", .initial = "2s",
     .help = "time for jobs between SIGTERM and SIGKILL"},
    {.name = "purge", .type = DT_OPT_FLAG,
     .help = "remove the state directory, too: jobs, keys, history"},
};

/* Ask for the end of each; returns how many the controller took. */
static size_t jobs_cancel(struct dt_api *api, const struct dt_tree *items, int64_t grace_ms)
{
    struct dt_tree *body = dt_tree_make(DT_TREE_MAP);
    size_t taken = 0;

    dt_tree_put_int(body, "grace_ms", grace_ms);
    for (const struct dt_tree *job = items->first; job; job = job->next) {
        struct dt_buf path = {0};
        struct dt_err err = {0};

        dt_api_path(&path, "/v1/jobs/", dt_tree_str(job, "id", ""), "/cancel");
        if (dt_api_post(api, dt_buf_str(&path), body, NULL, &err) == DT_OK)
            taken++;
        else if (err.code != DT_CONFLICT)
            dt_say("%s: %s", dt_tree_str(job, "id", "?"), err.text);
        dt_buf_release(&path);
    }
    dt_tree_free(body);
    return taken;
}

/* Cancel what lives and wait until the controller proved it gone. A dead controller: its agents'
 * end will do. */
static void jobs_stop(const struct dt_where *where, int64_t grace_ms)
{
    struct dt_api api = {.client.fd = -1};
    int64_t end = dt_clock_ms() + JOBS_MS + grace_ms;
    size_t before = SIZE_MAX;
    bool is_asked = false;

    if (dt_client_open(where, &api.client, NULL))
        return;
    for (;;) {
        struct dt_tree *list = NULL;
        const struct dt_tree *items;
        size_t count;

        if (dt_api_get(&api, LIVE_PATH, &list, NULL))
            break;
        items = dt_tree_get(list, "items");
        count = items ? items->count : 0;
        if (count && (!is_asked || count >= PAGE)) {
            if (!is_asked)
                dt_say("cancelling %zu job%s%s", count, count == 1 ? "" : "s",
                       count >= PAGE ? " and all behind them" : "");
            if (jobs_cancel(&api, items, grace_ms) && count >= PAGE)
                end = dt_clock_ms() + JOBS_MS + grace_ms;
            is_asked = true;
        }
        dt_tree_free(list);
        if (!count)
            break;
        if (count < before) /* as long as it gets on */
            end = dt_clock_ms() + JOBS_MS + grace_ms;
        before = count;
        if (dt_clock_ms() > end) {
            dt_say("%zu job%s did not end in time; their processes end with their agents", count,
                   count == 1 ? "" : "s");
            break;
        }
        poll(NULL, 0, LOOK_MS);
    }
    dt_api_release(&api);
}

static enum dt_code procs_stop(const char *run_dir, struct dt_err *err)
{
    static const int64_t grace_ms[DT_ROLE_COUNT] = {[DT_ROLE_AGENT] = 5000,
                                                    [DT_ROLE_STEP] = 3000,
                                                    [DT_ROLE_SERVER] = 8000,
                                                    [DT_ROLE_REDIS] = 5000};
    size_t killed = 0;

    for (int role = 0; role < DT_ROLE_COUNT; role++) {
        enum dt_code code = dt_embedded_stop(run_dir, (enum dt_role)role, grace_ms[role], &killed,
                                             err);

        if (code)
            return code;
    }
    if (killed)
        dt_say("%zu process%s needed SIGKILL", killed, killed == 1 ? "" : "es");
    return DT_OK;
}

static enum dt_code down_one(const struct dt_args *args, const char *name, struct dt_err *err)
{
    struct dt_where where = {0};
    struct dt_held_procs procs;
    char base[DT_WHERE_PATH_BYTES_MAX], run_dir[DT_WHERE_PATH_BYTES_MAX];
    char state_dir[DT_WHERE_PATH_BYTES_MAX];
    enum dt_code code;
    size_t count;
    int lock = -1;

    if ((code = dt_embedded_lock(name, &lock, err)))
        return code;
    if ((code = dt_where_run_dir(base, sizeof(base), err)))
        goto out;
    if (!dt_path_join(run_dir, sizeof(run_dir), base, name) ||
        !dt_path_join(where.socket, sizeof(where.socket), run_dir, "api.sock")) {
        code = dt_fail(err, DT_INVALID, "the run directory's path is too long");
        goto out;
    }
    dt_embedded_find(run_dir, &procs);
    count = procs.count;
    dt_held_procs_release(&procs);
    if (!count && access(run_dir, F_OK) != 0) {
        code = dt_fail(err, DT_NOT_FOUND, "no embedded cluster \"%s\" is running", name);
        goto out;
    }
    if (access(where.socket, F_OK) == 0)
        jobs_stop(&where, dt_args_ms(args, "grace", 2000));
    code = procs_stop(run_dir, err);
    dt_embedded_state_dir(run_dir, state_dir, sizeof(state_dir));
    if (!code && dt_args_has(args, "purge") && state_dir[0])
        code = dt_dir_remove(state_dir, err);
    if (!code)
        code = dt_dir_remove(run_dir, err);
    if (!code)
        dt_say("cluster %s is down", name);
out:
    close(lock);
    return code;
}

struct all {
    const struct dt_args *args;
    int exit;
    size_t count;
};

static void on_entry(void *owner, const char *name)
{
    struct all *all = owner;
    struct dt_err err = {0};

    if (name[0] == '.' || dt_where_check_name(name, NULL))
        return;
    all->count++;
    if (down_one(all->args, name, &err))
        all->exit = dt_say_error(&err);
}

static int down_all(const struct dt_args *args)
{
    struct all all = {.args = args};
    char base[DT_WHERE_PATH_BYTES_MAX];
    struct dt_err err = {0};
    enum dt_code code = dt_where_run_dir(base, sizeof(base), &err);

    if (!code)
        code = dt_dir_list(base, on_entry, &all, &err);
    if (code && code != DT_NOT_FOUND)
        return dt_say_error(&err);
    if (!all.count)
        dt_say("no embedded cluster is running");
    return all.exit;
}

static int down_run(const struct dt_args *args)
{
    const char *name = dt_args_str(args, "name");
    struct dt_err err = {0};

    if (dt_args_has(args, "all"))
        return down_all(args);
    if (!name)
        name = getenv("DT_CONTEXT");
    return down_one(args, name && *name ? name : "local", &err) ? dt_say_error(&err) : 0;
}

const struct dt_cmd dt_cli_down = {
    .name = "down",
    .operands = "",
    .summary = "Stop your cluster on this machine: its jobs, agents, controller and store.",
    .detail = "Cancels live jobs first. Processes are found by the cluster's run directory and "
              "signalled through pidfds, so a stranger never gets the signal. The state directory "
              "stays unless --purge is given.",
    .examples = "  dtctl down\n  dtctl down --all --purge\n",
    .opts = opts,
    .opts_count = DT_COUNT(opts),
    .group = DT_GROUP_CLUSTER,
    .run = down_run,
};
