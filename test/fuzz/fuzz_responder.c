/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target that runs a whole engine against a hostile peer, over simulated hardware. The bits of
 * the first byte of an input mean:
 * - bit 0: the hostile side is a responder, and this side is a requester. Otherwise it is the
 *   reverse.
 * - bit 1: the hostile side announces inline thresholds.
 * - bit 2: this side speaks version 2 as well. If the hostile side is a responder, the first record
 *   is its answer to the request for version 2.
 * - bit 3: this side uses the extension of version 2.
 *
 * The rest is the input of the peer (fuzz_peer.h).
 *
 * Apart from crashes, these are errors:
 * - A call does not end exactly once.
 * - A second connection of the same engines does not continue.
 * - After the hostile peer has disconnected, its connection or one of its buffers is left.
 *
 * The same input always has the same effects, because latencies are constant and each run starts at
 * a tick of the engines.
 */
#include <rte_random.h>

#include <weir/call.h>
#include <weir/request.h>

#include "engine.h"
#include "fuzz_peer.h"
#include "sim.h"

#define PROG	     0x20000099u
#define VERS	     3u
#define REGION_BYTES (1u << 18)
#define ITEM_MAX     (1u << 16)
#define STEPS_MAX    4000u
#define QUIET_NS     1000000u
#define LATER_MAX    8u
#define CALLS	     6u

/* The procedures of the program, which are those of the tests in test/rpc. */
enum { NULL_PROC, ECHO, READ, WRITE, MULTI, LATER, GARBAGE, FAIL, DENY, PLACED, BIG, NPROCS };

static struct weir_engine *engines[2]; /* the engine of the requester, and that of the responder */
static struct weir_region *regions[2];
static uint8_t *memory[2];
static struct sim_world *world;
static struct peer peer;
static struct weir_conn *friendly; /* the second connection, whose peer is not hostile */
static struct weir_request *later[LATER_MAX];
static uint32_t nlater;

static const struct weir_ulb_proc ulb_procs[] = {
	{.proc = READ, .result_items_max = 1},
	{.proc = WRITE, .arg_items_max = 1},
	{.proc = MULTI, .arg_items_max = 2, .result_items_max = 2},
	{.proc = PLACED, .arg_items_max = 1},
};

static const struct weir_ulb ulb = {
	.struct_bytes = sizeof(ulb),
	.name = "fuzz",
	.prog = PROG,
	.vers_low = VERS,
	.vers_high = VERS,
	.procs = ulb_procs,
	.nprocs = sizeof(ulb_procs) / sizeof(ulb_procs[0]),
};

/* ---- the responder's program ---- */

static void reply_items(struct weir_request *req, uint32_t nitems, const uint32_t *lens)
{
	struct weir_xdr_out *out = weir_request_results(req, 4 + 8 * nitems);

	for (uint32_t i = 0; out && i < nitems; i++) {
		REQUIRE(weir_request_result_item(req, regions[1], memory[1] + i * ITEM_MAX,
						 lens[i]) == 0);
		weir_xdr_put_u32(out, i);
	}
	weir_request_reply(req);
}

static void reply_opaque(struct weir_request *req, const void *data, uint32_t len)
{
	struct weir_xdr_out *out = weir_request_results(req, 8 + len);

	if (out)
		weir_xdr_put_opaque(out, data, len);
	weir_request_reply(req);
}

static void handle_items(struct weir_request *req, uint32_t nitems)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t lens[2] = {0}, before, after;
	const void *data[2];

	weir_xdr_get_u32(args, &before);
	for (uint32_t i = 0; i < nitems; i++) {
		if (weir_xdr_get_opaque_ref(args, &data[i], ITEM_MAX, &lens[i]) == 0)
			memmove(memory[1] + i * ITEM_MAX, data[i], lens[i]);
		weir_xdr_get_u32(args, &after);
	}
	if (args->failed || weir_xdr_remaining(args) != 0)
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
	else
		reply_items(req, nitems - 1, lens);
}

