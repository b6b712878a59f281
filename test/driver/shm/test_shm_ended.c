/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connections that have ended and are not yet closed. While few descriptors are left, a
 * user with many such connections cannot make new ones. Therefore no connection of another user has
 * to end.
 */
#include "shm_raw.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "account.h"
#include "eal.h"
#include "reap.h"

#define JOBS_MAX 63u  /* with more jobs, the user is refused for another reason (reap.h) */
#define LEFT	 200u /* number of descriptors that are left */
/* MEDIUM is a limit of descriptors at which 'NEARLY' are left when other users have the rest. */
#define MEDIUM 1024u
#define NEARLY 100u
#define SOME   12u /* a number of jobs with 4 descriptors each, more than NEARLY allows */

static struct end a, b;
static struct reap_job jobs[JOBS_MAX];
static atomic_bool may_end;

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", 8);
	end_open(&b, "", 8);
	may_end = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	may_end = true;
	end_close(&a);
	end_close(&b);
	return 0;
}

/*
 * A job of the reaper that does not end until the test permits it. Therefore the reaper does not
 * start the other jobs.
 */
static void wait_for_end(struct reap_job *job)
{
	(void)job;
	while (!may_end)
		usleep(100);
}

static void add_job(uint32_t i, struct shm_account *account)
{
	shm_account_hold(account);
	jobs[i] = (struct reap_job){.run = wait_for_end, .account = account};
	reap(&jobs[i]);
}

static void limit_descriptors(const struct rlimit *all)
{
	struct rlimit few = *all;
	int fd = dup(STDERR_FILENO);

	few.rlim_cur = (rlim_t)fd + LEFT;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void user__of_whom_many_are_to_be_closed_is_refused(void **state)
{
	struct shm_account *account = shm_account_get(geteuid());
	const char *addr = end_address();
	struct rlimit limit;
	uint32_t n = 0;

	(void)state;
	assert_non_null(account);
	end_pair(&a, &b);
	b.ops->unlisten(b.listener);
	end_listen(&b, addr);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit_descriptors(&limit);
	while (n < JOBS_MAX && raw_is_welcome(addr))
		add_job(n++, account);
	/*
	 * Each connection that was accepted since then also waits in the reaper, after these jobs.
	 */
	assert_in_range(reap_count(), 9, LEFT / 8);
	end_works(&a, &b); /* existing connections continue */
	END_WAIT(&b, NULL, b.dev->stats.users_refused > 0);
	/* If many descriptors are free, the jobs do not prevent the user from connecting. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(raw_is_welcome(addr));
	limit_descriptors(&limit);
	assert_false(raw_is_welcome(addr));
	may_end = true;
	END_WAIT(&b, &a, reap_count() == 0);
	assert_true(raw_is_welcome(addr));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	shm_account_put(account);
}

/*
 * Checks the case that other users have nearly all descriptors. Even then a user can connect who
 * has no connections to be closed, or few.
 */
static void user__of_whom_some_are_to_be_closed_is_taken(void **state)
{
	struct shm_account *account = shm_account_get(geteuid());
	const char *addr = end_address();
	struct rlimit limit, medium;
	int fds[MEDIUM], n = 0;

	(void)state;
	assert_non_null(account);
	end_listen(&b, addr);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	medium = limit;
	medium.rlim_cur = MEDIUM;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &medium), 0);
	for (uint32_t i = 0; i < SOME; i++)
		add_job(i, account);
	do {
		fds[n] = dup(STDERR_FILENO);
		assert_true(fds[n] >= 0);
	} while (fds[n++] < (int)(MEDIUM - NEARLY));
	assert_true(raw_is_welcome(addr));
	while (n > 0)
		close(fds[--n]);
	may_end = true;
	END_WAIT(&b, NULL, reap_count() == 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	shm_account_put(account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(user__of_whom_many_are_to_be_closed_is_refused,
						setup, teardown),
		cmocka_unit_test_setup_teardown(user__of_whom_some_are_to_be_closed_is_taken, setup,
						teardown),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
