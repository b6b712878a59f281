/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/*
 * The driver contract (lib/fabric/driver.h) as tests, written once for all drivers. A driver brings a harness; each
 * test opens two devices with it, and closes all at its end.
 */

#include "driver.h"

/* Where a driver falls short of the contract, and why that is borne. */
enum driver_shortfall {
	/* A Send completes when it is on its way: that it met no receive, or a short one, shows on the sending side
	 * only as the end of the connection. */
	DRIVER_SENDS_UNANSWERED = 1,
};

struct driver_harness {
	const char *name; /* of the group of tests, so that a failure can be had again */
	const struct fabric_ops *ops;
	/* Before each test: fill in 'options' and 'addr'. After it, with all closed: check what is left. */
	void (*start)(struct driver_harness *harness);
	void (*stop)(struct driver_harness *harness);
	/* Called after polls that found nothing ('idle' in a row): let something happen, or time pass. false when
	 * nothing more is to be expected. 'settling': the test waits for nothing, and looks that nothing comes. */
	bool (*progress)(struct driver_harness *harness, uint32_t idle, bool settling);
	uint32_t shortfalls; /* enum driver_shortfall */
	char options[64];
	char addr[FABRIC_ADDR_MAX];
	void *state;
};

/* Run all tests. The number that failed. */
int driver_conformance(struct driver_harness *harness);

#endif
