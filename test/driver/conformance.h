/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/*
 * The driver contract (lib/fabric/driver.h) as tests, written once for all drivers. A driver
 * provides a harness. Each test opens two devices with it, and closes everything at its end.
 */

#include "driver.h"

/* Ways in which a driver does not fulfil the contract, and why that is accepted. */
enum driver_shortfall {
	/* A Send completes when it was sent. If it meets no receive or a short one, the sending
	 * side only sees the end of the connection. */
	DRIVER_SENDS_UNANSWERED = 1,
	/* Private data always arrives at its full length, padded with zeros, as in InfiniBand's
	 * messages. */
	DRIVER_PRIVATE_DATA_PADDED = 2,
	/* Only the sender sees that a message met no receive. */
	DRIVER_RNR_AT_SENDER = 4,
	/* rxe has the same code for a receive that is too short and for one that is not registered,
	 * and the peer gets a code that names neither. */
	DRIVER_RECV_ERRORS_VAGUE = 8,
	/* If rxe cannot invalidate the key of a Send, it treats the Send as one without a key. It
	 * also invalidates the windows of other connections. */
	DRIVER_INVALIDATION_LAX = 16,
	/* rxe checks an access through a window against the bounds of the window's region. */
	DRIVER_WINDOWS_UNBOUNDED = 32,
	/* 8 bits of a window's key change with each bind, so that the 257th key equals the first
	 * one. */
	DRIVER_WINDOW_KEYS_256 = 64,
	/*
	 * An access to memory of a side that exposes nothing does not fail. It waits for a region
	 * that is never provided.
	 */
	DRIVER_UNEXPOSED_UNANSWERED = 128,
};

struct driver_harness {
	const char *name; /* of the group of tests, so that a failure can be repeated */
	const struct fabric_ops *ops;
	/* 'start' is called before each test and fills in 'options' and 'addr'. 'stop' is called
	 * after it, when all is closed, and checks what is left. */
	void (*start)(struct driver_harness *harness);
	void (*stop)(struct driver_harness *harness);
	/* Called after polls that found nothing ('idle' in a row). Lets something happen, or lets
	 * time pass. Returns false if nothing more is expected. With 'settling' the test waits for
	 * nothing, and checks that nothing happens. */
	bool (*progress)(struct driver_harness *harness, uint32_t idle, bool settling);
	uint32_t shortfalls; /* enum driver_shortfall */
	/* delivers messages: at least half of those that it may deliver; false: none */
	bool shows;
	bool has_credentials; /* the kernel reports the peer's user, group and process */
	char options[64];
	char addr[FABRIC_ADDR_MAX];
	void *state;
};

/* Runs all tests. Returns the number of failed tests. */
int driver_conformance(struct driver_harness *harness);

#endif
