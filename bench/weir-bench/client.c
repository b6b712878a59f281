/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up and releases the memory and the connections of a client. */
#include "client.h"
#include "connect_hint.h"
#include "interrupt.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT_ALIGN 4096u
/* Maximum connections that are being set up at a time, by all clients together. */
#define CONNECTING_MAX 32u
/* Attempts to connect while a responder that was just started is not ready. */
#define CONNECT_RETRIES 200u

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct link *link = arg;
	struct client *client = link->client;

	(void)conn;
	if (event == WEIR_CONN_LOST)
		return; /* a later event reports that the connection is open again or has ended */
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

/* Allocates the memory of the connections and their slots. Returns 0 or -ENOMEM. */
static int make_links(struct client *client, uint32_t stride)
{
	const struct bench_options *options = client->options;
	uint32_t nslots = 0;

	client->links = calloc(client->nlinks, sizeof(client->links[0]));
	if (!client->links)
		return -ENOMEM;
	for (uint32_t i = 0; i < client->nlinks; i++) {
		struct link *link = &client->links[i];

		link->client = client;
		link->is_gone = true;
		if (i >= (options->takes_turns ? 1 : client->nactive))
			continue;
		link->slots = calloc(options->depth, sizeof(link->slots[0]));
		if (!link->slots)
			return -ENOMEM;
		link->nslots = options->depth;
		for (uint32_t j = 0; j < link->nslots; j++)
			link->slots[j] = (struct load_slot){
				.link = link,
				.data = client->region_base + (size_t)nslots++ * stride,
			};
	}
	client->ngone = client->nlinks;
	return pace_init(&client->pace, options, nslots,
			 (double)client->nactive / bench_active(options),
			 (double)client->number / client->nclients);
}

int client_init(struct client *client)
{
	const struct bench_options *options = client->options;
	uint32_t stride = (bench_largest_bytes(options) + SLOT_ALIGN) / SLOT_ALIGN * SLOT_ALIGN;
	struct weir_region_options region = {
		.struct_bytes = sizeof(region),
		.len_bytes = (size_t)bench_load_slots(options, client->nactive) * stride,
		.page_bytes = options->profile.page_bytes,
		.numa_node = -1,
	};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc;

	/* The results are added up even after a failure, so they must be initialized first. */
	histogram_init(&client->result.rtt);
	series_init(&client->result.series);
	rc = weir_region_create(&region, &client->region);
	if (rc == 0)
		rc = weir_engine_add_region(client->engine, client->region);
	if (rc != 0) {
		fprintf(stderr,
			"weir-bench: can't allocate %zu bytes for data: %s. Lower --size, --depth "
			"or --connections\n",
			region.len_bytes, strerror(-rc));
		return rc;
	}
	weir_region_info(client->region, &info);
	client->region_base = info.base;
	client->nblocks =
		options->read_bytes ? options->working_set_bytes / options->read_bytes : 0;
	rc = make_links(client, stride);
	if (rc != 0)
		fprintf(stderr,
			"weir-bench: no memory for %u connections: lower --depth or "
			"--connections\n",
			client->nlinks);
	return rc;
}

void client_fini(struct client *client)
{
	weir_region_destroy(client->region);
	for (uint32_t i = 0; client->links && i < client->nlinks; i++)
		free(client->links[i].slots);
	free(client->links);
	pace_fini(&client->pace);
}

/*
 * Polls while no load runs. A thread that would spin gives up its core here, because the helper
 * threads of weir, which establish connections, might need it.
 */
static void poll_once(struct client *client)
{
	uint64_t now_ns = bench_clock_ns(&client->clock);
	uint32_t work = weir_engine_poll(client->engine, 0, now_ns);

	if (client->idles)
		weir_engine_idle(client->engine, work, now_ns);
	else if (work == 0)
		sched_yield();
}

/*
 * Returns the number of connections that this client is allowed to set up at a time. A listener
 * refuses connections beyond its backlog (LISTENER_BACKLOG). All clients together therefore stay
 * below the backlog.
 */
static uint32_t max_connecting(const struct client *client)
{
	return client->nclients < CONNECTING_MAX ? CONNECTING_MAX / client->nclients : 1;
}

static void poll_until_connecting(struct client *client, uint32_t few)
{
	while (client->nlinks - client->ngone - client->nopen > few &&
	       !bench_interrupted(client->shared))
		poll_once(client);
}

static int start_connecting(struct client *client)
{
	for (uint32_t i = 0; i < client->nlinks; i++) {
		struct link *link = &client->links[i];
		struct weir_connect_options options = {
			.struct_bytes = sizeof(options),
			.on_event = on_event,
			.arg = link,
			.reconnect =
				client->options->reconnect ? WEIR_RECONNECT_ON : WEIR_RECONNECT_OFF,
		};
		int rc;

		if (!link->is_gone)
			continue;
		poll_until_connecting(client, max_connecting(client) - 1);
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

/*
 * Returns true if the responder's process, a child of this one, has ended. The function that waits
 * for the child (child_is_gone()) reports how it ended.
 */
static bool responder_is_gone(const struct bench_shared *shared)
{
	siginfo_t info = {0};

	return shared->child > 0 &&
	       waitid(P_PID, (id_t)shared->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid != 0;
}

/*
 * Opens all connections. If the responder is started by this program and does not accept
 * connections yet, tries again for some seconds. Returns 0 or -errno.
 */
int client_connect(struct client *client)
{
	uint32_t retries = client->options->side == SIDE_BOTH ? CONNECT_RETRIES : 0;
	int rc;

	do {
		client->result.first_error = 0;
		rc = start_connecting(client);
		/*
		 * After a failure, the function waits for the connections that are being set up,
		 * because the message states how many succeeded.
		 */
		poll_until_connecting(client, 0);
		if (client->nopen == client->nlinks)
			return 0;
		if (rc == 0)
			rc = client->result.first_error ? client->result.first_error
							: -ECONNREFUSED;
		usleep(10000);
	} while (retries-- > 0 && !client->shared->failed && !responder_is_gone(client->shared) &&
		 !bench_interrupted(client->shared));
	if (bench_interrupted(client->shared))
		return -EINTR;
	if (client->shared->failed || responder_is_gone(client->shared))
		return -ECANCELED; /* the other side has printed the reason */
	fprintf(stderr, "weir-bench: can't connect to '%s': %s%s\n", client->shared->addr,
		strerror(-rc),
		connect_hint(client->options->profile.driver, client->shared->addr, rc));
	if (client->nopen > 0)
		fprintf(stderr,
			"weir-bench: %u of %u connections were accepted: start the responder with "
			"--connections %u, too\n",
			client->nopen, client->nlinks, client->options->connections);
	else if (rc == -ECONNREFUSED || rc == -ENOENT)
		fprintf(stderr, "weir-bench: start the responder first: weir-bench --listen %s\n",
			client->shared->addr);
	else if (rc == -ETIMEDOUT)
		fprintf(stderr,
			"weir-bench: the responder did not answer: check that it still runs\n");
	return rc;
}

void client_disconnect(struct client *client)
{
	uint64_t begin = bench_clock_ns(&client->clock);

	for (uint32_t i = 0; i < client->nlinks; i++)
		if (client->links[i].is_open)
			weir_conn_shutdown(client->links[i].conn);
	while (client->ngone < client->nlinks &&
	       bench_clock_ns(&client->clock) - begin < 1000000000ull)
		poll_once(client);
}
