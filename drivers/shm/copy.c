/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies by the processor's string instruction, if it has a fast one. */
#include "copy.h"

#include <stdatomic.h>
#include <stdbool.h>

#include <rte_cpuflags.h>

#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

/* With sanitizers, memcpy() is used: they check memcpy(), but not an instruction. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
	!HAS_FEATURE(address_sanitizer) && !HAS_FEATURE(thread_sanitizer) &&                       \
	!HAS_FEATURE(memory_sanitizer)
#define MAY_USE_STRING

static _Atomic bool uses_string;
#endif

void shm_copy_init(void)
{
#ifdef MAY_USE_STRING
	atomic_store_explicit(&uses_string, rte_cpu_get_flag_enabled(RTE_CPUFLAG_ERMS) == 1,
			      memory_order_relaxed);
#endif
}

void shm_copy_long(void *dst, const void *src, size_t len)
{
#ifdef MAY_USE_STRING
	if (atomic_load_explicit(&uses_string, memory_order_relaxed)) {
		__asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
		return;
	}
#endif
	memcpy(dst, src, len);
}
