/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester's side: a closed loop. Each connection has 'depth' lanes; a lane makes a call, checks the
 * answer, and makes the next from inside the callback. A lane has memory of its own for bulk data.
 */
#include "requester.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "weir_call.h"
#include "worker.h"

#define LANE_ALIGN	4096u
#define CONNECT_RETRIES 200u /* while a responder that was just started comes up */

struct lane {
	struct link *link;
	uint8_t *data;
	uint64_t offset; /* in the bench's sequence */
	uint64_t start_ticks;
	enum bench_proc proc;
};

/* One connection. */
struct link {
	struct client *client;
	struct weir_conn *conn;
	struct lane *lanes;
	bool is_open;
	bool is_gone;
};

/* One engine with its thread. */
struct client {
	const struct bench_options *options;
	struct bench_shared *shared;
	struct weir_engine *engine;
	struct weir_region *region;
	uint8_t *region_base;
	uint32_t nlinks;
	struct link *links;
	uint32_t nopen;
	uint32_t ngone;
	uint32_t in_flight;
	uint32_t lcore;
	uint32_t random;
	uint32_t nblocks; /* of size_bytes, in the working set */
	bool is_measuring;
	bool is_stopping;
	uint64_t calls_left;
	struct bench_clock clock;
	struct bench_result result;
	struct weir_engine_stats at_warm;
	int rc;
	pthread_t thread;
};

static void lane_next(struct lane *lane);

static uint32_t next_random(struct client *client)
{
	uint32_t x = client->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return client->random = x;
}

static enum bench_proc choose_proc(struct client *client)
{
	switch (client->options->workload) {
	case WORKLOAD_NULL:
		return BENCH_NULL;
	case WORKLOAD_ECHO:
		return BENCH_ECHO;
	case WORKLOAD_READ:
		return BENCH_READ;
	case WORKLOAD_WRITE:
		return BENCH_WRITE;
	default:
		return next_random(client) % 100 < client->options->read_percent ? BENCH_READ : BENCH_WRITE;
	}
}

/* False: the results are not what they must be. */
static bool check(struct lane *lane, const struct weir_call *call, const struct weir_result *result)
{
	const struct bench_options *options = lane->link->client->options;
	uint32_t len = 0, matched = 0;
	const void *data;

	switch (lane->proc) {
	case BENCH_READ:
		if (weir_result_opaque(call, result, 0, &data, options->size_bytes, &len) != 0 ||
		    len != options->size_bytes)
			return false;
		return !options->verify || bench_pattern_matches(data, lane->offset, len);
	case BENCH_ECHO:
		if (weir_xdr_get_opaque_ref(result->results, &data, options->size_bytes, &len) != 0 ||
		    len != options->size_bytes)
			return false;
		return !options->verify || bench_pattern_matches(data, lane->offset, len);
	case BENCH_WRITE:
		weir_xdr_get_u32(result->results, &matched);
		return weir_xdr_get_u32(result->results, &len) == 0 && matched && len == options->size_bytes;
	default:
		return weir_xdr_remaining(result->results) == 0;
	}
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct lane *lane = arg;
	struct client *client = lane->link->client;
	struct bench_result *r = &client->result;

	client->in_flight--;
	if (__builtin_expect(result->status != 0 || result->reply->reply_stat != WEIR_RPC_MSG_ACCEPTED ||
				     result->reply->accept_stat != WEIR_RPC_SUCCESS,
			     0)) {
		r->errors++;
		if (r->first_error == 0)
			r->first_error = result->status ? result->status : -EIO;
		if (lane->link->is_gone ||
		    (!weir_conn_is_open(lane->link->conn) && !client->options->reconnect))
			return;
	} else {
		if (__builtin_expect(!check(lane, call, result), 0))
			r->verify_failures++;
		if (client->is_measuring) {
			hist_add(&r->rtt, bench_ticks_to_ns(&client->clock, rte_rdtsc() - lane->start_ticks));
			r->bytes += lane->proc == BENCH_NULL ? 0 : client->options->size_bytes;
			r->bytes += lane->proc == BENCH_ECHO ? client->options->size_bytes : 0;
			r->calls++;
		}
	}
	if (!client->is_stopping)
		lane_next(lane);
}

