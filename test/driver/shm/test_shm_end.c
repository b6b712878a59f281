/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a queue pair or a key that ends while the peer carries out a WRITE or READ. When the end
 * is complete, the WRITE or READ has no further effect.
 */
#include "shm_raw.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizers.h"
#include "eal.h"

#define ROUNDS 40u
#define BYTES  END_MEM_BYTES
#define LAST   4096u
#define LATE   0xffu /* the content of the memory after it was reused */
#define KEY    (5u << KEY_INDEX_BITS | 9)

static struct end a, b;
static struct raw raw;

static int start_raw(void **state)
{
	(void)state;
	end_open(&b, "", 4);
	raw_init(&raw);
	raw_pair(&raw, &b);
	return 0;
}

static int stop_raw(void **state)
{
	(void)state;
	raw_fini(&raw);
	end_close(&b);
	return 0;
}

/* Returns the shared words that the driver under test writes for its side. */
static const struct ring_shared *said(void)
{
	return (const struct ring_shared *)(const void *)raw.rings;
}

static void wait_quiet(void)
{
	uint64_t until = end_now_ns() + END_WAIT_NS;

	while (!b.ops->writes_have_ended(b.qp)) {
		assert_true(end_now_ns() < until);
		usleep(50);
	}
}

static void disconnect__tells_and_waits_for_a_write_under_way(void **state)
{
	(void)state;
	atomic_store(&raw.mark->busy, KEY);
	assert_false(b.ops->writes_have_ended(b.qp)); /* the connection has not ended */
	assert_int_equal(said()->is_over, 0);
	b.ops->disconnect(b.qp);
	assert_int_equal(said()->is_over, 1);
	for (int i = 0; i < 100; i++)
		assert_false(b.ops->writes_have_ended(b.qp));
	atomic_store(&raw.mark->busy, 0);
	wait_quiet();
	atomic_store(&raw.mark->busy, KEY); /* the peer is copying with another key */
	assert_true(b.ops->writes_have_ended(b.qp));
	assert_int_equal(b.dev->stats.protocol_errors, 0);
}

static void disconnect__of_one_that_was_always_idle(void **state)
{
	(void)state;
	b.ops->disconnect(b.qp);
	wait_quiet();
	assert_int_equal(b.dev->stats.protocol_errors, 0);
}

static void disconnect__does_not_wait_for_ever(void **state)
{
	(void)state;
	atomic_store(&raw.mark->busy, KEY);
	b.ops->disconnect(b.qp);
	wait_quiet();
	assert_int_equal(b.dev->stats.protocol_errors, 1);
}

/*
 * Checks a peer process that dies during a WRITE. The driver detects the death without a timeout,
 * and does not count it as an error.
 */
static void disconnect__of_a_peer_that_died_in_a_write(void **state)
{
	const char *addr = end_address();
	int status;
	pid_t pid;

	(void)state;
	end_open(&b, "", 4);
	raw_init(&raw);
	end_listen(&b, addr);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		raw_connect(&raw, addr);
		raw_send(&raw, &raw.hello, sizeof(raw.hello), raw.fds, raw.nfds);
		if (recv(raw.fd, &raw.answer, sizeof(raw.answer), 0) > 0)
			raw_send_type(&raw, SHM_READY);
		pause();
		_exit(0);
	}
	b.qp = end_accept(&b, NULL, &b);
	end_event(&b, NULL, FABRIC_CM_ESTABLISHED);
	atomic_store(&raw.mark->busy, KEY);
	kill(pid, SIGKILL);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wait_quiet();
	assert_int_equal(b.dev->stats.protocol_errors, 0);
	raw_fini(&raw);
	end_close(&b);
}

static void post_inv(uint32_t rkey, uint32_t flags)
{
	const struct fabric_wr wr = {
		.op = FABRIC_LOCAL_INV, .flags = FABRIC_SIGNALED | flags, .rkey = rkey};

	assert_int_equal(b.ops->post_send(b.qp, &wr, 1), 1);
	for (int i = 0; i < 20; i++)
		end_poll(&b);
}

/* Binds a window over the memory to which the peer writes. Returns the key of the window. */
static uint32_t bind_window(struct fabric_mw *mw)
{
	struct fabric_sge sge = end_sge(&b, 0, 4096);
	const struct fabric_wr wr = {.op = FABRIC_BIND_MW,
				     .sge = &sge,
				     .nsge = 1,
				     .mw = mw,
				     .access = FABRIC_REMOTE_WRITE};

	assert_int_equal(b.ops->post_send(b.qp, &wr, 1), 1);
	return mw->rkey;
}

