/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds and invalidates windows. */
#include "umr.h"

#include <endian.h>

#include "model.h"

/* An entry has a control segment, a UMR control segment, the context of the window's key, and the
 * region of a bind. */
#define UMR_CTRL    16u /* offsets of the segments */
#define KEY_CONTEXT 64u
#define REGION	    128u
#define INV_UNITS   8u
#define BIND_UNITS  12u

static uint8_t invalidate(const struct qp *qp, uint32_t key)
{
	return memory_invalidate(key, qp->pd, qp->object.handle)
		       ? 0
		       : MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}

/* Returns the rights of a bind, as bits of enum ibv_access_flags. */
static uint32_t rights_of(const struct mlx5_wqe_mkey_context_seg *context)
{
	uint32_t access = 0;

	if (context->access_flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (context->access_flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ)
		access |= IBV_ACCESS_REMOTE_READ;
	return access;
}

/* Returns whether the region allows a bind of this range with these rights. */
static bool region_allows(const struct memory *region, uint64_t addr, uint64_t len, uint32_t access)
{
	if (!region || !(region->access & IBV_ACCESS_MW_BIND) ||
	    !memory_contains(region, addr, len))
		return false;
	return !(access & IBV_ACCESS_REMOTE_WRITE) || region->access & IBV_ACCESS_LOCAL_WRITE;
}

static uint8_t bind_window(const struct qp *qp, struct memory *window, const uint8_t *entry)
{
	const struct mlx5_wqe_umr_ctrl_seg *ctrl = (const void *)(entry + UMR_CTRL);
	const struct mlx5_wqe_mkey_context_seg *context = (const void *)(entry + KEY_CONTEXT);
	const struct mlx5_wqe_umr_klm_seg *klm = (const void *)(entry + REGION);
	uint32_t region_key = be32toh(klm->mkey), access = rights_of(context);
	uint64_t len = be64toh(context->len);
	uint32_t owner = be32toh(context->qpn_mkey) >> 8;

	if (!(ctrl->flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE) || be16toh(ctrl->klm_octowords) != 4 ||
	    owner != qp->object.handle) {
		model_violation("bind with flags %#x and %u units of regions, for queue pair %#x",
				ctrl->flags, be16toh(ctrl->klm_octowords), owner);
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	}
	if (ctrl->flags & MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE && window->is_bound)
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	if (!region_allows(memory_find(region_key, OBJECT_MR, qp->pd), be64toh(klm->address), len,
			   access))
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	window->is_bound = true;
	window->variant = (uint8_t)be32toh(context->qpn_mkey);
	window->qpn = owner;
	window->access = access;
	window->addr = be64toh(context->start_addr);
	window->len = len;
	window->region_key = region_key;
	return 0;
}

uint8_t umr_execute(const struct qp *qp, const uint8_t *entry, uint32_t units)
{
	const struct mlx5_wqe_ctrl_seg *ctrl = (const void *)entry;
	const struct mlx5_wqe_mkey_context_seg *context = (const void *)(entry + KEY_CONTEXT);
	uint32_t key = be32toh(ctrl->imm);
	struct memory *window = memory_of_index(key, OBJECT_MW);

	if (units < INV_UNITS) {
		model_violation("UMR entry of %u units", units);
		return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
	}
	if (context->free & MLX5_WQE_MKEY_CONTEXT_FREE)
		return invalidate(qp, key);
	if (!window || window->pd != qp->pd || units < BIND_UNITS)
		return MLX5_CQE_SYNDROME_MW_BIND_ERR;
	return bind_window(qp, window, entry);
}
