/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_MANY_H
#define SHM_MANY_H

/* Many connections over shm, from end a to end b. All of them except the first use a mux. */

#include "shm_dev.h"
#include "shm_qp.h"
#include "shm_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 300u

extern struct end a, b;
extern struct fabric_qp *qps[2][MANY]; /* the queue pairs of end a, and those of end b */
extern char many_addr[64];

struct shm_qp *qp_of(uint32_t side, uint32_t i);
struct shm_dev *dev_of(const struct end *end);
int many_setup(void **state);
int many_teardown(void **state);
void connect_next(uint32_t i);
/*
 * Makes connections until there are n, and waits until each connection that can use the mux uses
 * it.
 */
void connect_many(uint32_t n);
bool is_in_mux(uint32_t i);
void destroy(uint32_t i);
/* Sends a message on connection i from a to b without a completion, as calls are sent. */
void send_now_on(uint32_t i);
/*
 * Polls b once. Checks that one message arrived in that poll, and that it arrived on connection i.
 */
void expect_in_one_poll(uint32_t i);

#endif
