/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the responder's side: the bench's program behind a listener, with one engine per core. */
#include "responder.h"

#include <weir/runtime.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_options.h"
#include "clock.h"
#include "compiler.h"
#include "lcores.h"
#include "poll_timer.h"
#include "program.h"

_Static_assert(BENCH_SIZE_MAX == BENCH_DATA_MAX, "program.x has the limit of the options");

/*
 * The minimum bytes of data from which a separate responder answers READs, because its requesters
 * can ask for any size.
 */
#define RESPONDER_ALONE_BYTES (4u << 20)

struct server {
	const struct bench_options *options;
	struct bench_shared *shared;
	struct weir_engine *engine;
	struct weir_region *cache; /* the bench's sequence from offset 0, from which READ and LIST
				      are answered */
	uint8_t *cache_base;
	uint64_t cache_bytes;
	int rc;
	struct bench_counts at_warm;	/* counters at the end of the warm-up */
	struct bench_cpu cpu;		/* counted from the end of the warm-up */
	struct disturbance disturbance; /* from the start of the thread; its gap: as 'cpu' */
	bool was_warm;			/* the warm-up has ended */
};

struct bench_responder {
	const struct bench_options *options;
	struct bench_shared *shared;
	struct weir_profile profile;
	struct weir_runtime *runtime;
	struct bench_v1_server dispatcher;
	uint32_t nservers;
	struct server servers[BENCH_LCORES_MAX]; /* one for each thread */
};

static struct server *server_of(struct weir_request *req, struct server *servers)
{
	/*
	 * A connection can be on any of the engines. There are few engines, so a linear search is
	 * enough.
	 */
	while (servers->engine != weir_request_engine(req))
		servers++;
	return servers;
}

/*
 * Ends a request whose reply failed. If no buffer was free, or if the peer already holds its share
 * of them, the handler runs again as soon as it can have one.
 */
static void end_reply(struct weir_request *req, int rc)
{
	if (rc == -ENOBUFS && weir_request_retry_when_buffers(req) == 0)
		return;
	if (rc != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void on_echo(struct weir_request *req, const bench_data *args, void *arg)
{
	(void)arg;
	end_reply(req, bench_echo_1_reply(req, args));
}

/*
 * Finds the range of the cache that a READ or LIST asks for. Returns NULL, after a reply, if the
 * cache has no such bytes.
 */
static const uint8_t *find_range(struct weir_request *req, const struct server *server,
				 const struct bench_place *range)
{
	if (range->offset <= server->cache_bytes &&
	    range->count <= server->cache_bytes - range->offset)
		return server->cache_base + range->offset;
	weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
	return NULL;
}

static void on_list(struct weir_request *req, const struct bench_place *args, void *arg)
{
	const struct server *server = server_of(req, arg);
	bench_data results = {find_range(req, server, args), args->count};

	if (results.data)
		end_reply(req, bench_list_1_reply(req, &results));
}

static void on_read(struct weir_request *req, const struct bench_place *args, void *arg)
{
	const struct server *server = server_of(req, arg);
	struct bench_read_results results = {
		.data = {find_range(req, server, args), args->count, server->cache}};

	if (results.data.data)
		end_reply(req, bench_read_1_reply(req, &results));
}

static void on_write(struct weir_request *req, const struct bench_write_args *args, void *arg)
{
	struct server *server = server_of(req, arg);
	struct bench_write_results results = {.matched = true, .count = args->data.len_bytes};
	int rc;

	if (args->verify)
		results.matched =
			bench_pattern_matches(args->data.data, args->seed, args->data.len_bytes);
	rc = bench_write_1_reply(req, &results);
	/* After another result, the handler can run again. */
	if (rc == 0 && !results.matched)
		server->shared->verify_failures++;
	end_reply(req, rc);
}

static const struct bench_v1_handlers handlers = {
	.bench_echo = on_echo,
	.bench_read = on_read,
	.bench_write = on_write,
	.bench_list = on_list,
};

static int server_init(struct server *server, struct server *first)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options), .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc = 0;

	/*
	 * A separate requester is allowed to read up to the largest size that this responder was
	 * started with.
	 */
	options.len_bytes = server->options->working_set_bytes;
	if (options.len_bytes < bench_largest_bytes(server->options))
		options.len_bytes = bench_largest_bytes(server->options);
	if (server->options->side == SIDE_RESPONDER && options.len_bytes < RESPONDER_ALONE_BYTES)
		options.len_bytes = RESPONDER_ALONE_BYTES;
	options.page_bytes = server->options->profile.page_bytes;
	if (server == first)
		rc = weir_region_create(&options, &server->cache);
	else
		server->cache = first->cache;
	if (rc == 0)
		rc = weir_engine_add_region(server->engine, server->cache);
	if (rc != 0) {
		fprintf(stderr,
			"weir-bench: can't allocate memory for the responder's data: %s. Lower "
			"--size or --working-set\n",
			strerror(-rc));
		return rc;
	}
	weir_region_info(server->cache, &info);
	server->cache_base = info.base;
	server->cache_bytes = info.len_bytes;
	if (server == first)
		bench_pattern_fill(server->cache_base, 0, (uint32_t)server->cache_bytes);
	return 0;
}

