/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the faults that the driver 'fault' injects into work requests and completions, each kind
 * by itself.
 */
#include "sim_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "fault.h"
#include "sim.h"

/*
 * Completions of both sides in the order of polling, and numbers of lost connections. run_out()
 * advances the simulation until nothing happens, and adds to them.
 */
static struct fabric_wc wcs[2][128];
static uint32_t nwcs[2];
static uint32_t nlost[2];

static void run_out(void)
{
	struct fabric_dev *const devs[2] = {net.a.dev, net.b.dev};
	bool stepped;

	memset(nwcs, 0, sizeof(nwcs));
	memset(nlost, 0, sizeof(nlost));
	do {
		stepped = sim_step(net.world);
		for (uint32_t i = 0; i < 2; i++) {
			struct fabric_cm_event event;

			nwcs[i] += net.ops->poll(devs[i], &wcs[i][nwcs[i]], 128 - nwcs[i]);
			while (net.ops->cm_poll(devs[i], &event, 1) > 0) {
				assert_int_equal(event.kind, FABRIC_CM_DISCONNECTED);
				nlost[i]++;
			}
		}
	} while (stepped || fault_held(net.a.dev) + fault_held(net.b.dev) > 0);
}

static void expect(uint32_t side, uint32_t i, uint64_t wr_id, enum fabric_status status)
{
	assert_true(i < nwcs[side]);
	assert_int_equal(wcs[side][i].wr_id, wr_id);
	assert_int_equal(wcs[side][i].status, status);
}

static void open__options(void **state)
{
	static const char *const bad[] = {"",
					  "over=none",
					  "over=fault",
					  "over=sim,kinds=wr+nonsense",
					  "over=sim,kinds=",
					  "over=sim,rate=-1",
					  "over=sim,nth=x",
					  "over=sim,status=well",
					  "over=sim,unknown=1",
					  "over"};
	static const char *const good[] = {"over=sim",
					   "over=sim,seed=7,kinds=wr+drop,rate=100,rnr_retry=7",
					   "over=sim,kinds=all,nth=3,status=rnr"};
	struct fabric_dev_config config = {0};
	struct fabric_dev *dev;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config.options = bad[i];
		assert_true(fabric_driver_find("fault")->open(&config, &dev) < 0);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		config.options = good[i];
		assert_int_equal(fabric_driver_find("fault")->open(&config, &dev), 0);
		assert_string_equal(fault_inner(dev)->ops->name, "sim");
		dev->ops->close(dev);
	}
}

/* Checks that a device with the options 'options' is refused, and that the log contains 'words'. */
static void expect_refusal(const char *options, const char *words)
{
	const struct fabric_dev_config config = {.options = options};
	struct fabric_dev *dev;
	char *text = NULL;
	size_t len = 0;
	FILE *log = open_memstream(&text, &len);

	assert_non_null(log);
	assert_int_equal(rte_openlog_stream(log), 0);
	assert_int_equal(fabric_driver_find("fault")->open(&config, &dev), -EINVAL);
	rte_openlog_stream(NULL);
	fclose(log);
	if (!strstr(text, words))
		fail_msg("'%s' was refused with '%s', not '%s'", options, text, words);
	free(text);
}

