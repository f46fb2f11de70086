/* The PMIx server of the ranks: they find each other without mpirun (launch.md). */
#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/wire/msg.h"
#include "step.h"
#include "topology.h"

#define INFO_MAX 16

/* What an upcall of libpmix's own thread leaves for the loop. */
struct upcall {
    enum { UP_CONNECTED, UP_FINALIZED, UP_FENCE } kind;
    char nspace[PMIX_MAX_NSLEN + 1];
    uint32_t rank;
    char *data;
    size_t size;
    pmix_modex_cbfunc_t done;
    void *done_data;
    struct upcall *next;
};

struct pmix {
    struct step *step;
    char dir[400];
    char nspace[PMIX_MAX_NSLEN + 1]; /* of the present generation; "" = none */
    int event_fd;
    struct dt_watch *watch;
    pthread_mutex_t lock;
    struct upcall *first, *last; /* under lock */
    struct upcall *fences;       /* waiting for fence_all, oldest first */
    int64_t fence_next;          /* number of the next fence of this generation */
    int64_t fence_answered;
    struct dt_buf given; /* our data of the fence answered last: another node may still need it */
};

/* libpmix calls back without an owner: there is one server a process. */
static struct pmix *server;

const char *pmix_shared_btl(void)
{
#if PMIX_VERSION_MAJOR >= 5
    return "self,sm,tcp";
#else
    return "self,vader,tcp";
#endif
}

static void upcall_push(struct upcall *up)
{
    uint64_t one = 1;
    ssize_t put;

    pthread_mutex_lock(&server->lock);
    if (server->last)
        server->last->next = up;
    else
        server->first = up;
    server->last = up;
    pthread_mutex_unlock(&server->lock);
    put = write(server->event_fd, &one, sizeof(one));
    (void)put;
}

static struct upcall *upcall_of(const pmix_proc_t *proc)
{
    struct upcall *up = dt_alloc(1, sizeof(*up));

    snprintf(up->nspace, sizeof(up->nspace), "%s", proc->nspace);
    up->rank = proc->rank;
    return up;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *data)
{
    struct upcall *up = upcall_of(proc);

    (void)object;
    (void)done;
    (void)data;
    up->kind = UP_CONNECTED;
    upcall_push(up);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done,
                                  void *data)
{
    struct upcall *up = upcall_of(proc);

    (void)object;
    (void)done;
    (void)data;
    up->kind = UP_FINALIZED;
    upcall_push(up);
    return PMIX_OPERATION_SUCCEEDED;
}

/* MPI_Abort: the rank exits by itself with its status; nothing else to do here. */
static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status,
                              const char message[], pmix_proc_t procs[], size_t count,
                              pmix_op_cbfunc_t done, void *data)
{
    (void)proc;
    (void)object;
    (void)status;
    (void)message;
    (void)procs;
    (void)count;
    (void)done;
    (void)data;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
                              size_t info_count, char *bytes, size_t size,
                              pmix_modex_cbfunc_t done, void *data)
{
    struct upcall *up;

    (void)info;
    (void)info_count;
    if (!count)
        return PMIX_ERR_BAD_PARAM;
    up = upcall_of(&procs[0]);
    up->kind = UP_FENCE;
    up->data = dt_copy_bytes(bytes, size);
    up->size = size;
    up->done = done;
    up->done_data = data;
    upcall_push(up);
    free(bytes);
    return PMIX_SUCCESS;
}

static pmix_server_module_t module = {
    .client_connected = on_connected, .client_finalized = on_finalized, .abort = on_abort,
    .fence_nb = on_fence};

static void free_bytes(void *bytes)
{
    dt_free(bytes);
}

static void fence_answer(struct upcall *up, pmix_status_t status, const void *data, size_t size)
{
    char *copy = dt_copy_bytes(data, size);

    up->done(status, copy, size, up->done_data, free_bytes, copy);
    dt_free(up->data);
    dt_free(up);
}

