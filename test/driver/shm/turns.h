/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TURNS_H
#define TURNS_H

/*
 * Connections over shm of several users, which are all of one process: the driver takes the user of
 * a connection from a function that is wrapped. What each user is given is counted.
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
#define FULL   (POLLS * SHM_TURN_SHARE) /* messages that a user can have */
#define EARLY  (8 * WCS)		/* more, until all are polled */
#define USERS  2u
#define GREEDY 0u
#define MODEST 1u

extern struct end b;
extern struct raw raws[RAWS];
extern struct fabric_qp *qps[RAWS];
extern uint32_t nraws, nsenders; /* the first of 'raws' send */
extern uint32_t next_user;	 /* whose connection comes next */

/* What the users were given. */
extern uint64_t messages[USERS], bytes[USERS], by_connection[RAWS];
extern uint64_t nsent; /* messages by muxes */
/* Each message of this user has the region read; else -1. */
extern int reader;
extern uint32_t nreads, read_bytes;

int setup(void **state);
int teardown(void **state);
const struct shm_dev *dev(void);
/* The queue pair of the latest connection. */
struct shm_qp *latest_qp(void);

struct raw *pair(uint32_t user, bool has_mux);
void pair_with_mux(uint32_t user);
/* The latest connection ends. */
void unpair(void);
/* The peer's region is there to be read, without a wait. */
void give_region(struct raw *raw);
void read_region(uint32_t i);

/* The first of them, which is all unless a test says otherwise, send as much as there is room for.
 */
void send_all(void);
/* One poll: how many messages it gave. */
uint32_t poll_once(void);
/* So many, before each of which they send. */
void poll_full(uint32_t n);
/* Polls until there is a message. */
uint32_t polls_to_message(void);

#endif
