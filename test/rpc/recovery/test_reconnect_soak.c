/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests many connections, each of which is killed and reconnected many times under load. Every call
 * must be answered. At the end, as many resources are in use as at the beginning: buffers,
 * requests, connections, objects of the driver, files, mappings and heap memory.
 */
#include "pair_main.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "requester.h"
#include "responder.h"
#include "sanitizers.h"
#include "sim_world.h"

#define NLINKS 24u
#define NKILLS 100u
#define NFLOWS 4u
#define BYTES  6000u
#define SLOT   8192u

static struct pair pair;

struct link;

struct flow {
	struct link *link;
	/* index among the flows of all links; selects the flow's part of the memory */
	uint32_t index;
	uint32_t proc;
};

struct link {
	struct weir_conn *conn;
	bool is_open;
	bool is_warm; /* a call was answered since the connection opened */
	uint32_t losses;
	struct flow flows[NFLOWS];
};

static struct link links[NLINKS];
static uint32_t random_state;
static bool is_stopping;
static uint64_t nstarted, ndone;
static uint32_t nclosed;

static uint32_t next_random(uint32_t below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % below;
}

static void many(struct weir_profile *profile)
{
	profile->credits = 8;
	/* a connection that has ended counts until the engine notices that it ended */
	profile->connections = 64;
	profile->recv_buffers = 64 * 11;
	profile->send_buffers = 512;
	profile->long_buffers = 256;
	profile->bulk_buffers = 64;
	profile->long_buffer_bytes = 16u << 10;
	profile->bulk_buffer_bytes = 16u << 10;
	profile->reconnect_delay_ms = 1;
	profile->reconnect_delay_max_ms = 2;
	profile->resends = 100;
}

static void flow_next(struct flow *flow);

static uint8_t *memory_of(const struct flow *flow)
{
	return pair.client_mem + (size_t)flow->index * SLOT;
}

static void check(const struct flow *flow, struct weir_call *call, const struct weir_result *result)
{
	const uint8_t *data = NULL;
	uint32_t len = 0;

	if (flow->proc == PAIR_WRITE) {
		weir_xdr_get_u32(result->results, &len);
		assert_int_equal(len, 3);
		weir_xdr_get_u32(result->results, &len);
		assert_int_equal(len, BYTES);
	} else if (flow->proc != PAIR_NULL) {
		assert_int_equal(
			weir_result_opaque(call, result, 0, (const void **)&data, BYTES, &len), 0);
		assert_int_equal(len, BYTES);
		for (uint32_t i = 0; i < BYTES; i += 97)
			assert_int_equal(data[i], pair_byte(i));
	}
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct flow *flow = arg;

	ndone++;
	assert_int_equal(result->status, 0);
	assert_int_equal(result->reply->accept_stat, WEIR_RPC_SUCCESS);
	check(flow, call, result);
	flow->link->is_warm = flow->link->is_open;
	if (!is_stopping)
		flow_next(flow);
}

static void flow_next(struct flow *flow)
{
	static const uint32_t procs[] = {PAIR_NULL, PAIR_READ, PAIR_WRITE, PAIR_BIG};
	struct outcome unused;
	struct weir_call_params params;
	struct weir_xdr_out *args;
	struct weir_call *call;

	flow->proc = procs[next_random(4)];
	params = pair_params(flow->proc, &unused);
	params.done = on_done;
	params.arg = flow;
	params.results_max_bytes = flow->proc == PAIR_BIG ? BYTES + 8 : 64;
	call = weir_call_begin(flow->link->conn, &params);
	assert_non_null(call);
	args = weir_call_args(call);
	if (flow->proc == PAIR_WRITE) {
		weir_xdr_put_u32(args, 1);
		assert_int_equal(
			weir_call_arg_item(call, pair.client_region, memory_of(flow), BYTES), 0);
		weir_xdr_put_u32(args, 2);
	} else if (flow->proc != PAIR_NULL) {
		weir_xdr_put_u32(args, BYTES);
		if (flow->proc == PAIR_READ)
			assert_int_equal(weir_call_result_item(call, pair.client_region,
							       memory_of(flow), BYTES),
					 0);
	}
	assert_int_equal(weir_call_submit(call), 0);
	nstarted++;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct link *link = arg;

	(void)conn;
	(void)error;
	link->is_open = event == WEIR_CONN_OPEN;
	link->is_warm = false;
	link->losses += event == WEIR_CONN_LOST;
	nclosed += event == WEIR_CONN_CLOSED;
}