static int add_arguments(struct lane *lane, struct weir_call *call)
{
	struct client *client = lane->link->client;
	const struct bench_options *options = client->options;
	struct weir_xdr_out *args = weir_call_args(call);
	uint8_t *at;

	switch (lane->proc) {
	case BENCH_READ:
		/* Whole blocks, at random, of the working set. */
		lane->offset = 0;
		if (client->nblocks > 1)
			lane->offset =
				(uint64_t)(next_random(client) % client->nblocks) * options->size_bytes;
		weir_xdr_put_u64(args, lane->offset);
		weir_xdr_put_u32(args, options->size_bytes);
		if (options->verify)
			memset(lane->data, 0xa5, options->size_bytes);
		/* Nothing to offer memory for, where nothing is to come. */
		return options->size_bytes == 0
			       ? 0
			       : weir_call_result_item(call, client->region, lane->data, options->size_bytes);
	case BENCH_WRITE:
		lane->offset = options->verify ? next_random(client) : 0;
		if (options->verify)
			bench_pattern_fill(lane->data, lane->offset, options->size_bytes);
		weir_xdr_put_u64(args, lane->offset);
		weir_xdr_put_u32(args, options->verify);
		return weir_call_arg_item(call, client->region, lane->data, options->size_bytes);
	case BENCH_ECHO:
		if (options->verify) {
			lane->offset = next_random(client);
			bench_pattern_fill(lane->data, lane->offset, options->size_bytes);
		}
		return weir_call_arg_item(call, client->region, lane->data, options->size_bytes);
	default:
		at = weir_xdr_reserve(args, options->size_bytes + weir_xdr_pad(options->size_bytes));
		if (at)
			memset(at, 0, options->size_bytes + weir_xdr_pad(options->size_bytes));
		return 0;
	}
}

static void lane_next(struct lane *lane)
{
	struct client *client = lane->link->client;
	const struct bench_options *options = client->options;
	struct weir_call_params params = {
		.prog = BENCH_PROG,
		.vers = BENCH_VERS,
		.ulb = &bench_ulb,
		.done = done,
		.arg = lane,
	};
	struct weir_call *call;
	int rc = 0;

	if (options->calls_max && client->calls_left-- == 0) {
		client->calls_left = 0;
		client->is_stopping = true;
		return;
	}
	lane->proc = choose_proc(client);
	params.proc = lane->proc;
	switch (lane->proc) {
	case BENCH_NULL:
		params.args_max_bytes = options->size_bytes + 3;
		break;
	case BENCH_ECHO:
		params.args_max_bytes = 4;
		params.results_max_bytes = 4 + options->size_bytes + weir_xdr_pad(options->size_bytes);
		break;
	case BENCH_READ:
		params.args_max_bytes = 12;
		params.results_max_bytes = 4;
		break;
	default:
		params.args_max_bytes = 16;
		params.results_max_bytes = 8;
	}
	lane->start_ticks = rte_rdtsc();
	call = weir_call_begin(lane->link->conn, &params);
	if (call) {
		rc = add_arguments(lane, call);
		if (rc == 0)
			rc = weir_call_submit(call);
		if (rc != 0)
			weir_call_abandon(call);
	} else {
		rc = -errno;
	}
	if (__builtin_expect(rc != 0, 0)) {
		client->result.errors++;
		if (client->result.first_error == 0)
			client->result.first_error = rc;
		client->is_stopping = true;
		return;
	}
	client->in_flight++;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct link *link = arg;
	struct client *client = link->client;

	(void)conn;
	if (event == WEIR_CONN_LOST)
		return; /* it comes back, or its end does */
	if (event == WEIR_CONN_OPEN) {
		client->nopen += !link->is_open;
		link->is_open = true;
		return;
	}
	client->nopen -= link->is_open;
	client->ngone++;
	link->is_open = false;
	link->is_gone = true;
	if (error != 0 && !client->is_stopping && client->result.first_error == 0)
		client->result.first_error = error;
}

