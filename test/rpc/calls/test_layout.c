/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that no cache line is written by two engines. Two engines of a process make calls to each
 * other over shm. Meanwhile the test lists the memory that each engine writes: on the heap, in
 * pools, and in the rings that both engines map. No cache line is allowed to be in both lists. The
 * engines allocate heap objects alternately, so that an object that does not fill whole lines is
 * next to an object of the other engine.
 */
#include "pair_main.h"

#include <rte_ring.h>

#include "batch.h"
#include "call_pool.h"
#include "responder.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define LINE	   64u
#define RANGES_MAX 512u
#define CONNS	   3u
#define CALLS	   40u

/*
 * Memory that two processes map: the word that the reader of a ring writes has a cache line of its
 * own, and the cells of each ring begin at a cache line.
 */
_Static_assert(sizeof(struct ring_shared) % LINE == 0 && _Alignof(struct ring_shared) == LINE, "");
_Static_assert(RING_CELL % LINE == 0 && RING_BYTES_MIN % RING_CELL == 0, "");
/* Memory of an engine that threads of other engines write: the producer side of the mailbox. */
_Static_assert(offsetof(struct rte_ring, cons) / LINE > offsetof(struct rte_ring, prod) / LINE, "");
_Static_assert(sizeof(struct rte_ring) % LINE == 0, "");
/*
 * Memory of an engine that peers read: entries of the key table. Each entry has its own cache
 * lines.
 */
_Static_assert(sizeof(struct key_entry) % LINE == 0, "");

struct range {
	const char *what;
	uintptr_t first, end; /* numbers of cache lines: the first, and the one after the last */
};

struct ranges {
	uint32_t n;
	struct range r[RANGES_MAX];
};

static struct pair pair;
static struct weir_conn *conns[CONNS], *server_conns[CONNS];

static void add(struct ranges *ranges, const char *what, const void *base, size_t bytes)
{
	uintptr_t first = (uintptr_t)base / LINE, end = ((uintptr_t)base + bytes + LINE - 1) / LINE;

	if (!base || bytes == 0)
		return;
	assert_in_range(ranges->n, 0, RANGES_MAX - 1);
	ranges->r[ranges->n++] = (struct range){what, first, end};
}

static const struct range *meets(const struct ranges *ranges, const struct range *one)
{
	for (uint32_t i = 0; i < ranges->n; i++)
		if (ranges->r[i].first < one->end && one->first < ranges->r[i].end)
			return &ranges->r[i];
	return NULL;
}

static void expect_apart(const struct ranges *a, const struct ranges *b)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct range *other = meets(b, &a->r[i]);

		if (other)
			fail_msg("a line of '%s' of one engine has something of '%s' of the other",
				 a->r[i].what, other->what);
	}
}

struct visit {
	struct ranges *ranges;
	const char *what;
};

static void add_chunk(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *chunk,
		      unsigned index)
{
	struct visit *visit = arg;

	(void)mp;
	(void)index;
	add(visit->ranges, visit->what, chunk->addr, chunk->len);
}

static void add_pool(struct ranges *ranges, const char *what, const struct mem_pool *pool)
{
	struct visit visit = {ranges, what};

	add(ranges, what, pool, sizeof(*pool));
	add(ranges, what, pool->region->base, pool->region->len_bytes);
	rte_mempool_mem_iter(pool->mp, add_chunk, &visit);
}

static void add_recvs(struct ranges *ranges, const char *what, const struct shm_recvs *recvs)
{
	if (recvs->wrs)
		add(ranges, what, recvs->wrs - 1, (recvs->mask + 2) * sizeof(recvs->wrs[0]));
}

