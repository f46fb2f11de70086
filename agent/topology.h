/* Where the agent leaves what hwloc found on this machine, for PMIx and MPI to read. */
#ifndef DT_AGENT_TOPOLOGY_H
#define DT_AGENT_TOPOLOGY_H

/* In the agent's run directory; absent when hwloc could not write it. */
#define TOPOLOGY_FILE "topology.xml"

/* hwloc's own variables: read the file; it is of this machine, so binding works. */
#define TOPOLOGY_VARIABLE "HWLOC_XMLFILE"
#define TOPOLOGY_IS_OURS "HWLOC_THISSYSTEM"

#endif
