/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of MOUNT version 3: the limits of its messages, the dispatcher that weirgen writes for
 * other transports, and strings. test/weirgen/test_codecs.py compares all messages with those of
 * libtirpc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "mount3_msg.h"
#include "mount3_rpc.h"
#include "mount3_text.h"

static uint8_t wire[MOUNT3_EXPORT_3_RESULTS_MAX_BYTES + 4];
static uint64_t memory[MOUNT3_EXPORTS_ARENA_BYTES / sizeof(uint64_t)];

/* Writes words to 'wire' in network byte order. Returns their length in bytes. */
static uint32_t words(const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t be = htonl(values[i]);

		memcpy(wire + 4 * i, &be, 4);
	}
	return 4 * n;
}

/* Fills 'wire' with copies of 'n' words. */
static void repeat(const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < sizeof(wire) / 4; i++) {
		uint32_t be = htonl(values[i % n]);

		memcpy(wire + 4 * i, &be, 4);
	}
}

static int get_path(mount3_path *path, uint32_t len)
{
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, wire, len);
	return mount3_path_get(&in, path);
}

static int get_mnt(struct mount3_mnt_res *res, uint32_t len)
{
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, wire, len);
	return mount3_mnt_res_get(&in, res);
}

static int get_mounts(mount3_mounts *mounts, uint32_t len)
{
	struct weir_xdr_arena arena;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, wire, len);
	weir_xdr_arena_init(&arena, memory, MOUNT3_MOUNTS_ARENA_BYTES);
	return mount3_mounts_get(&in, &arena, mounts);
}

static int get_exports(mount3_exports *exports, uint32_t len)
{
	struct weir_xdr_arena arena;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, wire, len);
	weir_xdr_arena_init(&arena, memory, sizeof(memory));
	return mount3_exports_get(&in, &arena, exports);
}

static void path__has_a_limit(void **state)
{
	mount3_path path;

	(void)state;
	words((const uint32_t[]){MOUNT3_PATH_MAX}, 1);
	assert_int_equal(get_path(&path, MOUNT3_PATH_MAX_BYTES), 0);
	assert_int_equal(path.len_bytes, MOUNT3_PATH_MAX);
	assert_int_equal(get_path(&path, MOUNT3_PATH_MAX_BYTES - 1), -EBADMSG);
	words((const uint32_t[]){MOUNT3_PATH_MAX + 1}, 1);
	assert_int_equal(get_path(&path, sizeof(wire)), -EBADMSG);
	words((const uint32_t[]){0xffffffff}, 1);
	assert_int_equal(get_path(&path, sizeof(wire)), -EBADMSG);
}

static void text__refuses_a_nul_inside(void **state)
{
	mount3_path path;
	char text[8];

	(void)state;
	assert_int_equal(get_path(&path, words((const uint32_t[]){4, 0x2f610062}, 2)), 0);
	assert_false(mount3_text(&path, text, sizeof(text)));
	assert_int_equal(get_path(&path, words((const uint32_t[]){4, 0x2f616200}, 2)), 0);
	assert_false(mount3_text(&path, text, sizeof(text)));
	assert_int_equal(get_path(&path, words((const uint32_t[]){4, 0x2f616263}, 2)), 0);
	assert_true(mount3_text(&path, text, sizeof(text)));
	assert_string_equal(text, "/abc");
}

static void text__has_room_for_the_nul(void **state)
{
	const mount3_path path = mount3_string("/abc"), none = mount3_string("");
	char text[8] = "unused";

	(void)state;
	assert_false(mount3_text(&path, text, 4));
	assert_string_equal(text, "unused");
	assert_true(mount3_text(&path, text, 5));
	assert_string_equal(text, "/abc");
	assert_true(mount3_text(&none, text, 1));
	assert_string_equal(text, "");
}

