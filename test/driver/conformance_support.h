/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CONFORMANCE_SUPPORT_H
#define CONFORMANCE_SUPPORT_H

/*
 * Functions that the conformance tests share: the two sides, waits for events and completions, and
 * posts of work requests.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance.h"

#define GUARD_BYTES  4096u   /* bytes that are mapped before and after the registered memory */
#define MEM_BYTES    262144u /* bytes of registered memory of a side */
#define SIDE_WCS     1024u
#define SIDE_EVENTS  64u
#define CONF_QPS_MAX 16u
#define SIGNAL	     FABRIC_SIGNALED

struct side {
	struct fabric_dev *dev;
	int fd;
	uint8_t *map;
	uint8_t *mem;	     /* the registered memory, after the first guard */
	struct fabric_mr mr; /* covers 'mem', with all rights */
	uint32_t nwcs;
	uint32_t nevents;
	struct fabric_wc wcs[SIDE_WCS];
	struct fabric_cm_event events[SIDE_EVENTS];
};

/* The state of a test. Side a connects, and side b listens. */
struct conf {
	struct driver_harness *harness;
	const struct fabric_ops *ops;
	struct side a, b;
	struct fabric_listener *listener;
	struct fabric_qp *qp[2]; /* the queue pairs of conf_pair(), at a and at b */
	/* all queue pairs of the test, which are destroyed at its end */
	struct fabric_qp *qps[CONF_QPS_MAX];
	struct fabric_qp_attr attr;
	uint32_t idle;
	bool own_domains; /* side_open() turns on protection domains of connections */
};

/*
 * Polls both sides. If they found nothing, calls the harness to let something happen. Returns false
 * if nothing more will happen. 'settling' is that of driver_harness.progress.
 */
bool conf_round(struct conf *c, bool settling);
void conf_settle(struct conf *c);
/* Lets things happen without polling either side. */
void conf_look_away(struct conf *c);

#define WAIT_FOR(c, condition)                                                                     \
	do {                                                                                       \
		while (!(condition))                                                               \
			if (!conf_round(c, false))                                                 \
				fail_msg("never came: %s", #condition);                            \
	} while (0)

/* Closes the devices and opens them again, with 'options' appended to those of the harness. */
void conf_reopen(struct conf *c, const char *options);

void conf_listen(struct conf *c);
/* Waits for the next event of 'side' and returns it. The event must be of the given kind. */
struct fabric_cm_event conf_event(struct conf *c, struct side *side, enum fabric_cm_kind kind);
struct fabric_qp *conf_connect(struct conf *c, void *ctx);
struct fabric_qp *conf_accept(struct conf *c, struct side *side, struct fabric_conn_req *req,
			      void *ctx);
void conf_destroy(struct conf *c, struct fabric_qp *qp);
/*
 * Makes an established connection, and stores its queue pairs at a and b in 'qp'. Their contexts
 * are ctx_a and ctx_b.
 */
void conf_connection(struct conf *c, struct fabric_qp *qp[2], void *ctx_a, void *ctx_b);
/* Makes the connection c->qp, with the attributes c->attr. The contexts are &c->a and &c->b. */
void conf_pair(struct conf *c);

struct fabric_wc conf_wc(struct conf *c, struct side *side);
/* Waits for the next completion of 'side' and returns it. It must have the given values. */
struct fabric_wc conf_expect(struct conf *c, struct side *side, uint64_t wr_id, enum fabric_op op,
			     enum fabric_status status);
/*
 * Checks that a connection has broken. The given side, which did not cause that, gets exactly one
 * event. The other side knows it from its completions, and gets at most one event. With NULL, both
 * sides know it from completions.
 */
void conf_lost(struct conf *c, struct side *told);
/* Checks that a message arrives in each direction of the connection 'qp'. */
void conf_works(struct conf *c, struct fabric_qp *qp[2]);

/*
 * Creates a sealed file of shared memory that cannot shrink, and maps it at *map. Returns its
 * descriptor.
 */
int conf_memfd(size_t len, uint8_t **map);

void conf_fill(uint8_t *mem, uint32_t len, uint32_t seed);
bool conf_filled(const uint8_t *mem, uint32_t len, uint32_t seed);

struct fabric_sge conf_sge(const struct side *side, uint32_t offset, uint32_t len);
void conf_recv(struct conf *c, struct fabric_qp *qp, const struct side *side, uint64_t wr_id,
	       uint32_t offset, uint32_t len);
/* Posts one work request. Fails the test if the driver does not accept it. */
void conf_post(struct conf *c, struct fabric_qp *qp, const struct fabric_wr *wr);
void conf_send(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
	       struct fabric_sge sge);
void conf_write(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
		struct fabric_sge sge, uint32_t rkey, uint64_t raddr);
void conf_read(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
	       struct fabric_sge sge, uint32_t rkey, uint64_t raddr);

struct conformance_tests {
	const struct CMUnitTest *tests;
	size_t count;
};

extern const struct conformance_tests conformance_cm, conformance_send, conformance_rdma,
	conformance_window, conformance_srq, conformance_deliver, conformance_domain;

#endif
