/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-shm: measures the shm driver alone, between two processes on two cores. A round trip
 * is two Sends: one of the length of a small call, and one of the length of its reply. Round trips
 * are first made one at a time, and then --depth at a time. With --connections, all connections
 * except one are idle, which measures the cost of idle connections.
 */
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../measure/clock.h"
#include "histogram.h"
#include "driver.h"
#include "eal.h"

#define BURST	   32u
#define SLOTS	   512u /* number of buffers for receives, and of buffers for sends */
#define SLOT_BYTES 4096u
/* Every 16th Send is signaled; its completion frees the entries of all Sends up to it. */
#define SIGNAL 16u
#define WAIT_S 10u

struct options {
	/* 'bytes': length of the request and of the reply */
	unsigned long cores[2], depth, connections, bytes[2];
	double seconds;
	bool json;
};

/* The state of one of the two processes. */
struct side {
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_qp **qps;
	uint8_t *mem; /* SLOTS buffers for receives, and then SLOTS buffers for sends */
	struct fabric_mr mr;
	uint32_t len;  /* length of this side's messages */
	uint32_t sent; /* number of messages sent */
	struct bench_clock clock;
};

static void die(const char *what)
{
	fprintf(stderr, "weir-micro-shm: %s\n", what);
	exit(1);
}

static void side_open(struct side *side, const struct options *options, uint32_t which)
{
	const struct fabric_dev_config config = {.max_connections = (uint32_t)options->connections,
						 .max_regions = 1,
						 .numa_node = -1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(options->cores[which], &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("can't run on that core");
	bench_clock_init(&side->clock);
	side->len = (uint32_t)options->bytes[which];
	side->ops = fabric_driver_find("shm");
	side->mem = aligned_alloc(4096, 2 * SLOTS * SLOT_BYTES);
	side->qps = calloc(options->connections, sizeof(side->qps[0]));
	if (!side->mem || !side->qps || side->ops->open(&config, &side->dev) != 0)
		die("no memory");
	memset(side->mem, 1, 2 * SLOTS * SLOT_BYTES);
	if (side->ops->mr_register(side->dev, side->mem, 2 * SLOTS * SLOT_BYTES, FABRIC_LOCAL_WRITE,
				   -1, 0, &side->mr) != 0)
		die("can't register the memory");
}

static struct fabric_cm_event next_event(struct side *side, enum fabric_cm_kind kind)
{
	uint64_t until = bench_clock_ns(&side->clock) + WAIT_S * 1000000000u;
	struct fabric_cm_event event;

	while (side->ops->cm_poll(side->dev, &event, 1) == 0)
		if (bench_clock_ns(&side->clock) > until)
			die("the other process does not answer");
	if (event.kind != kind)
		die("the connection failed");
	return event;
}

static struct fabric_qp_attr qp_attr(struct fabric_qp **ctx)
{
	return (struct fabric_qp_attr){.exposes = true,
				       .max_send_wr = SLOTS,
				       .max_recv_wr = SLOTS,
				       .max_sge = 1,
				       .max_inline = 256,
				       .max_msg_bytes = SLOT_BYTES,
				       .ctx = ctx};
}

static void post_recv(struct side *side, struct fabric_qp *qp, uint32_t slot)
{
	const struct fabric_recv_wr wr = {slot, side->mem + slot * SLOT_BYTES, SLOT_BYTES,
					  side->mr.lkey};

	if (side->ops->post_recv(qp, &wr, 1) != 1)
		die("the driver did not accept a receive");
}

static void post_sends(struct side *side, struct fabric_qp *qp, uint32_t n)
{
	struct fabric_sge sges[BURST];
	struct fabric_wr wrs[BURST];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = SLOTS + side->sent++ % SLOTS;

		sges[i] = (struct fabric_sge){side->mem + slot * SLOT_BYTES, side->len,
					      side->mr.lkey};
		wrs[i] = (struct fabric_wr){.op = FABRIC_SEND,
					    .flags = side->sent % SIGNAL == 0 ? FABRIC_SIGNALED : 0,
					    .sge = &sges[i],
					    .nsge = 1};
	}
	if (side->ops->post_send(qp, wrs, n) != n)
		die("the driver did not accept a Send");
}

/*
 * Polls once, and posts the buffers of received messages again. Returns the number of received
 * messages, or 0 if the connection has ended.
 */
static uint32_t poll_messages(struct side *side, struct fabric_qp *qp)
{
	struct fabric_wc wcs[BURST];
	uint32_t n = side->ops->poll(side->dev, wcs, BURST), got = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (wcs[i].status == FABRIC_ERR_FLUSHED)
			return 0;
		if (wcs[i].status != FABRIC_OK)
			die("a request failed");
		if (wcs[i].op != FABRIC_RECV)
			continue;
		post_recv(side, qp, (uint32_t)wcs[i].wr_id);
		got++;
	}
	return got;
}

