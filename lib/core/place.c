/* Placement of one gang: whole or not at all, every atom inside one NVLink domain. */
#include "dt/core/place.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/text.h"

/* What one node can give to this gang. */
struct offer {
    const struct dt_node *node;
    int total; /* devices that fit the request, free or not */
    int free;  /* of them free and healthy */
    bool is_eligible; /* passes everything but its state and room */
    bool is_open;     /* takes new work now */
    bool is_prior;    /* held ranks of the last generation */
};

struct search {
    const struct dt_want *want;
    struct offer *offers;
    size_t count;
    int per_node; /* devices needed on a node */
    char **include, **exclude;
    size_t include_count, exclude_count;
};

void dt_placement_release(struct dt_placement *placement)
{
    if (!placement)
        return;
    dt_members_free(placement->members, placement->count);
    *placement = (struct dt_placement){0};
}

struct dt_want dt_want_from_job(const struct dt_job *job)
{
    const struct dt_spec *spec = job->spec;

    return (struct dt_want){
        .nodes = spec->nodes_min,
        .ranks_per_node = spec->ranks_per_node,
        .device_kind = spec->gpus_per_node > 0 ? "gpu" : "cpu",
        .devices_per_rank = spec->gpus_per_node > spec->ranks_per_node
                                ? spec->gpus_per_node / spec->ranks_per_node
                                : 1,
        .atom_ranks = spec->tensor * spec->context,
        .device_types = &spec->gpu_types,
        .include = &spec->include,
        .exclude = &spec->exclude,
        .avoid = (const char (*)[DT_NAME_BYTES_MAX])job->avoid,
        .avoid_count = job->avoid_count,
        .uid = job->owner.uid,
        .prior = job->members,
        .prior_count = job->members_count,
    };
}

