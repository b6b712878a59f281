/* SPDX-License-Identifier: BSD-3-Clause */

/* The binding and the handlers of the test program of a pair (the procedures of pair.h). */

#include "pair_program.h"

#include "compound.h"
#include "pair.h"
#include "pair_memory.h"

static const struct weir_ulb_proc ulb_procs[] = {
	{.proc = PAIR_READ, .result_items_max = 1},
	{.proc = PAIR_WRITE, .arg_items_max = 1},
	{.proc = PAIR_MULTI, .arg_items_max = 2, .result_items_max = 2},
	{.proc = PAIR_LATER, .arg_items_max = 1},
	{.proc = PAIR_FIXED, .result_items_max = 1},
	{.proc = PAIR_COMPOUND, .result_items_max = COMPOUND_OPS_MAX},
};

const struct weir_ulb pair_ulb = {
	.struct_bytes = sizeof(pair_ulb),
	.name = "pair",
	.prog = PAIR_PROG,
	.vers_low = PAIR_VERS,
	.vers_high = PAIR_VERS,
	.procs = ulb_procs,
	.nprocs = sizeof(ulb_procs) / sizeof(ulb_procs[0]),
};

int pair_arg_sink(struct weir_request *req, uint32_t item, uint32_t len, struct weir_arg_sink *sink,
		  void *arg)
{
	struct pair *pair = arg;

	pair->asked++;
	if (!pair->place_writes)
		return -1;
	assert_true(len <= 1u << 20 && item < 2);
	sink->region = pair->server_region;
	sink->data = pair->server_mem + 65536 + item * (2u << 20);
	return pair->on_sink ? pair->on_sink(req, item, sink) : 0;
}

static void garbage(struct weir_request *req)
{
	weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
}

static void handle_echo(struct weir_request *req)
{
	struct weir_xdr_out *out;
	const void *data;
	uint32_t len;

	if (weir_xdr_get_opaque_ref(weir_request_args(req), &data, PAIR_MEMORY_BYTES, &len) != 0) {
		garbage(req);
		return;
	}
	out = weir_request_results(req, 8 + len);
	assert_non_null(out);
	weir_xdr_put_opaque(out, data, len);
	weir_request_reply(req);
}

static void reply_with_item(struct weir_request *req, struct pair *pair, uint32_t len)
{
	int rc;

	assert_non_null(weir_request_results(req, 4));
	rc = weir_request_result_item(req, pair->server_region, pair->server_mem, len);
	assert_int_equal(rc, 0);
	weir_request_reply(req);
}

static void handle_read(struct weir_request *req, struct pair *pair)
{
	uint32_t count;

	if (weir_xdr_get_u32(weir_request_args(req), &count) != 0) {
		garbage(req);
		return;
	}
	reply_with_item(req, pair, count);
}

static void handle_fixed(struct weir_request *req, struct pair *pair)
{
	reply_with_item(req, pair, PAIR_FIXED_BYTES);
}

