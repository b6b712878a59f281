/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the driver contract: RDMA READs and WRITEs, their order, and refused accesses. */
#include "conformance_support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void write__is_there_when_the_send_completes(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t lens[] = {1, 7, 64, 1000 + round, 20000};

		memset(c->b.mem, 0, 131072);
		conf_recv(c, c->qp[1], &c->b, round, 200000, 64);
		for (uint32_t i = 0; i < 5; i++) {
			conf_fill(c->a.mem + i * 20000, lens[i], round * 5 + i);
			conf_write(c, c->qp[0], i, 0, conf_sge(&c->a, i * 20000, lens[i]),
				   c->b.mr.rkey, c->b.mr.raddr + i * 20001);
		}
		conf_send(c, c->qp[0], 9, SIGNAL, conf_sge(&c->a, 0, 1));
		conf_expect(c, &c->b, round, FABRIC_RECV, FABRIC_OK);
		for (uint32_t i = 0; i < 5; i++)
			assert_true(conf_filled(c->b.mem + i * 20001, lens[i], round * 5 + i));
		assert_int_equal(c->b.mem[20001 + 7], 0);
		conf_expect(c, &c->a, 9, FABRIC_SEND, FABRIC_OK);
	}
}

static void write__completes_when_it_is_there(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t round = 0; round < 8; round++) {
		conf_fill(c->a.mem, 5000, round);
		conf_write(c, c->qp[0], round, SIGNAL, conf_sge(&c->a, 0, 5000), c->b.mr.rkey,
			   c->b.mr.raddr + 3);
		conf_expect(c, &c->a, round, FABRIC_WRITE, FABRIC_OK);
		assert_true(conf_filled(c->b.mem + 3, 5000, round));
	}
	assert_int_equal(c->b.nwcs, 0); /* the peer gets no completion */
}

static void write__gathers(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sges[4];
	const struct fabric_wr wr = {.wr_id = 1,
				     .op = FABRIC_WRITE,
				     .flags = SIGNAL,
				     .sge = sges,
				     .nsge = c->attr.max_sge,
				     .rkey = c->b.mr.rkey,
				     .raddr = c->b.mr.raddr + 11};
	uint32_t at = 11;

	conf_pair(c);
	for (uint32_t i = 0; i < c->attr.max_sge; i++) {
		sges[i] = conf_sge(&c->a, 1000 * i + i, 333 * i + 1);
		conf_fill(sges[i].addr, sges[i].len, i);
	}
	conf_post(c, c->qp[0], &wr);
	memset(sges, 0, sizeof(sges));
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	for (uint32_t i = 0; i < c->attr.max_sge; at += 333 * i++ + 1)
		assert_true(conf_filled(c->b.mem + at, 333 * i + 1, i));
}

static void write__inline_buffer_is_free_at_once(void **state)
{
	struct conf *c = *state;
	uint8_t unregistered[64];
	uint32_t len;

	conf_pair(c);
	len = c->qp[0]->max_inline < 64 ? c->qp[0]->max_inline : 64;
	conf_fill(unregistered, len, 1);
	conf_write(c, c->qp[0], 1, FABRIC_INLINE | SIGNAL,
		   (struct fabric_sge){unregistered, len, 0}, c->b.mr.rkey, c->b.mr.raddr);
	memset(unregistered, 0, len);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	assert_true(conf_filled(c->b.mem, len, 1));
}

static void read__gets_what_is_there(void **state)
{
	static const uint32_t lens[] = {1, 3, 8, 100, 4096, 50000};
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < 6; i++) {
		conf_fill(c->b.mem + 70000 + i, lens[i], i);
		memset(c->a.mem, 0xee, lens[i] + 1);
		conf_read(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 0, lens[i]), c->b.mr.rkey,
			  c->b.mr.raddr + 70000 + i);
		assert_int_equal(conf_expect(c, &c->a, i, FABRIC_READ, FABRIC_OK).byte_len,
				 lens[i]);
		assert_true(conf_filled(c->a.mem, lens[i], i));
		assert_int_equal(c->a.mem[lens[i]], 0xee);
	}
}