static void open__refusals_name_the_option_and_what_there_is(void **state)
{
	char many[64 * sizeof("seed=1,")] = "";

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		snprintf(many + i * 7, 8, "seed=1,");
	expect_refusal(many, "seed=1,': expected over=DRIVER,");
	expect_refusal("", "option 'over': it is missing: expected one of ");
	expect_refusal("seed=1", "option 'over': it is missing: expected one of ");
	expect_refusal("over=none", "option 'over=none': expected one of ");
	expect_refusal("over=none", "shm");
	expect_refusal("over=fault", "option 'over=fault': expected one of ");
	expect_refusal("over", "option 'over': it has no value: expected over=DRIVER,");
	expect_refusal("over=sim,kinds=[wr", "option 'kinds=[wr': expected all");
	expect_refusal("over=sim,kinds=wr+nonsense",
		       "option 'kinds=wr+nonsense': expected all, or joined");
	expect_refusal("over=sim,kinds=",
		       "option 'kinds=': expected all, or joined by +: wr, late, recv,");
	expect_refusal("over=sim,kinds=none", ", mr, mw, unlistened");
	expect_refusal("over=sim,seed=x", "option 'seed=x': expected a number");
	expect_refusal("over=sim,rate=-1", "option 'rate=-1': expected a number");
	expect_refusal("over=sim,nth=1x", "option 'nth=1x': expected a number");
	expect_refusal("over=sim,status=well",
		       "option 'status=well': expected one of local_len, local_prot,");
	/*
	 * Options that 'fault' does not know are passed to the other driver. The message of that
	 * driver says what it accepts.
	 */
	expect_refusal("over=sim,unknown=1", "sim: options 'unknown=1': expected world=N,seed=N,");
	expect_refusal("over=sim,rnr_retry=8",
		       "sim: options 'rnr_retry=8': all are numbers: rnr_retry 0 to 7");
	expect_refusal("over=shm,unknown=1", "shm: options 'unknown=1': expected ring_kib=N");
}

static void wr__fails_without_effect_and_flushes_what_follows(void **state)
{
	(void)state;
	for (int status = FABRIC_ERR_LOCAL_LEN; status <= FABRIC_ERR_FATAL; status++) {
		sim_net_start((uint64_t)status);
		memset(net.b.mem, 0, 64);
		memset(net.a.mem, 0x5a, 64);
		assert_true(fault_at(net.a.dev, FAULT_WR, 3, status));
		for (uint32_t i = 1; i <= 5; i++)
			sim_net_post(&net.a, FABRIC_WRITE, i, 0, 8, i * 8);
		run_out();
		assert_int_equal(nwcs[0], 5);
		expect(0, 0, 1, FABRIC_OK);
		expect(0, 1, 2, FABRIC_OK);
		expect(0, 2, 3, (enum fabric_status)status);
		expect(0, 3, 4, FABRIC_ERR_FLUSHED);
		expect(0, 4, 5, FABRIC_ERR_FLUSHED);
		assert_int_equal(net.b.mem[23], 0x5a);
		for (uint32_t i = 24; i < 48; i++)
			assert_int_equal(net.b.mem[i], 0);
		assert_int_equal(nlost[1], 1);
		assert_in_range(nlost[0], 0, 1);
		assert_int_equal(fault_injected(net.a.dev, FAULT_WR), 1);
		/* Later work requests fail as well. */
		sim_net_post(&net.a, FABRIC_WRITE, 6, 0, 8, 0);
		run_out();
		expect(0, 0, 6, FABRIC_ERR_FLUSHED);
		sim_net_close();
	}
}

static void wr_late__fails_with_its_effect(void **state)
{
	(void)state;
	sim_net_start(1);
	memset(net.a.mem, 0x5a, 64);
	memset(net.b.mem, 0, 64);
	sim_net_recv(&net.b, 7, 1000, 64);
	assert_true(fault_at(net.a.dev, FAULT_WR_LATE, 1, FABRIC_ERR_RETRY));
	sim_net_post(&net.a, FABRIC_SEND, 1, 0, 64, 0);
	run_out();
	expect(0, 0, 1, FABRIC_ERR_RETRY);
	expect(1, 0, 7, FABRIC_OK);
	assert_int_equal(net.b.mem[1063], 0x5a);
	assert_int_equal(nlost[1], 1);
	sim_net_close();
}

