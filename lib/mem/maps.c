/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel says that memory is mapped from.
 *
 * Files are told apart by the device and the inode in /proc, and both sides of the comparison come
 * from there: a page of the file is mapped once more, to learn what /proc calls it. fstat() is no
 * substitute. On btrfs and overlayfs, st_dev and st_ino differ from what /proc says, and a right
 * mapping would be refused.
 */
#include "maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "mem_log.h"

/* /proc/self is the first thread, which has no memory any more if it has ended before the others.
 */
#define PATH "/proc/thread-self/maps"

#define LINE_BYTES 160u /* more than all fields before the name have */

/* One mapping. */
struct mapping {
	uint64_t begin, end;
	char access[5]; /* as "rw-s" */
	uint64_t offset;
	unsigned major, minor; /* the file system's device */
	uint64_t inode;
};

/* What a range has to be. */
struct wanted {
	uint64_t begin, len;
	uint64_t offset;       /* the file's, of 'begin' */
	struct mapping sample; /* of the same file */
};

static int open_error(void)
{
	return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? -ENOMEM : -ENODATA;
}

/* The next line. The kernel has escaped newlines in names, which may be longer than the buffer. 0;
 * -ENODATA: there is none, or it is not as expected. */
static int read_line(FILE *file, struct mapping *m)
{
	char line[LINE_BYTES];
	int c;

	if (!fgets(line, sizeof(line), file))
		return -ENODATA;
	if (!strchr(line, '\n')) {
		do
			c = getc(file);
		while (c != '\n' && c != EOF);
	}
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &m->begin,
		      &m->end, m->access, &m->offset, &m->major, &m->minor, &m->inode) == 7
		       ? 0
		       : -ENODATA;
}

/*
 * The mapping that 'addr' is in, or the next one above it. Lines come in the order of their
 * addresses. Where other threads map and unmap at the same time, one may be repeated, but none is
 * left out that is there all the time.
 */
static int find(FILE *file, uint64_t addr, struct mapping *m)
{
	int rc;

	do
		rc = read_line(file, m);
	while (rc == 0 && m->end <= addr);
	/* After the last line, the rest of the address space is empty. */
	if (rc != 0 && feof(file) && !ferror(file)) {
		*m = (struct mapping){.begin = UINT64_MAX, .end = UINT64_MAX};
		return 0;
	}
	return rc;
}

/* What is wrong with the memory at 'addr'; NULL: nothing. */
static const char *fault_at(const struct wanted *wanted, uint64_t addr, const struct mapping *m)
{
	const struct mapping *sample = &wanted->sample;

	if (m->begin > addr)
		return "not mapped";
	if (m->inode != sample->inode || m->major != sample->major || m->minor != sample->minor)
		return "not of that file";
	if (m->access[3] != 's')
		return "a private mapping";
	if (m->offset + (addr - m->begin) != wanted->offset + (addr - wanted->begin))
		return "at another offset of the file";
	if (m->access[0] != 'r' || m->access[1] != 'w')
		return "not mapped for reading and writing";
	return NULL;
}

static int check_range(FILE *file, const struct wanted *wanted)
{
	uint64_t addr = wanted->begin;
	struct mapping m;
	const char *fault;
	int rc;

	while (addr - wanted->begin < wanted->len) {
		rc = find(file, addr, &m);
		if (rc != 0)
			return rc;
		fault = fault_at(wanted, addr, &m);
		if (fault) {
			MEM_LOG(ERR,
				"weir_region_adopt(): the %" PRIu64 " bytes at %#" PRIx64
				" are not a shared mapping of the descriptor's file from offset "
				"%" PRIu64 " on: at %#" PRIx64
				" they are %s. Map the file with MAP_SHARED and PROT_READ | "
				"PROT_WRITE and pass that offset, or pass -1 for the descriptor",
				wanted->len, wanted->begin, wanted->offset, addr, fault);
			return -EINVAL;
		}
		addr = m.end;
	}
	return 0;
}

/* Map a page of the file, to see what /proc calls it. */
static int take_sample(int fd, size_t page, struct wanted *wanted)
{
	void *sample =
		mmap(NULL, page, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, (off_t)wanted->offset);
	FILE *file;
	int rc;

	if (sample == MAP_FAILED)
		return errno == ENOMEM || errno == EAGAIN ? -ENOMEM : -ENODATA;
	file = fopen(PATH, "re");
	rc = file ? find(file, (uintptr_t)sample, &wanted->sample) : open_error();
	if (file)
		fclose(file);
	munmap(sample, page);
	return rc == 0 && wanted->sample.begin > (uintptr_t)sample ? -ENODATA : rc;
}

int mem_maps_check(void *base, size_t len, int fd, uint64_t offset, size_t page)
{
	struct wanted wanted = {.begin = (uintptr_t)base, .len = len, .offset = offset};
	struct stat st;
	FILE *file;
	int rc;

	/* What a device maps is up to its driver. */
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -ENODATA;
	rc = take_sample(fd, page, &wanted);
	if (rc != 0)
		return rc;
	file = fopen(PATH, "re");
	if (!file)
		return open_error();
	rc = check_range(file, &wanted);
	fclose(file);
	return rc;
}
