/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of guards, and the handler of SIGBUS. The handler takes no lock, because it can
 * interrupt any thread at any moment. It only reads atomic members and makes system calls that are
 * safe in a handler. */
#include "sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "unlocked.h"

#define GUARDS_MAX  65536
#define SPARE_BYTES 65536u /* size of the reserve memory */

/* The handler of SIGBUS can read a guard at any moment, on any thread. 'seq' is odd while the guard
 * is changed, so that the handler never combines the base of one mapping with the length of
 * another. */
static struct guard {
	_Atomic uint32_t seq;
	_Atomic int wake_fd;
	_Atomic uintptr_t base; /* 0: the guard is free */
	_Atomic size_t len;
	_Atomic size_t page;
	_Atomic uint64_t tag;
	atomic_bool is_lost;
	atomic_bool is_news; /* lost, and guard_take_loss() has not reported the loss yet */
} guards[GUARDS_MAX];

struct span {
	uintptr_t base;
	size_t len;
	size_t page;
};

static atomic_uint nlosses;
static atomic_int nguards; /* guards from this index on were never in use */
/* index where the search for a free guard begins: most before it are in use */
static int next_free;
static int spare_fd = -1;	/* memfd of the reserve memory, whose pages are all allocated */
static uint8_t *spare;		/* the reserve memory; NULL: there is none */
static struct sigaction before; /* action of SIGBUS that catch_sigbus() has replaced */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t spare_once = PTHREAD_ONCE_INIT;

/* Copies what a guard covers to *span. Returns false if the guard is free or is being changed. In
 * both cases no thread accesses its mapping. */
static bool read_guard(const struct guard *guard, struct span *span)
{
	uint32_t seq = atomic_load(&guard->seq);

	span->base = atomic_load(&guard->base);
	span->len = atomic_load(&guard->len);
	span->page = atomic_load(&guard->page);
	return seq % 2 == 0 && span->base != 0 && atomic_load(&guard->seq) == seq;
}

/* Replaces all of a mapping by anonymous memory. Returns false if that memory would exceed a limit,
 * such as strict overcommit. Async-signal-safe. */
static bool replace_all(const struct span *span)
{
	return unlocked_replace(
		(void *)span->base,
		&(struct unlocked){.len = span->len,
				   .prot = PROT_READ | PROT_WRITE,
				   .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				   .fd = -1});
}

/* Maps 'len' bytes of the reserve memory at address 'at', in place of the memory there. Returns
 * false if this fails. The function then unlocks the mapping. If it stayed locked (mlockall(2)), it
 * would count in RLIMIT_MEMLOCK, although it allocates no page, and the kernel could refuse the
 * next one. */
static bool map_spare(uintptr_t at, size_t len)
{
	if (mmap((void *)at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, spare_fd, 0) ==
	    MAP_FAILED)
		return false;
	(void)munlock((void *)at, len);
	(void)madvise((void *)at, len, MADV_DONTFORK);
	return true;
}

/* Replaces the part of a mapping around address 'at' by the reserve memory, which is mapped
 * repeatedly. Returns false if this fails. A shared mapping of allocated pages is charged to no
 * limit. Async-signal-safe. */
static bool replace_part(const struct span *span, uintptr_t at)
{
	size_t unit = span->page > SPARE_BYTES ? span->page : SPARE_BYTES;
	uintptr_t end = span->base + span->len, from = span->base + (at - span->base) / unit * unit;
	uintptr_t to = end - from < unit ? end : from + unit;

	if (!spare)
		return false;
	memset(spare, 0, SPARE_BYTES);
	/* The kernel replaces a hugepage only as a whole. This mapping reaches beyond the end of
	 * the reserve memory, until the loop below has replaced that part. */
	if (unit > SPARE_BYTES && !map_spare(from, to - from))
		return false;
	for (; from < to; from += SPARE_BYTES)
		if (!map_spare(from, to - from < SPARE_BYTES ? to - from : SPARE_BYTES))
			return false;
	return true;
}

/* Handles a lost page at address 'at': replaces the memory of each guard that covers the address,
 * marks the guard as lost, and wakes its owner. Returns false if no guard covers the address, or
 * the memory cannot be replaced. Several guards can cover one address, because several devices can
 * have registered the same memory. Async-signal-safe. */
static bool lose(uintptr_t at)
{
	const uint64_t one = 1;
	bool found = false;
	int n = atomic_load(&nguards);

	for (int i = 0; i < n; i++) {
		struct span span;

		if (!read_guard(&guards[i], &span) || at - span.base >= span.len)
			continue;
		if (!replace_all(&span) && !replace_part(&span, at))
			return false;
		found = true;
		if (!atomic_exchange(&guards[i].is_lost, true)) {
			atomic_store(&guards[i].is_news, true);
			atomic_fetch_add(&nlosses, 1);
		}
		(void)!write(atomic_load(&guards[i].wake_fd), &one, sizeof(one));
	}
	return found;
}

