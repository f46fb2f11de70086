/* The step process: parent of a job's ranks on one node, for all its generations. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "dt/os/file.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "dt/wire/msg.h"
#include "step.h"
#include "step_main.h"

#define REDIAL_MS 100
#define SHIP_MS 250
#define REAP_MS 5
#define KILL_AGAIN_MS 500
#define STRAYS_MS 5000
#define IDLE_MS_MAX 5000 /* an idle step without its agent ends itself */

static bool move(struct step *step, enum dt_gang_on on)
{
    enum dt_gang_state next = dt_gang_next(step->state, on);

    if (next == DT_GANG_STATE_COUNT)
        return false;
    step->state = next;
    return true;
}

static void tell_hello(struct step *step)
{
    struct dt_tree *message = step_message(step, "step_hello");

    dt_tree_put_int(message, "pid", getpid());
    dt_tree_put_str(message, "state", step->bundle ? dt_gang_state_name(step->state) : "idle");
    step_add_exits(step, message);
    dt_tree_add(message, "progress", dt_msg_progress_tree(&step->progress));
    step_tell(step, message, NULL, 0);
}

/* ---- the generation's end ---- */

static void gone(struct step *step)
{
    for (int i = 0; i < step->ranks_count; i++)
        logs_pump(&step->ranks[i]);
    logs_ship(step);
    for (int i = 0; i < step->ranks_count; i++)
        logs_close(&step->ranks[i]);
    move(step, DT_GANG_ON_GONE);
    dt_timer_clear(step->reap);
    dt_timer_clear(step->kill);
    step_tell_exits(step, "step_gone");
}

/* Look every few milliseconds whether the killed group is empty; kill again when it is not. */
static void on_reap(void *owner)
{
    struct step *step = owner;

    if (!step->bundle || step->state == DT_GANG_GONE)
        return;
    if (spawn_is_gone(step)) {
        gone(step);
        return;
    }
    if (step->killed_ms && dt_clock_ms() - step->killed_ms >= KILL_AGAIN_MS) {
        step->killed_ms = 0;
        spawn_kill(step);
    }
    dt_timer_set(step->reap, REAP_MS);
}

static void end_now(struct step *step)
{
    spawn_kill(step);
    dt_timer_set(step->reap, 0);
}

static void on_kill(void *owner)
{
    end_now(owner);
}

static bool all_ended(const struct step *step)
{
    for (int i = 0; i < step->ranks_count; i++)
        if (!step->ranks[i].has_ended && step->ranks[i].pid)
            return false;
    return true;
}

/* Exit 0 that does not count: an MPI rank that never joined, or left without MPI_Finalize. */
static void judge_exit(const struct step *step, struct rank *rank)
{
    bool is_mpi = strcmp(dt_tree_str(step->bundle, "launch", ""), "mpi") == 0;
    const char *why = NULL;

    rank->end.is_stopped = step->is_stop_asked;
    rank->end.is_oom = rank->end.signal == SIGKILL && !step->is_stop_asked &&
                       cgroup_had_oom(&step->group);
    logs_excerpt(rank, rank->end.excerpt, sizeof(rank->end.excerpt));
    if (!is_mpi || rank->end.code || rank->end.signal)
        return;
    if (!rank->is_connected && !rank->has_finalized)
        why = "it never joined MPI: it became a singleton, or is no MPI program "
              "(launch: none or torch runs those)";
    else if (!rank->has_finalized)
        why = "it exited without MPI_Finalize";
    if (why) {
        rank->end.is_incomplete = true;
        snprintf(rank->end.excerpt, sizeof(rank->end.excerpt), "rank %d: %s", rank->number, why);
    }
}

static void rank_ended(struct step *step, struct rank *rank)
{
    rank->has_ended = true;
    judge_exit(step, rank);
    if (!all_ended(step)) {
        step_tell_exits(step, "step_exit");
        return;
    }
    /* What the ranks left behind goes; but while a grace runs that may be the program itself,
     * saving, whose shell SIGTERM has ended. */
    if (dt_clock_ms() >= step->grace_end_ms)
        spawn_kill(step);
    step_tell_exits(step, "step_exit");
    dt_timer_set(step->reap, 0);
}

