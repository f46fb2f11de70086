/* A control group of one generation: tracked and killed as a whole. */
#ifndef DT_AGENT_CGROUP_H
#define DT_AGENT_CGROUP_H

#include <sys/types.h>

#include "dt/base/err.h"

/* {0} tracks nothing: the caller falls back to its children. */
struct cgroup {
    char path[400];   /* cgroup2 directory, "" = none */
    char memory[400]; /* v1 memory directory, "" = none */
};

/* Where this process may make groups; "" = no such hierarchy. */
struct cgroup_mounts {
    char top[200];    /* mount point of cgroup2 */
    char v2[400];     /* the same plus our own path there */
    char memory[400]; /* mount point plus own path of the v1 memory controller */
};

/* Read them from the texts of /proc/self/mountinfo and /proc/self/cgroup. */
void cgroup_parse(const char *mountinfo, const char *self, struct cgroup_mounts *mounts);

/* How this machine can track: "v2", "hybrid", "v1" or "none", with a sentence about it. */
const char *cgroup_mode(char *sentence, size_t size);
/* Make the group `name` ("cluster/node/j-000001-g1"); memory_bytes 0 = no limit. Cannot fail: what
 * cannot be made stays "". */
void cgroup_make(struct cgroup *group, const char *name, int64_t memory_bytes);
/* The group of that name as left by another process. */
void cgroup_find(struct cgroup *group, const char *name);
/* Call visit for each group of this user below `name`, in whichever hierarchy it is left. */
void cgroup_list(const char *name, void (*visit)(void *owner, const char *name), void *owner);
/* Put the calling process into it; for a child between fork and exec. false with errno. */
bool cgroup_enter(const struct cgroup *group);
/* Kill all in it. */
void cgroup_kill(const struct cgroup *group);
/* No process is left (true when there is no group). */
bool cgroup_is_empty(const struct cgroup *group);
/* Some process of it was killed for memory. */
bool cgroup_had_oom(const struct cgroup *group);
/* Remove the directories, which must be empty. */
void cgroup_remove(const struct cgroup *group);

#endif
