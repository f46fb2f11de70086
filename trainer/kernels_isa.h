/* Names of the kernels of the one instruction set this build is for (see CMakeLists.txt). */
#ifndef DT_TRAINER_KERNELS_ISA_H
#define DT_TRAINER_KERNELS_ISA_H

#include "kernels.h"

/* Attention of units (sequence, key-value head): the query heads of a group share a unit. */
void KERNELS_ATTENTION(const struct op_attention *op, struct slice units);

/* Its gradients: op.dqkv is overwritten, op.delta is work. */
void KERNELS_ATTENTION_BACK(const struct op_attention *op, struct slice units);

#endif
