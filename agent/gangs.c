/* Generations on this node: the ledger, orders, what the step processes say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "cgroup.h"
#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "dt/wire/msg.h"
#include "ledger.h"
#include "strays.h"

#define GANGS_MAX 1024
#define STEP_BACK_MS 400      /* a living step process dials again within this */
#define STEP_FIRST_MS 2000    /* after our own restart */
#define STEP_START_MS 15000   /* a new step process must come */
#define PORT_FIRST 20000      /* below the kernel's ephemeral ports */
#define PORT_LAST 32000
#define STRAYS_MS 200          /* killed ones are looked at again */
#define FENCE_PART_BYTES (512 * 1024)

struct gangs {
    struct agent *agent;
    struct gang *items[GANGS_MAX]; /* owned */
    size_t count;
    char dir[400];
    struct dt_timer *sweep;
    struct tombs *tombs;
    int64_t strays_ms; /* when strays are looked for next; 0 = none were left */
    int port_next;
};

/* ---- the ledger ---- */

static void gang_free(struct gang *gang)
{
    dt_tree_free(gang->bundle);
    dt_free(gang->exits);
    dt_buf_release(&gang->fence);
    dt_free(gang);
}

static void gang_remove(struct gangs *gangs, struct gang *gang)
{
    ledger_remove(gangs->dir, gang->job, gang->gen);
    for (size_t i = 0; i < gangs->count; i++)
        if (gangs->items[i] == gang) {
            gangs->items[i] = gangs->items[--gangs->count];
            break;
        }
    if (gang->step)
        gang->step->gang = NULL;
    gang_free(gang);
}

static struct gang *gang_add(struct gangs *gangs, uint64_t job, uint64_t gen)
{
    struct gang *gang = dt_alloc(1, sizeof(*gang));

    gang->job = job;
    gang->gen = gen;
    gang->progress.step = gang->progress.checkpoint_step = -1;
    gang->lost_ms = dt_loop_now_ms(gangs->agent->loop);
    gangs->items[gangs->count++] = gang;
    return gang;
}

/* After a restart: the entry says what may still run; its step process will tell. Of a damaged one
 * nothing is known but its name: it must end. */
static void on_entry(void *owner, const char *name)
{
    struct gangs *gangs = owner;
    struct ledger_entry entry;
    struct gang *gang;

    if (gangs->count == GANGS_MAX || !ledger_read(gangs->dir, name, &entry) || !entry.job)
        return;
    gang = gang_add(gangs, entry.job, entry.gen);
    gang->master_port = entry.master_port;
    gang->bundle = entry.read;
    gang->is_damaged = entry.is_damaged;
    gang->state = DT_GANG_STOPPING; /* until its step says otherwise */
    gang->lost_ms += STEP_FIRST_MS - STEP_BACK_MS;
}

struct gang *gangs_find(struct gangs *gangs, uint64_t job, uint64_t gen)
{
    for (size_t i = 0; i < gangs->count; i++)
        if (gangs->items[i]->job == job && gangs->items[i]->gen == gen)
            return gangs->items[i];
    return NULL;
}

size_t gangs_count(const struct gangs *gangs)
{
    return gangs->count;
}

struct gang *gangs_at(struct gangs *gangs, size_t index)
{
    return gangs->items[index];
}

bool gangs_are_settled(const struct gangs *gangs)
{
    for (size_t i = 0; i < gangs->count; i++)
        if (!gangs->items[i]->step && gangs->items[i]->state != DT_GANG_GONE)
            return false;
    return true;
}

/* ---- reports ---- */

struct dt_gang_report gangs_report(const struct gang *gang, enum dt_report_what what)
{
    struct dt_gang_report report = {
        .job = gang->job, .gen = gang->gen, .what = what, .master_port = gang->master_port,
        .is_up = gang->is_up, .is_gone = gang->state == DT_GANG_GONE, .exits = gang->exits,
        .exits_count = gang->exits_count, .progress = gang->progress};

    if (gang->is_damaged)
        snprintf(report.reason, sizeof(report.reason),
                 "the agent's ledger entry was damaged, so its ranks were ended");
    return report;
}

static void tell(struct agent *agent, const struct gang *gang, enum dt_report_what what)
{
    struct dt_gang_report report = gangs_report(gang, what);

    agent->out.report(agent->session, &report);
}

