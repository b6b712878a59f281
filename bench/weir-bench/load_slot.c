/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the calls of a slot, adds their arguments, and checks their results. */
#include <errno.h>
#include <string.h>

#include "client.h"
#include "compiler.h"

static uint32_t next_random(struct client *client)
{
	uint32_t x = client->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return client->random = x;
}

static uint32_t choose_proc(struct client *client)
{
	switch (client->options->workload) {
	case WORKLOAD_NULL:
		return BENCH_NULL;
	case WORKLOAD_ECHO:
		return BENCH_ECHO;
	case WORKLOAD_READ:
		return BENCH_READ;
	case WORKLOAD_WRITE:
		return BENCH_WRITE;
	case WORKLOAD_LIST:
		return BENCH_LIST;
	default:
		return next_random(client) % 100 < client->options->read_percent ? BENCH_READ
										 : BENCH_WRITE;
	}
}

static uint64_t choose_offset(struct client *client)
{
	const struct bench_options *options = client->options;
	uint32_t block;

	if (client->nblocks < 2)
		return 0;
	if (options->is_sequential) {
		block = client->block++;
		if (client->block == client->nblocks)
			client->block = 0;
	} else {
		block = next_random(client) % client->nblocks;
	}
	return (uint64_t)block * options->read_bytes;
}

/* Returns false if the results of a call are not as expected. */
static bool check(struct load_slot *slot, const struct weir_call *call,
		  const struct weir_result *result)
{
	const struct bench_options *options = slot->link->client->options;
	struct bench_write_results written;
	uint32_t len = 0;
	const void *data;
	bench_data echoed;

	switch (slot->proc) {
	case BENCH_READ:
		if (weir_result_opaque(call, result, 0, &data, slot->len, &len) != 0 ||
		    len != slot->len)
			return false;
		return !options->verify || bench_pattern_matches(data, slot->offset, len);
	case BENCH_ECHO:
	case BENCH_LIST:
		if (bench_data_get(result->results, &echoed) != 0 || echoed.len_bytes != slot->len)
			return false;
		return !options->verify ||
		       bench_pattern_matches(echoed.data, slot->offset, echoed.len_bytes);
	case BENCH_WRITE:
		return bench_write_results_get(result->results, &written) == 0 && written.matched &&
		       written.count == slot->len;
	default:
		return weir_xdr_remaining(result->results) == 0;
	}
}

static void count(struct load_slot *slot, uint64_t now_ticks)
{
	struct client *client = slot->link->client;
	struct bench_result *r = &client->result;

	histogram_add(&r->rtt, bench_ticks_to_ns(&client->clock, now_ticks - slot->start_ticks));
	r->bytes += slot->proc == BENCH_NULL ? 0 : slot->len;
	r->bytes += slot->proc == BENCH_ECHO ? slot->len : 0;
	r->calls++;
	slot->link->calls++;
}

/* Returns the -errno that is recorded for a failed call. */
static int error_of(const struct weir_result *result)
{
	if (result->status == -EREMOTEIO &&
	    result->rdma_err == 1) /* ERR_VERS (RFC 8166 section 4.5.1) */
		return -EPROTONOSUPPORT;
	return result->status ? result->status : -EIO;
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct load_slot *slot = arg;
	struct client *client = slot->link->client;
	struct bench_result *r = &client->result;
	uint64_t now_ticks;

	client->in_flight--;
	if (unlikely(result->status != 0 || result->reply->reply_stat != WEIR_RPC_MSG_ACCEPTED ||
		     result->reply->accept_stat != WEIR_RPC_SUCCESS)) {
		r->errors++;
		if (r->first_error == 0)
			r->first_error = error_of(result);
		if (slot->link->is_gone ||
		    (!weir_conn_is_open(slot->link->conn) && !client->options->reconnect))
			return;
		now_ticks = rte_rdtsc();
	} else {
		if (unlikely(!check(slot, call, result)))
			r->verify_failures++;
		now_ticks = rte_rdtsc();
		client->completed++;
		if (client->pace.is_open_loop ? slot->is_counted : client->is_measuring)
			count(slot, now_ticks);
	}
	if (unlikely(client->pace.is_waiting)) {
		slot->due_ticks = now_ticks + client->pace.think_ticks;
		pace_put(&client->pace, slot);
	} else if (!client->is_stopping) {
		/*
		 * Reading the clock takes a tenth of the time of a call. If other calls are in
		 * flight, one reading serves both for the end of this call and for the start of the
		 * next one.
		 */
		load_slot_next(slot, call, client->in_flight > 0 ? now_ticks : rte_rdtsc());
	}
}

/*
 * Does the same as memset(at, 0, len), but is faster for short lengths. A call of memset() costs
 * about 6 % of a null RPC at depth 32 (doc/performance-log.rst).
 */
