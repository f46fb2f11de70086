/* The little language of scenarios (README.md beside it): one line, one deed. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/json.h"
#include "dt/base/units.h"

#define WORDS_MAX 32

struct words {
    char text[1024];
    char *word[WORDS_MAX];
    size_t count;
};

static void words_split(struct words *words, const char *line)
{
    *words = (struct words){0};
    snprintf(words->text, sizeof(words->text), "%s", line);
    for (char *at = words->text; *at && words->count < WORDS_MAX;) {
        at += strspn(at, " \t");
        if (!*at || *at == '#')
            break;
        words->word[words->count++] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = 0;
    }
}

/* Value of key=value among the words, or otherwise; a bare word "key" gives "". */
static const char *option(const struct words *words, const char *key, const char *otherwise)
{
    size_t size = strlen(key);

    for (size_t i = 0; i < words->count; i++)
        if (strncmp(words->word[i], key, size) == 0 &&
            (words->word[i][size] == '=' || !words->word[i][size]))
            return words->word[i][size] ? words->word[i] + size + 1 : words->word[i] + size;
    return otherwise;
}

static int64_t number(const struct words *words, const char *key, int64_t otherwise)
{
    const char *text = option(words, key, NULL);
    int64_t value;

    return text && dt_parse_int(text, INT64_MIN, INT64_MAX, &value) ? value : otherwise;
}

static int64_t duration(const struct words *words, const char *key, int64_t otherwise)
{
    const char *text = option(words, key, NULL);
    int64_t value;

    return text && dt_parse_duration_ms(text, &value, NULL) == DT_OK ? value : otherwise;
}

static uint64_t job_of(struct sim *sim, const char *name)
{
    return (uint64_t)(uintptr_t)dt_dict_get(&sim->names, name);
}

/* A request number whose answer the trace shows as line. */
static uint64_t request_make(struct sim *sim, const char *verb, const char *name)
{
    struct dt_buf text = {0};
    char key[24];

    dt_buf_print(&text, "%s %s", verb, name);
    snprintf(key, sizeof(key), "%llu", (unsigned long long)++sim->request);
    dt_dict_put(&sim->requests, key, dt_buf_take(&text));
    return sim->request;
}

static struct dt_caller caller_of(const struct words *words)
{
    struct dt_caller caller = {.uid = number(words, "uid", 1000), .gid = 1000};

    snprintf(caller.name, sizeof(caller.name), "%s", option(words, "as", "ana"));
    caller.is_operator = strcmp(caller.name, "root") == 0;
    return caller;
}

/* Words of submit that are no fields of job.yaml. */
static bool is_field(const char *word)
{
    static const char *const options[] = {"count=", "req=", "after=", "as=", "uid=", "if="};

    for (size_t i = 0; i < DT_COUNT(options); i++)
        if (strncmp(word, options[i], strlen(options[i])) == 0)
            return false;
    return true;
}

static struct dt_spec *spec_make(struct sim *sim, const struct words *words)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_spec *spec = dt_alloc(1, sizeof(*spec));
    struct dt_problems problems = {0};
    struct dt_err err = {0};

    dt_tree_put_int(tree, "version", 1);
    dt_tree_put_str(tree, "name", words->word[1]);
    if (dt_spec_override(tree, "command=[\"true\"]", &err))
        sim_fail(sim, "SCRIPT %s", err.text);
    for (size_t i = 2; i < words->count; i++)
        if (is_field(words->word[i]) && dt_spec_override(tree, words->word[i], &err))
            sim_fail(sim, "SCRIPT %s", err.text);
    if (dt_spec_parse(tree, spec, &problems)) {
        sim_fail(sim, "SCRIPT %s: %s", problems.item[0].path, problems.item[0].text);
        dt_free(spec);
        spec = NULL;
    }
    dt_problems_release(&problems);
    dt_tree_free(tree);
    return spec;
}

