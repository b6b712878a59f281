/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of peers over shm that withhold something for which a work request waits. The functions
 * that each try calls are wrapped and counted. A work request must be tried again from time to
 * time, but not in each poll.
 */
#include "shm_raw.h"

#include <unistd.h>

#include "eal.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define STALLED 60u
#define RAWS	(STALLED + 2)
#define POLLS	200000u
/* bound for the tries of a waiting work request; it usually needs some hundreds */
#define TRIES	   (POLLS / 20)
#define TRIES_MANY (POLLS / 2)
#define KEY	   (5u << KEY_INDEX_BITS | 9)
#define MSG	   1000u
#define MSGS	   (RAW_RING_BYTES / 1024 - 1) /* number of messages that fill a ring */
#define TOGGLES	   1000u
#define EARLY	   16u /* number of polls before the ring has space */
#define PROMPT	   8u  /* bound for the number of polls after that */
#define ROUNDS	   50u

static struct end b;
static struct raw raws[RAWS];
static struct fabric_qp *qps[RAWS];
static uint32_t nraws;

/* Numbers of calls of the wrapped functions by the polling thread. */
static _Thread_local uint32_t ntries, nwrites, nreads, nlooks;

const struct shm_import *__real_shm_peer_adopt(struct shm_qp *qp, uint32_t id);
int __real_ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len);
int __real_ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *at, uint32_t len);
ssize_t __real_write(int fd, const void *data, size_t len);
uint32_t __real_shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);
bool __real_shm_recv_is_awaited(struct shm_qp *qp);
const struct shm_import *__wrap_shm_peer_adopt(struct shm_qp *qp, uint32_t id);
int __wrap_ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len);
int __wrap_ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *at, uint32_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
uint32_t __wrap_shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max);
bool __wrap_shm_recv_is_awaited(struct shm_qp *qp);

const struct shm_import *__wrap_shm_peer_adopt(struct shm_qp *qp, uint32_t id)
{
	ntries++;
	return __real_shm_peer_adopt(qp, id);
}

int __wrap_ring_put_one(struct ring_writer *ring, const uint8_t *data, uint32_t len)
{
	ntries++;
	return __real_ring_put_one(ring, data, len);
}

int __wrap_ring_put_tagged(struct ring_writer *ring, uint64_t tag, const uint8_t *at, uint32_t len)
{
	ntries++;
	return __real_ring_put_tagged(ring, tag, at, len);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	nwrites++;
	return __real_write(fd, data, len);
}

uint32_t __wrap_shm_recv_ring(struct shm_qp *qp, struct fabric_wc *wcs, uint32_t max)
{
	nreads++;
	return __real_shm_recv_ring(qp, wcs, max);
}

bool __wrap_shm_recv_is_awaited(struct shm_qp *qp)
{
	nlooks++;
	return __real_shm_recv_is_awaited(qp);
}

