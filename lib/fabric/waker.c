/* SPDX-License-Identifier: BSD-3-Clause */
#include "waker.h"

#include <stdint.h>
#include <unistd.h>

#include "fence.h"

void fabric_wake(struct fabric_waker *waker)
{
	uint64_t one = 1;

	fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&waker->is_armed, memory_order_relaxed) ||
	    !atomic_exchange(&waker->is_armed, false))
		return;
	/* write(2) fails only if the counter is full. Then the descriptor is readable already. */
	(void)!write(waker->event_fd, &one, sizeof(one));
}

static void close_fd(int *at)
{
	int fd = *at;

	*at = 0;
	if (fd > 0)
		close(fd);
}

void fabric_waker_close(struct fabric_waker *waker)
{
	atomic_store(&waker->is_armed, false);
	close_fd(&waker->epoll_fd);
	close_fd(&waker->event_fd);
}
