/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-memcpy: measures how fast one core copies between two sets of buffers of a given size,
 * which are used in turn. The memory is of the kind that weir uses for bulk data, so the result is
 * the reference for READ and WRITE of that size. The program can also measure the copy function of
 * the shm driver.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/memory.h>

#include "copy.h"

/*
 * The low bits of an address, below SPAN, determine the position of a buffer in the cache relative
 * to another one.
 */
#define SPAN 0x100000u

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *buffers(size_t bytes)
{
	struct weir_region_options options = {
		.struct_bytes = sizeof(options), .len_bytes = bytes, .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_region *region;

	if (weir_region_create(&options, &region) != 0) {
		fprintf(stderr,
			"weir-micro-memcpy: can't allocate %zu bytes: lower --size, --sources or "
			"--targets\n",
			bytes);
		exit(1);
	}
	weir_region_info(region, &info);
	return info.base;
}

static void help(void)
{
	puts("Usage: weir-micro-memcpy [--size BYTES] [--sources N] [--targets N] [--offset "
	     "BYTES]\n"
	     "                         [--by memcpy|shm] [--time SECONDS] [--core N]\n"
	     "Copy from N source buffers to N target buffers, in turn, and print the rate as JSON. "
	     "In the low\n"
	     "20 bits of the addresses the targets are BYTES above their sources.\n"
	     "Defaults: 1048576 bytes, 1 source, 1 target, offset 0, by the C library, 1 s, not "
	     "pinned.");
}

static unsigned long number(const char *option, const char *text, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || value > max || text[0] == '-') {
		fprintf(stderr, "weir-micro-memcpy: --%s '%s': expected a number up to %lu\n",
			option, text, max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"size", required_argument, NULL, 's'},
						{"sources", required_argument, NULL, 'f'},
						{"targets", required_argument, NULL, 't'},
						{"offset", required_argument, NULL, 'o'},
						{"by", required_argument, NULL, 'b'},
						{"time", required_argument, NULL, 'd'},
						{"core", required_argument, NULL, 'c'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	unsigned long size = 1u << 20, sources = 1, targets = 1, offset = 0;
	bool by_shm = false;
	uint64_t begin, end, copies = 0;
	double seconds = 1;
	uint8_t *from, *to;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		cpu_set_t set;

		switch (opt) {
		case 's':
			size = number("size", optarg, 1u << 30);
			break;
		case 'f':
			sources = number("sources", optarg, 65536);
			break;
		case 't':
			targets = number("targets", optarg, 65536);
			break;
		case 'o':
			offset = number("offset", optarg, SPAN - 1);
			break;
		case 'b':
			by_shm = strcmp(optarg, "shm") == 0;
			if (!by_shm && strcmp(optarg, "memcpy") != 0) {
				fprintf(stderr,
					"weir-micro-memcpy: --by '%s': expected memcpy or shm\n",
					optarg);
				return 2;
			}
			break;
		case 'd':
			seconds = strtod(optarg, NULL);
			break;
		case 'c':
			CPU_ZERO(&set);
			CPU_SET(number("core", optarg, CPU_SETSIZE - 1), &set);
			if (sched_setaffinity(0, sizeof(set), &set) != 0) {
				perror("weir-micro-memcpy: --core");
				return 1;
			}
			break;
		case 'h':
			help();
			return 0;
		default:
			return 2;
		}
	}
	if (size == 0 || sources == 0 || targets == 0 || !(seconds > 0 && seconds <= 60)) {
		help();
		return 2;
	}
	/*
	 * Both sets have 2 * SPAN additional bytes, which are enough to shift one set relative to
	 * the other, and to get hugepages.
	 */
	from = buffers(size * sources + 2 * SPAN);
	to = buffers(size * targets + 2 * SPAN);
	to += ((uintptr_t)from - (uintptr_t)to) % SPAN + offset;
	memset(from, 1, size * sources);
	memset(to, 2, size * targets);
	shm_copy_init();
	begin = now_ns();
	do {
		for (int i = 0; i < 16; i++, copies++) {
			uint8_t *dst = to + size * (copies % targets);
			const uint8_t *src = from + size * (copies % sources);

			if (by_shm)
				shm_copy(dst, src, size);
			else
				memcpy(dst, src, size);
			/* The barrier prevents the compiler from omitting the copy. */
			__asm__ volatile("" ::: "memory");
		}
		end = now_ns();
	} while ((double)(end - begin) < seconds * 1e9);
	printf("{\"size\": %lu, \"copies_per_s\": %.1f, \"bytes_per_s\": %.0f}\n", size,
	       (double)copies * 1e9 / (double)(end - begin),
	       (double)copies * (double)size * 1e9 / (double)(end - begin));
	return 0;
}