static void read__scatters(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sges[4];
	const struct fabric_wr wr = {.wr_id = 1,
				     .op = FABRIC_READ,
				     .flags = SIGNAL,
				     .sge = sges,
				     .nsge = c->attr.max_sge,
				     .rkey = c->b.mr.rkey,
				     .raddr = c->b.mr.raddr + 5};
	uint32_t at = 5;

	conf_pair(c);
	for (uint32_t i = 0; i < c->attr.max_sge; i++) {
		sges[i] = conf_sge(&c->a, 1000 * i, 100 * i + 1);
		conf_fill(c->b.mem + at, 100 * i + 1, i);
		at += 100 * i + 1;
	}
	conf_post(c, c->qp[0], &wr);
	memset(sges, 0, sizeof(sges));
	assert_int_equal(conf_expect(c, &c->a, 1, FABRIC_READ, FABRIC_OK).byte_len, at - 5);
	for (uint32_t i = 0; i < c->attr.max_sge; i++)
		assert_true(conf_filled(c->a.mem + 1000 * i, 100 * i + 1, i));
}

static void read__more_than_may_be_in_flight(void **state)
{
	struct conf *c = *state;

	c->attr.max_rd_atomic = 2;
	conf_pair(c);
	for (uint32_t i = 0; i < 40; i++) {
		conf_fill(c->b.mem + i * 1024, 1024, i);
		conf_read(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, i * 1024, 1024), c->b.mr.rkey,
			  c->b.mr.raddr + i * 1024);
	}
	for (uint32_t i = 0; i < 40; i++) {
		conf_expect(c, &c->a, i, FABRIC_READ, FABRIC_OK);
		assert_true(conf_filled(c->a.mem + i * 1024, 1024, i));
	}
}

static void read__in_both_directions(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	conf_fill(c->a.mem, 4000, 1);
	conf_fill(c->b.mem, 4000, 2);
	conf_read(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 8000, 4000), c->b.mr.rkey, c->b.mr.raddr);
	conf_read(c, c->qp[1], 2, SIGNAL, conf_sge(&c->b, 8000, 4000), c->a.mr.rkey, c->a.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_READ, FABRIC_OK);
	conf_expect(c, &c->b, 2, FABRIC_READ, FABRIC_OK);
	assert_true(conf_filled(c->a.mem + 8000, 4000, 2));
	assert_true(conf_filled(c->b.mem + 8000, 4000, 1));
}

static void fence__waits_for_reads(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t round = 0; round < 10; round++) {
		conf_fill(c->b.mem, 3000, round);
		memset(c->a.mem, 0, 3000);
		conf_recv(c, c->qp[1], &c->b, 1, 10000, 3000);
		conf_read(c, c->qp[0], 2, 0, conf_sge(&c->a, 0, 3000), c->b.mr.rkey, c->b.mr.raddr);
		conf_send(c, c->qp[0], 3, FABRIC_FENCE | SIGNAL, conf_sge(&c->a, 0, 3000));
		conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_OK);
		assert_true(conf_filled(c->b.mem + 10000, 3000, round));
		conf_expect(c, &c->a, 3, FABRIC_SEND, FABRIC_OK);
	}
}

static void completions__keep_the_order_of_posts(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < 48; i += 3) {
		conf_recv(c, c->qp[1], &c->b, i, 200000 + i * 64, 64);
		conf_read(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 0, 2000), c->b.mr.rkey,
			  c->b.mr.raddr);
		conf_write(c, c->qp[0], i + 1, SIGNAL, conf_sge(&c->a, 8000, 2000), c->b.mr.rkey,
			   c->b.mr.raddr + 4000);
		conf_send(c, c->qp[0], i + 2, SIGNAL, conf_sge(&c->a, 8000, 64));
	}
	for (uint32_t i = 0; i < 48; i += 3) {
		conf_expect(c, &c->a, i, FABRIC_READ, FABRIC_OK);
		conf_expect(c, &c->a, i + 1, FABRIC_WRITE, FABRIC_OK);
		conf_expect(c, &c->a, i + 2, FABRIC_SEND, FABRIC_OK);
	}
}

