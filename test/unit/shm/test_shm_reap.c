/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the reaper of the driver shm:
 * - Jobs that block do not delay jobs that cannot block.
 * - While threads can be created, jobs that block do not delay jobs of other users.
 * - The reaper reports which users must be refused, because it cannot close what they passed.
 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_lcore.h>

#include "account.h"
#include "eal.h"
#include "reap.h"

#define WAITS 60000 /* number of waits of one millisecond each */
#define USER  1001u
#define OTHER 1002u
#define FIRST 2000u /* the first of many user IDs */

static sem_t may_end;
static _Atomic uint32_t nblocked; /* number of jobs that have begun and block */
static _Atomic uint32_t nthreads; /* number of threads of the reaper */
static _Atomic uint32_t nthreads_left = UINT32_MAX;
static void *(*_Atomic run_real)(void *);

int __real_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg);
int __wrap_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg);

static void *run_counted(void *arg)
{
	/* Without atomic_load(), gcc reads the pointer of the call as if it were not atomic. */
	void *(*run)(void *) = atomic_load(&run_real);
	void *result = run(arg);

	nthreads--;
	return result;
}

/* Fails as it does in a process that has reached its RLIMIT_NPROC. */
int __wrap_rte_ctrl_thread_create(pthread_t *thread, const char *name, const pthread_attr_t *attr,
				  void *(*run)(void *), void *arg)
{
	uint32_t left = nthreads_left;
	int rc;

	if (strcmp(name, "weir-shm-reap") != 0)
		return __real_rte_ctrl_thread_create(thread, name, attr, run, arg);
	do {
		if (left == 0)
			return -EAGAIN;
	} while (!atomic_compare_exchange_weak(&nthreads_left, &left, left - 1));
	run_real = run;
	nthreads++;
	rc = __real_rte_ctrl_thread_create(thread, name, attr, run_counted, arg);
	assert_int_equal(rc, 0);
	return rc;
}

static void end(struct reap_job *job)
{
	free(job);
}

/* A job that blocks as a close(2) does that does not return. */
static void block(struct reap_job *job)
{
	nblocked++;
	while (sem_wait(&may_end) != 0)
		;
	nblocked--;
	free(job);
}

static void queue(uint32_t uid, void (*run)(struct reap_job *job), bool is_suspect)
{
	struct reap_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->run = run;
	job->is_suspect = is_suspect;
	job->account = shm_account_get(uid);
	assert_non_null(job->account);
	reap(job);
}

#define WAIT(condition)                                                                            \
	do {                                                                                       \
		for (int n_ = 0; n_ < WAITS && !(condition); n_++)                                 \
			poll(NULL, 0, 1);                                                          \
		assert_true(condition);                                                            \
	} while (0)

static void end_blocked(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(sem_post(&may_end), 0);
}

static void refused__while_one_blocks_and_many_wait(void **state)
{
	struct shm_account *user = shm_account_get(USER), *other = shm_account_get(OTHER);

	(void)state;
	queue(USER, block, false);
	for (uint32_t i = 1; i + 1 < REAP_JOBS_MAX; i++)
		queue(USER, end, false);
	/* The user is not refused because of so few jobs, however long they take. */
	poll(NULL, 0, 2 * REAP_SLOW_NS / 1000000);
	assert_false(reap_is_refused(&user->queue));
	queue(USER, end, false);
	assert_true(reap_is_refused(&user->queue));
	/* Meanwhile the jobs of other users are carried out. */
	for (uint32_t i = 0; i < 2 * REAP_JOBS_MAX; i++)
		queue(OTHER, end, false);
	WAIT(reap_count() == REAP_JOBS_MAX);
	assert_false(reap_is_refused(&other->queue));
	end_blocked(1);
	WAIT(reap_count() == 0);
	assert_false(reap_is_refused(&user->queue));
	shm_account_put(user);
	shm_account_put(other);
}

static void refused__by_suspect_jobs_only_while_there_are_many(void **state)
{
	struct shm_account *user = shm_account_get(USER);

	(void)state;
	for (uint32_t i = 0; i < REAP_SUSPECTS_MAX; i++) {
		assert_false(reap_is_refused(&user->queue));
		queue(USER, block, true);
	}
	assert_true(reap_is_refused(&user->queue));
	assert_int_equal(reap_queue_count(&user->queue), REAP_SUSPECTS_MAX);
	end_blocked(1);
	WAIT(reap_count() == REAP_SUSPECTS_MAX - 1);
	assert_false(reap_is_refused(&user->queue));
	end_blocked(REAP_SUSPECTS_MAX - 1);
	WAIT(reap_count() == 0);
	shm_account_put(user);
}

