/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of the block store: a shard, which has an engine and a part of the blocks. */
#include <errno.h>
#include <inttypes.h>

#include <weir/weir.h>

#include "blockstore.h"
#include "blockstore_rpc.h"
#include "example.h"

struct shard {
	uint64_t blocks;
	struct weir_region *region;
	uint8_t *base;
	uint64_t writes, copied; /* calls of WRITE, and those whose data had to be copied */
};

/* Returns the first byte of a range of blocks, or NULL if the shard does not have all of them. */
static uint8_t *find(const struct shard *shard, uint64_t first, uint64_t count)
{
	if (first >= shard->blocks || count > shard->blocks - first)
		return NULL;
	return shard->base + first * BLOCK_BYTES;
}

static void on_null(struct weir_request *req, void *arg)
{
	(void)arg;
	if (block_null_1_reply(req) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void on_info(struct weir_request *req, void *arg)
{
	const struct shard *shard = arg;
	const struct block_device device = {shard->blocks, BLOCK_BYTES};

	if (block_info_1_reply(req, &device) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void on_read(struct weir_request *req, const struct block_range *args, void *arg)
{
	const struct shard *shard = arg;
	const uint8_t *data = find(shard, args->first, args->count);
	struct block_read_result results = {.status = BLOCK_RANGE};
	int rc;

	if (data && args->count <= BLOCKS_PER_CALL) {
		results.status = BLOCK_OK;
		results.data.region = shard->region;
		results.data.data = data;
		results.data.len_bytes = args->count * BLOCK_BYTES;
	}
	rc = block_read_1_reply(req, &results);
	if (rc == -ENOBUFS && weir_request_retry_when_buffers(req) == 0)
		return; /* weir calls the handler again */
	if (rc != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

/* [place_write] */
/* Chooses where weir pulls the data of a WRITE to: the blocks themselves. If the connection ends
 * meanwhile, it is not known which of the blocks were written, as with a disk. */
static int place_write(struct weir_request *req, uint32_t item, uint32_t len_bytes,
		       struct weir_arg_sink *sink, void *arg)
{
	const struct block_v1_server *server = arg;
	const struct shard *shard = server->arg;
	uint64_t first;

	if (item != 0 || weir_request_header(req)->proc != BLOCK_WRITE ||
	    len_bytes % BLOCK_BYTES != 0 || weir_xdr_get_u64(weir_request_args(req), &first) != 0)
		return -EINVAL;
	sink->region = shard->region;
	sink->data = find(shard, first, len_bytes / BLOCK_BYTES);
	return sink->data ? 0 : -EINVAL;
}
/* [end] */

static void on_write(struct weir_request *req, const struct block_write_args *args, void *arg)
{
	struct shard *shard = arg;
	uint8_t *blocks = find(shard, args->first, args->data.len_bytes / BLOCK_BYTES);
	enum block_status status = BLOCK_RANGE;

	if (blocks && args->data.len_bytes % BLOCK_BYTES == 0) {
		status = BLOCK_OK;
		shard->writes++;
		if (args->data.data != blocks) { /* the data came with the message */
			shard->copied++;
			memcpy(blocks, args->data.data, args->data.len_bytes);
		}
	}
	if (block_write_1_reply(req, &status) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

/* A store with a disk would wait for the disk here, and reply later. */
static void on_flush(struct weir_request *req, void *arg)
{
	const enum block_status status = BLOCK_OK;

	(void)arg;
	if (block_flush_1_reply(req, &status) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void on_discard(struct weir_request *req, const struct block_range *args, void *arg)
{
	uint8_t *blocks = find(arg, args->first, args->count);
	enum block_status status = blocks ? BLOCK_OK : BLOCK_RANGE;

	if (blocks)
		memset(blocks, 0, (size_t)args->count * BLOCK_BYTES);
	if (block_discard_1_reply(req, &status) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

/* Allocates the blocks of a shard, on the NUMA node of the calling thread. */
static void allocate(struct shard *shard, struct weir_engine *engine)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = shard->blocks * BLOCK_BYTES,
						    .flags = WEIR_REGION_PRIVATE,
						    .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};

	example_check(weir_region_create(&options, &shard->region), "the blocks of a shard");
	example_check(weir_engine_add_region(engine, shard->region), "weir_engine_add_region");
	weir_region_info(shard->region, &info);
	shard->base = info.base;
}

void blockstore_serve(const struct options *options, uint32_t index)
{
	static const struct block_v1_handlers handlers = {on_null,  on_info,  on_read,
							  on_write, on_flush, on_discard};
	struct shard shard = {.blocks = options->blocks};
	struct block_v1_server server = {&handlers, &shard};
	struct weir_program program = block_v1_program(&server);
	const struct weir_listen_options how = {
		.struct_bytes = sizeof(how), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;
	struct weir_engine *engine;
	char name[100];

	program.arg_sink = place_write;
	snprintf(name, sizeof(name), "%s.%u", options->listen, index);
	example_check(weir_engine_create(&options->profile, &engine), "weir_engine_create");
	allocate(&shard, engine);
	example_check(weir_listen(engine, name, &how, &listener), name);
	printf("listening at %s\n", name);
	fflush(stdout);
	while (!atomic_load(&example_ends)) {
		uint64_t now_ns = example_now_ns();

		weir_engine_idle(engine, weir_engine_poll(engine, 0, now_ns), now_ns);
	}
	printf("%s: %" PRIu64 " writes, %" PRIu64 " of them copied\n", name, shard.writes,
	       shard.copied);
	weir_listener_close(listener);
	weir_engine_destroy(engine);
	weir_region_destroy(shard.region);
}