static void fence_tell(struct step *step, int64_t no, const void *data, size_t size)
{
    struct dt_tree *message = step_message(step, "step_fence");

    dt_tree_put_int(message, "no", no);
    step_tell(step, message, data, size);
}

/* A fence of all local ranks: to the others, or answered here when there are none. */
static void fence_begin(struct pmix *pmix, struct upcall *up)
{
    struct step *step = pmix->step;
    const struct dt_tree *nodes = dt_tree_get(step->bundle, "nodes");
    struct upcall **at = &pmix->fences;

    if (strcmp(up->nspace, pmix->nspace) != 0) {
        fence_answer(up, PMIX_ERR_INVALID_NAMESPACE, "", 0);
        return;
    }
    if (!nodes || nodes->count <= 1) {
        fence_answer(up, PMIX_SUCCESS, up->data, up->size);
        return;
    }
    up->next = NULL;
    while (*at)
        at = &(*at)->next;
    *at = up;
    fence_tell(step, pmix->fence_next++, up->data, up->size);
}

void pmix_fences_again(struct pmix *pmix)
{
    int64_t no = pmix->fence_answered;

    if (!pmix->nspace[0])
        return;
    if (no > 0)
        fence_tell(pmix->step, no - 1, dt_buf_str(&pmix->given), pmix->given.size);
    for (const struct upcall *up = pmix->fences; up; up = up->next)
        fence_tell(pmix->step, no++, up->data, up->size);
}

void pmix_fence_all(struct pmix *pmix, uint64_t gen, int64_t no, const void *data, size_t size)
{
    struct upcall *up = pmix->fences;

    if (gen != pmix->step->gen || no != pmix->fence_answered || !up)
        return; /* of an older generation, or twice */
    pmix->fences = up->next;
    pmix->fence_answered++;
    dt_buf_clear(&pmix->given);
    dt_buf_add(&pmix->given, up->data ? up->data : "", up->size);
    fence_answer(up, PMIX_SUCCESS, data, size);
}

static void rank_note(struct pmix *pmix, const struct upcall *up)
{
    struct step *step = pmix->step;

    if (strcmp(up->nspace, pmix->nspace) != 0)
        return;
    for (int i = 0; i < step->ranks_count; i++)
        if (step->ranks[i].number == (int)up->rank) {
            if (up->kind == UP_CONNECTED)
                step->ranks[i].is_connected = true;
            else
                step->ranks[i].has_finalized = true;
        }
    step->check_up(step);
}

static void on_upcalls(void *owner, int fd)
{
    struct pmix *pmix = owner;
    struct upcall *up;
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof(count));

    (void)got;
    pthread_mutex_lock(&pmix->lock);
    up = pmix->first;
    pmix->first = pmix->last = NULL;
    pthread_mutex_unlock(&pmix->lock);
    while (up) {
        struct upcall *next = up->next;

        if (up->kind == UP_FENCE) {
            fence_begin(pmix, up);
        } else {
            rank_note(pmix, up);
            dt_free(up);
        }
        up = next;
    }
}

enum dt_code pmix_open(struct step *step, struct pmix **pmix, struct dt_err *err)
{
    struct pmix *made = dt_alloc(1, sizeof(*made));
    bool is_topology_ours, has_plugins = getenv(TOPOLOGY_PLUGINS) != NULL;
    pmix_info_t *info;
    pmix_status_t status;
    enum dt_code code;
    char path[400];