static void release_later(void)
{
	while (nlater > 0) {
		struct weir_request *req = later[--nlater];

		reply_opaque(req, memory[1], 10);
	}
}

static void handle(struct weir_request *req, void *arg)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t proc = weir_request_header(req)->proc, len = 0;
	const void *data;

	(void)arg;
	switch (proc) {
	case ECHO:
		if (weir_xdr_get_opaque_ref(args, &data, ITEM_MAX, &len) == 0)
			reply_opaque(req, data, len);
		else
			weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	case READ:
	case BIG:
		if (weir_xdr_get_u32(args, &len) != 0 || len > ITEM_MAX)
			weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		else if (proc == READ)
			reply_items(req, 1, &len);
		else
			reply_opaque(req, memory[1], len);
		return;
	case WRITE:
	case PLACED:
		handle_items(req, 1);
		return;
	case MULTI:
		handle_items(req, 2);
		return;
	case LATER:
		later[nlater++] = req;
		if (nlater == LATER_MAX)
			release_later();
		return;
	case GARBAGE:
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	case FAIL:
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	case DENY:
		weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK);
		return;
	default:
		weir_request_results(req, 0);
		weir_request_reply(req);
	}
}

static int place(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
		 void *arg)
{
	(void)arg;
	if (weir_request_header(req)->proc != PLACED || len > ITEM_MAX)
		return -1;
	sink->region = regions[1];
	sink->data = memory[1] + item * ITEM_MAX;
	return 0;
}

/* ---- the requester's calls ---- */

struct call_end {
	int done;
	int status;
};

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct call_end *end = arg;
	const void *data;
	uint32_t len, sum = 0, word;

	end->done++;
	end->status = result->status;
	if (result->status != 0 || result->reply->accept_stat != WEIR_RPC_SUCCESS)
		return;
	for (uint32_t i = 0; i < result->nitems; i++)
		REQUIRE(result->item_bytes[i] <= ITEM_MAX ||
			result->item_bytes[i] == WEIR_ITEM_INLINE);
	if (weir_result_opaque(call, result, 0, &data, ITEM_MAX, &len) == 0)
		for (uint32_t i = 0; i < len; i++)
			sum += ((const uint8_t *)data)[i];
	while (weir_xdr_get_u32(result->results, &word) == 0)
		sum += word;
	/* The sum uses all bytes, so that the sanitizer checks all of them. */
	memory[0][REGION_BYTES - 1] = (uint8_t)sum;
}

static bool continues; /* the extension is on, so that a long call has three messages */

/* Begins a call of 'proc'. Returns false if the library refused it. */
static bool start_call(struct weir_conn *conn, uint32_t proc, struct call_end *end)
{
	bool is_long = continues && proc == ECHO;
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = PROG,
		.vers = VERS,
		.proc = proc,
		.args_max_bytes = is_long ? 9000 : 64,
		.results_max_bytes = proc == BIG ? 9000 : 64,
		.ulb = &ulb,
		.done = on_done,
		.arg = end,
	};
	struct weir_call *call = weir_call_begin(conn, &params);
	uint32_t nargs = proc == WRITE	 ? 1
			 : proc == MULTI ? 2
					 : 0,
		 nresults = proc == READ ? 1 : nargs / 2 * 2;

	memset(end, 0, sizeof(*end));
	if (!call)
		return false;
	weir_xdr_put_u32(weir_call_args(call), 1000);
	if (is_long)
		weir_xdr_put_opaque_fixed(weir_call_args(call), memory[0], 8900);
	for (uint32_t i = 0; i < nargs; i++) {
		REQUIRE(weir_call_arg_item(call, regions[0], memory[0] + i * ITEM_MAX, 5000 + i) ==
			0);
		weir_xdr_put_u32(weir_call_args(call), i);
	}
	for (uint32_t i = 0; i < nresults; i++)
		REQUIRE(weir_call_result_item(call, regions[0], memory[0] + (2 + i) * ITEM_MAX,
					      5001) == 0);
	if (weir_call_submit(call) == 0)
		return true;
	weir_call_abandon(call);
	return false;
}

