/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the threads of a 'dir' export. Calls and closes of one client, or for one file, can take
 * for ever. They leave threads to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/resource.h>

#include "dir/proc.h"
#include "poller.h"

#define SLOW  40u  /* number of calls of one client that end when the test permits it */
#define OWN   SLOW /* as a number of connections: each of the calls belongs to another client */
#define QUICK 20u  /* number of calls of other clients, which are made one at a time */
#define HELD  (DIR_THREADS - 1)
#define CROWD 4000u

#define SLOW_FD 1000000 /* a descriptor of no file; its close ends when the test permits it */

static struct dir_fs fs;
static struct export export;
static struct poller owner;
static struct op slow[SLOW], quick[QUICK];
/* calls that occupy all threads but one until the test releases them */
static struct op held[HELD];
static struct op crowd[CROWD];
static struct op quick_kind; /* procedure and files of the calls in quick[] */
static sem_t begun, go_on, release, done;
static _Atomic uint32_t nlooks; /* number of times that a thread checked if a job can begin */
static _Atomic int call_nice;	/* nice value of the thread that carried out the latest call */
static uint32_t noverdue;	/* calls that were answered with NFS3ERR_JUKEBOX */

int __real_close(int fd);
int __wrap_close(int fd);
void __wrap_dir_carry_out(struct dir_fs *of, struct op *op);
int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			    void *arg);
void __wrap_op_fail(struct op *op, enum nfs3_status status);
bool __real_dir_locks_allow(const struct dir_fs *of, const struct op *op,
			    const struct dir_fd *file);
bool __wrap_dir_locks_allow(const struct dir_fs *of, const struct op *op,
			    const struct dir_fd *file);

static void wait_for(sem_t *sem, uint32_t n)
{
	while (n > 0)
		n -= sem_wait(sem) == 0;
}

static void be_slow(sem_t *until)
{
	sem_post(&begun);
	wait_for(until, 1);
}

void __wrap_dir_carry_out(struct dir_fs *of, struct op *op)
{
	(void)of;
	call_nice = getpriority(PRIO_PROCESS, 0);
	if (op >= held && op < held + HELD)
		be_slow(&release);
	if (op < slow || op >= slow + SLOW)
		return;
	op->id2.len_bytes = 0; /* this is done as in REMOVE and RENAME */
	be_slow(&go_on);
}

bool __wrap_dir_locks_allow(const struct dir_fs *of, const struct op *op, const struct dir_fd *file)
{
	nlooks++;
	return __real_dir_locks_allow(of, op, file);
}

void __wrap_op_fail(struct op *op, enum nfs3_status status)
{
	(void)op;
	noverdue += status == NFS3ERR_JUKEBOX;
}

int __wrap_close(int fd)
{
	if (fd != SLOW_FD)
		return __real_close(fd);
	be_slow(&go_on);
	sem_post(&done);
	return 0;
}

int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			    void *arg)
{
	(void)engine;
	(void)fn;
	(void)arg;
	sem_post(&done);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	fs = (struct dir_fs){.export = &export};
	export.owner = &owner;
	dir_queues_init(&fs);
	TAILQ_INIT(&fs.watched);
	LIST_INIT(&fs.running);
	LIST_INIT(&fs.locks);
	noverdue = 0;
	quick_kind = (struct op){.proc = NFS3_NULL};
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&release, 0, 0);
	sem_init(&done, 0, 0);
	return dir_work_start(&fs, dir_worked);
}

static int teardown(void **state)
{
	(void)state;
	dir_work_stop(&fs);
	return 0;
}

static struct holder holder_for(uint32_t conn, uint32_t user)
{
	return (struct holder){
		.conn = (const struct weir_conn *)(uintptr_t)conn,
		.client = {.kind = CLIENT_KEY_USER, .uid = user},
	};
}

static struct handle_id id_of(uint8_t number)
{
	return (struct handle_id){.len_bytes = 1, .data = {number}};
}

/* Begins a call of a client with the procedure and files of 'kind'. */
static void begin_kind(struct op *op, uint32_t conn, uint32_t user, const struct op *kind)
{
	*op = *kind;
	op->export = &export;
	op->holder = holder_for(conn, user);
	dir_watch_begin(&fs, op);
	dir_work(&fs, op);
}

static void begin(struct op *op, uint32_t conn, uint32_t user)
{
	static const struct op kind = {.proc = NFS3_NULL};

	begin_kind(op, conn, user, &kind);
}

static void begin_call(uint32_t i, uint32_t conn, uint32_t user)
{
	begin(&slow[i], conn, user);
}