/* Handles a SIGBUS that concerns no guard: calls the previous handler, if there is one. If that
 * handler passes the signal on to this one in turn, the second call here ends the process. */
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
	/* On return from the handler, the access is repeated and ends the process. If a process has
	 * sent the signal, there is no access, and the signal is raised again instead. */
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

/* Sets the handler of SIGBUS if it is not set. Returns false if this fails. Each guard_set() calls
 * this function, because the application might have set a handler of its own meanwhile. */
static bool catch_sigbus(void)
{
	struct sigaction ours = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK},
			 now;

	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGBUS, NULL, &now) != 0)
		return false;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_sigbus)
		return true;
	before = now;
	return sigaction(SIGBUS, &ours, NULL) == 0;
}

/* Allocates the reserve memory. Called once, with the first guard. If no memory is available, a
 * loss can end the process, as it would without guards. */
static void take_spare(void)
{
	void *p;
	int fd;

	fd = memfd_create("weir-shm-spare", MFD_CLOEXEC);
	if (fd < 0)
		return;
	/* Unlike a first access, fallocate() returns an error if no page is available. */
	if (fallocate(fd, 0, 0, SPARE_BYTES) == 0) {
		p = mmap(NULL, SPARE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			(void)madvise(p, SPARE_BYTES, MADV_DONTFORK);
			spare_fd = fd;
			spare = p;
			return;
		}
	}
	close(fd);
}

static int guard_find_free(void)
{
	for (int n = 0; n < GUARDS_MAX; n++) {
		int i = (next_free + n) % GUARDS_MAX;

		if (atomic_load(&guards[i].base) == 0)
			return i;
	}
	return GUARD_NONE;
}

int guard_set(void *base, size_t len, size_t page, int wake_fd, uint64_t tag)
{
	int i = GUARD_NONE;

	pthread_once(&spare_once, take_spare);
	pthread_mutex_lock(&lock);
	if (catch_sigbus())
		i = guard_find_free();
	if (i != GUARD_NONE) {
		struct guard *guard = &guards[i];

		next_free = i + 1;
		atomic_fetch_add(&guard->seq, 1);
		atomic_store(&guard->wake_fd, wake_fd);
		atomic_store(&guard->len, len);
		atomic_store(&guard->page, page);
		atomic_store(&guard->tag, tag);
		atomic_store(&guard->is_lost, false);
		atomic_store(&guard->is_news, false);
		atomic_store(&guard->base, (uintptr_t)base);
		atomic_fetch_add(&guard->seq, 1);
		if (i >= atomic_load(&nguards))
			atomic_store(&nguards, i + 1);
	}
	pthread_mutex_unlock(&lock);
	return i;
}

void guard_clear(int guard)
{
	if (guard == GUARD_NONE)
		return;
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&guards[guard].seq, 1);
	atomic_store(&guards[guard].base, 0);
	atomic_store(&guards[guard].is_news, false);
	atomic_fetch_add(&guards[guard].seq, 1);
	if (guard < next_free)
		next_free = guard;
	pthread_mutex_unlock(&lock);
}

void guard_move(int guard, int wake_fd)
{
	if (guard != GUARD_NONE)
		atomic_store(&guards[guard].wake_fd, wake_fd);
}

bool guard_is_lost(int guard)
{
	return guard != GUARD_NONE && atomic_load(&guards[guard].is_lost);
}

bool guard_take_loss(int wake_fd, uint64_t *tag)
{
	int n = atomic_load(&nguards);

	/* The handler increments 'nlosses' after it has marked a guard. If the count is 0, no
	 * search is needed. */
	if (atomic_load(&nlosses) == 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (!atomic_load(&guards[i].is_news) ||
		    atomic_load(&guards[i].wake_fd) != wake_fd ||
		    !atomic_exchange(&guards[i].is_news, false))
			continue;
		*tag = atomic_load(&guards[i].tag);
		return true;
	}
	return false;
}

void guard_fork_begin(void)
{
	pthread_mutex_lock(&lock);
}

/* Frees all guards in a child of fork(2), because the child's own engines can map other memory at
 * the same addresses. The lock has been held since before the fork, so that no guard is half
 * changed. */
static void forget_all(void)
{
	int n = atomic_load(&nguards);

	for (int i = 0; i < n; i++) {
		atomic_fetch_add(&guards[i].seq, 1);
		atomic_store(&guards[i].base, 0);
		atomic_store(&guards[i].is_news, false);
		atomic_fetch_add(&guards[i].seq, 1);
	}
	atomic_store(&nguards, 0);
	atomic_store(&nlosses, 0);
	next_free = 0;
}

/* Closes the parent's reserve memory in a child of fork(2). It is shared with the parent, and is
 * not mapped in the child. The child allocates its own reserve memory with its first guard. */
static void forget_spare(void)
{
	static const pthread_once_t once = PTHREAD_ONCE_INIT;

	if (spare_fd >= 0)
		close(spare_fd);
	spare_fd = -1;
	spare = NULL;
	spare_once = once;
}

void guard_fork_end(bool is_child)
{
	if (is_child) {
		forget_all();
		forget_spare();
	}
	pthread_mutex_unlock(&lock);
}
