/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_INSPECT_H
#define WEIR_INSPECT_H

#include <weir/common.h>
#include <weir/peer.h>

WEIR_BEGIN_DECLS

struct weir_engine;
struct weir_conn;
struct weir_call;
struct weir_request;

enum weir_conn_state {
	WEIR_CONN_STATE_CONNECTING = 0,
	WEIR_CONN_STATE_NEGOTIATING = 1,
	WEIR_CONN_STATE_OPEN = 2,
	WEIR_CONN_STATE_DRAINING = 3,
	WEIR_CONN_STATE_RECONNECTING = 4,
	WEIR_CONN_STATE_ENDING = 5,
};

struct weir_conn_info {
	size_t struct_bytes;
	struct weir_conn *conn;
	enum weir_side side;
	enum weir_conn_state state;
	uint32_t version;
	uint32_t send_inline_bytes;
	uint32_t recv_inline_bytes;
	uint32_t credits_granted;

	uint32_t credits_used;

	uint32_t calls_active;

	uint64_t calls;
	uint64_t age_ns;
	char peer[WEIR_PEER_ADDRESS_BYTES];
};

enum weir_call_state {
	WEIR_CALL_BUILDING = 0,
	WEIR_CALL_QUEUED = 1,
	WEIR_CALL_SENT = 2,
	WEIR_CALL_REPLIED = 3,
	WEIR_CALL_REVOKING = 4,
	WEIR_CALL_GIVEN_UP = 5,
	WEIR_CALL_ENDING = 6,
};

enum weir_request_state {
	WEIR_REQUEST_GATHERING = 0,
	WEIR_REQUEST_PULLING_CALL = 1,
	WEIR_REQUEST_PULLING = 2,
	WEIR_REQUEST_JOINING = 3,
	WEIR_REQUEST_HANDLING = 4,
	WEIR_REQUEST_DUPLICATE = 5,
	WEIR_REQUEST_REPLYING = 6,
	WEIR_REQUEST_SENT = 7,
};

struct weir_call_info {
	size_t struct_bytes;
	struct weir_call *call;
	struct weir_conn *conn;
	enum weir_call_state state;
	const char *waits_for;
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	uint32_t bytes;
	uint32_t retransmits;

	uint64_t age_ns;
};

struct weir_request_info {
	size_t struct_bytes;
	struct weir_request *request;
	struct weir_conn *conn;
	enum weir_request_state state;
	const char *waits_for;
	uint32_t bytes;
	uint32_t xid;

	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	uint64_t age_ns;
};

WEIR_API uint32_t weir_engine_conns(const struct weir_engine *engine, struct weir_conn_info *infos,
				    uint32_t n);

WEIR_API uint32_t weir_engine_calls(const struct weir_engine *engine, struct weir_call_info *infos,
				    uint32_t n);

WEIR_API uint32_t weir_engine_requests(const struct weir_engine *engine,
				       struct weir_request_info *infos, uint32_t n);

WEIR_API const char *weir_conn_state_name(enum weir_conn_state state);

WEIR_API const char *weir_call_state_name(enum weir_call_state state);

WEIR_API const char *weir_request_state_name(enum weir_request_state state);

WEIR_END_DECLS

#endif
