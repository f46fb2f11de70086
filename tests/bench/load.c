/* Load for dt-bench: many HTTP submits on kept connections, or many runs of one program. */
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define SAMPLES_MAX 2000000
#define CLIENTS_MAX 64

struct plan {
    const char *url, *socket_path, *token, *ca, *body;
    size_t body_size;
    double seconds;
    long requests_max;
    char **argv; /* program mode */
};

struct client {
    const struct plan *plan;
    int index;
    double *samples_ms; /* samples_count, owned */
    size_t samples_count;
    long failed;
    long last_status;
    pthread_t thread;
};

static double now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static size_t swallow(char *bytes, size_t size, size_t count, void *owner)
{
    (void)bytes;
    (void)owner;
    return size * count;
}

static void client_note(struct client *client, double begin_ms, int is_good)
{
    if (!is_good) {
        client->failed++;
        return;
    }
    if (client->samples_count < SAMPLES_MAX / CLIENTS_MAX)
        client->samples_ms[client->samples_count++] = now_ms() - begin_ms;
}

static CURL *client_handle(const struct plan *plan)
{
    CURL *curl = curl_easy_init();

    curl_easy_setopt(curl, CURLOPT_URL, plan->url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    if (plan->socket_path)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, plan->socket_path);
    if (plan->ca)
        curl_easy_setopt(curl, CURLOPT_CAINFO, plan->ca);
    if (plan->body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, plan->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)plan->body_size);
    }
    return curl;
}

static struct curl_slist *client_headers(const struct client *client, long number)
{
    struct curl_slist *list = NULL;
    char line[512];

    list = curl_slist_append(list, "Content-Type: application/json");
    list = curl_slist_append(list, "Expect:");
    snprintf(line, sizeof(line), "Idempotency-Key: %08x-%04x-4000-8000-%012lx",
             (unsigned)getpid(), (unsigned)client->index, (unsigned long)number);
    list = curl_slist_append(list, line);
    if (client->plan->token) {
        snprintf(line, sizeof(line), "Authorization: Bearer %s", client->plan->token);
        list = curl_slist_append(list, line);
    }
    return list;
}

static void *client_http(void *arg)
{
    struct client *client = arg;
    const struct plan *plan = client->plan;
    CURL *curl = client_handle(plan);
    double end_ms = now_ms() + plan->seconds * 1e3;

    for (long i = 0; now_ms() < end_ms && (!plan->requests_max || i < plan->requests_max); i++) {
        struct curl_slist *headers = client_headers(client, i);
        double begin_ms = now_ms();
        CURLcode done;

        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        done = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &client->last_status);
        client_note(client, begin_ms,
                    done == CURLE_OK && client->last_status / 100 == 2);
        curl_slist_free_all(headers);
    }
    curl_easy_cleanup(curl);
    return NULL;
}

static void *client_program(void *arg)
{
    struct client *client = arg;
    const struct plan *plan = client->plan;
    double end_ms = now_ms() + plan->seconds * 1e3;
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    for (long i = 0; now_ms() < end_ms && (!plan->requests_max || i < plan->requests_max); i++) {
        double begin_ms = now_ms();
        pid_t pid;
        int status = -1;

        if (posix_spawn(&pid, plan->argv[0], &actions, NULL, plan->argv, environ) == 0)
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        client_note(client, begin_ms, status == 0);
    }
    posix_spawn_file_actions_destroy(&actions);
    return NULL;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void report(struct client *clients, int count, double elapsed_ms)
{
    size_t total = 0, at = 0;
    long failed = 0;
    double *all;

    for (int i = 0; i < count; i++) {
        total += clients[i].samples_count;
        failed += clients[i].failed;
    }
    all = calloc(total + 1, sizeof(*all));
    for (int i = 0; i < count; i++) {
        memcpy(all + at, clients[i].samples_ms, clients[i].samples_count * sizeof(*all));
        at += clients[i].samples_count;
    }
    qsort(all, total, sizeof(*all), by_value);
    printf("{\"done\": %zu, \"failed\": %ld, \"last_status\": %ld, \"per_s\": %.1f, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
           total, failed, clients[0].last_status, (double)total / elapsed_ms * 1e3,
           total ? all[total / 2] : 0.0, total ? all[total * 99 / 100] : 0.0);
    free(all);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 20);

    if (!file || !bytes) {
        fprintf(stderr, "dt-bench-load: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    *size = fread(bytes, 1, (1 << 20) - 1, file);
    fclose(file);
    while (*size && bytes[*size - 1] == '\n' && bytes[0] != '{')
        bytes[--*size] = 0;
    return bytes;
}

int main(int argc, char **argv)
{
    struct plan plan = {.seconds = 2};
    struct client clients[CLIENTS_MAX] = {0};
    int count = 1, option;
    size_t size;
    double begin_ms;

    while ((option = getopt(argc, argv, "+u:s:t:a:b:c:d:n:")) != -1) {
        switch (option) {
        case 'u': plan.url = optarg; break;
        case 's': plan.socket_path = optarg; break;
        case 't': plan.token = read_file(optarg, &size); break;
        case 'a': plan.ca = optarg; break;
        case 'b': plan.body = read_file(optarg, &plan.body_size); break;
        case 'c': count = (int)strtol(optarg, NULL, 10); break;
        case 'd': plan.seconds = strtod(optarg, NULL); break;
        case 'n': plan.requests_max = strtol(optarg, NULL, 10); break;
        default: count = 0; break;
        }
    }
    plan.argv = argv + optind;
    if (count < 1 || count > CLIENTS_MAX || (!plan.url && !plan.argv[0])) {
        fputs("usage: dt-bench-load [-c clients] [-d seconds] [-n each] "
              "(-u url [-s socket] [-t token-file] [-a ca] [-b body-file] | program args...)\n",
              stderr);
        return 2;
    }
    curl_global_init(CURL_GLOBAL_ALL);
    begin_ms = now_ms();
    for (int i = 0; i < count; i++) {
        clients[i].plan = &plan;
        clients[i].index = i;
        clients[i].samples_ms = calloc(SAMPLES_MAX / CLIENTS_MAX, sizeof(double));
        pthread_create(&clients[i].thread, NULL, plan.url ? client_http : client_program,
                       &clients[i]);
    }
    for (int i = 0; i < count; i++)
        pthread_join(clients[i].thread, NULL);
    report(clients, count, now_ms() - begin_ms);
    return 0;
}
