/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the muxes of the driver shm: how a connection ends while others wait, and what is left
 * of it.
 */
#include "shm_many.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.h"

#define DEVICES	 20u /* a number of devices that exceeds the number of muxes */
#define NOT_HERE 77

/*
 * Checks the end of a connection while a message of another connection waits in the mux for a
 * receive. The messages of the connection that ended are delivered before the end if receives are
 * posted. The end is reported in any case.
 */
static void end__waits_for_no_receive_of_others(void **state)
{
	(void)state;
	connect_many(4);
	for (uint32_t i = 2; i < 4; i++) {
		assert_true(a.ops->send_direct(qps[0][1], a.mem, 10));
		send_now_on(i);
		a.ops->qp_destroy(qps[0][i]);
		qps[0][i] = NULL;
		for (uint32_t n = 0; n < 1000; n++)
			end_step(&b, NULL);
		assert_int_equal(b.nwcs + b.nevents, 0);
		if (i == 2) {
			end_recv(&b, qps[1][1], 1, 0, 100);
			assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx,
					 &qps[1][1]);
			assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx,
					 &qps[1][2]);
		}
		assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[1][i]);
	}
	/* The mux continues after the end of the connection. */
	end_recv(&b, qps[1][1], 1, 0, 100);
	END_WAIT(&b, NULL, b.nwcs == 2);
	b.nwcs = 0;
	send_now_on(1);
	expect_in_one_poll(1);
}

/*
 * Checks a connection that ends because its message waited too long for a receive. The receiving
 * side gets the event of the end, although no receive was posted that could be flushed.
 */
static void rnr__end_is_told(void **state)
{
	(void)state;
	end_close(&b);
	end_open(&b, "rnr_retry=1", MANY);
	end_listen(&b, many_addr);
	connect_many(4);
	/* a connection with its own ring, and a connection in the mux */
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(a.ops->send_direct(qps[0][i], a.mem, 10));
		assert_ptr_equal(end_event(&b, &a, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[1][i]);
		assert_ptr_equal(end_event(&a, &b, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[0][i]);
	}
	send_now_on(2);
	expect_in_one_poll(2);
}

/*
 * Checks that a connection whose message waited for a receive is not polled any more after it has
 * ended.
 */
static void rnr__is_over_at_the_end(void **state)
{
	(void)state;
	connect_many(3);
	assert_true(a.ops->send_direct(qps[0][1], a.mem, 10));
	assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	assert_true(qp_of(1, 1)->is_rnr);
	b.ops->disconnect(qps[1][1]);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b.ops->poll(b.dev, b.wcs, 4), 0);
	assert_false(qp_of(1, 1)->is_hot);
	send_now_on(2);
	expect_in_one_poll(2);
}

/*
 * Checks that devices that accept no connections use no muxes, so that other devices can use all of
 * them.
 */
static void mux__is_taken_by_who_accepts(void **state)
{
	static struct end others[DEVICES];

	(void)state;
	end_close(&b);
	for (uint32_t i = 0; i < DEVICES; i++)
		end_open(&others[i], "", 1);
	end_open(&b, "", MANY);
	end_listen(&b, many_addr);
	connect_many(3);
	for (uint32_t i = 0; i < DEVICES; i++)
		end_close(&others[i]);
}

static void connect_from_elsewhere(void)
{
	static struct end c;
	struct fabric_qp *both[2];

	end_open(&c, "", 2);
	for (uint32_t i = 0; i < 2; i++) {
		both[i] = end_connect(&c, many_addr, NULL);
		end_event(&c, NULL, FABRIC_CM_ESTABLISHED);
		assert_null(((struct shm_qp *)both[i])->mux);
	}
	c.ops->qp_destroy(both[0]);
	c.ops->qp_destroy(both[1]);
	end_close(&c);
}

/*
 * Enters a new PID namespace. That requires a new user namespace, in which this user has the same
 * number.
 */
static int enter_namespaces(void)
{
	char map[48];
	int n = snprintf(map, sizeof(map), "%u %u 1\n", geteuid(), geteuid());
	int fd, rc;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
		return -1;
	fd = open("/proc/self/uid_map", O_WRONLY);
	if (fd < 0)
		return -1;
	rc = write(fd, map, (size_t)n) == n ? 0 : -1;
	close(fd);
	return rc;
}

/*
 * Checks a process that connects from another PID namespace. It cannot distinguish the processes
 * that listen at one address, one after the other. It must not pass the memory of one of them to
 * another.
 */
static void mux__is_with_a_process_that_is_known(void **state)
{
	int status = -1;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure here ends the process */
		if (enter_namespaces() != 0)
			_exit(NOT_HERE);
		child = fork();
		if (child == 0) {
			connect_from_elsewhere();
			_exit(0);
		}
		_exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
	}
	for (uint32_t i = 0; i < 2; i++) {
		END_WAIT(&b, NULL, b.nevents > 0 || waitpid(child, &status, WNOHANG) == child);
		if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
			skip(); /* no such namespaces can be created on this machine */
		qps[1][i] = end_accept(&b, NULL, &qps[1][i]);
		end_event(&b, NULL, FABRIC_CM_ESTABLISHED);
	}
	END_WAIT(&b, NULL, waitpid(child, &status, WNOHANG) == child);
	assert_int_equal(status, 0);
	b.nevents = 0;
}

/*
 * Checks that all connections of a mux read at the same address whether the peer sleeps. If each of
 * them read its own mapping, a thousand connections in turn would need a thousand entries of the
 * TLB. The address belongs to a connection that still exists, whichever of them ends.
 */
static void sleep__of_the_peer_is_read_at_one_place(void **state)
{
	uint32_t first = 1, last = 8;

	(void)state;
	connect_many(last + 1);
	for (uint32_t i = first; i <= last; i++)
		END_WAIT(&a, &b, is_in_mux(i));
	assert_ptr_equal(shm_peer_asleep(qp_of(0, 0)), qp_of(0, 0)->peer_asleep);
	while (first <= last) {
		const _Atomic uint32_t *place = qp_of(0, first)->mux->peer_asleep;
		uint32_t nowners = 0, ends;

		for (uint32_t i = first; i <= last; i++) {
			assert_ptr_equal(shm_peer_asleep(qp_of(0, i)), place);
			nowners += qp_of(0, i)->peer_asleep == place;
		}
		assert_int_equal(nowners, 1);
		atomic_store(dev_of(&b)->keys.asleep, first);
		assert_int_equal(atomic_load(place), first);
		atomic_store(dev_of(&b)->keys.asleep, 0);
		ends = (first + last) % 2 == 0 ? first++ : last--;
		a.ops->qp_destroy(qps[0][ends]);
		qps[0][ends] = NULL;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, many_setup, many_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(end__waits_for_no_receive_of_others),
		TEST(rnr__end_is_told),
		TEST(rnr__is_over_at_the_end),
		TEST(sleep__of_the_peer_is_read_at_one_place),
		TEST(mux__is_taken_by_who_accepts),
		TEST(mux__is_with_a_process_that_is_known),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
