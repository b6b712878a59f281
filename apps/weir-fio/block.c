/* SPDX-License-Identifier: BSD-3-Clause */
/* The block store of apps/examples as a target. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <weir/weir.h>

#include "blockstore_rpc.h"
#include "clock.h"
#include "connect_hint.h"
#include "target.h"

struct block_io {
	struct target_io io;
	struct block_target *block;
	TAILQ_ENTRY(block_io) waiting;
};

TAILQ_HEAD(block_queue, block_io);

struct block_target {
	struct target base;
	struct weir_engine *engine;
	struct weir_conn *conn;
	struct bench_clock clock;
	struct block_device device;
	struct block_queue waiting; /* I/Os that wait for a slot or a buffer, in order */
	uint32_t in_flight;
	bool is_open;
	bool is_asked; /* 'device' is set, or the call for it has failed */
	int error;     /* a positive errno: all I/Os fail */
};

static struct block_target *to_block(struct target *target)
{
	return (struct block_target *)target;
}

static void block_on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct block_target *block = arg;

	(void)conn;
	if (event == WEIR_CONN_OPEN)
		block->is_open = true;
	if (event != WEIR_CONN_CLOSED)
		return;
	block->conn = NULL;
	if (block->error == 0)
		block->error = error != 0 ? -error : ECONNRESET;
}

static void block_end(struct block_io *io, int error)
{
	target_io_end(&io->block->base, &io->io, error,
		      error == ERANGE ? "the block is beyond the end of the device; reduce size="
				      : strerror(error));
}

/* Returns the result of a call as a positive errno, or 0. */
static int get_result(const struct block_io *io, struct weir_call *call,
		      const struct weir_result *result)
{
	struct block_read_result read = {.status = BLOCK_OK};
	int rc;

	if (result->status != 0)
		return -result->status;
	switch (io->io.op) {
	case TARGET_READ:
		rc = block_read_1_results(call, result, &read);
		if (rc == 0 && read.status == BLOCK_OK) {
			if (read.data.len_bytes != io->io.len_bytes)
				return EBADMSG;
			if (read.data.data != io->io.data) /* the data came with the message */
				memcpy(io->io.data, read.data.data, read.data.len_bytes);
		}
		break;
	case TARGET_WRITE:
		rc = block_write_1_results(call, result, &read.status);
		break;
	case TARGET_FLUSH:
		rc = block_flush_1_results(call, result, &read.status);
		break;
	default:
		rc = block_discard_1_results(call, result, &read.status);
	}
	if (rc != 0)
		return -rc;
	if (read.status == BLOCK_RANGE)
		return ERANGE;
	return read.status == BLOCK_OK ? 0 : EIO;
}

static void block_pump(struct block_target *block);

static void block_on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct block_io *io = arg;
	struct block_target *block = io->block;
	int error = get_result(io, call, result);

	block->in_flight--;
	block_end(io, block->error != 0 ? block->error : error);
}

static struct weir_call *begin(struct block_io *io)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = block_on_done, .arg = io};
	struct block_target *block = io->block;
	struct weir_region *region = block->base.region;
	const uint64_t first = io->io.offset / BLOCK_BYTES;
	const uint32_t len_bytes = (uint32_t)io->io.len_bytes;
	const struct block_range range = {first, (uint32_t)(io->io.len_bytes / BLOCK_BYTES)};
	const struct block_write_args write = {first, {io->io.data, len_bytes, region}};
	const struct weir_xdr_room room = {region, io->io.data, len_bytes};

	switch (io->io.op) {
	case TARGET_READ:
		return block_read_1_begin(block->conn, &params, &range, &room, 1);
	case TARGET_WRITE:
		return block_write_1_begin(block->conn, &params, &write);
	case TARGET_FLUSH:
		return block_flush_1_begin(block->conn, &params);
	default:
		return block_discard_1_begin(block->conn, &params, &range);
	}
}

/* Sends an I/O. Returns 0, EAGAIN if the I/O must wait, or another errno. */
static int block_start(struct block_io *io)
{
	struct block_target *block = io->block;
	struct weir_call *call;
	int rc;

	if (block->error != 0 || !block->conn)
		return block->error != 0 ? block->error : ENOTCONN;
	call = begin(io);
	rc = call ? -weir_call_submit(call) : errno;
	if (call && rc != 0)
		weir_call_abandon(call);
	if (rc == 0)
		block->in_flight++;
	/* A call that ends frees a slot and a buffer. If none is in flight, waiting never ends. */
	else if ((rc == ENOBUFS || rc == EAGAIN) && block->in_flight > 0)
		rc = EAGAIN;
	return rc;
}

/* Sends the I/Os that wait, in order, until one must wait longer. */
static void block_pump(struct block_target *block)
{
	struct block_io *io;

	while ((io = TAILQ_FIRST(&block->waiting))) {
		int rc = block_start(io);

		if (rc == EAGAIN)
			return;
		TAILQ_REMOVE(&block->waiting, io, waiting);
		if (rc != 0)
			block_end(io, rc);
	}
}

