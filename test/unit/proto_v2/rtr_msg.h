/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RTR_MSG_H
#define RTR_MSG_H

/*
 * Messages of the extension for tests, which are built word by word without the encoder under test.
 */

#include "rdma2_msg.h"
#include "rtr.h"

struct rtr_decoded {
	struct decoded base;
	struct rtr_header rtr;
	enum rdma2_verdict verdict;
	uint32_t reason;
};

/*
 * Decodes a message in memory of exactly its size, which rtr_msg_free() frees. Fails the test if
 * the base decoder does not accept the message.
 */
static inline struct rtr_decoded rtr_msg_decode(const struct msg *m)
{
	struct rtr_decoded d;

	d.base = msg2_decode(m);
	assert_int_equal(d.base.verdict, RDMA2_V_OK);
	assert_int_equal(d.base.hdr.lists.proc, RDMA2_OPTIONAL);
	memset(&d.rtr, 0xff, sizeof(d.rtr));
	d.verdict =
		rtr_decode(d.base.msg, m->len, &d.base.hdr, &rtr_limits_default, &d.rtr, &d.reason);
	return d;
}

static inline void rtr_msg_free(struct rtr_decoded *d)
{
	msg2_free(&d->base);
}

static inline struct rtr_decoded rtr_msg_vector(const char *name)
{
	struct msg m;

	vector_read(name, &m);
	return rtr_msg_decode(&m);
}

static inline void assert_rtr(const struct msg *m, enum rdma2_verdict verdict, uint32_t reason)
{
	struct rtr_decoded d = rtr_msg_decode(m);

	assert_int_equal(d.reason, reason);
	assert_int_equal(d.verdict, verdict);
	rtr_msg_free(&d);
}

/* Writes the header up to rdma_optinfo. rtr_msg_end() sets the length of rdma_optinfo. */
static inline void rtr_msg_begin(struct msg *m, uint32_t direction, uint32_t opttype)
{
	msg2_begin(m, RDMA2_OPTIONAL);
	msg_u32(m, direction);
	msg_u32(m, opttype);
	msg_u32(m, 0);
}

static inline void rtr_msg_end(struct msg *m)
{
	msg_set_u32(m, 24, m->len - 28);
}

/* Adds the first two words of an RPC header, and zeros up to the given length. */
static inline void rtr_msg_payload(struct msg *m, uint32_t direction, uint32_t bytes)
{
	if (bytes < 8)
		return;
	msg_u32(m, MSG_XID);
	msg_u32(m, direction);
	for (uint32_t at = 8; at < bytes; at += 4)
		msg_u32(m, 0);
}

#endif
