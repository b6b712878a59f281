/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_NET_H
#define SIM_NET_H

/* Two simulated devices for the tests of sim itself: a connects and b listens. */

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
/* The driver and the beginning of its options: "sim" and "" unless a test program sets others. */
extern const char *sim_net_driver, *sim_net_options;

/* Opens a world with both devices. 'more' (",key=value") is added to the options of both. */
void sim_net_open(uint64_t seed, const struct sim_options *options, const char *more);
/* Steps until the device has an event, which must be of that kind. */
struct fabric_cm_event sim_net_event(struct fabric_dev *dev, enum fabric_cm_kind kind);
struct fabric_wc sim_net_wc(struct side *side, uint64_t wr_id, enum fabric_status status);
/* Connects from a to b as far as the connection request. The context of the answer is then in
 * net.attr. */
void sim_net_request(struct fabric_conn_req **req);
void sim_net_connect(void);
/* Closes the world and checks that it holds no object. */
void sim_net_close(void);
/* Opens the world with defaults and connects. */
void sim_net_start(uint64_t seed);

/* Offsets are into the memory of the side itself ('from') and of the other side ('to'). */
void sim_net_post(struct side *side, enum fabric_op op, uint64_t wr_id, uint32_t from, uint32_t len,
		  uint32_t to);
void sim_net_recv(struct side *side, uint64_t wr_id, uint32_t to, uint32_t len);

#endif
