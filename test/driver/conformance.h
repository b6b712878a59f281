/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/*
 * Tests of the driver contract (lib/fabric/driver.h), written once for all drivers. A driver
 * provides a harness. Each test opens two devices with this harness, and closes both at its end.
 */

#include "driver.h"

/* Ways in which a driver does not fulfil the contract, each with the reason why it is accepted. */
enum driver_shortfall {
	/*
	 * A Send completes when it was sent. If the peer has no receive for it, or too short a
	 * receive, the sending side only gets the end of the connection.
	 */
	DRIVER_SENDS_UNANSWERED = 1,
	/*
	 * Private data always arrives with the maximum length, padded with zeros, as in messages of
	 * InfiniBand.
	 */
	DRIVER_PRIVATE_DATA_PADDED = 2,
	/* If a message arrives without a receive, only the sending side is notified. */
	DRIVER_RNR_AT_SENDER = 4,
	/*
	 * rxe reports a receive that is too short and a receive in unregistered memory with the
	 * same status. The peer gets a status that names neither cause.
	 */
	DRIVER_RECV_ERRORS_VAGUE = 8,
	/*
	 * If rxe cannot invalidate the key that a Send names, it delivers the message as if the
	 * Send named no key. rxe also invalidates windows that belong to other connections.
	 */
	DRIVER_INVALIDATION_LAX = 16,
	/*
	 * rxe does not check an access through a window against the bounds of the window, but
	 * against those of its region.
	 */
	DRIVER_WINDOWS_UNBOUNDED = 32,
	/*
	 * Each bind changes only 8 bits of a window's key, so that the 257th key equals the first
	 * key.
	 */
	DRIVER_WINDOW_KEYS_256 = 64,
	/*
	 * An access to a side that exposes nothing does not fail. It waits for a region that the
	 * side never provides.
	 */
	DRIVER_UNEXPOSED_UNANSWERED = 128,
};

struct driver_harness {
	/* name of the group of tests; it contains what is needed to repeat a failure */
	const char *name;
	const struct fabric_ops *ops;
	/*
	 * 'start' is called before each test and sets 'options' and 'addr'. 'stop' is called after
	 * the test, when all objects are closed, and checks that nothing is left.
	 */
	void (*start)(struct driver_harness *harness);
	void (*stop)(struct driver_harness *harness);
	/*
	 * Called after each poll that found nothing. 'idle' is the number of such polls in a row.
	 * Advances the simulation or the time. Returns false if nothing more will happen.
	 * 'settling' is set when the test waits for no certain event, and only checks that nothing
	 * happens.
	 */
	bool (*progress)(struct driver_harness *harness, uint32_t idle, bool settling);
	uint32_t shortfalls; /* bits of enum driver_shortfall */
	/*
	 * True if the driver delivers messages by upcall. It must then deliver at least half of the
	 * messages for which the contract allows that. If false, it must deliver none.
	 */
	bool shows;
	bool has_credentials; /* the kernel reports user, group and process of the peer */
	char options[64];
	char addr[FABRIC_ADDR_MAX];
	void *state;
};

/*
 * Runs all tests of the contract with the driver of 'harness'. Returns the number of failed tests.
 */
int driver_conformance(struct driver_harness *harness);

#endif
