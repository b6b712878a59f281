/* SPDX-License-Identifier: BSD-3-Clause */

/* Two connected devices in a simulated world (sim_net.h). */

#include "sim_net.h"

#include <stdio.h>
#include <string.h>

#include "sim.h"

struct net net;
const char *sim_net_driver = "sim", *sim_net_options = "";

static void side_open(struct side *side, const char *more)
{
	char options[128];
	const struct fabric_dev_config config = {.options = options};

	snprintf(options, sizeof(options), "%sworld=%u%s", sim_net_options, sim_world_id(net.world),
		 more);
	assert_int_equal(net.ops->open(&config, &side->dev), 0);
	assert_int_equal(
		net.ops->mr_register(side->dev, side->mem, MEM_BYTES, ALL_RIGHTS, -1, 0, &side->mr),
		0);
}

void sim_net_open(uint64_t seed, const struct sim_options *options, const char *more)
{
	memset(&net, 0, sizeof(net));
	net.ops = fabric_driver_find(sim_net_driver);
	net.world = sim_world_create(seed, options);
	assert_non_null(net.world);
	net.attr = (struct fabric_qp_attr){
		.exposes = true,
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.max_sge = 2,
		.max_inline = 64,
		.max_rd_atomic = 4,
	};
	side_open(&net.a, more);
	side_open(&net.b, more);
	assert_int_equal(net.ops->listen(net.b.dev, "b", 2, NULL, &net.listener), 0);
}

struct fabric_cm_event sim_net_event(struct fabric_dev *dev, enum fabric_cm_kind kind)
{
	struct fabric_cm_event event;

	while (net.ops->cm_poll(dev, &event, 1) == 0)
		assert_true(sim_step(net.world));
	assert_int_equal(event.kind, kind);
	return event;
}

struct fabric_wc sim_net_wc(struct side *side, uint64_t wr_id, enum fabric_status status)
{
	struct fabric_wc wc;

	while (net.ops->poll(side->dev, &wc, 1) == 0)
		assert_true(sim_step(net.world));
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	return wc;
}

void sim_net_request(struct fabric_conn_req **req)
{
	net.attr.ctx = &net.a;
	assert_int_equal(net.ops->connect(net.a.dev, "b", &net.attr, NULL, 0, &net.a.qp), 0);
	*req = sim_net_event(net.b.dev, FABRIC_CM_REQUEST).req;
	net.attr.ctx = &net.b;
}

void sim_net_connect(void)
{
	struct fabric_conn_req *req;

	sim_net_request(&req);
	assert_int_equal(net.ops->accept(net.b.dev, req, &net.attr, NULL, 0, &net.b.qp), 0);
	sim_net_event(net.a.dev, FABRIC_CM_ESTABLISHED);
	sim_net_event(net.b.dev, FABRIC_CM_ESTABLISHED);
}

static void side_close(struct side *side)
{
	net.ops->qp_destroy(side->qp);
	net.ops->mr_deregister(side->dev, &side->mr);
	net.ops->close(side->dev);
}

void sim_net_close(void)
{
	side_close(&net.a);
	net.ops->unlisten(net.listener);
	side_close(&net.b);
	assert_int_equal(sim_world_objects(net.world), 0);
	sim_world_destroy(net.world);
}

void sim_net_start(uint64_t seed)
{
	sim_net_open(seed, NULL, "");
	sim_net_connect();
}

void sim_net_post(struct side *side, enum fabric_op op, uint64_t wr_id, uint32_t from, uint32_t len,
		  uint32_t to)
{
	struct side *peer = side == &net.a ? &net.b : &net.a;
	struct fabric_sge sge = {side->mem + from, len, side->mr.lkey};
	const struct fabric_wr wr = {.wr_id = wr_id,
				     .op = op,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = peer->mr.rkey,
				     .raddr = peer->mr.raddr + to};

	assert_int_equal(net.ops->post_send(side->qp, &wr, 1), 1);
}

void sim_net_recv(struct side *side, uint64_t wr_id, uint32_t to, uint32_t len)
{
	const struct fabric_recv_wr wr = {wr_id, side->mem + to, len, side->mr.lkey};

	assert_int_equal(net.ops->post_recv(side->qp, &wr, 1), 1);
}