static void completion__tells_of_all_before_it(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t round = 0; round < 10; round++) {
		conf_fill(c->b.mem, 6000, round);
		conf_fill(c->a.mem, 6000, 50 + round);
		memset(c->a.mem + 10000, 0, 6000);
		conf_read(c, c->qp[0], 1, 0, conf_sge(&c->a, 10000, 6000), c->b.mr.rkey,
			  c->b.mr.raddr);
		conf_write(c, c->qp[0], 2, 0, conf_sge(&c->a, 0, 6000), c->b.mr.rkey,
			   c->b.mr.raddr + 10000);
		conf_write(c, c->qp[0], 3, SIGNAL, conf_sge(&c->a, 0, 1), c->b.mr.rkey,
			   c->b.mr.raddr + 20000);
		conf_expect(c, &c->a, 3, FABRIC_WRITE, FABRIC_OK);
		assert_true(conf_filled(c->a.mem + 10000, 6000, round));
		assert_true(conf_filled(c->b.mem + 10000, 6000, 50 + round));
	}
}

/* Checks that an access by a is refused, and that it changes no memory of either side. */
static void refused(struct conf *c, enum fabric_op op, uint32_t len, uint32_t rkey, uint64_t raddr)
{
	struct fabric_sge sge = conf_sge(&c->a, 0, len);
	const struct fabric_wr wr = {
		.wr_id = 7, .op = op, .sge = &sge, .nsge = 1, .rkey = rkey, .raddr = raddr};

	conf_pair(c);
	memset(c->a.mem, 0xaa, MEM_BYTES);
	memset(c->b.map, 0xbb, MEM_BYTES + 2 * GUARD_BYTES);
	conf_recv(c, c->qp[1], &c->b, 1, 0, 64);
	conf_post(c, c->qp[0], &wr);
	/* The fence keeps the Send behind the READ, which it could otherwise overtake. */
	conf_send(c, c->qp[0], 8, FABRIC_FENCE | SIGNAL, conf_sge(&c->a, 0, 8));
	conf_expect(c, &c->a, 7, op, FABRIC_ERR_REMOTE_ACCESS);
	conf_expect(c, &c->a, 8, FABRIC_SEND, FABRIC_ERR_FLUSHED);
	conf_expect(c, &c->b, 1, FABRIC_RECV, FABRIC_ERR_FLUSHED);
	conf_lost(c, &c->b);
	for (uint32_t i = 0; i < MEM_BYTES; i++)
		assert_int_equal(c->a.mem[i], 0xaa);
	for (uint32_t i = 0; i < MEM_BYTES + 2 * GUARD_BYTES; i++)
		assert_int_equal(c->b.map[i], 0xbb);
	assert_true(c->a.dev->stats.remote_access_errors + c->b.dev->stats.remote_access_errors >
		    0);
}

#define REFUSED(name, op, len, rkey, raddr)                                                        \
	static void name(void **state)                                                             \
	{                                                                                          \
		struct conf *c = *state;                                                           \
                                                                                                   \
		refused(c, op, len, rkey, raddr);                                                  \
	}

REFUSED(write__unknown_key, FABRIC_WRITE, 8, c->b.mr.rkey ^ 0x5a5a5a5a, c->b.mr.raddr)
REFUSED(write__key_zero, FABRIC_WRITE, 8, 0, c->b.mr.raddr)
REFUSED(write__one_past_the_end, FABRIC_WRITE, 100, c->b.mr.rkey, c->b.mr.raddr + MEM_BYTES - 99)
REFUSED(write__behind_the_end, FABRIC_WRITE, 1, c->b.mr.rkey, c->b.mr.raddr + MEM_BYTES)
REFUSED(write__one_before_the_start, FABRIC_WRITE, 100, c->b.mr.rkey, c->b.mr.raddr - 1)
REFUSED(write__address_near_2_64, FABRIC_WRITE, 100, c->b.mr.rkey, UINT64_MAX - 49)
REFUSED(write__address_at_2_64, FABRIC_WRITE, 1, c->b.mr.rkey, UINT64_MAX)
REFUSED(write__address_far_away, FABRIC_WRITE, 8, c->b.mr.rkey, c->b.mr.raddr ^ 1ull << 63)
REFUSED(read__unknown_key, FABRIC_READ, 8, c->b.mr.rkey ^ 0x5a5a5a5a, c->b.mr.raddr)
REFUSED(read__one_past_the_end, FABRIC_READ, 100, c->b.mr.rkey, c->b.mr.raddr + MEM_BYTES - 99)
REFUSED(read__one_before_the_start, FABRIC_READ, 100, c->b.mr.rkey, c->b.mr.raddr - 1)
REFUSED(read__address_near_2_64, FABRIC_READ, 100, c->b.mr.rkey, UINT64_MAX - 49)

