/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the driver shm between two threads of a process: the order in which effects become
 * visible.
 */
#include "shm_ends.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "eal.h"

#define ROUNDS	   3000u
#define SLOTS	   8u
#define SLOT_BYTES 8192u
#define HANDOVERS  100u

/*
 * Returns the length of the WRITE before message n. Each byte that it writes differs from the
 * previous content of the slot.
 */
static uint32_t written_len(uint32_t n)
{
	return 1 + n * 977 % SLOT_BYTES;
}

struct order {
	struct end end;
	const char *addr;
	_Atomic bool listens;
	uint32_t nchecked;
	uint32_t nwrong;
};

static void check_messages(struct order *order)
{
	struct end *end = &order->end;

	while (order->nchecked < ROUNDS) {
		end_step(end, NULL);
		for (uint32_t i = 0; i < end->nwcs; i++) {
			uint32_t slot = (uint32_t)end->wcs[i].wr_id, n = order->nchecked;
			const uint8_t *data = end->mem + slot * SLOT_BYTES;
			const struct fabric_recv_wr recv = {slot, end->mem + 262144 + slot * 64, 64,
							    end->mr.lkey};
			struct fabric_sge sge = {end->mem + 262144 + slot * 64, 4, end->mr.lkey};
			const struct fabric_wr answer = {.op = FABRIC_SEND,
							 .flags = FABRIC_SIGNALED,
							 .sge = &sge,
							 .nsge = 1};

			if (end->wcs[i].op != FABRIC_RECV)
				continue;
			order->nwrong += slot != n % SLOTS || memcmp(sge.addr, &n, 4) != 0;
			for (uint32_t at = 0; at < written_len(n); at++)
				order->nwrong += data[at] != (uint8_t)(n + at);
			order->nchecked++;
			order->nwrong += end->ops->post_recv(end->qp, &recv, 1) != 1;
			order->nwrong += end->ops->post_send(end->qp, &answer, 1) != 1;
		}
		end->nwcs = 0;
	}
}

static void *checker(void *arg)
{
	struct order *order = arg;
	struct end *end = &order->end;

	end_open(end, "", 4);
	end_listen(end, order->addr);
	order->listens = true;
	end->qp = end_accept(end, NULL, end);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		end_recv(end, end->qp, slot, 262144 + slot * 64, 64);
	end_event(end, NULL, FABRIC_CM_ESTABLISHED);
	check_messages(order);
	end_event(end, NULL, FABRIC_CM_DISCONNECTED);
	end_close(end);
	return NULL;
}

/* Checks with two threads that the data of a WRITE are visible when a later Send is received. */
static void order__a_write_is_there_before_the_send(void **state)
{
	static struct order order;
	static struct end a;
	uint32_t sent = 0, answered = 0;
	uint64_t until = end_now_ns() + 6 * END_WAIT_NS;
	pthread_t thread;

	(void)state;
	order.addr = end_address();
	assert_int_equal(pthread_create(&thread, NULL, checker, &order), 0);
	while (!order.listens)
		usleep(100);
	end_open(&a, "", 4);
	a.qp = end_connect(&a, order.addr, &a);
	end_event(&a, NULL, FABRIC_CM_ESTABLISHED);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		end_recv(&a, a.qp, 0, 262144 + slot * 64, 64);
	while (answered < ROUNDS) {
		while (sent < ROUNDS && sent - answered < SLOTS) {
			uint32_t slot = sent % SLOTS, at = slot * SLOT_BYTES;

			for (uint32_t i = 0; i < written_len(sent); i++)
				a.mem[at + i] = (uint8_t)(sent + i);
			memcpy(a.mem + 524288 + slot * 64, &sent, 4);
			end_post(&a,
				 (struct fabric_wr){.op = FABRIC_WRITE,
						    .rkey = order.end.mr.rkey,
						    .raddr = order.end.mr.raddr + at},
				 end_sge(&a, at, written_len(sent)));
			end_post(&a,
				 (struct fabric_wr){.op = FABRIC_SEND, .flags = FABRIC_SIGNALED},
				 end_sge(&a, 524288 + slot * 64, 4));
			sent++;
		}
		end_step(&a, NULL);
		for (uint32_t i = 0; i < a.nwcs; i++) {
			assert_int_equal(a.wcs[i].status, FABRIC_OK);
			if (a.wcs[i].op == FABRIC_RECV) {
				end_recv(&a, a.qp, 0, 262144, 64);
				answered++;
			}
		}
		a.nwcs = 0;
		assert_true(end_now_ns() < until);
	}
	end_close(&a);
	pthread_join(thread, NULL);
	assert_int_equal(order.nwrong, 0);
	assert_int_equal(order.nchecked, ROUNDS);
}

#define CONNS	40u
#define ANSWERS 20000u
#define DEPTH	4u /* number of messages in flight, each on the next connection */

/*
 * A side with many connections, which are used one after the other. A mux carries their messages.
 */
struct turns {
	struct end end;
	const char *addr;
	_Atomic bool listens;
	struct fabric_qp *qps[CONNS];
	uint32_t nwrong;
};

static uint32_t turn_len(uint32_t n)
{
	return 4 + n * 37 % 300;
}

static uint8_t *turn_memory(const struct end *end, uint32_t i)
{
	return end->mem + i * 1024;
}

