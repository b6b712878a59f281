/* SPDX-License-Identifier: BSD-3-Clause */
#include "send_ring.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "compiler.h"

#define BLOCK		 ((uint32_t)MLX5_SEND_WQE_BB)
#define UNIT		 16u	     /* lengths of entries are counted in units */
#define UNITS_MAX	 63u	     /* an entry has 6 bits for its length */
#define BYTES_MAX	 0x7fffffffu /* of a segment; the highest bit marks inline data */
#define INLINE_MAX	 (UNITS_MAX * UNIT)
#define BIND_BYTES_MAX	 (1u << 31)
#define BIND_UNITS	 12u
#define INVALIDATE_UNITS 8u
#define KLM_OCTOWORDS	 4u /* length of the list of a bind, which is a block, in units */

#define MASK_BOTH                                                                                  \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |                     \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN)
#define MASK_BIND                                                                                  \
	(MASK_BOTH | MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |    \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                         \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

_Static_assert(sizeof(struct mlx5_wqe_ctrl_seg) == UNIT &&
		       sizeof(struct mlx5_wqe_raddr_seg) == UNIT &&
		       sizeof(struct mlx5_wqe_data_seg) == UNIT &&
		       sizeof(struct mlx5_wqe_umr_ctrl_seg) == 3 * UNIT &&
		       sizeof(struct mlx5_wqe_mkey_context_seg) == BLOCK,
	       "segments have these sizes");

int mlx5_send_ring_init(struct mlx5_send_ring *ring, const struct mlx5dv_qp *dv, uint32_t num,
			struct mlx5_doorbell *doorbell, struct mlx5_send_block *blocks)
{
	uint32_t n = dv->sq.wqe_cnt;

	if (!dv->sq.buf || !dv->dbrec || !dv->bf.reg || dv->sq.stride != BLOCK ||
	    n < BIND_UNITS * UNIT / BLOCK || n > MLX5_SEND_BLOCKS_MAX || (n & (n - 1)) != 0 ||
	    dv->bf.size % BLOCK != 0 || num > 0xffffff)
		return -EINVAL;
	*ring = (struct mlx5_send_ring){
		.ring = dv->sq.buf,
		.mask = n * BLOCK - 1,
		.num = num,
		.record = &dv->dbrec[MLX5_SND_DBR],
		.doorbell = doorbell,
		.blocks = blocks,
	};
	memset(blocks, 0, n * sizeof(blocks[0]));
	return 0;
}

static hot_inline uint32_t block_place(const struct mlx5_send_ring *ring, uint16_t count)
{
	return count & (ring->mask / BLOCK);
}

/* Returns the byte of the ring that is 'offset' bytes after the beginning of the next entry. */
static hot_inline uint8_t *byte_at(const struct mlx5_send_ring *ring, uint32_t offset)
{
	return ring->ring + ((ring->next * BLOCK + offset) & ring->mask);
}

static hot_inline bool is_inline(const struct fabric_wr *wr)
{
	return wr->flags & FABRIC_INLINE && wr->op != FABRIC_READ;
}

static hot_inline bool has_remote_address(const struct fabric_wr *wr)
{
	return wr->op == FABRIC_WRITE || wr->op == FABRIC_READ;
}

/*
 * Returns the number of units of all data of a work request. Returns UNITS_MAX if the data are too
 * long for an entry.
 */
static hot_inline uint32_t data_units(const struct fabric_wr *wr)
{
	uint32_t units = 0, bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++) {
		uint32_t len = wr->sge[i].len;

		if (unlikely(len > (is_inline(wr) ? INLINE_MAX : BYTES_MAX)))
			return UNITS_MAX;
		bytes += is_inline(wr) ? len : 0;
		units += !is_inline(wr) && len > 0;
		if (unlikely(bytes > INLINE_MAX || units > UNITS_MAX))
			return UNITS_MAX;
	}
	if (bytes > 0)
		units = (uint32_t)(sizeof(__be32) + bytes + UNIT - 1) / UNIT;
	return units;
}

/* Returns the number of units of an entry. Returns 0 if a work request cannot be an entry. */
static hot_inline uint32_t entry_units(const struct fabric_wr *wr)
{
	uint32_t units;

	switch (wr->op) {
	case FABRIC_SEND:
	case FABRIC_SEND_INV:
	case FABRIC_WRITE:
	case FABRIC_READ:
		units = 1 + has_remote_address(wr) + data_units(wr);
		return units <= UNITS_MAX ? units : 0;
	case FABRIC_LOCAL_INV:
		return INVALIDATE_UNITS;
	default:
		return 0;
	}
}

/* Returns whether the ring has free blocks for an entry. */
static hot_inline bool has_room(const struct mlx5_send_ring *ring, uint32_t units)
{
	uint32_t used = (uint16_t)(ring->next - ring->first);
	uint32_t all = (ring->mask + 1) / BLOCK;

	return (units * UNIT + BLOCK - 1) / BLOCK <= all - used;
}

