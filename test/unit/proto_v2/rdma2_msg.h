/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RDMA2_MSG_H
#define RDMA2_MSG_H

/*
 * Transport headers of version 2 for tests, which are built word by word without the encoder under
 * test.
 */

#include <stdlib.h>

#include "rdma2.h"
#include "vectors.h"

static inline void msg2_begin(struct msg *m, uint32_t proc)
{
	msg_begin(m, proc);
	msg_set_u32(m, 4, 2);
}

/*
 * A decoded message. Its memory has exactly the size of the message. The header points into that
 * memory, which msg2_free() frees.
 */
struct decoded {
	uint8_t *msg;
	struct rdma2_header hdr;
	enum rdma2_verdict verdict;
	uint32_t reason;
};

static inline struct decoded msg2_decode(const struct msg *m)
{
	struct decoded d;

	d.msg = malloc(m->len > 0 ? m->len : 1);
	assert_non_null(d.msg);
	memcpy(d.msg, m->buf, m->len);
	memset(&d.hdr, 0xff, sizeof(d.hdr));
	d.verdict = rdma2_decode(d.msg, m->len, &rdma1_limits_default, &d.hdr, &d.reason);
	return d;
}

static inline void msg2_free(struct decoded *d)
{
	free(d->msg);
}

static inline void assert_judged(const struct msg *m, enum rdma2_verdict verdict, uint32_t reason)
{
	struct decoded d = msg2_decode(m);

	assert_int_equal(d.reason, reason);
	assert_int_equal(d.verdict, verdict);
	msg2_free(&d);
}

#endif