static void refuse(struct agent *agent, uint64_t job, uint64_t gen, const char *why)
{
    struct dt_gang_report report = {.job = job, .gen = gen, .what = DT_REPORT_REFUSED};

    dt_log(DT_LOG_WARN, "order refused", "why", why, NULL);
    snprintf(report.reason, sizeof(report.reason), "%s", why);
    report.progress.step = report.progress.checkpoint_step = -1;
    agent->out.report(agent->session, &report);
}

static bool gang_move(struct gang *gang, enum dt_gang_on on)
{
    enum dt_gang_state next = dt_gang_next(gang->state, on);

    if (next == DT_GANG_STATE_COUNT)
        return false;
    gang->state = next;
    return true;
}

static void gang_gone(struct agent *agent, struct gang *gang)
{
    if (!gang_move(gang, DT_GANG_ON_GONE))
        return;
    tell(agent, gang, DT_REPORT_GONE);
}

/* ---- orders ---- */

static struct dt_tree *step_order(const struct gang *gang, const char *type)
{
    struct dt_tree *message = dt_msg_make(type);

    dt_tree_put_int(message, "job", (int64_t)gang->job);
    dt_tree_put_u64(message, "gen", gang->gen);
    return message;
}

static void send_order(const struct gang *gang, struct dt_tree *take, const void *blob,
                       size_t size)
{
    if (gang->step)
        dt_conn_send(gang->step->conn, take, blob, size);
    dt_tree_free(take);
}

/* A free port on addr for rank 0; not one that another generation here was given. */
static int choose_port(struct gangs *gangs, const char *addr)
{
    for (int tries = 0; tries < 2000; tries++) {
        int port = PORT_FIRST + (gangs->port_next++ % (PORT_LAST - PORT_FIRST));
        bool is_taken = false;

        for (size_t i = 0; i < gangs->count; i++)
            is_taken |= gangs->items[i]->master_port == port;
        if (!is_taken && node_port_is_free(addr, port))
            return port;
    }
    return 0;
}

/* Another generation that still holds a device of this order. */
static const struct gang *collision(const struct gangs *gangs, const struct dt_tree *bundle,
                                    const char **device)
{
    const struct dt_tree *ranks = dt_tree_get(bundle, "ranks");

    for (size_t i = 0; i < gangs->count; i++) {
        const struct gang *other = gangs->items[i];
        const struct dt_tree *theirs = dt_tree_get(other->bundle, "ranks");

        if (other->state == DT_GANG_GONE)
            continue;
        for (const struct dt_tree *a = ranks ? ranks->first : NULL; a; a = a->next)
            for (const struct dt_tree *b = theirs ? theirs->first : NULL; b; b = b->next) {
                const struct dt_tree *x = dt_tree_get(a, "devices"), *y = dt_tree_get(b, "devices");

                for (const struct dt_tree *d = x ? x->first : NULL; d; d = d->next)
                    for (const struct dt_tree *e = y ? y->first : NULL; e; e = e->next)
                        if (strcmp(d->text, e->text) == 0) {
                            *device = d->text;
                            return other;
                        }
            }
    }
    return NULL;
}

/* Which devices it holds is not known: nothing may start beside it. */
static bool has_damaged(const struct gangs *gangs)
{
    for (size_t i = 0; i < gangs->count; i++)
        if (gangs->items[i]->is_damaged && gangs->items[i]->state != DT_GANG_GONE)
            return true;
    return false;
}

static const char *order_problem(const struct agent *agent, const struct dt_tree *bundle,
                                 char *text, size_t size)
{
    const char *device = "";
    const struct gang *other;

    if (dt_tree_int(bundle, "uid", -1) != geteuid()) {
        snprintf(text, size, "this agent runs jobs of uid %d only, the job is of uid %lld",
                 (int)geteuid(), (long long)dt_tree_int(bundle, "uid", -1));
        return text;
    }
    if (agent->gangs->count == GANGS_MAX)
        return "too many generations on this node";
    if (agent->gangs->strays_ms || has_damaged(agent->gangs))
        return "ranks of a lost ledger entry are still being ended here";
    other = collision(agent->gangs, bundle, &device);
    if (!other)
        return NULL;
    snprintf(text, size, "device %s is still held by job %llu generation %llu", device,
             (unsigned long long)other->job, (unsigned long long)other->gen);
    return text;
}