    made->step = step;
    snprintf(made->dir, sizeof(made->dir), "%.250s/px%d", step->run_dir, (int)getpid());
    if ((code = dt_dir_make(made->dir, 0700, err))) {
        dt_free(made);
        return code;
    }
    made->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&made->lock, NULL);
    made->watch = dt_watch_make(step->loop, made->event_fd, on_upcalls, made);
    server = made;
    setenv("PMIX_MCA_gds", "hash", 1);
    is_topology_ours = !getenv(TOPOLOGY_VARIABLE) &&
                       topology_path(step->run_dir, path, sizeof(path)) &&
                       setenv(TOPOLOGY_VARIABLE, path, 1) == 0;
    if (is_topology_ours && !has_plugins)
        setenv(TOPOLOGY_PLUGINS, TOPOLOGY_PLUGINS_NONE, 1);
    PMIX_INFO_CREATE(info, 2);
    PMIX_INFO_LOAD(&info[0], PMIX_HOSTNAME, step->node, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_TMPDIR, made->dir, PMIX_STRING);
    status = PMIx_server_init(&module, info, 2);
    PMIX_INFO_FREE(info, 2);
    if (is_topology_ours)
        unsetenv(TOPOLOGY_VARIABLE); /* ranks inherit our environment */
    if (is_topology_ours && !has_plugins)
        unsetenv(TOPOLOGY_PLUGINS);
    *pmix = made;
    return status == PMIX_SUCCESS ? DT_OK
                                  : dt_fail(err, DT_IO, "PMIx_server_init: %s",
                                            PMIx_Error_string(status));
}

/* "a,b" and "0,1;2,3": nodes and their ranks, as PMIx wants them before compression. */
static void node_texts(const struct dt_tree *nodes, struct dt_buf *names, struct dt_buf *ranks)
{
    for (const struct dt_tree *row = nodes->first; row; row = row->next) {
        int64_t first = dt_tree_int(row, "rank_first", 0), count = dt_tree_int(row, "ranks", 0);

        dt_buf_print(names, "%s%s", names->size ? "," : "", dt_tree_str(row, "node", ""));
        if (row != nodes->first)
            dt_buf_byte(ranks, ';');
        for (int64_t i = 0; i < count; i++)
            dt_buf_print(ranks, "%s%lld", i ? "," : "", (long long)(first + i));
    }
}

static void local_peers(const struct step *step, struct dt_buf *peers)
{
    for (int i = 0; i < step->ranks_count; i++)
        dt_buf_print(peers, "%s%d", i ? "," : "", step->ranks[i].number);
}

static void add_text(pmix_info_t *info, size_t *count, const char *key, const char *value)
{
    PMIX_INFO_LOAD(&info[*count], key, value, PMIX_STRING);
    (*count)++;
}

static void add_number(pmix_info_t *info, size_t *count, const char *key, uint32_t value)
{
    PMIX_INFO_LOAD(&info[*count], key, &value, PMIX_UINT32);
    (*count)++;
}

static pmix_status_t register_namespace(struct pmix *pmix, const char *node_map,
                                        const char *proc_map)
{
    const struct step *step = pmix->step;
    const struct dt_tree *nodes = dt_tree_get(step->bundle, "nodes");
    uint32_t world = (uint32_t)dt_tree_int(step->bundle, "world", 1);
    struct dt_buf peers = {0};
    char dir[480];
    pmix_info_t *info;
    pmix_status_t status;
    size_t count = 0;

    PMIX_INFO_CREATE(info, INFO_MAX);
    snprintf(dir, sizeof(dir), "%s/g%llu", pmix->dir, (unsigned long long)step->gen);
    mkdir(dir, 0700);
    local_peers(step, &peers);
    PMIX_INFO_LOAD(&info[count], PMIX_NODE_MAP, node_map, PMIX_REGEX);
    count++;
    PMIX_INFO_LOAD(&info[count], PMIX_PROC_MAP, proc_map, PMIX_REGEX);
    count++;
    add_text(info, &count, PMIX_JOBID, pmix->nspace);
    add_number(info, &count, PMIX_JOB_SIZE, world);
    add_number(info, &count, PMIX_UNIV_SIZE, world);
    add_number(info, &count, PMIX_MAX_PROCS, world);
    add_number(info, &count, PMIX_LOCAL_SIZE, (uint32_t)step->ranks_count);
    add_number(info, &count, PMIX_NUM_NODES, (uint32_t)nodes->count);
    add_text(info, &count, PMIX_LOCAL_PEERS, dt_buf_str(&peers));
    add_text(info, &count, PMIX_TMPDIR, pmix->dir);
    add_text(info, &count, PMIX_NSDIR, dir);
    status = PMIx_server_register_nspace(pmix->nspace, step->ranks_count, info, count, NULL, NULL);
    PMIX_INFO_FREE(info, INFO_MAX);
    dt_buf_release(&peers);
    return status;
}

