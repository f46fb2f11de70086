/* Names of the kernels of the one instruction set this build is for (see CMakeLists.txt). */
#ifndef DT_TRAINER_KERNELS_ISA_H
#define DT_TRAINER_KERNELS_ISA_H

#include "kernels.h"

/* Attention of units (sequence, key-value head): the query heads of a group share a unit. */
void KERNELS_ATTENTION(const struct op_attention *op, struct slice units);

/* Its gradients: op.dqkv is overwritten, op.delta is work. */
void KERNELS_ATTENTION_BACK(const struct op_attention *op, struct slice units);

/* AdamW on a run of elements. */
void KERNELS_ADAMW(const struct op_adamw *op, struct slice elements);

/* Into exact sums; false when a value was over the limit. */
bool KERNELS_FOLD(const struct op_fold *op, struct slice elements);

/* Out of exact sums. */
void KERNELS_UNFOLD(const struct op_fold *op, struct slice elements);

/* The part of the digest that these elements of x give (op.h). */
uint64_t KERNELS_DIGEST(const float *x, struct slice elements);

#endif