static int responder_init(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	struct bench_responder *responder = arg;
	struct server *server = &responder->servers[thread];

	server->options = responder->options;
	server->shared = responder->shared;
	server->engine = weir_runtime_engine(runtime, thread);
	server->rc = server_init(server, responder->servers);
	return server->rc;
}

static void serve(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	struct bench_responder *responder = arg;
	struct server *server = &responder->servers[thread];
	struct bench_shared *shared = server->shared;
	bool idles = bench_lcores_idles(&responder->profile, thread);
	uint64_t warm = rte_rdtsc(), begin, instructions = 0;
	int counter = bench_cpu_open();
	struct weir_engine *engine = server->engine;
	struct bench_poll_timer timer;
	struct disturbance_begin undisturbed;
	struct bench_clock clock;
	bool was_warm = false;

	(void)runtime;
	/* Not at the end of the warm-up: to read the files would delay the first measured calls. */
	disturbance_begin(&undisturbed);
	begin = rte_rdtsc();
	bench_clock_init(&clock);
	bench_poll_timer_init(&timer, idles);
	bench_poll_timer_resume(&timer, rte_rdtsc());
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		uint64_t now_ns;

		if (bench_poll_timer_look(&timer))
			bench_poll_timer_at(&timer, rte_rdtsc());
		if (!was_warm && atomic_load_explicit(&shared->warm, memory_order_relaxed)) {
			bench_counts_read(engine, &server->at_warm);
			was_warm = true;
			warm = rte_rdtsc();
			bench_poll_timer_resume(&timer, warm);
			timer.busy_ticks = 0;
			timer.gap_ticks = 0;
			instructions = bench_cpu_read(counter);
		}
		now_ns = bench_clock_at(&clock, timer.now_ticks);
		timer.work = weir_engine_poll(engine, 0, now_ns);
		if (unlikely(idles))
			weir_engine_idle(engine, timer.work, now_ns);
	}
	server->was_warm = was_warm;
	server->cpu.busy_ticks = timer.busy_ticks;
	server->cpu.total_ticks = rte_rdtsc() - warm;
	server->cpu.instructions = bench_cpu_read(counter) - instructions;
	server->cpu.threads = 1;
	server->disturbance = disturbance_end(
		&undisturbed, (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz(),
		bench_ticks_to_ns(&clock, timer.gap_ticks), idles);
	server->cpu.counted = counter >= 0;
	bench_cpu_close(counter);
}

static void on_lost(struct weir_listener *listener, int error, void *arg)
{
	struct server *first = arg;

	(void)listener;
	fprintf(stderr,
		"weir-bench: the responder's device was removed, so no requester can connect: %s\n",
		strerror(-error));
	first->rc = error;
	/* A requester in the same program ends the run itself. */
	if (first->options->side == SIDE_RESPONDER)
		first->shared->stop = 1;
}

