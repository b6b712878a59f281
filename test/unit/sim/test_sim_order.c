/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that sim chooses each order of events that a real device might choose, with some seeds but
 * not with all.
 */
#include "sim_net.h"

#include <string.h>

#include "sim.h"

/* Defines a test that runs with many seeds, and counts those in which the order occurs. */
#define EACH_SEED(name, once)                                                                      \
	static void name(void **state)                                                             \
	{                                                                                          \
		uint32_t seen = 0;                                                                 \
                                                                                                   \
		(void)state;                                                                       \
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {                                   \
			sim_net_start(seed);                                                       \
			seen += once();                                                            \
			sim_net_close();                                                           \
		}                                                                                  \
		assert_in_range(seen, 1, SEEDS - 1);                                               \
	}

static bool write_passes_write(void)
{
	net.a.mem[0] = 1;
	sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 1, 100);
	sim_net_post(&net.a, FABRIC_WRITE, 2, 0, 1, 101);
	while (net.b.mem[100] == 0 && net.b.mem[101] == 0)
		assert_true(sim_step(net.world));
	return net.b.mem[101] == 1;
}
EACH_SEED(order__a_write_passes_a_write, write_passes_write)

static bool write_comes_in_pieces(void)
{
	memset(net.a.mem, 1, 1000);
	sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 1000, 0);
	while (!memchr(net.b.mem, 1, 1000))
		assert_true(sim_step(net.world));
	return memchr(net.b.mem, 0, 1000);
}
EACH_SEED(order__a_write_comes_in_pieces, write_comes_in_pieces)

static bool last_byte_comes_first(void)
{
	memset(net.a.mem, 1, 1000);
	sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 1000, 0);
	while (!memchr(net.b.mem, 1, 1000))
		assert_true(sim_step(net.world));
	return net.b.mem[0] == 0 && net.b.mem[999] == 1;
}
EACH_SEED(order__the_last_byte_of_a_write_comes_first, last_byte_comes_first)

static bool read_passes_read(void)
{
	net.b.mem[0] = 1;
	sim_net_post(&net.a, FABRIC_READ, 1, 100, 1, 0);
	sim_net_post(&net.a, FABRIC_READ, 2, 101, 1, 0);
	while (net.a.mem[100] == 0 && net.a.mem[101] == 0)
		assert_true(sim_step(net.world));
	return net.a.mem[101] == 1;
}
EACH_SEED(order__a_read_passes_a_read, read_passes_read)

static bool send_passes_read(void)
{
	struct fabric_wc wc;

	net.b.mem[0] = 1;
	sim_net_recv(&net.b, 1, 1000, 64);
	sim_net_post(&net.a, FABRIC_READ, 2, 100, 1, 0);
	sim_net_post(&net.a, FABRIC_SEND, 3, 100, 1, 0); /* sends bytes that the READ writes */
	while (net.ops->poll(net.b.dev, &wc, 1) == 0)
		assert_true(sim_step(net.world));
	return net.b.mem[1000] == 0;
}
EACH_SEED(order__a_send_passes_a_read, send_passes_read)

static bool answer_passes_completion(void)
{
	struct fabric_wc wc;

	sim_net_recv(&net.a, 1, 1000, 64);
	sim_net_recv(&net.b, 2, 1000, 64);
	sim_net_post(&net.a, FABRIC_SEND, 3, 0, 8, 0);
	sim_net_wc(&net.b, 2, FABRIC_OK);
	sim_net_post(&net.b, FABRIC_SEND, 4, 0, 8, 0);
	while (net.ops->poll(net.a.dev, &wc, 1) == 0)
		assert_true(sim_step(net.world));
	return wc.op == FABRIC_RECV;
}
EACH_SEED(order__an_answer_passes_the_completion, answer_passes_completion)

static bool source_is_read_late(enum fabric_op op)
{
	sim_net_recv(&net.b, 1, 1000, 64);
	sim_net_post(&net.a, op, 2, 0, 8, 1000);
	for (uint64_t steps = 1 + sim_now(net.world) % 2; steps > 0; steps--)
		sim_step(net.world);
	net.a.mem[0] = 1; /* too early, because the work request has not completed */
	sim_net_wc(&net.a, 2, FABRIC_OK);
	assert_int_equal(sim_sources_changed(net.world), 1);
	return net.b.mem[1000] == 1;
}

