/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_RPC_H
#define WEIR_RPC_H

#include <weir/xdr.h>

WEIR_BEGIN_DECLS

#define WEIR_RPC_VERSION 2u

#define WEIR_RPC_AUTH_BODY_MAX 400u

#define WEIR_RPC_MACHINE_NAME_MAX 255u

#define WEIR_RPC_GIDS_MAX 16u

#define WEIR_RPC_CALL_HEADER_MIN 40u

#define WEIR_RPC_REPLY_HEADER_MIN 24u

enum weir_rpc_msg_type { WEIR_RPC_CALL = 0, WEIR_RPC_REPLY = 1 };

enum weir_rpc_reply_stat { WEIR_RPC_MSG_ACCEPTED = 0, WEIR_RPC_MSG_DENIED = 1 };

enum weir_rpc_accept_stat {
	WEIR_RPC_SUCCESS = 0,
	WEIR_RPC_PROG_UNAVAIL = 1,
	WEIR_RPC_PROG_MISMATCH = 2,
	WEIR_RPC_PROC_UNAVAIL = 3,
	WEIR_RPC_GARBAGE_ARGS = 4,
	WEIR_RPC_SYSTEM_ERR = 5,
};

enum weir_rpc_reject_stat { WEIR_RPC_MISMATCH = 0, WEIR_RPC_AUTH_ERROR = 1 };

enum weir_rpc_auth_stat {
	WEIR_RPC_AUTH_OK = 0,
	WEIR_RPC_AUTH_BADCRED = 1,
	WEIR_RPC_AUTH_REJECTEDCRED = 2,
	WEIR_RPC_AUTH_BADVERF = 3,
	WEIR_RPC_AUTH_REJECTEDVERF = 4,
	WEIR_RPC_AUTH_TOOWEAK = 5,
	WEIR_RPC_AUTH_INVALIDRESP = 6,
	WEIR_RPC_AUTH_FAILED = 7,
	WEIR_RPC_AUTH_KERB_GENERIC = 8,
	WEIR_RPC_AUTH_TIMEEXPIRE = 9,
	WEIR_RPC_AUTH_TKT_FILE = 10,
	WEIR_RPC_AUTH_DECODE = 11,
	WEIR_RPC_AUTH_NET_ADDR = 12,
	WEIR_RPC_GSS_CREDPROBLEM = 13,
	WEIR_RPC_GSS_CTXPROBLEM = 14,
};

enum weir_rpc_auth_flavor {
	WEIR_RPC_AUTH_NONE = 0,
	WEIR_RPC_AUTH_SYS = 1,
	WEIR_RPC_AUTH_SHORT = 2,
	WEIR_RPC_AUTH_DH = 3,
	WEIR_RPC_AUTH_GSS = 6,
	WEIR_RPC_AUTH_TLS = 7,
};

struct weir_rpc_auth {
	uint32_t flavor;
	uint32_t len_bytes;

	const uint8_t *body;
};

struct weir_rpc_auth_sys {
	uint32_t stamp;
	uint32_t name_len_bytes;
	const char *name;
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[WEIR_RPC_GIDS_MAX];
};

struct weir_rpc_call_header {
	uint32_t xid;
	uint32_t rpcvers;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	struct weir_rpc_auth cred;
	struct weir_rpc_auth verf;
};

struct weir_rpc_reply_header {
	uint32_t xid;
	uint32_t reply_stat;
	uint32_t accept_stat;
	uint32_t reject_stat;
	uint32_t auth_stat;
	uint32_t low;
	uint32_t high;
	struct weir_rpc_auth verf;
};

WEIR_API int weir_rpc_auth_sys_decode(const struct weir_rpc_auth *auth,
				      struct weir_rpc_auth_sys *sys);

WEIR_API int weir_rpc_auth_sys_encode(const struct weir_rpc_auth_sys *sys, uint8_t *buf,
				      struct weir_rpc_auth *auth);

WEIR_END_DECLS

#endif
