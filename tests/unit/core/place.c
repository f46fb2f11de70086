/* Placement: the whole gang or nothing, groups inside one domain, the same answer every time. */
#include "dt/core/place.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define NODES_MAX 16

/* Nodes from "sw1: n1 8, n2 8; sw2: n3 4": domain, names, free GPUs. */
struct world {
    struct dt_node nodes[NODES_MAX];
    const struct dt_node *list[NODES_MAX];
    size_t count;
};

static void node_add(struct world *world, const char *domain, const char *name, int gpus)
{
    struct dt_node *node = &world->nodes[world->count];

    *node = (struct dt_node){.state = DT_NODE_UP, .wish = DT_NODE_UP};
    snprintf(node->name, sizeof(node->name), "%s", name);
    node->inventory.uid = 1000;
    node->inventory.devices_count = (size_t)gpus;
    node->inventory.devices = dt_alloc((size_t)gpus, sizeof(struct dt_device));
    for (int i = 0; i < gpus; i++) {
        struct dt_device *device = &node->inventory.devices[i];

        snprintf(device->kind, sizeof(device->kind), "gpu");
        snprintf(device->id, sizeof(device->id), "%d", i);
        snprintf(device->type, sizeof(device->type), "h100");
        snprintf(device->domain, sizeof(device->domain), "%s", domain);
    }
    world->list[world->count] = node;
    world->count++;
}

static struct world *world_make(const char *text)
{
    struct world *world = dt_alloc(1, sizeof(*world));
    char domain[32], name[32];
    int gpus, length;

    while (sscanf(text, " %31[^:]:%n", domain, &length) == 1) {
        text += length;
        while (sscanf(text, " %31s %d%n", name, &gpus, &length) == 2) {
            node_add(world, domain, name, gpus);
            text += length;
            text += *text == ',';
        }
        text += *text == ';';
    }
    return world;
}

static void world_free(struct world *world)
{
    for (size_t i = 0; i < world->count; i++)
        dt_inventory_release(&world->nodes[i].inventory);
    dt_free(world);
}

static struct dt_want want_of(int nodes, int ranks, int atom)
{
    return (struct dt_want){.nodes = nodes, .ranks_per_node = ranks, .device_kind = "gpu",
                            .devices_per_rank = 1, .atom_ranks = atom, .uid = 1000};
}

/* "n1:0,1 n2:2,3", or the shortage's code. Static. */
static const char *place(const struct world *world, const struct dt_want *want)
{
    static struct dt_buf text;
    struct dt_placement placement = {0};
    struct dt_shortage why = {0};

    dt_buf_clear(&text);
    if (dt_place_gang(world->list, world->count, want, &placement, &why))
        dt_buf_text(&text, why.code);
    for (size_t i = 0; i < placement.count; i++) {
        const struct dt_member *member = &placement.members[i];

        dt_buf_print(&text, "%s%s:", i ? " " : "", member->node);
        for (size_t k = 0; k < member->devices_count; k++)
            dt_buf_print(&text, "%s%s", k ? "," : "", member->devices[k]);
    }
    dt_placement_release(&placement);
    return dt_buf_str(&text);
}

TEST(place__takes_the_tightest_node)
{
    struct world *world = world_make("a: n1 8; b: n2 4; c: n3 2");
    struct dt_want want = want_of(1, 2, 1);

    CHECK_TEXT(place(world, &want), "n3:0,1");
    want = want_of(1, 3, 1);
    CHECK_TEXT(place(world, &want), "n2:0,1,2");
    want = want_of(2, 2, 1);
    CHECK_TEXT(place(world, &want), "n3:0,1 n2:0,1");
    world_free(world);
}

TEST(place__whole_gang_or_nothing)
{
    struct world *world = world_make("a: n1 2; b: n2 2");
    struct dt_want want = want_of(2, 2, 1);

    world->nodes[1].inventory.devices[0].job = 7;
    CHECK_TEXT(place(world, &want), "resources");
    world->nodes[1].inventory.devices[0].job = 0;
    CHECK_TEXT(place(world, &want), "n1:0,1 n2:0,1");
    want = want_of(3, 2, 1);
    CHECK_TEXT(place(world, &want), "never-fits");
    want = want_of(1, 3, 1);
    CHECK_TEXT(place(world, &want), "never-fits");
    world_free(world);
}