/* ---- the world ---- */

static void step(void)
{
	if (!sim_step(world))
		sim_run_until(world, sim_now(world) + QUIET_NS / 4);
	for (int i = 0; i < 2; i++)
		weir_engine_poll(engines[i], 0, sim_now(world) + 1);
	peer_poll(&peer);
}

/* Advances the world until no event is left. */
static void settle(void)
{
	for (uint32_t i = 0, quiet = 0; i < STEPS_MAX && quiet < 8; i++) {
		quiet = sim_next(world) == UINT64_MAX ? quiet + 1 : 0;
		step();
	}
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct weir_conn **slot = arg;

	(void)conn;
	(void)error;
	if (event == WEIR_CONN_CLOSED)
		*slot = NULL;
}

static void connect_begin(const char *addr, struct weir_conn **slot)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = slot};

	REQUIRE(weir_connect(engines[0], addr, &options, slot) == 0);
}

static void connect_wait(struct weir_conn **slot)
{
	for (uint32_t i = 0; i < STEPS_MAX && *slot && !weir_conn_is_open(*slot); i++)
		step();
}

static void start(void)
{
	const struct weir_region_options region = {.struct_bytes = sizeof(region),
						   .len_bytes = REGION_BYTES,
						   .flags = WEIR_REGION_NO_HUGE,
						   .numa_node = -1};
	const struct weir_program program = {
		.struct_bytes = sizeof(program),
		.prog = PROG,
		.vers_low = VERS,
		.vers_high = VERS,
		.nprocs = NPROCS,
		.ulb = &ulb,
		.handle = handle,
		.arg_sink = place,
	};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_profile profile;
	struct sim_options options;
	struct weir_listener *listener;

	sim_options_init(&options);
	options.start.max_ns = options.start.min_ns;
	options.wire.max_ns = options.wire.min_ns;
	options.completion.max_ns = options.completion.min_ns;
	options.cm.max_ns = options.cm.min_ns;
	/* a burst that exceeds the credits waits for receives, so that all its messages arrive */
	options.rnr_retry = 7;
	world = sim_world_create(1, &options);
	REQUIRE(world != NULL);
	weir_profile_defaults(&profile);
	snprintf(profile.driver, sizeof(profile.driver), "sim");
	snprintf(profile.driver_options, sizeof(profile.driver_options), "world=%u",
		 sim_world_id(world));
	profile.page_bytes = 4096;
	/* creates the buffers for both versions; each input selects a version */
	profile.protocol = WEIR_PROTOCOL_AUTO;
	profile.extension = WEIR_EXTENSION_ALL;
	profile.target_bytes = 1024; /* messages of the peer can be longer than a target */
	profile.targets = 8;
	profile.round_trip_ns = profile.operation_ns = profile.message_ns = profile.copy_ns = 0;
	profile.connect_timeout_ms = 100;
	profile.credits = 8;
	profile.send_buffers = 64;
	profile.recv_buffers = 64;
	profile.shared_receives = WEIR_SHARED_RECEIVES_OFF;
	profile.long_buffers = 8;
	profile.bulk_buffers = 8;
	profile.long_buffer_bytes = 2 * ITEM_MAX;
	profile.bulk_buffer_bytes = 2 * ITEM_MAX;
	for (int i = 0; i < 2; i++) {
		struct weir_region_info info = {.struct_bytes = sizeof(info)};

		REQUIRE(weir_engine_create(&profile, &engines[i]) == 0);
		REQUIRE(weir_region_create(&region, &regions[i]) == 0);
		REQUIRE(weir_engine_add_region(engines[i], regions[i]) == 0);
		weir_region_info(regions[i], &info);
		memory[i] = info.base;
	}
	REQUIRE(weir_listen(engines[1], "ours", &listen, &listener) == 0);
	peer_open(&peer, profile.driver_options);
	peer_listen(&peer, "theirs");
	connect_begin("ours", &friendly);
	connect_wait(&friendly);
	REQUIRE(friendly != NULL && weir_conn_version(friendly) == 2);
	settle();
}