static inline void zero(uint8_t *at, uint32_t len)
{
	if (unlikely(len < 16 || len > 64)) {
		memset(at, 0, len);
		return;
	}
	memset(at, 0, 16);
	memset(at + len - 16, 0, 16);
	if (len > 32) {
		memset(at + 16, 0, 16);
		memset(at + len - 32, 0, 16);
	}
}

static int add_arguments(struct load_slot *slot, struct weir_call *call)
{
	struct client *client = slot->link->client;
	const struct bench_options *options = client->options;
	struct weir_xdr_out *args = weir_call_args(call);
	struct bench_place range = {.count = slot->len};
	uint8_t *at;

	switch (slot->proc) {
	case BENCH_READ:
		slot->offset = range.offset = choose_offset(client);
		bench_place_put(args, &range);
		if (options->verify)
			memset(slot->data, 0xa5, slot->len);
		/* Without data, no memory has to be exposed. */
		return slot->len == 0
			       ? 0
			       : weir_call_result_item(call, client->region, slot->data, slot->len);
	case BENCH_WRITE:
		slot->offset = options->verify ? next_random(client) : 0;
		if (options->verify)
			bench_pattern_fill(slot->data, slot->offset, slot->len);
		weir_xdr_put_u64(args, slot->offset);
		weir_xdr_put_u32(args, options->verify);
		return weir_call_arg_item(call, client->region, slot->data, slot->len);
	case BENCH_LIST:
		slot->offset = 0;
		return bench_place_put(args, &range);
	case BENCH_ECHO:
		if (options->verify) {
			slot->offset = next_random(client);
			bench_pattern_fill(slot->data, slot->offset, slot->len);
		}
		return weir_call_arg_item(call, client->region, slot->data, slot->len);
	default:
		at = weir_xdr_reserve(args, slot->len + weir_xdr_pad(slot->len));
		if (at)
			zero(at, slot->len + weir_xdr_pad(slot->len));
		return 0;
	}
}

/* Sets the sizes of the call's buffers, and the length of its data. */
static void size_call(struct load_slot *slot, struct weir_call_params *params)
{
	const struct bench_options *options = slot->link->client->options;

	slot->len = options->size_bytes;
	switch (slot->proc) {
	case BENCH_NULL:
		params->args_max_bytes = slot->len + 3;
		break;
	case BENCH_ECHO:
		params->args_max_bytes = 4;
		params->results_max_bytes = 4 + slot->len + weir_xdr_pad(slot->len);
		break;
	case BENCH_LIST:
		params->args_max_bytes = BENCH_PLACE_MAX_BYTES;
		params->results_max_bytes = 4 + slot->len + weir_xdr_pad(slot->len);
		break;
	case BENCH_READ:
		slot->len = options->read_bytes;
		params->args_max_bytes = BENCH_READ_1_ARGS_MAX_BYTES;
		params->results_max_bytes = BENCH_READ_1_RESULTS_MAX_BYTES;
		break;
	default:
		slot->len = options->write_bytes;
		params->args_max_bytes = BENCH_WRITE_1_ARGS_MAX_BYTES;
		params->results_max_bytes = BENCH_WRITE_1_RESULTS_MAX_BYTES;
	}
}

static struct weir_call *begin(struct load_slot *slot)
{
	struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = BENCH_PROG,
		.vers = BENCH_V1,
		.proc = slot->proc,
		.ulb = &bench_v1_ulb,
		.done = done,
		.arg = slot,
	};

	size_call(slot, &params);
	return weir_call_begin(slot->link->conn, &params);
}

bool load_slot_next(struct load_slot *slot, struct weir_call *ended, uint64_t start_ticks)
{
	struct client *client = slot->link->client;
	uint32_t proc;
	struct weir_call *call;
	int rc = 0;

	if (client->options->calls_max && client->calls_left-- == 0) {
		client->calls_left = 0;
		client->is_stopping = true;
		return false;
	}
	proc = choose_proc(client);
	if (client->options->takes_turns) {
		slot->link = &client->links[client->turn];
		client->turn = client->turn + 1 == client->nactive ? 0 : client->turn + 1;
	}
	if (ended && proc == slot->proc) {
		call = weir_call_reuse(ended, slot->link->conn);
	} else {
		slot->proc = proc;
		call = begin(slot);
	}
	slot->start_ticks = start_ticks;
	slot->is_counted = client->is_measuring;
	if (call) {
		rc = add_arguments(slot, call);
		if (rc == 0)
			rc = weir_call_submit(call);
		if (rc != 0)
			weir_call_abandon(call);
	} else {
		rc = -errno;
	}
	if (unlikely(rc != 0)) {
		client->result.errors++;
		if (client->result.first_error == 0)
			client->result.first_error = rc;
		client->is_stopping = true;
		return false;
	}
	client->in_flight++;
	return true;
}
