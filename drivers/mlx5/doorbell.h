/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_DOORBELL_H
#define MLX5_DOORBELL_H

/*
 * A BlueFlame register, which makes the device look at a send queue. The register has two buffers
 * of equal size. Each doorbell uses the other buffer than the one before. All queue pairs of one
 * engine share one register, and no other thread uses it.
 */

#include <stdint.h>

#include "barrier.h"

struct mlx5_doorbell {
	uint8_t *reg;	 /* the first buffer */
	uint32_t bytes;	 /* size of a buffer; 0: the register takes words of 8 bytes only */
	uint32_t offset; /* of the buffer for the next doorbell: 0 or 'bytes' */
};

/*
 * Writes the first 8 bytes of an entry of a send queue to the register. The device then reads all
 * entries up to the doorbell record from host memory. The word is one store, because the device
 * would not understand a part of it.
 */
static inline void mlx5_doorbell_word(struct mlx5_doorbell *doorbell, const uint8_t *entry)
{
	uint64_t word;

	__builtin_memcpy(&word, entry, sizeof(word));
	*(volatile uint64_t *)(void *)(doorbell->reg + doorbell->offset) = word;
	mlx5_barrier_after_register();
	doorbell->offset ^= doorbell->bytes;
}

#endif
