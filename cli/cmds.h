/* The commands of dtctl. */
#ifndef DT_CLI_CMDS_H
#define DT_CLI_CMDS_H

#include "dt/base/opts.h"

/* Groups of the help, in order. */
enum { DT_GROUP_JOBS, DT_GROUP_PLAN, DT_GROUP_CLUSTER, DT_GROUP_HELP };

extern const struct dt_cmd dt_cli_submit, dt_cli_ls, dt_cli_show, dt_cli_describe, dt_cli_why,
    dt_cli_logs, dt_cli_events, dt_cli_cancel, dt_cli_wait;
extern const struct dt_cmd dt_cli_nodes, dt_cli_nodes_ls, dt_cli_nodes_show, dt_cli_nodes_types,
    dt_cli_nodes_cordon, dt_cli_nodes_drain, dt_cli_nodes_resume;
extern const struct dt_cmd dt_cli_up, dt_cli_down, dt_cli_doctor;
extern const struct dt_cmd dt_cli_simulate;
extern const struct dt_cmd dt_cli_explain, dt_cli_version;

#endif
