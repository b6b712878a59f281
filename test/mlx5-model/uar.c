/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of doorbell registers. */
#include "uar.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "faults.h"

#define PAGE  4096u
#define PAGES 2048u

/* A page has four registers of send queues, and one for requests of completion reports. A register
 * of a send queue is followed by a BlueFlame buffer, to which libmlx5 writes a whole entry. */
#define COMPLETION_REGISTER 0x20u
static const uint32_t send_registers[] = {0x800, 0x900, 0xa00, 0xb00};

static uint8_t *pages;
static int pages_fd = -1;
static bool is_used[PAGES]; /* page 0 is never used */
static uint32_t latest_page;

struct uar {
	struct object object;
	uint32_t page;
};

int uar_init(void)
{
	const size_t size = (size_t)PAGES * PAGE;

	pages_fd = memfd_create("mlx5-model", MFD_CLOEXEC);
	if (pages_fd < 0 || ftruncate(pages_fd, (off_t)size) != 0)
		return -errno;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pages_fd, 0);
	return pages == MAP_FAILED ? -errno : 0;
}

int uar_open_file(void)
{
	return fcntl(pages_fd, F_DUPFD_CLOEXEC, 0);
}

static uint64_t *register_at(uint32_t page, uint32_t offset)
{
	return (uint64_t *)(void *)(pages + (size_t)page * PAGE + offset);
}

/* Takes the value of a register. Returns 0 if nothing was written. */
static uint64_t take_register(uint32_t page, uint32_t offset)
{
	uint64_t *at = register_at(page, offset);

	return __atomic_load_n(at, __ATOMIC_RELAXED) ? __atomic_exchange_n(at, 0, __ATOMIC_ACQUIRE)
						     : 0;
}

int uar_create(const struct call *call)
{
	const uint32_t length = PAGE;
	uint64_t offset;
	struct uar *uar;
	uint32_t page;

	if (faults.no_registers)
		return ENOMEM;
	for (uint32_t i = 0; i < PAGES; i++) {
		page = ++latest_page % PAGES;
		if (page != 0 && !is_used[page])
			break;
		page = 0;
	}
	uar = page ? object_create(OBJECT_UAR, sizeof(*uar), call->file) : NULL;
	if (!uar)
		return ENOMEM;
	uar->page = page;
	is_used[page] = true;
	offset = (uint64_t)page * PAGE;
	attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length));
	attr_put(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page, sizeof(page));
	attr_put_handle(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar->object.handle);
	return 0;
}

int uar_destroy(struct object *object)
{
	uint32_t page = ((struct uar *)object)->page;

	for (uint32_t i = 0; i < sizeof(send_registers) / sizeof(send_registers[0]); i++)
		take_register(page, send_registers[i]);
	take_register(page, COMPLETION_REGISTER);
	is_used[page] = false;
	object_free(object);
	return 0;
}

bool uar_take_doorbells(const struct uar_handlers *handlers)
{
	bool any = false;
	uint64_t value;

	for (uint32_t page = 1; page < PAGES; page++) {
		if (!is_used[page])
			continue;
		for (uint32_t i = 0; i < sizeof(send_registers) / sizeof(send_registers[0]); i++) {
			value = take_register(page, send_registers[i]);
			if (value)
				handlers->send(page, value);
			any |= value != 0;
		}
		value = take_register(page, COMPLETION_REGISTER);
		if (value)
			handlers->completion(value);
		any |= value != 0;
	}
	return any;
}