/* Starts the runtime, whose threads prepare their engines. */
static int responder_create_runtime(struct bench_responder *responder)
{
	char error[512];
	const struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.name = "bench-resp",
		.init = responder_init,
		.run = serve,
		.arg = responder,
		.err = error,
		.err_bytes = sizeof(error),
	};
	int rc = weir_runtime_create(&responder->profile, &options, &responder->runtime);
	bool is_printed = false;

	for (uint32_t i = 0; i < responder->nservers; i++)
		is_printed |= responder->servers[i].rc != 0;
	if (rc != 0 && !is_printed)
		fprintf(stderr, "weir-bench: the responder can't start: %s\n", error);
	return rc;
}

static int start_listening(struct bench_responder *responder)
{
	struct weir_program program = bench_v1_program(&responder->dispatcher);
	const struct weir_listen_options options = {.struct_bytes = sizeof(options),
						    .programs = &program,
						    .nprograms = 1,
						    .on_lost = on_lost,
						    .arg = responder->servers};
	int rc = weir_runtime_listen(responder->runtime, responder->shared->addr, &options);

	if (rc != 0)
		fprintf(stderr, "weir-bench: can't listen on '%s': %s\n", responder->shared->addr,
			strerror(-rc));
	return rc;
}

/* Releases everything. The threads have ended, if there were any. */
static void release(struct bench_responder *responder)
{
	struct weir_region *cache = responder->servers[0].cache;

	for (uint32_t i = responder->nservers; i-- > 0 && responder->runtime;)
		weir_engine_remove_region(responder->servers[i].engine, cache);
	weir_runtime_destroy(responder->runtime);
	weir_region_destroy(cache);
	free(responder);
}

int bench_responder_start(const struct bench_options *options, struct bench_shared *shared,
			  struct bench_responder **out)
{
	struct bench_responder *responder = calloc(1, sizeof(*responder));
	int rc = -ENOMEM;

	if (!responder) {
		fprintf(stderr, "weir-bench: no memory for the responder\n");
		shared->failed++;
		return rc;
	}
	responder->options = options;
	responder->shared = shared;
	responder->dispatcher.handlers = &handlers;
	responder->dispatcher.arg = responder->servers;
	responder->nservers =
		bench_lcores_profile(options, true, BENCH_LCORES_MAX, &responder->profile);
	rc = responder_create_runtime(responder);
	if (rc == 0)
		rc = capture_options_start(&options->capture, WEIR_CAPTURE_RESPONDERS);
	if (rc == 0)
		rc = start_listening(responder);
	if (rc != 0) {
		release(responder);
		shared->failed++;
		return rc;
	}
	shared->responders_ready = responder->nservers;
	if (options->side == SIDE_RESPONDER && !options->quiet)
		fprintf(stderr, "weir-bench: responder on '%s' (driver %s); end it with Ctrl-C\n",
			shared->addr, options->profile.driver);
	weir_runtime_start(responder->runtime);
	*out = responder;
	return 0;
}

int bench_responder_finish(struct bench_responder *responder)
{
	struct bench_shared *shared = responder->shared;
	int rc;

	weir_runtime_wait(responder->runtime);
	weir_runtime_stop(responder->runtime, 0);
	for (uint32_t i = 0; i < responder->nservers; i++) {
		const struct server *server = &responder->servers[i];
		struct bench_counts now;

		if (!server->was_warm)
			continue;
		bench_counts_read(server->engine, &now);
		bench_counts_add_difference(&shared->responder.stats, &now, &server->at_warm);
		bench_cpu_add(&shared->responder.cpu, &server->cpu);
		disturbance_add(&shared->responder.disturbance, &server->disturbance);
		bench_stages_add_engine(&shared->responder.stages, server->engine);
		shared->responder.valid = 1;
	}
	rc = responder->servers[0].rc; /* on_lost() sets it */
	release(responder);
	return rc;
}

int bench_responder_run(const struct bench_options *options, struct bench_shared *shared)
{
	struct bench_responder *responder;
	int rc = bench_responder_start(options, shared, &responder);

	return rc == 0 ? bench_responder_finish(responder) : rc;
}
