/* Prometheus text: zeros are always there. */
#include <string.h>

#include "dt/os/proc.h"
#include "guests.h"
#include "http.h"
#include "routes.h"

static void head(struct dt_buf *buf, const char *name, const char *type, const char *help)
{
    dt_buf_print(buf, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_jobs(const struct dt_core *core, struct dt_buf *buf)
{
    static const char *const reasons[] = {"not-evaluated-yet", "resources", "topology", "priority",
                                          "node-unavailable", "never-fits", "dependency",
                                          "dependency-failed", "begin-time", "backoff"};
    long counts[DT_JOB_STATE_COUNT] = {0}, waits[DT_COUNT(reasons)] = {0}, restarts = 0;

    for (const struct dt_job *job = dt_core_job_from(core, 0); job;
         job = dt_core_job_from(core, job->id + 1)) {
        counts[job->state]++;
        restarts += job->restarts.total;
        for (size_t i = 0; job->state == DT_JOB_PENDING && i < DT_COUNT(reasons); i++)
            waits[i] += strcmp(job->reason[0] ? job->reason : "priority", reasons[i]) == 0;
    }
    head(buf, "dt_jobs", "gauge", "Jobs by state.");
    for (int state = 0; state < DT_JOB_STATE_COUNT; state++)
        dt_buf_print(buf, "dt_jobs{state=\"%s\"} %ld\n",
                     dt_job_state_name((enum dt_job_state)state), counts[state]);
    head(buf, "dt_jobs_pending_reason", "gauge", "Waiting jobs by reason.");
    for (size_t i = 0; i < DT_COUNT(reasons); i++)
        dt_buf_print(buf, "dt_jobs_pending_reason{reason=\"%s\"} %ld\n", reasons[i], waits[i]);
    head(buf, "dt_job_restarts_total", "counter", "Generations after the first.");
    dt_buf_print(buf, "dt_job_restarts_total %ld\n", restarts);
}

static void write_guests(const struct runtime *runtime, struct dt_buf *buf)
{
    struct guests_count count = http_guests(runtime->http);

    head(buf, "dt_api_connections", "gauge", "Open connections to the API.");
    dt_buf_print(buf, "dt_api_connections %zu\n", count.open);
    head(buf, "dt_api_connections_closed_total", "counter",
         "Connections closed by us: beyond the limit, or too slow.");
    dt_buf_print(buf, "dt_api_connections_closed_total{reason=\"full\"} %llu\n",
                 (unsigned long long)count.full);
    dt_buf_print(buf, "dt_api_connections_closed_total{reason=\"late\"} %llu\n",
                 (unsigned long long)count.late);
}

static void write_nodes(const struct dt_core *core, struct dt_buf *buf)
{
    long counts[DT_NODE_STATE_COUNT] = {0}, total[2] = {0}, held[2] = {0};
    const struct dt_node *node;

    for (size_t i = 0; (node = dt_core_node_at(core, i)); i++) {
        counts[node->state]++;
        for (size_t j = 0; j < node->inventory.devices_count; j++) {
            int is_gpu = strcmp(node->inventory.devices[j].kind, "gpu") == 0;

            total[is_gpu]++;
            held[is_gpu] += node->inventory.devices[j].job != 0;
        }
    }
    head(buf, "dt_nodes", "gauge", "Nodes by state.");
    for (int state = 0; state < DT_NODE_STATE_COUNT; state++)
        dt_buf_print(buf, "dt_nodes{state=\"%s\"} %ld\n",
                     dt_node_state_name((enum dt_node_state)state), counts[state]);
    head(buf, "dt_gpus", "gauge", "GPUs by state.");
    dt_buf_print(buf, "dt_gpus{state=\"free\"} %ld\ndt_gpus{state=\"held\"} %ld\n",
                 total[1] - held[1], held[1]);
    head(buf, "dt_cpu_slots", "gauge", "CPU slots by state.");
    dt_buf_print(buf, "dt_cpu_slots{state=\"free\"} %ld\ndt_cpu_slots{state=\"held\"} %ld\n",
                 total[0] - held[0], held[0]);
}

void metrics_write(struct runtime *runtime, struct dt_buf *buf)
{
    head(buf, "dt_build_info", "gauge", "Version of this server.");
    dt_buf_print(buf, "dt_build_info{version=\"%s\"} 1\n", DT_VERSION);
    head(buf, "dt_leader", "gauge", "This controller holds the epoch.");
    dt_buf_print(buf, "dt_leader %d\n", runtime->is_serving);
    head(buf, "dt_store_up", "gauge", "Records can be stored.");
    dt_buf_print(buf, "dt_store_up %d\n", !runtime_is_degraded(runtime));
    head(buf, "dt_agents_connected", "gauge", "Agents with a session.");
    dt_buf_print(buf, "dt_agents_connected %zu\n", sessions_count(runtime->sessions));
    head(buf, "dt_submits_total", "counter", "Jobs accepted since the start.");
    dt_buf_print(buf, "dt_submits_total %llu\n", (unsigned long long)runtime->counters_submits);
    head(buf, "dt_refused_total", "counter", "Calls answered with a problem since the start.");
    dt_buf_print(buf, "dt_refused_total %llu\n", (unsigned long long)runtime->counters_refused);
    write_guests(runtime, buf);
    head(buf, "dt_records_sequence", "counter", "Sequence number of the newest record.");
    dt_buf_print(buf, "dt_records_sequence %llu\n",
                 (unsigned long long)dt_core_seq(runtime->core));
    write_jobs(runtime->core, buf);
    write_nodes(runtime->core, buf);
    head(buf, "process_resident_memory_bytes", "gauge", "Resident memory.");
    dt_buf_print(buf, "process_resident_memory_bytes %lld\n", (long long)dt_proc_rss_bytes());
}

void route_metrics(struct call *call)
{
    struct dt_buf buf = {0};

    metrics_write(call->runtime, &buf);
    call_text(call, 200, "text/plain; version=0.0.4", buf.data, buf.size);
    dt_buf_release(&buf);
}
