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
 *   report_no_v2.c  replaces the three files report_v2.c, report_prop.c and report_rtr.c in a build
 * without version 2
 */

#include "emit.h"
#include "rdma1.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Returns the name of 'value' in a table of 'n' names, or "unknown" if the table has none. */
static inline const char *name_in(const char *const *names, size_t n, uint32_t value)
{
	return value < n && names[value] ? names[value] : "unknown";
}

/*
 * Decodes a message as the engine does, and writes all of it to 'e'. 'direction' is the kind of a
 * version 1 message. It is ignored for a version 2 message, which contains its own direction.
 */
void report_message(struct emit *e, const uint8_t *msg, uint32_t len,
		    enum rdma1_direction direction);

/*
 * Writes the header of a version 2 message and the data after it to 'e'. The fields have the names
 * of the drafts. Returns true if it has done so. Returns false if the message is not of version 2,
 * or if the build lacks version 2.
 */
bool report_version_2(struct emit *e, const uint8_t *msg, uint32_t len);

/*
 * report_rpc() writes the RPC header at the start of 'msg' to 'e', or an error if there is no valid
 * header. is_rpc_header() returns true if there is a valid header. Its authentication might still
 * be invalid.
 */
void report_rpc(struct emit *e, const uint8_t *msg, uint32_t len, enum rdma1_direction direction);
bool is_rpc_header(const uint8_t *msg, uint32_t len, enum rdma1_direction direction);

#endif
