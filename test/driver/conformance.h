/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/*
 * The driver contract (lib/fabric/driver.h) as tests, written once for all drivers. A driver brings
 * a harness; each test opens two devices with it, and closes all at its end.
 */

#include "driver.h"

/* Where a driver falls short of the contract, and why that is borne. */
enum driver_shortfall {
	/* A Send completes when it is on its way: that it met no receive, or a short one, shows on
	 * the sending side only as the end of the connection. */
	DRIVER_SENDS_UNANSWERED = 1,
	/* Private data arrives at its full length, what was not sent as zeros: so InfiniBand's
	   messages are. */
	DRIVER_PRIVATE_DATA_PADDED = 2,
	/* That a message met no receive, only the sender is told. */
	DRIVER_RNR_AT_SENDER = 4,
	/* rxe has one code for a receive that is too short and for one that is not registered, and
	 * the peer of either gets one that says nothing. */
	DRIVER_RECV_ERRORS_VAGUE = 8,
	/* rxe answers a Send whose key it can't invalidate as if it had been one without, and
	 * invalidates the windows of other connections, too. */
	DRIVER_INVALIDATION_LAX = 16,
	/* rxe checks what comes through a window against the bounds of the window's region. */
	DRIVER_WINDOWS_UNBOUNDED = 32,
	/* 8 bits of a window's key change with each bind: the 257th key is the first one again. */
	DRIVER_WINDOW_KEYS_256 = 64,
	/*
	 * An access to memory of a side that exposes nothing does not fail: it waits for a region
	 * that never comes.
	 */
	DRIVER_UNEXPOSED_UNANSWERED = 128,
};

struct driver_harness {
	const char *name; /* of the group of tests, so that a failure can be had again */
	const struct fabric_ops *ops;
	/* Before each test: fill in 'options' and 'addr'. After it, with all closed: check what is
	 * left. */
	void (*start)(struct driver_harness *harness);
	void (*stop)(struct driver_harness *harness);
	/* Called after polls that found nothing ('idle' in a row): let something happen, or time
	 * pass. false when nothing more is to be expected. 'settling': the test waits for nothing,
	 * and looks that nothing comes. */
	bool (*progress)(struct driver_harness *harness, uint32_t idle, bool settling);
	uint32_t shortfalls;  /* enum driver_shortfall */
	bool shows;	      /* messages, half of those at least that it may show; false: none */
	bool has_credentials; /* the kernel names the peer's user, group and process */
	char options[64];
	char addr[FABRIC_ADDR_MAX];
	void *state;
};

/* Run all tests. The number that failed. */
int driver_conformance(struct driver_harness *harness);

#endif
