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

/* A latency is drawn from [min_ns, max_ns] with a uniform distribution. */
struct sim_latency {
	uint64_t min_ns;
	uint64_t max_ns;
};

struct sim_options {
	struct sim_latency start;      /* from the post of a work request until its start */
	struct sim_latency wire;       /* one way */
	struct sim_latency completion; /* from the end of the work to the completion */
	struct sim_latency cm;	       /* of a connection manager message; notice of a break */
	uint64_t cm_timeout_ns; /* a connection request fails without an answer after this time */
	uint64_t rnr_timer_ns;	/* between two attempts while the receive queue is empty */
	uint32_t rnr_retry;	/* as in the driver contract; also an option of each device */
	/* The attributes of each device. Options of the device replace two of them. */
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
 * Destroys a world and frees all objects that are left in it. sim_world_objects() returns their
 * number before. NULL is allowed.
 */
void sim_world_destroy(struct sim_world *world);
uint32_t sim_world_id(const struct sim_world *world);
/*
 * Returns the number of objects that exist in the world: devices, registrations, windows,
 * listeners, connection requests, queue pairs and shared receive queues.
 */
uint32_t sim_world_objects(const struct sim_world *world);

uint64_t sim_now(const struct sim_world *world);
/* Returns the time of the next event, or UINT64_MAX when there is none. */
uint64_t sim_next(struct sim_world *world);
/* Runs the next event, at its time. Returns false when there is none. */
bool sim_step(struct sim_world *world);
/*
 * Runs all events that are due until 'until_ns'. Afterwards the time is 'until_ns', unless it was
 * already later.
 */
void sim_run_until(struct sim_world *world, uint64_t until_ns);

/* Returns a hash over all events so far and their times. */
uint64_t sim_trace_hash(const struct sim_world *world);

/*
 * Returns how many sources of a SEND or WRITE changed between the post and the completion. Each is
 * a bug of the user, because the device may read a source more than once until the completion.
 */
uint64_t sim_sources_changed(const struct sim_world *world);

/* Returns the largest number of READs that one queue pair had in flight so far. */
uint32_t sim_reads_most(const struct sim_world *world);

/*
 * The direct operations of the driver contract, for a test that adds them to its own table of
 * operations. sim's own table has none of them, so that tests can observe each message as a posted
 * work request. They succeed only when nothing is outstanding in the send queue.
 */
bool sim_send_direct(struct fabric_qp *qp, const void *data, uint32_t len);
bool sim_write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);
bool sim_read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr);

/*
 * Returns the number of bound windows of the device that overlap [base, base + len). Peers can
 * still access this memory.
 */
uint32_t sim_windows_over(const struct fabric_dev *dev, const void *base, uint64_t len);
/* Returns the number of bound windows of the device. */
uint32_t sim_windows_bound(const struct fabric_dev *dev);

/*
 * Simulates the death of the process that has the device. Its connections, listeners and memory no
 * longer work, and peers notice this after a while. Operations on the device do nothing. The user
 * still destroys the objects of the device and closes the device.
 */
void sim_kill(struct sim_world *world, struct fabric_dev *dev);

#endif