static void write__to_the_last_byte(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	memset(c->b.map, 0xee, MEM_BYTES + 2 * GUARD_BYTES);
	conf_fill(c->a.mem, MEM_BYTES, 1);
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, MEM_BYTES), c->b.mr.rkey,
		   c->b.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	assert_true(conf_filled(c->b.mem, MEM_BYTES, 1));
	assert_int_equal(c->b.mem[-1], 0xee);
	assert_int_equal(c->b.mem[MEM_BYTES], 0xee);
	conf_write(c, c->qp[0], 2, SIGNAL, conf_sge(&c->a, 0, 1), c->b.mr.rkey,
		   c->b.mr.raddr + MEM_BYTES - 1);
	conf_expect(c, &c->a, 2, FABRIC_WRITE, FABRIC_OK);
	assert_int_equal(c->b.mem[MEM_BYTES - 1], c->a.mem[0]);
}

static void write__nothing_at_the_bounds(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 0), c->b.mr.rkey, c->b.mr.raddr);
	conf_write(c, c->qp[0], 2, SIGNAL, conf_sge(&c->a, 0, 0), c->b.mr.rkey,
		   c->b.mr.raddr + MEM_BYTES);
	conf_read(c, c->qp[0], 3, SIGNAL, conf_sge(&c->a, 0, 0), c->b.mr.rkey,
		  c->b.mr.raddr + MEM_BYTES);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	conf_expect(c, &c->a, 2, FABRIC_WRITE, FABRIC_OK);
	conf_expect(c, &c->a, 3, FABRIC_READ, FABRIC_OK);
}

/* Registers b's memory again, with the rights 'access'. */
static void register_b(struct conf *c, uint32_t access, struct fabric_mr *mr)
{
	assert_int_equal(c->ops->mr_register(c->b.dev, c->b.mem, MEM_BYTES, access, c->b.fd,
					     GUARD_BYTES, mr),
			 0);
}

static void write__where_only_reads_are_allowed(void **state)
{
	struct conf *c = *state;
	struct fabric_mr mr;

	register_b(c, FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ, &mr);
	refused(c, FABRIC_WRITE, 8, mr.rkey, mr.raddr);
	c->ops->mr_deregister(c->b.dev, &mr);
}

static void read__where_only_writes_are_allowed(void **state)
{
	struct conf *c = *state;
	struct fabric_mr mr;

	register_b(c, FABRIC_LOCAL_WRITE | FABRIC_REMOTE_WRITE, &mr);
	refused(c, FABRIC_READ, 8, mr.rkey, mr.raddr);
	c->ops->mr_deregister(c->b.dev, &mr);
}

static void mr_register__local_memory_has_no_rkey(void **state)
{
	struct conf *c = *state;
	struct fabric_mr mr;

	assert_int_equal(
		c->ops->mr_register(c->b.dev, c->b.mem, 4096, FABRIC_LOCAL_WRITE, -1, 0, &mr), 0);
	assert_int_not_equal(mr.lkey, 0);
	assert_int_equal(mr.rkey, 0);
	c->ops->mr_deregister(c->b.dev, &mr);
}

static void mr_deregister__ends_the_key(void **state)
{
	struct conf *c = *state;
	struct fabric_mr mr;
	uint64_t raddr;
	uint32_t rkey;

	register_b(c, FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE, &mr);
	rkey = mr.rkey;
	raddr = mr.raddr;
	c->ops->mr_deregister(c->b.dev, &mr);
	refused(c, FABRIC_WRITE, 8, rkey, raddr);
}

