/* Step processes: one idle in reserve, one for each job; they dial us, also after our restart. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "dt/os/log.h"
#include "dt/os/proc.h"
#include "dt/wire/msg.h"

/* A new idle step starts when the launch that took the last one is over, as its start costs as much
 * as that of a rank: after so long, or soon after the job has ended. */
#define RESERVE_MS 1500
#define RESERVE_SOON_MS 50

struct steps {
    struct agent *agent;
    struct dt_listener *listener;
    struct dt_set links; /* address of conn -> struct step_link, owned */
    struct dt_timer *reserve;
    char socket_path[400];
    int starting;        /* spawned, not yet heard */
    int64_t spawned_ms;
};

static void spawn_idle(struct steps *steps)
{
    struct agent *agent = steps->agent;
    static char word_step[] = "step", word_agent[] = "--agent", word_dir[] = "--run-dir",
                word_node[] = "--node";
    char dir[500], program[600];
    char *argv[] = {program,  word_step,      word_agent, steps->socket_path,
                    word_dir, agent->run_dir, word_node,  agent->node,
                    NULL};
    struct dt_spawn spawn = {.path = program, .argv = argv, .fd_in = -1, .fd_out = 2, .fd_err = 2,
                             .is_session = true, .workdir = "/"};
    struct dt_err err = {0};
    pid_t pid;

    if (dt_program_dir(dir, sizeof(dir), &err) == DT_OK) {
        snprintf(program, sizeof(program), "%s/dtagent", dir);
        if (dt_proc_spawn(&spawn, &pid, NULL, &err) == DT_OK) {
            steps->starting++;
            steps->spawned_ms = dt_loop_now_ms(agent->loop);
            return;
        }
    }
    dt_log(DT_LOG_ERROR, "no step process", "why", err.text, NULL);
}

static struct step_link *find_link(struct steps *steps, uint64_t job)
{
    for (size_t i = 0; i < steps->links.count; i++) {
        struct step_link *link = steps->links.items[i].value;

        if (link->job == job && link->pid)
            return link;
    }
    return NULL;
}

static void on_reserve(void *owner)
{
    struct steps *steps = owner;

    if (steps->starting && dt_loop_now_ms(steps->agent->loop) - steps->spawned_ms > 10000)
        steps->starting = 0; /* it never came */
    if (!find_link(steps, 0) && !steps->starting)
        spawn_idle(steps);
    dt_timer_set(steps->reserve, 5000);
}

struct step_link *steps_claim(struct steps *steps, uint64_t job)
{
    struct step_link *link = find_link(steps, job);

    if (link)
        return link;
    link = find_link(steps, 0);
    if (!link) {
        if (!steps->starting)
            spawn_idle(steps);
        return NULL;
    }
    link->job = job;
    dt_timer_set(steps->reserve, RESERVE_MS);
    return link;
}

void steps_beat(struct steps *steps, bool is_connected, bool is_new)
{
    struct dt_tree *message = dt_msg_make("step_beat");

    dt_tree_put_bool(message, "is_connected", is_connected);
    dt_tree_put_bool(message, "is_new", is_new);
    for (size_t i = 0; i < steps->links.count; i++)
        dt_conn_send(((struct step_link *)steps->links.items[i].value)->conn, message, NULL, 0);
    dt_tree_free(message);
}

/* Its first word: whose it is. An idle one may be needed at once. */
static void on_hello(struct step_link *link, const struct dt_frame *frame)
{
    struct steps *steps = link->agent->steps;

    link->pid = (pid_t)dt_tree_int(frame->body, "pid", 0);
    link->job = (uint64_t)dt_tree_int(frame->body, "job", 0);
    if (!link->job && steps->starting)
        steps->starting--;
    gangs_hear(link->agent, link, frame);
}

static void on_frame(void *owner, struct dt_conn *conn, struct dt_frame *frame)
{
    struct step_link *link = owner;
    struct dt_err err = {0};

    if (dt_msg_check(frame->body, DT_FROM_STEP, &err)) {
        dt_log(DT_LOG_ERROR, "bad message of a step process", "why", err.text, NULL);
        dt_conn_close(conn, err.text);
        return;
    }
    if (strcmp(dt_tree_str(frame->body, "type", ""), "step_hello") == 0)
        on_hello(link, frame);
    else
        gangs_hear(link->agent, link, frame);
}

static void on_closed(void *owner, struct dt_conn *conn, bool is_reset, const char *reason)
{
    struct step_link *link = owner;
    struct steps *steps = link->agent->steps;

    (void)is_reset;
    (void)reason;
    dt_set_remove(&steps->links, (uint64_t)(uintptr_t)conn);
    if (link->gang)
        gangs_step_lost(link->agent, link->gang);
    dt_timer_set(steps->reserve, RESERVE_SOON_MS);
    dt_free(link);
}

static const struct dt_conn_calls link_calls = {.on_frame = on_frame, .on_closed = on_closed};

static void on_open(void *owner, struct dt_conn *conn)
{
    struct agent *agent = owner;
    struct step_link *link = dt_alloc(1, sizeof(*link));

    if (dt_conn_peer(conn)->uid != geteuid()) {
        dt_free(link);
        dt_conn_close(conn, "another user");
        return;
    }
    link->agent = agent;
    link->conn = conn;
    dt_set_put(&agent->steps->links, (uint64_t)(uintptr_t)conn, link);
    dt_conn_set_calls(conn, &link_calls, link);
}

enum dt_code steps_open(struct agent *agent, struct dt_err *err)
{
    static const struct dt_conn_calls accept_calls = {.on_open = on_open};
    struct steps *steps = dt_alloc(1, sizeof(*steps));
    enum dt_code code;

    steps->agent = agent;
    agent->steps = steps;
    snprintf(steps->socket_path, sizeof(steps->socket_path), "%s/agent.sock", agent->run_dir);
    code = dt_listen_unix(&(struct dt_endpoint){agent->loop, &accept_calls, agent, NULL},
                          steps->socket_path, &steps->listener, err);
    if (code)
        return code;
    steps->reserve = dt_timer_make(agent->loop, on_reserve, steps);
    dt_timer_set(steps->reserve, 300); /* those of before our restart come first */
    return DT_OK;
}

void steps_close(struct steps *steps)
{
    if (!steps)
        return;
    dt_listener_free(steps->listener);
    dt_timer_free(steps->reserve);
    dt_set_release(&steps->links);
    dt_free(steps);
}
