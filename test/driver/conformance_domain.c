/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver contract: queue pairs that are protection domains. b gives a one key for its
 * memory for each connection. The key is valid only over that connection.
 */
#include "conformance_support.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { ACCESS = 100 };

static struct fabric_qp *other[2]; /* the queue pairs of a second connection */
static int ctx[2];

static struct conf *start(void **state)
{
	struct conf *c = *state;

	c->own_domains = true;
	c->attr.exposes = true;
	conf_reopen(c, "");
	return c;
}

static uint32_t key(struct conf *c, const struct fabric_qp *qp)
{
	return c->ops->qp_rkey(qp, c->b.mr.rkey);
}

static void two_connections(struct conf *c)
{
	conf_connection(c, other, &ctx[0], &ctx[1]);
	conf_pair(c);
	assert_int_not_equal(key(c, c->qp[1]), 0);
	assert_int_not_equal(key(c, other[1]), 0);
	assert_int_not_equal(key(c, c->qp[1]), key(c, other[1]));
}

static void write_ok(struct conf *c, struct fabric_qp *qp, uint32_t rkey)
{
	conf_fill(c->a.mem, 500, rkey);
	conf_write(c, qp, ACCESS, SIGNAL, conf_sge(&c->a, 0, 500), rkey, c->b.mr.raddr + 4096);
	conf_expect(c, &c->a, ACCESS, FABRIC_WRITE, FABRIC_OK);
	assert_true(conf_filled(c->b.mem + 4096, 500, rkey));
}

/*
 * Checks that an access with the key 'rkey' over the connection c->qp is refused. The refusal ends
 * that connection, and b's memory does not change.
 */
static void refused(struct conf *c, enum fabric_op op, uint32_t rkey)
{
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);
	const struct fabric_wr wr = {.wr_id = ACCESS,
				     .op = op,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = rkey,
				     .raddr = c->b.mr.raddr};

	memset(c->b.map, 0xbb, MEM_BYTES + 2 * GUARD_BYTES);
	conf_post(c, c->qp[0], &wr);
	conf_expect(c, &c->a, ACCESS, op, FABRIC_ERR_REMOTE_ACCESS);
	conf_lost(c, &c->b);
	for (uint32_t i = 0; i < MEM_BYTES + 2 * GUARD_BYTES; i++)
		assert_int_equal(c->b.map[i], 0xbb);
}

static void key__of_another_connection(struct conf *c, enum fabric_op op)
{
	two_connections(c);
	write_ok(c, other[0], key(c, other[1]));
	refused(c, op, key(c, other[1]));
	write_ok(c, other[0], key(c, other[1])); /* the other connection still works */
	conf_works(c, other);
}

static void key__of_another_connection_does_not_write(void **state)
{
	key__of_another_connection(start(state), FABRIC_WRITE);
}

static void key__of_another_connection_does_not_read(void **state)
{
	key__of_another_connection(start(state), FABRIC_READ);
}

static void key__ends_with_its_connection(void **state)
{
	struct conf *c = start(state);
	uint32_t ended;

	two_connections(c);
	ended = key(c, other[1]);
	write_ok(c, other[0], ended);
	conf_destroy(c, other[0]);
	conf_destroy(c, other[1]);
	conf_settle(c);
	c->a.nevents = c->b.nevents = 0;
	refused(c, FABRIC_READ, ended);
}

static void rkey__of_a_registration_opens_nothing(void **state)
{
	struct conf *c = start(state);

	conf_pair(c);
	refused(c, FABRIC_READ, c->b.mr.rkey);
}

static void key__none_where_nothing_is_exposed(void **state)
{
	struct conf *c = start(state);

	c->attr.exposes = false;
	conf_pair(c);
	assert_int_equal(key(c, c->qp[1]), 0);
	conf_works(c, c->qp);
	c->attr.exposes = true;
	conf_connection(c, other, &ctx[0], &ctx[1]);
	write_ok(c, other[0], key(c, other[1]));
	refused(c, FABRIC_READ, key(c, other[1]));
}

/* Checks a registration that begins while connections exist, and that ends before they do. */
static void mr_register__joins_the_domains_that_there_are(void **state)
{
	struct conf *c = start(state);
	struct fabric_mr mr;
	struct fabric_sge sge;
	uint32_t rkey[2], its;
	uint8_t *map;
	int fd = conf_memfd(MEM_BYTES, &map);

	two_connections(c);
	assert_int_equal(c->ops->mr_register(c->b.dev, map, MEM_BYTES,
					     FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ, fd, 0, &mr),
			 0);
	conf_fill(map, 300, 5);
	rkey[0] = c->ops->qp_rkey(c->qp[1], mr.rkey);
	rkey[1] = c->ops->qp_rkey(other[1], mr.rkey);
	assert_int_not_equal(rkey[0], rkey[1]);
	for (uint32_t i = 0; i < 2; i++) {
		memset(c->a.mem, 0, 300);
		conf_read(c, i ? other[0] : c->qp[0], ACCESS, SIGNAL, conf_sge(&c->a, 0, 300),
			  rkey[i], mr.raddr);
		conf_expect(c, &c->a, ACCESS, FABRIC_READ, FABRIC_OK);
		assert_true(conf_filled(c->a.mem, 300, 5));
	}
	/* Checks that a local key is valid for all connections of the device. */
	sge = (struct fabric_sge){map, 16, mr.lkey};
	for (uint32_t i = 0; i < 2; i++) {
		conf_recv(c, i ? other[0] : c->qp[0], &c->a, 1, 1000, 64);
		conf_send(c, i ? other[1] : c->qp[1], 2, SIGNAL, sge);
		conf_expect(c, &c->a, 1, FABRIC_RECV, FABRIC_OK);
		conf_expect(c, &c->b, 2, FABRIC_SEND, FABRIC_OK);
		assert_true(conf_filled(c->a.mem + 1000, 16, 5));
	}
	its = mr.rkey;
	c->ops->mr_deregister(c->b.dev, &mr);
	assert_int_equal(c->ops->qp_rkey(c->qp[1], its), 0);
	refused(c, FABRIC_READ, rkey[0]);
	close(fd);
}

static void own_domains__has_no_windows_and_no_shared_receives(void **state)
{
	struct conf *c = start(state);
	const struct fabric_srq_attr attr = {.max_wr = 16};
	struct fabric_srq *srq;
	struct fabric_mw mw;

	assert_int_equal(c->ops->mw_alloc(c->b.dev, &mw), -EOPNOTSUPP);
	if (c->b.dev->attr.max_srq_wr > 0)
		assert_int_equal(c->ops->srq_create(c->b.dev, &attr, &srq), -EOPNOTSUPP);
	/* Domains cannot be turned on while there are connections. */
	assert_int_equal(c->ops->own_domains(c->b.dev), -EBUSY);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(key__of_another_connection_does_not_write),
	cmocka_unit_test(key__of_another_connection_does_not_read),
	cmocka_unit_test(key__ends_with_its_connection),
	cmocka_unit_test(rkey__of_a_registration_opens_nothing),
	cmocka_unit_test(key__none_where_nothing_is_exposed),
	cmocka_unit_test(mr_register__joins_the_domains_that_there_are),
	cmocka_unit_test(own_domains__has_no_windows_and_no_shared_receives),
};

const struct conformance_tests conformance_domain = {tests, sizeof(tests) / sizeof(tests[0])};