static hot_inline uint8_t opcode_of(enum fabric_op op)
{
	static const uint8_t opcodes[] = {
		[FABRIC_SEND] = MLX5_OPCODE_SEND,	 [FABRIC_SEND_INV] = MLX5_OPCODE_SEND_INVAL,
		[FABRIC_WRITE] = MLX5_OPCODE_RDMA_WRITE, [FABRIC_READ] = MLX5_OPCODE_RDMA_READ,
		[FABRIC_BIND_MW] = MLX5_OPCODE_UMR,	 [FABRIC_LOCAL_INV] = MLX5_OPCODE_UMR,
	};

	return opcodes[op];
}

/*
 * Writes the control segment of the next entry, and counts the entry. 'immediate' is the key that
 * the entry invalidates or binds, or 0.
 *
 * The entry after a bind or an invalidation has a small fence. It makes the device wait until the
 * change of the key is complete, because it would otherwise start later entries before. The fence
 * for which the caller can ask is stronger: it waits for all earlier READs and changes of keys.
 */
static hot_inline void finish_entry(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
				    uint32_t position, uint32_t units, uint32_t immediate)
{
	uint32_t nblocks = (units * UNIT + BLOCK - 1) / BLOCK;
	uint8_t fence = wr->flags & FABRIC_FENCE ? MLX5_WQE_CTRL_FENCE : ring->fence;
	uint8_t signal = wr->flags & FABRIC_SIGNALED ? MLX5_WQE_CTRL_CQ_UPDATE : 0;

	*(struct mlx5_wqe_ctrl_seg *)(void *)byte_at(ring, 0) = (struct mlx5_wqe_ctrl_seg){
		.opmod_idx_opcode = htobe32((uint32_t)ring->next << 8 | opcode_of(wr->op)),
		.qpn_ds = htobe32(ring->num << 8 | units),
		.fm_ce_se = fence | signal,
		.imm = htobe32(immediate),
	};
	ring->fence = wr->op == FABRIC_BIND_MW || wr->op == FABRIC_LOCAL_INV
			      ? MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE
			      : 0;
	ring->blocks[block_place(ring, ring->next)] =
		(struct mlx5_send_block){.position = position, .nblocks = nblocks};
	for (uint16_t i = 1; i < nblocks; i++)
		ring->blocks[block_place(ring, (uint16_t)(ring->next + i))].nblocks = 0;
	ring->last = ring->next;
	ring->next = (uint16_t)(ring->next + nblocks);
}

/*
 * Writes the data segments at 'offset' of the next entry. Elements without bytes are left out,
 * because the length 0 means 2 GiB to the device.
 */
static hot_inline void put_elements(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
				    uint32_t offset)
{
	for (uint32_t i = 0; i < wr->nsge; i++) {
		const struct fabric_sge *sge = &wr->sge[i];

		if (unlikely(sge->len == 0))
			continue;
		*(struct mlx5_wqe_data_seg *)(void *)byte_at(ring, offset) =
			(struct mlx5_wqe_data_seg){
				.byte_count = htobe32(sge->len),
				.lkey = htobe32(sge->lkey),
				.addr = htobe64((uintptr_t)sge->addr),
			};
		offset += UNIT;
	}
}

/* Copies inline data to 'offset' of the next entry. The data are divided where the ring ends. */
static hot_inline void put_inline(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
				  uint32_t offset)
{
	uint32_t begin = offset;

	offset += (uint32_t)sizeof(__be32);
	for (uint32_t i = 0; i < wr->nsge; i++) {
		const uint8_t *from = wr->sge[i].addr;
		uint32_t left = wr->sge[i].len;

		while (left > 0) {
			uint8_t *to = byte_at(ring, offset);
			uint32_t room = ring->mask + 1 - (uint32_t)(to - ring->ring);
			uint32_t len = left < room ? left : room;

			memcpy(to, from, len);
			from += len;
			offset += len;
			left -= len;
		}
	}
	if (offset - begin > sizeof(__be32))
		*(__be32 *)(void *)byte_at(ring, begin) =
			htobe32((offset - begin - (uint32_t)sizeof(__be32)) | MLX5_INLINE_SEG);
}

/* Writes the segments of an invalidation: the key is freed and belongs to no queue pair. */
static void put_invalidate(struct mlx5_send_ring *ring)
{
	struct mlx5_wqe_mkey_context_seg *context = (void *)byte_at(ring, BLOCK);

	*(struct mlx5_wqe_umr_ctrl_seg *)(void *)byte_at(ring,
							 UNIT) = (struct mlx5_wqe_umr_ctrl_seg){
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
			 MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN,
		.mkey_mask = htobe64(MASK_BOTH),
	};
	*context = (struct mlx5_wqe_mkey_context_seg){
		.free = MLX5_WQE_MKEY_CONTEXT_FREE,
		.qpn_mkey = htobe32(0xffffff00u),
	};
}

