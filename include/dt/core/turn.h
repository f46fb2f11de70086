/* Batches of decisions: stored before said. */
#ifndef DT_CORE_TURN_H
#define DT_CORE_TURN_H

#include "dt/core/store.h"

/* Gathers outcomes while a batch is being stored. Opaque. */
struct dt_turn;

/* Called for every effect whose records are durable, in order; the effect is borrowed. */
typedef void dt_turn_deliver(void *owner, struct dt_effect *effect);

/* A turn over core and store (both borrowed). The caller frees with dt_turn_free. */
struct dt_turn *dt_turn_make(struct dt_core *core, struct dt_store *store,
                             dt_turn_deliver *deliver, void *owner);
/* Free; effects not yet delivered are dropped. */
void dt_turn_free(struct dt_turn *turn);

/* Step the core and put its outcome into the open batch. Takes what the event says is moved. */
void dt_turn_event(struct dt_turn *turn, struct dt_event *event);

/* A read that shows present state: deliver DT_EFF_READ for request once all that is visible now
 * is durable (at once, from dt_turn_flush, when nothing is open). */
void dt_turn_read(struct dt_turn *turn, uint64_t request);

/* End of an event-loop turn: start a commit when none is under way and records are open; deliver
 * at once when there are only effects. */
void dt_turn_flush(struct dt_turn *turn);

/* The store's answer about the batch under way. DONE delivers its effects and starts the next;
 * RETRY keeps the batch (dt_turn_flush sends it again); UNKNOWN and REFUSED freeze the turn:
 * the shell re-reads the store's sequence number and calls again with DONE or RETRY, or exits. */
void dt_turn_committed(struct dt_turn *turn, enum dt_commit outcome);

/* A batch could not be stored yet, or its outcome is unknown. */
bool dt_turn_is_degraded(const struct dt_turn *turn);

#endif
