/* SPDX-License-Identifier: BSD-3-Clause */
/* Knows the capture of the process, and its rings. */
#include "alloc.h"
#include "capture.h"
#include "pcapng.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The capture between start and stop; guarded by 'lock'. */
static struct capture *current;
/* A capture is being started or stopped; guarded by 'lock'. */
static bool is_busy;

static void lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The child has no thread that writes. The capture stays that of the parent. */
static void unlock_in_child(void)
{
	current = NULL;
	is_busy = false;
	pthread_mutex_unlock(&lock);
}

void capture_at_fork(void)
{
	(void)pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
}

bool capture_claim(void)
{
	bool is_free;

	pthread_mutex_lock(&lock);
	is_free = !current && !is_busy;
	is_busy |= is_free;
	pthread_mutex_unlock(&lock);
	return is_free;
}

void capture_set(struct capture *capture)
{
	pthread_mutex_lock(&lock);
	current = capture;
	is_busy = false;
	pthread_mutex_unlock(&lock);
}

struct capture *capture_withdraw(void)
{
	struct capture *capture;

	pthread_mutex_lock(&lock);
	capture = is_busy ? NULL : current;
	if (capture) {
		current = NULL;
		is_busy = true;
	}
	pthread_mutex_unlock(&lock);
	return capture;
}

static struct capture *get(bool is_any)
{
	struct capture *capture;

	pthread_mutex_lock(&lock);
	capture = current && (is_any || atomic_load(&current->is_on)) ? current : NULL;
	if (capture)
		atomic_fetch_add(&capture->refs, 1);
	pthread_mutex_unlock(&lock);
	return capture;
}

struct capture *capture_get(void)
{
	return get(false);
}

struct capture *capture_get_any(void)
{
	return get(true);
}

void capture_put(struct capture *capture)
{
	if (atomic_fetch_sub(&capture->refs, 1) > 1)
		return;
	for (uint32_t i = 0; i < atomic_load(&capture->nrings); i++)
		capture_ring_destroy(capture->rings[i]);
	mem_free(capture->file);
	mem_free(capture);
}

/* Adds a ring to those of the capture. Returns false if there is no place for it. */
static bool append_ring(struct capture *capture, struct capture_ring *ring)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = atomic_load(&capture->nrings);
	if (n < CAPTURE_RINGS_MAX) {
		capture->rings[n] = ring;
		atomic_store(&capture->nrings, n + 1);
	}
	pthread_mutex_unlock(&lock);
	return n < CAPTURE_RINGS_MAX;
}

/* Creates a ring. The lock is not held meanwhile, because the memory is touched, and the threads of
 * other engines take the lock. Returns the ring, or NULL. */
static struct capture_ring *add_ring(struct capture *capture, bool is_used)
{
	struct capture_ring *ring = capture_ring_create(capture->options.ring_bytes);

	if (!ring)
		return NULL;
	ring->is_used = is_used;
	if (append_ring(capture, ring))
		return ring;
	capture_ring_destroy(ring);
	return NULL;
}

/* Returns a ring that no engine has, and gives it to the caller. Returns NULL if there is none. */
static struct capture_ring *take_unused(struct capture *capture)
{
	struct capture_ring *ring = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < atomic_load(&capture->nrings) && !ring; i++)
		if (!capture->rings[i]->is_used)
			ring = capture->rings[i];
	if (ring)
		ring->is_used = true;
	pthread_mutex_unlock(&lock);
	return ring;
}

struct capture_ring *capture_take_ring(struct capture *capture)
{
	struct capture_ring *ring = take_unused(capture);

	return ring ? ring : add_ring(capture, true);
}

void capture_leave_ring(struct capture_ring *ring)
{
	pthread_mutex_lock(&lock);
	ring->is_used = false;
	pthread_mutex_unlock(&lock);
}

uint64_t capture_dropped(struct capture *capture)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&capture->nrings); i++)
		n += atomic_load_explicit(&capture->rings[i]->ndropped, memory_order_relaxed);
	return n;
}

void capture_prepare_rings(struct capture *capture, uint32_t n)
{
	while (atomic_load(&capture->nrings) < n && add_ring(capture, false))
		;
}