/* Checks that a job which cannot block is not even delayed by a blocking job of the same user. */
static void ordinary_jobs__do_not_wait_for_one_that_blocks(void **state)
{
	struct shm_account *user = shm_account_get(USER);

	(void)state;
	queue(USER, block, true);
	WAIT(nblocked == 1);
	for (uint32_t i = 0; i < 10 * REAP_JOBS_MAX; i++)
		queue(USER, end, false);
	WAIT(reap_count() == 1);
	assert_int_equal(nblocked, 1);
	assert_false(reap_is_refused(&user->queue));
	end_blocked(1);
	WAIT(reap_count() == 0);
	shm_account_put(user);
}

/*
 * Queues a blocking job of each of 'nusers' users, and checks that 'nserved' of them begin. One
 * thread is left for jobs that cannot block, whether or not more threads can be created.
 */
static void block_by_users(uint32_t nusers, uint32_t nserved)
{
	for (uint32_t i = 0; i < nusers; i++)
		queue(FIRST + i, block, true);
	WAIT(nblocked == nserved);
	for (uint32_t i = 0; i < REAP_JOBS_MAX; i++) {
		queue(OTHER, end, false);
		queue(FIRST, end, false);
	}
	WAIT(reap_count() == nusers);
	assert_int_equal(nblocked, nserved);
}

static void ordinary_jobs__have_a_thread_where_no_other_can_be_made(void **state)
{
	(void)state;
	nthreads_left = 0;
	block_by_users(3, REAP_WORKERS_MIN - 1);
	end_blocked(3);
	WAIT(reap_count() == 0);
}

static void ordinary_jobs__have_a_thread_however_many_users_block(void **state)
{
	(void)state;
	block_by_users(REAP_WORKERS_MAX + 6, REAP_WORKERS_MAX - 1);
	end_blocked(REAP_WORKERS_MAX + 6);
	WAIT(reap_count() == 0);
}

static void suspect_jobs__are_served_when_threads_can_be_made_again(void **state)
{
	(void)state;
	nthreads_left = 0;
	queue(FIRST, block, true);
	queue(FIRST + 1, block, true);
	queue(OTHER, end, false);
	WAIT(nblocked == 1 && reap_count() == 2);
	nthreads_left = 1;
	queue(OTHER, end, false);
	WAIT(nblocked == 2);
	end_blocked(2);
	WAIT(reap_count() == 0);
}

/*
 * Checks the time after the last device was closed. No thread is then kept free, but the next
 * device has a free thread.
 */
static void suspect_jobs__are_served_after_the_last_device(void **state)
{
	(void)state;
	nthreads_left = 0;
	queue(FIRST, block, true);
	queue(FIRST + 1, block, true);
	WAIT(nblocked == 1);
	reap_stop(0);
	WAIT(nblocked == 2);
	assert_int_equal(reap_start(), -EAGAIN);
	nthreads_left = UINT32_MAX;
	assert_int_equal(reap_start(), 0);
	queue(OTHER, end, false);
	WAIT(reap_count() == 2);
	end_blocked(2);
	WAIT(reap_count() == 0);
}

/* Checks that a device gets both threads when it is opened, or that opening fails. */
static void device__has_threads_from_the_beginning(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < REAP_WORKERS_MIN; i++) {
		reap_stop(0);
		WAIT(nthreads == 0);
		nthreads_left = i;
		assert_int_equal(reap_start(), -EAGAIN);
		WAIT(nthreads == 0);
		nthreads_left = UINT32_MAX;
		assert_int_equal(reap_start(), 0);
		assert_int_equal(nthreads, REAP_WORKERS_MIN);
	}
	assert_int_equal(reap_start(), 0);
	assert_int_equal(nthreads, REAP_WORKERS_MIN);
	reap_stop(0);
	queue(OTHER, end, false);
	WAIT(reap_count() == 0);
}

/* Checks that additional threads end when a flood of jobs has ended. */
static void idle_threads__end(void **state)
{
	(void)state;
	block_by_users(10, 10);
	assert_true(nthreads > 10);
	end_blocked(10);
	WAIT(nthreads == REAP_WORKERS_MIN);
}

static int setup(void **state)
{
	(void)state;
	nthreads_left = UINT32_MAX;
	return mem_eal_start(NULL) == 0 && sem_init(&may_end, 0, 0) == 0 ? reap_start() : -1;
}

static int teardown(void **state)
{
	(void)state;
	reap_stop(1000);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refused__while_one_blocks_and_many_wait),
		TEST(refused__by_suspect_jobs_only_while_there_are_many),
		TEST(ordinary_jobs__do_not_wait_for_one_that_blocks),
		TEST(ordinary_jobs__have_a_thread_where_no_other_can_be_made),
		TEST(ordinary_jobs__have_a_thread_however_many_users_block),
		TEST(suspect_jobs__are_served_when_threads_can_be_made_again),
		TEST(suspect_jobs__are_served_after_the_last_device),
		TEST(device__has_threads_from_the_beginning),
		TEST(idle_threads__end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
