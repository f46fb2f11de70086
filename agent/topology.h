/* What hwloc found on this machine, left by the agent for PMIx and MPI to read. */
#ifndef DT_AGENT_TOPOLOGY_H
#define DT_AGENT_TOPOLOGY_H

#include "dt/base/base.h"

/* hwloc's own variables: read the file; it is of this machine, so binding works. */
#define TOPOLOGY_VARIABLE "HWLOC_XMLFILE"
#define TOPOLOGY_IS_OURS "HWLOC_THISSYSTEM"
/* Where hwloc looks for plugins: a file is read without any. */
#define TOPOLOGY_PLUGINS "HWLOC_PLUGINS_PATH"
#define TOPOLOGY_PLUGINS_NONE "/nonexistent"

/* The file in the agent's run directory. Returns whether it is there. */
bool topology_path(const char *run_dir, char *path, size_t size);

#endif
