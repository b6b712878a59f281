/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of the page on weirgen, and the reads that it answers. */
#include "two_sides.h"

#include <errno.h>
#include <string.h>

#include "blockstore_rpc.h"

#define BLOCKS 8u

struct store {
	struct weir_region *region;
	uint8_t *base;
	uint64_t blocks;
};

static uint8_t *memory;
static bool is_open;
static uint32_t ended;
static struct block_read_result result;

/* [on_read] */
static void on_read(struct weir_request *req, const struct block_range *args, void *arg)
{
	struct store *store = arg;
	struct block_read_result results = {.status = BLOCK_RANGE};
	int rc;

	if (args->first < store->blocks && args->count <= store->blocks - args->first) {
		results.status = BLOCK_OK;
		results.data.region = store->region;
		results.data.data = store->base + args->first * BLOCK_BYTES;
		results.data.len_bytes = args->count * BLOCK_BYTES;
	}
	rc = block_read_1_reply(req, &results);
	if (rc == -ENOBUFS && weir_request_retry_when_buffers(req) == 0)
		return; /* weir calls the handler again */
	if (rc != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}
/* [end] */

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	is_open = event == WEIR_CONN_OPEN;
}

static void on_done(struct weir_call *call, const struct weir_result *end_of_call, void *arg)
{
	check(end_of_call->status == 0, "the call failed");
	check(block_read_1_results(call, end_of_call, &result) == 0, "block_read_1_results");
	ended++;
}

static void respond(struct weir_engine *engine, const char *address)
{
	static struct store store;
	static const struct block_v1_handlers handlers = {.block_read = on_read};
	static struct block_v1_server server = {.handlers = &handlers, .arg = &store};
	const struct weir_program program = block_v1_program(&server);
	const struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;

	store = (struct store){.region = region, .base = memory, .blocks = BLOCKS};
	for (uint32_t i = 0; i < BLOCKS; i++)
		memset(memory + i * BLOCK_BYTES, (int)i + 1, BLOCK_BYTES);
	check(weir_listen(engine, address, &options, &listener) == 0, "weir_listen");
	for (;;)
		weir_engine_poll(engine, 0, now_ns());
}

/* Reads a range into the region of this side, and waits for the result. */
static void read_blocks(struct weir_engine *engine, struct weir_conn *conn, uint64_t first,
			uint32_t count)
{
	const struct weir_call_params params = {.struct_bytes = sizeof(params), .done = on_done};
	const struct block_range range = {.first = first, .count = count};
	const struct weir_xdr_room room = {
		.region = region, .data = memory, .max_bytes = BLOCKS * BLOCK_BYTES};
	struct weir_call *call = block_read_1_begin(conn, &params, &range, &room, 1);
	uint32_t before = ended;

	check(call && weir_call_submit(call) == 0, "weir_call_submit");
	while (ended == before)
		weir_engine_poll(engine, 0, now_ns());
}

int main(void)
{
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event};
	struct weir_profile profile;
	struct weir_engine *engine;
	struct weir_conn *conn;
	char address[32];

	snprintf(address, sizeof(address), "page-blocks-%d", getpid());
	memory = start_sides();
	weir_profile_defaults(&profile);
	check(weir_engine_create(&profile, &engine) == 0, "weir_engine_create");
	check(weir_engine_add_region(engine, region) == 0, "weir_engine_add_region");
	if (responder == 0)
		respond(engine, address);
	wait_for_responder();
	check(weir_connect(engine, address, &options, &conn) == 0, "weir_connect");
	while (!is_open)
		weir_engine_poll(engine, 0, now_ns());
	read_blocks(engine, conn, 3, 2);
	check(result.status == BLOCK_OK && result.data.len_bytes == 2 * BLOCK_BYTES &&
		      memory[0] == 4 && memory[2 * BLOCK_BYTES - 1] == 5,
	      "the blocks are wrong");
	read_blocks(engine, conn, BLOCKS - 1, 2);
	check(result.status == BLOCK_RANGE, "a block after the last one was read");
	end(0);
}
