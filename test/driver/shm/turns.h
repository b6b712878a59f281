/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURNS_H
#define TURNS_H

/*
 * Connections over shm of several users, which all belong to one process. The driver asks a wrapped
 * function for the user of a connection. The tests count what each user is given.
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
#define COPIES 64u			/* for a message */
#define FULL   (POLLS * SHM_TURN_SHARE) /* the most messages that a user can have */
#define EARLY  (8 * WCS)		/* more polls, until all connections are polled */
#define USERS  2u
#define GREEDY 0u
#define MODEST 1u

extern struct end b;
extern struct raw raws[RAWS];
extern struct fabric_qp *qps[RAWS];
extern uint32_t nraws, nsenders; /* number of peers; the first 'nsenders' of 'raws' send */
extern uint32_t next_user;	 /* the user of the next connection */

/* The messages and bytes that each user was given. */
extern uint64_t messages[USERS], bytes[USERS], by_connection[RAWS];
extern uint64_t nsent; /* messages sent by muxes */
/* The user whose messages each have the region read, or -1. */
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
/* Provides the peer's region, so that it can be read without a wait. */
void give_region(struct raw *raw);
void read_region(uint32_t i);

/* Sends as much as there is room for from the first 'nsenders' peers, which are all peers unless a
 * test sets fewer. */
void send_all(void);
/* Polls once. Returns the number of messages. */
uint32_t poll_once(void);
/* Polls so many times. The peers send before each poll. */
void poll_full(uint32_t n);
/* Polls until there is a message. Returns the number of polls. */
uint32_t polls_to_message(void);

#endif
