/* What this machine has: cores, memory, addresses; the only user of hwloc. */
#include <arpa/inet.h>
#include <errno.h>
#include <hwloc.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "agent.h"
#include "dt/os/proc.h"
#include "topology.h"

/* Cores by hwloc (SMT threads count once); the kernel's number when it does not know. What hwloc
 * found stays in the run directory: MPI reads it there, where looking again at every PCI device
 * costs each rank of each generation tens of milliseconds. */
static int topology_read(const char *run_dir)
{
    hwloc_topology_t topology;
    int cores = 0;
    char path[400];

    topology_path(run_dir, path, sizeof(path));
    if (hwloc_topology_init(&topology) == 0) {
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
        if (hwloc_topology_load(topology) == 0) {
            cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
            if (hwloc_topology_export_xml(topology, path, 0))
                unlink(path); /* they look for themselves */
        }
        hwloc_topology_destroy(topology);
    }
    return cores > 0 ? cores : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void add_address(struct dt_inventory *inventory, const struct sockaddr *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

    if (inventory->addr_job_count < DT_ADDRESSES_MAX)
        inet_ntop(AF_INET, &in->sin_addr, inventory->addr_job[inventory->addr_job_count++],
                  sizeof(inventory->addr_job[0]));
}

/* Addresses that ranks of other nodes can reach; only loopback when the controller is there. */
static void find_addresses(struct dt_inventory *inventory, bool is_loopback)
{
    struct ifaddrs *list = NULL;

    if (!is_loopback && getifaddrs(&list) == 0) {
        for (const struct ifaddrs *at = list; at; at = at->ifa_next)
            if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && (at->ifa_flags & IFF_UP) &&
                !(at->ifa_flags & IFF_LOOPBACK))
                add_address(inventory, at->ifa_addr);
        freeifaddrs(list);
    }
    if (!inventory->addr_job_count)
        snprintf(inventory->addr_job[inventory->addr_job_count++],
                 sizeof(inventory->addr_job[0]), "127.0.0.1");
}

static void add_slots(struct dt_inventory *inventory, const char *node, int slots)
{
    inventory->devices = dt_realloc(inventory->devices,
                                    inventory->devices_count + (size_t)slots,
                                    sizeof(*inventory->devices));
    for (int i = 0; i < slots; i++) {
        struct dt_device *device = &inventory->devices[inventory->devices_count++];

        *device = (struct dt_device){.kind = "cpu", .rail = -1};
        snprintf(device->id, sizeof(device->id), "cpu-%d", i);
        snprintf(device->domain, sizeof(device->domain), "%s", node);
    }
}

enum dt_code node_inventory(struct agent *agent, struct dt_err *err)
{
    struct dt_inventory *inventory = &agent->inventory;
    bool is_loopback = strncmp(agent->controller, "127.", 4) == 0 || agent->controller[0] == '/';
    struct passwd *user = getpwuid(geteuid());
    struct sysinfo memory;
    int slots;
    enum dt_code code = dt_boot_id(inventory->boot_id, sizeof(inventory->boot_id), err);

    if (code)
        return code;
    gethostname(inventory->host, sizeof(inventory->host) - 1);
    if (agent->host[0])
        snprintf(inventory->host, sizeof(inventory->host), "%s", agent->host);
    snprintf(inventory->version, sizeof(inventory->version), "%s", DT_VERSION);
    inventory->uid = geteuid();
    snprintf(inventory->user, sizeof(inventory->user), "%s", user ? user->pw_name : "?");
    inventory->cpus = topology_read(agent->run_dir);
    if (sysinfo(&memory) == 0)
        inventory->memory_bytes = (int64_t)memory.totalram * memory.mem_unit;
    find_addresses(inventory, is_loopback);
    gpu_inventory(inventory, agent->node);
    slots = agent->cpu_slots >= 0 ? agent->cpu_slots : inventory->cpus;
    if (slots + (int)inventory->devices_count > DT_DEVICES_PER_NODE_MAX)
        slots = DT_DEVICES_PER_NODE_MAX - (int)inventory->devices_count;
    add_slots(inventory, agent->node, slots);
    return DT_OK;
}

bool node_port_is_free(const char *addr, int port)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd, bound;

    if (inet_pton(AF_INET, addr, &where.sin_addr) != 1)
        return false;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bound = fd >= 0 ? bind(fd, (struct sockaddr *)&where, sizeof(where)) : -1;
    if (fd >= 0)
        close(fd);
    return bound == 0;
}