static void mr_register__while_connected(void **state)
{
	struct conf *c = *state;
	struct fabric_mr mr;

	conf_pair(c);
	conf_works(c, c->qp);
	register_b(c, FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE, &mr);
	conf_fill(c->a.mem, 100, 3);
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 100), mr.rkey, mr.raddr + 50);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	assert_true(conf_filled(c->b.mem + 50, 100, 3));
	c->ops->mr_deregister(c->b.dev, &mr);
}

/* Checks registrations and deregistrations during a connection, each with other memory. */
static void mr_register__again_and_again_while_connected(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	for (uint32_t i = 0; i < 5; i++) {
		struct fabric_mr mr;
		uint8_t *mem;
		int fd = conf_memfd(4096, &mem);

		assert_int_equal(c->ops->mr_register(c->b.dev, mem, 4096,
						     FABRIC_LOCAL_WRITE | FABRIC_REMOTE_WRITE, fd,
						     0, &mr),
				 0);
		conf_fill(c->a.mem, 4096, i);
		conf_write(c, c->qp[0], i, SIGNAL, conf_sge(&c->a, 0, 4096), mr.rkey, mr.raddr);
		conf_expect(c, &c->a, i, FABRIC_WRITE, FABRIC_OK);
		assert_true(conf_filled(mem, 4096, i));
		c->ops->mr_deregister(c->b.dev, &mr);
		munmap(mem, 4096);
		close(fd);
	}
}

static void read__into_memory_that_is_not_registered(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	conf_read(c, c->qp[0], 1, 0, conf_sge(&c->a, MEM_BYTES - 8, 9), c->b.mr.rkey,
		  c->b.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_READ, FABRIC_ERR_LOCAL_PROT);
	conf_lost(c, &c->b);
}

static void write__several_errors_tell_of_the_first(void **state)
{
	struct conf *c = *state;

	conf_pair(c);
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 4096), c->b.mr.rkey, c->b.mr.raddr);
	for (uint32_t i = 2; i < 6; i++)
		conf_write(c, c->qp[0], i, 0, conf_sge(&c->a, 0, 64), c->b.mr.rkey,
			   c->b.mr.raddr - i);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	conf_expect(c, &c->a, 2, FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
	for (uint32_t i = 3; i < 6; i++)
		conf_expect(c, &c->a, i, FABRIC_WRITE, FABRIC_ERR_FLUSHED);
	conf_lost(c, &c->b);
}

/* Checks direct WRITEs and READs, if the driver has them. They make the checks of posted ones, and
 * are either complete when they return or have no effect. */
