/* Tests of the GPU inventory against a fake NVML. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent.h"
#include "test.h"

/* The inventory that a scenario of tests/nvml gives. The fake is found by its name afterwards. */
static struct dt_inventory inventory_of(const char *scenario)
{
    struct dt_inventory inventory = {0};
    char path[400];
    void *library = dlopen(DT_BUILD_DIR "/nvml/libnvidia-ml.so.1", RTLD_NOW);

    if (!library)
        dt_test_skip("the fake NVML is not built");
    snprintf(path, sizeof(path), DT_SOURCE_DIR "/tests/nvml/%s", scenario);
    setenv("DT_FAKE_NVML", path, 1);
    gpu_inventory(&inventory, "n1");
    dlclose(library);
    return inventory;
}

TEST(gpu__lists_a_node_of_eight)
{
    struct dt_inventory inventory = inventory_of("nvswitch8");

    CHECK_INT(inventory.devices_count, 8);
    if (inventory.devices_count == 8) {
        CHECK_TEXT(inventory.devices[7].kind, "gpu");
        CHECK_TEXT(inventory.devices[7].id, "GPU-00000007");
        CHECK_TEXT(inventory.devices[7].type, "h100-80gb-hbm3");
        CHECK_TEXT(inventory.devices[7].domain, "n1");
        CHECK_INT(inventory.devices[7].rail, 7);
        CHECK_INT(inventory.devices[7].memory_bytes, 81559LL << 20);
    }
    dt_free(inventory.devices);
}

TEST(gpu__takes_a_racks_fabric_as_its_domain)
{
    struct dt_inventory inventory = inventory_of("nvl72-tray");

    CHECK_INT(inventory.devices_count, 4);
    if (inventory.devices_count == 4)
        CHECK_TEXT(inventory.devices[3].domain, "0123456789abcdef0123456789abcdef.32766");
    dt_free(inventory.devices);
}

TEST(gpu__does_not_offer_one_that_fell_off_the_bus)
{
    struct dt_inventory inventory = inventory_of("off-the-bus");

    CHECK_INT(inventory.devices_count, 2);
    if (inventory.devices_count == 2) {
        CHECK_TEXT(inventory.devices[0].type, "a100-sxm4-80gb");
        CHECK_TEXT(inventory.devices[1].id, "GPU-00000002");
        CHECK_INT(inventory.devices[1].memory_bytes, 0); /* not supported: unknown */
        CHECK_INT(inventory.devices[1].rail, 2);
    }
    dt_free(inventory.devices);
}

TEST(gpu__offers_none_when_the_driver_fails)
{
    struct dt_inventory inventory = inventory_of("broken");

    CHECK_INT(inventory.devices_count, 0);
    dt_free(inventory.devices);
}