static void block_submit(struct target *target, struct target_io *io)
{
	struct block_target *block = to_block(target);
	struct block_io *block_io = (struct block_io *)io;
	int rc;

	block_io->block = block;
	if (io->op != TARGET_FLUSH &&
	    (io->offset % BLOCK_BYTES != 0 || io->len_bytes % BLOCK_BYTES != 0 ||
	     io->len_bytes / BLOCK_BYTES > UINT32_MAX)) {
		target_io_end(target, io, EINVAL,
			      "offsets and lengths must be multiples of 4096; see bs= and offset=");
		return;
	}
	rc = TAILQ_EMPTY(&block->waiting) ? block_start(block_io) : EAGAIN;
	if (rc == EAGAIN)
		TAILQ_INSERT_TAIL(&block->waiting, block_io, waiting);
	else if (rc != 0)
		block_end(block_io, rc);
}

static void block_poll(struct target *target, bool waits)
{
	struct block_target *block = to_block(target);
	uint64_t now_ns = bench_clock_ns(&block->clock);
	uint32_t work = weir_engine_poll(block->engine, 0, now_ns);

	block_pump(block);
	if (waits)
		weir_engine_idle(block->engine, work, now_ns);
}

static void block_abort(struct target *target)
{
	struct block_target *block = to_block(target);

	if (block->error == 0)
		block->error = EINTR;
	if (block->conn)
		weir_conn_close(block->conn);
	block_pump(block);
}

static void block_close(struct target *target)
{
	weir_engine_destroy(to_block(target)->engine);
	free(target);
}

static int connect_block(struct block_target *block, const struct target_options *options,
			 const struct weir_profile *profile)
{
	const struct weir_connect_options how = {
		.struct_bytes = sizeof(how),
		.on_event = block_on_event,
		.arg = block,
		.credits = profile->credits,
		.reconnect = WEIR_RECONNECT_ON,
	};
	int rc = -weir_connect(block->engine, options->server, &how, &block->conn);

	while (rc == 0 && !block->is_open) {
		block_poll(&block->base, true);
		rc = block->error;
	}
	if (rc == 0)
		return 0;
	return target_say(options->log, rc, "%s: %s%s", options->server, strerror(rc),
			  connect_hint(profile->driver, options->server, -rc));
}

static void on_info(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct block_target *block = arg;
	int rc = result->status;

	if (rc == 0)
		rc = block_info_1_results(call, result, &block->device);
	if (rc == 0 && (block->device.block_bytes != BLOCK_BYTES ||
			block->device.blocks > INT64_MAX / BLOCK_BYTES))
		rc = -EBADMSG;
	block->is_asked = true;
	if (rc != 0 && block->error == 0)
		block->error = -rc;
}

/* Asks for the number of blocks. */
static int ask_device(struct block_target *block)
{
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_info, .arg = block};
	struct weir_call *call = block_info_1_begin(block->conn, &params);
	int rc = call ? -weir_call_submit(call) : errno;

	while (rc == 0 && !block->is_asked) {
		block_poll(&block->base, true);
		rc = block->error;
	}
	if (rc == 0)
		rc = block->error;
	return rc == 0 ? 0
		       : target_say(block->base.log, rc,
				    "the server does not answer as a block store: %s; see "
				    "weir_server= and weir_protocol=",
				    strerror(rc));
}

static int block_open(const struct target_options *options, struct target **target)
{
	struct block_target *block = calloc(1, sizeof(*block));
	struct weir_profile profile;
	int rc;

	if (!block)
		return target_say(options->log, ENOMEM, "no memory for the target");
	block->base = (struct target){.ops = &target_block_ops, .log = options->log};
	TAILQ_INIT(&block->waiting);
	rc = target_profile(options, &profile);
	if (rc == 0) {
		block->base.page_bytes = profile.page_bytes;
		rc = -weir_engine_create(&profile, &block->engine);
		if (rc != 0)
			target_say(options->log, rc, "can't create an engine: %s", strerror(rc));
	}
	if (rc == 0) {
		bench_clock_init(&block->clock);
		rc = connect_block(block, options, &profile);
	}
	if (rc == 0)
		rc = ask_device(block);
	if (rc != 0) {
		block_close(&block->base);
		return rc;
	}
	*target = &block->base;
	return 0;
}

static int block_add_region(struct target *target, struct weir_region *region)
{
	return target_add_region(target, to_block(target)->engine, region);
}

static int block_size(struct target *target, const char *name, uint64_t *size_bytes)
{
	(void)name;
	*size_bytes = to_block(target)->device.blocks * BLOCK_BYTES;
	return 0;
}

static int block_open_file(struct target *target, const char *name, uint64_t end_bytes,
			   bool creates, struct target_file **file)
{
	uint64_t size_bytes = to_block(target)->device.blocks * BLOCK_BYTES;

	(void)name;
	(void)creates;
	*file = NULL;
	if (end_bytes <= size_bytes)
		return 0;
	return target_say(target->log, EINVAL,
			  "the device has %llu bytes, but the job uses %llu; reduce size=",
			  (unsigned long long)size_bytes, (unsigned long long)end_bytes);
}

static void block_close_file(struct target *target, struct target_file *file)
{
	(void)target;
	(void)file;
}

static int block_unlink(struct target *target, const char *name)
{
	return target_say(target->log, EOPNOTSUPP,
			  "%s: blocks can't be removed; leave out unlink=", name);
}

const struct target_ops target_block_ops = {
	.io_bytes = sizeof(struct block_io),
	.block_bytes = BLOCK_BYTES,
	.max_bytes = DATA_BYTES,
	.has_trim = true,
	.open = block_open,
	.close = block_close,
	.add_region = block_add_region,
	.size = block_size,
	.open_file = block_open_file,
	.close_file = block_close_file,
	.unlink = block_unlink,
	.submit = block_submit,
	.poll = block_poll,
	.abort = block_abort,
};
