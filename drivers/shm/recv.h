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

/* Takes messages of the own ring, up to 'max' completions. Returns the number of completions. */
uint32_t shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);
/* Does the same for a mux. Each message without a completion adds to the user's debt. */
uint32_t shm_recv_mux(struct shm_dev *dev, struct shm_mux *mux, struct fabric_wc *wcs,
		      uint32_t max);

/* Delivers messages to the user, one by one and at most 'max'. Returns their number. If it is less
 * than 'max', there is no further message, or the functions above have to take it. */
uint32_t shm_deliver_ring(struct shm_qp *qp, uint32_t max);
uint32_t shm_deliver_mux(struct shm_dev *dev, struct shm_mux *mux, uint32_t max);

/* Returns whether a message waits until a receive is posted, if receives are not shared. If the
 * message has waited too long, the connection ends. */
bool shm_recv_is_awaited(struct shm_qp *qp);

#endif