static void respond(const struct options *options, const char *addr)
{
	static struct side side;
	struct fabric_listener *listener;
	struct fabric_cm_event event;
	uint32_t idle = 0;

	side_open(&side, options, 1);
	if (side.ops->listen(side.dev, addr, 64, NULL, &listener) != 0)
		die("can't listen");
	for (uint32_t i = 0; i < options->connections; i++) {
		struct fabric_qp_attr attr = qp_attr(&side.qps[i]);

		event = next_event(&side, FABRIC_CM_REQUEST);
		if (side.ops->accept(side.dev, event.req, &attr, NULL, 0, &side.qps[i]) != 0)
			die("can't accept");
		for (uint32_t slot = 0; i == 0 && slot < SLOTS; slot++)
			post_recv(&side, side.qps[0], slot);
		next_event(&side, FABRIC_CM_ESTABLISHED);
	}
	for (;;) {
		uint32_t n = poll_messages(&side, side.qps[0]);

		if (n > 0)
			post_sends(&side, side.qps[0], n);
		else if (++idle % 64 == 0 && side.ops->cm_poll(side.dev, &event, 1) == 1)
			_exit(0);
	}
}

static void connect_all(struct side *side, const struct options *options, const char *addr)
{
	for (uint32_t i = 0; i < options->connections; i++) {
		struct fabric_qp_attr attr = qp_attr(&side->qps[i]);
		uint64_t until = bench_clock_ns(&side->clock) + WAIT_S * 1000000000u;

		while (side->ops->connect(side->dev, addr, &attr, NULL, 0, &side->qps[i]) != 0) {
			if (bench_clock_ns(&side->clock) > until)
				die("can't connect");
			usleep(1000);
		}
		for (uint32_t slot = 0; i == 0 && slot < SLOTS; slot++)
			post_recv(side, side->qps[0], slot);
		next_event(side, FABRIC_CM_ESTABLISHED);
	}
}

/* Measures the times of round trips that are made one at a time. */
static void measure_latency(struct side *side, double seconds, struct weir_histogram *hist)
{
	uint64_t begin_ns = bench_clock_ns(&side->clock), now_ns = begin_ns, warm_ns = 100000000;

	histogram_init(hist);
	while (now_ns < begin_ns + warm_ns + (uint64_t)(seconds * 1e9)) {
		uint64_t begin = rte_rdtsc(), end;

		post_sends(side, side->qps[0], 1);
		while (poll_messages(side, side->qps[0]) == 0)
			;
		end = rte_rdtsc();
		if (now_ns > begin_ns + warm_ns)
			histogram_add(hist, bench_ticks_to_ns(&side->clock, end - begin));
		now_ns = bench_clock_ns(&side->clock);
	}
}

/* Returns the number of round trips per second, of which 'depth' are in flight at a time. */
static double measure_rate(struct side *side, double seconds, uint32_t depth)
{
	uint64_t begin_ns = bench_clock_ns(&side->clock), now_ns, done = 0;
	uint32_t flying = 0;

	do {
		while (flying < depth) {
			uint32_t n = depth - flying < BURST ? depth - flying : BURST;

			post_sends(side, side->qps[0], n);
			flying += n;
		}
		for (uint32_t n = 0; n == 0; done += n, flying -= n)
			n = poll_messages(side, side->qps[0]);
		now_ns = bench_clock_ns(&side->clock);
	} while (now_ns < begin_ns + (uint64_t)(seconds * 1e9));
	return (double)done * 1e9 / (double)(now_ns - begin_ns);
}