/* ---- one input ---- */

struct balance {
	uint32_t connections;
	uint32_t in_use[6];
};

static struct balance balance_of(const struct weir_engine *engine)
{
	return (struct balance){
		engine->nconnections,
		{engine->send_pool->in_use, engine->recv_pool->in_use, engine->long_pool->in_use,
		 engine->bulk_pool->in_use, engine->control_pool->in_use,
		 engine->reserve_pool->in_use},
	};
}

static void expect_friendly_works(void)
{
	struct call_end end;

	REQUIRE(friendly != NULL);
	REQUIRE(start_call(friendly, NULL_PROC, &end));
	for (uint32_t i = 0; i < STEPS_MAX && end.done == 0; i++)
		step();
	REQUIRE(end.done == 1 && end.status == 0);
}

static void play(const uint8_t *data, size_t size)
{
	bool burst;

	while (peer_play(&peer, &data, &size, &burst))
		for (int i = 0; !burst && i < 40; i++)
			step();
	settle();
}

static void against_responder(const uint8_t *data, size_t size)
{
	peer_connect(&peer, "ours");
	for (uint32_t i = 0; i < STEPS_MAX && !peer.is_established; i++)
		step();
	REQUIRE(peer.is_established);
	play(data, size);
	expect_friendly_works();
	peer_disconnect(&peer);
	settle();
	release_later(); /* their connections have ended, so that the replies are discarded */
}

/*
 * Connects to the hostile responder. If the requester speaks version 2, the first record is the
 * answer to its request for version 2.
 */
static void ask(struct weir_conn **conn, const uint8_t **data, size_t *size)
{
	bool burst;

	connect_begin("theirs", conn);
	for (uint32_t i = 0; i < 40 && *conn && !weir_conn_is_open(*conn); i++)
		step();
	if (*conn && !weir_conn_is_open(*conn))
		peer_play(&peer, data, size, &burst);
}

static void against_requester(const uint8_t *data, size_t size)
{
	static const uint32_t procs[CALLS] = {NULL_PROC, READ, WRITE, MULTI, BIG, ECHO};
	struct call_end ends[CALLS];
	struct weir_conn *conn = NULL;
	bool started[CALLS];

	ask(&conn, &data, &size);
	if (conn)
		connect_wait(&conn);
	for (uint32_t i = 0; i < CALLS; i++)
		started[i] = conn && start_call(conn, procs[i], &ends[i]);
	settle();
	play(data, size);
	expect_friendly_works();
	peer_disconnect(&peer);
	settle();
	REQUIRE(conn == NULL);
	for (uint32_t i = 0; i < CALLS; i++)
		REQUIRE(!started[i] || ends[i].done == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct balance before[2], after;

	if (size < 1)
		return 0;
	if (!world)
		start();
	rte_srand(1); /* the XIDs depend on this seed */
	sim_run_until(world, (sim_now(world) / QUIET_NS + 2) * QUIET_NS);
	settle();
	memset(peer.mem, 0, PEER_MEM_BYTES);
	for (int i = 0; i < 2; i++)
		engines[i]->profile.protocol = data[0] & 4 ? WEIR_PROTOCOL_AUTO : WEIR_PROTOCOL_V1;
	continues = data[0] & 8;
	for (int i = 0; i < 2; i++)
		engines[i]->profile.extension = continues ? WEIR_EXTENSION_ALL : WEIR_EXTENSION_OFF;
	peer.inline_bytes = data[0] & 2 ? PEER_INLINE : 0;
	for (int i = 0; i < 2; i++)
		before[i] = balance_of(engines[i]);
	if (data[0] & 1)
		against_requester(data + 1, size - 1);
	else
		against_responder(data + 1, size - 1);
	settle();
	expect_friendly_works();
	settle();
	for (int i = 0; i < 2; i++) {
		after = balance_of(engines[i]);
		REQUIRE(memcmp(&before[i], &after, sizeof(after)) == 0);
	}
	return 0;
}