/* Hand the prepared order to the step process, when there is one. */
static void order_step(struct agent *agent, struct gang *gang, struct dt_tree *spec)
{
    struct dt_tree *message, *bundle;

    gang->step = agent->out.claim(agent->steps, gang->job);
    if (!gang->step) {
        if (spec)
            dt_tree_add(gang->bundle, "spec", dt_tree_copy(spec)); /* until one comes */
        return;
    }
    gang->step->gang = gang;
    message = step_order(gang, "step_prepare");
    bundle = dt_tree_copy(gang->bundle);
    dt_free(bundle->key);
    bundle->key = NULL;
    dt_tree_add(message, "bundle", bundle);
    if (spec)
        dt_tree_add(bundle, "spec", dt_tree_copy(spec));
    send_order(gang, message, NULL, 0);
    dt_tree_free(dt_tree_take(gang->bundle, "spec"));
}

void gangs_prepare(struct agent *agent, struct dt_tree *body)
{
    struct gangs *gangs = agent->gangs;
    uint64_t job = (uint64_t)dt_tree_int(body, "job", 0), gen = dt_tree_u64(body, "gen", 0);
    struct dt_tree *bundle = dt_tree_get(body, "bundle"), *spec;
    struct dt_err err = {0};
    struct ledger_entry entry;
    struct gang *gang;
    char text[200];
    const char *problem;

    if (gangs_find(gangs, job, gen))
        return; /* told again after a reconnect */
    problem = order_problem(agent, bundle, text, sizeof(text));
    if (tombs_has(gangs->tombs, job, gen))
        problem = "this generation, or a newer one of its job, has already ended on this node";
    if (problem) {
        refuse(agent, job, gen, problem);
        return;
    }
    gang = gang_add(gangs, job, gen);
    gang->bundle = dt_tree_take(body, "bundle");
    spec = dt_tree_take(gang->bundle, "spec");
    if (dt_tree_int(gang->bundle, "node_rank", 0) == 0)
        gang->master_port = choose_port(gangs, agent->inventory.addr_job[0]);
    entry = (struct ledger_entry){job, gen, gang->master_port, gang->bundle, NULL, false};
    if (ledger_write(gangs->dir, &entry, &err)) {
        refuse(agent, job, gen, err.text);
        gang_remove(gangs, gang);
    } else {
        order_step(agent, gang, spec);
    }
    dt_tree_free(spec);
}

void gangs_go(struct agent *agent, const struct dt_tree *body)
{
    struct gang *gang = gangs_find(agent->gangs, (uint64_t)dt_tree_int(body, "job", 0),
                                   dt_tree_u64(body, "gen", 0));
    struct dt_tree *message;

    if (!gang || !gang_move(gang, DT_GANG_ON_GO))
        return;
    message = step_order(gang, "step_go");
    dt_tree_put_str(message, "master_addr", dt_tree_str(body, "master_addr", "127.0.0.1"));
    dt_tree_put_int(message, "master_port", dt_tree_int(body, "master_port", 0));
    send_order(gang, message, NULL, 0);
}

void gangs_stop(struct agent *agent, const struct dt_tree *body)
{
    uint64_t job = (uint64_t)dt_tree_int(body, "job", 0), gen = dt_tree_u64(body, "gen", 0);
    struct gang *gang = gangs_find(agent->gangs, job, gen);
    struct dt_tree *message;

    tombs_add(agent->gangs->tombs, job, gen, dt_clock_ms()); /* a late prepare finds it */
    if (!gang && agent->gangs->count < GANGS_MAX && agent->gangs->strays_ms) {
        gang = gang_add(agent->gangs, job, gen); /* gone when the sweep finds nothing of it */
        gang->state = DT_GANG_STOPPING;
        gang->is_damaged = true;
        return;
    }
    if (!gang) { /* nothing of it is here, and that is a proof */
        struct dt_gang_report report = {.job = job, .gen = gen, .what = DT_REPORT_GONE};

        report.progress.step = report.progress.checkpoint_step = -1;
        agent->out.report(agent->session, &report);
        return;
    }
    if (gang->state == DT_GANG_GONE) {
        tell(agent, gang, DT_REPORT_GONE);
        return;
    }
    gang_move(gang, DT_GANG_ON_STOP);
    if (!gang->step && gang->bundle && dt_tree_get(gang->bundle, "spec")) {
        gang_gone(agent, gang); /* never handed to a step process */
        return;
    }
    message = step_order(gang, "step_stop");
    dt_tree_put_int(message, "grace_ms", dt_tree_int(body, "grace_ms", 0));
    send_order(gang, message, NULL, 0);
}