static void turn_recv(struct turns *turns, uint32_t i)
{
	const struct fabric_recv_wr wr = {i, turn_memory(&turns->end, i), 512, turns->end.mr.lkey};

	turns->nwrong += turns->end.ops->post_recv(turns->qps[i], &wr, 1) != 1;
}

/* Sends message n from memory that the other side does not map. */
static void turn_send(struct turns *turns, uint32_t n)
{
	uint8_t *data = turns->end.mem + 524288;

	memset(data, (int)n, turn_len(n));
	memcpy(data, &n, 4);
	turns->nwrong += !turns->end.ops->send_direct(turns->qps[n % CONNS], data, turn_len(n));
}

/* Checks a message that arrived on a connection. Returns its number. */
static uint32_t turn_check(struct turns *turns, const struct fabric_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id, n;
	const uint8_t *data = turn_memory(&turns->end, i);

	memcpy(&n, data, 4);
	turns->nwrong += wc->status != FABRIC_OK || n % CONNS != i || wc->byte_len != turn_len(n);
	for (uint32_t at = 4; at < wc->byte_len; at++)
		turns->nwrong += data[at] != (uint8_t)n;
	return n;
}

static void *answer_in_turn(void *arg)
{
	struct turns *turns = arg;
	uint32_t answered = 0;

	end_open(&turns->end, "", CONNS);
	end_listen(&turns->end, turns->addr);
	turns->listens = true;
	for (uint32_t i = 0; i < CONNS; i++) {
		turns->qps[i] = end_accept(&turns->end, NULL, NULL);
		turn_recv(turns, i);
		end_event(&turns->end, NULL, FABRIC_CM_ESTABLISHED);
	}
	while (answered < ANSWERS) {
		end_step(&turns->end, NULL);
		for (uint32_t i = 0; i < turns->end.nwcs; i++) {
			uint32_t n = turn_check(turns, &turns->end.wcs[i]);

			turn_recv(turns, n % CONNS);
			turn_send(turns, n);
			answered++;
		}
		turns->end.nwcs = 0;
	}
	for (uint32_t i = 0; i < CONNS; i++) {
		end_event(&turns->end, NULL, FABRIC_CM_DISCONNECTED);
		turns->end.ops->qp_destroy(turns->qps[i]);
	}
	end_close(&turns->end);
	return NULL;
}

/* Checks messages of two threads over many connections, each of which is used rarely. */
static void turns__all_messages_come_whole(void **state)
{
	static struct turns a, b;
	uint64_t until = end_now_ns() + 12 * END_WAIT_NS;
	uint32_t nsent = 0, answered = 0;
	pthread_t thread;

	(void)state;
	a.addr = b.addr = end_address();
	assert_int_equal(pthread_create(&thread, NULL, answer_in_turn, &b), 0);
	while (!b.listens)
		usleep(100);
	end_open(&a.end, "", CONNS);
	for (uint32_t i = 0; i < CONNS; i++) {
		a.qps[i] = end_connect(&a.end, a.addr, NULL);
		turn_recv(&a, i);
		end_event(&a.end, NULL, FABRIC_CM_ESTABLISHED);
	}
	while (answered < ANSWERS) {
		while (nsent < ANSWERS && nsent - answered < DEPTH)
			turn_send(&a, nsent++);
		end_step(&a.end, NULL);
		for (uint32_t i = 0; i < a.end.nwcs; i++) {
			turn_recv(&a, turn_check(&a, &a.end.wcs[i]) % CONNS);
			answered++;
		}
		a.end.nwcs = 0;
		assert_true(end_now_ns() < until);
	}
	for (uint32_t i = 0; i < CONNS; i++)
		a.end.ops->qp_destroy(a.qps[i]);
	pthread_join(thread, NULL);
	end_close(&a.end);
	assert_int_equal(a.nwrong + b.nwrong, 0);
}

/* Accepts requests on another device than the one that got them, as soon as they arrive. The
 * control thread that handed a request over does not use its socket any more, which TSan checks
 * here. */
static void handover__another_device_takes_requests_at_once(void **state)
{
	static struct end a, b, c;
	struct fabric_qp_attr attr = end_attr;
	const char *addr = end_address();

	(void)state;
	end_open(&a, "", 4);
	end_open(&b, "", 4);
	end_open(&c, "", 4);
	end_listen(&b, addr);
	for (uint32_t i = 0; i < HANDOVERS; i++) {
		struct fabric_qp *qp = end_connect(&a, addr, NULL), *accepted;
		struct fabric_cm_event request = end_event(&b, &a, FABRIC_CM_REQUEST);

		assert_int_equal(c.ops->accept(c.dev, request.req, &attr, NULL, 0, &accepted), 0);
		end_event(&a, &c, FABRIC_CM_ESTABLISHED);
		end_event(&c, &a, FABRIC_CM_ESTABLISHED);
		a.ops->qp_destroy(qp);
		end_event(&c, &a, FABRIC_CM_DISCONNECTED);
		c.ops->qp_destroy(accepted);
	}
	end_close(&a);
	end_close(&b);
	end_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order__a_write_is_there_before_the_send),
		cmocka_unit_test(turns__all_messages_come_whole),
		cmocka_unit_test(handover__another_device_takes_requests_at_once),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