static void handle_big(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_out *out;
	uint32_t count;

	if (weir_xdr_get_u32(weir_request_args(req), &count) != 0) {
		garbage(req);
		return;
	}
	out = weir_request_results(req, count + 8);
	if (!out) {
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	weir_xdr_put_opaque(out, pair->server_mem, count);
	weir_request_reply(req);
}

static void reply_write(struct weir_request *req, struct pair_results *results)
{
	struct weir_xdr_out *out = weir_request_results(req, 12);

	if (!out) {
		weir_request_set_user(req, results);
		weir_request_release_args(req);
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		weir_xdr_put_u32(out, results->words[i]);
	weir_request_reply(req);
}

static void handle_write(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t before = 0, after = 0, len = 0, sum = 0;
	struct pair_results *results;
	const void *data = NULL;

	if (weir_request_args_released(req)) {
		assert_int_equal(weir_xdr_remaining(args), 0);
		reply_write(req, weir_request_user(req));
		return;
	}

	weir_xdr_get_u32(args, &before);
	weir_xdr_get_opaque_ref(args, &data, PAIR_MEMORY_BYTES, &len);
	weir_xdr_get_u32(args, &after);
	if (args->failed || weir_xdr_remaining(args) != 0) {
		garbage(req);
		return;
	}
	for (uint32_t i = 0; i < len; i++)
		sum = sum * 33 + ((const uint8_t *)data)[i];
	results = &pair->results[pair->nresults++ % PAIR_RESULTS_MAX];
	*results = (struct pair_results){{before + after, len, sum}};
	reply_write(req, results);
}

static void handle_multi(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_in *args = weir_request_args(req);
	uint32_t a = 0, b = 0, c = 0, len[2] = {0};
	const void *data[2] = {NULL};
	struct weir_xdr_out *out;
	uint8_t *mem = pair->server_mem + (1u << 20);

	weir_xdr_get_u32(args, &a);
	weir_xdr_get_opaque_ref(args, &data[0], 1u << 19, &len[0]);
	weir_xdr_get_u32(args, &b);
	weir_xdr_get_opaque_ref(args, &data[1], 1u << 19, &len[1]);
	weir_xdr_get_u32(args, &c);
	if (args->failed || weir_xdr_remaining(args) != 0) {
		garbage(req);
		return;
	}
	memcpy(mem, data[0], len[0]);
	memcpy(mem + (1u << 19), data[1], len[1]);
	out = weir_request_results(req, 32);
	weir_xdr_put_u32(out, a);
	if (a == PAIR_ABSENT)
		assert_int_equal(weir_request_result_absent(req), 0);
	else
		weir_request_result_item(req, pair->server_region, mem, len[0]);
	weir_xdr_put_u32(out, c);
	weir_request_result_item(req, pair->server_region, mem + (1u << 19), len[1]);
	weir_xdr_put_u32(out, b);
	weir_request_reply(req);
}

void pair_handle(struct weir_request *req, void *arg)
{
	struct pair *pair = arg;
	struct weir_xdr_out *out;

	pair->handled++;
	if (pair->on_handle)
		pair->on_handle(pair);
	pair->cred_flavor = weir_request_header(req)->cred.flavor;
	switch (weir_request_header(req)->proc) {
	case PAIR_NULL:
		weir_request_results(req, 0);
		weir_request_reply(req);
		break;
	case PAIR_ECHO:
		handle_echo(req);
		break;
	case PAIR_READ:
		handle_read(req, pair);
		break;
	case PAIR_FIXED:
		handle_fixed(req, pair);
		break;
	case PAIR_BIG:
		handle_big(req, pair);
		break;
	case PAIR_WRITE:
		handle_write(req, pair);
		break;
	case PAIR_COMPOUND:
		compound_handle(req, pair);
		break;
	case PAIR_MULTI:
		handle_multi(req, pair);
		break;
	case PAIR_LATER:
		assert_true(pair->nlater < PAIR_LATER_MAX);
		pair->later[pair->nlater++] = req;
		if (pair->on_later)
			pair->on_later(pair);
		break;
	case PAIR_GARBAGE:
		garbage(req);
		break;
	case PAIR_FAIL:
		if (pair->forgets)
			weir_request_skip_replay_cache(req);
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		break;
	case PAIR_DENY:
		weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK);
		break;
	case PAIR_OVERRUN:
		out = weir_request_results(req, 4);
		while (weir_xdr_put_u32(out, 1) == 0)
			;
		weir_request_reply(req);
		break;
	}
}

void pair_release_later(struct pair *pair)
{
	for (uint32_t i = 0; i < pair->nlater; i++) {
		struct weir_request *req = pair->later[i];
		struct weir_xdr_out *out = weir_request_results(req, 4);
		uint32_t value = 0;

		weir_xdr_get_u32(weir_request_args(req), &value);
		weir_xdr_put_u32(out, value + 1);
		weir_request_reply(req);
	}
	pair->nlater = 0;
}
