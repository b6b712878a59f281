/* SPDX-License-Identifier: BSD-3-Clause */

/* The handler of PAIR_COMPOUND (compound.h). */

#include "compound.h"

#include <string.h>

static uint8_t *data_of(const struct pair *pair, uint32_t op)
{
	return pair->server_mem + (size_t)op * COMPOUND_BYTES_MAX;
}

static void put_result(struct weir_request *req, const struct pair *pair, struct weir_xdr_out *out,
		       uint32_t op, const struct compound_op *asked)
{
	uint8_t *data = data_of(pair, op);

	weir_request_operation(req, 4 + COMPOUND_OP_BYTES * op);
	weir_xdr_put_u32(out, asked->kind);
	if (asked->kind == COMPOUND_FAIL)
		assert_int_equal(weir_request_result_absent(req), 0);
	if (asked->kind != COMPOUND_READ)
		return;
	for (uint32_t i = 0; i < asked->count; i++)
		data[i] = compound_byte(op, i);
	assert_int_equal(weir_request_result_item(req, pair->server_region, data, asked->count), 0);
}

void compound_handle(struct weir_request *req, struct pair *pair)
{
	struct weir_xdr_in *args = weir_request_args(req);
	struct compound_op ops[COMPOUND_OPS_MAX] = {{0}};
	struct weir_xdr_out *out;
	uint32_t n = 0;

	weir_xdr_get_u32(args, &n);
	for (uint32_t i = 0; i < n && i < COMPOUND_OPS_MAX; i++) {
		weir_xdr_get_u32(args, &ops[i].kind);
		weir_xdr_get_u32(args, &ops[i].count);
	}
	if (n > COMPOUND_OPS_MAX || args->failed || weir_xdr_remaining(args) != 0) {
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	}
	out = weir_request_results(req, 4 + 8 * n);
	if (!out) {
		assert_int_equal(weir_request_retry_when_buffers(req), 0);
		return;
	}
	weir_xdr_put_u32(out, n);
	for (uint32_t i = 0; i < n; i++)
		put_result(req, pair, out, i, &ops[i]);
	weir_request_reply(req);
}