static void wr__unsignalled_ones_fail_too(void **state)
{
	struct fabric_sge sge;
	struct fabric_wr wr[3] = {{.wr_id = 1, .op = FABRIC_WRITE},
				  {.wr_id = 2, .op = FABRIC_WRITE},
				  {.wr_id = 3, .op = FABRIC_SEND}};

	(void)state;
	sim_net_start(1);
	sge = (struct fabric_sge){net.a.mem, 8, net.a.mr.lkey};
	for (uint32_t i = 0; i < 3; i++) {
		wr[i].sge = &sge;
		wr[i].nsge = 1;
		wr[i].rkey = net.b.mr.rkey;
		wr[i].raddr = net.b.mr.raddr;
	}
	assert_true(fault_at(net.a.dev, FAULT_WR, 2, FABRIC_ERR_REMOTE_ACCESS));
	assert_int_equal(net.ops->post_send(net.a.qp, wr, 3), 3);
	run_out();
	assert_int_equal(nwcs[0], 2);
	expect(0, 0, 2, FABRIC_ERR_REMOTE_ACCESS);
	expect(0, 1, 3, FABRIC_ERR_FLUSHED);
	sim_net_close();
}

static void recv__fails_and_flushes_what_follows(void **state)
{
	(void)state;
	sim_net_start(3);
	for (uint32_t i = 1; i <= 3; i++)
		sim_net_recv(&net.b, i, i * 100, 64);
	assert_true(fault_at(net.b.dev, FAULT_RECV, 2, FABRIC_ERR_LOCAL_PROT));
	for (uint32_t i = 1; i <= 3; i++)
		sim_net_post(&net.a, FABRIC_SEND, i, 0, 64, 0);
	run_out();
	assert_int_equal(nwcs[1], 3);
	expect(1, 0, 1, FABRIC_OK);
	expect(1, 1, 2, FABRIC_ERR_LOCAL_PROT);
	expect(1, 2, 3, FABRIC_ERR_FLUSHED);
	assert_int_equal(wcs[1][1].byte_len, 0);
	assert_int_equal(nlost[0], 1);
	sim_net_close();
}

static void delay__holds_a_completion_and_those_behind_it(void **state)
{
	uint32_t polls = 0, n = 0;
	struct fabric_wc wc[8];

	(void)state;
	sim_net_start(1);
	assert_true(fault_at(net.a.dev, FAULT_DELAY, 2, 10));
	for (uint32_t i = 1; i <= 3; i++)
		sim_net_post(&net.a, FABRIC_WRITE, i, 0, 8, 0);
	while (sim_step(net.world))
		;
	for (; n < 3; polls++) {
		n += net.ops->poll(net.a.dev, &wc[n], 8 - n);
		assert_int_equal(n, polls < 10 ? 1 : 3);
		assert_int_equal(fault_held(net.a.dev), 3 - n);
	}
	assert_int_equal(polls, 11);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, i + 1);
	sim_net_close();
}

static void reorder__only_between_queues(void **state)
{
	uint32_t turned = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint32_t sends = 0, recvs = 0;
		struct fabric_wc wc;

		sim_net_start(seed);
		fault_rate(net.a.dev, 1u << FAULT_REORDER, 32);
		for (uint32_t i = 0; i < 4; i++) {
			sim_net_recv(&net.a, i, i * 100, 64);
			sim_net_recv(&net.b, i, i * 100, 64);
			sim_net_post(&net.a, FABRIC_SEND, i, 1000, 64, 0);
		}
		while (sim_step(net.world))
			;
		for (uint32_t i = 0; i < 4; i++)
			sim_net_post(&net.b, FABRIC_SEND, i, 1000, 64, 0);
		while (sim_step(net.world))
			;
		/* All Sends of a completed before any of its receives. */
		while (net.ops->poll(net.a.dev, &wc, 1) > 0) {
			turned += wc.op == FABRIC_RECV && sends < 4;
			assert_int_equal(wc.wr_id, wc.op == FABRIC_RECV ? recvs++ : sends++);
		}
		assert_int_equal(sends + recvs, 8);
		while (net.ops->poll(net.b.dev, &wc, 1) > 0)
			;
		sim_net_close();
	}
	assert_true(turned > 0);
}

