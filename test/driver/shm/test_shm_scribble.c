/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a process that constantly writes random and chosen values to all memory of a shm
 * connection that it can map. Meanwhile the engine on the other side serves this connection and
 * others. The process ends its own connection, and has no other effect.
 */
#include "pair.h"
#include "shm_raw.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.h"
#include "engine.h"
#include "wire.h"

#define ROUNDS 60u
#define CALLS  24u
#define LOOKS  300u /* bound for the rounds of this process ... */
/* ... and for those of the other process; after both, the other process was not detected */
#define LOOPS	   4000u
#define KEY	   (5u << KEY_INDEX_BITS | 9) /* the key of the entry 'good' */
#define READ_BYTES 4096u

static struct pair pair;
static struct raw raw;

static _Atomic uint32_t *loops; /* number of rounds of the other process, in shared memory */
/* number of regions that the responder passed to the other process; must be 0 */
static _Atomic uint32_t *ngiven;

/*
 * The part of shared memory that the process changes: everything at random, or one part, while it
 * sends valid messages and their reader reads it.
 */
enum area { EVERYTHING, MESSAGES, KEYS, MARKS, MUXES, AREAS };

static const struct key_entry good = {.key = KEY,
				      .access = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
				      .region = RAW_REGION_ID,
				      .raddr = 4096,
				      .len = RAW_REGION_BYTES};

/* Makes a WRITE call with its argument in a Read chunk of the peer's region. */
static uint32_t make_call(uint8_t *msg, uint32_t xid)
{
	const uint32_t words[] = {xid,	      1, 8, 0, 1,   48, KEY,	    READ_BYTES, 0,
				  4096,	      0, 0, 0, xid, 0,	2,	    PAIR_PROG,	PAIR_VERS,
				  PAIR_WRITE, 0, 0, 0, 0,   1,	READ_BYTES, 1};
	uint32_t n = sizeof(words) / sizeof(words[0]);

	for (uint32_t i = 0; i < n; i++)
		wire_put_u32(msg + 4 * i, words[i]);
	return 4 * n;
}

/* Uses the rings of the connection at full speed: sends valid calls, and discards the answers. */
static void serve_ring(struct ring_reader *rx, uint32_t *xid)
{
	uint8_t msg[2048], answer[2048];
	struct fabric_sge sge = {msg, make_call(msg, ++*xid), 0};
	uint32_t word;

	ring_put(&raw.tx, &sge, 1, sge.len, 0);
	while ((word = ring_peek(rx)) != 0) {
		int64_t len = ring_msg_len(rx, word);

		if (len < 0)
			break;
		ring_take(rx, word, answer, sizeof(answer), (uint32_t)len);
	}
}

/*
 * Sends valid calls through the mux. Sometimes a message names another queue pair or none, or has
 * another kind.
 */
static void serve_mux(uint32_t *xid)
{
	uint64_t tag = raw.mux_tag;
	uint8_t msg[256];
	uint32_t word;

	if (*xid == 0) {
		ring_put_tagged(&raw.mux_tx, tag | MUX_HELLO << MUX_KIND_SHIFT, NULL, 0);
		ring_put_tagged(&raw.mux_tx, tag | MUX_SWITCH << MUX_KIND_SHIFT, NULL, 0);
	}
	if (random() % 64 == 0)
		tag ^= 1ull << random() % 64;
	ring_put_tagged(&raw.mux_tx, tag, msg, make_call(msg, ++*xid));
	while ((word = ring_look(&raw.mux_rx)) != 0 && ring_msg_len(&raw.mux_rx, word) >= 0)
		ring_drop(&raw.mux_rx, word);
}

/* Writes after the header that the reader reads next. That header stays valid. */
static void scribble_mux(void)
{
	struct mux_ring *way = &raw.muxes->muxes[raw.answer.slot.mux].to_acceptor;

	if (random() % 4 == 0)
		raw_scribble((uint8_t *)way + (ring_tail(&raw.mux_tx) & (MUX_BYTES - 1)), 2048, 4);
	raw_scribble((uint8_t *)raw.mux_rx.cells.base - sizeof(struct ring_shared), 4096, 1);
}

/* Sends the region each time that the responder asks for it. */
static void serve_socket(void)
{
	struct shm_msg msg;

	while (recv(raw.fd, &msg, sizeof(msg), MSG_DONTWAIT) == (ssize_t)sizeof(msg)) {
		if (msg.type == SHM_WANT)
			raw_send_region(&raw);
		else if (msg.type == SHM_REGION)
			atomic_fetch_add(ngiven, 1);
	}
}

/* The loop of the other process, which runs until the process is killed. */
static void run_scribbler(enum area area, uint32_t seed)
{
	uint8_t *second = raw.rings + ring_footprint(RAW_RING_BYTES);
	struct ring_reader rx;
	uint32_t xid = 0, mux_xid = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srandom(seed);
	ring_reader_init(&rx, second, RAW_RING_BYTES, 2048);
	for (;; atomic_fetch_add(loops, 1)) {
		serve_socket();
		if (area != EVERYTHING && area != MUXES)
			serve_ring(&rx, &xid);
		switch (area) {
		case MESSAGES: /* after the first header, which stays valid */
			raw_scribble(raw.rings + sizeof(struct ring_shared), RAW_RING_BYTES, 1);
			break;
		case KEYS:
			memcpy(&raw.keys[9], &good, sizeof(good));
			raw_scribble((uint8_t *)&raw.keys[9], sizeof(good), 1);
			break;
		case MARKS:
			raw_scribble((uint8_t *)raw.mark, sizeof(*raw.mark), 1);
			raw_scribble(second, ring_footprint(RAW_RING_BYTES), 8);
			break;
		case MUXES:
			serve_mux(&mux_xid);
			scribble_mux();
			break;
		default:
			raw_scribble(raw.rings, 2 * ring_footprint(RAW_RING_BYTES), 64);
			raw_scribble((uint8_t *)raw.muxes, sizeof(*raw.muxes), 64);
			raw_scribble((uint8_t *)raw.keys, sizeof(struct key_table_memory), 64);
		}
		raw_scribble(raw.region, RAW_REGION_BYTES, 16);
	}
}