static int usage(int status)
{
	fputs("Usage: weir-micro-shm [--cores A,B] [--time SECONDS] [--depth N] [--connections N]\n"
	      "                      [--request BYTES] [--reply BYTES] [--json]\n"
	      "Round trips of two Sends over the shm driver, between two processes on two cores.\n"
	      "Defaults: cores 0,1, 1 s for each of latency and rate, depth 128, 1 connection, 132 "
	      "and 60 bytes.\n",
	      status ? stderr : stdout);
	return status;
}

static bool parse(int argc, char **argv, struct options *options, int *status)
{
	static const struct option known[] = {{"cores", required_argument, NULL, 'c'},
					      {"time", required_argument, NULL, 't'},
					      {"depth", required_argument, NULL, 'd'},
					      {"connections", required_argument, NULL, 'n'},
					      {"request", required_argument, NULL, 'q'},
					      {"reply", required_argument, NULL, 'r'},
					      {"json", no_argument, NULL, 'j'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	bool ok = true;
	int opt;

	while (ok && (opt = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (opt == 'c')
			ok = sscanf(optarg, "%lu,%lu", &options->cores[0], &options->cores[1]) == 2;
		else if (opt == 't')
			options->seconds = strtod(optarg, NULL);
		else if (opt == 'd')
			options->depth = strtoul(optarg, NULL, 10);
		else if (opt == 'n')
			options->connections = strtoul(optarg, NULL, 10);
		else if (opt == 'q' || opt == 'r')
			options->bytes[opt == 'r'] = strtoul(optarg, NULL, 10);
		else if (opt == 'j')
			options->json = true;
		else {
			*status = usage(opt == 'h' ? 0 : 2);
			return false;
		}
	}
	ok = ok && options->cores[0] < CPU_SETSIZE && options->cores[1] < CPU_SETSIZE &&
	     options->seconds > 0 && options->seconds < 3600 && options->depth > 0 &&
	     options->depth <= SLOTS / 2 && options->connections > 0 &&
	     options->connections <= 65536 && options->bytes[0] <= SLOT_BYTES &&
	     options->bytes[1] <= SLOT_BYTES;
	if (!ok)
		*status = usage(2);
	return ok;
}

int main(int argc, char **argv)
{
	struct options options = {
		.cores = {0, 1}, .depth = 128, .connections = 1, .bytes = {132, 60}, .seconds = 1};
	static struct side side;
	static struct weir_histogram hist;
	char addr[32];
	double rate;
	int status;
	pid_t child;

	if (!parse(argc, argv, &options, &status))
		return status;
	if (mem_eal_start(NULL) != 0)
		die("can't start the EAL");
	snprintf(addr, sizeof(addr), "micro-%d", (int)getpid());
	child = fork();
	if (child < 0)
		die("no process");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		respond(&options, addr);
	}
	side_open(&side, &options, 0);
	connect_all(&side, &options, addr);
	measure_latency(&side, options.seconds, &hist);
	rate = measure_rate(&side, options.seconds, (uint32_t)options.depth);
	for (uint32_t i = 0; i < options.connections; i++)
		side.ops->qp_destroy(side.qps[i]);
	waitpid(child, &status, 0);
	printf(options.json
		       ? "{\"round_trips\": %llu, \"min_ns\": %llu, \"p50_ns\": %llu, \"p99_ns\": "
			 "%llu, \"per_s\": %.0f}\n"
		       : "%llu round trips: min %llu, p50 %llu, p99 %llu ns; in batches %.0f/s\n",
	       (unsigned long long)histogram_count(&hist), (unsigned long long)histogram_min(&hist),
	       (unsigned long long)histogram_quantile(&hist, 0.5),
	       (unsigned long long)histogram_quantile(&hist, 0.99), rate);
	return 0;
}
