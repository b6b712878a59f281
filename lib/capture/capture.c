/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the capture of the process, and knows its rings. */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>

#include <weir/version.h>

#include "alloc.h"
#include "engine.h"
#include "log.h"
#include "owner.h"
#include "pcapng.h"
#include "sized.h"
#include "sized_why.h"

#define RING_BYTES	 (16ull * 1024 * 1024)
#define RING_BYTES_MIN	 65536ull
#define RING_BYTES_MAX	 (1ull << 30)
#define SECONDS_MAX	 (1ull << 32)
#define PROGRAM_NAME_MAX 64u

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

static void set_up(void)
{
	(void)pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
	capture_tap_register();
}

struct capture *capture_get(void)
{
	struct capture *capture;

	pthread_mutex_lock(&lock);
	capture = current && atomic_load(&current->is_on) ? current : NULL;
	if (capture)
		atomic_fetch_add(&capture->refs, 1);
	pthread_mutex_unlock(&lock);
	return capture;
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

/* Adds a ring. 'lock' must be held. Returns the ring, or NULL. */
static struct capture_ring *add_ring(struct capture *capture, bool is_used)
{
	uint32_t n = atomic_load(&capture->nrings);
	struct capture_ring *ring;

	if (n == CAPTURE_RINGS_MAX)
		return NULL;
	ring = capture_ring_create(capture->options.ring_bytes);
	if (!ring)
		return NULL;
	ring->is_used = is_used;
	capture->rings[n] = ring;
	atomic_store(&capture->nrings, n + 1);
	return ring;
}

struct capture_ring *capture_take_ring(struct capture *capture)
{
	struct capture_ring *ring = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < atomic_load(&capture->nrings) && !ring; i++)
		if (!capture->rings[i]->is_used)
			ring = capture->rings[i];
	if (ring)
		ring->is_used = true;
	else
		ring = add_ring(capture, true);
	pthread_mutex_unlock(&lock);
	return ring;
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

static int refuse(const char *why)
{
	LOG(ENGINE, ERROR, "capture: %s", why);
	return -EINVAL;
}

/* Copies the options, and sets the defaults. Returns 0, -EINVAL or -E2BIG. */
static int read_options(const struct weir_capture_options *theirs, struct weir_capture_options *own)
{
	static const struct sized_type type = SIZED_TYPE(weir_capture_options, reserved);
	char why[SIZED_WHY_BYTES] = "the options are missing";
	int rc = theirs ? sized_read_why(&type, own, theirs, why) : -EINVAL;

	if (rc != 0) {
		LOG(ENGINE, ERROR, "capture: %s", why);
		return rc;
	}
	if (own->max_bytes == 0)
		own->max_bytes = WEIR_CAPTURE_BYTES;
	if (own->max_seconds == 0)
		own->max_seconds = WEIR_CAPTURE_SECONDS;
	if (own->payload_bytes == 0)
		own->payload_bytes = UINT64_MAX;
	if (own->ring_bytes == 0)
		own->ring_bytes = RING_BYTES;
	if (!own->path || own->path[0] == '\0')
		return refuse("the name of a file is missing");
	if (own->max_bytes < PCAPNG_BYTES_MIN)
		return refuse("the file must be allowed to have at least 4096 bytes");
	if (own->max_seconds > SECONDS_MAX)
		return refuse("the largest duration is 4294967296 seconds");
	if (own->ring_bytes < RING_BYTES_MIN || own->ring_bytes > RING_BYTES_MAX)
		return refuse("a ring has from 65536 bytes to 1 GiB");
	if ((unsigned)own->side > WEIR_CAPTURE_RESPONDERS || own->reserved != 0)
		return refuse("the sides are not valid: use a value of enum weir_capture_side, "
			      "and 0 for 'reserved'");
	return 0;
}

/* Creates the file. Returns its descriptor or -errno, which is logged. */
static int create_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
	int rc = fd < 0 ? -errno : fd;

	if (rc == -EEXIST)
		LOG(ENGINE, ERROR,
		    "capture: the file %s exists: choose another name, or remove the file", path);
	else if (rc == -ENOENT)
		LOG(ENGINE, ERROR, "capture: the folder of %s does not exist: create it", path);
	else if (rc < 0)
		LOG(ENGINE, ERROR, "capture: can't create %s: %s", path, strerror(-rc));
	return rc;
}