static bool is_listed(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_avoided(const struct dt_want *want, const char *name)
{
    for (size_t i = 0; i < want->avoid_count; i++)
        if (strcmp(want->avoid[i], name) == 0)
            return true;
    return false;
}

static bool is_prior_node(const struct dt_want *want, const char *name)
{
    for (size_t i = 0; i < want->prior_count; i++)
        if (strcmp(want->prior[i].node, name) == 0)
            return true;
    return false;
}

static bool is_wanted_device(const struct dt_want *want, const struct dt_device *device)
{
    if (strcmp(device->kind, want->device_kind) != 0)
        return false;
    if (!want->device_types || !want->device_types->count)
        return true;
    for (size_t i = 0; i < want->device_types->count; i++)
        if (strcmp(want->device_types->item[i], device->type) == 0)
            return true;
    return false;
}

static struct offer offer_of(const struct search *search, const struct dt_node *node)
{
    const struct dt_want *want = search->want;
    const struct dt_inventory *has = &node->inventory;
    struct offer offer = {.node = node};

    offer.is_eligible = (has->uid == want->uid) &&
                        !is_listed(search->exclude, search->exclude_count, node->name) &&
                        (!search->include_count ||
                         is_listed(search->include, search->include_count, node->name));
    offer.is_open = node->state == DT_NODE_UP && node->wish == DT_NODE_UP &&
                    !is_avoided(want, node->name);
    offer.is_prior = is_prior_node(want, node->name);
    for (size_t i = 0; i < has->devices_count; i++) {
        if (!is_wanted_device(want, &has->devices[i]))
            continue;
        offer.total++;
        offer.free += !has->devices[i].job && !has->devices[i].is_unhealthy;
    }
    return offer;
}

/* Union of the host lists of a spec, expanded; a bad list was refused at submit. */
static void names_expand(const struct dt_texts *lists, char ***names, size_t *count)
{
    for (size_t i = 0; lists && i < lists->count; i++) {
        char **more = NULL;
        size_t more_count = 0;

        if (dt_hosts_expand(lists->item[i], DT_NODES_MAX, &more, &more_count, NULL))
            continue;
        *names = dt_realloc(*names, *count + more_count, sizeof(char *));
        memcpy(*names + *count, more, more_count * sizeof(char *));
        *count += more_count;
        dt_free(more);
    }
}

static void funnel_add(struct dt_shortage *why, const char *step, int nodes)
{
    struct dt_funnel_step *row;

    if (!why || why->funnel_count == DT_COUNT(why->funnel))
        return;
    row = &why->funnel[why->funnel_count++];
    snprintf(row->step, sizeof(row->step), "%s", step);
    row->nodes = nodes;
}

/* Free devices of a node that fit, as indices in the node's order, grouped so that whole atoms
 * come from one domain. Returns how many were chosen, `need` or less. */
static int choose_devices(const struct search *search, const struct dt_node *node, int *chosen)
{
    const struct dt_inventory *has = &node->inventory;
    const struct dt_want *want = search->want;
    int atom = (want->atom_ranks < want->ranks_per_node ? want->atom_ranks : want->ranks_per_node) *
               want->devices_per_rank;
    int need = search->per_node, count = 0;
    bool taken[DT_DEVICES_PER_NODE_MAX] = {false};

    if (atom < 1)
        atom = 1;
    for (size_t i = 0; i < has->devices_count && count + atom <= need; i++) {
        int group[DT_DEVICES_PER_NODE_MAX], size = 0;

        for (size_t j = i; j < has->devices_count && size < atom; j++) {
            const struct dt_device *device = &has->devices[j];

            if (!taken[j] && is_wanted_device(want, device) && !device->job &&
                !device->is_unhealthy && strcmp(device->domain, has->devices[i].domain) == 0)
                group[size++] = (int)j;
        }
        if (size < atom)
            continue;
        for (int k = 0; k < size; k++) {
            taken[group[k]] = true;
            chosen[count++] = group[k];
        }
    }
    return count;
}

static void member_fill(const struct search *search, const struct offer *offer, int node_rank,
                        const int *chosen, struct dt_member *member)
{
    snprintf(member->node, sizeof(member->node), "%s", offer->node->name);
    member->ranks_count = search->want->ranks_per_node;
    member->rank_first = node_rank * search->want->ranks_per_node;
    member->devices_count = (size_t)search->per_node;
    member->devices = dt_alloc(member->devices_count, sizeof(*member->devices));
    for (int i = 0; i < search->per_node; i++)
        memcpy(member->devices[i], offer->node->inventory.devices[chosen[i]].id,
               sizeof(member->devices[i]));
}

static struct offer *offer_find(struct search *search, const char *node)
{
    for (size_t i = 0; i < search->count; i++)
        if (strcmp(search->offers[i].node->name, node) == 0)
            return &search->offers[i];
    return NULL;
}

static bool is_usable(const struct search *search, const struct offer *offer)
{
    return offer->is_eligible && offer->is_open && offer->free >= search->per_node;
}

/* Domain of a node for atoms that span nodes: the domain of its first wanted device. */
static const char *node_domain(const struct search *search, const struct dt_node *node)
{
    for (size_t i = 0; i < node->inventory.devices_count; i++)
        if (is_wanted_device(search->want, &node->inventory.devices[i]))
            return node->inventory.devices[i].domain;
    return "";
}

/* Tightest first keeps whole nodes whole; then by name, so that the answer is reproducible. */
static int by_room(const void *left, const void *right)
{
    const struct offer *a = *(const struct offer *const *)left;
    const struct offer *b = *(const struct offer *const *)right;

    if (a->free != b->free)
        return a->free < b->free ? -1 : 1;
    return strcmp(a->node->name, b->node->name);
}

/* Pick `want->nodes` usable offers into order (by node rank). Ranks of the last generation whose
 * node still fits stay where they were. Returns how many were found. */
static int choose_nodes(struct search *search, struct offer **order)
{
    const struct dt_want *want = search->want;
    struct offer **free_offers = dt_alloc(search->count, sizeof(struct offer *));
    size_t free_count = 0, next = 0;
    int found = 0;

    for (int rank = 0; rank < want->nodes; rank++) {
        struct offer *offer = (size_t)rank < want->prior_count
                                  ? offer_find(search, want->prior[rank].node)
                                  : NULL;

        order[rank] = offer && is_usable(search, offer) ? offer : NULL;
        found += order[rank] != NULL;
    }
    for (size_t i = 0; i < search->count; i++) {
        bool is_used = false;

        for (int rank = 0; rank < want->nodes && search->offers[i].is_prior && !is_used; rank++)
            is_used = order[rank] == &search->offers[i];
        if (!is_used && is_usable(search, &search->offers[i]))
            free_offers[free_count++] = &search->offers[i];
    }
    qsort(free_offers, free_count, sizeof(struct offer *), by_room);
    for (int rank = 0; rank < want->nodes && next < free_count; rank++)
        if (!order[rank]) {
            order[rank] = free_offers[next++];
            found++;
        }
    dt_free(free_offers);
    return found;
}

/* Atoms larger than a node: consecutive groups of nodes must share a domain. Fills order anew;
 * returns nodes placed. */
static int choose_spanning(struct search *search, int nodes_per_atom, struct offer **order)
{
    bool *taken = dt_alloc(search->count, sizeof(bool));
    int placed = 0;

    for (size_t i = 0; i < search->count && placed < search->want->nodes; i++) {
        const char *domain = node_domain(search, search->offers[i].node);
        int group = 0;

        for (size_t j = i; j < search->count && group < nodes_per_atom; j++)
            if (!taken[j] && is_usable(search, &search->offers[j]) &&
                strcmp(node_domain(search, search->offers[j].node), domain) == 0)
                order[placed + group++] = &search->offers[j];
        if (group < nodes_per_atom)
            continue;
        for (int k = 0; k < group; k++)
            taken[order[placed + k] - search->offers] = true;
        placed += group;
        i = (size_t)-1; /* from the start: a domain may hold another atom */
    }
    dt_free(taken);
    return placed;
}

static enum dt_code shortage(struct search *search, int found, struct dt_shortage *why)
{
    const struct dt_want *want = search->want;
    int eligible = 0, large = 0, open = 0, free_enough = 0;
    struct dt_shortage scratch;

    why = why ? why : &scratch;
    *why = (struct dt_shortage){0};
    for (size_t i = 0; i < search->count; i++) {
        const struct offer *offer = &search->offers[i];

        eligible += offer->is_eligible;
        large += offer->is_eligible && offer->total >= search->per_node;
        open += offer->is_eligible && offer->total >= search->per_node && offer->is_open;
        free_enough += is_usable(search, offer);
    }
    funnel_add(why, "all nodes", (int)search->count);
    funnel_add(why, "allowed for this job", eligible);
    funnel_add(why, "large enough", large);
    funnel_add(why, "up and open", open);
    funnel_add(why, "free", free_enough);
    why->needed = want->nodes;
    if (large < want->nodes) {
        snprintf(why->code, sizeof(why->code), "never-fits");
        snprintf(why->text, sizeof(why->text),
                 "needs %d nodes with %d %s each, the fleet has %d (of %zu nodes)", want->nodes,
                 search->per_node, strcmp(want->device_kind, "gpu") == 0 ? "GPUs" : "CPU slots",
                 large, search->count);
        why->free = large;
        return DT_INVALID;
    }
    why->free = free_enough;
    snprintf(why->code, sizeof(why->code), "%s",
             open < want->nodes ? "node-unavailable"
                                : found < free_enough ? "topology" : "resources");
    if (open < want->nodes)
        snprintf(why->text, sizeof(why->text), "needs %d nodes, %d of %d are up and open",
                 want->nodes, open, large);
    else if (free_enough < want->nodes)
        snprintf(why->text, sizeof(why->text),
                 "needs %d nodes with %d free %s each, %d have them now", want->nodes,
                 search->per_node, strcmp(want->device_kind, "gpu") == 0 ? "GPUs" : "CPU slots",
                 free_enough);
    else {
        snprintf(why->code, sizeof(why->code), "topology");
        snprintf(why->text, sizeof(why->text),
                 "needs groups of %d ranks inside one NVLink domain; %d nodes are free, but not "
                 "together", want->atom_ranks, free_enough);
    }
    return DT_BUSY;
}

static enum dt_code search_run(struct search *search, struct dt_placement *placement,
                               struct dt_shortage *why)
{
    const struct dt_want *want = search->want;
    struct offer **order = dt_alloc((size_t)want->nodes, sizeof(struct offer *));
    int chosen[DT_DEVICES_PER_NODE_MAX];
    int atom_nodes = want->atom_ranks > want->ranks_per_node
                         ? (want->atom_ranks + want->ranks_per_node - 1) / want->ranks_per_node
                         : 1;
    struct dt_placement draft = {0};
    int found = atom_nodes > 1 ? choose_spanning(search, atom_nodes, order)
                               : choose_nodes(search, order);
    enum dt_code code = DT_OK;

    if (found < want->nodes) {
        code = shortage(search, found, why);
        goto out;
    }
    draft.members = dt_alloc((size_t)want->nodes, sizeof(*draft.members));
    for (int rank = 0; rank < want->nodes; rank++) {
        if (choose_devices(search, order[rank]->node, chosen) < search->per_node) {
            order[rank]->free = 0; /* free devices, but no whole atom: look again without it */
            dt_placement_release(&draft);
            code = DT_CONFLICT;
            goto out;
        }
        member_fill(search, order[rank], rank, chosen, &draft.members[rank]);
        draft.count++;
    }
    *placement = draft;
out:
    dt_free(order);
    return code;
}

enum dt_code dt_place_gang(const struct dt_node *const *nodes, size_t nodes_count,
                           const struct dt_want *want, struct dt_placement *placement,
                           struct dt_shortage *why)
{
    struct search search = {.want = want, .count = nodes_count};
    enum dt_code code;

    assert(want->nodes >= 1 && want->ranks_per_node >= 1 && want->devices_per_rank >= 1);
    search.per_node = want->ranks_per_node * want->devices_per_rank;
    if (search.per_node > DT_DEVICES_PER_NODE_MAX)
        search.per_node = DT_DEVICES_PER_NODE_MAX + 1; /* fits nowhere */
    search.offers = dt_alloc(nodes_count, sizeof(*search.offers));
    names_expand(want->include, &search.include, &search.include_count);
    names_expand(want->exclude, &search.exclude, &search.exclude_count);
    for (size_t i = 0; i < nodes_count; i++)
        search.offers[i] = offer_of(&search, nodes[i]);
    do
        code = search_run(&search, placement, why);
    while (code == DT_CONFLICT);
    dt_names_free(search.include, search.include_count);
    dt_names_free(search.exclude, search.exclude_count);
    dt_free(search.offers);
    return code;
}
