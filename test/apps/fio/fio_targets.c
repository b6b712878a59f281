/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uses the targets of the I/O engine for fio as the engine does, without fio, with a server that
 * runs. The program ends with a message if a target does not behave as target.h says.
 *
 * Arguments: nfs or block, the server, and for nfs the argument of weir_handle.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

#define DEPTH	 8u
#define IO_BYTES 65536u
#define FILE_END ((uint64_t)DEPTH * IO_BYTES)

static struct target *target;
static const struct target_ops *ops;
static struct target_io *ios[DEPTH];
static struct target_file *file;
static struct weir_region *region;
static uint8_t *memory;
static unsigned int ended;
static char last_line[1024];

static void on_log(const char *line)
{
	snprintf(last_line, sizeof(last_line), "%s", line);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "fio_targets: line %d: %s; last message: %s\n", __LINE__,  \
				#condition, last_line);                                            \
			exit(EXIT_FAILURE);                                                        \
		}                                                                                  \
	} while (0)

static void on_done(struct target_io *io)
{
	(void)io;
	ended++;
}

static void open_target(char **argv)
{
	struct weir_region_options how = {.struct_bytes = sizeof(how),
					  .len_bytes = FILE_END,
					  .flags = WEIR_REGION_NO_HUGE,
					  .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct target_options options = {.server = argv[2],
					 .handle = argv[3],
					 .retries = 2,
					 .depth = DEPTH / 2, /* I/Os wait for credits */
					 .log = on_log};

	ops = strcmp(argv[1], "nfs") == 0 ? &target_nfs_ops : &target_block_ops;
	CHECK(ops->open(&options, &target) == 0);
	CHECK(weir_region_create(&how, &region) == 0);
	CHECK(ops->add_region(target, region) == 0);
	weir_region_info(region, &info);
	memory = info.base;
	for (unsigned int i = 0; i < DEPTH; i++) {
		ios[i] = calloc(1, ops->io_bytes);
		CHECK(ios[i]);
	}
}

static void submit(unsigned int i, enum target_op op, uint64_t offset, uint64_t len_bytes)
{
	ios[i]->op = op;
	ios[i]->file = file;
	ios[i]->offset = offset;
	ios[i]->len_bytes = len_bytes;
	ios[i]->data = memory + (size_t)i * IO_BYTES;
	ios[i]->done = on_done;
	ops->submit(target, ios[i]);
}

static void wait_for(unsigned int n)
{
	while (ended < n)
		ops->poll(target, true);
	CHECK(ended == n);
	ended = 0;
}

/* Does one I/O with the first buffer, and returns its error. */
static int one(enum target_op op, uint64_t offset, uint64_t len_bytes)
{
	submit(0, op, offset, len_bytes);
	wait_for(1);
	return ios[0]->error;
}

static void fill(unsigned int round)
{
	for (size_t i = 0; i < FILE_END; i++)
		memory[i] = (uint8_t)(i * 7 + i / IO_BYTES * 13 + round);
}

static bool is_filled(unsigned int round)
{
	for (size_t i = 0; i < FILE_END; i++)
		if (memory[i] != (uint8_t)(i * 7 + i / IO_BYTES * 13 + round))
			return false;
	return true;
}

/* Does one I/O for each buffer, all at the same time. */
static void all(enum target_op op)
{
	for (unsigned int i = 0; i < DEPTH; i++)
		submit(i, op, (uint64_t)i * IO_BYTES, IO_BYTES);
	wait_for(DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++)
		CHECK(ios[i]->error == 0);
}

static void write_and_read(void)
{
	for (unsigned int round = 0; round < 20; round++) {
		fill(round);
		all(TARGET_WRITE);
		CHECK(one(TARGET_FLUSH, 0, 0) == 0);
		memset(memory, 0xee, FILE_END);
		all(TARGET_READ);
		CHECK(is_filled(round));
	}
}

static void check_nfs(void)
{
	struct target_file *other;
	uint64_t size = 0;

	CHECK(ops->size(target, "data", &size) == 0 && size == FILE_END);
	CHECK(ops->size(target, "missing", &size) == ENOENT && strstr(last_line, "size="));
	CHECK(ops->open_file(target, "missing", 1, false, &other) == ENOENT);
	CHECK(ops->open_file(target, "missing/data", 1, true, &other) == ENOENT);
	CHECK(ops->open_file(target, "data", FILE_END + 1, false, &other) == EINVAL);
	CHECK(strstr(last_line, "but the job reads"));
	/* An open for writing extends the file with zeroes, and never truncates it. */
	CHECK(ops->open_file(target, "data", FILE_END + IO_BYTES, true, &other) == 0);
	CHECK(ops->size(target, "data", &size) == 0 && size == FILE_END + IO_BYTES);
	ops->close_file(target, other);
	CHECK(ops->open_file(target, "data", 1, true, &other) == 0);
	CHECK(ops->size(target, "data", &size) == 0 && size == FILE_END + IO_BYTES);
	ops->close_file(target, other);
	memset(memory, 0xee, IO_BYTES);
	CHECK(one(TARGET_READ, FILE_END, IO_BYTES) == 0);
	CHECK(memory[0] == 0 && memory[IO_BYTES - 1] == 0);
	/* A READ beyond the end does not count as success. */
	CHECK(one(TARGET_READ, FILE_END + IO_BYTES - 1, IO_BYTES) == EIO);
	CHECK(strstr(last_line, "shorter"));
	CHECK(one(TARGET_TRIM, 0, IO_BYTES) == EOPNOTSUPP);
	CHECK(ops->unlink(target, "data") == 0);
	CHECK(ops->unlink(target, "data") == ENOENT);
}

static void check_block(void)
{
	struct target_file *other;
	uint64_t size = 0;

	CHECK(ops->size(target, "any", &size) == 0 && size == 256u * 4096);
	CHECK(ops->open_file(target, "any", size + 1, true, &other) == EINVAL);
	CHECK(strstr(last_line, "reduce size="));
	CHECK(one(TARGET_TRIM, IO_BYTES, IO_BYTES) == 0);
	all(TARGET_READ);
	for (unsigned int i = 0; i < IO_BYTES; i++)
		CHECK(memory[IO_BYTES + i] == 0);
	CHECK(one(TARGET_WRITE, 512, 4096) == EINVAL);
	CHECK(strstr(last_line, "multiples of 4096"));
	CHECK(one(TARGET_READ, 0, 100) == EINVAL);
	CHECK(one(TARGET_READ, size, 4096) == ERANGE);
	CHECK(ops->unlink(target, "any") == EOPNOTSUPP);
}

static void check_abort(void)
{
	for (unsigned int i = 0; i < DEPTH; i++)
		submit(i, TARGET_READ, 0, 4096);
	ops->abort(target);
	wait_for(DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++)
		CHECK(ios[i]->error == EINTR);
	CHECK(one(TARGET_READ, 0, 4096) == EINTR);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: fio_targets nfs|block SERVER [@FILE]\n", stderr);
		return 2;
	}
	open_target(argv);
	CHECK(ops->open_file(target, "data", FILE_END, true, &file) == 0);
	write_and_read();
	if (ops->has_files)
		check_nfs();
	else
		check_block();
	check_abort();
	ops->close_file(target, file);
	ops->close(target);
	weir_region_destroy(region);
	for (unsigned int i = 0; i < DEPTH; i++)
		free(ios[i]);
	return EXIT_SUCCESS;
}
