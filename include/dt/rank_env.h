/* What a rank receives from dt in its environment; also for a user's own trainer. */
#ifndef DT_RANK_ENV_H
#define DT_RANK_ENV_H

/* The torchrun contract: which of how many ranks this process is, over all nodes and on its own. */
#define DT_ENV_RANK "RANK"
#define DT_ENV_WORLD_SIZE "WORLD_SIZE"
#define DT_ENV_LOCAL_RANK "LOCAL_RANK"
#define DT_ENV_LOCAL_WORLD_SIZE "LOCAL_WORLD_SIZE"
#define DT_ENV_GROUP_RANK "GROUP_RANK"
#define DT_ENV_GROUP_WORLD_SIZE "GROUP_WORLD_SIZE"
#define DT_ENV_MASTER_ADDR "MASTER_ADDR"
#define DT_ENV_MASTER_PORT "MASTER_PORT"

/* The job, its generation (grows by one at every start of its ranks) and its nodes. */
#define DT_ENV_JOB_ID "DT_JOB_ID"
#define DT_ENV_JOB_NAME "DT_JOB_NAME"
#define DT_ENV_GENERATION "DT_GENERATION"
#define DT_ENV_DT_RANK "DT_RANK"
#define DT_ENV_NODE_RANK "DT_NODE_RANK"
#define DT_ENV_NNODES "DT_NNODES"
#define DT_ENV_NODELIST "DT_NODELIST"
#define DT_ENV_HOSTFILE "DT_HOSTFILE"
#define DT_ENV_GPUS_PER_NODE "DT_GPUS_PER_NODE"

/* Where to write, and what to go on from (unset when there is nothing). */
#define DT_ENV_OUTPUT_DIR "DT_OUTPUT_DIR"
#define DT_ENV_CHECKPOINT_DIR "DT_CHECKPOINT_DIR"
#define DT_ENV_RESUME_FROM "DT_RESUME_FROM"

/* Unix datagram socket for progress: "step N [loss X] [tokens N] [time_ms X]", "phase NAME",
 * "checkpoint STEP PATH", "save-done STEP"; one line a datagram, unknown words are ignored. */
#define DT_ENV_METRICS_SOCKET "DT_METRICS_SOCKET"

/* A file of one page to map and write progress into (dt/ckpt/status.h). */
#define DT_ENV_STATUS_PAGE "DT_STATUS_PAGE"

/* End of the time limit (RFC 3339), and the name of the signal that asks to save. */
#define DT_ENV_DEADLINE "DT_DEADLINE"
#define DT_ENV_PREEMPT_SIGNAL "DT_PREEMPT_SIGNAL"

#endif
