/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the blocks of a pcapng file: their lengths, and the limit of the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame.h"
#include "pcapng.h"

static struct pcapng file;
static uint8_t frame[FRAME_BYTES_MAX];

static uint32_t u32_at(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Checks that the file consists of whole blocks. Returns their number, and that of frames. */
static uint32_t count_blocks(int fd, uint32_t *nframes)
{
	struct stat stat;
	uint32_t n = 0;
	uint8_t *data;

	assert_int_equal(fstat(fd, &stat), 0);
	data = malloc((size_t)stat.st_size);
	assert_int_equal(pread(fd, data, (size_t)stat.st_size, 0), stat.st_size);
	*nframes = 0;
	for (off_t at = 0; at < stat.st_size; n++) {
		uint32_t type = u32_at(data + at), len = u32_at(data + at + 4);

		assert_true(len >= 12 && len % 4 == 0 && at + len <= stat.st_size);
		assert_int_equal(u32_at(data + at + len - 4), len);
		*nframes += type == 6;
		at += len;
	}
	free(data);
	return n;
}

static void file__has_whole_blocks(void **state)
{
	int fd = memfd_create("pcapng", MFD_CLOEXEC);
	char comment[300];
	uint32_t nblocks, nframes;

	(void)state;
	memset(comment, 'x', sizeof(comment));
	comment[sizeof(comment) - 1] = '\0';
	assert_int_equal(pcapng_begin(&file, fd, UINT64_MAX, "program", "interface"), 0);
	for (uint32_t len = 1; len <= FRAME_BYTES_MAX; len += 7)
		pcapng_frame(&file, len, frame, len, len, NULL);
	pcapng_frame(&file, 1, frame, 9, 100, "comment");
	pcapng_frame(&file, 1, frame, 9, 100, comment);
	assert_int_equal(pcapng_end(&file, 5, 2, 1, comment), 0);
	nblocks = count_blocks(fd, &nframes);
	assert_int_equal(nblocks, nframes + 3);
	assert_int_equal(nframes, (FRAME_BYTES_MAX - 1) / 7 + 1 + 2);
	assert_int_equal(lseek(fd, 0, SEEK_END), file.bytes);
	close(fd);
}

static void file__never_exceeds_its_limit(void **state)
{
	char comment[PCAPNG_COMMENT_MAX];

	(void)state;
	memset(comment, 'x', sizeof(comment));
	comment[sizeof(comment) - 1] = '\0';
	for (uint64_t max = PCAPNG_BYTES_MIN; max < PCAPNG_BYTES_MIN + 400; max++) {
		int fd = memfd_create("pcapng", MFD_CLOEXEC);
		uint32_t n = 0;

		assert_int_equal(pcapng_begin(&file, fd, max, comment, comment), 0);
		while (pcapng_has_room(&file, 1, 61)) {
			pcapng_frame(&file, 1, frame, 61, 61, comment);
			n++;
		}
		assert_int_equal(pcapng_end(&file, 1, n, 0, comment), 0);
		assert_true(n > 5);
		assert_true(lseek(fd, 0, SEEK_END) <= (off_t)max);
		close(fd);
	}
}

static void file__on_a_full_disk(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pcapng_begin(&file, fd, UINT64_MAX, "program", "interface"), -ENOSPC);
	pcapng_frame(&file, 1, frame, 61, 61, NULL);
	assert_int_equal(pcapng_flush(&file), -ENOSPC);
	assert_int_equal(pcapng_end(&file, 1, 0, 0, "end"), -ENOSPC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__has_whole_blocks),
		cmocka_unit_test(file__never_exceeds_its_limit),
		cmocka_unit_test(file__on_a_full_disk),
	};

	return cmocka_run_group_tests_name("pcapng", tests, NULL, NULL);
}