void gangs_forget(struct agent *agent, const struct dt_tree *body)
{
    struct gang *gang = gangs_find(agent->gangs, (uint64_t)dt_tree_int(body, "job", 0),
                                   dt_tree_u64(body, "gen", 0));
    bool is_final = dt_tree_bool(body, "is_final", false);
    struct dt_tree *message;

    if (!gang || gang->state != DT_GANG_GONE)
        return;
    message = step_order(gang, "step_forget");
    dt_tree_put_bool(message, "is_final", is_final);
    send_order(gang, message, NULL, 0);
    tombs_add(agent->gangs->tombs, gang->job, gang->gen, dt_clock_ms());
    gang_remove(agent->gangs, gang);
}

void gangs_fence_all(struct agent *agent, const struct dt_frame *frame)
{
    struct gang *gang = gangs_find(agent->gangs, (uint64_t)dt_tree_int(frame->body, "job", 0),
                                   dt_tree_u64(frame->body, "gen", 0));
    struct dt_tree *message;

    if (!gang)
        return;
    if (dt_tree_int(frame->body, "part", 0) == 0)
        dt_buf_clear(&gang->fence);
    dt_buf_add(&gang->fence, frame->blob ? frame->blob : "", frame->blob_size);
    if (dt_tree_int(frame->body, "part", 0) + 1 < dt_tree_int(frame->body, "parts", 1))
        return;
    message = step_order(gang, "step_fence_all");
    dt_tree_put_int(message, "no", dt_tree_int(frame->body, "no", 0));
    send_order(gang, message, dt_buf_str(&gang->fence), gang->fence.size);
}

void gangs_stop_all(struct agent *agent)
{
    for (size_t i = 0; i < agent->gangs->count; i++) {
        struct gang *gang = agent->gangs->items[i];
        struct dt_tree *message = step_order(gang, "step_stop");

        dt_tree_put_int(message, "grace_ms", 0);
        send_order(gang, message, NULL, 0);
    }
}

/* ---- what step processes say ---- */

static void read_exits(struct gang *gang, const struct dt_tree *body)
{
    const struct dt_tree *list = dt_tree_get(body, "exits");

    dt_free(gang->exits);
    gang->exits_count = 0;
    gang->exits = dt_alloc(list ? list->count : 0, sizeof(*gang->exits));
    for (const struct dt_tree *row = list ? list->first : NULL; row; row = row->next)
        dt_msg_exit_read(row, &gang->exits[gang->exits_count++]);
}

/* A step process of before our restart, or one whose connection broke: take it over as it is. */
static void adopt(struct agent *agent, struct step_link *link, const struct dt_tree *body)
{
    struct gang *gang = gangs_find(agent->gangs, link->job, dt_tree_u64(body, "gen", 0));
    const char *word = dt_tree_str(body, "state", "");
    int state = 0;

    while (state < DT_GANG_STATE_COUNT &&
           strcmp(dt_gang_state_name((enum dt_gang_state)state), word) != 0)
        state++;
    if (gang && gang->is_damaged) {
        gang->step = link;
        link->gang = gang;
    }
    if (!gang || (gang->is_damaged && state != DT_GANG_GONE)) { /* what the ledger does not know */
        struct dt_tree *message = dt_msg_make("step_stop");

        dt_tree_put_int(message, "job", (int64_t)link->job);
        dt_tree_put_u64(message, "gen", dt_tree_u64(body, "gen", 0));
        dt_tree_put_int(message, "grace_ms", 0);
        dt_conn_send(link->conn, message, NULL, 0);
        dt_tree_free(message);
        return;
    }
    gang->step = link;
    link->gang = gang;
    read_exits(gang, body);
    dt_msg_progress_read(dt_tree_get(body, "progress"), &gang->progress);
    if (state == DT_GANG_STATE_COUNT)
        return;
    gang->is_up |= state == DT_GANG_UP;
    if (state == DT_GANG_GONE) {
        gang->state = DT_GANG_STOPPING;
        gang_gone(agent, gang);
    } else {
        gang->state = (enum dt_gang_state)state;
    }
    dt_log(DT_LOG_INFO, "step process adopted", "state", word, NULL);
}

/* An idle step process came: an order may be waiting for one. */
static void serve_waiting(struct agent *agent)
{
    for (size_t i = 0; i < agent->gangs->count; i++) {
        struct gang *gang = agent->gangs->items[i];
        struct dt_tree *spec;

        if (gang->state != DT_GANG_PREPARING || gang->step)
            continue;
        spec = dt_tree_take(gang->bundle, "spec");
        order_step(agent, gang, spec);
        dt_tree_free(spec);
        return;
    }
}

