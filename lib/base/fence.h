/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FENCE_H
#define FENCE_H

/* Memory fences that also a build with gcc's thread sanitizer can have. */

#include <stdatomic.h>

#ifdef __SANITIZE_THREAD__
/* gcc's thread sanitizer does not support fences, and refuses them. An atomic operation on a common
 * variable is as strong as a fence, and the sanitizer understands it. */
static inline void fence(memory_order order)
{
	static _Atomic unsigned int any;

	(void)order;
	atomic_fetch_add(&any, 0);
}
#else
#define fence(order) atomic_thread_fence(order)
#endif

#endif
