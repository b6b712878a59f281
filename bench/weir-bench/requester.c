/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the requester's side: its clients, each with a thread, and the sums of their results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/runtime.h>

#include "capture_options.h"
#include "client.h"
#include "lcores.h"

static int requester_init(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	struct client *client = &((struct client *)arg)[thread];

	client->engine = weir_runtime_engine(runtime, thread);
	client->rc = client_init(client);
	return client->rc;
}

static void run(struct weir_runtime *runtime, uint32_t thread, void *arg)
{
	struct client *client = &((struct client *)arg)[thread];
	bool shows_progress =
		!client->options->quiet && isatty(STDERR_FILENO) && client->number == 0;

	(void)runtime;
	bench_clock_init(&client->clock);
	client->rc = client_connect(client);
	if (client->rc != 0) {
		/* Other clients must not wait for this client, so it counts as settled. */
		atomic_fetch_add(client->nsteady, 1);
		return;
	}
	client->result.connected = true;
	if (client->options->side == SIDE_REQUESTER && !client->options->quiet &&
	    client->number == 0)
		fprintf(stderr, "weir-bench: connected to '%s'\n", client->shared->addr);
	client_load(client, shows_progress);
	if (shows_progress)
		fprintf(stderr, "\r%70s\r", "");
	client_disconnect(client);
}

static void add_connections(struct bench_result *sum, const struct client *client)
{
	for (uint32_t i = 0; client->links && i < client->nlinks; i++) {
		uint64_t calls = client->links[i].calls;

		if (i >= client->nactive) {
			sum->idle_calls += calls;
			continue;
		}
		if (calls < sum->least_calls)
			sum->least_calls = calls;
		if (calls > sum->most_calls)
			sum->most_calls = calls;
	}
}

static void add_result(struct bench_result *sum, const struct client *client)
{
	const struct bench_counts none = {0};
	const struct bench_result *r = &client->result;

	sum->seconds = r->seconds > sum->seconds ? r->seconds : sum->seconds;
	sum->calls += r->calls;
	sum->bytes += r->bytes;
	sum->errors += r->errors;
	sum->verify_failures += r->verify_failures;
	add_connections(sum, client);
	sum->connected = r->connected;
	sum->is_cut_short |= r->is_cut_short;
	if (sum->first_error == 0 && r->errors > 0)
		sum->first_error = r->first_error;
	histogram_merge(&sum->rtt, &r->rtt);
	bench_stages_merge(&sum->stages, &r->stages);
	series_merge(&sum->series, &r->series);
	bench_cpu_add(&sum->cpu, &r->cpu);
	disturbance_add(&sum->disturbance, &r->disturbance);
	sum->late += r->late;
	sum->untaken += r->untaken;
	sum->is_steady = (client->number == 0 || sum->is_steady) && r->is_steady;
	if (r->rate_spread > sum->rate_spread)
		sum->rate_spread = r->rate_spread;
	if (r->steady_after_seconds > sum->steady_after_seconds)
		sum->steady_after_seconds = r->steady_after_seconds;
	bench_counts_add_difference(&sum->stats, &r->stats, &none);
	sum->exposure = r->exposure;
}

static void assign_load(struct client *clients, uint32_t n, const struct bench_options *options)
{
	uint32_t active = bench_active(options);

	for (uint32_t i = 0; i < n; i++) {
		struct client *client = &clients[i];

		client->number = i;
		client->random = i + 1;
		client->nlinks = options->connections / n + (i < options->connections % n);
		client->nactive = active / n + (i < active % n);
		client->calls_left = options->calls_max / n + (i < options->calls_max % n);
	}
}

/*
 * Starts the runtime, whose threads initialize the clients. Returns 0, or -errno after the reason
 * was printed.
 */
static int requester_create_runtime(const struct weir_profile *profile, struct client *clients,
				    struct weir_runtime **runtime)
{
	char error[512];
	const struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.name = "bench-req",
		.init = requester_init,
		.run = run,
		.arg = clients,
		.err = error,
		.err_bytes = sizeof(error),
	};
	int rc = weir_runtime_create(profile, &options, runtime);
	bool is_printed = false;

	for (uint32_t i = 0; i < clients->nclients; i++)
		is_printed |= clients[i].rc != 0;
	if (rc != 0 && !is_printed)
		fprintf(stderr, "weir-bench: the requester can't start: %s\n", error);
	return rc;
}

int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			struct bench_result *result)
{
	_Atomic uint32_t nsteady = 0;
	struct weir_runtime *runtime = NULL;
	struct weir_profile profile;
	struct client *clients;
	uint32_t n = bench_lcores_profile(options, false, bench_active(options), &profile);
	int rc;

	clients = calloc(n, sizeof(clients[0]));
	if (!clients)
		return -ENOMEM;
	memset(result, 0, sizeof(*result));
	result->least_calls = UINT64_MAX;
	histogram_init(&result->rtt);
	series_init(&result->series);
	for (uint32_t i = 0; i < n; i++) {
		clients[i].options = options;
		clients[i].shared = shared;
		clients[i].nsteady = &nsteady;
		clients[i].nclients = n;
		clients[i].idles = bench_lcores_idles(&profile, i);
	}
	assign_load(clients, n, options);
	rc = requester_create_runtime(&profile, clients, &runtime);
	if (rc == 0 && options->side == SIDE_REQUESTER)
		rc = capture_options_start(&options->capture, WEIR_CAPTURE_REQUESTERS);
	if (rc == 0) {
		weir_runtime_start(runtime);
		weir_runtime_wait(runtime);
		weir_runtime_stop(runtime, 0);
	}
	for (uint32_t i = 0; i < n && runtime; i++) {
		rc = rc ? rc : clients[i].rc;
		add_result(result, &clients[i]);
	}
	weir_runtime_destroy(runtime);
	for (uint32_t i = 0; i < n; i++)
		client_fini(&clients[i]);
	if (result->least_calls == UINT64_MAX)
		result->least_calls = 0; /* no connection was established */
	free(clients);
	return rc;
}
