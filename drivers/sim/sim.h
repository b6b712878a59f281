/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_H
#define SIM_H

/*
 * The interface of the simulated driver for tests: worlds, virtual time, and ways to cause
 * failures.
 *
 * A world holds devices and all that happens between them. A world has one thread and its own
 * clock, which advances only in sim_step() and sim_run_until(). All random choices come from the
 * seed of the world. The same seed and the same calls give the same events at the same times, in
 * the same order, with the same keys and addresses.
 *
 * A device that is opened with the option "world=N" belongs to the world whose sim_world_id() is N.
 * Without the option the device belongs to a default world. The default world is created for the
 * first such device and is destroyed with the last one. Each poll that would find nothing advances
 * the default world by one step.
 */

#include <stdio.h>

#include "fabric.h"

struct sim_world;

/* The limits of a random latency. It is uniformly distributed in [min_ns, max_ns]. */
struct sim_latency {
	uint64_t min_ns;
	uint64_t max_ns;
};

struct sim_options {
	struct sim_latency start;      /* from the post of a work request until its start */
	struct sim_latency wire;       /* of a message, in one direction */
	struct sim_latency completion; /* from the end of the operation to its completion */
	/* of a message of the connection manager, also of the notice of an end */
	struct sim_latency cm;
	uint64_t cm_timeout_ns; /* a connection request fails without an answer after this time */
	/* time between two attempts of a Send while no receive is posted */
	uint64_t rnr_timer_ns;
	uint32_t
		rnr_retry; /* number of such attempts, 7: no limit; a device's option replaces it */
	/* The attributes of each device. The device's options can replace max_inline and
	 * max_rd_atomic. */
	struct fabric_dev_attr attr;
	FILE *trace; /* gets one line for each event; NULL: no trace */
};

void sim_options_init(struct sim_options *options); /* sets the defaults */

/*
 * Creates a world. If 'options' is NULL, the defaults apply. Returns NULL in these cases:
 * - There is no memory.
 * - There are too many worlds.
 * - An option is invalid.
 */
struct sim_world *sim_world_create(uint64_t seed, const struct sim_options *options);
/*
 * Destroys a world, and frees all objects that are left in it. Before the call, sim_world_objects()
 * returns their number. NULL is allowed.
 */
void sim_world_destroy(struct sim_world *world);
uint32_t sim_world_id(const struct sim_world *world);
/*
 * Returns the number of objects that exist in the world: devices, registrations, windows,
 * listeners, connection requests, queue pairs and shared receive queues.
 */
uint32_t sim_world_objects(const struct sim_world *world);

uint64_t sim_now(const struct sim_world *world);
/* Returns the time of the next event in ns, or UINT64_MAX if there is no event. */
uint64_t sim_next(struct sim_world *world);
/* Advances the clock to the time of the next event, and runs the event. Returns false if there is
 * no event. */
bool sim_step(struct sim_world *world);
/*
 * Runs all events whose time is at most 'until_ns'. Afterwards the time is 'until_ns', unless it
 * was later before.
 */
void sim_run_until(struct sim_world *world, uint64_t until_ns);

/* Returns a hash over all events so far and their times. */
uint64_t sim_trace_hash(const struct sim_world *world);

/*
 * Returns how many times the source memory of a Send or WRITE changed between the post and the
 * completion. If there was no completion, the end of the queue pair counts instead. Each time is a
 * bug of the user, because until then a device is allowed to read a source more than once.
 */
uint64_t sim_sources_changed(const struct sim_world *world);

/* Returns the largest number of READs that one queue pair had in flight so far. */
uint32_t sim_reads_most(const struct sim_world *world);

/*
 * The direct operations of the driver contract, for a test that adds them to its own table of
 * operations. The driver's own table has none of them, so that tests can observe each message as a
 * posted work request. They return false if a work request is outstanding in the send queue, or the
 * operation is not possible.
 */
bool sim_send_direct(struct fabric_qp *qp, const void *data, uint32_t len);
bool sim_write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
bool sim_read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);

/*
 * Returns the number of bound windows of the device that overlap [base, base + len). If it is not
 * 0, peers can still access this memory.
 */
uint32_t sim_windows_over(const struct fabric_dev *dev, const void *base, uint64_t len);
/* Returns the number of bound windows of the device. */
uint32_t sim_windows_bound(const struct fabric_dev *dev);

/*
 * Simulates the death of the process that has the device. After that, its connections, listeners
 * and memory do not work, and peers notice this after a random time. Operations on the device do
 * nothing. The user must still destroy the objects of the device and close the device.
 */
void sim_kill(struct sim_world *world, struct fabric_dev *dev);

#endif
