/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_NET_H
#define SIM_NET_H

/*
 * Two simulated devices for the tests of the driver sim itself. Side a connects, and side b
 * listens.
 */

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
/*
 * The name of the driver, and the start of its options: "sim" and "" unless a test program sets
 * others.
 */
extern const char *sim_net_driver, *sim_net_options;

/*
 * Opens a world with the devices of both sides. 'more' (",key=value") is appended to the options of
 * both devices.
 */
void sim_net_open(uint64_t seed, const struct sim_options *options, const char *more);
/* Advances the simulation until the device has an event. The event must be of the given kind. */
struct fabric_cm_event sim_net_event(struct fabric_dev *dev, enum fabric_cm_kind kind);
struct fabric_wc sim_net_wc(struct side *side, uint64_t wr_id, enum fabric_status status);
/*
 * Connects a to b until b has received the connection request. The test accepts the request with
 * the attributes in net.attr.
 */
void sim_net_request(struct fabric_conn_req **req);
void sim_net_connect(void);
/* Closes the world and checks that no object is left in it. */
void sim_net_close(void);
/* Opens the world with default options, and connects the two sides. */
void sim_net_start(uint64_t seed);

/*
 * Posts a work request. 'from' is an offset in the memory of 'side', and 'to' an offset in the
 * memory of the other side.
 */
void sim_net_post(struct side *side, enum fabric_op op, uint64_t wr_id, uint32_t from, uint32_t len,
		  uint32_t to);
void sim_net_recv(struct side *side, uint64_t wr_id, uint32_t to, uint32_t len);

#endif
