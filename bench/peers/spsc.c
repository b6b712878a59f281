/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-peer-spsc: measures a plain ring between two processes, with one writer and one reader. The
 * ring is DPDK's ring with elements of 64 bytes. At first the program makes round trips through two
 * rings, one at a time. Then it sends messages in one direction, in bursts.
 */
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "histogram.h"
#include "peer.h"

#define ELEMENT 64u
#define ROOM	1024u
#define BURST	32u
#define WARMUP	1000u

struct element {
	uint64_t words[ELEMENT / 8];
};

static unsigned long rounds = 1000000;
static long cores[2] = {-1,
			/*
			 * -1: the process is not pinned; both processes can then be on one core, so
			 * they yield
			 */
			-1};

static void wait_a_little(void)
{
	if (cores[0] < 0)
		sched_yield();
}

static struct rte_ring *make_ring(void)
{
	ssize_t bytes = rte_ring_get_memsize_elem(ELEMENT, ROOM);
	struct rte_ring *ring = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED ||
	    rte_ring_init(ring, "spsc", ROOM, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		fprintf(stderr, "weir-peer-spsc: can't create a ring\n");
		exit(1);
	}
	return ring;
}

static void put(struct rte_ring *ring, const struct element *element)
{
	while (rte_ring_sp_enqueue_bulk_elem(ring, element, ELEMENT, 1, NULL) == 0)
		wait_a_little();
}

static void take(struct rte_ring *ring, struct element *element)
{
	while (rte_ring_sc_dequeue_bulk_elem(ring, element, ELEMENT, 1, NULL) == 0)
		wait_a_little();
}

/*
 * Runs in the other process. It answers the round trips, then receives the bursts, and sends one
 * message when it has received all of them.
 */
static void answer(struct rte_ring *there, struct rte_ring *back)
{
	struct element elements[BURST];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	peer_pin(cores[1]);
	for (unsigned long i = 0; i < rounds + WARMUP; i++) {
		take(there, elements);
		put(back, elements);
	}
	for (unsigned long taken = 0; taken < rounds;) {
		unsigned n = rte_ring_sc_dequeue_burst_elem(there, elements, ELEMENT, BURST, NULL);

		taken += n;
		if (n == 0)
			wait_a_little();
	}
	put(back, elements);
	_exit(0);
}

static void measure(struct rte_ring *there, struct rte_ring *back)
{
	struct element elements[BURST] = {0};
	static struct weir_histogram hist;
	uint64_t begin;

	peer_pin(cores[0]);
	histogram_init(&hist);
	for (unsigned long i = 0; i < rounds + WARMUP; i++) {
		begin = peer_now_ns();
		elements[0].words[0] = i;
		put(there, elements);
		take(back, elements);
		if (elements[0].words[0] != i) {
			fprintf(stderr, "weir-peer-spsc: received other data than were sent\n");
			exit(1);
		}
		if (i >= WARMUP)
			histogram_add(&hist, peer_now_ns() - begin);
	}
	begin = peer_now_ns();
	for (unsigned long sent = 0; sent < rounds;) {
		unsigned n = rounds - sent < BURST ? (unsigned)(rounds - sent) : BURST;

		n = rte_ring_sp_enqueue_burst_elem(there, elements, ELEMENT, n, NULL);
		sent += n;
		if (n == 0)
			wait_a_little();
	}
	take(back, elements);
	printf("{\"rounds\": %lu, \"p50_ns\": %llu, \"messages_per_s\": %.1f}\n", rounds,
	       (unsigned long long)histogram_quantile(&hist, 0.5),
	       (double)rounds * 1e9 / (double)(peer_now_ns() - begin));
}

static int usage(int status)
{
	fputs("Usage: weir-peer-spsc [--iters N] [--cores A,B]\n"
	      "Sends messages of 64 bytes through a ring of DPDK, and prints JSON. Defaults: "
	      "1000000, not pinned.\n",
	      status ? stderr : stdout);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"iters", required_argument, NULL, 'n'},
					      {"cores", required_argument, NULL, 'c'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct rte_ring *there, *back;
	pid_t child;
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == 'h')
			return usage(0);
		if (opt == 'n')
			rounds = strtoul(optarg, NULL, 10);
		else if (opt != 'c' || sscanf(optarg, "%ld,%ld", &cores[0], &cores[1]) != 2 ||
			 cores[0] >= CPU_SETSIZE || cores[1] >= CPU_SETSIZE)
			return usage(2);
	}
	if (rounds == 0 || optind < argc)
		return usage(2);
	there = make_ring();
	back = make_ring();
	child = fork();
	if (child < 0) {
		perror("weir-peer-spsc");
		return 1;
	}
	if (child == 0)
		answer(there, back);
	measure(there, back);
	waitpid(child, NULL, 0);
	return 0;
}
