/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

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
