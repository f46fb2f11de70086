/* The route table, and what is generated from it. */
#include "routes.h"

#include <event2/http.h>
#include <stdio.h>
#include <string.h>

#include "dt/base/units.h"
#include "dt/os/proc.h"
#include "dt/wire/api.h"

static void route_version(struct call *call)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);

    char now[40];

    dt_format_instant(dt_wall_ms(), now, sizeof(now));
    dt_tree_put_str(tree, "version", DT_VERSION);
    dt_tree_put_str(tree, "now", now);
    dt_tree_put_str(tree, "cluster", call->runtime->cluster_id);
    dt_tree_put_u64(tree, "epoch", call->runtime->epoch);
    call_json(call, 200, tree);
}

static void route_healthz(struct call *call)
{
    call_text(call, 200, "text/plain", "ok\n", 3);
}

static void route_readyz(struct call *call)
{
    bool is_ready = !runtime_is_degraded(call->runtime);

    call_text(call, is_ready ? 200 : 503, "text/plain", is_ready ? "ready\n" : "store-degraded\n",
              is_ready ? 6 : 15);
}

void route_watch(struct call *call)
{
    int64_t from = 0;
    uint64_t id = 0;
    const char *job = call_query(call, "job", NULL);

    if (!call_query_int(call, "from", 0, INT64_MAX, &from))
        return;
    if (job) {
        const struct dt_job *found;

        snprintf(call->id, sizeof(call->id), "%s", job);
        if (!(found = call_job(call, false)))
            return;
        id = found->id;
    }
    call_watch(call, id, (uint64_t)from);
}

static void route_openapi(struct call *call);

const struct route routes[] = {
    {"POST", "/v1/jobs", ROLE_USER, false, route_submit, "submit a job, or several copies", ""},
    {"GET", "/v1/jobs", ROLE_USER, true, route_jobs, "list jobs",
     "state user name queue limit cursor order view"},
    {"GET", "/v1/jobs/{id}", ROLE_USER, true, route_job, "one job", ""},
    {"GET", "/v1/jobs/{id}/spec", ROLE_USER, true, route_job_spec,
     "its specification, resolved and as written", ""},
    {"GET", "/v1/jobs/{id}/why", ROLE_USER, true, route_job_why, "why it is where it is", ""},
    {"GET", "/v1/jobs/{id}/events", ROLE_USER, true, route_job_events, "its history",
     "from limit"},
    {"GET", "/v1/jobs/{id}/logs", ROLE_USER, true, route_job_logs, "a part of a rank's log",
     "rank gen tail offset limit"},
    {"POST", "/v1/jobs/{id}/cancel", ROLE_USER, false, route_job_cancel, "cancel it", ""},
    {"GET", "/v1/watch", ROLE_USER, true, route_watch, "events as they are stored (SSE)",
     "job from"},
    {"GET", "/v1/nodes", ROLE_USER, true, route_nodes, "list nodes", ""},
    {"GET", "/v1/nodes/{id}", ROLE_USER, true, route_node, "one node", ""},
    {"POST", "/v1/nodes/{id}/cordon", ROLE_OPERATOR, false, route_node_cordon,
     "give it no new jobs", ""},
    {"POST", "/v1/nodes/{id}/drain", ROLE_OPERATOR, false, route_node_drain,
     "give it no new jobs; drained when the last one left", ""},
    {"POST", "/v1/nodes/{id}/resume", ROLE_OPERATOR, false, route_node_resume,
     "give it jobs again", ""},
    {"GET", "/v1/version", ROLE_OPEN, false, route_version, "version of the server", ""},
    {"GET", "/v1/openapi.json", ROLE_OPEN, false, route_openapi, "this description", ""},
    {"GET", "/healthz", ROLE_OPEN, false, route_healthz, "the process answers", ""},
    {"GET", "/readyz", ROLE_OPEN, false, route_readyz, "jobs can be submitted", ""},
    {"GET", "/metrics", ROLE_USER, false, route_metrics, "Prometheus text", ""},
};
const size_t routes_count = DT_COUNT(routes);

static void put_parameter(struct dt_tree *list, const char *name, const char *where)
{
    struct dt_tree *row = dt_tree_put_new(list, NULL, DT_TREE_MAP);

    dt_tree_put_str(row, "name", name);
    dt_tree_put_str(row, "in", where);
    dt_tree_put_bool(row, "required", strcmp(where, "path") == 0);
    dt_tree_put_str(dt_tree_put_new(row, "schema", DT_TREE_MAP), "type", "string");
}

static void put_route(struct dt_tree *paths, const struct route *route)
{
    struct dt_tree *path = dt_tree_get(paths, route->path);
    struct dt_tree *operation, *list, *answers;

    if (!path)
        path = dt_tree_put_new(paths, route->path, DT_TREE_MAP);
    operation = dt_tree_put_new(path, strcmp(route->method, "GET") == 0 ? "get" : "post",
                                DT_TREE_MAP);
    dt_tree_put_str(operation, "summary", route->summary);
    list = dt_tree_put_new(operation, "parameters", DT_TREE_LIST);
    if (strchr(route->path, '{'))
        put_parameter(list, "id", "path");
    for (const char *at = route->query; *at;) {
        size_t size = strcspn(at, " ");
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)size, at);
        put_parameter(list, name, "query");
        at += size + (at[size] == ' ');
    }
    answers = dt_tree_put_new(operation, "responses", DT_TREE_MAP);
    dt_tree_put_str(dt_tree_put_new(answers, "200", DT_TREE_MAP), "description", "done");
    dt_tree_put_str(dt_tree_put_new(answers, "default", DT_TREE_MAP), "description",
                    "application/problem+json");
}

static void route_openapi(struct call *call)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP), *info, *paths;

    dt_tree_put_str(tree, "openapi", "3.1.0");
    info = dt_tree_put_new(tree, "info", DT_TREE_MAP);
    dt_tree_put_str(info, "title", "dt");
    dt_tree_put_str(info, "version", DT_VERSION);
    paths = dt_tree_put_new(tree, "paths", DT_TREE_MAP);
    for (size_t i = 0; i < routes_count; i++)
        put_route(paths, &routes[i]);
    call_json(call, 200, tree);
}