static bool is_done(pmix_status_t status)
{
    return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

enum dt_code pmix_generation(struct pmix *pmix, struct dt_err *err)
{
    struct step *step = pmix->step;
    struct dt_buf names = {0}, ranks = {0};
    char *node_map = NULL, *proc_map = NULL;
    pmix_status_t status;

    snprintf(pmix->nspace, sizeof(pmix->nspace), "dt.%.8s.%llu.g%llu",
             dt_tree_str(step->bundle, "cluster", "none"), (unsigned long long)step->job,
             (unsigned long long)step->gen);
    pmix->fence_next = pmix->fence_answered = 0;
    dt_buf_release(&pmix->given);
    node_texts(dt_tree_get(step->bundle, "nodes"), &names, &ranks);
    status = PMIx_generate_regex(dt_buf_str(&names), &node_map);
    if (is_done(status))
        status = PMIx_generate_ppn(dt_buf_str(&ranks), &proc_map);
    if (is_done(status))
        status = register_namespace(pmix, node_map, proc_map);
    free(node_map);
    free(proc_map);
    dt_buf_release(&names);
    dt_buf_release(&ranks);
    for (int i = 0; i < step->ranks_count && is_done(status); i++) {
        pmix_proc_t proc;

        PMIX_PROC_LOAD(&proc, pmix->nspace, (uint32_t)step->ranks[i].number);
        status = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL);
    }
    return is_done(status) ? DT_OK
                           : dt_fail(err, DT_IO, "PMIx cannot register the generation: %s",
                                     PMIx_Error_string(status));
}

enum dt_code pmix_rank_env(struct pmix *pmix, int rank, struct dt_texts *env, struct dt_err *err)
{
    char **variables = NULL;
    pmix_proc_t proc;
    pmix_status_t status;

    PMIX_PROC_LOAD(&proc, pmix->nspace, (uint32_t)rank);
    status = PMIx_server_setup_fork(&proc, &variables);
    for (size_t i = 0; variables && variables[i]; i++) {
        char *equal = strchr(variables[i], '=');

        if (equal) {
            *equal = 0;
            dt_env_set(env, variables[i], equal + 1);
        }
        free(variables[i]);
    }
    free(variables);
    return status == PMIX_SUCCESS
               ? DT_OK
               : dt_fail(err, DT_IO, "PMIx_server_setup_fork: %s", PMIx_Error_string(status));
}

void pmix_generation_end(struct pmix *pmix)
{
    struct step *step = pmix->step;
    char dir[480];

    if (!pmix->nspace[0])
        return;
    while (pmix->fences) {
        struct upcall *up = pmix->fences;

        pmix->fences = up->next;
        fence_answer(up, PMIX_ERR_LOST_CONNECTION, "", 0);
    }
    PMIx_server_deregister_nspace(pmix->nspace, NULL, NULL);
    snprintf(dir, sizeof(dir), "%s/g%llu", pmix->dir, (unsigned long long)step->gen);
    if (dt_dir_remove(dir, NULL))
        dt_log(DT_LOG_WARN, "directory of a generation not removed", "path", dir, NULL);
    pmix->nspace[0] = 0;
}

/* PMIx_server_finalize can hang for ever after a client died: the directory goes, we exit. */
void pmix_remove_dir(struct pmix *pmix)
{
    if (pmix && dt_dir_remove(pmix->dir, NULL))
        dt_log(DT_LOG_WARN, "PMIx directory not removed", "path", pmix->dir, NULL);
}
