/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

#include <weir/binding.h>
#include <weir/connection.h>
#include <weir/rpc.h>

WEIR_BEGIN_DECLS

struct weir_request;
struct weir_listener;

typedef void (*weir_handler_fn)(struct weir_request *req, void *arg);

struct weir_arg_sink {
	const struct weir_region *region;
	void *data;
};

typedef int (*weir_arg_sink_fn)(struct weir_request *req, uint32_t item, uint32_t len_bytes,
				struct weir_arg_sink *sink, void *arg);

struct weir_program {
	size_t struct_bytes;
	uint32_t prog;
	uint32_t vers_low;
	uint32_t vers_high;

	uint32_t nprocs;
	const struct weir_ulb *ulb;
	weir_handler_fn handle;
	weir_arg_sink_fn arg_sink;
	void *arg;

	const bool *non_idempotent;
};

typedef void (*weir_listener_lost_fn)(struct weir_listener *listener, int error, void *arg);

typedef int (*weir_accept_fn)(const struct weir_peer *peer, void *arg);

struct weir_listen_options {
	size_t struct_bytes;

	const struct weir_program *programs;
	uint32_t nprograms;

	weir_conn_event_fn on_event;
	void *arg;

	struct weir_engine *const *engines;
	uint32_t nengines;
	weir_listener_lost_fn on_lost;
	weir_accept_fn accept;
};

WEIR_API int weir_listen(struct weir_engine *engine, const char *addr,
			 const struct weir_listen_options *options,
			 struct weir_listener **listener);

WEIR_API void weir_listener_close(struct weir_listener *listener);

WEIR_API const struct weir_rpc_call_header *weir_request_header(const struct weir_request *req);

WEIR_API struct weir_xdr_in *weir_request_args(struct weir_request *req);

WEIR_API struct weir_conn *weir_request_conn(const struct weir_request *req);

WEIR_API struct weir_engine *weir_request_engine(const struct weir_request *req);

WEIR_API void weir_request_set_user(struct weir_request *req, void *user);

WEIR_API void *weir_request_user(const struct weir_request *req);

WEIR_API struct weir_xdr_out *weir_request_results(struct weir_request *req, uint32_t max_bytes);

WEIR_API int weir_request_retry_when_buffers(struct weir_request *req);

WEIR_API void weir_request_release_args(struct weir_request *req);

WEIR_API bool weir_request_args_released(const struct weir_request *req);

WEIR_API int weir_request_result_item(struct weir_request *req, const struct weir_region *region,
				      const void *data, uint32_t len_bytes);

WEIR_API int weir_request_result_absent(struct weir_request *req);

WEIR_API void weir_request_operation(struct weir_request *req, uint32_t args_offset);

WEIR_API void weir_request_on_sent(struct weir_request *req, void (*fn)(void *arg), void *arg);

WEIR_API void weir_request_skip_replay_cache(struct weir_request *req);

WEIR_API void weir_request_reply(struct weir_request *req);

WEIR_API void weir_request_reply_error(struct weir_request *req, enum weir_rpc_accept_stat stat);

WEIR_API void weir_request_reply_denied(struct weir_request *req, enum weir_rpc_auth_stat stat);

WEIR_END_DECLS

#endif
