/* Tests of reading where control groups are. */
#include "cgroup.h"

#include "test.h"

#define V2_MOUNT "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID_MOUNTS                                                                   \
    "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n"                                    \
    "31 30 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"      \
    "34 30 0:31 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n" \
    "40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

TEST(cgroup__finds_a_delegated_v2_group)
{
    struct cgroup_mounts mounts;

    cgroup_parse(V2_MOUNT, "0::/system.slice/dtagent.service\n", &mounts);
    CHECK_TEXT(mounts.top, "/sys/fs/cgroup");
    CHECK_TEXT(mounts.v2, "/sys/fs/cgroup/system.slice/dtagent.service");
    CHECK_TEXT(mounts.memory, "");
}

TEST(cgroup__finds_both_kinds_on_a_hybrid_machine)
{
    struct cgroup_mounts mounts;

    cgroup_parse(HYBRID_MOUNTS, "9:name=systemd:/\n4:memory:/job/7\n1:cpu,cpuacct:/x\n0::/\n",
                 &mounts);
    CHECK_TEXT(mounts.v2, "/sys/fs/cgroup/unified");
    CHECK_TEXT(mounts.memory, "/sys/fs/cgroup/memory/job/7");
}

TEST(cgroup__takes_no_v2_path_for_a_v1_controller)
{
    struct cgroup_mounts mounts;

    cgroup_parse("34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                 "35 30 0:32 / /sys/fs/cgroup/x rw - cgroup cgroup rw,name=memory2\n",
                 "4:memory:/\n0::/v2\n", &mounts);
    CHECK_TEXT(mounts.v2, "");
    CHECK_TEXT(mounts.memory, "/sys/fs/cgroup/memory");
}

TEST(cgroup__finds_nothing_where_nothing_is)
{
    struct cgroup_mounts mounts;

    cgroup_parse("", "", &mounts);
    CHECK_TEXT(mounts.v2, "");
    cgroup_parse("cut line\n30 24 0:26 / /sys\n - cgroup2\n", "no colons\n", &mounts);
    CHECK_TEXT(mounts.v2, "");
    CHECK_TEXT(mounts.memory, "");
}