/* Receives a message of 'type' with one descriptor, and returns the descriptor. */
static int recv_fd(enum shm_msg_type type)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {&raw.answer, sizeof(raw.answer)};
	struct msghdr hdr = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	uint64_t until = end_now_ns() + END_WAIT_NS;
	int fd;

	while (recvmsg(raw.fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) {
		assert_true(end_now_ns() < until);
		pair_poll(&pair);
	}
	assert_int_equal(raw.answer.type, type);
	assert_non_null(CMSG_FIRSTHDR(&hdr));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&hdr)), sizeof(fd));
	return fd;
}

/* Receives ACCEPT. Checks that the key table, which it passes, cannot be mapped for writing. */
static void recv_accept(void)
{
	int fd = recv_fd(SHM_ACCEPT);

	assert_ptr_equal(mmap(NULL, sizeof(struct key_table_memory), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0),
			 MAP_FAILED);
	close(fd);
}

/* Asks for the region in each slot. A responder exposes nothing, so that it must not answer. */
static void ask_for_theirs(void)
{
	struct shm_msg want = {.magic = SHM_MAGIC, .version = SHM_VERSION, .type = SHM_WANT};

	for (uint32_t place = 0; place < SHM_REGIONS_MAX; place++) {
		want.region.id = SHM_REGIONS_MAX + place;
		raw_send(&raw, &want, sizeof(want), NULL, 0);
		pair_poll(&pair);
	}
}

/*
 * Starts a process that connects to the responder of the pair, and that then writes to the part
 * 'area'. Returns its PID.
 */
static pid_t attack(enum area area, uint32_t seed)
{
	int opened = pair.server_opened;
	pid_t pid;

	raw_init(&raw);
	memcpy(&raw.keys[9], &good, sizeof(good));
	raw_offer_mux(&raw);
	raw_connect(&raw, pair.addr);
	raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
	recv_accept();
	raw_begin_mux(&raw);
	raw_send_type(&raw, SHM_READY);
	ask_for_theirs();
	pair_until(&pair, &pair.server_opened, opened + 1);
	atomic_store(loops, 0);
	pid = fork();
	if (pid == 0)
		run_scribbler(area, seed);
	assert_true(pid > 0);
	return pid;
}

/* Makes calls of the honest connection and checks their results. */
static void call_honestly(void)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t args[] = {8, i, ~i};
		struct outcome outcome;

		pair_call(&pair, PAIR_ECHO, args, 3, &outcome);
		assert_int_equal(outcome.status, 0);
		assert_int_equal(outcome.nwords, 3);
		assert_memory_equal(outcome.words, args, sizeof(args));
	}
}

/* Returns the number of connections and buffers that the responder's engine holds. */
static uint32_t held(void)
{
	const struct weir_engine *engine = pair.server;

	return engine->nconnections + engine->send_pool->in_use + engine->recv_pool->in_use +
	       engine->long_pool->in_use + engine->bulk_pool->in_use;
}

static void scribbler__has_its_connection_closed_and_nothing_else(void **state)
{
	uint32_t before, nclosed[AREAS] = {0};

	(void)state;
	pair_start(&pair, NULL);
	pair_connect(&pair);
	call_honestly();
	before = held();
	loops = mmap(NULL, 2 * sizeof(*loops), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	assert_ptr_not_equal(loops, MAP_FAILED);
	ngiven = loops + 1;
	/*
	 * The detection of an invalid value depends on chance. Parts in which none was detected
	 * are tried again.
	 */
	for (uint32_t round = 0; round < 3 * ROUNDS; round++) {
		int closed = pair.server_closed;
		pid_t pid;

		if (round >= ROUNDS && nclosed[round % AREAS] > 0)
			continue;
		pid = attack(round % AREAS, round);

		/*
		 * On a busy machine, the other process can make many rounds before this thread
		 * reads the memory again.
		 */
		for (uint32_t i = 0;
		     pair.server_closed == closed && (i < LOOKS || atomic_load(loops) < LOOPS);
		     i++) {
			call_honestly();
			sched_yield();
		}
		nclosed[round % AREAS] += pair.server_closed > closed;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		raw_fini(&raw);
		pair_until(&pair, &pair.server_closed, closed + 1);
		call_honestly();
		assert_int_equal(held(), before);
		assert_int_equal(pair.closed, 0);
		assert_int_equal(pair.server_closed, closed + 1);
	}
	assert_int_equal(atomic_load(ngiven), 0);
	/* The engine closed these connections itself, before the other process ended. */
	for (uint32_t area = 0; area < AREAS; area++)
		print_message("area %u: closed in %u rounds\n", area, nclosed[area]);
	assert_true(nclosed[EVERYTHING] > 0 && nclosed[KEYS] > 0 && nclosed[MARKS] > 0 &&
		    nclosed[MUXES] > 0);
	pair_stop(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scribbler__has_its_connection_closed_and_nothing_else),
	};

	pair_driver = "shm";
	pair_buffers = PAIR_BUFFERS_MORE;
	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