static void reorder__writes_of_one_post_complete_in_order(void **state)
{
	uint64_t moved = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct fabric_sge sge[6];
		struct fabric_wr wr[6];

		sim_net_start(seed);
		fault_rate(net.a.dev, 1u << FAULT_REORDER, 32);
		for (uint32_t i = 0; i < 6; i++) {
			sge[i] = (struct fabric_sge){net.a.mem + i, 1, net.a.mr.lkey};
			wr[i] = (struct fabric_wr){.wr_id = i,
						   .op = i == 3 ? FABRIC_SEND : FABRIC_WRITE,
						   .flags = FABRIC_SIGNALED,
						   .sge = &sge[i],
						   .nsge = 1,
						   .rkey = net.b.mr.rkey,
						   .raddr = net.b.mr.raddr + i};
			net.a.mem[i] = (uint8_t)(i + 1);
		}
		/* The completion with the error is not always the first one that is polled. */
		if (seed % 2)
			wr[1].rkey++;
		sim_net_recv(&net.b, 1, 1000, 8);
		assert_int_equal(net.ops->post_send(net.a.qp, wr, 6), 6);
		run_out();
		moved += fault_injected(net.a.dev, FAULT_REORDER);
		assert_int_equal(nwcs[0], 6);
		for (uint32_t i = 0, failures = 0; i < 6; i++) {
			assert_int_equal(wcs[0][i].wr_id, i);
			if (wcs[0][i].status != FABRIC_OK && failures++ == 0)
				assert_int_equal(wcs[0][i].status, FABRIC_ERR_REMOTE_ACCESS);
			assert_int_equal(wcs[0][i].status == FABRIC_OK, failures == 0);
		}
		assert_int_equal(wcs[0][5].status, seed % 2 ? FABRIC_ERR_FLUSHED : FABRIC_OK);
		sim_net_close();
	}
	assert_true(moved > 0);
}

static void prefix__takes_less_and_the_rest_later(void **state)
{
	struct fabric_recv_wr recvs[4];
	struct fabric_sge sge;
	struct fabric_wr wr[4];

	(void)state;
	sim_net_start(1);
	sge = (struct fabric_sge){net.a.mem, 8, net.a.mr.lkey};
	for (uint32_t i = 0; i < 4; i++) {
		recvs[i] = (struct fabric_recv_wr){i, net.b.mem + i * 64, 64, net.b.mr.lkey};
		wr[i] = (struct fabric_wr){.wr_id = i,
					   .op = FABRIC_SEND,
					   .flags = FABRIC_SIGNALED,
					   .sge = &sge,
					   .nsge = 1};
	}
	assert_true(fault_at(net.b.dev, FAULT_PREFIX, 1, 1));
	assert_int_equal(net.ops->post_recv(net.b.qp, recvs, 4), 1);
	assert_int_equal(net.ops->post_recv(net.b.qp, recvs + 1, 3), 3);
	assert_true(fault_at(net.a.dev, FAULT_PREFIX, 1, 3));
	assert_true(fault_at(net.a.dev, FAULT_PREFIX, 2, 0));
	assert_int_equal(net.ops->post_send(net.a.qp, wr, 4), 3);
	assert_int_equal(net.ops->post_send(net.a.qp, wr + 3, 1), 0);
	assert_int_equal(net.ops->post_send(net.a.qp, wr + 3, 1), 1);
	run_out();
	for (uint32_t i = 0; i < 4; i++) {
		expect(0, i, i, FABRIC_OK);
		expect(1, i, i, FABRIC_OK);
	}
	sim_net_close();
}

