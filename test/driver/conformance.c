/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Opens and closes the devices of the conformance tests, waits for events and completions of both
 * sides, and runs all groups of tests for a driver (conformance.h).
 */

#include "conformance_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int conf_memfd(size_t len, uint8_t **map)
{
	int fd = memfd_create("conformance", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	*map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(*map, MAP_FAILED);
	return fd;
}

static void side_open(struct conf *c, struct side *side, const char *more)
{
	const uint32_t all = FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE;
	char options[128];
	const struct fabric_dev_config config = {.options = options,
						 .max_connections = CONF_QPS_MAX,
						 .max_regions = 16,
						 .numa_node = -1};
	const char *own = c->harness->options;

	snprintf(options, sizeof(options), "%s%s%s", own, *own && *more ? "," : "", more);
	assert_int_equal(c->ops->open(&config, &side->dev), 0);
	assert_ptr_equal(side->dev->ops, c->ops);
	if (c->own_domains)
		assert_int_equal(c->ops->own_domains(side->dev), 0);
	side->fd = conf_memfd(MEM_BYTES + 2 * GUARD_BYTES, &side->map);
	side->mem = side->map + GUARD_BYTES;
	assert_int_equal(c->ops->mr_register(side->dev, side->mem, MEM_BYTES, all, side->fd,
					     GUARD_BYTES, &side->mr),
			 0);
	assert_int_not_equal(side->mr.lkey, 0);
	assert_int_not_equal(side->mr.rkey, 0);
}

static void side_close(struct conf *c, struct side *side)
{
	if (!side->dev)
		return;
	if (side->mr.lkey)
		c->ops->mr_deregister(side->dev, &side->mr);
	c->ops->close(side->dev);
	munmap(side->map, MEM_BYTES + 2 * GUARD_BYTES);
	close(side->fd);
	memset(side, 0, sizeof(*side));
}

static void close_all(struct conf *c)
{
	for (uint32_t i = 0; i < CONF_QPS_MAX; i++) {
		c->ops->qp_destroy(c->qps[i]);
		c->qps[i] = NULL;
	}
	if (c->listener)
		c->ops->unlisten(c->listener);
	c->listener = NULL;
	side_close(c, &c->a);
	side_close(c, &c->b);
}

void conf_reopen(struct conf *c, const char *options)
{
	close_all(c);
	side_open(c, &c->a, options);
	side_open(c, &c->b, options);
}

static int setup(void **state)
{
	struct driver_harness *harness = *state;
	struct conf *c = calloc(1, sizeof(*c));

	if (!c)
		return -1;
	c->harness = harness;
	c->ops = harness->ops;
	harness->start(harness);
	*state = c;
	conf_reopen(c, "");
	c->attr = (struct fabric_qp_attr){
		.exposes = true,
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.max_sge = c->a.dev->attr.max_sge < 4 ? c->a.dev->attr.max_sge : 4,
		.max_inline = 64,
		.max_msg_bytes = 16384,
		.max_rd_atomic = 4,
	};
	return 0;
}

static int teardown(void **state)
{
	struct conf *c = *state;
	struct driver_harness *harness = c->harness;

	close_all(c);
	free(c);
	harness->stop(harness);
	return 0;
}

static uint32_t side_poll(struct conf *c, struct side *side)
{
	uint32_t n = c->ops->poll(side->dev, side->wcs + side->nwcs, SIDE_WCS - side->nwcs);
	uint32_t m = c->ops->cm_poll(side->dev, side->events + side->nevents,
				     SIDE_EVENTS - side->nevents);

	side->nwcs += n;
	side->nevents += m;
	return n + m;
}

bool conf_round(struct conf *c, bool settling)
{
	if (side_poll(c, &c->a) + side_poll(c, &c->b) > 0) {
		c->idle = 0;
		return true;
	}
	return c->harness->progress(c->harness, c->idle++, settling);
}

void conf_settle(struct conf *c)
{
	c->idle = 0;
	while (conf_round(c, true))
		;
	c->idle = 0;
}

void conf_look_away(struct conf *c)
{
	for (uint32_t i = 0; i < 60; i++)
		c->harness->progress(c->harness, i * 1000, true);
}

void conf_listen(struct conf *c)
{
	assert_int_equal(c->ops->listen(c->b.dev, c->harness->addr, 16, &c->listener, &c->listener),
			 0);
}

struct fabric_cm_event conf_event(struct conf *c, struct side *side, enum fabric_cm_kind kind)
{
	struct fabric_cm_event event;

	c->idle = 0;
	WAIT_FOR(c, side->nevents > 0);
	event = side->events[0];
	side->nevents--;
	memmove(side->events, side->events + 1, side->nevents * sizeof(event));
	assert_int_equal(event.kind, kind);
	return event;
}

static struct fabric_qp *keep(struct conf *c, struct fabric_qp *qp)
{
	for (uint32_t i = 0; i < CONF_QPS_MAX; i++) {
		if (!c->qps[i]) {
			c->qps[i] = qp;
			return qp;
		}
	}
	fail_msg("too many queue pairs for one test");
	return NULL;
}

struct fabric_qp *conf_connect(struct conf *c, void *ctx)
{
	struct fabric_qp *qp;

	c->attr.ctx = ctx;
	assert_int_equal(c->ops->connect(c->a.dev, c->harness->addr, &c->attr, NULL, 0, &qp), 0);
	assert_ptr_equal(qp->ctx, ctx);
	return keep(c, qp);
}

struct fabric_qp *conf_accept(struct conf *c, struct side *side, struct fabric_conn_req *req,
			      void *ctx)
{
	struct fabric_qp *qp;

	c->attr.ctx = ctx;
	assert_int_equal(c->ops->accept(side->dev, req, &c->attr, NULL, 0, &qp), 0);
	assert_ptr_equal(qp->ctx, ctx);
	return keep(c, qp);
}

void conf_destroy(struct conf *c, struct fabric_qp *qp)
{
	for (uint32_t i = 0; i < CONF_QPS_MAX; i++)
		if (c->qps[i] == qp)
			c->qps[i] = NULL;
	c->ops->qp_destroy(qp);
}

void conf_connection(struct conf *c, struct fabric_qp *qp[2], void *ctx_a, void *ctx_b)
{
	struct fabric_cm_event event;

	if (!c->listener)
		conf_listen(c);
	qp[0] = conf_connect(c, ctx_a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	assert_ptr_equal(event.listener_ctx, &c->listener);
	qp[1] = conf_accept(c, &c->b, event.req, ctx_b);
	event = conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	assert_ptr_equal(event.qp_ctx, ctx_a);
	event = conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	assert_ptr_equal(event.qp_ctx, ctx_b);
}

void conf_pair(struct conf *c)
{
	conf_connection(c, c->qp, &c->a, &c->b);
}

struct fabric_wc conf_wc(struct conf *c, struct side *side)
{
	struct fabric_wc wc;

	c->idle = 0;
	WAIT_FOR(c, side->nwcs > 0);
	wc = side->wcs[0];
	side->nwcs--;
	memmove(side->wcs, side->wcs + 1, side->nwcs * sizeof(wc));
	return wc;
}

struct fabric_wc conf_expect(struct conf *c, struct side *side, uint64_t wr_id, enum fabric_op op,
			     enum fabric_status status)
{
	struct fabric_wc wc = conf_wc(c, side);

	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.op, op);
	return wc;
}

void conf_lost(struct conf *c, struct side *told)
{
	struct side *side[2] = {&c->a, &c->b};

	c->idle = 0;
	if (told)
		WAIT_FOR(c, told->nevents > 0);
	conf_settle(c);
	for (uint32_t i = 0; i < 2; i++) {
		assert_in_range(side[i]->nevents, side[i] == told, 1);
		for (; side[i]->nevents > 0; side[i]->nevents = 0) {
			assert_int_equal(side[i]->events[0].kind, FABRIC_CM_DISCONNECTED);
			assert_ptr_equal(side[i]->events[0].qp_ctx, side[i]);
		}
	}
}

void conf_works(struct conf *c, struct fabric_qp *qp[2])
{
	struct side *side[2] = {&c->a, &c->b};

	for (uint32_t i = 0; i < 2; i++) {
		struct side *from = side[i], *to = side[1 - i];
		struct fabric_wc wc;

		conf_fill(from->mem, 100, 77 + i);
		memset(to->mem + 1000, 0, 100);
		conf_recv(c, qp[1 - i], to, 90, 1000, 100);
		conf_send(c, qp[i], 91, SIGNAL, conf_sge(from, 0, 100));
		wc = conf_expect(c, to, 90, FABRIC_RECV, FABRIC_OK);
		assert_int_equal(wc.byte_len, 100);
		assert_ptr_equal(wc.qp_ctx, qp[1 - i]->ctx);
		assert_true(conf_filled(to->mem + 1000, 100, 77 + i));
		wc = conf_expect(c, from, 91, FABRIC_SEND, FABRIC_OK);
		assert_ptr_equal(wc.qp_ctx, qp[i]->ctx);
	}
}

static uint8_t filling(uint32_t i, uint32_t seed)
{
	return (uint8_t)(((i + 1) * 2654435761u + seed * 40503u) >> 13);
}

void conf_fill(uint8_t *mem, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		mem[i] = filling(i, seed);
}

bool conf_filled(const uint8_t *mem, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (mem[i] != filling(i, seed))
			return false;
	return true;
}

struct fabric_sge conf_sge(const struct side *side, uint32_t offset, uint32_t len)
{
	return (struct fabric_sge){.addr = side->mem + offset, .len = len, .lkey = side->mr.lkey};
}

void conf_recv(struct conf *c, struct fabric_qp *qp, const struct side *side, uint64_t wr_id,
	       uint32_t offset, uint32_t len)
{
	const struct fabric_recv_wr wr = {wr_id, side->mem + offset, len, side->mr.lkey};

	assert_int_equal(c->ops->post_recv(qp, &wr, 1), 1);
}

void conf_post(struct conf *c, struct fabric_qp *qp, const struct fabric_wr *wr)
{
	assert_int_equal(c->ops->post_send(qp, wr, 1), 1);
}

void conf_send(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
	       struct fabric_sge sge)
{
	const struct fabric_wr wr = {
		.wr_id = wr_id, .op = FABRIC_SEND, .flags = flags, .sge = &sge, .nsge = 1};

	conf_post(c, qp, &wr);
}

static void post_remote(struct conf *c, struct fabric_qp *qp, enum fabric_op op, uint64_t wr_id,
			uint32_t flags, struct fabric_sge *sge, uint32_t rkey, uint64_t raddr)
{
	const struct fabric_wr wr = {.wr_id = wr_id,
				     .op = op,
				     .flags = flags,
				     .sge = sge,
				     .nsge = 1,
				     .rkey = rkey,
				     .raddr = raddr};

	conf_post(c, qp, &wr);
}

void conf_write(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
		struct fabric_sge sge, uint32_t rkey, uint64_t raddr)
{
	post_remote(c, qp, FABRIC_WRITE, wr_id, flags, &sge, rkey, raddr);
}

void conf_read(struct conf *c, struct fabric_qp *qp, uint64_t wr_id, uint32_t flags,
	       struct fabric_sge sge, uint32_t rkey, uint64_t raddr)
{
	post_remote(c, qp, FABRIC_READ, wr_id, flags, &sge, rkey, raddr);
}

int driver_conformance(struct driver_harness *harness)
{
	const struct conformance_tests *const parts[] = {
		&conformance_cm,  &conformance_send,	&conformance_rdma,  &conformance_window,
		&conformance_srq, &conformance_deliver, &conformance_domain};
	struct CMUnitTest tests[256];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (size_t j = 0; j < parts[i]->count; j++) {
			if (n == sizeof(tests) / sizeof(tests[0])) {
				fprintf(stderr, "the array of tests is too short\n");
				return 1;
			}
			tests[n] = parts[i]->tests[j];
			tests[n].setup_func = setup;
			tests[n].teardown_func = teardown;
			tests[n++].initial_state = harness;
		}
	}
	return _cmocka_run_group_tests(harness->name, tests, n, NULL, NULL);
}
