/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of how clients of a 'dir' export share the cache of open files, and how waiting calls are
 * served in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "dir/proc.h"

#define MANY	 2000u /* number of files; far more than can be open */
#define FEW	 40u
#define AT_ONCE	 256u /* number of calls of one client at a time */
#define NWAITING 1000u
/* the number of files that one client can have open if it is the only client */
#define MOST (DIR_FDS * 3 / 4)

enum { HOG = 1001, HONEST = 1002 };

static struct server server;
static struct export export;
static struct dir_fs fs;
static struct dir_fd_list closes; /* closes, which do not end before end_closes() */
static uint32_t nclosed_of[2000];
static uint32_t nresumed;
static uint32_t nfree; /* number of waiting calls that can be resumed */

void __wrap_dir_work_close(struct dir_fs *of, struct dir_fd *file);
void __wrap_dir_resume(struct dir_fs *of, struct op *op);

void __wrap_dir_work_close(struct dir_fs *of, struct dir_fd *file)
{
	(void)of;
	nclosed_of[file->user->client.uid]++;
	TAILQ_INSERT_TAIL(&closes, file, age);
}

static void end_close(struct dir_fd *file)
{
	TAILQ_REMOVE(&closes, file, age);
	atomic_fetch_sub(&file->user->nclosing, 1);
	free(file);
}

static void end_closes(void)
{
	while (!TAILQ_EMPTY(&closes))
		end_close(TAILQ_FIRST(&closes));
}

/* Resumes a waiting call. Those of the client HOG never get what they wait for. */
void __wrap_dir_resume(struct dir_fs *of, struct op *op)
{
	nresumed++;
	if (op->holder.client.uid == HOG || nfree == 0)
		dir_wait(of, op);
	else
		nfree--;
}

static int setup(void **state)
{
	(void)state;
	fs = (struct dir_fs){.server = &server, .export = &export, .nfds_max = DIR_FDS};
	dir_users_init(&fs);
	TAILQ_INIT(&closes);
	memset(nclosed_of, 0, sizeof(nclosed_of));
	nresumed = nfree = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dir_fds_close(&fs);
	end_closes();
	dir_users_free(&fs);
	return 0;
}

static struct op op_of(uint32_t user)
{
	return (struct op){.server = &server,
			   .export = &export,
			   .holder = {.client = {.kind = CLIENT_KEY_USER, .uid = user}}};
}

static struct handle_id id_of(uint32_t user, uint32_t number)
{
	struct handle_id id = {.len_bytes = 8};

	memcpy(id.data, &user, 4);
	memcpy(id.data + 4, &number, 4);
	return id;
}

/* Opens a file. Returns NULL if the call has to wait. */
static struct dir_fd *open_file(uint32_t user, uint32_t number)
{
	const struct handle_id id = id_of(user, number);
	struct op op = op_of(user);
	struct dir_fd *file = dir_fd_get(&fs, &id, false);

	if (file)
		return file;
	if (!dir_slot_take(&fs, &op))
		return NULL;
	file = dir_fd_make(&op.holder, &id, false, -1);
	assert_non_null(file);
	return dir_fd_add(&fs, dir_slot_use(&fs, &op), file);
}

static bool use(uint32_t user, uint32_t number)
{
	struct dir_fd *file = open_file(user, number);

	if (file)
		dir_fd_put(&fs, file);
	return file != NULL;
}

static uint32_t nopen(uint32_t user)
{
	const struct op op = op_of(user);

	return dir_user_of(&fs, &op.holder)->nopen;
}

static void expect_bounded(void)
{
	struct dir_user *user;
	uint32_t n = 0;

	TAILQ_FOREACH(user, &fs.users, entry)
	n += user->nopen + user->nclosing;
	assert_in_range(n, 0, DIR_FDS + DIR_THREADS);
}

static void alone__has_most_of_the_cache(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MOST; i++) {
			assert_true(use(HOG, i));
			end_closes();
		}
		/* After the first round, all these files are open. */
		assert_int_equal(nopen(HOG), MOST);
		assert_int_equal(nclosed_of[HOG], 0);
	}
}

/* Checks a client that uses many files in turn. It need not wait if closes are fast enough. */
static void alone__goes_round_many_files(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3 * MANY; i++) {
		assert_true(use(HOG, i % MANY));
		if (i % 8 == 0)
			end_closes();
		expect_bounded();
	}
	assert_in_range(nopen(HOG), MOST, DIR_FDS);
}

