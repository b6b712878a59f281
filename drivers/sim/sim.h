/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_H
#define SIM_H

/*
 * The simulated driver, as its tests see it: worlds, virtual time, and ways to do harm.
 *
 * A world holds devices and what happens between them. It has one thread and its own clock, which
 * moves only by sim_step() and sim_run_until(). All chance comes from its seed: the same seed and
 * the same calls give the same events at the same times, in one order, with the same keys and
 * addresses.
 *
 * A device opened with the option "world=N" lives in the world with sim_world_id() N. Without it,
 * it lives in a default world, made for the first such device and ended with the last; there each
 * poll is a step.
 */

#include <stdio.h>

#include "fabric.h"

struct sim_world;

/* A latency is drawn evenly from [min_ns, max_ns]. */
struct sim_latency {
	uint64_t min_ns;
	uint64_t max_ns;
};

struct sim_options {
	struct sim_latency start;      /* from the post until the device takes a work request up */
	struct sim_latency wire;       /* one way */
	struct sim_latency completion; /* from the work done until it can be polled */
	struct sim_latency
		cm; /* of a message of the connection manager; also until a break is noticed */
	uint64_t cm_timeout_ns; /* a request that nobody answers has failed then */
	uint64_t rnr_timer_ns;	/* between two tries at a receive queue found empty */
	uint32_t rnr_retry;	/* as in the driver contract; also an option of each device */
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_srq_wr;
	uint32_t max_msg_bytes;
	uint32_t max_rd_atomic;
	bool has_mw;
	bool has_send_inv;
	FILE *trace; /* one line an event; NULL: none */
};

void sim_options_init(struct sim_options *options); /* the defaults */

/* NULL options: the defaults. NULL when there is no memory or there are too many worlds. */
struct sim_world *sim_world_create(uint64_t seed, const struct sim_options *options);
/* Also frees what is left in it; sim_world_objects() tells beforehand. NULL is allowed. */
void sim_world_destroy(struct sim_world *world);
uint32_t sim_world_id(const struct sim_world *world);
/* Devices, and registrations, windows, listeners, requests and queue pairs in it that were not
 * ended. */
uint32_t sim_world_objects(const struct sim_world *world);

uint64_t sim_now(const struct sim_world *world);
/* When the next event is due; UINT64_MAX: there is none. */
uint64_t sim_next(struct sim_world *world);
/* Let the next event happen, at its time. false when nothing is left to happen. */
bool sim_step(struct sim_world *world);
/* Let all happen that is due until then; the time is 'until_ns' afterwards, unless it was later
 * before. */
void sim_run_until(struct sim_world *world, uint64_t until_ns);

/* A hash over all events so far, with their times. */
uint64_t sim_trace_hash(const struct sim_world *world);

/* Sources of a SEND or WRITE that changed between the post and the completion: each is a bug of the
 * user's, as the device may read them (again) until then. */
uint64_t sim_sources_changed(const struct sim_world *world);

/* READs that one queue pair had in flight, at most so far. */
uint32_t sim_reads_most(const struct sim_world *world);

/* The contract's short cuts, for those who put them into a table of ops of their own; sim's own has
 * none, so that what is sent over it can be seen to be posted. They succeed only when nothing is
 * outstanding in the send queue. */
bool sim_send_direct(struct fabric_qp *qp, const void *data, uint32_t len);
bool sim_write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
bool sim_read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);

/* Windows of the device that are bound over some of [base, base + len): who may still reach memory
 * that was lent. */
uint32_t sim_windows_over(const struct fabric_dev *dev, const void *base, uint64_t len);
/* All of the device's that are bound. */
uint32_t sim_windows_bound(const struct fabric_dev *dev);

/* The process that has the device dies: its connections, listeners and memory are gone, peers
 * notice after a while. Ops on the device do nothing from now on; what belongs to it is still to be
 * destroyed, and it closed. */
void sim_kill(struct sim_world *world, struct fabric_dev *dev);

#endif