static void mnt_res__has_limits(void **state)
{
	struct mount3_mnt_res res;

	(void)state;
	memset(wire, 0, sizeof(wire));
	assert_int_equal(get_mnt(&res, words((const uint32_t[]){0, 0, 0}, 3)), 0);
	words((const uint32_t[]){0, MOUNT3_FH_MAX + 1}, 2);
	assert_int_equal(get_mnt(&res, sizeof(wire)), -EBADMSG);
	words((const uint32_t[]){0, 0, MOUNT3_FLAVORS_MAX}, 3);
	assert_int_equal(get_mnt(&res, sizeof(wire)), 0);
	words((const uint32_t[]){0, 0, MOUNT3_FLAVORS_MAX + 1}, 3);
	assert_int_equal(get_mnt(&res, sizeof(wire)), -EBADMSG);
	assert_int_equal(get_mnt(&res, words((const uint32_t[]){13}, 1)), 0);
	assert_int_equal(res.status, MOUNT3ERR_ACCES);
	/* RFC 1813 does not define this status. */
	assert_int_equal(get_mnt(&res, words((const uint32_t[]){3}, 1)), -EBADMSG);
}

static void lists__without_end_are_refused(void **state)
{
	mount3_mounts mounts;
	mount3_exports exports;

	(void)state;
	/* An entry is encoded as the number 1 and its texts, which are empty here. */
	repeat((const uint32_t[]){1, 0, 0}, 3);
	assert_int_equal(get_mounts(&mounts, sizeof(wire)), -EBADMSG);
	assert_int_equal(get_exports(&exports, sizeof(wire)), -EBADMSG);
	/* The message has one export, whose list of groups never ends: each group has an empty name
	 * and is followed by another one. */
	repeat((const uint32_t[]){1, 0}, 2);
	assert_int_equal(get_exports(&exports, sizeof(wire)), -EBADMSG);
}

/* The largest lists have the size that the generated header gives, and fit in the arena. */
static void lists__of_the_largest_size(void **state)
{
	static struct mount3_export exports[MOUNT3_LIST_MAX];
	static struct mount3_group groups[MOUNT3_LIST_MAX];
	static char name[MOUNT3_PATH_MAX + 1];
	mount3_exports first = exports;
	struct weir_xdr_out out;
	uint32_t n = 0;

	(void)state;
	memset(name, 'n', MOUNT3_PATH_MAX);
	for (uint32_t i = 0; i < MOUNT3_LIST_MAX; i++) {
		bool is_last = i == MOUNT3_LIST_MAX - 1;

		groups[i] = (struct mount3_group){{name, MOUNT3_NAME_MAX},
						  is_last ? NULL : &groups[i + 1]};
		exports[i] = (struct mount3_export){
			{name, MOUNT3_PATH_MAX}, groups, is_last ? NULL : &exports[i + 1]};
	}
	weir_xdr_out_init(&out, wire, sizeof(wire));
	assert_int_equal(mount3_exports_put(&out, &first), 0);
	assert_int_equal(weir_xdr_out_len(&out), MOUNT3_EXPORT_3_RESULTS_MAX_BYTES);
	assert_int_equal(get_exports(&first, MOUNT3_EXPORT_3_RESULTS_MAX_BYTES), 0);
	for (const struct mount3_export *export = first; export; export = export->next)
		n++;
	assert_int_equal(n, MOUNT3_LIST_MAX);
}

/* ---- the dispatcher ---- */

static const struct mount3_mnt_res refusal = {.status = MOUNT3ERR_ACCES};

static enum weir_rpc_accept_stat on_mnt(void *call, const mount3_path *args,
					const struct mount3_mnt_res **results)
{
	*(mount3_path *)call = *args;
	if (args->len_bytes == 0)
		return WEIR_RPC_SUCCESS; /* answered later */
	*results = &refusal;
	return args->len_bytes == 1 ? WEIR_RPC_SYSTEM_ERR : WEIR_RPC_SUCCESS;
}

static enum weir_rpc_accept_stat on_umnt(void *call, const mount3_path *args)
{
	*(mount3_path *)call = *args;
	return WEIR_RPC_SUCCESS;
}

/* Serves a call of 'len' bytes of 'wire', and encodes its results behind them. */
static enum weir_rpc_accept_stat serve(const struct mount3_v3_calls *handlers, uint32_t proc,
				       uint32_t len, size_t room, mount3_path *seen, size_t *bytes)
{
	enum weir_rpc_accept_stat stat;
	struct weir_xdr_out out;
	struct weir_xdr_in in;

	weir_xdr_in_init(&in, wire, len);
	weir_xdr_out_init(&out, wire + len, room);
	stat = mount3_v3_serve(handlers, seen, proc, &in, &out);
	*bytes = weir_xdr_out_len(&out);
	return stat;
}