static void drop__breaks_behind_a_completion(void **state)
{
	(void)state;
	sim_net_start(1);
	assert_true(fault_at(net.a.dev, FAULT_DROP, 2, FAULT_SOME_HOW));
	for (uint32_t i = 0; i < 20; i++)
		sim_net_post(&net.a, FABRIC_READ, i, 0, 1000, 0);
	run_out();
	assert_int_equal(nwcs[0], 20);
	expect(0, 0, 0, FABRIC_OK);
	expect(0, 1, 1, FABRIC_OK);
	expect(0, 19, 19, FABRIC_ERR_FLUSHED);
	assert_int_equal(nlost[0], 1);
	assert_int_equal(nlost[1], 1);
	sim_net_close();
}

/* Makes work requests of all kinds. Returns a hash of the completions and events. */
static uint64_t course(uint64_t seed, uint64_t *injected)
{
	const uint32_t kinds = (2u << FAULT_DROP) - 1 + (1u << FAULT_PREFIX);
	char more[64];
	uint64_t hash;

	snprintf(more, sizeof(more), ",seed=%u", (unsigned)seed);
	sim_net_open(1, NULL, more);
	sim_net_connect();
	fault_rate(net.a.dev, kinds, 100);
	fault_rate(net.b.dev, kinds, 100);
	for (uint32_t i = 0; i < 10; i++) {
		const struct fabric_recv_wr recv = {i, net.b.mem + 32768 + i * 64, 64,
						    net.b.mr.lkey};

		net.ops->post_recv(net.b.qp, &recv, 1);
	}
	for (uint32_t i = 0; i < 30; i++) {
		struct fabric_sge sge = {net.a.mem, 64, net.a.mr.lkey};
		const struct fabric_wr write = {.wr_id = i,
						.op = FABRIC_WRITE,
						.sge = &sge,
						.nsge = 1,
						.rkey = net.b.mr.rkey,
						.raddr = net.b.mr.raddr};
		struct fabric_wr wrs[3] = {write, write, write};

		wrs[2].op = FABRIC_SEND;
		wrs[2].flags = FABRIC_SIGNALED;
		net.ops->post_send(net.a.qp, wrs, i % 3 ? 2 : 3);
	}
	run_out();
	for (uint32_t kind = 0; kind < FAULT_NKINDS; kind++)
		injected[kind] += fault_injected(net.a.dev, kind) + fault_injected(net.b.dev, kind);
	hash = sim_trace_hash(net.world) + nwcs[0] * 1000 + nwcs[1];
	sim_net_close();
	return hash;
}

static void rate__is_of_the_seed(void **state)
{
	uint64_t injected[FAULT_NKINDS] = {0}, hash, others = 0;
	uint32_t same = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		hash = course(seed, injected);
		assert_int_equal(hash, course(seed, injected));
		same += hash == others;
		others = hash;
	}
	assert_true(same < SEEDS / 2);
	for (uint32_t kind = FAULT_WR; kind <= FAULT_DROP; kind++)
		if (injected[kind] == 0)
			fail_msg("%s never befell", fault_kind_name(kind));
	assert_true(injected[FAULT_PREFIX] > 0);
	assert_int_equal(injected[FAULT_MR], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__options),
		cmocka_unit_test(open__refusals_name_the_option_and_what_there_is),
		cmocka_unit_test(wr__fails_without_effect_and_flushes_what_follows),
		cmocka_unit_test(wr_late__fails_with_its_effect),
		cmocka_unit_test(wr__unsignalled_ones_fail_too),
		cmocka_unit_test(recv__fails_and_flushes_what_follows),
		cmocka_unit_test(delay__holds_a_completion_and_those_behind_it),
		cmocka_unit_test(reorder__only_between_queues),
		cmocka_unit_test(reorder__writes_of_one_post_complete_in_order),
		cmocka_unit_test(prefix__takes_less_and_the_rest_later),
		cmocka_unit_test(drop__breaks_behind_a_completion),
		cmocka_unit_test(rate__is_of_the_seed),
	};

	sim_net_driver = "fault";
	sim_net_options = "over=sim,";
	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
