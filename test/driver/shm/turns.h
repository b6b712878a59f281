/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURNS_H
#define TURNS_H

/*
 * Connections over shm of several users for tests of how polls are divided. All of them belong to
 * one process. The driver calls a wrapped function to get the user of a connection. The tests count
 * the messages and bytes that each user gets.
 */
#include "shm_raw.h"

#include <unistd.h>

#include "eal.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define RAWS   24u
#define MSG    64u
#define WCS    64u
#define POLLS  2000u
#define ROUNDS 20u
#define KEY    (5u << KEY_INDEX_BITS | 9)
#define COPIES 64u			/* Reads that a message causes */
#define FULL   (POLLS * SHM_TURN_SHARE) /* the largest number of messages that a user can get */
/* number of additional polls, until all connections are polled */
#define EARLY  (8 * WCS)
#define USERS  2u
#define GREEDY 0u
#define MODEST 1u

extern struct end b;
extern struct raw raws[RAWS];
extern struct fabric_qp *qps[RAWS];
extern uint32_t nraws, nsenders; /* number of peers; the first 'nsenders' of 'raws' send */
extern uint32_t next_user;	 /* the user of the next connection */

/*
 * The numbers of messages and bytes that each user got, and of messages that each connection got.
 */
extern uint64_t messages[USERS], bytes[USERS], by_connection[RAWS];
extern uint64_t nsent; /* number of messages that were sent through muxes */
/*
 * Each message of the user 'reader' causes 'nreads' Reads of 'read_bytes' bytes of the peer's
 * region. With -1, no message does.
 */
extern int reader;
extern uint32_t nreads, read_bytes;

int setup(void **state);
int teardown(void **state);
const struct shm_dev *dev(void);
/* Returns the queue pair of the latest connection. */
struct shm_qp *latest_qp(void);

struct raw *pair(uint32_t user, bool has_mux);
void pair_with_mux(uint32_t user);
/* Ends the latest connection. */
void unpair(void);
/* Makes the driver fetch the peer's region, so that it can be read without a wait. */
void give_region(struct raw *raw);
void read_region(uint32_t i);

/*
 * Sends as many messages as there is space for, from the first 'nsenders' peers. These are all
 * peers unless a test sets fewer.
 */
void send_all(void);
/* Polls once. Returns the number of messages that arrived. */
uint32_t poll_once(void);
/* Polls n times. The peers send before each poll. */
void poll_full(uint32_t n);
/* Polls until a message arrives. Returns the number of polls. */
uint32_t polls_to_message(void);

#endif
