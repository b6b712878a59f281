/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out from the kernel which file a range of memory is mapped from.
 *
 * Files are distinguished by the device and the inode that /proc/thread-self/maps gives for each
 * mapping. Those of the range are compared with those of the expected file. To find out the numbers
 * of that file, one more page of it is mapped for a short time.
 *
 * fstat() cannot be used instead. On btrfs and overlayfs, st_dev and st_ino differ from the numbers
 * in /proc, and a correct mapping would be refused.
 */
#include "maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "log.h"

/* The file that lists the mappings. In /proc/self it would be the list of the process's first
 * thread, which is empty if that thread ended before the others. */
#define PATH "/proc/thread-self/maps"

#define LINE_BYTES 160u /* of a line that are parsed: longer than all fields before the name */

/* One line of the list: the mapping of [begin, end). */
struct mapping {
	uint64_t begin, end;
	char access[5]; /* e.g. "rw-s" */
	uint64_t offset;
	unsigned major, minor; /* the file system's device */
	uint64_t inode;
};

/* The range that is checked, and the file from which it must be mapped. */
struct wanted {
	uint64_t begin, len;
	uint64_t offset;       /* offset of 'begin' in the file */
	struct mapping sample; /* a mapping of that file, for its device and inode */
};

/* Returns the error of mem_maps_check() for a PATH that could not be opened: -ENOMEM if memory or a
 * descriptor is missing, otherwise -ENODATA. */
static int open_error(void)
{
	return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? -ENOMEM : -ENODATA;
}

/* Reads the next line of the list into *m, and skips the name at its end. The name might be longer
 * than the buffer. It contains no newline, because the kernel escapes newlines in names. Returns 0,
 * or -ENODATA if there is no further line or the line has an unknown format. */
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
 * Reads on until the first mapping that ends above 'addr'. That mapping contains 'addr', or is the
 * next one above it. Sets *m to this mapping, or to an empty one at the end of the address space if
 * there is none. Returns 0, or -ENODATA if a line cannot be read.
 *
 * The lines are in the order of the addresses. If other threads map and unmap memory at the same
 * time, a line might be repeated, but a mapping that exists during the whole time is never omitted.
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

/* Returns what is wrong with the memory at 'addr', as a phrase for the log, or NULL if nothing is
 * wrong. 'm' is the mapping that find() returned for 'addr'. */
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

/* Checks each mapping of the range. Returns 0, -EINVAL after a message about the first wrong
 * mapping, or -ENODATA if the list cannot be read. */
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
			LOG(MEMORY, ERROR,
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

/* Sets wanted->sample: maps one page of the file, finds its line in the list, and unmaps the page.
 * Returns 0, -EINVAL if 'fd' is of a kind that cannot be mapped, such as a pipe, -ENOMEM if memory,
 * address space or a descriptor is missing, or -ENODATA if the line cannot be found. */
static int take_sample(int fd, size_t page, struct wanted *wanted)
{
	void *sample =
		mmap(NULL, page, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, (off_t)wanted->offset);
	FILE *file;
	int rc;

	if (sample == MAP_FAILED)
		return errno == ENODEV			    ? -EINVAL
		       : errno == ENOMEM || errno == EAGAIN ? -ENOMEM
							    : -ENODATA;
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

	if (fstat(fd, &st) != 0)
		return -ENODATA;
	rc = take_sample(fd, page, &wanted);
	if (rc == -EINVAL || (rc != 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))) {
		LOG(MEMORY, ERROR,
		    "weir_region_adopt(): memory can't be mapped from the descriptor %d, because "
		    "it is no file. Map a file with MAP_SHARED and PROT_READ | PROT_WRITE and "
		    "pass its descriptor, or pass -1 for the descriptor",
		    fd);
		return -EINVAL;
	}
	if (rc != 0)
		return rc;
	/* If 'fd' is a device, the driver of the device determines how its memory is mapped. */
	if (!S_ISREG(st.st_mode))
		return -ENODATA;
	file = fopen(PATH, "re");
	if (!file)
		return open_error();
	rc = check_range(file, &wanted);
	fclose(file);
	return rc;
}