static int setup(void **state)
{
	(void)state;
	nraws = 0;
	end_open(&b, "", RAWS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_close_all(raws, qps, nraws, &b);
	return 0;
}

static const struct shm_dev *dev(void)
{
	return (const struct shm_dev *)b.dev;
}

static void listen_no_more(void)
{
	b.ops->unlisten(b.listener);
	b.listener = NULL;
	qps[nraws++] = b.qp;
}

static struct raw *pair(void)
{
	struct raw *raw = &raws[nraws];

	raw_init(raw);
	raw_pair(raw, &b);
	listen_no_more();
	return raw;
}

/* Connects a peer that offers muxes and has sent nothing through its mux. */
static struct raw *pair_with_mux(void)
{
	struct raw *raw = &raws[nraws];

	raw_init(raw);
	raw_offer_mux(raw);
	raw_pair(raw, &b);
	raw_begin_mux(raw);
	listen_no_more();
	return raw;
}

/*
 * Connects a peer that sends HELLO and nothing after it, so that the connection is not established.
 */
static void pair_half(void)
{
	const char *addr = end_address();
	struct raw *raw = &raws[nraws];

	raw_init(raw);
	end_listen(&b, addr);
	raw_connect(raw, addr);
	raw_send(raw, &raw->hello, sizeof(raw->hello), raw->fds, raw->nfds);
	b.qp = end_accept(&b, NULL, &b);
	listen_no_more();
}

static void name_region(struct raw *raw, uint32_t id)
{
	const struct key_entry entry = {.key = KEY,
					.access = FABRIC_REMOTE_READ,
					.conn_id = KEY_ANY_CONN,
					.region = id,
					.len = RAW_REGION_BYTES};

	memcpy(&raw->keys[KEY & (KEY_ENTRIES - 1)], &entry, sizeof(entry));
}

static void post_read(uint64_t wr_id)
{
	end_post(&b,
		 (struct fabric_wr){
			 .wr_id = wr_id,
			 .op = FABRIC_READ,
			 .flags = FABRIC_SIGNALED,
			 .rkey = KEY,
		 },
		 end_sge(&b, 0, 64));
}

static void post_send(uint64_t wr_id)
{
	end_post(&b,
		 (struct fabric_wr){
			 .wr_id = wr_id,
			 .op = FABRIC_SEND,
			 .flags = FABRIC_SIGNALED,
		 },
		 end_sge(&b, 0, MSG));
}

/* Posts one message more than the ring holds. */
static void fill_ring(void)
{
	for (uint32_t i = 0; i < MSGS; i++)
		end_post(&b, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&b, 0, MSG));
	post_send(1);
}

/* Sets the position up to which the peer has read, so that it seems to have read n messages. */
static void read_ring(struct raw *raw, uint32_t n)
{
	atomic_store(&raw->mark->head, n * ring_cells_bytes(MSG));
}

/*
 * Makes two connections with a waiting work request: one waits for a region, and the other for
 * space in its ring.
 */
static void pair_two(void)
{
	name_region(pair(), RAW_REGION_ID);
	post_read(1);
	pair();
	fill_ring();
}

/* Checks that no poll finds anything, and that all polls together make at most 'most' tries. */
static void poll_in_vain(uint32_t most)
{
	uint32_t most_in_poll = 0;

	ntries = 0;
	for (uint32_t i = 0; i < POLLS; i++) {
		uint32_t before = ntries;

		end_poll(&b);
		if (ntries - before > most_in_poll)
			most_in_poll = ntries - before;
	}
	assert_int_equal(b.nwcs + b.nevents, 0);
	assert_int_equal(most_in_poll, 1);
	assert_in_range(ntries, 1, most);
}

static void region__that_does_not_come_is_looked_for_now_and_then(void **state)
{
	struct raw *raw = pair();

	(void)state;
	name_region(raw, RAW_REGION_ID);
	post_read(1);
	poll_in_vain(TRIES);
	raw_give_region(raw, &b);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
}

static void ring__that_stays_full_is_looked_at_now_and_then(void **state)
{
	struct raw *raw = pair();

	(void)state;
	fill_ring();
	poll_in_vain(TRIES);
	read_ring(raw, MSGS);
	end_wc(&b, NULL, FABRIC_SEND, FABRIC_OK);
}

/*
 * Checks a connection whose mux has no space, so that it cannot announce that it changes to the
 * mux.
 */
static void mux__that_stays_full_is_looked_at_now_and_then(void **state)
{
	static const uint8_t data[MSG];
	struct raw *raw = pair_with_mux();
	uint64_t hello = raw->mux_tag | MUX_HELLO << MUX_KIND_SHIFT;
	struct shm_qp *qp = (struct shm_qp *)b.qp;

	(void)state;
	while (ring_put_tagged(&qp->mux->tx, qp->mux_tag, data, sizeof(data)) == 1)
		;
	while (ring_put_tagged(&qp->mux->tx, qp->mux_tag, NULL, 0) == 1)
		;
	assert_int_equal(ring_put_tagged(&raw->mux_tx, hello, NULL, 0), 1);
	poll_in_vain(TRIES);
	assert_false(qp->tx_in_mux);
	atomic_store(&ring_shared_of(&raw->mux_rx.cells)->head, ring_tail(&qp->mux->tx));
	END_WAIT(&b, NULL, qp->tx_in_mux);
	assert_int_equal(dev()->stalls.n, 0);
}

