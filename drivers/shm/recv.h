/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RECV_H
#define RECV_H

/* How messages get into their receives, from a queue pair's own ring or from a mux. */

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

struct shm_dev;
struct shm_mux;
struct shm_qp;

/* Messages of the own ring, up to 'max' completions. Returns how many. */
uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);
/* The same for a mux. Each message without a completion adds to the user's debt. */
uint32_t shm_recv_mux(struct shm_dev *dev, struct shm_mux *mux, struct fabric_wc *wcs,
		      uint32_t max);

/* Deliver messages to the user, one by one and at most 'max'. Returns how many. If they are fewer
 * than 'max', there is no further message, or it has to be taken by the functions above. */
uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max);
uint32_t shm_deliver_mux(struct shm_dev *dev, struct shm_mux *mux, uint32_t max);

/* Returns whether a message waits until a receive is posted, where receives are not shared. If it
 * has waited too long, the connection ends. */
bool shm_recv_is_awaited(struct shm_qp *qp);

#endif
