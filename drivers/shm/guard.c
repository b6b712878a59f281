/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#define GUARDS_MAX 65536

/* Read by the signal's handler at any moment: base is set last and cleared first. */
static struct guard {
	_Atomic uintptr_t base; /* 0: free */
	_Atomic size_t len;
	_Atomic int wake_fd;
	atomic_bool is_lost;
} guards[GUARDS_MAX];

static atomic_uint nlosses;
static atomic_int nguards; /* places in use, or free below one in use */
static struct sigaction before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All guards of one place go together: several devices may have registered it. Async-signal-safe. */
static bool lose(uintptr_t at)
{
	const uint64_t one = 1;
	bool found = false;
	int n = atomic_load(&nguards);

	for (int i = 0; i < n; i++) {
		uintptr_t base = atomic_load(&guards[i].base);
		size_t len = atomic_load(&guards[i].len);

		if (base == 0 || at - base >= len)
			continue;
		if (mmap((void *)base, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return false;
		found = true;
		atomic_store(&guards[i].is_lost, true);
		atomic_fetch_add(&nlosses, 1);
		(void)!write(atomic_load(&guards[i].wake_fd), &one, sizeof(one));
	}
	return found;
}

/* What SIGBUS did before. A handler that was set after ours, and hands on to it, comes back here: that is the end. */
static void hand_on(int signal, siginfo_t *info, void *context)
{
	static _Atomic pid_t handing_on;

	if (atomic_load(&handing_on) != gettid()) {
		atomic_store(&handing_on, gettid());
		if (before.sa_flags & SA_SIGINFO) {
			before.sa_sigaction(signal, info, context);
			atomic_store(&handing_on, 0);
			return;
		}
		if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
			before.sa_handler(signal);
			atomic_store(&handing_on, 0);
			return;
		}
	}
	/* The touch is made again, and ends the process as it always did; a signal that was sent does so by itself. */
	sigaction(SIGBUS, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	if (info->si_code <= 0)
		raise(signal);
}

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code != BUS_ADRERR || !lose((uintptr_t)info->si_addr))
		hand_on(signal, info, context);
	errno = saved;
}

/* Each time: an application may have set a handler of its own since. */
static bool catch_sigbus(void)
{
	struct sigaction ours = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK}, now;

	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGBUS, NULL, &now) != 0)
		return false;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_sigbus)
		return true;
	before = now;
	return sigaction(SIGBUS, &ours, NULL) == 0;
}

int guard_set(void *base, size_t len, int wake_fd)
{
	static int next; /* where to look first: those before it are mostly taken */
	int guard = GUARD_NONE;

	pthread_mutex_lock(&lock);
	if (catch_sigbus()) {
		for (int n = 0; n < GUARDS_MAX && guard == GUARD_NONE; n++)
			if (atomic_load(&guards[(next + n) % GUARDS_MAX].base) == 0)
				guard = (next + n) % GUARDS_MAX;
	}
	if (guard != GUARD_NONE) {
		next = guard + 1;
		atomic_store(&guards[guard].len, len);
		atomic_store(&guards[guard].wake_fd, wake_fd);
		atomic_store(&guards[guard].is_lost, false);
		atomic_store(&guards[guard].base, (uintptr_t)base);
		if (guard >= atomic_load(&nguards))
			atomic_store(&nguards, guard + 1);
	}
	pthread_mutex_unlock(&lock);
	return guard;
}

void guard_clear(int guard)
{
	if (guard == GUARD_NONE)
		return;
	pthread_mutex_lock(&lock);
	atomic_store(&guards[guard].base, 0);
	pthread_mutex_unlock(&lock);
}

unsigned guard_losses(void)
{
	return atomic_load(&nlosses);
}

bool guard_is_lost(int guard)
{
	return guard != GUARD_NONE && atomic_load(&guards[guard].is_lost);
}
