/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that starts DPDK's EAL itself, before it uses weir. weir then uses this EAL. An lcore
 * of EAL is the responder, and the main lcore is the requester, which reads a block (blockstore.x)
 * and ends. An argument is an option of EAL that replaces --no-huge, such as --in-memory.
 *
 * The blocks of the responder are memory of rte_malloc(). weir sends from it without a copy. A peer
 * over shm cannot map it, so that the requester cannot offer such memory for a result: the program
 * prints this error, too.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <weir/weir.h>

#include "blockstore_rpc.h"
#include "example.h"

#define BLOCKS	   16u
#define PAGE_BYTES 4096u

/* Memory that the program has allocated by rte_malloc(), and its region. */
struct memory {
	uint8_t *base;
	struct weir_region *region;
};

static char name[32]; /* at which the responder listens */
static atomic_bool is_listening, is_open, has_ended;

static void start_eal(const char *pages)
{
	char args[][32] = {"borrowed-eal", "",	       "--no-pci", "-m64", "--no-telemetry",
			   "--no-shconf",  "--lcores", ""};
	char *argv[RTE_DIM(args)];
	size_t cpu = 0;
	cpu_set_t set;

	/* Two lcores, on the first CPU that this process may use. */
	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	snprintf(args[1], sizeof(args[1]), "%s", pages);
	snprintf(args[RTE_DIM(args) - 1], sizeof(args[0]), "0@%zu,1@%zu", cpu, cpu);
	for (size_t i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	example_check(rte_eal_init(RTE_DIM(args), argv) < 0 ? -EIO : 0, "rte_eal_init");
}

static struct memory allocate(struct weir_engine *engine)
{
	struct memory memory = {.base = rte_zmalloc(NULL, BLOCKS * BLOCK_BYTES, PAGE_BYTES)};

	example_check(memory.base ? 0 : -ENOMEM, "rte_zmalloc");
	example_check(weir_region_adopt(memory.base, BLOCKS * BLOCK_BYTES, -1, 0, &memory.region),
		      "weir_region_adopt");
	example_check(weir_engine_add_region(engine, memory.region), "weir_engine_add_region");
	return memory;
}

static struct weir_engine *create_engine(void)
{
	struct weir_profile profile;
	struct weir_engine *engine;

	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_ADAPTIVE;
	example_check(weir_engine_create(&profile, &engine), "weir_engine_create");
	return engine;
}

static void poll_once(struct weir_engine *engine)
{
	uint64_t now_ns = example_now_ns();

	weir_engine_idle(engine, weir_engine_poll(engine, 0, now_ns), now_ns);
}

static void on_read(struct weir_request *req, const struct block_range *args, void *arg)
{
	const struct memory *memory = arg;
	struct block_read_result results = {.status = BLOCK_RANGE};

	if (args->first < BLOCKS && args->count == 1) {
		results.status = BLOCK_OK;
		results.data.region = memory->region;
		results.data.data = memory->base + args->first * BLOCK_BYTES;
		results.data.len_bytes = BLOCK_BYTES;
	}
	if (block_read_1_reply(req, &results) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

/* The responder, on an lcore of EAL. */
static int respond(void *arg)
{
	static const struct block_v1_handlers handlers = {.block_read = on_read};
	struct weir_engine *engine = create_engine();
	struct memory memory = allocate(engine);
	struct block_v1_server server = {&handlers, &memory};
	const struct weir_program program = block_v1_program(&server);
	const struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;

	(void)arg;
	for (uint32_t i = 0; i < BLOCKS; i++)
		memset(memory.base + i * BLOCK_BYTES, (int)i, BLOCK_BYTES);
	example_check(weir_listen(engine, name, &options, &listener), name);
	atomic_store(&is_listening, true);
	while (!atomic_load(&has_ended))
		poll_once(engine);
	weir_listener_close(listener);
	weir_engine_destroy(engine);
	weir_region_destroy(memory.region);
	rte_free(memory.base);
	return 0;
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	(void)conn;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		atomic_store(&is_open, true);
	else if (!atomic_load(&has_ended))
		example_check(error ? error : -ENOTCONN, "the connection");
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	const uint8_t *block = arg;
	struct block_read_result read;

	example_check(block_read_1_results(call, result, &read), "READ");
	example_check(read.status == BLOCK_OK && block[0] == 3 && block[BLOCK_BYTES - 1] == 3
			      ? 0
			      : -EILSEQ,
		      "the block");
	atomic_store(&has_ended, true);
}

/* Reads block 3 into the memory of a region. */
static int read_block(struct weir_conn *conn, const struct weir_region *region, uint8_t *data)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = data};
	const struct block_range range = {3, 1};
	const struct weir_xdr_room room = {region, data, BLOCK_BYTES};
	struct weir_call *call = block_read_1_begin(conn, &params, &range, &room, 1);

	return call ? weir_call_submit(call) : -errno;
}

int main(int argc, char **argv)
{
	const struct weir_connect_options how = {.struct_bytes = sizeof(how), .on_event = on_event};
	const struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = BLOCK_BYTES, .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_region *region;
	struct weir_engine *engine;
	struct memory memory;
	struct weir_conn *conn;

	start_eal(argc > 1 ? argv[1] : "--no-huge");
	snprintf(name, sizeof(name), "borrowed-eal-%d", getpid());
	rte_eal_remote_launch(respond, NULL, 1);
	engine = create_engine();
	while (!atomic_load(&is_listening))
		poll_once(engine);
	memory = allocate(engine);
	example_check(weir_region_create(&options, &region), "weir_region_create");
	example_check(weir_engine_add_region(engine, region), "weir_engine_add_region");
	weir_region_info(region, &info);
	example_check(weir_connect(engine, name, &how, &conn), name);
	while (!atomic_load(&is_open))
		poll_once(engine);
	printf("memory of rte_malloc for a result: %s\n",
	       strerror(-read_block(conn, memory.region, memory.base)));
	example_check(read_block(conn, region, info.base), "memory of weir for a result");
	while (!atomic_load(&has_ended))
		poll_once(engine);
	rte_eal_wait_lcore(1);
	weir_engine_destroy(engine);
	weir_region_destroy(region);
	weir_region_destroy(memory.region);
	rte_free(memory.base);
	puts("ok");
	example_check_output();
	return rte_eal_cleanup() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