static void write_and_read_now__do_all_or_nothing(void **state)
{
	struct conf *c = *state;
	struct fabric_sge sge = conf_sge(&c->a, 100, 5000), bad = sge;
	const uint64_t end = c->b.mr.raddr + MEM_BYTES;

	conf_pair(c);
	if (!c->ops->write_direct || !c->ops->read_direct)
		return;
	/* A first access can wait until the region is mapped. A direct operation would refuse. */
	conf_write(c, c->qp[0], 1, SIGNAL, conf_sge(&c->a, 0, 8), c->b.mr.rkey, c->b.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	conf_fill(sge.addr, sge.len, 1);
	assert_true(c->ops->write_direct(c->qp[0], sge, c->b.mr.rkey, c->b.mr.raddr + 7));
	assert_true(conf_filled(c->b.mem + 7, 5000, 1));
	conf_fill(c->b.mem + 9, 5000, 2);
	assert_true(c->ops->read_direct(c->qp[0], sge, c->b.mr.rkey, c->b.mr.raddr + 9));
	assert_true(conf_filled(sge.addr, 5000, 2));

	bad.lkey ^= 0x5a5a5a5a;
	assert_false(c->ops->write_direct(c->qp[0], bad, c->b.mr.rkey, c->b.mr.raddr));
	assert_false(c->ops->write_direct(c->qp[0], sge, c->b.mr.rkey ^ 0x5a5a5a5a, c->b.mr.raddr));
	assert_false(c->ops->write_direct(c->qp[0], sge, c->b.mr.rkey, end - 4999));
	assert_false(c->ops->read_direct(c->qp[0], sge, c->b.mr.rkey, c->b.mr.raddr - 1));
	assert_false(c->ops->read_direct(c->qp[0], sge, c->b.mr.rkey, UINT64_MAX - 100));
	assert_true(conf_filled(sge.addr, 5000, 2));
	conf_settle(c);
	assert_int_equal(c->a.nwcs + c->b.nwcs, 0); /* the connection does not end either */
	conf_works(c, c->qp);
}

/* Checks a side that accesses memory after the peer has ended the connection, but before it has the
 * event of the end. The access must not reach memory of the peer. If 'destroys' is set, the peer
 * also destroys its queue pair. */
static void touches_nothing_behind_the_end(struct conf *c, bool destroys)
{
	const struct fabric_sge local = conf_sge(&c->a, 0, 4096);
	struct fabric_wc wc;

	conf_pair(c);
	conf_fill(c->a.mem, 4096, 1);
	conf_write(c, c->qp[0], 1, SIGNAL, local, c->b.mr.rkey, c->b.mr.raddr);
	conf_expect(c, &c->a, 1, FABRIC_WRITE, FABRIC_OK);
	c->ops->disconnect(c->qp[1]);
	WAIT_FOR(c, !c->ops->writes_have_ended || c->ops->writes_have_ended(c->qp[1]));
	if (destroys)
		conf_destroy(c, c->qp[1]);
	conf_fill(c->b.mem, 4096, 2); /* data of another user, which reuses the memory */
	if (c->ops->write_direct && c->ops->read_direct) {
		assert_false(c->ops->write_direct(c->qp[0], local, c->b.mr.rkey, c->b.mr.raddr));
		assert_false(c->ops->read_direct(c->qp[0], local, c->b.mr.rkey, c->b.mr.raddr));
	}
	conf_write(c, c->qp[0], 2, SIGNAL, local, c->b.mr.rkey, c->b.mr.raddr);
	conf_read(c, c->qp[0], 3, SIGNAL, local, c->b.mr.rkey, c->b.mr.raddr);
	wc = conf_wc(c, &c->a);
	assert_int_equal(wc.wr_id, 2);
	assert_int_not_equal(wc.status, FABRIC_OK);
	wc = conf_wc(c, &c->a);
	assert_int_equal(wc.wr_id, 3);
	assert_int_not_equal(wc.status, FABRIC_OK);
	assert_true(conf_filled(c->b.mem, 4096, 2));
}

static void disconnect__keeps_the_peer_off_before_it_hears(void **state)
{
	touches_nothing_behind_the_end(*state, false);
}

static void qp_destroy__keeps_the_peer_off_before_it_hears(void **state)
{
	touches_nothing_behind_the_end(*state, true);
}

/* Checks that b exposes nothing if it makes no calls, even to a peer that has guessed its key. */
static void opens_nothing(struct conf *c, enum fabric_op op)
{
	struct fabric_sge sge = conf_sge(&c->a, 0, 8);
	struct fabric_wr wr = {.wr_id = 7, .op = op, .sge = &sge, .nsge = 1};

	c->attr.exposes = false;
	if (!(c->harness->shortfalls & DRIVER_UNEXPOSED_UNANSWERED)) {
		refused(c, op, 8, c->b.mr.rkey, c->b.mr.raddr);
		return;
	}
	conf_pair(c);
	memset(c->a.mem, 0xaa, MEM_BYTES);
	memset(c->b.map, 0xbb, MEM_BYTES + 2 * GUARD_BYTES);
	wr.rkey = c->b.mr.rkey;
	wr.raddr = c->b.mr.raddr;
	conf_post(c, c->qp[0], &wr);
	conf_settle(c);
	assert_int_equal(c->a.nwcs, 0);
	for (uint32_t i = 0; i < MEM_BYTES; i++)
		assert_int_equal(c->a.mem[i], 0xaa);
	for (uint32_t i = 0; i < MEM_BYTES + 2 * GUARD_BYTES; i++)
		assert_int_equal(c->b.map[i], 0xbb);
}

static void exposes__not_and_nothing_is_read(void **state)
{
	opens_nothing(*state, FABRIC_READ);
}

static void exposes__not_and_nothing_is_written(void **state)
{
	opens_nothing(*state, FABRIC_WRITE);
}

static void exposes__not_and_it_reads_and_writes_itself(void **state)
{
	struct conf *c = *state;
	struct fabric_cm_event event;

	conf_listen(c);
	c->qp[0] = conf_connect(c, &c->a);
	event = conf_event(c, &c->b, FABRIC_CM_REQUEST);
	c->attr.exposes = false;
	c->qp[1] = conf_accept(c, &c->b, event.req, &c->b);
	conf_event(c, &c->a, FABRIC_CM_ESTABLISHED);
	conf_event(c, &c->b, FABRIC_CM_ESTABLISHED);
	conf_fill(c->a.mem, 5000, 1);
	conf_read(c, c->qp[1], 1, SIGNAL, conf_sge(&c->b, 0, 5000), c->a.mr.rkey, c->a.mr.raddr);
	conf_expect(c, &c->b, 1, FABRIC_READ, FABRIC_OK);
	assert_true(conf_filled(c->b.mem, 5000, 1));
	conf_write(c, c->qp[1], 2, SIGNAL, conf_sge(&c->b, 0, 5000), c->a.mr.rkey,
		   c->a.mr.raddr + 10000);
	conf_expect(c, &c->b, 2, FABRIC_WRITE, FABRIC_OK);
	assert_true(conf_filled(c->a.mem + 10000, 5000, 1));
	conf_works(c, c->qp);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(write__is_there_when_the_send_completes),
	cmocka_unit_test(write__completes_when_it_is_there),
	cmocka_unit_test(write__gathers),
	cmocka_unit_test(write__inline_buffer_is_free_at_once),
	cmocka_unit_test(read__gets_what_is_there),
	cmocka_unit_test(read__scatters),
	cmocka_unit_test(read__more_than_may_be_in_flight),
	cmocka_unit_test(read__in_both_directions),
	cmocka_unit_test(fence__waits_for_reads),
	cmocka_unit_test(completions__keep_the_order_of_posts),
	cmocka_unit_test(completion__tells_of_all_before_it),
	cmocka_unit_test(write__unknown_key),
	cmocka_unit_test(write__key_zero),
	cmocka_unit_test(write__one_past_the_end),
	cmocka_unit_test(write__behind_the_end),
	cmocka_unit_test(write__one_before_the_start),
	cmocka_unit_test(write__address_near_2_64),
	cmocka_unit_test(write__address_at_2_64),
	cmocka_unit_test(write__address_far_away),
	cmocka_unit_test(read__unknown_key),
	cmocka_unit_test(read__one_past_the_end),
	cmocka_unit_test(read__one_before_the_start),
	cmocka_unit_test(read__address_near_2_64),
	cmocka_unit_test(write__to_the_last_byte),
	cmocka_unit_test(write__nothing_at_the_bounds),
	cmocka_unit_test(write__where_only_reads_are_allowed),
	cmocka_unit_test(read__where_only_writes_are_allowed),
	cmocka_unit_test(mr_register__local_memory_has_no_rkey),
	cmocka_unit_test(mr_register__while_connected),
	cmocka_unit_test(mr_register__again_and_again_while_connected),
	cmocka_unit_test(mr_deregister__ends_the_key),
	cmocka_unit_test(read__into_memory_that_is_not_registered),
	cmocka_unit_test(write__several_errors_tell_of_the_first),
	cmocka_unit_test(write_and_read_now__do_all_or_nothing),
	cmocka_unit_test(disconnect__keeps_the_peer_off_before_it_hears),
	cmocka_unit_test(qp_destroy__keeps_the_peer_off_before_it_hears),
	cmocka_unit_test(exposes__not_and_nothing_is_read),
	cmocka_unit_test(exposes__not_and_nothing_is_written),
	cmocka_unit_test(exposes__not_and_it_reads_and_writes_itself),
};

const struct conformance_tests conformance_rdma = {tests, sizeof(tests) / sizeof(tests[0])};