static void check_up(struct step *step)
{
    bool is_mpi = step->bundle && strcmp(dt_tree_str(step->bundle, "launch", ""), "mpi") == 0;

    if (step->state != DT_GANG_STARTING || step->is_up_told)
        return;
    for (int i = 0; i < step->ranks_count; i++) {
        const struct rank *rank = &step->ranks[i];

        if (is_mpi ? !rank->is_connected : !rank->pid && !rank->has_ended)
            return;
    }
    step->is_up_told = true;
    move(step, DT_GANG_ON_UP);
    step_tell(step, step_message(step, "step_up"), NULL, 0);
}

/* ---- orders ---- */

static void forget_generation(struct step *step)
{
    if (!step->bundle)
        return;
    spawn_clean(step);
    dt_tree_free(step->bundle);
    step->bundle = NULL;
    step->is_up_told = step->is_stop_asked = false;
    step->killed_ms = step->grace_end_ms = 0;
    step->progress.step = step->progress.checkpoint_step = step->told_step = -1;
    step->progress.phase[0] = step->progress.loss[0] = 0;
}

static void on_prepare(struct step *step, struct dt_tree *body)
{
    struct dt_err err = {0};
    struct dt_tree *message;

    if (step->bundle && step->state != DT_GANG_GONE) {
        dt_log(DT_LOG_ERROR, "prepare while a generation lives", NULL);
        return;
    }
    forget_generation(step);
    step->bundle = dt_tree_take(body, "bundle");
    step->job = (uint64_t)dt_tree_int(body, "job", 0);
    step->gen = dt_tree_u64(body, "gen", 0);
    step->state = DT_GANG_PREPARING;
    step->acknowledged_ms = dt_clock_ms();
    if (spawn_prepare(step, &err)) {
        message = step_message(step, "step_refused");
        dt_tree_put_str(message, "reason", err.text);
        step_tell(step, message, NULL, 0);
        move(step, DT_GANG_ON_REFUSED);
        forget_generation(step);
        return;
    }
    move(step, DT_GANG_ON_PREPARED);
    step_tell(step, step_message(step, "step_prepared"), NULL, 0);
}

static void on_go(struct step *step, const struct dt_tree *body)
{
    struct dt_err err = {0};

    if (!move(step, DT_GANG_ON_GO))
        return; /* told twice */
    snprintf(step->master_addr, sizeof(step->master_addr), "%s",
             dt_tree_str(body, "master_addr", "127.0.0.1"));
    step->master_port = (int)dt_tree_int(body, "master_port", 0);
    if (spawn_all(step, &err)) {
        dt_log(DT_LOG_ERROR, "ranks cannot be started", "why", err.text, NULL);
        step_tell_exits(step, "step_exit");
        end_now(step);
        return;
    }
    check_up(step);
}

static void on_stop(struct step *step, const struct dt_tree *body)
{
    int64_t grace_ms = dt_tree_int(body, "grace_ms", 0);

    if (!move(step, DT_GANG_ON_STOP)) {
        if (step->state == DT_GANG_GONE)
            step_tell_exits(step, "step_gone");
        return;
    }
    step->is_stop_asked = true;
    step->grace_end_ms = grace_ms > 0 ? dt_clock_ms() + grace_ms : 0;
    if (grace_ms > 0) {
        spawn_signal(step, SIGTERM);
        dt_timer_set(step->kill, grace_ms);
        dt_timer_set(step->reap, REAP_MS);
    } else {
        end_now(step);
    }
}

static void on_forget(struct step *step, const struct dt_tree *body)
{
    if (step->bundle && step->state == DT_GANG_GONE)
        forget_generation(step);
    if (dt_tree_bool(body, "is_final", false) && !step->bundle)
        dt_loop_stop(step->loop);
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct step *step = owner;
    const char *type = dt_tree_str(frame->body, "type", "");
    uint64_t gen = dt_tree_u64(frame->body, "gen", 0);
    struct dt_err err = {0};

    if (dt_msg_check(frame->body, DT_FROM_AGENT_STEP, &err)) {
        dt_log(DT_LOG_ERROR, "bad order", "why", err.text, NULL);
        dt_conn_close(conn, err.text);
        return;
    }
    if (strcmp(type, "step_beat") == 0) {
        if (dt_tree_bool(frame->body, "is_connected", false))
            step->acknowledged_ms = dt_clock_ms();
        if (dt_tree_bool(frame->body, "is_new", false))
            pmix_fences_again(step->pmix);
    } else if (strcmp(type, "step_prepare") == 0) {
        on_prepare(step, frame->body);
    } else if (strcmp(type, "step_forget") == 0) {
        on_forget(step, frame->body);
    } else if (!step->bundle || gen != step->gen) {
        return; /* about an older generation */
    } else if (strcmp(type, "step_go") == 0) {
        on_go(step, frame->body);
    } else if (strcmp(type, "step_stop") == 0) {
        on_stop(step, frame->body);
    } else if (strcmp(type, "step_fence_all") == 0) {
        pmix_fence_all(step->pmix, gen, dt_tree_int(frame->body, "no", 0),
                       frame->blob ? frame->blob : "", frame->blob_size);
    }
}

