/* A libnvidia-ml.so.1 for tests: its GPUs are the lines of the file named by DT_FAKE_NVML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MAX 16
#define OK 0
#define NOT_SUPPORTED 3
#define IS_LOST 15

/* "gpu UUID MEMORY_MIB NAME_WITH_UNDERSCORES", then in any order: "lost" (fell off the bus) and
 * "fabric HEX32 CLIQUE". A line "broken" makes nvmlInit fail. */
struct gpu {
    char uuid[96], name[96];
    unsigned long long memory_mib;
    int is_lost, has_fabric;
    char cluster[33];
    unsigned clique;
};

static struct gpu gpus[GPUS_MAX];
static unsigned gpus_count;

struct memory {
    unsigned long long total, free, used;
};

struct fabric {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUUID(void *device, char *text, unsigned size);
int nvmlDeviceGetName(void *device, char *text, unsigned size);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetGpuFabricInfo(void *device, struct fabric *fabric);

static void read_gpu(const char *line)
{
    struct gpu *gpu = &gpus[gpus_count];
    const char *fabric = strstr(line, " fabric ");

    memset(gpu, 0, sizeof(*gpu));
    if (gpus_count == GPUS_MAX ||
        sscanf(line, "gpu %95s %llu %95s", gpu->uuid, &gpu->memory_mib, gpu->name) != 3)
        return;
    for (char *at = gpu->name; *at; at++)
        if (*at == '_')
            *at = ' ';
    gpu->is_lost = strstr(line, " lost") != NULL;
    gpu->has_fabric = fabric && sscanf(fabric, " fabric %32s %u", gpu->cluster, &gpu->clique) == 2;
    gpus_count++;
}

int nvmlInit_v2(void)
{
    const char *path = getenv("DT_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[400];
    int result = file ? OK : NOT_SUPPORTED;

    gpus_count = 0;
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "broken", 6) == 0)
            result = NOT_SUPPORTED;
        read_gpu(line);
    }
    if (file)
        fclose(file);
    return result;
}

int nvmlShutdown(void)
{
    return OK;
}

/* Only the old name, as an old driver has it. */
int nvmlDeviceGetCount(unsigned *count)
{
    *count = gpus_count;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= gpus_count || gpus[index].is_lost)
        return IS_LOST;
    *device = &gpus[index];
    return OK;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    snprintf(text, size, "%s", ((struct gpu *)device)->uuid);
    return OK;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
    snprintf(text, size, "%s", ((struct gpu *)device)->name);
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    const struct gpu *gpu = device;

    if (!gpu->memory_mib)
        return NOT_SUPPORTED;
    *memory = (struct memory){.total = gpu->memory_mib << 20};
    return OK;
}

int nvmlDeviceGetGpuFabricInfo(void *device, struct fabric *fabric)
{
    const struct gpu *gpu = device;

    if (!gpu->has_fabric)
        return NOT_SUPPORTED;
    memset(fabric, 0, sizeof(*fabric));
    for (int i = 0; i < 16; i++) {
        char pair[3] = {gpu->cluster[2 * i], gpu->cluster[2 * i + 1], 0};

        fabric->cluster[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    fabric->clique = gpu->clique;
    fabric->state = 3;
    return OK;
}
