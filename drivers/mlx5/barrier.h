/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MLX5_BARRIER_H
#define MLX5_BARRIER_H

/*
 * Memory barriers between this processor and the device. The device reads queues, doorbell records
 * and completions in host memory by DMA, and has a register that is mapped write-combining.
 *
 * The fences of C11 order accesses of processors to host memory. They need not order the accesses
 * that a device sees, or stores to a register. So each barrier here is an instruction.
 */

#if defined(__x86_64__)

/*
 * Orders earlier stores to host memory before later ones, as the device sees them. x86-64 makes
 * stores to host memory visible in program order, to devices as well, so that only the compiler is
 * prevented from changing the order.
 */
static inline void mlx5_barrier_host_stores(void)
{
	__asm__ volatile("" ::: "memory");
}

/*
 * Orders earlier loads from host memory before later loads and stores. x86-64 keeps this order
 * itself, so that only the compiler is prevented from changing it.
 */
static inline void mlx5_barrier_host_loads(void)
{
	__asm__ volatile("" ::: "memory");
}

/*
 * Orders earlier stores to host memory before later stores to the register. Without sfence, a store
 * to a write-combining mapping may become visible before earlier stores to host memory.
 */
static inline void mlx5_barrier_before_register(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

/*
 * Makes the processor send all earlier stores to the register to the device. sfence empties the
 * write-combining buffers. Without it, the stores could wait in a buffer for an unlimited time, or
 * be mixed with the stores of the next doorbell.
 */
static inline void mlx5_barrier_after_register(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

#elif defined(__aarch64__)

/*
 * Orders earlier stores to host memory before later ones, as the device sees them. arm64 may change
 * the order of stores. The barrier is for the outer shareable domain, which devices belong to.
 */
static inline void mlx5_barrier_host_stores(void)
{
	__asm__ volatile("dmb oshst" ::: "memory");
}

/*
 * Orders earlier loads from host memory, which the device stores to, before later loads and stores.
 * arm64 may otherwise load the content of an entry before the bit that says that it is complete.
 */
static inline void mlx5_barrier_host_loads(void)
{
	__asm__ volatile("dmb oshld" ::: "memory");
}

/*
 * Orders earlier stores to host memory before later stores to the register. dsb waits until the
 * earlier stores are complete, because a dmb is not sufficient for all kinds of device mappings.
 */
static inline void mlx5_barrier_before_register(void)
{
	__asm__ volatile("dsb st" ::: "memory");
}

/*
 * Makes the processor send all earlier stores to the register to the device. The mapping is Normal
 * Non-cacheable memory, whose stores can be gathered and delayed. dsb waits until they are
 * complete.
 */
static inline void mlx5_barrier_after_register(void)
{
	__asm__ volatile("dsb st" ::: "memory");
}

#else
#error "drivers/mlx5 has no memory barriers for this processor; drivers/meson.build leaves it out"
#endif

#endif
