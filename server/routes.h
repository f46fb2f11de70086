/* Handlers of the routes, by file. */
#ifndef DT_SERVER_ROUTES_H
#define DT_SERVER_ROUTES_H

#include "http.h"

/* routes.c: all of them */
extern const struct route routes[];
extern const size_t routes_count;

/* routes_jobs.c */
void route_submit(struct call *call);
void route_jobs(struct call *call);
void route_job(struct call *call);
void route_job_spec(struct call *call);
void route_job_why(struct call *call);
void route_job_cancel(struct call *call);
void route_job_events(struct call *call);
void route_job_logs(struct call *call);

/* routes_nodes.c */
void route_nodes(struct call *call);
void route_node(struct call *call);
void route_node_cordon(struct call *call);
void route_node_drain(struct call *call);
void route_node_resume(struct call *call);

/* routes.c, metrics.c */
void route_watch(struct call *call);
void route_metrics(struct call *call);

#endif
