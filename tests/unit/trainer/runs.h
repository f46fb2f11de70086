/* Whole training runs in processes of their own, for tests that kill, harm and resume them. */
#ifndef DT_TESTS_TRAINER_RUNS_H
#define DT_TESTS_TRAINER_RUNS_H

#include "parts.h"

/* One directory with a text and a run's settings. */
struct place {
    char dir[256];
    char text[512];
    struct config config;
    int ranks;
    const char *resume_from; /* as the launcher says it, or NULL */
    void (*in_child)(void); /* called in the process of a run before it begins; or NULL */
};

/* A tiny model on 3000 bytes of text, 20 steps of 4, saved at every 4th. The caller closes. */
void place_open(struct place *place);

/* Remove everything. */
void place_close(struct place *place);

/* Run below place.dir/sub in a child, whose log is place.dir/sub.log; killed after kill_us unless
 * 0. Returns the exit status, -signal when killed. */
int run_for(const struct place *place, const char *sub, long kill_us);

/* The same without a kill. */
int run(const struct place *place, const char *sub);

/* The losses and digests of the run's steps; the caller frees. */
char *losses(const struct place *place, const char *sub);

/* Both runs must have the same losses and digests in every step. */
void check_same_losses(const struct place *place, const char *left, const char *right);

#endif