/* Kills a connection, alternately at the requester and at the responder. */
static void kill_one(struct link *link)
{
	struct engine_endpoint *ep;
	uint32_t skip;

	if (link->losses % 2) {
		weir_conn_reset(link->conn);
		return;
	}
	skip = next_random(NLINKS);
	TAILQ_FOREACH(ep, &pair.server->all, all)
	{
		if (ep->on_wc == conn_on_wc && !ep->is_reaping && skip-- == 0) {
			weir_conn_close((struct weir_conn *)ep);
			return;
		}
	}
	weir_conn_reset(link->conn);
}

static uint32_t sum_of_losses(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NLINKS; i++)
		sum += links[i].losses;
	return sum;
}

static bool all_killed(uint32_t nkills)
{
	for (uint32_t i = 0; i < NLINKS; i++)
		if (links[i].losses < nkills || !links[i].is_open)
			return false;
	return true;
}

static bool all_closed(void)
{
	return pair.client->nconnections == 0 && pair.server->nconnections == 0;
}

/*
 * Connects all links, makes calls on them, kills each connection 'nkills' times, and then closes
 * the connections in an orderly way.
 */
static void run_load(uint32_t nkills)
{
	const struct weir_connect_options how = {
		.struct_bytes = sizeof(how), .on_event = on_event, .reconnect = WEIR_RECONNECT_ON};

	memset(links, 0, sizeof(links));
	is_stopping = false;
	nclosed = 0;
	for (uint32_t i = 0; i < NLINKS; i++) {
		struct weir_connect_options options = how;

		options.arg = &links[i];
		assert_int_equal(weir_connect(pair.client, pair.addr, &options, &links[i].conn), 0);
	}
	for (uint32_t i = 0; !all_killed(0) && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	for (uint32_t i = 0; i < NLINKS; i++) {
		for (uint32_t j = 0; j < NFLOWS; j++) {
			links[i].flows[j] =
				(struct flow){.link = &links[i], .index = i * NFLOWS + j};
			flow_next(&links[i].flows[j]);
		}
	}
	/* The time to wait begins again with each loss. */
	for (uint32_t polls = 0; !all_killed(nkills) && pair_wait(&pair, polls);) {
		struct link *link = &links[next_random(NLINKS)];
		uint32_t before = sum_of_losses();

		pair_poll(&pair);
		if (link->is_warm && link->losses < nkills)
			kill_one(link);
		polls = sum_of_losses() == before ? polls + 1 : 0;
	}
	assert_true(all_killed(nkills));
	is_stopping = true;
	for (uint32_t i = 0; i < NLINKS; i++)
		weir_conn_shutdown(links[i].conn);
	for (uint32_t i = 0; !all_closed() && pair_wait(&pair, i); i++)
		pair_poll(&pair);
	assert_true(all_closed());
	assert_int_equal(nclosed, NLINKS);
	pair_settle(&pair);
}

static uint32_t count_lines(const char *path, const char *with)
{
	FILE *file = fopen(path, "r");
	char line[512];
	uint32_t n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, with) != NULL;
	fclose(file);
	return n;
}

static uint32_t count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Amounts of the resources that could leak. */
struct holdings {
	/* simulated objects of the device: queue pairs, registrations, windows and events */
	uint32_t objects;
	uint32_t files, mappings;
	uint32_t nregions;
	uint32_t buffers[8];
	uint64_t heap_bytes;
};

static struct holdings look(void)
{
	const struct weir_engine *engines[] = {pair.client, pair.server};
	struct holdings now;

