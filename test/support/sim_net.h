/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_NET_H
#define SIM_NET_H

/* Two simulated devices, a that connects and b that listens, for the tests of sim itself. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver.h"

#define SEEDS	   200u
#define MEM_BYTES  65536u
#define ALL_RIGHTS (FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE | FABRIC_BIND)

struct sim_options;

struct side {
	struct fabric_dev *dev;
	struct fabric_mr mr;
	struct fabric_qp *qp;
	uint8_t mem[MEM_BYTES];
};

struct net {
	const struct fabric_ops *ops;
	struct sim_world *world;
	struct fabric_listener *listener;
	struct fabric_qp_attr attr;
	struct side a, b;
};

extern struct net net;
/* The driver, and what its options begin with; "sim" and "" unless a test program says otherwise.
 */
extern const char *sim_net_driver, *sim_net_options;

/* A world with both devices, whose options get 'more' (",key=value") added. */
void sim_net_open(uint64_t seed, const struct sim_options *options, const char *more);
/* Step until the device has an event; its kind must be that. */
struct fabric_cm_event sim_net_event(struct fabric_dev *dev, enum fabric_cm_kind kind);
struct fabric_wc sim_net_wc(struct side *side, uint64_t wr_id, enum fabric_status status);
/* From a to b, as far as the request; the answer's context is then in net.attr. */
void sim_net_request(struct fabric_conn_req **req);
void sim_net_connect(void);
/* Nothing may be left in the world. */
void sim_net_close(void);
/* All of it: open with defaults, and connected. */
void sim_net_start(uint64_t seed);

/* Offsets are into the memory of the side itself ('from') and of the other ('to'). */
void sim_net_post(struct side *side, enum fabric_op op, uint64_t wr_id, uint32_t from, uint32_t len,
		  uint32_t to);
void sim_net_recv(struct side *side, uint64_t wr_id, uint32_t to, uint32_t len);

#endif
