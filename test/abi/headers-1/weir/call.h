/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CALL_H
#define WEIR_CALL_H

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_call;

struct weir_result {
	int status;

	uint32_t rdma_err;

	const struct weir_rpc_reply_header *reply;

	struct weir_xdr_in *results;

	const uint32_t *item_bytes;
	uint32_t nitems;
};

#define WEIR_ITEM_INLINE UINT32_MAX

typedef void (*weir_call_done_fn)(struct weir_call *call, const struct weir_result *result,
				  void *arg);

struct weir_call_params {
	size_t struct_bytes;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;

	uint32_t args_max_bytes;

	uint32_t results_max_bytes;

	uint64_t timeout_ns;
	const struct weir_rpc_auth *cred;
	const struct weir_rpc_auth *verf;

	const struct weir_ulb *ulb;
	weir_call_done_fn done;
	void *arg;
};

WEIR_API struct weir_call *weir_call_begin(struct weir_conn *conn,
					   const struct weir_call_params *params);

WEIR_API struct weir_call *weir_call_reuse(struct weir_call *call, struct weir_conn *conn);

WEIR_API struct weir_xdr_out *weir_call_args(struct weir_call *call);

WEIR_API int weir_call_arg_item(struct weir_call *call, const struct weir_region *region,
				const void *data, uint32_t len_bytes);

WEIR_API int weir_call_result_item(struct weir_call *call, const struct weir_region *region,
				   void *data, uint32_t max_bytes);

WEIR_API int weir_call_operation(struct weir_call *call);

WEIR_API int weir_call_submit(struct weir_call *call);

WEIR_API void weir_call_abandon(struct weir_call *call);

WEIR_API int weir_result_opaque(const struct weir_call *call, const struct weir_result *result,
				uint32_t item, const void **data, uint32_t max_bytes,
				uint32_t *len_bytes);

WEIR_API uint32_t weir_call_retransmits(const struct weir_call *call);

WEIR_API int weir_call_cancel(struct weir_call *call);

WEIR_API struct weir_conn *weir_call_conn(const struct weir_call *call);

WEIR_END_DECLS

#endif