bool mlx5_send_ring_build(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
			  uint32_t position)
{
	uint32_t units = entry_units(wr), offset = UNIT;

	if (unlikely(units == 0 || !has_room(ring, units)))
		return false;
	if (has_remote_address(wr)) {
		*(struct mlx5_wqe_raddr_seg *)(void *)byte_at(ring, offset) =
			(struct mlx5_wqe_raddr_seg){
				.raddr = htobe64(wr->raddr),
				.rkey = htobe32(wr->rkey),
			};
		offset += UNIT;
	}
	if (unlikely(wr->op == FABRIC_LOCAL_INV))
		put_invalidate(ring);
	else if (is_inline(wr))
		put_inline(ring, wr, offset);
	else
		put_elements(ring, wr, offset);
	finish_entry(ring, wr, position, units,
		     has_remote_address(wr) || wr->op == FABRIC_SEND ? 0 : wr->rkey);
	return true;
}

static uint8_t access_flags(uint32_t access)
{
	return (access & FABRIC_REMOTE_WRITE ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE
					     : 0) |
	       (access & FABRIC_REMOTE_READ ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ : 0);
}

bool mlx5_send_ring_build_bind(struct mlx5_send_ring *ring, const struct fabric_wr *wr,
			       uint32_t position, uint32_t rkey, uint32_t new_rkey)
{
	const struct fabric_sge *sge = &wr->sge[0];
	struct mlx5_wqe_umr_klm_seg *list = (void *)byte_at(ring, 2 * BLOCK);

	/* The device would take a length of 0 for an invalidation. */
	if (sge->len == 0 || sge->len > BIND_BYTES_MAX || !has_room(ring, BIND_UNITS))
		return false;
	*(struct mlx5_wqe_umr_ctrl_seg *)(void *)byte_at(ring,
							 UNIT) = (struct mlx5_wqe_umr_ctrl_seg){
		.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE | MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET |
			 MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE,
		.klm_octowords = htobe16(KLM_OCTOWORDS),
		.mkey_mask = htobe64(MASK_BIND),
	};
	*(struct mlx5_wqe_mkey_context_seg *)(void *)byte_at(ring, BLOCK) =
		(struct mlx5_wqe_mkey_context_seg){
			.access_flags = access_flags(wr->access),
			.qpn_mkey = htobe32(ring->num << 8 | (new_rkey & 0xff)),
			.start_addr = htobe64((uintptr_t)sge->addr),
			.len = htobe64(sge->len),
		};
	memset(list, 0, BLOCK);
	*list = (struct mlx5_wqe_umr_klm_seg){
		.byte_count = htobe32(sge->len),
		.mkey = htobe32(sge->lkey),
		.address = htobe64((uintptr_t)sge->addr),
	};
	finish_entry(ring, wr, position, BIND_UNITS, rkey);
	return true;
}

/*
 * Writes the latest entry to the BlueFlame register, so that the device need not read it from host
 * memory. The stores are words of 8 bytes in ascending order, over all blocks of the entry.
 */
static hot_inline void blueflame(struct mlx5_send_ring *ring, uint32_t bytes)
{
	struct mlx5_doorbell *doorbell = ring->doorbell;
	volatile uint64_t *to = (void *)(doorbell->reg + doorbell->offset);

	for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(*to)) {
		uint64_t word;

		__builtin_memcpy(&word, ring->ring + ((ring->last * BLOCK + at) & ring->mask),
				 sizeof(word));
		*to++ = word;
	}
	mlx5_barrier_after_register();
	doorbell->offset ^= doorbell->bytes;
}

void mlx5_send_ring_notify(struct mlx5_send_ring *ring)
{
	uint32_t bytes = (uint16_t)(ring->next - ring->rung) * BLOCK;

	if (unlikely(bytes == 0))
		return;
	/* When the device sees the record, it must also see the entries that the record counts. */
	mlx5_barrier_host_stores();
	*ring->record = htobe32(ring->next);
	/*
	 * When the device sees the doorbell, it must also see the record, because it reads entries
	 * up to the record.
	 */
	mlx5_barrier_before_register();
	if (ring->last == ring->rung && bytes <= ring->doorbell->bytes)
		blueflame(ring, bytes);
	else
		mlx5_doorbell_word(ring->doorbell,
				   ring->ring + ((ring->last * BLOCK) & ring->mask));
	ring->rung = ring->next;
}

bool mlx5_send_ring_complete(struct mlx5_send_ring *ring, uint16_t counter, uint32_t *position)
{
	const struct mlx5_send_block *block = &ring->blocks[block_place(ring, counter)];

	/* Entries that the device has not been notified of cannot be complete. */
	if (unlikely((uint16_t)(counter - ring->first) >= (uint16_t)(ring->rung - ring->first) ||
		     block->nblocks == 0))
		return false;
	*position = block->position;
	ring->first = (uint16_t)(counter + block->nblocks);
	return true;
}
