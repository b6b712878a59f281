/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

/*
 * Reports decoded messages. The files of this folder:
 *
 *   main.c          parses the options, reads one message, and has it reported
 *   hex.[ch]        reads bytes in hex digits
 *   emit.[ch]       writes a tree of named values as JSON or as indented text
 *   report.[ch]     decodes a message, and reports the transport header of version 1
 *   report_rpc.c    reports RPC headers
 *   report_v2.[ch]  reports messages of version 2: the transport header
 *   report_prop.c   reports property lists of version 2
 *   report_rtr.c    reports operations of the extension of version 2
 *   report_no_v2.c  replaces these three in a build without version 2
 */

#include "emit.h"
#include "rdma1.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static inline const char *name_in(const char *const *names, size_t n, uint32_t value)
{
	return value < n && names[value] ? names[value] : "unknown";
}

/*
 * Decodes a message as the engine does, and reports all of it to 'e'. 'direction' applies to a
 * version 1 message. A version 2 message has its own direction.
 */
void report_message(struct emit *e, const uint8_t *msg, uint32_t len,
		    enum rdma1_direction direction);

/*
 * Reports the header of a version 2 message and the data after it. The fields have the names of the
 * drafts. Returns false if the message is not of version 2, or if the build lacks version 2.
 */
bool report_version_2(struct emit *e, const uint8_t *msg, uint32_t len);

/*
 * report_rpc() reports the RPC header at the start of 'msg', or that there is none. is_rpc_header()
 * returns true when there is one.
 */
void report_rpc(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction);
bool is_rpc_header(const uint8_t *msg, uint32_t len, enum rdma1_direction direction);

#endif
