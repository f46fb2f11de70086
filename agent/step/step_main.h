/* Entry of the step process. */
#ifndef DT_AGENT_STEP_MAIN_H
#define DT_AGENT_STEP_MAIN_H

/* Run a step process until its job is over; returns (or exits with) the exit status. */
int step_main(const char *agent_path, const char *run_dir, const char *node);

#endif