/*
 * Checks that space in the ring is found soon. The pause between two tries is a small part of the
 * time that the work request has already waited. The best of several rounds counts, because other
 * processes can run between two polls.
 */
static void room__that_comes_early_is_found_in_a_few_polls(void **state)
{
	struct raw *raw = pair();
	uint32_t best = POLLS;

	(void)state;
	fill_ring();
	for (uint32_t round = 1; round <= ROUNDS && best > PROMPT; round++) {
		uint32_t npolls = 0;

		for (uint32_t i = 0; i < EARLY; i++)
			assert_int_equal(end_poll(&b), 0);
		read_ring(raw, round);
		while (end_poll(&b) == 0)
			npolls++;
		end_wc(&b, NULL, FABRIC_SEND, FABRIC_OK);
		post_send(1);
		if (npolls < best)
			best = npolls;
	}
	assert_in_range(best, 0, PROMPT);
}

/* Checks that space in the ring which exists at the next poll is found in that poll. */
static void room__that_comes_at_once_is_found_in_the_next_poll(void **state)
{
	struct raw *raw = pair();

	(void)state;
	fill_ring();
	read_ring(raw, MSGS);
	assert_int_equal(end_poll(&b), 1);
	end_wc(&b, NULL, FABRIC_SEND, FABRIC_OK);
	assert_int_equal(dev()->stalls.n, 0);
}

/*
 * Checks many waiting connections: a poll makes at most one try that fails, and none of these
 * connections is hot.
 */
static void stalls__of_many_cost_no_more(void **state)
{
	struct raw *other;

	(void)state;
	for (uint32_t i = 0; i < STALLED; i += 2)
		pair_two();
	pair_half();
	other = pair();
	assert_int_equal(dev()->stalls.n, STALLED);
	poll_in_vain(TRIES_MANY);
	assert_int_equal(dev()->nhot, 0);

	/* Messages from these peers are received, and their waiting work requests continue. */
	end_recv(&b, qps[1], 1, 0, 4096);
	assert_int_equal(ring_put_one(&raws[1].tx, raws[1].region, 64), 1);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
	read_ring(&raws[1], MSGS);
	end_wc(&b, NULL, FABRIC_SEND, FABRIC_OK);
	raw_give_region(&raws[2], &b);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
	end_recv(&b, qps[RAWS - 1], 1, 0, 4096);
	assert_int_equal(ring_put_one(&other->tx, other->region, 64), 1);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
}

/*
 * Connects 'n' peers that have sent one message for which there is no receive, and then a peer that
 * has sent nothing. Returns the last peer.
 */
static struct raw *pair_overrun(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct raw *raw = pair();

		assert_int_equal(ring_put_one(&raw->tx, raw->region, 64), 1);
	}
	return pair();
}

/*
 * Checks connections with such messages. A poll checks at most one of them, however many there are,
 * until a receive is posted.
 */
static void receives__that_are_not_there_keep_no_poll_busy(void **state)
{
	struct raw *other = pair_overrun(STALLED);

	(void)state;
	END_WAIT(&b, NULL, dev()->nhot == 0);
	assert_int_equal(dev()->stalls.n, STALLED);
	nreads = nlooks = 0;
	for (uint32_t i = 0; i < POLLS; i++) {
		uint32_t before = nlooks;

		end_poll(&b);
		assert_in_range(nlooks - before, 0, 1);
	}
	assert_int_equal(b.nwcs + b.nevents + nreads, 0);
	assert_in_range(nlooks, 1, TRIES_MANY);

	end_recv(&b, qps[1], 1, 0, 4096);
	assert_int_equal(end_poll(&b), 1);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
	end_recv(&b, qps[STALLED], 1, 0, 4096);
	assert_int_equal(ring_put_one(&other->tx, other->region, 64), 1);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
}

