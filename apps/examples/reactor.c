/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reactor, as in SPDK: a thread that calls pollers in a loop. A poller does what is ready, never
 * waits, and returns whether it did work. One of the pollers is an engine of weir, which greets
 * callers, as "hello --listen" does. The other one prints the number of calls every second.
 * Argument: the name to listen at.
 *
 * A program with a reactor for each core creates an engine in each of them.
 */
#include <inttypes.h>

#include <weir/weir.h>

#include "greet.h"

#define PERIOD_NS UINT64_C(1000000000)

struct poller {
	/* Returns whether it did work. */
	bool (*poll)(void *arg, uint64_t now_ns);
	void *arg;
};

struct report {
	const struct weir_engine *engine;
	uint64_t next_ns;
	uint32_t requests; /* index of the counter */
};

static bool poll_engine(void *arg, uint64_t now_ns)
{
	return weir_engine_poll(arg, 0, now_ns) > 0;
}

static bool poll_report(void *arg, uint64_t now_ns)
{
	struct report *report = arg;

	if (now_ns < report->next_ns)
		return false;
	report->next_ns = now_ns + PERIOD_NS;
	printf("%" PRIu64 " calls\n", weir_engine_counter(report->engine, report->requests));
	fflush(stdout);
	return true;
}

/* Calls all pollers until the program gets a signal. Returns the number of rounds without work, in
 * which a reactor could save power. */
static uint64_t run(const struct poller *pollers, uint32_t n)
{
	uint64_t idle = 0;

	while (!atomic_load(&example_ends)) {
		uint64_t now_ns = example_now_ns();
		bool is_busy = false;

		for (uint32_t i = 0; i < n; i++)
			is_busy |= pollers[i].poll(pollers[i].arg, now_ns);
		idle += !is_busy;
	}
	return idle;
}

int main(int argc, char **argv)
{
	struct weir_listener *listener;
	struct weir_profile profile;
	struct weir_engine *engine;
	struct report report;

	if (argc != 2 || argv[1][0] == '-') {
		fputs("Usage: reactor NAME\n", stderr);
		return 2;
	}
	example_catch_signals();
	weir_profile_defaults(&profile);
	example_check(weir_engine_create(&profile, &engine), "weir_engine_create");
	listener = greet_listen(engine, argv[1]);
	report = (struct report){engine, 0, (uint32_t)weir_counter_find("requests_received")};
	printf("%" PRIu64 " rounds without work\n",
	       run((const struct poller[]){{poll_engine, engine}, {poll_report, &report}}, 2));
	weir_listener_close(listener);
	weir_engine_destroy(engine);
	example_check_output();
	return EXIT_SUCCESS;
}