/* ---- the agent comes and goes ---- */

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct step *step = owner;

    (void)conn;
    (void)is_reset;
    (void)reason;
    step->agent = NULL;
    dt_timer_set(step->redial, REDIAL_MS);
}

static void on_open(void *owner, struct dt_conn *conn)
{
    struct step *step = owner;

    step->agent = conn;
    tell_hello(step);
    pmix_fences_again(step->pmix);
}

static const struct dt_conn_calls agent_calls = {.on_open = on_open, .on_frame = on_frame,
                                                 .on_closed = on_closed};

static void on_redial(void *owner)
{
    struct step *step = owner;
    struct dt_conn *conn;

    if (step->agent)
        return;
    if (dt_dial_unix(&(struct dt_endpoint){step->loop, &agent_calls, step, NULL},
                     step->agent_path, &conn, NULL) == DT_OK)
        return;
    if (!step->bundle && dt_clock_ms() - step->acknowledged_ms > IDLE_MS_MAX) {
        dt_loop_stop(step->loop);
        return;
    }
    dt_timer_set(step->redial, REDIAL_MS);
}

static void on_ship(void *owner)
{
    struct step *step = owner;

    dt_timer_set(step->ship, SHIP_MS);
    logs_ship(step);
    metrics_tell(step);
}

/* A job that must not outlive its controller's silence: timed here, whoever else is gone. */
static void on_control(void *owner)
{
    struct step *step = owner;
    int64_t limit_ms = dt_tree_int(step->bundle, "control_loss_ms", 0);

    dt_timer_set(step->control, STRAYS_MS);
    spawn_reap_strays(step);
    if (!step->bundle || !limit_ms || step->state != DT_GANG_UP ||
        dt_clock_ms() - step->acknowledged_ms < limit_ms)
        return;
    dt_log(DT_LOG_WARN, "the controller is silent: stopping (on_control_loss)", NULL);
    step->is_stop_asked = true;
    move(step, DT_GANG_ON_STOP);
    end_now(step);
}

static void on_term(void *owner, int signal_number)
{
    struct step *step = owner;

    (void)signal_number;
    if (step->bundle && step->state != DT_GANG_GONE)
        end_now(step);
    dt_loop_stop(step->loop);
}

int step_main(const char *agent_path, const char *run_dir, const char *node)
{
    struct step step = {.metrics_fd = -1, .check_up = check_up, .rank_ended = rank_ended};
    struct dt_err err = {0};

    dt_log_open("dtagent-step", 2, DT_LOG_INFO);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    snprintf(step.agent_path, sizeof(step.agent_path), "%s", agent_path);
    snprintf(step.run_dir, sizeof(step.run_dir), "%s", run_dir);
    snprintf(step.node, sizeof(step.node), "%s", node);
    step.loop = dt_loop_make();
    step.acknowledged_ms = dt_clock_ms();
    step.progress.step = step.progress.checkpoint_step = step.told_step = -1;
    if (pmix_open(&step, &step.pmix, &err)) {
        dt_log(DT_LOG_ERROR, "no PMIx server", "why", err.text, NULL);
        return 1;
    }
    step.redial = dt_timer_make(step.loop, on_redial, &step);
    step.ship = dt_timer_make(step.loop, on_ship, &step);
    step.reap = dt_timer_make(step.loop, on_reap, &step);
    step.kill = dt_timer_make(step.loop, on_kill, &step);
    step.control = dt_timer_make(step.loop, on_control, &step);
    dt_timer_set(step.redial, 0);
    dt_timer_set(step.ship, SHIP_MS);
    dt_timer_set(step.control, STRAYS_MS);
    dt_loop_on_signal(step.loop, SIGTERM, on_term, &step);
    dt_loop_run(step.loop, NULL, NULL);
    forget_generation(&step);
    pmix_remove_dir(step.pmix);
    _exit(0); /* libpmix' thread may hang in its end */
}