/*
 * Checks that the limit for such a message ends its connection, although the connection is checked
 * only together with waiting work requests.
 */
static void receives__that_do_not_come_in_time_end_the_connection(void **state)
{
	struct raw *overrun;

	(void)state;
	end_close(&b);
	end_open(&b, "rnr_retry=1", RAWS);
	overrun = pair();
	pair();
	assert_int_equal(ring_put_one(&overrun->tx, overrun->region, 64), 1);
	END_WAIT(&b, NULL, dev()->stalls.n == 1);
	END_WAIT(&b, NULL, ((struct shm_qp *)qps[0])->state == QP_ERROR);
	assert_int_equal(((struct shm_qp *)qps[1])->state, QP_READY);
	END_WAIT(&b, NULL, dev()->stalls.n == 0);
}

static void expect_flushed(enum fabric_op op, uint64_t n)
{
	for (uint64_t wr_id = 1; wr_id <= n; wr_id++)
		assert_int_equal(end_wc(&b, NULL, op, FABRIC_ERR_FLUSHED).wr_id, wr_id);
}

static void stalls__are_flushed_in_order(void **state)
{
	(void)state;
	name_region(pair(), RAW_REGION_ID);
	for (uint64_t wr_id = 1; wr_id <= 4; wr_id++)
		post_read(wr_id);
	pair();
	fill_ring();
	post_send(2);
	post_send(3);
	poll_in_vain(TRIES);
	b.ops->disconnect(qps[0]);
	expect_flushed(FABRIC_READ, 4);
	close(raws[1].fd);
	raws[1].fd = -1;
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	expect_flushed(FABRIC_SEND, 3);
	assert_int_equal(dev()->stalls.n, 0);
}

/*
 * Checks that waiting work requests end with their queue pair, and that those of other queue pairs
 * continue.
 */
static void stalls__end_with_the_queue_pair(void **state)
{
	(void)state;
	pair_two();
	pair();
	fill_ring();
	assert_int_equal(dev()->stalls.n, 3);
	for (uint32_t i = 0; i < 2; i++) {
		b.ops->qp_destroy(qps[i]);
		qps[i] = NULL;
		poll_in_vain(TRIES);
	}
	assert_int_equal(dev()->stalls.n, 1);
	read_ring(&raws[2], MSGS);
	end_wc(&b, NULL, FABRIC_SEND, FABRIC_OK);
	assert_int_equal(dev()->stalls.n, 0);
	b.qp = qps[2];
	post_send(1);
	b.ops->qp_destroy(b.qp);
	qps[2] = NULL;
	assert_int_equal(dev()->stalls.n, 0);
}

/*
 * Checks a key whose region changes while a work request waits for it. The control thread must not
 * be woken for each change.
 */
static void region__that_changes_while_it_is_waited_for(void **state)
{
	struct raw *raw = pair();

	(void)state;
	name_region(raw, RAW_REGION_ID);
	nwrites = 0;
	post_read(1);
	for (uint32_t i = 0; i < TOGGLES && b.nwcs == 0; i++) {
		atomic_store(&raw->keys[KEY & (KEY_ENTRIES - 1)].region, RAW_REGION_ID + i % 2);
		end_poll(&b);
		usleep(10);
	}
	end_wc(&b, NULL, FABRIC_READ, FABRIC_ERR_REMOTE_ACCESS);
	assert_int_equal(nwrites, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(region__that_does_not_come_is_looked_for_now_and_then),
		TEST(ring__that_stays_full_is_looked_at_now_and_then),
		TEST(mux__that_stays_full_is_looked_at_now_and_then),
		TEST(room__that_comes_early_is_found_in_a_few_polls),
		TEST(room__that_comes_at_once_is_found_in_the_next_poll),
		TEST(stalls__of_many_cost_no_more),
		TEST(receives__that_are_not_there_keep_no_poll_busy),
		TEST(receives__that_do_not_come_in_time_end_the_connection),
		TEST(stalls__are_flushed_in_order),
		TEST(stalls__end_with_the_queue_pair),
		TEST(region__that_changes_while_it_is_waited_for),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
