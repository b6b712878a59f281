/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that uses DPDK itself, as an application of SPDK does: it starts EAL and takes an
 * object from a pool of its own. Then it runs test/tree/embedder.c, which must not change the
 * object.
 */
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_mempool.h>

#define OBJECTS 63u
#define BYTES	64u

int embedder_main(void);

int main(void)
{
	char args[][16] = {"own_eal",	     "--no-huge", "--no-pci", "--no-shconf",
			   "--no-telemetry", "-m64",	  "--lcores", "0@0"};
	char *argv[RTE_DIM(args)], filled[BYTES];
	struct rte_mempool *pool;
	void *object;
	int rc;

	for (size_t i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	if (rte_eal_init(RTE_DIM(args), argv) < 0) {
		fputs("own_eal: EAL did not start\n", stderr);
		return 1;
	}
	pool = rte_mempool_create("own_eal", OBJECTS, BYTES, 0, 0, NULL, NULL, NULL, NULL, -1, 0);
	if (!pool || rte_mempool_get(pool, &object) != 0) {
		fputs("own_eal: there is no pool\n", stderr);
		return 1;
	}
	memset(filled, 0x5a, BYTES);
	memcpy(object, filled, BYTES);
	rc = embedder_main();
	if (memcmp(object, filled, BYTES) != 0) {
		fputs("own_eal: an object of the program was changed\n", stderr);
		return 1;
	}
	rte_mempool_put(pool, object);
	return rc;
}