/* Closes a file that a call of the given client opened. */
static void begin_close_of(const struct handle_id *id, uint32_t conn, uint32_t user)
{
	const struct holder holder = holder_for(conn, user);
	struct dir_fd *file = dir_fd_make(&holder, id, false, SLOW_FD);

	assert_non_null(file);
	dir_work_close(&fs, file);
}

static void begin_close(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct handle_id id = {.len_bytes = 0};

	(void)i;
	begin_close_of(&id, conn, user);
}

static void begin_either(uint32_t i, uint32_t conn, uint32_t user)
{
	if (i % 2 == 0)
		begin_close(i, conn, user);
	else
		begin_call(i, conn, user);
}

/* Begins slow jobs of one client on 'nconns' connections, and checks that 'most' of them are
 * carried out at a time. Calls of other clients that arrive later end before the other jobs. */
static void slow_jobs(void (*begin_slow)(uint32_t i, uint32_t conn, uint32_t user), uint32_t nconns,
		      uint32_t most)
{
	int left;

	for (uint32_t i = 0; i < SLOW; i++)
		begin_slow(i, 100 + i % nconns, nconns == OWN ? 100 + i : 1);
	wait_for(&begun, most);
	for (uint32_t i = 0; i < QUICK; i++) {
		begin_kind(&quick[i], 200 + i, 2 + i % 2, &quick_kind);
		wait_for(&done, 1);
	}
	sem_getvalue(&begun, &left);
	assert_int_equal(left, 0);
	for (uint32_t i = 0; i < SLOW; i++)
		sem_post(&go_on);
	wait_for(&done, SLOW);
	wait_for(&begun, SLOW - most);
}

static void threads__of_one_connection(void **state)
{
	(void)state;
	slow_jobs(begin_call, 1, 4);
}

static void threads__of_one_client(void **state)
{
	(void)state;
	slow_jobs(begin_call, 8, 5);
}

static void threads__that_close_for_one_connection(void **state)
{
	(void)state;
	slow_jobs(begin_close, 1, 4);
}

static void threads__that_close_for_one_client(void **state)
{
	(void)state;
	slow_jobs(begin_close, 8, 5);
}

static void threads__that_close_and_call_for_one_client(void **state)
{
	(void)state;
	slow_jobs(begin_either, 8, 5);
}

/* Checks that closes of other clients continue while those of one client do not end. */
static void threads__closes_of_others_overtake(void **state)
{
	int left;

	(void)state;
	for (uint32_t i = 0; i < SLOW; i++)
		begin_close(i, 100 + i % 8, 1);
	wait_for(&begun, 5);
	begin_close(0, 200, 2);
	wait_for(&begun, 1);
	sem_getvalue(&begun, &left);
	assert_int_equal(left, 0);
	for (uint32_t i = 0; i <= SLOW; i++)
		sem_post(&go_on);
	wait_for(&done, SLOW + 1);
}

static struct op kind_of(uint32_t proc, uint8_t first, uint8_t second)
{
	return (struct op){.proc = proc, .id = id_of(first), .id2 = id_of(second)};
}

/* Begins a call of a new client for the objects 'first' and 'second'. */
static void begin_for(struct op *op, uint32_t i, uint32_t proc, uint8_t first, uint8_t second)
{
	const struct op kind = kind_of(proc, first, second);

	begin_kind(op, 100 + i, 100 + i, &kind);
}

static void begin_listing(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct op kind = kind_of(NFS3_READDIRPLUS, 1, 0);

	begin_kind(&slow[i], conn, user, &kind);
}

static void begin_create(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct op kind = kind_of(NFS3_CREATE, 1, 0);

	begin_kind(&slow[i], conn, user, &kind);
}

/* Begins a LINK. All LINKs have the same directory, which is the second object of a call. */
static void begin_link(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct op kind = kind_of(NFS3_LINK, (uint8_t)(100 + i), 1);

	begin_kind(&slow[i], conn, user, &kind);
}

static void begin_create_or_link(uint32_t i, uint32_t conn, uint32_t user)
{
	if (i % 2 == 0)
		begin_create(i, conn, user);
	else
		begin_link(i, conn, user);
}

/* Begins a RENAME. No two RENAMEs have a directory in common. */
static void begin_move(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct op kind = kind_of(NFS3_RENAME, (uint8_t)(2 * i), (uint8_t)(2 * i + 1));

	begin_kind(&slow[i], conn, user, &kind);
}

static void begin_close_of_one(uint32_t i, uint32_t conn, uint32_t user)
{
	const struct handle_id id = id_of(1);

	(void)i;
	begin_close_of(&id, conn, user);
}

static void threads__that_wait_for_one_directory(void **state)
{
	(void)state;
	slow_jobs(begin_create, OWN, 3);
}