	memset(&now, 0, sizeof(now));
	now.objects = pair.world ? sim_world_objects(pair.world) : 0;
	now.files = count_files();
	now.mappings = count_lines("/proc/self/maps", "memfd:");
	for (uint32_t i = 0; i < 2; i++) {
		now.nregions += engines[i]->nregions;
		now.buffers[i * 4] = engines[i]->send_pool->in_use;
		now.buffers[i * 4 + 1] = engines[i]->recv_pool->in_use;
		now.buffers[i * 4 + 2] = engines[i]->long_pool->in_use;
		now.buffers[i * 4 + 3] = engines[i]->bulk_pool->in_use;
		assert_true(TAILQ_EMPTY(&engines[i]->orphans));
		assert_true(TAILQ_EMPTY(&engines[i]->wait_queues) &&
			    TAILQ_EMPTY(&engines[i]->reserve_queues));
	}
	now.heap_bytes = mallinfo2().uordblks;
	if (pair.world) /* sim gives each queue pair a new number and remembers all numbers */
		now.heap_bytes -= pair.world->qps_size * sizeof(pair.world->qps[0]) +
				  pair.world->heap_size * sizeof(pair.world->heap[0]);
	return now;
}

/*
 * Returns the resources in use. Waits until files and mappings are as in 'before', because a driver
 * releases some of them later, on another thread. Gives up after 10 seconds.
 */
static struct holdings look_again(const struct holdings *before)
{
	struct holdings now = look();

	for (uint32_t tries = 0;
	     tries < 10000 && (now.files != before->files || now.mappings != before->mappings);
	     tries++) {
		usleep(1000);
		now = look();
	}
	return now;
}

/*
 * Returns the resources in use, after files and mappings have been unchanged for about 200 ms. Then
 * resources that a driver releases on another thread are not counted.
 */
static struct holdings look_settled(void)
{
	struct holdings now = look(), last;
	uint32_t nsame = 0;

	for (uint32_t tries = 0; tries < 10000 && nsame < 200; tries++) {
		usleep(1000);
		last = now;
		now = look();
		nsame = now.files == last.files && now.mappings == last.mappings ? nsame + 1 : 0;
	}
	return now;
}

static void conn__24_killed_and_remade_100_times_each_leave_nothing_behind(void **state)
{
	struct engine_counters client = {0};
	struct engine_counters server = {0};
	struct holdings before, after;

	(void)state;
	random_state = (uint32_t)pair_seed;
	nstarted = ndone = 0;
	pair_start(&pair, many);
	run_load(1); /* creates the objects that are created at first use */
	before = look_settled();
	run_load(NKILLS);
	after = look_again(&before);
	assert_int_equal(after.objects, before.objects);
	assert_int_equal(after.files, before.files);
	assert_int_equal(after.mappings, before.mappings);
	assert_int_equal(after.nregions, before.nregions);
	assert_memory_equal(after.buffers, before.buffers, sizeof(after.buffers));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* A leak of seven bytes in each reconnection would exceed this bound. */
	assert_true(after.heap_bytes < before.heap_bytes + 16384);
#endif
	assert_int_equal(nstarted, ndone);
	test_counters(pair.client, &client);
	test_counters(pair.server, &server);
	assert_true(client.reconnects >= NLINKS * (NKILLS + 1));
	assert_int_equal(client.connections_opened, 2 * NLINKS + client.reconnects);
	assert_int_equal(client.connections_opened, client.connections_lost);
	assert_int_equal(server.connections_opened, server.connections_lost);
	assert_int_equal(client.calls_completed, ndone);
	assert_int_equal(client.calls_failed + client.calls_given_up + client.reconnects_given_up,
			 0);
	assert_int_equal(client.calls_sent, ndone + client.calls_resent);
	assert_true(client.calls_resent > NLINKS * NKILLS / 4);
	assert_int_equal(client.rnr + server.rnr + client.protocol_errors + server.protocol_errors,
			 0);
	pair_stop(&pair);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conn__24_killed_and_remade_100_times_each_leave_nothing_behind),
	};

	return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
