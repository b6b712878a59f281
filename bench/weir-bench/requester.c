/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the requester's side: its clients, each with a thread, and the sums of their results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "worker.h"

static void *run(void *arg)
{
	struct client *client = arg;
	bool shows_progress =
		!client->options->quiet && isatty(STDERR_FILENO) && client->number == 0;

	client->rc = bench_worker_start(client->lcore);
	if (client->rc != 0) {
		atomic_fetch_add(client->nsteady, 1);
		return NULL;
	}
	bench_clock_init(&client->clock);
	client->rc = client_connect(client);
	if (client->rc == 0) {
		client->result.connected = true;
		if (client->options->side == SIDE_REQUESTER && !client->options->quiet &&
		    client->number == 0)
			fprintf(stderr, "weir-bench: connected to '%s'\n", client->shared->addr);
		client_load(client, shows_progress);
		if (shows_progress)
			fprintf(stderr, "\r%70s\r", "");
		client_disconnect(client);
	} else {
		atomic_fetch_add(client->nsteady,
				 /*
				  * other clients must not wait for this client, so it counts as
				  * settled
				  */
				 1);
	}
	bench_worker_stop();
	return NULL;
}

static int client_start(struct client *client)
{
	int rc = -pthread_create(&client->thread, NULL, run, client);

	if (rc != 0)
		fprintf(stderr, "weir-bench: can't create a thread for the requester: %s\n",
			strerror(-rc));
	return rc;
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
	series_merge(&sum->series, &r->series);
	bench_cpu_add(&sum->cpu, &r->cpu);
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

int bench_requester_run(const struct bench_options *options, struct bench_shared *shared,
			const uint32_t *lcores, uint32_t nlcores, struct bench_result *result)
{
	uint32_t n = nlcores ? nlcores : 1, active = bench_active(options), ready = 0, started = 0;
	_Atomic uint32_t nsteady = 0;
	struct client *clients;
	int rc = 0;

	if (n > active)
		n = active;
	clients = calloc(n, sizeof(clients[0]));
	if (!clients)
		return -ENOMEM;
	memset(result, 0, sizeof(*result));
	result->least_calls = UINT64_MAX;
	histogram_init(&result->rtt);
	series_init(&result->series);
	for (; ready < n && rc == 0; ready++) {
		struct client *client = &clients[ready];

		client->options = options;
		client->shared = shared;
		client->lcore = nlcores ? lcores[ready] : UINT32_MAX;
		client->nlinks = options->connections / n + (ready < options->connections % n);
		client->nactive = active / n + (ready < active % n);
		client->nsteady = &nsteady;
		client->nclients = n;
		client->number = ready;
		client->random = ready + 1;
		client->calls_left = options->calls_max / n + (ready < options->calls_max % n);
		rc = client_init(client);
	}
	if (rc == 0) {
		for (; started + 1 < n && rc == 0; started += rc == 0)
			rc = client_start(&clients[started + 1]);
		if (rc == 0)
			run(&clients[0]);
		else /* the other clients must not wait for clients that do not run */
			atomic_fetch_add(&nsteady, n - started);
	}
	for (uint32_t i = 0; i < started; i++)
		pthread_join(clients[i + 1].thread, NULL);
	for (uint32_t i = 0; i < ready; i++) {
		if (rc == 0)
			rc = clients[i].rc;
		add_result(result, &clients[i]);
		client_fini(&clients[i]);
	}
	if (result->least_calls == UINT64_MAX)
		result->least_calls = 0; /* no connection was established */
	free(clients);
	return rc;
}
