/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_RPC_H
#define WEIR_RPC_H

/*
 * ONC RPC message headers (RFC 5531 section 9): constants and structures. The library encodes and
 * decodes the headers. Applications get decoded headers as these structures.
 *
 * Thread of all functions: any.
 */

#include <weir/xdr.h>

WEIR_BEGIN_DECLS

#define WEIR_RPC_VERSION 2u /**< version of ONC RPC */
/** Maximum length in bytes of the body of a credential or verifier (RFC 5531 section 8.2). */
#define WEIR_RPC_AUTH_BODY_MAX 400u
/** Maximum length in bytes of the machine name in an AUTH_SYS credential (RFC 5531 appendix A). */
#define WEIR_RPC_MACHINE_NAME_MAX 255u
/** Maximum number of group IDs in an AUTH_SYS credential (RFC 5531 appendix A). */
#define WEIR_RPC_GIDS_MAX 16u
/** Length in bytes of the header of a call with AUTH_NONE as credential and verifier. */
#define WEIR_RPC_CALL_HEADER_MIN 40u
/** Length in bytes of the header of an accepted reply with AUTH_NONE as verifier. */
#define WEIR_RPC_REPLY_HEADER_MIN 24u

/** Message type: msg_type of RFC 5531 section 9. */
enum weir_rpc_msg_type { WEIR_RPC_CALL = 0, WEIR_RPC_REPLY = 1 };

/** Status of a reply: reply_stat of RFC 5531 section 9. */
enum weir_rpc_reply_stat { WEIR_RPC_MSG_ACCEPTED = 0, WEIR_RPC_MSG_DENIED = 1 };

/** Status of an accepted call: accept_stat of RFC 5531 section 9. */
enum weir_rpc_accept_stat {
	WEIR_RPC_SUCCESS = 0,
	WEIR_RPC_PROG_UNAVAIL = 1,
	WEIR_RPC_PROG_MISMATCH = 2,
	WEIR_RPC_PROC_UNAVAIL = 3,
	WEIR_RPC_GARBAGE_ARGS = 4,
	WEIR_RPC_SYSTEM_ERR = 5,
};

/** Why a call was denied: reject_stat of RFC 5531 section 9. */
enum weir_rpc_reject_stat { WEIR_RPC_MISMATCH = 0, WEIR_RPC_AUTH_ERROR = 1 };

/** Why authentication failed: auth_stat of RFC 5531 section 9. */
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

/** Authentication flavors: auth_flavor of RFC 5531 section 8.2, and IANA's registry. */
enum weir_rpc_auth_flavor {
	WEIR_RPC_AUTH_NONE = 0,
	WEIR_RPC_AUTH_SYS = 1,
	WEIR_RPC_AUTH_SHORT = 2,
	WEIR_RPC_AUTH_DH = 3,
	WEIR_RPC_AUTH_GSS = 6,
	WEIR_RPC_AUTH_TLS = 7,
};

/** A credential or a verifier: opaque_auth of RFC 5531 section 8.2. */
struct weir_rpc_auth {
	uint32_t flavor;    /**< enum weir_rpc_auth_flavor, or any other value */
	uint32_t len_bytes; /**< 0 to WEIR_RPC_AUTH_BODY_MAX */
	/**
	 * The body, not NUL-terminated. In a received header it points into the message. In the
	 * parameters of a call it points to the caller's memory.
	 */
	const uint8_t *body;
};

/** The body of an AUTH_SYS credential (RFC 5531 appendix A). */
struct weir_rpc_auth_sys {
	uint32_t stamp;			  /**< arbitrary ID that the caller generates */
	uint32_t name_len_bytes;	  /**< 0 to WEIR_RPC_MACHINE_NAME_MAX */
	const char *name;		  /**< name of the caller's machine, not NUL-terminated */
	uint32_t uid;			  /**< effective user ID */
	uint32_t gid;			  /**< effective group ID */
	uint32_t ngids;			  /**< 0 to WEIR_RPC_GIDS_MAX */
	uint32_t gids[WEIR_RPC_GIDS_MAX]; /**< supplementary group IDs */
};

/** The header of a call: call_body of RFC 5531 section 9. */
struct weir_rpc_call_header {
	uint32_t xid;		   /**< transaction ID */
	uint32_t rpcvers;	   /**< as received; weir denies calls with a value other than 2 */
	uint32_t prog;		   /**< program number */
	uint32_t vers;		   /**< version of the program */
	uint32_t proc;		   /**< procedure number */
	struct weir_rpc_auth cred; /**< credential */
	struct weir_rpc_auth verf; /**< verifier */
};

/** The header of a reply: reply_body of RFC 5531 section 9. */
struct weir_rpc_reply_header {
	uint32_t xid;	      /**< transaction ID */
	uint32_t reply_stat;  /**< enum weir_rpc_reply_stat */
	uint32_t accept_stat; /**< if accepted: enum weir_rpc_accept_stat */
	uint32_t reject_stat; /**< if denied: enum weir_rpc_reject_stat */
	uint32_t auth_stat;   /**< if AUTH_ERROR: enum weir_rpc_auth_stat */
	uint32_t low;	      /**< if PROG_MISMATCH or RPC_MISMATCH: lowest supported version */
	uint32_t high;	      /**< if PROG_MISMATCH or RPC_MISMATCH: highest supported version */
	struct weir_rpc_auth verf; /**< if accepted: verifier of the responder */
};

/**
 * Decodes the body of an AUTH_SYS credential.
 *
 * @param auth the credential
 * @param[out] sys the decoded body; its name points into auth->body
 * @retval 0 success
 * @retval -EINVAL the flavor is not AUTH_SYS
 * @retval -EBADMSG the length is wrong, the name exceeds 255 bytes, or there are more than 16
 * groups
 * @rfc 5531 appendix A
 */
WEIR_API int weir_rpc_auth_sys_decode(const struct weir_rpc_auth *auth,
				      struct weir_rpc_auth_sys *sys);

/**
 * Encodes the body of an AUTH_SYS credential.
 *
 * @param sys the body
 * @param[out] buf memory of WEIR_RPC_AUTH_BODY_MAX bytes; it must exist as long as *auth is in use
 * @param[out] auth the credential; its body points to buf
 * @retval 0 success
 * @retval -EINVAL the name or the number of groups exceeds its limit
 * @rfc 5531 appendix A
 */
WEIR_API int weir_rpc_auth_sys_encode(const struct weir_rpc_auth_sys *sys, uint8_t *buf,
				      struct weir_rpc_auth *auth);

WEIR_END_DECLS

#endif