static void dispatcher__decodes_and_encodes(void **state)
{
	const struct mount3_v3_calls handlers = {.mount3_mnt = on_mnt, .mount3_umnt = on_umnt};
	uint32_t len = words((const uint32_t[]){2, 0x2f610000}, 2);
	mount3_path seen = {0};
	size_t bytes;

	(void)state;
	assert_int_equal(serve(&handlers, MOUNT3_MNT, len, 64, &seen, &bytes), WEIR_RPC_SUCCESS);
	assert_int_equal(seen.len_bytes, 2);
	assert_memory_equal(seen.data, "/a", 2);
	assert_int_equal(bytes, 4);
	assert_memory_equal(wire + len, "\0\0\0\15", 4);
	seen.len_bytes = 0;
	assert_int_equal(serve(&handlers, MOUNT3_UMNT, len, 64, &seen, &bytes), WEIR_RPC_SUCCESS);
	assert_int_equal(seen.len_bytes, 2);
	assert_int_equal(bytes, 0);
	/* The results do not fit. */
	assert_int_equal(serve(&handlers, MOUNT3_MNT, len, 3, &seen, &bytes), WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(bytes, 0);
}

static void dispatcher__encodes_nothing_without_results(void **state)
{
	const struct mount3_v3_calls handlers = {.mount3_mnt = on_mnt};
	mount3_path seen;
	size_t bytes;

	(void)state;
	assert_int_equal(
		serve(&handlers, MOUNT3_MNT, words((const uint32_t[]){0}, 1), 64, &seen, &bytes),
		WEIR_RPC_SUCCESS);
	assert_int_equal(bytes, 0);
	assert_int_equal(serve(&handlers, MOUNT3_MNT, words((const uint32_t[]){1, 0x2f000000}, 2),
			       64, &seen, &bytes),
			 WEIR_RPC_SYSTEM_ERR);
	assert_int_equal(bytes, 0);
}

static void dispatcher__refuses(void **state)
{
	const struct mount3_v3_calls handlers = {.mount3_mnt = on_mnt, .mount3_umnt = on_umnt};
	uint32_t len = words((const uint32_t[]){2, 0x2f610000}, 2);
	mount3_path seen = {0};
	size_t bytes;

	(void)state;
	assert_int_equal(serve(&handlers, MOUNT3_MNT, len - 4, 64, &seen, &bytes),
			 WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(serve(&handlers, MOUNT3_UMNT, 0, 64, &seen, &bytes),
			 WEIR_RPC_GARBAGE_ARGS);
	assert_int_equal(serve(&handlers, MOUNT3_DUMP, len, 64, &seen, &bytes),
			 WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(serve(&handlers, MOUNT3_EXPORT + 1, len, 64, &seen, &bytes),
			 WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(serve(&handlers, UINT32_MAX, len, 64, &seen, &bytes),
			 WEIR_RPC_PROC_UNAVAIL);
	assert_int_equal(seen.len_bytes, 0);
	/* Procedure 0 needs no handler. */
	assert_int_equal(serve(&handlers, MOUNT3_NULL, 0, 64, &seen, &bytes), WEIR_RPC_SUCCESS);
}

static void procedures__have_names(void **state)
{
	(void)state;
	assert_string_equal(mount3_v3_proc_name(MOUNT3_MNT), "MOUNT3_MNT");
	assert_string_equal(mount3_v3_proc_name(MOUNT3_EXPORT + 1), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path__has_a_limit),
		cmocka_unit_test(text__refuses_a_nul_inside),
		cmocka_unit_test(text__has_room_for_the_nul),
		cmocka_unit_test(mnt_res__has_limits),
		cmocka_unit_test(lists__without_end_are_refused),
		cmocka_unit_test(lists__of_the_largest_size),
		cmocka_unit_test(dispatcher__decodes_and_encodes),
		cmocka_unit_test(dispatcher__encodes_nothing_without_results),
		cmocka_unit_test(dispatcher__refuses),
		cmocka_unit_test(procedures__have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