static void add_engine(struct ranges *ranges, const struct weir_engine *engine)
{
	const struct shm_dev *dev = (const struct shm_dev *)engine->dev;
	const struct shm_turn *turn;

	add(ranges, "engine", engine, sizeof(*engine));
	add_pool(ranges, "send buffers", engine->send_pool);
	add_pool(ranges, "receive buffers", engine->recv_pool);
	add_pool(ranges, "long buffers", engine->long_pool);
	add_pool(ranges, "bulk buffers", engine->bulk_pool);
	add(ranges, "batch pool", engine->batches, sizeof(*engine->batches));
	add(ranges, "batches", engine->batches->batches,
	    engine->batches->nused * sizeof(engine->batches->batches[0]));
	add(ranges, "device", dev, sizeof(*dev));
	for (turn = TAILQ_FIRST(&dev->turns.all); turn; turn = TAILQ_NEXT(turn, entry)) {
		add(ranges, "turn", turn, sizeof(*turn));
		add(ranges, "cold queue pairs", turn->cold.at,
		    turn->cold.room * sizeof(turn->cold.at[0]));
	}
	add(ranges, "key table", dev->keys.entries, sizeof(struct key_table_memory));
	if (engine->calls) {
		add(ranges, "call pool", engine->calls, sizeof(*engine->calls));
		add(ranges, "calls", engine->calls->calls,
		    engine->calls->nused * sizeof(engine->calls->calls[0]));
	}
	if (engine->requests) {
		add(ranges, "request pool", engine->requests, sizeof(*engine->requests));
		add(ranges, "requests", engine->requests->requests,
		    engine->requests->nused * sizeof(engine->requests->requests[0]));
	}
	if (engine->srq) {
		add(ranges, "shared receives", engine->srq, sizeof(*engine->srq));
		add(ranges, "free receives", engine->srq->free,
		    engine->srq->nbufs * sizeof(engine->srq->free[0]));
		add(ranges, "shared receive queue", dev->srq, sizeof(*dev->srq));
		add_recvs(ranges, "posted receives", &dev->srq->recvs);
	}
}

static void add_conn(struct ranges *ranges, const struct weir_conn *conn)
{
	const struct shm_qp *qp = (const struct shm_qp *)conn->qp;

	add(ranges, "connection", conn, sizeof(*conn));
	add(ranges, "send queue", conn->sq, conn->sq_size * sizeof(conn->sq[0]));
	add(ranges, "free receives", conn->recv_free, conn->nrecvs * sizeof(conn->recv_free[0]));
	add(ranges, "queue pair", qp, sizeof(*qp));
	add(ranges, "completions", qp->done,
	    qp->done ? (qp->done_mask + 1) * sizeof(qp->done[0]) : 0);
	add_recvs(ranges, "receive queue", &qp->own);
	add(ranges, "muxes", qp->mux_set, sizeof(*qp->mux_set));
	if (qp->mux) {
		add(ranges, "mux", qp->mux, sizeof(*qp->mux));
		add(ranges, "places of a mux", qp->mux->qps, MUX_SLOTS * sizeof(qp->mux->qps[0]));
	}
}

static void add_requester(struct ranges *ranges, const struct weir_conn *conn)
{
	const struct requester *req = requester_of(conn);

	add_conn(ranges, conn);
	add(ranges, "requester", req, sizeof(*req));
	add(ranges, "slots", req->slots, req->nslots * sizeof(req->slots[0]));
}

static void add_responder(struct ranges *ranges, const struct weir_conn *conn)
{
	const struct responder *responder = responder_of(conn);

	add_conn(ranges, conn);
	add(ranges, "responder", responder, sizeof(*responder));
	if (!responder->pool->engine) {
		add(ranges, "request pool", responder->pool, sizeof(*responder->pool));
		add(ranges, "requests", responder->pool->requests,
		    responder->pool->nused * sizeof(responder->pool->requests[0]));
	}
}

/*
 * Adds the parts of the rings that one side of the connection writes. Offsets into the rings'
 * memory stand for addresses, because each side maps that memory at another address.
 */
