/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of the block store. Each thread of a runtime has a shard: an engine and blocks. */
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

static struct weir_runtime *runtime;
static struct shard shards[SHARDS_MAX]; /* by thread; only this thread uses the shard */

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

/* Allocates the blocks of a shard, on its thread and on the NUMA node of its core. */
static int init(struct weir_runtime *of, uint32_t thread, void *arg)
{
	struct shard *shard = &shards[thread];
	const struct options *options = arg;
	const struct weir_region_options how = {.struct_bytes = sizeof(how),
						.len_bytes = options->blocks * BLOCK_BYTES,
						.flags = WEIR_REGION_PRIVATE,
						.numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};

	example_check(weir_region_create(&how, &shard->region), "the blocks of a shard");
	weir_region_info(shard->region, &info);
	shard->base = info.base;
	shard->blocks = options->blocks;
	return weir_engine_add_region(weir_runtime_engine(of, thread), shard->region);
}

/* Listens for each shard, with its own engine only. */
static void listen_for_shards(const char *name)
{
	static const struct block_v1_handlers handlers = {on_null,  on_info,  on_read,
							  on_write, on_flush, on_discard};
	static struct block_v1_server servers[SHARDS_MAX];

	for (uint32_t i = 0; i < weir_runtime_threads(runtime); i++) {
		struct weir_engine *engine = weir_runtime_engine(runtime, i);
		struct weir_program program;
		const struct weir_listen_options how = {.struct_bytes = sizeof(how),
							.programs = &program,
							.nprograms = 1,
							.engines = &engine,
							.nengines = 1};
		char addr[100];

		servers[i] = (struct block_v1_server){&handlers, &shards[i]};
		program = block_v1_program(&servers[i]);
		program.arg_sink = place_write;
		snprintf(addr, sizeof(addr), "%s.%u", name, i);
		example_check(weir_runtime_listen(runtime, addr, &how), addr);
		printf("listening at %s\n", addr);
	}
	example_check_output();
}

static void on_signal(int number)
{
	(void)number;
	weir_runtime_quit(runtime);
}

void blockstore_serve(struct options *options)
{
	char why[512] = "";
	struct weir_runtime_options how = {.struct_bytes = sizeof(how),
					   .name = "blocks",
					   .nthreads = options->shards,
					   .init = init,
					   .arg = options,
					   .err = why,
					   .err_bytes = sizeof(why)};

	example_check(weir_runtime_create(&options->profile, &how, &runtime), why);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	listen_for_shards(options->listen);
	example_check(weir_runtime_start(runtime), "weir_runtime_start");
	weir_runtime_wait(runtime);
	weir_runtime_stop(runtime, 1000);
	for (uint32_t i = 0; i < weir_runtime_threads(runtime); i++)
		printf("%s.%u: %" PRIu64 " writes, %" PRIu64 " of them copied\n", options->listen,
		       i, shards[i].writes, shards[i].copied);
	weir_runtime_destroy(runtime);
	for (uint32_t i = 0; i < SHARDS_MAX; i++)
		weir_region_destroy(shards[i].region);
}
