/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the bindings of NFS, rule by rule (RFC 8267). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/binding_nfs.h>

static uint32_t args(const struct weir_ulb *ulb, uint32_t proc)
{
	return weir_ulb_find(ulb, proc)->arg_items_max;
}

static uint32_t results(const struct weir_ulb *ulb, uint32_t proc)
{
	return weir_ulb_find(ulb, proc)->result_items_max;
}

/* Checks that exactly the given four procedures have DDP-eligible items, and that each has one. */
static void check_four(uint32_t vers, uint32_t nprocs, uint32_t read, uint32_t readlink,
		       uint32_t write, uint32_t symlink)
{
	const struct weir_ulb *ulb = weir_ulb_nfs(vers);

	assert_non_null(ulb);
	assert_int_equal(ulb->prog, 100003);
	assert_int_equal(ulb->vers_low, vers);
	assert_int_equal(ulb->vers_high, vers);
	for (uint32_t proc = 0; proc < nprocs + 4; proc++) {
		assert_int_equal(args(ulb, proc), proc == write || proc == symlink);
		assert_int_equal(results(ulb, proc), proc == read || proc == readlink);
	}
}

static void ulb_nfs__version_2(void **state)
{
	(void)state;
	check_four(2, 18, 6, 5, 8, 13);
}

static void ulb_nfs__version_3(void **state)
{
	(void)state;
	check_four(3, 22, 6, 5, 7, 10);
}

static void ulb_nfs__version_4_has_one_procedure_with_items(void **state)
{
	const struct weir_ulb *ulb = weir_ulb_nfs(4);

	(void)state;
	assert_non_null(ulb);
	assert_int_equal(args(ulb, 0), 0);
	assert_int_equal(results(ulb, 0), 0);
	assert_true(args(ulb, 1) >= WEIR_NFS4_READ_CHUNKS_UNASKED);
	assert_true(results(ulb, 1) >= WEIR_NFS4_WRITE_CHUNKS_UNASKED);
	assert_int_equal(args(ulb, 2), 0);
	assert_null(weir_ulb_nfs(1));
	assert_null(weir_ulb_nfs(5));
}

static void ulb_nfs__companions_have_none(void **state)
{
	static const struct {
		uint32_t prog, vers;
	} companions[] = {{100227, 1}, {100005, 2}, {100005, 3}, {100021, 1},
			  {100021, 3}, {100021, 4}, {100024, 1}};

	(void)state;
	for (uint32_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
		const struct weir_ulb *ulb =
			weir_ulb_nfs_find(companions[i].prog, companions[i].vers);

		assert_non_null(ulb);
		for (uint32_t proc = 0; proc < 32; proc++) {
			assert_int_equal(args(ulb, proc), 0);
			assert_int_equal(results(ulb, proc), 0);
		}
	}
	assert_null(weir_ulb_nfs_find(100004, 3));
	assert_null(weir_ulb_nfs_find(100024, 2));
	assert_ptr_equal(weir_ulb_nfs_find(100003, 3), weir_ulb_nfs(3));
}

static void ulb_nfs4_op__eligible_items(void **state)
{
	(void)state;
	for (uint32_t op = 0; op < 100; op++) {
		enum weir_nfs4_eligible expected = WEIR_NFS4_NOTHING;

		if (op == 6 || op == 38) /* CREATE, WRITE */
			expected = WEIR_NFS4_ARGUMENT;
		else if (op == 25 || op == 27) /* READ, READLINK */
			expected = WEIR_NFS4_RESULT;
		assert_int_equal(weir_ulb_nfs4_op(op), expected);
	}
	assert_int_equal(weir_ulb_nfs4_op(UINT32_MAX), WEIR_NFS4_NOTHING);
}

/* PUTFH LOOKUP READ PUTFH LOOKUP READLINK PUTFH LOOKUP READ */
static const uint32_t ops[] = {22, 15, 25, 22, 15, 27, 22, 15, 25};

static void check_pairs(uint32_t nchunks, uint32_t used, uint32_t at2, uint32_t at5, uint32_t at8)
{
	uint32_t chunk_of[9];

	assert_int_equal(weir_ulb_nfs4_pair(ops, 9, nchunks, chunk_of), used);
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t expected = i == 2 ? at2 : i == 5 ? at5 : i == 8 ? at8 : UINT32_MAX;

		assert_int_equal(chunk_of[i], expected);
	}
}

static void ulb_nfs4_pair__in_order(void **state)
{
	(void)state;
	check_pairs(3, 3, 0, 1, 2);
}