static void add_rings(struct ranges *ranges, const struct weir_conn *conn)
{
	const struct shm_qp *qp = (const struct shm_qp *)conn->qp;
	const uint8_t *base = qp->sock->rings.base;
	/* Offsets are counted from the second line, so that offset 0 does not look like NULL. */
	const uint8_t *at = (const uint8_t *)(uintptr_t)LINE;

	add(ranges, "cells", at + (qp->tx.cells.base - base), ring_size(&qp->tx.cells));
	add(ranges, "reader's mark", at + ((const uint8_t *)ring_shared_of(&qp->rx.cells) - base),
	    sizeof(ring_shared_of(&qp->rx.cells)->head));
}

/*
 * Adds the parts of the mux rings that one side writes, as add_rings() does. All connections but
 * the first use a mux.
 */
static void add_mux(struct ranges *ranges, const struct weir_conn *conn)
{
	const struct shm_qp *qp = (const struct shm_qp *)conn->qp;
	const uint8_t *base = (const uint8_t *)qp->mux_set->memory,
		      *at = (const uint8_t *)(uintptr_t)LINE;

	assert_true(qp->tx_in_mux && qp->rx_in_mux);
	add(ranges, "cells of a mux", at + (qp->mux->tx.cells.base - base),
	    ring_size(&qp->mux->tx.cells));
	add(ranges, "reader's mark in a mux",
	    at + ((const uint8_t *)ring_shared_of(&qp->mux->rx.cells) - base),
	    sizeof(ring_shared_of(&qp->mux->rx.cells)->head));
}

static void connect_and_call(void)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		pair_connect(&pair);
		conns[i] = pair.conn;
		server_conns[i] = pair.server_conn;
	}
	for (uint32_t i = 0; i < CALLS; i++) {
		const uint32_t word = i;
		struct outcome outcome;

		pair.conn = conns[i % CONNS];
		pair_call(&pair, i / CONNS % 2 ? PAIR_READ : PAIR_ECHO, &word, 1, &outcome);
		assert_int_equal(outcome.status, 0);
	}
}

static void lines__are_of_one_engine(void **state)
{
	static struct ranges client, server;

	(void)state;
	client.n = server.n = 0;
	connect_and_call();
	add_engine(&client, pair.client);
	add_engine(&server, pair.server);
	for (uint32_t i = 0; i < CONNS; i++) {
		add_requester(&client, conns[i]);
		add_responder(&server, server_conns[i]);
	}
	expect_apart(&client, &server);
	for (uint32_t i = 0; i < CONNS; i++) {
		client.n = server.n = 0;
		add_rings(&client, conns[i]);
		add_rings(&server, server_conns[i]);
		assert_int_equal(client.n, 2);
		expect_apart(&client, &server);
	}
	for (uint32_t i = 1; i < CONNS; i++) {
		client.n = server.n = 0;
		add_mux(&client, conns[i]);
		add_mux(&server, server_conns[i]);
		assert_int_equal(client.n, 2);
		expect_apart(&client, &server);
	}
}

static void mailbox__is_of_whole_lines(void **state)
{
	(void)state;
	assert_int_equal((uintptr_t)pair.client->mailbox % LINE, 0);
	assert_int_equal((uintptr_t)pair.server->mailbox % LINE, 0);
}

/* Tests meets(): two ranges that share a cache line meet, and ranges in adjacent lines do not. */
static void meets__is_by_lines(void **state)
{
	static _Alignas(LINE) uint8_t memory[4 * LINE];
	static struct ranges ranges;
	struct range one;

	(void)state;
	ranges.n = 0;
	add(&ranges, "one", memory + LINE - 8, 8);
	one = ranges.r[0];
	ranges.n = 0;
	add(&ranges, "the next line", memory + LINE, 3 * LINE);
	assert_null(meets(&ranges, &one));
	add(&ranges, "the same line", memory, 1);
	assert_non_null(meets(&ranges, &one));
}

static int setup(void **state)
{
	(void)state;
	pair_start(&pair, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	return 0;
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines__are_of_one_engine, setup, teardown),
		cmocka_unit_test_setup_teardown(mailbox__is_of_whole_lines, setup, teardown),
		cmocka_unit_test(meets__is_by_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
