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
};

struct nvml_memory {
    unsigned long long total, free, used;
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
    snprintf(device.domain, sizeof(device.domain), "%s", node);
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