/*
 * Checks that a client which uses many files in turn, with many calls at a time, displaces no files
 * of another client.
 */
static void others__keep_their_files(void **state)
{
	static struct dir_fd *in_use[AT_ONCE];
	uint32_t nwaited = 0;

	(void)state;
	memset(in_use, 0, sizeof(in_use));
	for (uint32_t i = 0; i < 10 * MANY; i++) {
		struct dir_fd **file = &in_use[i % AT_ONCE];

		if (*file)
			dir_fd_put(&fs, *file);
		*file = open_file(HOG, i % MANY);
		if (i % 16 == 0 && !TAILQ_EMPTY(&closes))
			end_close(TAILQ_FIRST(&closes));
		nwaited += !use(HONEST, i % FEW);
		expect_bounded();
	}
	assert_int_equal(nwaited, 0);
	assert_int_equal(nopen(HONEST), FEW);
	assert_int_equal(nclosed_of[HONEST], 0);
	for (uint32_t i = 0; i < AT_ONCE; i++)
		if (in_use[i])
			dir_fd_put(&fs, in_use[i]);
}

/*
 * Checks a client whose files are all in use, or whose closes do not end. Other clients still find
 * free entries.
 */
static void others__find_some_left(void **state)
{
	static struct dir_fd *in_use[DIR_FDS + DIR_THREADS];
	uint32_t n = 0;

	(void)state;
	while ((in_use[n] = open_file(HOG, n)))
		assert_in_range(++n, 0, DIR_FDS - 1);
	for (uint32_t i = 0; i < 16; i++)
		assert_true(use(HONEST, i));
	for (uint32_t i = 0; i < n; i++)
		dir_fd_put(&fs, in_use[i]);
	for (uint32_t i = 0; i < MANY; i++) {
		use(HOG, MANY + i);
		expect_bounded();
	}
	assert_true(use(HONEST, 16));
	assert_int_equal(nopen(HONEST), 17);
	/* The closes end. */
	end_closes();
	assert_true(use(HOG, 2 * MANY));
}

/*
 * Checks that other clients displace the idle files of one client, until all clients have the same
 * number.
 */
static void others__get_what_is_idle(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		use(HOG, i);
		end_closes();
	}
	for (uint32_t i = 0; i < MANY; i++) {
		use(HONEST, i);
		end_closes();
	}
	assert_in_range(nopen(HONEST), DIR_FDS * 3 / 8, DIR_FDS / 2);
	assert_in_range(nopen(HOG), DIR_FDS * 3 / 8, DIR_FDS / 2);
}

/* Checks that each of very many clients can open a file eventually. */
static void many__get_one_each(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		use(HOG, i);
	end_closes();
	for (uint32_t user = 1; user < 1000; user++) {
		uint32_t tries = 0;

		for (; !use(user, 0); tries++) {
			assert_in_range(tries, 0, 2);
			end_closes();
		}
		expect_bounded();
	}
}

/* Checks that a close counts for the client that removed the file. */
static void forget__counts_for_who_removed(void **state)
{
	const struct op op = op_of(HOG);

	(void)state;
	for (uint32_t i = 0; i < FEW; i++) {
		const struct handle_id id = id_of(HONEST, i);

		assert_true(use(HONEST, i));
		dir_fd_forget(&fs, &op.holder, &id);
	}
	assert_int_equal(nopen(HONEST), 0);
	assert_int_equal(nclosed_of[HONEST], 0);
	assert_int_equal(nclosed_of[HOG], FEW);
	assert_int_equal(dir_user_of(&fs, &op.holder)->nclosing, FEW);
}

/*
 * Checks a file that one client opened and another one also uses. It counts for the client that has
 * fewer files.
 */
