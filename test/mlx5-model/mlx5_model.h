/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_MODEL_H
#define MLX5_MODEL_H

/*
 * Functions of the model of a ConnectX device (README.rst) for tests. The device exists as soon as
 * the library is loaded.
 */

#include <stdbool.h>
#include <stdint.h>

#define MLX5_MODEL_DEVICE  "mlx5_0"
#define MLX5_MODEL_ADDRESS "10.99.0.1"

/*
 * Returns whether nothing has happened since the previous call, and nothing more will happen
 * without a call of the program. This is so if all of these hold:
 * - The device has executed all work requests that it can execute.
 * - The program has read all events.
 * - No thread of the program handles an event. A thread handles an event from its read until it
 *   reads from an event file again.
 *
 * The function lets the device work before it looks. A caller that polls completions between two
 * calls has therefore seen all of them when the second call returns true.
 */
bool mlx5_model_is_idle(void);

/*
 * Returns how often the program, or the library below it, has violated the rules of the device
 * since the start. Each violation is also printed. Examples are a doorbell without a doorbell
 * record, and an overrun of a completion queue.
 */
uint64_t mlx5_model_violations(void);

/*
 * Freedoms that a device has and seldom uses, and errors that it can report. Late effects happen
 * one by one, each when mlx5_model_is_idle() would otherwise return true. A program that never
 * calls this function waits for ever.
 */
struct mlx5_model_faults {
	/* the data of an RDMA READ arrive late, and later work requests without a fence overtake
	 * them */
	bool late_reads;
	/* binds and local invalidations take effect late, and later work requests without a small
	 * fence overtake them */
	bool late_binds;
	/* completions are written late, those of the youngest queue pair first */
	bool late_completions;
	/* a queue pair that is destroyed leaves a completion of a work request that never was */
	bool stale_completions;
	/* there are no pages of registers left */
	bool no_registers;
	/* the work request after this number of others fails with 'syndrome'; syndrome 0: none */
	uint32_t fail_after;
	uint8_t syndrome;
};

/* Sets the faults of the device. With NULL, it has none, and late effects happen at
 * once. */
void mlx5_model_set_faults(const struct mlx5_model_faults *faults);

#endif