static int client_init(struct client *client)
{
	const struct bench_options *options = client->options;
	uint32_t stride = (options->size_bytes + LANE_ALIGN) / LANE_ALIGN * LANE_ALIGN;
	struct weir_region_options region = {
		.len_bytes = (size_t)client->nlinks * options->depth * stride,
		.page_bytes = options->profile.page_bytes,
		.numa_node = -1,
	};
	struct weir_region_info info;
	int rc = weir_engine_create(&options->profile, &client->engine);

	if (rc != 0) {
		fprintf(stderr, "weir-bench: no engine for the requester: %s\n", strerror(-rc));
		return rc;
	}
	rc = weir_region_create(&region, &client->region);
	if (rc == 0)
		rc = weir_engine_add_region(client->engine, client->region);
	if (rc != 0) {
		fprintf(stderr, "weir-bench: no memory for %zu bytes of data: %s\n", region.len_bytes,
			strerror(-rc));
		return rc;
	}
	weir_region_info(client->region, &info);
	client->region_base = info.base;
	client->links = calloc(client->nlinks, sizeof(client->links[0]));
	if (!client->links)
		return -ENOMEM;
	for (uint32_t i = 0; i < client->nlinks; i++) {
		struct link *link = &client->links[i];

		link->client = client;
		link->is_gone = true;
		link->lanes = calloc(options->depth, sizeof(link->lanes[0]));
		if (!link->lanes)
			return -ENOMEM;
		for (uint32_t j = 0; j < options->depth; j++)
			link->lanes[j] = (struct lane){
				.link = link,
				.data = client->region_base + ((size_t)i * options->depth + j) * stride,
			};
	}
	client->nblocks = options->size_bytes ? options->working_set_bytes / options->size_bytes : 0;
	client->ngone = client->nlinks;
	hist_init(&client->result.rtt);
	return 0;
}

static void client_fini(struct client *client)
{
	weir_engine_destroy(client->engine);
	weir_region_destroy(client->region);
	for (uint32_t i = 0; client->links && i < client->nlinks; i++)
		free(client->links[i].lanes);
	free(client->links);
}

static uint32_t poll_once(struct client *client)
{
	return weir_engine_poll(client->engine, 0, bench_clock_ns(&client->clock));
}

static int start_connecting(struct client *client)
{
	for (uint32_t i = 0; i < client->nlinks; i++) {
		struct link *link = &client->links[i];
		struct weir_connect_options options = {
			.on_event = on_event,
			.arg = link,
			.reconnect = client->options->reconnect ? WEIR_RECONNECT_ON : WEIR_RECONNECT_OFF,
		};
		int rc;

		if (!link->is_gone)
			continue;
		link->is_gone = false;
		client->ngone--;
		rc = weir_connect(client->engine, client->shared->addr, &options, &link->conn);
		if (rc != 0) {
			link->is_gone = true;
			client->ngone++;
			client->result.first_error = rc;
			return rc;
		}
	}
	return 0;
}