static void shared__files_count_for_who_has_few(void **state)
{
	const struct op honest = op_of(HONEST), hog = op_of(HOG);

	(void)state;
	for (uint32_t i = 0; i < MOST; i++) {
		use(HOG, i);
		end_closes();
	}
	for (uint32_t i = 0; i < 2 * FEW; i++) {
		const struct handle_id id = id_of(HOG, i % FEW);
		struct dir_fd *file = dir_fd_get(&fs, &id, false);

		assert_non_null(file);
		dir_fd_used_by(&fs, file, &honest.holder);
		dir_fd_used_by(&fs, file, &hog.holder);
		dir_fd_put(&fs, file);
	}
	assert_int_equal(nopen(HONEST), FEW);
	assert_int_equal(nopen(HOG), MOST - FEW);
	for (uint32_t i = 0; i < MANY; i++) {
		use(HOG, MANY + i);
		end_closes();
	}
	assert_int_equal(nopen(HONEST), FEW);
	assert_int_equal(nclosed_of[HONEST], 0);
}

/* Checks two calls that open the same file at the same time. */
static void add__of_the_same_file_counts_once(void **state)
{
	const struct handle_id id = id_of(HONEST, 0);
	struct op ops[2] = {op_of(HONEST), op_of(HONEST)};
	struct dir_fd *files[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_true(dir_slot_take(&fs, &ops[i]));
	assert_int_equal(nopen(HONEST), 2);
	for (int i = 0; i < 2; i++)
		files[i] = dir_fd_add(&fs, dir_slot_use(&fs, &ops[i]),
				      dir_fd_make(&ops[i].holder, &id, false, -1));
	assert_ptr_equal(files[0], files[1]);
	assert_int_equal(nopen(HONEST), 1);
	assert_int_equal(nclosed_of[HONEST], 1);
	dir_slot_release(&ops[1]);
	assert_int_equal(nopen(HONEST), 1);
	dir_fd_put(&fs, files[0]);
	dir_fd_put(&fs, files[0]);
}

/*
 * Checks that waiting calls which cannot continue do not delay calls of other clients. Each poll
 * tries one call of each client.
 */
static void waiting__calls_of_others_go_on(void **state)
{
	static struct op ops[NWAITING], other[2];

	(void)state;
	for (uint32_t i = 0; i < NWAITING; i++) {
		ops[i] = op_of(HOG);
		dir_wait(&fs, &ops[i]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		other[i] = op_of(HONEST + i);
		dir_wait(&fs, &other[i]);
	}
	fs.has_room = true;
	nfree = 1;
	assert_int_equal(dir_wait_retry(&fs), 1);
	assert_int_equal(nresumed, 3);
	assert_int_equal(fs.nwaiting, NWAITING + 1);
	nfree = 1;
	assert_int_equal(dir_wait_retry(&fs), 1);
	assert_int_equal(nresumed, 5);
	assert_int_equal(fs.nwaiting, NWAITING);
	for (uint32_t i = 0; i < NWAITING; i++)
		dir_wait_end(&fs, &ops[i]);
}

/* Checks that clients are served in turn if only one call at a time can continue. */
static void waiting__clients_take_turns(void **state)
{
	static struct op ops[3][FEW];

	(void)state;
	for (uint32_t i = 0; i < FEW; i++)
		for (uint32_t user = 0; user < 3; user++) {
			ops[user][i] = op_of(HONEST + user);
			dir_wait(&fs, &ops[user][i]);
		}
	for (uint32_t i = 0; i < 3 * FEW; i++) {
		struct dir_user *user;

		fs.has_room = true;
		nfree = 1;
		assert_int_equal(dir_wait_retry(&fs), 1);
		user = TAILQ_LAST(&fs.users, dir_user_list);
		assert_int_equal(user->client.uid, HONEST + i % 3);
	}
	assert_int_equal(fs.nwaiting, 0);
	/* No client holds anything. */
	dir_users_tick(&fs);
	assert_ptr_equal(TAILQ_FIRST(&fs.users), &fs.rest);
	assert_null(TAILQ_NEXT(&fs.rest, entry));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alone__has_most_of_the_cache),	 TEST(alone__goes_round_many_files),
		TEST(others__keep_their_files),		 TEST(others__find_some_left),
		TEST(others__get_what_is_idle),		 TEST(many__get_one_each),
		TEST(forget__counts_for_who_removed),	 TEST(shared__files_count_for_who_has_few),
		TEST(add__of_the_same_file_counts_once), TEST(waiting__calls_of_others_go_on),
		TEST(waiting__clients_take_turns),
	};

	return cmocka_run_group_tests_name("nfsd_dir_users", tests, NULL, NULL);
}
