/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

/* Definitions for all public headers: the mark of exported functions, and the rule for structures
 * to which later versions append members. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Marks a function that libweir exports.
 *
 * A style check keeps three sets equal: the functions with this mark, the functions that the shared
 * library exports, and the functions of the public headers whose names begin with weir_.
 */
#define WEIR_API __attribute__((visibility("default")))

/*
 * Structures that can grow. A later version of weir can append members to a structure that begins
 * with 'struct_bytes'. The application sets this member to the size of the structure, as it was
 * compiled, before it calls weir. Then each version of the library works with applications that
 * were compiled with older or newer headers.
 *
 * 1. Structures that weir fills in: weir_counter_info, weir_conn_info, weir_call_info,
 *    weir_request_info, weir_histogram_bucket, weir_procedure_latency, weir_peer,
 *    weir_region_info and weir_capture_status.
 *
 *        struct weir_region_info info = {.struct_bytes = sizeof(info)};
 *        weir_region_info(region, &info);
 *
 *    weir writes at most 'struct_bytes' bytes. It sets members that the library does not know to 0.
 *    If 'struct_bytes' is 0, weir writes nothing. If the application does not set 'struct_bytes',
 *    weir can write past the end of the structure.
 *
 * 2. Structures that the application fills in: weir_profile, weir_region_options,
 *    weir_connect_options, weir_listen_options, weir_program, weir_call_params, weir_ulb,
 *    weir_runtime_options and weir_capture_options.
 *
 *        struct weir_connect_options options = {.struct_bytes = sizeof(options), .credits = 32};
 *        weir_connect(engine, addr, &options, &conn);
 *
 *    Members that the application does not have are 0. 0 always stands for the behaviour of the
 *    versions without the member. In a profile, members that the application does not have get the
 *    defaults of their keys instead. weir_profile_defaults() sets 'struct_bytes' of a profile.
 *
 *    Set all other members, too, at least to 0. A function fails in these cases, and logs the
 *    reason:
 *    - -EINVAL: 'struct_bytes' is smaller than the structure was in any version, or above 65536. In
 *      most cases, the application has not set it.
 *    - -E2BIG: the application was compiled with newer headers than the library, and one of the
 *      members that the library does not know is not 0.
 *
 *    The elements of an array, such as weir_listen_options.programs, are 'struct_bytes' of the
 *    first element apart. All elements have the same 'struct_bytes'.
 *
 * 3. Structures that weir allocates: weir_result and weir_arg_sink. They have no 'struct_bytes'.
 *    Later versions can append members, which older applications do not see. An application must
 *    not copy such a structure to one that it passes to weir.
 *
 * 4. Structures that never change: weir_ulb_proc, weir_rpc_auth, weir_rpc_auth_sys,
 *    weir_rpc_call_header, weir_rpc_reply_header, weir_xdr_part, weir_xdr_in, weir_xdr_out,
 *    weir_xdr_opaque, weir_xdr_string, weir_xdr_item, weir_xdr_room, weir_xdr_arena and
 *    weir_runtime_mail. Inline functions of the headers and generated code use them, or
 *    applications have arrays of them.
 */

/** Surrounds the declarations of each public header. In C++ they have C linkage. */
#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS	 }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

/** The sides of a connection. */
enum weir_side {
	WEIR_REQUESTER = 0, /**< this side makes calls */
	WEIR_RESPONDER = 1, /**< this side serves requests */
};

/** Lets the flags of an enumeration be combined in C++, where the result of | is otherwise an int.
 */
#ifndef __cplusplus
#define WEIR_FLAG_ENUM(type)
#else
#define WEIR_FLAG_ENUM(type)                                                                       \
	extern "C++" {                                                                             \
	WEIR_FLAG_OPERATOR(type, |)                                                                \
	WEIR_FLAG_OPERATOR(type, &)                                                                \
	WEIR_FLAG_OPERATOR(type, ^)                                                                \
	}
/* Defines a binary operator for flags, and the operator that assigns its result. */
#define WEIR_FLAG_OPERATOR(type, op)                                                               \
	constexpr type operator op(type a, type b)                                                 \
	{                                                                                          \
		return static_cast<type>(static_cast<unsigned>(a) op static_cast<unsigned>(b));    \
	}                                                                                          \
	inline type &operator op##=(type &a, type b)                                               \
	{                                                                                          \
		return a = a op b;                                                                 \
	}
#endif

#endif
