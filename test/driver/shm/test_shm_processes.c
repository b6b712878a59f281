/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of processes over shm that die: how soon their peers detect it, and that nothing is left.
 */
#include "shm_ends.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eal.h"

#define CYCLES	    100u
#define NOTICED_NS  1000000000u
#define MESSAGE_LEN 130u

static struct end b;

/* Runs in the other process: connects, and keeps the connection busy until it is killed. */
static void load(const char *addr)
{
	const struct fabric_wr send = {.op = FABRIC_SEND, .flags = FABRIC_SIGNALED};
	static struct end a;
	uint64_t raddr;
	uint32_t rkey;

	end_open(&a, "", 4);
	a.qp = end_connect(&a, addr, &a);
	end_event(&a, NULL, FABRIC_CM_ESTABLISHED);
	end_recv(&a, a.qp, 0, 0, 64);
	end_wc(&a, NULL, FABRIC_RECV, FABRIC_OK);
	memcpy(&rkey, a.mem, 4);
	memcpy(&raddr, a.mem + 8, 8);
	for (;;) {
		end_recv(&a, a.qp, 0, 0, 4096);
		end_post(&a,
			 (struct fabric_wr){
				 .op = FABRIC_WRITE, .rkey = rkey, .raddr = raddr + 65536},
			 end_sge(&a, 65536, 65536));
		end_post(&a, send, end_sge(&a, 0, MESSAGE_LEN));
		for (a.nwcs = 0; a.nwcs < 2;)
			end_step(&a, NULL);
		a.nwcs = 0;
	}
}

static pid_t start_load(const char *addr)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failure here ends the process */
		load(addr);
		_exit(0);
	}
	return child;
}

/*
 * Kills a peer while its connection is in use. The driver must detect that in time, and all work
 * requests must complete.
 */
static void kill_one(const char *addr, uint32_t answers)
{
	struct fabric_wr send = {.op = FABRIC_SEND, .flags = FABRIC_SIGNALED};
	uint32_t posted = 0, polled = 0, answered = 0, recvs = 0;
	pid_t child = start_load(addr);
	uint64_t killed_ns = 0;
	int status;

	b.qp = end_accept(&b, NULL, &b);
	end_event(&b, NULL, FABRIC_CM_ESTABLISHED);
	for (; recvs < 4; recvs++)
		end_recv(&b, b.qp, 0, 4096 * recvs, 4096);
	memcpy(b.mem + 32768, &b.mr.rkey, 4);
	memcpy(b.mem + 32776, &b.mr.raddr, 8);
	end_post(&b, send, end_sge(&b, 32768, 16));
	posted = 1;
	while (b.nevents == 0) {
		end_step(&b, NULL);
		for (uint32_t i = 0; i < b.nwcs; i++) {
			const struct fabric_wc *wc = &b.wcs[i];

			polled += wc->op == FABRIC_SEND;
			recvs -= wc->op == FABRIC_RECV;
			if (wc->op != FABRIC_RECV || wc->status != FABRIC_OK)
				continue;
			assert_int_equal(wc->byte_len, MESSAGE_LEN);
			end_recv(&b, b.qp, 0, 0, 4096);
			recvs++;
			send.sge = &(struct fabric_sge){b.mem + 32768, 60, b.mr.lkey};
			send.nsge = 1;
			posted += b.ops->post_send(b.qp, &send, 1);
			answered++;
		}
		b.nwcs = 0;
		if (answered >= answers && killed_ns == 0) {
			kill(child, SIGKILL);
			killed_ns = end_now_ns();
		}
	}
	assert_in_range(end_now_ns() - killed_ns, 0, NOTICED_NS);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	/* All work requests that were posted complete. */
	END_WAIT(&b, NULL, b.nwcs >= posted - polled + recvs);
	for (uint32_t i = 0; i < b.nwcs; i++)
		polled += b.wcs[i].op == FABRIC_SEND;
	assert_int_equal(polled, posted);
	b.nwcs = 0;
	b.ops->qp_destroy(b.qp);
	b.qp = NULL;
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void kill__of_a_busy_peer_is_noticed_and_leaves_nothing(void **state)
{
	const char *addr = end_address();
	struct end_holdings before;

	(void)state;
	end_open(&b, "", 4);
	end_listen(&b, addr);
	before = end_count();
	for (uint32_t i = 0; i < CYCLES; i++)
		kill_one(addr, i * 3 % 50);
	end_until_released(&b, before);
	end_close(&b);
}

/* Checks processes that end before their connection was established. Nothing of them is left. */
static void kill__of_one_that_connects(void **state)
{
	const char *addr = end_address();
	struct end_holdings before;

	(void)state;
	end_open(&b, "", 4);
	end_listen(&b, addr);
	before = end_count();
	for (uint32_t i = 0; i < 20; i++) {
		struct fabric_qp_attr attr = end_attr;
		struct fabric_cm_event event;
		pid_t child = start_load(addr);
		int rc;

		event = end_event(&b, NULL, FABRIC_CM_REQUEST);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		rc = b.ops->accept(b.dev, event.req, &attr, NULL, 0, &b.qp);
		if (rc == 0) {
			end_event(&b, NULL, FABRIC_CM_FAILED);
			b.ops->qp_destroy(b.qp);
			b.qp = NULL;
		}
	}
	end_until_released(&b, before);
	end_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill__of_a_busy_peer_is_noticed_and_leaves_nothing),
		cmocka_unit_test(kill__of_one_that_connects),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
