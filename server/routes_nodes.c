/* Routes about nodes. */
#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>

#include "dt/wire/api.h"
#include "http.h"
#include "routes.h"

void route_nodes(struct call *call)
{
    struct dt_tree *tree = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *items = dt_tree_put_new(tree, "items", DT_TREE_LIST);
    const struct dt_node *node;

    for (size_t i = 0; (node = dt_core_node_at(call->runtime->core, i)); i++)
        dt_tree_add(items, NULL, dt_api_node_tree(node, runtime_now_ms(call->runtime)));
    dt_tree_put_str(tree, "next", NULL);
    call_json(call, 200, tree);
}

static const struct dt_node *call_node(struct call *call)
{
    const struct dt_node *node = dt_core_node(call->runtime->core, call->id);
    struct dt_err err = {0};

    if (!node) {
        dt_fail(&err, DT_NOT_FOUND, "there is no node \"%.100s\"", call->id);
        dt_hint(&err, "dtctl nodes lists them");
        call_problem(call, &err, NULL);
    }
    return node;
}

void route_node(struct call *call)
{
    const struct dt_node *node = call_node(call);

    if (node)
        call_json(call, 200, dt_api_node_tree(node, runtime_now_ms(call->runtime)));
}

static void on_changed(void *owner, struct dt_effect *effect)
{
    struct call *call = owner;

    call->wait = 0;
    if (effect->err.code)
        call_problem(call, &effect->err, NULL);
    else
        route_node(call);
}

static void change(struct call *call, enum dt_admin_what admin)
{
    struct dt_event event = {.kind = DT_EV_NODE_ADMIN, .caller = call->caller, .admin = admin};
    struct dt_tree *body = NULL;

    if (!call_node(call))
        return;
    if (evbuffer_get_length(evhttp_request_get_input_buffer(call->request)) &&
        !(body = call_body(call)))
        return;
    snprintf(event.node, sizeof(event.node), "%s", call->id);
    event.source = dt_copy_text(dt_tree_str(body, "reason", NULL));
    dt_tree_free(body);
    event.request = call_wait(call, on_changed);
    runtime_event(call->runtime, &event);
}

void route_node_cordon(struct call *call)
{
    change(call, DT_ADMIN_CORDON);
}

void route_node_drain(struct call *call)
{
    change(call, DT_ADMIN_DRAIN);
}

void route_node_resume(struct call *call)
{
    change(call, DT_ADMIN_RESUME);
}
