/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom the reaper of driver shm keeps from connecting: a user whose descriptors it cannot close. */
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "account.h"
#include "eal.h"
#include "reap.h"

#define WAITS 60000 /* of a millisecond */
#define USER  1001u
#define OTHER 1002u

static sem_t may_end;

static void end(struct reap_job *job)
{
	free(job);
}

/* As a close(2) that blocks. */
static void block(struct reap_job *job)
{
	while (sem_wait(&may_end) != 0)
		;
	free(job);
}

static void queue(uint32_t uid, void (*run)(struct reap_job *job))
{
	struct reap_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->run = run;
	job->account = shm_account_get(uid);
	assert_non_null(job->account);
	reap(job);
}

static void wait_for(uint32_t njobs)
{
	for (int i = 0; i < WAITS && reap_count() > njobs; i++)
		poll(NULL, 0, 1);
	assert_int_equal(reap_count(), njobs);
}

static void refused__while_one_blocks_and_many_wait(void **state)
{
	struct shm_account *user = shm_account_get(USER), *other = shm_account_get(OTHER);

	(void)state;
	queue(USER, block);
	for (uint32_t i = 1; i + 1 < REAP_JOBS_MAX; i++)
		queue(USER, end);
	/* So few wait however long it takes. */
	poll(NULL, 0, 2 * REAP_SLOW_NS / 1000000);
	assert_false(reap_is_refused(&user->queue));
	queue(USER, end);
	assert_true(reap_is_refused(&user->queue));
	/* Others are served meanwhile. */
	for (uint32_t i = 0; i < 2 * REAP_JOBS_MAX; i++)
		queue(OTHER, end);
	wait_for(REAP_JOBS_MAX);
	assert_false(reap_is_refused(&other->queue));
	assert_int_equal(sem_post(&may_end), 0);
	wait_for(0);
	assert_false(reap_is_refused(&user->queue));
	shm_account_put(user);
	shm_account_put(other);
}

static int setup(void **state)
{
	(void)state;
	return mem_eal_start(NULL) == 0 && sem_init(&may_end, 0, 0) == 0 ? reap_start() : -1;
}

static int teardown(void **state)
{
	(void)state;
	reap_stop(1000);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(refused__while_one_blocks_and_many_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