static void do_submit(struct sim *sim, const struct words *words)
{
    struct dt_event event = {.kind = DT_EV_SUBMIT, .caller = caller_of(words)};
    const char *after = option(words, "after", NULL);
    uint64_t next = 1;

    if (!sim->core) {
        sim_say(sim, "nobody answers: submit %s", words->word[1]);
        return;
    }
    event.spec = spec_make(sim, words);
    if (!event.spec)
        return;
    if (after) { /* after=a:ok names a job of this scenario */
        struct dt_buf text = {0};
        char id[24], name[64];
        size_t size = strcspn(after, ":");

        snprintf(name, sizeof(name), "%.*s", (int)size, after);
        dt_job_id_format(job_of(sim, name), id, sizeof(id));
        dt_buf_print(&text, "%s%s", id, after + size);
        event.spec->after.item = dt_alloc(1, sizeof(char *));
        event.spec->after.item[0] = dt_buf_take(&text);
        event.spec->after.count = 1;
    }
    snprintf(event.req_id, sizeof(event.req_id), "%s", option(words, "req", ""));
    event.count = (int)number(words, "count", 1);
    event.is_if_possible = strcmp(option(words, "if", ""), "possible") == 0;
    event.submit_dir = dt_copy_text("/home/ana");
    event.request = request_make(sim, "submit", words->word[1]);
    for (const struct dt_job *job; (job = dt_core_job_from(sim->core, next)); next = job->id + 1)
        ;
    if (!job_of(sim, words->word[1]))
        dt_dict_put(&sim->names, words->word[1], (void *)(uintptr_t)next);
    sim_event(sim, &event);
}

static void do_cancel(struct sim *sim, const struct words *words)
{
    struct dt_event event = {.kind = DT_EV_CANCEL, .caller = caller_of(words)};

    event.job = job_of(sim, words->word[1]);
    event.grace_ms = duration(words, "grace", -1);
    event.request = request_make(sim, "cancel", words->word[1]);
    sim_event(sim, &event);
}

static void do_exit(struct sim *sim, const struct words *words)
{
    struct dt_rank_exit how = {.code = (int)number(words, "code", 0),
                               .signal = (int)number(words, "signal", 0),
                               .is_oom = option(words, "oom", NULL) != NULL,
                               .is_incomplete = option(words, "incomplete", NULL) != NULL};

    snprintf(how.excerpt, sizeof(how.excerpt), "%s", option(words, "says", ""));
    agent_exit(sim, job_of(sim, words->word[1]), (int)number(words, "rank", -1), &how);
}

static void do_progress(struct sim *sim, const struct words *words)
{
    agent_progress(sim, job_of(sim, words->word[1]), number(words, "step", 0),
                   number(words, "checkpoint", -1));
}

static void do_admin(struct sim *sim, const struct words *words)
{
    static const char *const verbs[] = {"cordon", "drain", "resume"};
    struct dt_event event = {.kind = DT_EV_NODE_ADMIN, .caller = caller_of(words)};

    if (!option(words, "as", NULL))
        event.caller.is_operator = true;
    for (size_t i = 0; i < DT_COUNT(verbs); i++)
        if (strcmp(words->word[0], verbs[i]) == 0)
            event.admin = (enum dt_admin_what)i;
    snprintf(event.node, sizeof(event.node), "%s", words->word[1]);
    event.source = dt_copy_text(option(words, "reason", "maintenance"));
    event.request = request_make(sim, words->word[0], words->word[1]);
    sim_event(sim, &event);
}

/* kill, boot, agent-down, agent-up, cut, heal, refuse, stubborn */
static void do_node(struct sim *sim, const struct words *words)
{
    const char *verb = words->word[0];
    struct agent *agent = agent_find(sim, words->word[1]);

    if (!agent) {
        sim_fail(sim, "SCRIPT no node %s", words->word[1]);
    } else if (strcmp(verb, "kill") == 0) {
        agent_disconnect(sim, agent, option(words, "heard", NULL) != NULL);
        agent_wipe(agent);
        agent->is_machine_up = false;
    } else if (strcmp(verb, "boot") == 0) {
        agent->is_machine_up = agent->is_agent_up = true;
        agent->boot++;
        agent_connect(sim, agent);
    } else if (strcmp(verb, "step-dies") == 0) {
        agent_lose_steps(sim, agent);
    } else if (strcmp(verb, "agent-down") == 0) {
        agent_disconnect(sim, agent, true);
        agent->is_agent_up = false;
    } else if (strcmp(verb, "agent-up") == 0) {
        agent->is_agent_up = true;
        agent_connect(sim, agent);
    } else if (strcmp(verb, "cut") == 0) {
        agent->is_linked = false;
    } else if (strcmp(verb, "heal") == 0) {
        agent->is_linked = true;
        agent->session = 0; /* the old connection is dead; the new hello fences it */
        agent_connect(sim, agent);
    } else if (strcmp(verb, "refuse") == 0) {
        snprintf(agent->refusal, sizeof(agent->refusal), "%s", option(words, "reason", "no room"));
    } else {
        agent->is_stubborn = true;
    }
}

