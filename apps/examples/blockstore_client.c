/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester of the block store. It has one connection for each shard, and some slots for each
 * connection. Each slot has blocks of its own, and repeats these steps on them: it writes them,
 * reads and verifies them, discards them, reads them again and verifies that they are 0, and
 * flushes the shard. Data go directly from and to the memory of the slot.
 */
#include <errno.h>
#include <inttypes.h>

#include <weir/weir.h>

#include "blockstore.h"
#include "blockstore_rpc.h"
#include "example.h"

#define SLOTS	   8u /* of a connection */
#define SPAN	   4u /* blocks of a call */
#define SPAN_BYTES (SPAN * BLOCK_BYTES)

enum step { STEP_WRITE, STEP_READ, STEP_DISCARD, STEP_READ_ZERO, STEP_FLUSH, STEPS };

struct client {
	const struct options *options;
	struct weir_engine *engine;
	struct weir_region *region;
	uint32_t open, running;
	uint64_t verified; /* blocks */
};

struct slot {
	struct client *client;
	struct weir_conn *conn;
	uint8_t *data;
	uint64_t first; /* of its blocks */
	enum step step;
	uint32_t round;
};

/* Returns a word that the slot writes. */
static uint64_t word(const struct slot *slot, uint32_t index)
{
	return slot->first << 32 ^ (uint64_t)slot->round << 12 ^ index;
}

/* Fills the memory of a slot with the data to write, or compares it with them. */
static void fill(const struct slot *slot)
{
	uint64_t *words = (uint64_t *)slot->data;

	for (uint32_t i = 0; i < SPAN_BYTES / sizeof(*words); i++)
		words[i] = word(slot, i);
}

static bool is_right(const struct slot *slot)
{
	const uint64_t *words = (const uint64_t *)slot->data;

	for (uint32_t i = 0; i < SPAN_BYTES / sizeof(*words); i++)
		if (words[i] != (slot->step == STEP_READ ? word(slot, i) : 0))
			return false;
	return true;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg);

/* Begins the call of the slot's step. */
static void begin(struct slot *slot)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = slot};
	const struct block_range range = {slot->first, SPAN};
	const struct block_write_args write = {slot->first,
					       {slot->data, SPAN_BYTES, slot->client->region}};
	const struct weir_xdr_room room = {slot->client->region, slot->data, SPAN_BYTES};
	struct weir_call *call;

	switch (slot->step) {
	case STEP_WRITE:
		fill(slot);
		call = block_write_1_begin(slot->conn, &params, &write);
		break;
	case STEP_DISCARD:
		call = block_discard_1_begin(slot->conn, &params, &range);
		break;
	case STEP_FLUSH:
		call = block_flush_1_begin(slot->conn, &params);
		break;
	default:
		memset(slot->data, 0xff, SPAN_BYTES);
		call = block_read_1_begin(slot->conn, &params, &range, &room, 1);
	}
	example_check(call ? weir_call_submit(call) : -errno, "a call");
}

/* Returns the status of the results of the slot's step, or a negative errno. */
static int results(const struct slot *slot, struct weir_call *call,
		   const struct weir_result *result)
{
	struct block_read_result read = {.status = BLOCK_OK};
	int rc;

	switch (slot->step) {
	case STEP_WRITE:
		rc = block_write_1_results(call, result, &read.status);
		break;
	case STEP_DISCARD:
		rc = block_discard_1_results(call, result, &read.status);
		break;
	case STEP_FLUSH:
		rc = block_flush_1_results(call, result, &read.status);
		break;
	default:
		rc = block_read_1_results(call, result, &read);
		if (rc == 0 && read.status == BLOCK_OK &&
		    (read.data.data != slot->data || !is_right(slot)))
			rc = -EILSEQ;
		slot->client->verified += SPAN;
	}
	return rc != 0 ? rc : (int)read.status;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct slot *slot = arg;
	int rc = results(slot, call, result);

	if (rc > BLOCK_OK)
		rc = rc == BLOCK_RANGE ? -ERANGE : -EIO;
	example_check(rc, "a call");
	slot->step = (slot->step + 1) % STEPS;
	if (slot->step == STEP_WRITE && ++slot->round == slot->client->options->rounds)
		slot->client->running--;
	else
		begin(slot);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct client *client = arg;

	(void)conn;
	if (event == WEIR_CONN_OPEN)
		client->open++;
	else if (client->running > 0) {
		fprintf(stderr, "blockstore: a connection ended: %s\n", strerror(-error));
		exit(EXIT_FAILURE);
	}
}

static void poll_once(struct weir_engine *engine)
{
	uint64_t now_ns = example_now_ns();

	weir_engine_idle(engine, weir_engine_poll(engine, 0, now_ns), now_ns);
}

static void connect_all(struct client *client, struct weir_conn **conns)
{
	const struct weir_connect_options how = {
		.struct_bytes = sizeof(how), .on_event = on_event, .arg = client};
	char name[100];

	for (uint32_t i = 0; i < client->options->shards; i++) {
		snprintf(name, sizeof(name), "%s.%u", client->options->connect, i);
		example_check(weir_connect(client->engine, name, &how, &conns[i]), name);
	}
	while (client->open < client->options->shards)
		poll_once(client->engine);
}

void blockstore_client(const struct options *options)
{
	static struct slot slots[SHARDS_MAX * SLOTS];
	const uint32_t n = options->shards * SLOTS;
	const struct weir_region_options memory = {
		.struct_bytes = sizeof(memory), .len_bytes = n * SPAN_BYTES, .numa_node = -1};
	struct client client = {.options = options, .running = n};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_conn *conns[SHARDS_MAX];

	example_check(weir_engine_create(&options->profile, &client.engine), "weir_engine_create");
	example_check(weir_region_create(&memory, &client.region), "weir_region_create");
	example_check(weir_engine_add_region(client.engine, client.region), "add_region");
	weir_region_info(client.region, &info);
	connect_all(&client, conns);
	for (uint32_t i = 0; i < n; i++) {
		slots[i] = (struct slot){.client = &client,
					 .conn = conns[i / SLOTS],
					 .data = (uint8_t *)info.base + i * SPAN_BYTES,
					 .first = i % SLOTS * SPAN};
		begin(&slots[i]);
	}
	while (client.running > 0)
		poll_once(client.engine);
	printf("%" PRIu64 " blocks verified\n", client.verified);
	weir_engine_destroy(client.engine);
	weir_region_destroy(client.region);
}
