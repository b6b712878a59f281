/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests questions to the threads of engines: silent engines, and engines that end meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include <weir/engine.h>
#include <weir/profile.h>

#include "inquiry.h"
#include "mem.h"

#define LONG_MS	 20000u
#define SHORT_MS 20u
#define ASKERS	 4u
#define ROUNDS	 200u

/* A question that counts its answers, and that waits in its answer if the test wants that. */
struct question {
	struct inquiry inquiry;
	uint32_t answers;
};

static atomic_bool holds;   /* an answer waits while this is true */
static atomic_bool is_held; /* an answer waits */

static _Atomic uint32_t nwrong;

/* cmocka's assertions work only in the thread of the test. */
static void expect(bool is_right)
{
	if (!is_right)
		atomic_fetch_add(&nwrong, 1);
}

static int check_threads(void **state)
{
	(void)state;
	return atomic_load(&nwrong) == 0 ? 0 : -1;
}

static void answer_question(struct weir_engine *engine, struct inquiry *inquiry)
{
	(void)engine;
	atomic_store(&is_held, atomic_load(&holds));
	while (atomic_load(&holds))
		;
	((struct question *)inquiry)->answers++;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct weir_engine *engine_new(void)
{
	struct weir_engine *engine;
	struct weir_profile profile;

	weir_profile_defaults(&profile);
	profile.send_buffers = profile.recv_buffers = 16;
	profile.long_buffers = profile.bulk_buffers = 1;
	profile.long_buffer_bytes = profile.bulk_buffer_bytes = 8192;
	profile.page_bytes = 4096;
	profile.credits = 1;
	assert_int_equal(weir_engine_create(&profile, &engine), 0);
	return engine;
}

/* Asks one engine. Returns the result. */
static enum inquiry_result ask(uint64_t id, uint32_t wait_ms)
{
	struct inquiry_entry entry = {
		.inquiry = inquiry_new(sizeof(struct question), id, answer_question)};

	inquiry_ask(&entry, 1, wait_ms);
	expect((entry.inquiry == NULL) == (entry.result == INQUIRY_SILENT));
	if (entry.result == INQUIRY_ANSWERED)
		expect(((struct question *)entry.inquiry)->answers == 1);
	free(entry.inquiry);
	return entry.result;
}

static uint64_t only_engine(void)
{
	uint64_t ids[MEM_SLOTS_MAX];

	assert_int_equal(inquiry_engines(ids), 1);
	return ids[0];
}

/* A thread that asks once. */
struct asker {
	pthread_t thread;
	uint64_t id;
	uint32_t wait_ms;
	atomic_bool has_ended;
	enum inquiry_result result;
};

static void *ask_once(void *arg)
{
	struct asker *asker = arg;

	asker->result = ask(asker->id, asker->wait_ms);
	atomic_store(&asker->has_ended, true);
	return NULL;
}

static void asker_start(struct asker *asker, uint64_t id, uint32_t wait_ms)
{
	*asker = (struct asker){.id = id, .wait_ms = wait_ms};
	assert_int_equal(pthread_create(&asker->thread, NULL, ask_once, asker), 0);
}

static void poll_until(struct weir_engine *engine, const atomic_bool *flag)
{
	while (!atomic_load(flag))
		weir_engine_poll(engine, 0, clock_ns());
}

static void count_post(struct weir_engine *engine, void *arg)
{
	(void)engine;
	++*(uint32_t *)arg;
}

static void ask__is_answered_by_a_poll(void **state)
{
	struct weir_engine *engine = engine_new();
	struct asker asker;

	(void)state;
	asker_start(&asker, only_engine(), LONG_MS);
	poll_until(engine, &asker.has_ended);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.result, INQUIRY_ANSWERED);
	weir_engine_destroy(engine);
}

static void ask__an_engine_that_does_not_exist(void **state)
{
	struct weir_engine *engine = engine_new();
	uint64_t id = only_engine(), ids[MEM_SLOTS_MAX];

	(void)state;
	assert_int_equal(ask(id + 1, LONG_MS), INQUIRY_NO_ENGINE);
	assert_int_equal(ask(0, LONG_MS), INQUIRY_NO_ENGINE);
	weir_engine_destroy(engine);
	assert_int_equal(inquiry_engines(ids), 0);
	assert_int_equal(ask(id, LONG_MS), INQUIRY_NO_ENGINE);
	/* The next engine takes the same slot, and has another ID. */
	engine = engine_new();
	assert_true(only_engine() > id);
	assert_int_equal(ask(id, LONG_MS), INQUIRY_NO_ENGINE);
	weir_engine_destroy(engine);
}

