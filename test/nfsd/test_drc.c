/* SPDX-License-Identifier: BSD-3-Clause */
/* The duplicate request cache: what is the same call, and what is kept of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "drc.h"

static struct drc drc;

static int setup(void **state)
{
	(void)state;
	return drc_init(&drc);
}

static int teardown(void **state)
{
	(void)state;
	drc_fini(&drc);
	return 0;
}

static struct drc_key key_of(uint32_t xid, uint32_t proc, const char *cred, const char *args)
{
	struct drc_key key;

	drc_make_key(&drc, xid, proc, cred, (uint32_t)strlen(cred), args, (uint32_t)strlen(args), &key);
	return key;
}

/* Is this call a new one? Ends it if so. */
static bool is_new(uint32_t xid, uint32_t proc, const char *cred, const char *args)
{
	struct drc_key key = key_of(xid, proc, cred, args);
	bool new = false;
	struct drc_entry *entry = drc_get(&drc, &key, &new);

	assert_non_null(entry);
	if (new)
		drc_answered(&drc, entry, args, (uint32_t)strlen(args));
	return new;
}

static void drc__the_same_call_has_its_reply(void **state)
{
	struct drc_key key = key_of(1, NFS3_REMOVE, "alice@a", "name");
	struct drc_entry *entry;
	bool new;

	(void)state;
	entry = drc_get(&drc, &key, &new);
	assert_true(new);
	assert_int_equal(entry->state, DRC_BUSY);
	assert_ptr_equal(drc_get(&drc, &key, &new), entry);
	assert_false(new);
	assert_int_equal(entry->state, DRC_BUSY);
	drc_answered(&drc, entry, "reply", 5);
	assert_ptr_equal(drc_get(&drc, &key, &new), entry);
	assert_false(new);
	assert_int_equal(entry->state, DRC_DONE);
	assert_int_equal(entry->len_bytes, 5);
	assert_memory_equal(entry->results, "reply", 5);
	assert_int_equal(drc.hits, 2);
}

static void drc__any_difference_makes_another_call(void **state)
{
	(void)state;
	assert_true(is_new(1, NFS3_REMOVE, "alice@a", "name"));
	assert_true(is_new(2, NFS3_REMOVE, "alice@a", "name"));
	assert_true(is_new(1, NFS3_RMDIR, "alice@a", "name"));
	assert_true(is_new(1, NFS3_REMOVE, "alice@b", "name"));
	assert_true(is_new(1, NFS3_REMOVE, "alice@a", "nam"));
	assert_true(is_new(1, NFS3_REMOVE, "alice@an", "ame"));
	assert_false(is_new(1, NFS3_REMOVE, "alice@a", "name"));
}

static void drc__dropped_calls_are_new_again(void **state)
{
	struct drc_key key = key_of(1, NFS3_CREATE, "c", "a");
	bool new;

	(void)state;
	drc_drop(&drc, drc_get(&drc, &key, &new));
	drc_drop(&drc, drc_get(&drc, &key, &new));
	assert_true(new);
	assert_true(is_new(1, NFS3_CREATE, "c", "a"));
}

static void drc__the_oldest_goes_but_none_that_is_busy(void **state)
{
	struct drc_key busy = key_of(0, NFS3_CREATE, "c", "busy"), key;
	struct drc_entry *entry;
	bool new;

	(void)state;
	entry = drc_get(&drc, &busy, &new);
	for (uint32_t i = 1; i < 3 * DRC_ENTRIES; i++)
		assert_true(is_new(i, NFS3_CREATE, "c", "a"));
	assert_true(is_new(1, NFS3_CREATE, "c", "a"));
	assert_false(is_new(3 * DRC_ENTRIES - 1, NFS3_CREATE, "c", "a"));
	assert_ptr_equal(drc_get(&drc, &busy, &new), entry);
	assert_false(new);
	/* All busy: there is none to be had, and that is said. */
	for (uint32_t i = 1; i < DRC_ENTRIES; i++) {
		key = key_of(i, NFS3_MKDIR, "c", "a");
		assert_non_null(drc_get(&drc, &key, &new));
	}
	key = key_of(0, NFS3_MKDIR, "c", "a");
	assert_null(drc_get(&drc, &key, &new));
}

static void drc__results_that_are_too_long_are_not_kept(void **state)
{
	static const char results[NFS3_RESULTS_XDR_MAX + 1];
	struct drc_key key = key_of(1, NFS3_CREATE, "c", "a");
	bool new;

	(void)state;
	drc_answered(&drc, drc_get(&drc, &key, &new), results, sizeof(results));
	assert_true(is_new(1, NFS3_CREATE, "c", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(drc__the_same_call_has_its_reply, setup, teardown),
		cmocka_unit_test_setup_teardown(drc__any_difference_makes_another_call, setup, teardown),
		cmocka_unit_test_setup_teardown(drc__dropped_calls_are_new_again, setup, teardown),
		cmocka_unit_test_setup_teardown(drc__the_oldest_goes_but_none_that_is_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(drc__results_that_are_too_long_are_not_kept, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