static void threads__that_wait_for_the_second_directory(void **state)
{
	(void)state;
	slow_jobs(begin_link, OWN, 3);
}

static void threads__that_wait_for_the_first_or_second_directory(void **state)
{
	(void)state;
	slow_jobs(begin_create_or_link, OWN, 3);
}

static void threads__that_move_between_directories(void **state)
{
	(void)state;
	slow_jobs(begin_move, OWN, 3);
}

static void threads__that_close_one_file(void **state)
{
	(void)state;
	slow_jobs(begin_close_of_one, OWN, 3);
}

static void begin_close_or_listing(uint32_t i, uint32_t conn, uint32_t user)
{
	if (i % 2 == 0)
		begin_close_of_one(i, conn, user);
	else
		begin_listing(i, conn, user);
}

static void threads__of_one_client_leave_the_directory_to_others(void **state)
{
	(void)state;
	quick_kind = kind_of(NFS3_LOOKUP, 1, 0);
	slow_jobs(begin_listing, 8, 2);
}

static void threads__of_one_client_leave_the_second_directory_to_others(void **state)
{
	(void)state;
	quick_kind = kind_of(NFS3_LINK, 250, 1);
	slow_jobs(begin_link, 8, 2);
}

static void threads__of_one_client_leave_moves_to_others(void **state)
{
	(void)state;
	quick_kind = kind_of(NFS3_RENAME, 250, 251);
	slow_jobs(begin_move, 8, 2);
}

static void threads__that_close_for_one_client_leave_the_file_to_others(void **state)
{
	(void)state;
	quick_kind = kind_of(NFS3_SETATTR, 1, 0);
	slow_jobs(begin_close_of_one, 8, 2);
}

static void threads__closes_and_calls_of_one_client_leave_the_file_to_others(void **state)
{
	(void)state;
	quick_kind = kind_of(NFS3_LOOKUP, 1, 0);
	slow_jobs(begin_close_or_listing, 8, 2);
}

/* Checks that, while changes of one directory wait, calls that need no lock of this directory are
 * carried out, and changes of another directory as well. */
static void threads__that_wait_for_one_directory_let_it_be_read(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SLOW; i++)
		begin_create(i, 100 + i, 100 + i);
	wait_for(&begun, 3);
	for (uint32_t i = 0; i < QUICK; i++) {
		begin_for(&quick[i], i, i % 2 == 0 ? NFS3_GETATTR : NFS3_CREATE, i % 2 == 0 ? 1 : 2,
			  0);
		wait_for(&done, 1);
	}
	for (uint32_t i = 0; i < SLOW; i++)
		sem_post(&go_on);
	wait_for(&done, SLOW);
	wait_for(&begun, SLOW - 3);
}

/* Checks that calls which wait for the threads of a directory are answered in time, even if they
 * are not idempotent. */
static void threads__calls_for_one_directory_are_answered(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SLOW; i++)
		begin_create(i, 100 + i, 100 + i);
	wait_for(&begun, 3);
	fs.now_ns = DIR_OVERDUE_NS - 1;
	dir_watch_tick(&fs);
	assert_int_equal(noverdue, 0);
	fs.now_ns = DIR_OVERDUE_NS;
	dir_watch_tick(&fs);
	assert_int_equal(noverdue, SLOW - 3);
	for (uint32_t i = 0; i < 3; i++)
		sem_post(&go_on);
	wait_for(&done, 3);
}

/* Occupies all threads but one with calls of other clients. Before that, clients 1 and 2 were
 * served. */
static void hold_threads(void)
{
	for (uint32_t i = 1; i <= 2; i++) {
		begin(&quick[i], i, i);
		wait_for(&done, 1);
	}
	for (uint32_t i = 0; i < HELD; i++)
		begin(&held[i], 100 + i, 100 + i);
	wait_for(&begun, HELD);
}

static void release_threads(void)
{
	for (uint32_t i = 0; i < HELD; i++)
		sem_post(&release);
	wait_for(&done, HELD);
}

/* Checks that a client that was served last is not served before another one, even if its call
 * arrived earlier. */
static void take_turns(void (*begin_slow)(uint32_t i, uint32_t conn, uint32_t user))
{
	int ndone;

	hold_threads();
	for (uint32_t i = 0; i < SLOW; i++)
		begin_slow(i, 1, 1);
	wait_for(&begun, 1);
	begin(&quick[0], 2, 2);
	sem_post(&go_on);
	wait_for(&done, 1);
	wait_for(&begun, 1);
	sem_getvalue(&done, &ndone);
	for (uint32_t i = 1; i < SLOW; i++)
		sem_post(&go_on);
	wait_for(&done, SLOW);
	release_threads();
	assert_int_equal(ndone, 1);
}

