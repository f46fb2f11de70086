/* Processes of generations that this node should no longer run. */
#ifndef DT_AGENT_STRAYS_H
#define DT_AGENT_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose processes; all borrowed. Others' clusters, agents and users are never touched. */
struct strays {
    const char *cluster_id, *node;
    const char *run_dir; /* of the agent: ranks have it in their environment */
    bool (*is_stray)(void *owner, uint64_t job, uint64_t gen);
    void *owner;
};

/* Kill the stray control groups and processes; the number found, 0 = clean. O(processes). */
size_t strays_kill(const struct strays *strays);

#endif
