/* Processes, clocks and identity of this machine. */
#ifndef DT_OS_PROC_H
#define DT_OS_PROC_H

#include <sys/types.h>

#include "dt/base/err.h"

/* CLOCK_BOOTTIME in ms: never goes backwards, counts suspend. */
int64_t dt_clock_ms(void);
/* The same in microseconds. */
int64_t dt_clock_us(void);
/* Wall clock, ms since 1970 UTC. Shown and stored, never used in a decision. */
int64_t dt_wall_ms(void);

/* The kernel's boot id, 36 characters. */
DT_MUST_USE enum dt_code dt_boot_id(char *text, size_t size, struct dt_err *err);

/* Fill size bytes from the kernel's random source. Aborts when there is none. */
void dt_random(void *bytes, size_t size);
/* A random UUID (version 4), 37 bytes with NUL. */
void dt_random_uuid(char text[37]);

/* What a new process gets. */
struct dt_spawn {
    const char *path;        /* absolute program */
    char *const *argv;       /* NULL-terminated */
    char *const *env;        /* NULL-terminated; NULL = this process' own */
    const char *workdir;     /* NULL = this process' own */
    int fd_in, fd_out, fd_err; /* -1 = /dev/null */
    const int *fds_kept;     /* further descriptors kept open, count fds_kept_count */
    size_t fds_kept_count;
    bool is_session;         /* setsid */
    bool dies_with_parent;   /* PR_SET_PDEATHSIG KILL; fork from the main thread only */
};

/* Fork and exec; every other descriptor is closed. pidfd may be NULL. The child's failure to
 * exec is reported here: DT_NOT_FOUND or DT_IO with errno's text. */
DT_MUST_USE enum dt_code dt_proc_spawn(const struct dt_spawn *spawn, pid_t *pid, int *pidfd,
                                       struct dt_err *err);

/* Directory of the running program's file, without trailing slash. */
DT_MUST_USE enum dt_code dt_program_dir(char *text, size_t size, struct dt_err *err);

/* Resident set of this process in bytes; 0 when unknown. */
int64_t dt_proc_rss_bytes(void);

#endif