static void ulb_nfs4_pair__without_write_list_all_is_inline(void **state)
{
	(void)state;
	check_pairs(0, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	assert_int_equal(weir_ulb_nfs4_pair(NULL, 0, 3, NULL), 0);
}

static void ulb_nfs4_pair__the_rest_is_inline(void **state)
{
	(void)state;
	check_pairs(1, 1, 0, UINT32_MAX, UINT32_MAX);
	check_pairs(2, 2, 0, 1, UINT32_MAX);
}

static void ulb_nfs4_pair__more_chunks_than_operations(void **state)
{
	(void)state;
	check_pairs(8, 3, 0, 1, 2);
}

static void ulb_nfs4_pair__read_plus_and_write_take_no_chunk(void **state)
{
	static const uint32_t others[] = {53, 22, 68, 38, 6, 25};
	uint32_t chunk_of[6];

	(void)state;
	assert_int_equal(weir_ulb_nfs4_pair(others, 6, 2, chunk_of), 1);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(chunk_of[i], UINT32_MAX);
	assert_int_equal(chunk_of[5], 0);
}

/* Compares the results with the sizes of the types in RFC 1813, which were added up by hand. */
static void results_max__version_3(void **state)
{
	static const uint32_t expected[22] = {
		0,   88,  120, 248, 96,	 96,  104, 136, 280, 280, 280,
		280, 120, 120, 236, 208, 108, 108, 144, 140, 116, 128,
	};

	(void)state;
	for (uint32_t proc = 0; proc < 22; proc++)
		assert_int_equal(weir_ulb_nfs_results_max(3, proc, 0), expected[proc]);
	assert_int_equal(weir_ulb_nfs_results_max(3, 22, 0), 0);
	assert_int_equal(weir_ulb_nfs_results_max(3, 16, 8192), 8192 + 108);
	assert_int_equal(weir_ulb_nfs_results_max(3, 17, 8192), 8192 + 108);
	/* the data are an item and do not count */
	assert_int_equal(weir_ulb_nfs_results_max(3, 6, 8192), 104);
	assert_int_equal(weir_ulb_nfs_results_max(3, 17, UINT32_MAX), UINT32_MAX);
}

static void results_max__version_2(void **state)
{
	(void)state;
	assert_int_equal(weir_ulb_nfs_results_max(2, 1, 0), 72);
	assert_int_equal(weir_ulb_nfs_results_max(2, 4, 0), 104);
	assert_int_equal(weir_ulb_nfs_results_max(2, 5, 0), 8);
	assert_int_equal(weir_ulb_nfs_results_max(2, 6, 100), 76);
	assert_int_equal(weir_ulb_nfs_results_max(2, 16, 100), 112);
	assert_int_equal(weir_ulb_nfs_results_max(2, 17, 0), 24);
	assert_int_equal(weir_ulb_nfs_results_max(2, 18, 0), 0);
	assert_int_equal(weir_ulb_nfs_results_max(7, 1, 0), 0);
}

static void op_results_max__what_has_no_bound_says_so(void **state)
{
	/* GETATTR, OPEN, SECINFO, SETCLIENTID, EXCHANGE_ID, GETDEVICEINFO, LAYOUTGET, READ_PLUS */
	static const uint32_t unbounded[] = {9, 18, 33, 35, 42, 47, 50, 68, 71, 1000, UINT32_MAX};

	(void)state;
	for (uint32_t i = 0; i < sizeof(unbounded) / sizeof(unbounded[0]); i++)
		assert_int_equal(weir_ulb_nfs4_op_results_max(unbounded[i], 0), WEIR_NFS_UNBOUNDED);
}

static void op_results_max__known_operations(void **state)
{
	(void)state;
	assert_int_equal(weir_ulb_nfs4_op_results_max(22, 0), 8);	    /* PUTFH */
	assert_int_equal(weir_ulb_nfs4_op_results_max(10, 0), 8 + 4 + 128); /* GETFH */
	assert_int_equal(weir_ulb_nfs4_op_results_max(25, 4096), 8 + 8); /* READ: eof, count word */
	assert_int_equal(weir_ulb_nfs4_op_results_max(38, 0), 8 + 16);	 /* WRITE */
	assert_int_equal(weir_ulb_nfs4_op_results_max(53, 0), 8 + 36);	 /* SEQUENCE */
	assert_int_equal(weir_ulb_nfs4_op_results_max(26, 1000), 8 + 16 + 1000); /* READDIR */
	assert_int_equal(weir_ulb_nfs4_op_results_max(26, UINT32_MAX), WEIR_NFS_UNBOUNDED);
	assert_true(weir_ulb_nfs_results_max(4, 1, 0) >= 12);
}

static void ports__are_those_of_rdma(void **state)
{
	(void)state;
	assert_int_equal(WEIR_NFS_RDMA_PORT, 20049);
	assert_string_equal(WEIR_NFS_RDMA_NETID, "rdma");
	assert_string_equal(WEIR_NFS_RDMA6_NETID, "rdma6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ulb_nfs__version_2),
		cmocka_unit_test(ulb_nfs__version_3),
		cmocka_unit_test(ulb_nfs__version_4_has_one_procedure_with_items),
		cmocka_unit_test(ulb_nfs__companions_have_none),
		cmocka_unit_test(ulb_nfs4_op__eligible_items),
		cmocka_unit_test(ulb_nfs4_pair__in_order),
		cmocka_unit_test(ulb_nfs4_pair__without_write_list_all_is_inline),
		cmocka_unit_test(ulb_nfs4_pair__the_rest_is_inline),
		cmocka_unit_test(ulb_nfs4_pair__more_chunks_than_operations),
		cmocka_unit_test(ulb_nfs4_pair__read_plus_and_write_take_no_chunk),
		cmocka_unit_test(results_max__version_3),
		cmocka_unit_test(results_max__version_2),
		cmocka_unit_test(op_results_max__what_has_no_bound_says_so),
		cmocka_unit_test(op_results_max__known_operations),
		cmocka_unit_test(ports__are_those_of_rdma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