static void local_inv__in_use_waits_for_a_write_by_that_key(void **state)
{
	struct fabric_mw mw;
	uint32_t rkey;

	(void)state;
	assert_int_equal(b.ops->mw_alloc(b.dev, &mw), 0);
	rkey = bind_window(&mw);
	atomic_store(&raw.mark->busy, rkey);
	post_inv(rkey, FABRIC_IN_USE);
	assert_int_equal(b.nwcs, 0);
	/* the peer is copying again, with another key */
	atomic_store(&raw.mark->busy, rkey ^ 1u << 31);
	end_wc(&b, NULL, FABRIC_LOCAL_INV, FABRIC_OK);

	/* The driver does not wait for a window if it knows that the peer is not using it. */
	rkey = bind_window(&mw);
	atomic_store(&raw.mark->busy, rkey);
	post_inv(rkey, 0);
	end_wc(&b, NULL, FABRIC_LOCAL_INV, FABRIC_OK);
	b.ops->mw_free(b.dev, &mw);
}

static void local_inv__in_use_for_ever_breaks_the_connection(void **state)
{
	struct fabric_mw mw;
	uint32_t rkey;

	(void)state;
	assert_int_equal(b.ops->mw_alloc(b.dev, &mw), 0);
	rkey = bind_window(&mw);
	atomic_store(&raw.mark->busy, rkey);
	post_inv(rkey, FABRIC_IN_USE);
	assert_int_equal(b.nwcs, 0);
	end_wc(&b, NULL, FABRIC_LOCAL_INV, FABRIC_ERR_RETRY);
	atomic_store(&raw.mark->busy, 0);
	wait_quiet();
	b.ops->mw_free(b.dev, &mw);
}

/* A side that copies in a thread of its own until its access is refused. */
struct copier {
	enum fabric_op op;
	_Atomic uint32_t ndone;
	/* number of READs that were reported as successful although their memory had been reused */
	uint32_t nwrong;
	enum fabric_status last;
};

static void *copy_on(void *arg)
{
	struct copier *copier = arg;
	uint64_t until = end_now_ns() + END_WAIT_NS;

	do {
		end_post(&a,
			 (struct fabric_wr){.op = copier->op,
					    .flags = FABRIC_SIGNALED,
					    .rkey = b.mr.rkey,
					    .raddr = b.mr.raddr},
			 end_sge(&a, 0, BYTES));
		while (a.nwcs == 0)
			a.nwcs += a.ops->poll(a.dev, a.wcs, 1);
		copier->last = a.wcs[0].status;
		a.nwcs = 0;
		if (copier->op == FABRIC_READ && copier->last == FABRIC_OK)
			copier->nwrong += memchr(a.mem, LATE, BYTES) != NULL;
		copier->ndone++;
	} while (copier->last == FABRIC_OK && end_now_ns() < until);
	return NULL;
}

static void end_in_the_midst_of(enum fabric_op op)
{
	end_open(&a, "", 4);
	end_open(&b, "", 4);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct copier copier = {.op = op};
		pthread_t thread;

		end_pair(&a, &b);
		memset(a.mem, 1, BYTES);
		memset(b.mem, 2, BYTES);
		assert_int_equal(pthread_create(&thread, NULL, copy_on, &copier), 0);
		while (copier.ndone < 1 + round % 3)
			usleep(round * 7);
		b.ops->disconnect(b.qp);
		wait_quiet();
		memset(b.mem + BYTES - LAST, LATE, LAST); /* the bytes that a READ copies last */
		memset(b.mem, LATE, BYTES);
		pthread_join(thread, NULL);
		assert_int_not_equal(copier.last, FABRIC_OK);
		assert_int_equal(copier.nwrong, 0);
		for (uint32_t i = 0; i < BYTES; i++)
			assert_int_equal(b.mem[i], LATE);
		b.ops->unlisten(b.listener);
		b.listener = NULL;
		a.ops->qp_destroy(a.qp);
		b.ops->qp_destroy(b.qp);
		a.qp = b.qp = NULL;
		a.nevents = b.nevents = 0;
	}
	end_close(&a);
	end_close(&b);
}

static void write__under_way_leaves_nothing_behind_the_end(void **state)
{
	(void)state;
	end_in_the_midst_of(FABRIC_WRITE);
}

#ifndef __SANITIZE_THREAD__
/*
 * Checks READs that are in progress when the key ends. Their data are discarded. They are a data
 * race by design, so that a race checker cannot run this test.
 */
static void read__under_way_is_no_good_behind_the_end(void **state)
{
	(void)state;
	end_in_the_midst_of(FABRIC_READ);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(disconnect__tells_and_waits_for_a_write_under_way,
						start_raw, stop_raw),
		cmocka_unit_test_setup_teardown(disconnect__of_one_that_was_always_idle, start_raw,
						stop_raw),
		cmocka_unit_test_setup_teardown(disconnect__does_not_wait_for_ever, start_raw,
						stop_raw),
		cmocka_unit_test(disconnect__of_a_peer_that_died_in_a_write),
		cmocka_unit_test_setup_teardown(local_inv__in_use_waits_for_a_write_by_that_key,
						start_raw, stop_raw),
		cmocka_unit_test_setup_teardown(local_inv__in_use_for_ever_breaks_the_connection,
						start_raw, stop_raw),
		cmocka_unit_test(write__under_way_leaves_nothing_behind_the_end),
#ifndef __SANITIZE_THREAD__
		cmocka_unit_test(read__under_way_is_no_good_behind_the_end),
#endif
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
