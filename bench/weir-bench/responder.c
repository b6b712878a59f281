/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the responder's side: the bench's program behind a listener, with one engine per core. */
#include "responder.h"

#include <weir/request.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "poll_timer.h"
#include "program.h"
#include "worker.h"

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
	uint32_t lcore;
	int rc;
	pthread_t thread;
	struct bench_counts at_warm; /* counters at the end of the warm-up */
	struct bench_cpu cpu;	     /* counted from the end of the warm-up */
	bool was_warm;		     /* the warm-up has ended */
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

/* Ends a request whose reply failed. */
static void end_reply(struct weir_request *req, int rc)
{
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
	struct bench_write_results results = {.matched = true, .count = args->data.len_bytes};

	if (args->verify &&
	    !bench_pattern_matches(args->data.data, args->seed, args->data.len_bytes)) {
		results.matched = false;
		server_of(req, arg)->shared->verify_failures++;
	}
	end_reply(req, bench_write_1_reply(req, &results));
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
	int rc = weir_engine_create(&server->options->profile, &server->engine);

	if (rc != 0) {
		fprintf(stderr, "weir-bench: can't create an engine for the responder: %s\n",
			strerror(-rc));
		return rc;
	}
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

static void serve_polls(struct server *server, const struct bench_clock *clock,
			struct bench_idle *idle)
{
	struct bench_shared *shared = server->shared;
	uint64_t warm = rte_rdtsc(), instructions = 0;
	int counter = bench_cpu_open();
	struct bench_poll_timer timer;

	bench_poll_timer_init(&timer, idle->yields);
	bench_poll_timer_resume(&timer, warm);
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		if (bench_poll_timer_look(&timer))
			bench_poll_timer_at(&timer, rte_rdtsc());
		timer.work =
			weir_engine_poll(server->engine, 0, bench_clock_at(clock, timer.now_ticks));
		bench_idle(idle, timer.work);
		if (!server->was_warm &&
		    atomic_load_explicit(&shared->warm, memory_order_relaxed)) {
			bench_counts_read(server->engine, &server->at_warm);
			server->was_warm = true;
			warm = rte_rdtsc();
			bench_poll_timer_resume(&timer, warm);
			timer.busy_ticks = 0;
			instructions = bench_cpu_read(counter);
		}
	}
	server->cpu.busy_ticks = timer.busy_ticks;
	server->cpu.total_ticks = rte_rdtsc() - warm;
	server->cpu.instructions = bench_cpu_read(counter) - instructions;
	server->cpu.threads = 1;
	server->cpu.counted = counter >= 0;
	bench_cpu_close(counter);
}

/*
 * Handles the failure of a thread to start. Connections are distributed over all threads, so all
 * threads must end if one of them does not serve. If this run also has the requester, the requester
 * sees 'failed' and ends all threads. Otherwise this function does.
 */
static void server_failed(struct server *server)
{
	server->shared->failed++;
	if (server->options->side == SIDE_RESPONDER)
		server->shared->stop = 1;
}

static void *serve(void *arg)
{
	struct server *server = arg;
	struct bench_clock clock;
	struct bench_idle idle;

	server->rc = bench_worker_start(server->lcore);
	if (server->rc != 0) {
		server_failed(server);
		return NULL;
	}
	bench_idle_init(&idle, server->options);
	bench_clock_init(&clock);
	serve_polls(server, &clock, &idle);
	bench_worker_stop();
	return NULL;
}

static int server_start(struct server *server)
{
	int rc = -pthread_create(&server->thread, NULL, serve, server);

	if (rc != 0) {
		fprintf(stderr, "weir-bench: can't create a thread for the responder: %s\n",
			strerror(-rc));
		server_failed(server);
	}
	return rc;
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

static int listen_on(struct server *servers, uint32_t n, struct bench_v1_server *dispatcher,
		     struct weir_listener **listener)
{
	struct weir_program program = bench_v1_program(dispatcher);
	struct weir_engine *engines[BENCH_LCORES_MAX];
	struct weir_listen_options options = {.struct_bytes = sizeof(options),
					      .programs = &program,
					      .nprograms = 1,
					      .engines = engines,
					      .nengines = n,
					      .on_lost = on_lost,
					      .arg = servers};
	int rc;

	for (uint32_t i = 0; i < n; i++)
		engines[i] = servers[i].engine;
	rc = weir_listen(servers[0].engine, servers[0].shared->addr, &options, listener);
	if (rc != 0)
		fprintf(stderr, "weir-bench: can't listen on '%s': %s\n", servers[0].shared->addr,
			strerror(-rc));
	return rc;
}

int bench_responder_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores)
{
	uint32_t n = nlcores ? nlcores : 1, started = 0;
	struct server servers[BENCH_LCORES_MAX] = {0};
	struct bench_v1_server dispatcher = {.handlers = &handlers, .arg = servers};
	struct weir_listener *listener = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		servers[i].options = options;
		servers[i].shared = shared;
		servers[i].lcore = nlcores ? lcores[i] : UINT32_MAX;
		rc = server_init(&servers[i], &servers[0]);
	}
	if (rc == 0)
		rc = listen_on(servers, n, &dispatcher, &listener);
	if (rc == 0) {
		shared->responders_ready = n;
		if (options->side == SIDE_RESPONDER && !options->quiet)
			fprintf(stderr,
				"weir-bench: responder on '%s' (driver %s); end it with Ctrl-C\n",
				shared->addr, options->profile.driver);
		for (; started + 1 < n && rc == 0; started += rc == 0)
			rc = server_start(&servers[started + 1]);
		serve(&servers[0]);
		rc = rc ? rc : servers[0].rc;
	} else {
		shared->failed++;
	}
	for (uint32_t i = 0; i < started; i++) {
		pthread_join(servers[i + 1].thread, NULL);
		rc = rc ? rc : servers[i + 1].rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct bench_counts now;

		if (!servers[i].engine)
			continue;
		bench_counts_read(servers[i].engine, &now);
		if (servers[i].was_warm) {
			bench_counts_add_difference(&shared->responder.stats, &now,
						    &servers[i].at_warm);
			bench_cpu_add(&shared->responder.cpu, &servers[i].cpu);
			shared->responder.valid = 1;
		}
	}
	weir_listener_close(listener);
	for (uint32_t i = n; i-- > 0;)
		if (servers[i].engine && servers[i].cache)
			weir_engine_remove_region(servers[i].engine, servers[i].cache);
	for (uint32_t i = n; i-- > 0;)
		weir_engine_destroy(servers[i].engine);
	weir_region_destroy(servers[0].cache);
	return rc;
}