static void ask__an_engine_that_is_not_polled(void **state)
{
	struct weir_engine *engine = engine_new();
	uint64_t id = only_engine();
	uint32_t posts = 0, nposted = 0;
	struct asker asker;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ask(id, SHORT_MS), INQUIRY_SILENT);
	/* The questions without an answer take one place of the 1023 in the mailbox. */
	while (weir_engine_post(engine, count_post, &posts) == 0)
		nposted++;
	assert_int_equal(nposted, 1022);
	/* A full mailbox changes nothing. */
	assert_int_equal(ask(id, SHORT_MS), INQUIRY_SILENT);
	while (posts < nposted)
		weir_engine_poll(engine, 0, clock_ns());
	asker_start(&asker, id, LONG_MS);
	poll_until(engine, &asker.has_ended);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.result, INQUIRY_ANSWERED);
	weir_engine_destroy(engine);
}

static void ask__a_full_mailbox(void **state)
{
	struct weir_engine *engine = engine_new();
	uint64_t id = only_engine();
	uint32_t posts = 0, nposted = 0;
	struct asker asker;

	(void)state;
	while (weir_engine_post(engine, count_post, &posts) == 0)
		nposted++;
	assert_int_equal(ask(id, SHORT_MS), INQUIRY_SILENT);
	while (posts < nposted)
		weir_engine_poll(engine, 0, clock_ns());
	asker_start(&asker, id, LONG_MS);
	poll_until(engine, &asker.has_ended);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.result, INQUIRY_ANSWERED);
	weir_engine_destroy(engine);
}

/* The thread of an engine that is held in an answer. */
static void *poll_held(void *arg)
{
	struct weir_engine *engine = arg;

	poll_until(engine, &is_held);
	return NULL;
}

/* The asker gives up while the engine's thread has the question, which this thread then frees. */
static void ask__a_thread_that_hangs_in_the_answer(void **state)
{
	struct weir_engine *engine = engine_new();
	pthread_t thread;

	(void)state;
	atomic_store(&is_held, false);
	atomic_store(&holds, true);
	assert_int_equal(pthread_create(&thread, NULL, poll_held, engine), 0);
	assert_int_equal(ask(only_engine(), 500), INQUIRY_SILENT);
	atomic_store(&holds, false);
	pthread_join(thread, NULL);
	weir_engine_disown(engine);
	weir_engine_destroy(engine);
}

static void destroy__answers_or_ends_a_question(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		struct weir_engine *engine = engine_new();
		struct asker asker;

		asker_start(&asker, only_engine(), LONG_MS);
		weir_engine_destroy(engine);
		pthread_join(asker.thread, NULL);
		assert_true(asker.result == INQUIRY_ANSWERED || asker.result == INQUIRY_NO_ENGINE);
	}
}

static atomic_bool askers_end;

static void *ask_all(void *arg)
{
	uint64_t *nanswers = arg;

	while (!atomic_load(&askers_end)) {
		struct inquiry_entry entries[MEM_SLOTS_MAX];
		uint64_t ids[MEM_SLOTS_MAX];
		uint32_t n = inquiry_engines(ids);

		for (uint32_t i = 0; i < n; i++)
			entries[i].inquiry =
				inquiry_new(sizeof(struct question), ids[i], answer_question);
		inquiry_ask(entries, n, LONG_MS);
		for (uint32_t i = 0; i < n; i++) {
			expect(entries[i].result == INQUIRY_ANSWERED ||
			       entries[i].result == INQUIRY_NO_ENGINE);
			*nanswers += entries[i].result == INQUIRY_ANSWERED;
			free(entries[i].inquiry);
		}
	}
	return NULL;
}

/* Several threads ask while engines are created, polled and destroyed. */
static void ask__many_threads_while_engines_come_and_go(void **state)
{
	struct weir_engine *engines[2] = {engine_new(), engine_new()};
	uint64_t nanswers[ASKERS] = {0};
	pthread_t threads[ASKERS];
	uint64_t sum = 0;

	(void)state;
	atomic_store(&askers_end, false);
	for (uint32_t i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &nanswers[i]), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (uint32_t poll = 0; poll < 100; poll++) {
			weir_engine_poll(engines[0], 0, clock_ns());
			weir_engine_poll(engines[1], 0, clock_ns());
		}
		weir_engine_destroy(engines[i % 2]);
		engines[i % 2] = engine_new();
	}
	atomic_store(&askers_end, true);
	weir_engine_destroy(engines[0]);
	weir_engine_destroy(engines[1]);
	for (uint32_t i = 0; i < ASKERS; i++) {
		pthread_join(threads[i], NULL);
		sum += nanswers[i];
	}
	assert_true(sum > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(ask__is_answered_by_a_poll, check_threads),
		cmocka_unit_test_teardown(ask__an_engine_that_does_not_exist, check_threads),
		cmocka_unit_test_teardown(ask__an_engine_that_is_not_polled, check_threads),
		cmocka_unit_test_teardown(ask__a_full_mailbox, check_threads),
		cmocka_unit_test_teardown(ask__a_thread_that_hangs_in_the_answer, check_threads),
		cmocka_unit_test_teardown(destroy__answers_or_ends_a_question, check_threads),
		cmocka_unit_test_teardown(ask__many_threads_while_engines_come_and_go,
					  check_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
