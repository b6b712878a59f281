/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the ring of a 'dir' export carries out the operations that exports need, and no
 * others.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "dir/dir.h"

static struct server server;
static struct dir_fs fs;
static struct weir_region_info info = {.struct_bytes = sizeof(info)};
static int fd = -1;

/* The tests run as root, because the ring's writer acts as another user. */
static int setup(void **state)
{
	struct weir_region_options options = {
		.struct_bytes = sizeof(options),
		.len_bytes = DIR_MEMORY,
		.flags = WEIR_REGION_PRIVATE,
		.numa_node = -1,
	};

	(void)state;
	if (geteuid() != 0)
		return 0;
	server.exports.n = 1;
	fs = (struct dir_fs){.server = &server};
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || weir_region_create(&options, &fs.region) != 0)
		return -1;
	weir_region_info(fs.region, &info);
	return dir_ring_start(&fs);
}

static int teardown(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	if (fs.has_ring)
		io_uring_queue_exit(&fs.ring);
	weir_region_destroy(fs.region);
	return close(fd);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("not root: not tested\n");
	skip();
}

static struct io_uring_sqe *next(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&fs.ring);

	assert_non_null(sqe);
	return sqe;
}

static int carry_out(void)
{
	struct io_uring_cqe *cqe;
	int result;

	assert_int_equal(io_uring_submit_and_wait(&fs.ring, 1), 1);
	assert_int_equal(io_uring_peek_cqe(&fs.ring, &cqe), 0);
	result = cqe->res;
	io_uring_cqe_seen(&fs.ring, cqe);
	return result;
}

/*
 * Checks the operations that dir/submit.c submits, with and without the flag that it can set, and
 * as both writers.
 */
static void ring__carries_out_what_exports_need(void **state)
{
	char *bytes = info.base;

	(void)state;
	need_root();
	for (unsigned flags = 0; flags <= IOSQE_ASYNC; flags += IOSQE_ASYNC) {
		struct io_uring_sqe *sqe = next();

		memcpy(bytes, "weir", 4);
		io_uring_prep_write_fixed(sqe, fd, bytes, 4, 0, 0);
		io_uring_sqe_set_flags(sqe, flags);
		sqe->personality = fs.personality;
		assert_int_equal(carry_out(), 4);
		sqe = next();
		io_uring_prep_write(sqe, fd, "nfsd", 4, 4);
		io_uring_sqe_set_flags(sqe, flags);
		assert_int_equal(carry_out(), 4);
		sqe = next();
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		io_uring_sqe_set_flags(sqe, flags);
		assert_int_equal(carry_out(), 0);
		sqe = next();
		io_uring_prep_read_fixed(sqe, fd, bytes, 8, 0, 0);
		io_uring_sqe_set_flags(sqe, flags);
		assert_int_equal(carry_out(), 8);
		assert_memory_equal(bytes, "weirnfsd", 8);
	}
}

static bool is_needed(int op)
{
	return op == IORING_OP_READ_FIXED || op == IORING_OP_WRITE_FIXED || op == IORING_OP_WRITE ||
	       op == IORING_OP_FSYNC;
}

static void ring__refuses_all_other_operations(void **state)
{
	struct io_uring_probe *probe;
	int nrefused = 0;

	(void)state;
	need_root();
	probe = io_uring_get_probe(); /* the library uses another ring for this */
	assert_non_null(probe);
	for (int op = 0; op <= probe->last_op; op++) {
		struct io_uring_sqe *sqe;

		if (is_needed(op) || !io_uring_opcode_supported(probe, op))
			continue;
		sqe = next();
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = (uint8_t)op;
		sqe->fd = -1;
		assert_int_equal(carry_out(), -EACCES);
		nrefused++;
	}
	assert_true(nrefused > 0);
	io_uring_free_probe(probe);
}

/* Checks a socket() that would succeed outside of the ring. */
static void ring__makes_no_socket(void **state)
{
	struct io_uring_sqe *sqe;

	(void)state;
	need_root();
	sqe = next();
	io_uring_prep_socket(sqe, AF_UNIX, SOCK_STREAM, 0, 0);
	assert_int_equal(carry_out(), -EACCES);
}

static void ring__refuses_other_flags(void **state)
{
	const unsigned flags[] = {IOSQE_FIXED_FILE, IOSQE_IO_DRAIN, IOSQE_IO_LINK,
				  IOSQE_IO_HARDLINK};

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct io_uring_sqe *sqe = next();

		io_uring_prep_fsync(sqe, fd, 0);
		io_uring_sqe_set_flags(sqe, flags[i]);
		assert_int_equal(carry_out(), -EACCES);
	}
}

static void ring__takes_no_registrations(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(io_uring_register_files(&fs.ring, &fd, 1), -EACCES);
	assert_int_equal(io_uring_register_personality(&fs.ring), -EACCES);
	assert_int_equal(io_uring_unregister_buffers(&fs.ring), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring__carries_out_what_exports_need),
		cmocka_unit_test(ring__refuses_all_other_operations),
		cmocka_unit_test(ring__makes_no_socket),
		cmocka_unit_test(ring__refuses_other_flags),
		cmocka_unit_test(ring__takes_no_registrations),
	};

	return cmocka_run_group_tests_name("dir_ring", tests, setup, teardown);
}
