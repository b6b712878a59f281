/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, memory regions and windows, and the checks of accesses to them. */
#include "memory.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#define KEYS	  65536u
#define FIRST_KEY 16u

/* An entry remembers the variant of its latest key, so that no two keys in a row are equal. */
static struct {
	struct memory *memory;
	uint8_t variant;
} keys[KEYS];
static uint32_t latest_key = 0xff;

int pd_create(const struct call *call)
{
	struct pd *pd = object_create(OBJECT_PD, sizeof(*pd), call->file);
	struct ib_uverbs_alloc_pd_resp resp;
	struct mlx5_ib_alloc_pd_resp driver;

	if (!pd)
		return ENOMEM;
	resp = (struct ib_uverbs_alloc_pd_resp){.pd_handle = pd->object.handle};
	driver = (struct mlx5_ib_alloc_pd_resp){.pdn = pd->object.handle};
	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	attr_put(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	return 0;
}

int pd_destroy(struct object *object)
{
	object_free(object);
	return 0;
}

/* Creates a region or a window with a key of its own. Returns NULL if there is no memory or key. */
static struct memory *create_memory(enum object_kind kind, struct pd *pd, const struct file *file)
{
	struct memory *memory = object_create(kind, sizeof(*memory), file);

	for (uint32_t i = 0; memory && i < KEYS; i++) {
		uint32_t index = ++latest_key % KEYS;

		if (index < FIRST_KEY || keys[index].memory)
			continue;
		keys[index].memory = memory;
		memory->index = index;
		memory->variant = ++keys[index].variant;
		memory->pd = pd;
		pd->object.users++;
		return memory;
	}
	if (memory)
		object_free(&memory->object);
	return NULL;
}

int memory_register(const struct call *call)
{
	struct ib_uverbs_reg_mr_resp resp = {0};
	struct ib_uverbs_reg_mr request;
	struct memory *memory;
	struct pd *pd;

	attr_get(call, UVERBS_ATTR_CORE_IN, &request, sizeof(request));
	pd = object_find(request.pd_handle, OBJECT_PD);
	if (!pd)
		return EINVAL;
	memory = create_memory(OBJECT_MR, pd, call->file);
	if (!memory)
		return ENOMEM;
	memory->addr = request.hca_va;
	memory->len = request.length;
	memory->access = request.access_flags;
	resp.mr_handle = memory->object.handle;
	resp.lkey = resp.rkey = memory_key(memory);
	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int memory_create_window(const struct call *call)
{
	struct ib_uverbs_alloc_mw_resp resp = {0};
	struct ib_uverbs_alloc_mw request;
	struct memory *memory;
	struct pd *pd;

	attr_get(call, UVERBS_ATTR_CORE_IN, &request, sizeof(request));
	pd = object_find(request.pd_handle, OBJECT_PD);
	if (!pd || request.mw_type != IBV_MW_TYPE_2)
		return EINVAL;
	memory = create_memory(OBJECT_MW, pd, call->file);
	if (!memory)
		return ENOMEM;
	resp.mw_handle = memory->object.handle;
	resp.rkey = memory_key(memory);
	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int memory_destroy(struct object *object)
{
	struct memory *memory = (struct memory *)object;

	keys[memory->index].variant = memory->variant;
	keys[memory->index].memory = NULL;
	memory->pd->object.users--;
	object_free(object);
	return 0;
}

struct memory *memory_of_index(uint32_t key, enum object_kind kind)
{
	struct memory *memory = key >> 8 < KEYS ? keys[key >> 8].memory : NULL;

	return memory && memory->object.kind == kind ? memory : NULL;
}

struct memory *memory_find(uint32_t key, enum object_kind kind, const struct pd *pd)
{
	struct memory *memory = memory_of_index(key, kind);

	return memory && memory_key(memory) == key && memory->pd == pd ? memory : NULL;
}

uint8_t *memory_local(uint32_t lkey, const struct pd *pd, uint64_t addr, uint64_t len,
		      uint32_t access)
{
	const struct memory *memory = memory_find(lkey, OBJECT_MR, pd);

	if (!memory || !memory_contains(memory, addr, len) || (memory->access & access) != access)
		return NULL;
	return (uint8_t *)(uintptr_t)addr;
}

/* Returns the window with this key, which is bound on this queue pair, or NULL. */
static struct memory *find_window(uint32_t rkey, const struct pd *pd, uint32_t qpn)
{
	struct memory *window = memory_find(rkey, OBJECT_MW, pd);

	return window && window->is_bound && window->qpn == qpn ? window : NULL;
}

uint8_t *memory_remote(uint32_t rkey, const struct pd *pd, uint32_t qpn, uint64_t addr,
		       uint64_t len, uint32_t access)
{
	const struct memory *memory = memory_find(rkey, OBJECT_MR, pd);

	if (!memory) {
		memory = find_window(rkey, pd, qpn);
		if (!memory || !memory_find(memory->region_key, OBJECT_MR, pd))
			return NULL;
	}
	if (!memory_contains(memory, addr, len) || (memory->access & access) != access)
		return NULL;
	return (uint8_t *)(uintptr_t)addr;
}

bool memory_invalidate(uint32_t rkey, const struct pd *pd, uint32_t qpn)
{
	struct memory *window = find_window(rkey, pd, qpn);

	if (!window)
		return false;
	window->is_bound = false;
	return true;
}
