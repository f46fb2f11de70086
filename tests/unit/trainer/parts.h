/* Small models, data and runs for the trainer's tests. */
#ifndef DT_TESTS_TRAINER_PARTS_H
#define DT_TESTS_TRAINER_PARTS_H

#include "config.h"
#include "data.h"
#include "exec.h"
#include "train.h"

/* 2 layers, 16 wide, grouped heads for llama; byte vocabulary of 64 on noise. */
struct dt_model tiny_model(enum dt_arch arch);

/* A configuration for it: seq 10, these batches, 6 steps, a rate that matters. */
struct config tiny_config(enum dt_arch arch, int64_t micro_batch, int64_t global_batch);

/* Run ranks threads through body(arg, comm), each with its own communicator. */
void with_ranks(int ranks, void (*body)(void *arg, struct comm *comm), void *arg);

/* A new directory below the temporary directory, removed when the test ends; at most 8. */
const char *temporary_dir(void);

/* size bytes of text that has something to learn, written to dir/name; returns the path. */
const char *write_text(const char *dir, const char *name, int64_t size);

/* The loss_hex/digest of each step of dir/metrics.jsonl, newest generation, joined by blanks; the
 * caller frees. */
char *read_losses(const char *dir);

#endif