/* Begins the file of a capture. Returns 0 or -errno, which is logged. */
static int begin_file(struct capture *capture, const char *path)
{
	char program[PROGRAM_NAME_MAX];
	int rc, fd = create_file(path);

	if (fd < 0)
		return fd;
	snprintf(program, sizeof(program), "%s (weir %s)", program_invocation_short_name,
		 weir_version_string());
	rc = pcapng_begin(capture->file, fd, capture->options.max_bytes, program, "weir");
	if (rc == 0)
		return 0;
	LOG(ENGINE, ERROR, "capture: can't write %s: %s", path, strerror(-rc));
	close(fd);
	(void)unlink(path);
	return rc;
}

static struct capture *allocate(const struct weir_capture_options *options)
{
	struct capture *capture = mem_zalloc(sizeof(*capture));

	if (!capture)
		return NULL;
	capture->file = mem_zalloc(sizeof(*capture->file));
	if (!capture->file) {
		mem_free(capture);
		return NULL;
	}
	capture->options = *options;
	capture->options.path = NULL;
	snprintf(capture->path, sizeof(capture->path), "%s", options->path);
	atomic_init(&capture->refs, 1);
	atomic_init(&capture->is_on, true);
	return capture;
}

static uint64_t deadline_after(uint64_t seconds)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((uint64_t)ts.tv_sec + seconds) * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Creates the capture, its file and its thread. Returns 0 or -errno. */
static int start(const struct weir_capture_options *options, struct capture **out)
{
	struct capture *capture = allocate(options);
	int rc;

	if (!capture)
		return -ENOMEM;
	rc = begin_file(capture, options->path);
	if (rc == 0) {
		capture->deadline_ns = deadline_after(options->max_seconds);
		rc = capture_writer_start(capture);
		if (rc != 0) {
			close(capture->file->fd);
			(void)unlink(options->path);
		}
	}
	if (rc != 0) {
		capture_put(capture);
		return rc;
	}
	*out = capture;
	return 0;
}

int weir_capture_start(const struct weir_capture_options *options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct weir_capture_options own;
	struct capture *capture = NULL;
	int rc = read_options(options, &own);

	if (rc != 0)
		return rc;
	if (rte_lcore_count() == 0) {
		LOG(ENGINE, ERROR,
		    "capture: there is no engine yet: create one first, because the thread that "
		    "writes the file needs DPDK's environment");
		return -EAGAIN;
	}
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	if (current || is_busy)
		rc = -EBUSY;
	else
		is_busy = true;
	pthread_mutex_unlock(&lock);
	if (rc != 0) {
		LOG(ENGINE, ERROR, "capture: there is a capture already: stop it first");
		return rc;
	}
	/* The lock is not held here, because a file system can be slow. */
	rc = start(&own, &capture);
	pthread_mutex_lock(&lock);
	current = capture;
	is_busy = false;
	pthread_mutex_unlock(&lock);
	return rc;
}

int weir_capture_engine(struct weir_engine *engine)
{
	if (OTHER_THREAD(engine))
		return -EPERM;
	return capture_tap_engine(engine);
}

static void describe(struct capture *capture, struct weir_capture_status *status)
{
	const struct weir_capture_status own = {
		.struct_bytes = sizeof(own),
		.frames = atomic_load(&capture->frames),
		.bytes = atomic_load(&capture->bytes),
		.dropped = capture_dropped(capture),
		.conns = atomic_load(&capture->written_conns),
		.end = atomic_load(&capture->end),
		.is_running = !atomic_load(&capture->is_written),
	};

	sized_fill(status, &own, sizeof(own));
}

int weir_capture_stop(struct weir_capture_status *status)
{
	struct capture *capture;
	int rc;

	pthread_mutex_lock(&lock);
	capture = is_busy ? NULL : current;
	if (capture) {
		current = NULL;
		is_busy = true;
	}
	pthread_mutex_unlock(&lock);
	if (!capture)
		return -ENOENT;
	atomic_store(&capture->is_on, false);
	atomic_store(&capture->is_stopping, true);
	pthread_join(capture->writer, NULL);
	if (status)
		describe(capture, status);
	rc = atomic_load(&capture->end);
	capture_put(capture);
	pthread_mutex_lock(&lock);
	is_busy = false;
	pthread_mutex_unlock(&lock);
	return rc == -ETIME || rc == -EOVERFLOW ? 0 : rc;
}

int weir_capture_status(struct weir_capture_status *status)
{
	int rc = -ENOENT;

	pthread_mutex_lock(&lock);
	if (current) {
		describe(current, status);
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void capture_prepare_rings(struct capture *capture, uint32_t n)
{
	pthread_mutex_lock(&lock);
	while (atomic_load(&capture->nrings) < n && add_ring(capture, false))
		;
	pthread_mutex_unlock(&lock);
}