static void fence_out(struct agent *agent, const struct gang *gang, const struct dt_frame *frame)
{
    struct dt_tree *message = step_order(gang, "fence");
    const struct dt_tree *nodes = dt_tree_get(gang->bundle, "nodes");
    size_t parts = frame->blob_size / FENCE_PART_BYTES + 1;

    dt_tree_put_int(message, "no", dt_tree_int(frame->body, "no", 0));
    dt_tree_put_int(message, "nodes", nodes ? (int64_t)nodes->count : 1);
    dt_tree_put_int(message, "node_rank", dt_tree_int(gang->bundle, "node_rank", 0));
    dt_tree_put_int(message, "parts", (int64_t)parts);
    for (size_t part = 0; part < parts; part++) {
        size_t begin = part * FENCE_PART_BYTES;
        size_t size = frame->blob_size - begin < FENCE_PART_BYTES ? frame->blob_size - begin
                                                                  : FENCE_PART_BYTES;

        dt_tree_put_int(message, "part", (int64_t)part);
        agent->out.send(agent->session, message, frame->blob ? frame->blob + begin : "", size);
    }
    dt_tree_free(message);
}

static void logs_out(struct agent *agent, const struct gang *gang, const struct dt_frame *frame)
{
    struct dt_tree *message = step_order(gang, "logs");

    dt_tree_put_int(message, "id", 0);
    dt_tree_put_int(message, "rank", dt_tree_int(frame->body, "rank", 0));
    dt_tree_put_int(message, "offset", dt_tree_int(frame->body, "offset", 0));
    agent->out.send(agent->session, message, frame->blob ? frame->blob : "", frame->blob_size);
    dt_tree_free(message);
}

static void refused_by_step(struct agent *agent, struct gang *gang, const struct dt_tree *body)
{
    char text[256];
    uint64_t job = gang->job, gen = gang->gen;

    snprintf(text, sizeof(text), "%s", dt_tree_str(body, "reason", ""));
    gang_remove(agent->gangs, gang);
    refuse(agent, job, gen, text);
}

static void hear_state(struct agent *agent, struct gang *gang, const struct dt_frame *frame)
{
    const char *type = dt_tree_str(frame->body, "type", "");

    if (strcmp(type, "step_prepared") == 0) {
        if (gang_move(gang, DT_GANG_ON_PREPARED))
            tell(agent, gang, DT_REPORT_PREPARED);
    } else if (strcmp(type, "step_refused") == 0) {
        refused_by_step(agent, gang, frame->body);
    } else if (strcmp(type, "step_up") == 0) {
        gang->is_up = true;
        if (gang_move(gang, DT_GANG_ON_UP))
            tell(agent, gang, DT_REPORT_UP);
    } else if (strcmp(type, "step_exit") == 0) {
        read_exits(gang, frame->body);
        tell(agent, gang, DT_REPORT_EXIT);
    } else if (strcmp(type, "step_gone") == 0) {
        read_exits(gang, frame->body);
        gang_gone(agent, gang);
    } else if (strcmp(type, "step_progress") == 0) {
        dt_msg_progress_read(dt_tree_get(frame->body, "progress"), &gang->progress);
        tell(agent, gang, DT_REPORT_PROGRESS);
    }
}

void gangs_hear(struct agent *agent, struct step_link *link, const struct dt_frame *frame)
{
    const char *type = dt_tree_str(frame->body, "type", "");
    struct gang *gang = link->gang;

    if (strcmp(type, "step_hello") == 0) {
        if (link->job)
            adopt(agent, link, frame->body);
        else
            serve_waiting(agent);
        return;
    }
    if (!gang || gang->gen != dt_tree_u64(frame->body, "gen", 0)) {
        if (strcmp(type, "step_gone") == 0) { /* a stray generation has ended */
            struct dt_tree *message = dt_msg_make("step_forget");

            dt_tree_put_int(message, "job", dt_tree_int(frame->body, "job", 0));
            dt_tree_put_u64(message, "gen", dt_tree_u64(frame->body, "gen", 0));
            dt_tree_put_bool(message, "is_final", true);
            dt_conn_send(link->conn, message, NULL, 0);
            dt_tree_free(message);
        }
        return;
    }
    if (strcmp(type, "step_fence") == 0)
        fence_out(agent, gang, frame);
    else if (strcmp(type, "step_logs") == 0)
        logs_out(agent, gang, frame);
    else
        hear_state(agent, gang, frame);
}