/* All connections open, or an error. A responder that is not there yet gets some time. */
static int connect_all(struct client *client)
{
	uint32_t retries = client->options->side == SIDE_BOTH ? CONNECT_RETRIES : 0;
	int rc;

	do {
		client->result.first_error = 0;
		rc = start_connecting(client);
		/* Those begun before one that could not be are waited for: how many were taken is worth knowing. */
		while (client->nopen + client->ngone < client->nlinks)
			if (poll_once(client) == 0)
				sched_yield();
		if (client->nopen == client->nlinks)
			return 0;
		if (rc == 0)
			rc = client->result.first_error ? client->result.first_error : -ECONNREFUSED;
		usleep(10000);
	} while (retries-- > 0 && !client->shared->failed);
	if (client->shared->failed)
		return -ECANCELED; /* the other side said why */
	fprintf(stderr, "weir-bench: can't connect to '%s': %s\n", client->shared->addr, strerror(-rc));
	if (client->nopen > 0)
		fprintf(stderr,
			"weir-bench: %u of %u connections were taken: give the responder --connections %u, "
			"too\n",
			client->nopen, client->nlinks, client->options->connections);
	else if (rc == -ECONNREFUSED || rc == -ENOENT)
		fprintf(stderr, "weir-bench: start the responder first: weir-bench --listen %s\n",
			client->shared->addr);
	else if (rc == -ETIMEDOUT)
		fprintf(stderr, "weir-bench: the responder did not answer: see whether it still runs\n");
	return rc;
}

static void progress(struct client *client, double at, double of, uint64_t *last_calls, uint64_t *last_ns)
{
	uint64_t now = bench_clock_ns(&client->clock);
	double rate = (double)(client->result.calls - *last_calls) * 1e9 / (double)(now - *last_ns);

	fprintf(stderr, "\r%5.1f / %.1f s  %s  %12.0f RPC/s  errors %llu  ", at, of,
		client->is_measuring ? "measuring" : "warming up", client->is_measuring ? rate : 0.0,
		(unsigned long long)client->result.errors);
	fflush(stderr);
	*last_calls = client->result.calls;
	*last_ns = now;
}

/* Poll until 'until_ns', or until the load ended by itself. */
static void run_until(struct client *client, struct bench_idle *idle, uint64_t until_ns, bool shows_progress)
{
	uint64_t begin = bench_clock_ns(&client->clock), last_ns = begin, last_calls = client->result.calls;
	uint64_t next_report = begin + 500000000u;

	for (;;) {
		uint64_t now = bench_clock_ns(&client->clock);

		if (now >= until_ns || client->is_stopping || client->ngone > 0)
			break;
		bench_idle(idle, weir_engine_poll(client->engine, 0, now));
		if (shows_progress && now >= next_report) {
			progress(client, (double)(now - begin) / 1e9, (double)(until_ns - begin) / 1e9,
				 &last_calls, &last_ns);
			next_report = now + 500000000u;
		}
	}
}

static void run_load(struct client *client, bool shows_progress)
{
	const struct bench_options *options = client->options;
	struct weir_engine_stats end;
	struct bench_idle idle;
	uint64_t begin;

	bench_idle_init(&idle, options);
	client->is_measuring = options->calls_max > 0;
	for (uint32_t i = 0; i < client->nlinks && !client->is_stopping; i++)
		for (uint32_t j = 0; j < options->depth && !client->is_stopping; j++)
			lane_next(&client->links[i].lanes[j]);
	begin = bench_clock_ns(&client->clock);
	if (options->calls_max == 0) {
		run_until(client, &idle, begin + (uint64_t)(options->warmup_seconds * 1e9), shows_progress);
		client->shared->warm = 1;
		client->is_measuring = true;
		weir_engine_stats(client->engine, &client->at_warm);
		begin = bench_clock_ns(&client->clock);
	}
	run_until(client, &idle, options->calls_max ? UINT64_MAX : begin + (uint64_t)(options->seconds * 1e9),
		  shows_progress);
	client->result.seconds = (double)(bench_clock_ns(&client->clock) - begin) / 1e9;
	weir_engine_stats(client->engine, &end);
	bench_counters_add_difference(&client->result.stats, &end, &client->at_warm);
	client->result.exposure = weir_engine_exposure(client->engine);
	client->is_measuring = options->calls_max > 0;
	client->is_stopping = true;
	if (client->ngone > 0)
		fprintf(stderr, "\nweir-bench: a connection was lost: %s\n",
			strerror(-client->result.first_error));
	/* Every call that is in flight gets its completion. */
	begin = bench_clock_ns(&client->clock);
	while (client->in_flight > 0 && bench_clock_ns(&client->clock) - begin < 10000000000ull)
		bench_idle(&idle, poll_once(client));
	if (client->in_flight > 0) {
		fprintf(stderr, "weir-bench: %u calls did not complete\n", client->in_flight);
		client->result.errors += client->in_flight;
		if (client->result.first_error == 0)
			client->result.first_error = -ETIMEDOUT;
	}
	for (uint32_t i = 0; i < client->nlinks; i++)
		if (client->links[i].is_open)
			weir_conn_shutdown(client->links[i].conn);
	begin = bench_clock_ns(&client->clock);
	while (client->ngone < client->nlinks && bench_clock_ns(&client->clock) - begin < 1000000000ull)
		bench_idle(&idle, poll_once(client));
}

