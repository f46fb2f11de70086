/* GPUs by NVML, loaded when it is there; what a driver does not support is absent, never zero. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "dt/os/log.h"

typedef int nvml_result;
typedef void *nvml_device;

/* The few functions dt needs; no NVML header is installed with the toolkit. */
struct nvml {
    void *library;
    nvml_result (*init)(void);
    nvml_result (*shutdown)(void);
    nvml_result (*count)(unsigned *count);
    nvml_result (*handle)(unsigned index, nvml_device *device);
    nvml_result (*uuid)(nvml_device device, char *text, unsigned size);
    nvml_result (*name)(nvml_device device, char *text, unsigned size);
    nvml_result (*memory)(nvml_device device, void *memory);
    nvml_result (*fabric)(nvml_device device, void *info);
};

struct nvml_memory {
    unsigned long long total, free, used;
};

#define FABRIC_COMPLETED 3

/* nvmlGpuFabricInfo_t: GPUs with the same cluster and clique reach each other over NVLink. */
struct nvml_fabric {
    unsigned char cluster[16];
    nvml_result status;
    unsigned clique;
    unsigned char state;
};

/* A symbol by its versioned name first, then by its old one. */
static void *symbol(const struct nvml *nvml, const char *name, const char *old)
{
    void *found = dlsym(nvml->library, name);

    return found || !old ? found : dlsym(nvml->library, old);
}

static bool nvml_open(struct nvml *nvml)
{
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return false;
    *(void **)&nvml->init = symbol(nvml, "nvmlInit_v2", "nvmlInit");
    *(void **)&nvml->shutdown = symbol(nvml, "nvmlShutdown", NULL);
    *(void **)&nvml->count = symbol(nvml, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
    *(void **)&nvml->handle = symbol(nvml, "nvmlDeviceGetHandleByIndex_v2",
                                     "nvmlDeviceGetHandleByIndex");
    *(void **)&nvml->uuid = symbol(nvml, "nvmlDeviceGetUUID", NULL);
    *(void **)&nvml->name = symbol(nvml, "nvmlDeviceGetName", NULL);
    *(void **)&nvml->memory = symbol(nvml, "nvmlDeviceGetMemoryInfo", NULL);
    *(void **)&nvml->fabric = symbol(nvml, "nvmlDeviceGetGpuFabricInfo", NULL);
    if (nvml->init && nvml->count && nvml->handle && nvml->uuid && nvml->name &&
        nvml->init() == 0)
        return true;
    dt_log(DT_LOG_WARN, "NVML is there and does not answer: no GPUs are offered", NULL);
    dlclose(nvml->library);
    return false;
}

/* "NVIDIA H100 80GB HBM3" -> "h100-80gb-hbm3": the type users ask for. */
static void type_of_name(const char *name, char *type, size_t size)
{
    size_t used = 0;

    if (strncmp(name, "NVIDIA ", 7) == 0)
        name += 7;
    for (; *name && used + 1 < size; name++)
        type[used++] = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '-';
    type[used] = 0;
}

/* The NVLink domain: a rack's fabric where the driver tells of one, else this node. */
static void domain_of(const struct nvml *nvml, nvml_device handle, const char *node,
                      struct dt_device *device)
{
    static const unsigned char none[16];
    struct nvml_fabric fabric = {0};
    char text[33];

    snprintf(device->domain, sizeof(device->domain), "%s", node);
    if (!nvml->fabric || nvml->fabric(handle, &fabric) != 0 || fabric.state != FABRIC_COMPLETED ||
        fabric.status != 0 || memcmp(fabric.cluster, none, sizeof(none)) == 0)
        return;
    for (size_t i = 0; i < sizeof(fabric.cluster); i++)
        snprintf(text + 2 * i, 3, "%02x", fabric.cluster[i]);
    snprintf(device->domain, sizeof(device->domain), "%s.%u", text, fabric.clique);
}

static void add_gpu(const struct nvml *nvml, struct dt_inventory *inventory, const char *node,
                    unsigned index)
{
    struct dt_device device = {.kind = "gpu", .rail = (int)index};
    struct nvml_memory memory = {0};
    char name[96] = "", uuid[96] = "";
    nvml_device handle;

    if (nvml->handle(index, &handle) != 0 || nvml->uuid(handle, uuid, sizeof(uuid)) != 0) {
        dt_logf(DT_LOG_WARN, "GPU %u does not answer: not offered", index);
        return;
    }
    snprintf(device.id, sizeof(device.id), "%s", uuid);
    if (nvml->name(handle, name, sizeof(name)) == 0)
        type_of_name(name, device.type, sizeof(device.type));
    if (nvml->memory && nvml->memory(handle, &memory) == 0)
        device.memory_bytes = (int64_t)memory.total;
    domain_of(nvml, handle, node, &device);
    inventory->devices = dt_realloc(inventory->devices, inventory->devices_count + 1,
                                    sizeof(*inventory->devices));
    inventory->devices[inventory->devices_count++] = device;
}

void gpu_inventory(struct dt_inventory *inventory, const char *node)
{
    struct nvml nvml = {0};
    unsigned count = 0;

    if (!nvml_open(&nvml))
        return;
    if (nvml.count(&count) == 0)
        for (unsigned i = 0; i < count && i < DT_GPUS_PER_NODE_MAX; i++)
            add_gpu(&nvml, inventory, node, i);
    if (nvml.shutdown)
        nvml.shutdown();
    dlclose(nvml.library);
}
