/* Preloaded: the wall clock of the programs named in CLOCK_SHIFT="name=seconds ..." is off. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/* Seconds that this program's clock is ahead; looked up once. */
static long shift(void)
{
    static int is_known;
    static long seconds;
    const char *at = is_known ? NULL : getenv("CLOCK_SHIFT");
    size_t size = strlen(program_invocation_short_name);

    is_known = 1;
    while (at && *at) {
        if (strncmp(at, program_invocation_short_name, size) == 0 && at[size] == '=')
            seconds = strtol(at + size + 1, NULL, 10);
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return seconds;
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    static int (*real)(clockid_t, struct timespec *);
    int result;

    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "clock_gettime");

        memcpy(&real, &symbol, sizeof(symbol));
    }
    result = real(id, at);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *at, void *zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