TEST(place__unhealthy_and_closed_nodes_are_left_out)
{
    struct world *world = world_make("a: n1 2; b: n2 2");
    struct dt_want want = want_of(1, 2, 1);

    world->nodes[0].inventory.devices[1].is_unhealthy = true;
    CHECK_TEXT(place(world, &want), "n2:0,1");
    world->nodes[1].state = DT_NODE_SILENT;
    CHECK_TEXT(place(world, &want), "resources");
    world->nodes[0].wish = DT_NODE_CORDONED;
    CHECK_TEXT(place(world, &want), "node-unavailable");
    world_free(world);
}

TEST(place__a_tensor_group_stays_in_one_domain)
{
    struct world *world = world_make("r1: n1 4, n2 4; r2: n3 4, n4 4");
    struct dt_want want = want_of(2, 4, 8); /* a group of 8 ranks spans two nodes */

    CHECK_TEXT(place(world, &want), "n1:0,1,2,3 n2:0,1,2,3");
    world->nodes[0].inventory.devices[0].job = 7;
    CHECK_TEXT(place(world, &want), "n3:0,1,2,3 n4:0,1,2,3");
    world->nodes[2].inventory.devices[0].job = 7;
    CHECK_TEXT(place(world, &want), "topology"); /* n2 and n4 are free, in two domains */
    want = want_of(2, 4, 4);
    CHECK_TEXT(place(world, &want), "n2:0,1,2,3 n4:0,1,2,3"); /* a group of 4 fits a node */
    world_free(world);
}

TEST(place__types_hosts_and_users_are_respected)
{
    struct world *world = world_make("a: n1 2; b: n2 2; c: n3 2");
    char *types[] = {(char *)"a100"}, *hosts[] = {(char *)"n[2-3]"}, *no[] = {(char *)"n2"};
    struct dt_texts a100 = {types, 1}, only = {hosts, 1}, without = {no, 1};
    struct dt_want want = want_of(1, 2, 1);

    want.device_types = &a100;
    CHECK_TEXT(place(world, &want), "never-fits");
    want.device_types = NULL;
    want.include = &only;
    CHECK_TEXT(place(world, &want), "n2:0,1");
    want.exclude = &without;
    CHECK_TEXT(place(world, &want), "n3:0,1");
    want.uid = 1001;
    CHECK_TEXT(place(world, &want), "never-fits");
    world_free(world);
}

TEST(place__ranks_stay_where_they_were)
{
    struct world *world = world_make("a: n1 2; b: n2 2; c: n3 2");
    struct dt_member prior[2] = {{.node = "n3"}, {.node = "n1"}};
    struct dt_want want = want_of(2, 2, 1);

    want.prior = prior;
    want.prior_count = 2;
    CHECK_TEXT(place(world, &want), "n3:0,1 n1:0,1");
    world->nodes[2].state = DT_NODE_DOWN;
    CHECK_TEXT(place(world, &want), "n2:0,1 n1:0,1"); /* rank 1 does not move */
    world_free(world);
}

TEST(place__suspects_are_avoided)
{
    static const char avoid[1][DT_NAME_BYTES_MAX] = {"n1"};
    struct world *world = world_make("a: n1 2; b: n2 2");
    struct dt_want want = want_of(1, 2, 1);

    want.avoid = avoid;
    want.avoid_count = 1;
    CHECK_TEXT(place(world, &want), "n2:0,1");
    want = want_of(2, 2, 1);
    want.avoid = avoid;
    want.avoid_count = 1;
    CHECK_TEXT(place(world, &want), "node-unavailable");
    world_free(world);
}

TEST(place__same_question_same_answer)
{
    struct world *world = world_make("a: n1 8, n2 8; b: n3 8, n4 8");
    struct dt_want want = want_of(3, 4, 2);
    char first[256];

    snprintf(first, sizeof(first), "%s", place(world, &want));
    for (int i = 0; i < 10; i++)
        CHECK_TEXT(place(world, &want), first);
    CHECK(strlen(first) > 0);
    world_free(world);
}