static bool send_source_is_read_late(void)
{
	return source_is_read_late(FABRIC_SEND);
}
EACH_SEED(order__the_source_of_a_send_is_read_late, send_source_is_read_late)

static bool write_source_is_read_late(void)
{
	return source_is_read_late(FABRIC_WRITE);
}
EACH_SEED(order__the_source_of_a_write_is_read_late, write_source_is_read_late)

/* Checks a queue pair that is destroyed while it has work requests. */
static void source__may_be_read_until_the_end_of_the_queue_pair(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		sim_net_start(seed);
		net.a.mem[0] = 0;
		sim_net_post(&net.a, FABRIC_WRITE, 1, 0, 8, 1000);
		net.a.mem[0] = 1; /* too early */
		net.ops->qp_destroy(net.a.qp);
		net.a.qp = NULL;
		assert_int_equal(sim_sources_changed(net.world), 1);
		sim_net_close();
	}
}

static void source__may_be_read_until_the_flush(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		sim_net_start(seed);
		net.ops->disconnect(net.a.qp);
		net.a.mem[0] = 0;
		sim_net_post(&net.a, FABRIC_SEND, 1, 0, 8, 0);
		net.a.mem[0] = 1; /* too early */
		sim_net_wc(&net.a, 1, FABRIC_ERR_FLUSHED);
		assert_int_equal(sim_sources_changed(net.world), 1);
		net.a.mem[0] = 2;
		sim_net_close();
	}
}

static void order__a_message_passes_established(void **state)
{
	struct fabric_conn_req *req;
	struct fabric_cm_event event;
	struct fabric_wc wc;
	uint32_t seen = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		sim_net_open(seed, NULL, "");
		sim_net_request(&req);
		assert_int_equal(net.ops->accept(net.b.dev, req, &net.attr, NULL, 0, &net.b.qp), 0);
		sim_net_recv(&net.b, 1, 1000, 64);
		sim_net_event(net.a.dev, FABRIC_CM_ESTABLISHED);
		sim_run_until(net.world, sim_now(net.world) + seed * 200);
		sim_net_post(&net.a, FABRIC_SEND, 2, 0, 8, 0);
		while (net.ops->poll(net.b.dev, &wc, 1) == 0)
			assert_true(sim_step(net.world));
		seen += net.ops->cm_poll(net.b.dev, &event, 1) == 0;
		sim_net_close();
	}
	assert_in_range(seen, 1, SEEDS - 1);
}

static void max_rd_atomic__holds_up_what_follows(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		sim_net_open(seed, NULL, ",max_rd_atomic=1");
		sim_net_connect();
		memset(net.b.mem, 1, 2000);
		sim_net_post(&net.a, FABRIC_READ, 1, 0, 1000, 0);
		sim_net_post(&net.a, FABRIC_READ, 2, 1000, 1000, 0);
		while (!memchr(net.a.mem + 1000, 1, 1000))
			assert_true(sim_step(net.world));
		assert_null(memchr(net.a.mem, 0, 1000));
		sim_net_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order__a_write_passes_a_write),
		cmocka_unit_test(order__a_write_comes_in_pieces),
		cmocka_unit_test(order__the_last_byte_of_a_write_comes_first),
		cmocka_unit_test(order__a_read_passes_a_read),
		cmocka_unit_test(order__a_send_passes_a_read),
		cmocka_unit_test(order__an_answer_passes_the_completion),
		cmocka_unit_test(order__the_source_of_a_send_is_read_late),
		cmocka_unit_test(order__the_source_of_a_write_is_read_late),
		cmocka_unit_test(source__may_be_read_until_the_end_of_the_queue_pair),
		cmocka_unit_test(source__may_be_read_until_the_flush),
		cmocka_unit_test(order__a_message_passes_established),
		cmocka_unit_test(max_rd_atomic__holds_up_what_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