void gangs_step_lost(struct agent *agent, struct gang *gang)
{
    gang->step = NULL;
    gang->lost_ms = dt_loop_now_ms(agent->loop);
    dt_timer_set(agent->gangs->sweep, STEP_BACK_MS);
}

/* ---- step processes that do not come back ---- */

static void group_of(const struct agent *agent, const struct gang *gang, struct cgroup *group)
{
    char name[200], id[24];

    dt_job_id_format(gang->job, id, sizeof(id));
    snprintf(name, sizeof(name), "%.8s/%s/%s-g%llu", agent->cluster_id, agent->node, id,
             (unsigned long long)gang->gen);
    cgroup_find(group, name);
}

static bool is_of_gang(void *owner, uint64_t job, uint64_t gen)
{
    const struct gang *gang = owner;

    return gang->job == job && gang->gen == gen;
}

static bool is_unknown(void *owner, uint64_t job, uint64_t gen)
{
    return !gangs_find(owner, job, gen);
}

static size_t kill_strays(const struct agent *agent,
                          bool (*is_stray)(void *owner, uint64_t job, uint64_t gen), void *owner)
{
    return strays_kill(&(struct strays){agent->cluster_id, agent->node, agent->run_dir, is_stray,
                                        owner});
}

/* What the ledger does not know must not run: looked at until nothing is found. */
static void sweep_strays(struct gangs *gangs)
{
    int64_t now_ms = dt_loop_now_ms(gangs->agent->loop);

    if (!gangs->strays_ms || now_ms < gangs->strays_ms)
        return;
    gangs->strays_ms = kill_strays(gangs->agent, is_unknown, gangs) ? now_ms + STRAYS_MS : 0;
}

/* Its ranks died with it (parent-death signal); the group tells about the rest. */
static void sweep_gang(struct agent *agent, struct gang *gang)
{
    int64_t away_ms = dt_loop_now_ms(agent->loop) - gang->lost_ms;
    struct cgroup group;

    if (gang->step || gang->state == DT_GANG_GONE)
        return;
    if (gang->state == DT_GANG_PREPARING) {
        if (away_ms > STEP_START_MS) {
            refuse(agent, gang->job, gang->gen, "no step process could be started");
            gang_remove(agent->gangs, gang);
        }
        return;
    }
    if (away_ms < STEP_BACK_MS)
        return;
    gang_move(gang, DT_GANG_ON_STEP_LOST);
    group_of(agent, gang, &group);
    if (!cgroup_is_empty(&group)) {
        cgroup_kill(&group);
        return; /* looked at again */
    }
    if (kill_strays(agent, is_of_gang, gang))
        return;
    cgroup_remove(&group);
    dt_log(DT_LOG_WARN, "a step process is gone with its ranks", NULL);
    gang_gone(agent, gang);
}

static void on_sweep(void *owner)
{
    struct gangs *gangs = owner;

    sweep_strays(gangs);
    for (size_t i = gangs->count; i > 0; i--)
        if (i <= gangs->count)
            sweep_gang(gangs->agent, gangs->items[i - 1]);
    dt_timer_set(gangs->sweep, gangs_are_settled(gangs) ? 1000 : 50);
}

enum dt_code gangs_open(struct agent *agent, struct dt_err *err)
{
    struct gangs *gangs = dt_alloc(1, sizeof(*gangs));
    char path[400], boot_id[40];
    enum dt_code code;

    gangs->agent = agent;
    agent->gangs = gangs;
    gangs->port_next = (int)(getpid() % (PORT_LAST - PORT_FIRST));
    snprintf(gangs->dir, sizeof(gangs->dir), "%s/ledger", agent->state_dir);
    if ((code = dt_dir_make(gangs->dir, 0700, err)) ||
        (code = dt_dir_list(gangs->dir, on_entry, gangs, err)) ||
        (code = dt_boot_id(boot_id, sizeof(boot_id), err)))
        return code;
    snprintf(path, sizeof(path), "%s/tombstones", agent->state_dir);
    gangs->tombs = tombs_open(path, boot_id, dt_clock_ms());
    gangs->strays_ms = 1;
    sweep_strays(gangs);
    gangs->sweep = dt_timer_make(agent->loop, on_sweep, gangs);
    dt_timer_set(gangs->sweep, 50);
    return DT_OK;
}

void gangs_close(struct gangs *gangs)
{
    if (!gangs)
        return;
    for (size_t i = 0; i < gangs->count; i++)
        gang_free(gangs->items[i]);
    dt_timer_free(gangs->sweep);
    tombs_free(gangs->tombs);
    dt_free(gangs);
}