static void *run(void *arg)
{
	struct client *client = arg;
	bool shows_progress = !client->options->quiet && isatty(STDERR_FILENO) && client->random == 1;

	client->rc = bench_worker_start(client->lcore);
	if (client->rc != 0)
		return NULL;
	bench_clock_init(&client->clock);
	client->rc = connect_all(client);
	if (client->rc == 0) {
		client->result.connected = true;
		if (client->options->side == SIDE_REQUESTER && !client->options->quiet && client->random == 1)
			fprintf(stderr, "weir-bench: connected to '%s'\n", client->shared->addr);
		run_load(client, shows_progress);
		if (shows_progress)
			fprintf(stderr, "\r%70s\r", "");
	}
	bench_worker_stop();
	return NULL;
}

static void add_result(struct bench_result *sum, const struct client *client)
{
	const struct weir_engine_stats none = {0};
	const struct bench_result *r = &client->result;

	sum->seconds = r->seconds > sum->seconds ? r->seconds : sum->seconds;
	sum->calls += r->calls;
	sum->bytes += r->bytes;
	sum->errors += r->errors;
	sum->verify_failures += r->verify_failures;
	sum->connected = r->connected;
	if (sum->first_error == 0 && r->errors > 0)
		sum->first_error = r->first_error;
	hist_merge(&sum->rtt, &r->rtt);
	bench_counters_add_difference(&sum->stats, &r->stats, &none);
	sum->exposure = r->exposure;
}

int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores, struct bench_result *result)
{
	uint32_t n = nlcores ? nlcores : 1, ready = 0, started = 0;
	struct client *clients;
	int rc = 0;

	if (n > options->connections)
		n = options->connections;
	clients = calloc(n, sizeof(clients[0]));
	if (!clients)
		return -ENOMEM;
	memset(result, 0, sizeof(*result));
	hist_init(&result->rtt);
	for (; ready < n && rc == 0; ready++) {
		struct client *client = &clients[ready];

		client->options = options;
		client->shared = shared;
		client->lcore = nlcores ? lcores[ready] : UINT32_MAX;
		client->nlinks = options->connections / n + (ready < options->connections % n);
		client->random = ready + 1;
		client->calls_left = options->calls_max / n + (ready < options->calls_max % n);
		rc = client_init(client);
	}
	if (rc == 0) {
		for (; started + 1 < n; started++)
			pthread_create(&clients[started + 1].thread, NULL, run, &clients[started + 1]);
		run(&clients[0]);
	}
	for (uint32_t i = 0; i < started; i++)
		pthread_join(clients[i + 1].thread, NULL);
	for (uint32_t i = 0; i < ready; i++) {
		if (rc == 0)
			rc = clients[i].rc;
		add_result(result, &clients[i]);
		client_fini(&clients[i]);
	}
	free(clients);
	return rc;
}
