/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of the regions of pairs. The engines adopt this memory, and it is kept from one pair
 * to the next. Most tests take less time than the kernel needs to allocate and free this memory.
 */
#include "pair_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"

#define KEPT_MAX      8u
#define PATTERN_BYTES 65536u /* pair_byte() repeats after this number of bytes */

struct kept {
	uint8_t *base;
	int fd;
	bool is_used;
};

static struct kept kept[KEPT_MAX];
static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* necessary because the server can run in a thread of its own */

static void kept_make(struct kept *memory)
{
	memory->fd = memfd_create("weir-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(memory->fd >= 0);
	assert_int_equal(ftruncate(memory->fd, PAIR_MEMORY_BYTES), 0);
	assert_int_equal(fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	memory->base =
		mmap(NULL, PAIR_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
	assert_ptr_not_equal(memory->base, MAP_FAILED);
}

static struct kept *kept_take(void)
{
	struct kept *memory = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; !memory && i < KEPT_MAX; i++) {
		if (!kept[i].is_used)
			memory = &kept[i];
	}
	assert_non_null(memory);
	memory->is_used = true;
	pthread_mutex_unlock(&lock);
	return memory;
}

static void fill(uint8_t *base, bool is_pattern)
{
	if (!is_pattern) {
		memset(base, 0, PAIR_MEMORY_BYTES);
		return;
	}
	for (uint32_t i = 0; i < PATTERN_BYTES; i++)
		base[i] = pair_byte(i);
	for (uint32_t have = PATTERN_BYTES; have < PAIR_MEMORY_BYTES; have *= 2)
		memcpy(base + have, base, have);
}

uint8_t *pair_memory_make(struct weir_engine *engine, bool is_pattern, struct weir_region **region)
{
	struct kept *memory = kept_take();

	if (!memory->base)
		kept_make(memory);
	fill(memory->base, is_pattern);
	assert_int_equal(weir_region_adopt(memory->base, PAIR_MEMORY_BYTES, memory->fd, 0, region),
			 0);
	assert_int_equal(weir_engine_add_region(engine, *region), 0);
	return memory->base;
}

void pair_memory_end(struct weir_region *region)
{
	struct weir_region_info info = {.struct_bytes = sizeof(info)};

	weir_region_info(region, &info);
	weir_region_destroy(region);
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < KEPT_MAX; i++) {
		if (kept[i].base == info.base)
			kept[i].is_used = false;
	}
	pthread_mutex_unlock(&lock);
}
