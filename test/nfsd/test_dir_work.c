/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a dir export: calls of one client that do not end leave threads to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>

#include "dir.h"
#include "poller.h"

#define SLOW  40u /* calls of a client, which end when the test says so */
#define QUICK 20u /* of others, one at a time */

static struct dir_fs fs;
static struct export export;
static struct poller owner;
static struct op slow[SLOW], quick[QUICK];
static struct caller slow_callers[SLOW], quick_callers[QUICK];
static sem_t begun, go_on, done;

void __wrap_dir_carry_out(struct dir_fs *of, struct op *op);
int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *), void *arg);

void __wrap_dir_carry_out(struct dir_fs *of, struct op *op)
{
	(void)of;
	if (op >= slow && op < slow + SLOW) {
		sem_post(&begun);
		while (sem_wait(&go_on) != 0)
			;
	}
}

int __wrap_weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *), void *arg)
{
	(void)engine;
	(void)fn;
	(void)arg;
	sem_post(&done);
	return 0;
}

static void wait_for(sem_t *sem, uint32_t n)
{
	while (n > 0)
		n -= sem_wait(sem) == 0;
}

static int setup(void **state)
{
	(void)state;
	fs = (struct dir_fs){.export = &export};
	export.owner = &owner;
	TAILQ_INIT(&fs.queue);
	TAILQ_INIT(&fs.closing);
	LIST_INIT(&fs.running);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&done, 0, 0);
	return dir_work_start(&fs);
}

static int teardown(void **state)
{
	(void)state;
	dir_work_stop(&fs);
	return 0;
}

static void begin(struct op *op, struct caller *caller, uint32_t conn, uint32_t user)
{
	caller->ops.holder.conn = (const struct weir_conn *)(uintptr_t)conn;
	caller->ops.holder.client = (struct client_key){.kind = CLIENT_KEY_USER, .uid = user};
	*op = (struct op){.export = &export, .caller = caller};
	dir_work(&fs, op);
}

/* By 'nconns' connections, 'most' are carried out at a time. Calls that came later, of other clients, end before them. */
static void slow_calls(uint32_t nconns, uint32_t most)
{
	int left;

	for (uint32_t i = 0; i < SLOW; i++)
		begin(&slow[i], &slow_callers[i], 100 + i % nconns, 1);
	wait_for(&begun, most);
	for (uint32_t i = 0; i < QUICK; i++) {
		begin(&quick[i], &quick_callers[i], 200 + i, 2 + i % 2);
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
	slow_calls(1, 4);
}

static void threads__of_one_client(void **state)
{
	(void)state;
	slow_calls(8, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads__of_one_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(threads__of_one_client, setup, teardown),
	};

	return cmocka_run_group_tests_name("dir_work", tests, NULL, NULL);
}