static void turns__of_clients_for_the_only_thread(void **state)
{
	(void)state;
	take_turns(begin_call);
}

static void turns__of_closes_and_calls_for_the_only_thread(void **state)
{
	(void)state;
	take_turns(begin_close);
}

/* Checks many clients with one call each: all calls are carried out. */
static void turns__of_more_clients_than_queues(void **state)
{
	(void)state;
	hold_threads();
	begin_call(0, 1, 1);
	wait_for(&begun, 1);
	for (uint32_t i = 0; i < 3 * DIR_QUEUES; i++)
		begin(&crowd[i], 1000 + i, 1000 + i);
	sem_post(&go_on);
	wait_for(&done, 1 + 3 * DIR_QUEUES);
	release_threads();
}

/* Checks that calls which cannot begin cost a thread little time, however many of them a client
 * has. */
static void turns__of_a_client_that_has_to_wait_take_few_looks(void **state)
{
	const struct op kind = kind_of(NFS3_LOOKUP, 1, 0);
	uint32_t before;

	(void)state;
	begin_listing(0, 1, 1);
	begin_listing(1, 1, 1);
	wait_for(&begun, 2);
	for (uint32_t i = 0; i < CROWD; i++)
		begin_kind(&crowd[i], 1, 1, &kind);
	before = nlooks;
	begin_kind(&quick[0], 2, 2, &kind);
	wait_for(&done, 1);
	before = nlooks - before;
	sem_post(&go_on);
	sem_post(&go_on);
	wait_for(&done, 2 + CROWD);
	assert_true(before < CROWD);
}

/* Checks that the threads end only after all files are closed, whichever client opened them. */
static void stop__closes_all(void **state)
{
	int closed;

	(void)state;
	for (uint32_t i = 0; i < SLOW; i++) {
		begin_close(i, 100, 1);
		sem_post(&go_on);
	}
	dir_work_stop(&fs);
	sem_getvalue(&done, &closed);
	assert_int_equal(closed, SLOW);
}

/* Checks that threads have a lower priority than the polling thread, whose priority is
 * unchanged. */
static void threads__have_a_lower_priority(void **state)
{
	int before = getpriority(PRIO_PROCESS, 0);

	(void)state;
	assert_int_equal(setup(NULL), 0);
	begin(&quick[0], 1, 1);
	wait_for(&done, 1);
	dir_work_stop(&fs);
	assert_int_equal(call_nice, MIN(before + 10, 19));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

#define cmocka_unit_test_with_export(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_with_export(threads__of_one_connection),
		cmocka_unit_test_with_export(threads__of_one_client),
		cmocka_unit_test_with_export(threads__that_close_for_one_connection),
		cmocka_unit_test_with_export(threads__that_close_for_one_client),
		cmocka_unit_test_with_export(threads__that_close_and_call_for_one_client),
		cmocka_unit_test_with_export(threads__closes_of_others_overtake),
		cmocka_unit_test_with_export(threads__that_wait_for_one_directory),
		cmocka_unit_test_with_export(threads__that_wait_for_the_second_directory),
		cmocka_unit_test_with_export(threads__that_wait_for_the_first_or_second_directory),
		cmocka_unit_test_with_export(threads__that_move_between_directories),
		cmocka_unit_test_with_export(threads__that_close_one_file),
		cmocka_unit_test_with_export(threads__that_wait_for_one_directory_let_it_be_read),
		cmocka_unit_test_with_export(threads__calls_for_one_directory_are_answered),
		cmocka_unit_test_with_export(threads__of_one_client_leave_the_directory_to_others),
		cmocka_unit_test_with_export(
			threads__of_one_client_leave_the_second_directory_to_others),
		cmocka_unit_test_with_export(threads__of_one_client_leave_moves_to_others),
		cmocka_unit_test_with_export(
			threads__that_close_for_one_client_leave_the_file_to_others),
		cmocka_unit_test_with_export(
			threads__closes_and_calls_of_one_client_leave_the_file_to_others),
		cmocka_unit_test_with_export(turns__of_clients_for_the_only_thread),
		cmocka_unit_test_with_export(turns__of_closes_and_calls_for_the_only_thread),
		cmocka_unit_test_with_export(turns__of_more_clients_than_queues),
		cmocka_unit_test_with_export(turns__of_a_client_that_has_to_wait_take_few_looks),
		cmocka_unit_test_with_export(stop__closes_all),
		cmocka_unit_test(threads__have_a_lower_priority),
	};

	return cmocka_run_group_tests_name("dir_work", tests, NULL, NULL);
}
