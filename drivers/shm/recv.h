/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RECV_H
#define RECV_H

/* Copies messages into their receives, from a queue pair's own ring or from a mux. */

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

struct shm_dev;
struct shm_mux;
struct shm_qp;

/* Takes messages of a queue pair's own ring, until none is left or 'max' completions are stored in
 * 'wcs'. Returns the number of completions. */
uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);
/* Does the same for the messages of a mux, and also stops after MUX_VAIN messages without a
 * completion. Each message without a completion adds to the user's debt. */
uint32_t shm_recv_mux(struct shm_dev *dev, struct shm_mux *mux, struct fabric_wc *wcs,
		      uint32_t max);

/* Deliver at most 'max' messages to the engine, one by one, and return their number. If it is less
 * than 'max', there is no further message, or shm_recv_ring() or shm_recv_mux() has to take the
 * next one. */
uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max);
uint32_t shm_deliver_mux(struct shm_dev *dev, struct shm_mux *mux, uint32_t max);

/* Returns whether a message waits until a receive is posted to the queue pair's own receives. If
 * the message has waited for too long, the connection ends, and the function returns false. It also
 * returns false if receives are shared. */
bool shm_recv_is_awaited(struct shm_qp *qp);

#endif