static void do_controller(struct sim *sim, const struct words *words)
{
    if (strcmp(words->word[1], "stop") != 0) {
        sim_say(sim, "controller starts");
        sim_controller_start(sim);
    } else {
        sim_say(sim, "controller stops");
        sim_controller_stop(sim);
    }
}

static void do_store(struct sim *sim, const struct words *words)
{
    if (strcmp(words->word[1], "hold") == 0)
        sim->is_store_held = true;
    else
        sim_store_release(sim);
}

/* check JOB STATE [gen=N] [restarts=N] [reason=CODE] */
static void do_check(struct sim *sim, const struct words *words)
{
    const struct dt_job *job = sim->core ? dt_core_job(sim->core, job_of(sim, words->word[1]))
                                         : NULL;
    struct dt_tree *why;
    const char *primary;

    if (!job) {
        sim_fail(sim, "CHECK there is no job %s", words->word[1]);
        return;
    }
    if (words->count > 2 && strcmp(dt_job_state_name(job->state), words->word[2]) != 0)
        sim_fail(sim, "CHECK %s is %s, not %s", words->word[1], dt_job_state_name(job->state),
                 words->word[2]);
    if (number(words, "gen", (int64_t)job->gen) != (int64_t)job->gen)
        sim_fail(sim, "CHECK %s has generation %llu", words->word[1],
                 (unsigned long long)job->gen);
    if (number(words, "restarts", job->restarts.total) != job->restarts.total)
        sim_fail(sim, "CHECK %s has %d restarts", words->word[1], job->restarts.total);
    why = dt_core_why(sim->core, job->id, sim->now_ms);
    primary = dt_tree_str(why, "primary", "");
    if (strcmp(option(words, "why", primary), primary) != 0)
        sim_fail(sim, "CHECK %s waits for \"%s\"", words->word[1], primary);
    dt_tree_free(why);
}

static void do_check_node(struct sim *sim, const struct words *words)
{
    const struct dt_node *node = sim->core ? dt_core_node(sim->core, words->word[1]) : NULL;

    if (!node || strcmp(dt_node_state_name(node->state), words->word[2]) != 0)
        sim_fail(sim, "CHECK node %s is %s", words->word[1],
                 node ? dt_node_state_name(node->state) : "unknown");
}

void script_do(struct sim *sim, const char *line)
{
    static const struct {
        const char *verb;
        size_t words_least;
        void (*run)(struct sim *sim, const struct words *words);
    } rows[] = {
        {"submit", 2, do_submit},       {"cancel", 2, do_cancel},
        {"exit", 2, do_exit},           {"finish", 2, do_exit},
        {"progress", 2, do_progress},   {"cordon", 2, do_admin},
        {"drain", 2, do_admin},         {"resume", 2, do_admin},
        {"kill", 2, do_node},           {"boot", 2, do_node},
        {"step-dies", 2, do_node},
        {"agent-down", 2, do_node},     {"agent-up", 2, do_node},
        {"cut", 2, do_node},            {"heal", 2, do_node},
        {"refuse", 2, do_node},         {"stubborn", 2, do_node},
        {"controller", 2, do_controller}, {"store", 2, do_store},
        {"check", 3, do_check},         {"check-node", 3, do_check_node},
    };
    struct words words;

    words_split(&words, line);
    for (size_t i = 0; words.count && i < DT_COUNT(rows); i++) {
        if (strcmp(rows[i].verb, words.word[0]) != 0)
            continue;
        if (words.count < rows[i].words_least)
            sim_fail(sim, "SCRIPT needs more words: %s", line);
        else
            rows[i].run(sim, &words);
        return;
    }
    sim_fail(sim, "SCRIPT not understood: %s", line);
}
