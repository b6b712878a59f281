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

#endif
