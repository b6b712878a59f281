/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the capture of the process. */
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

static void set_up(void)
{
	capture_at_fork();
	capture_tap_register();
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
		capture_prepare_rings(capture, engine_count());
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
	if (!capture_claim()) {
		LOG(ENGINE, ERROR, "capture: there is a capture already: stop it first");
		return -EBUSY;
	}
	rc = start(&own, &capture);
	capture_set(capture);
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
	struct capture *capture = capture_withdraw();
	int rc;

	if (!capture)
		return -ENOENT;
	atomic_store(&capture->is_on, false);
	atomic_store(&capture->is_stopping, true);
	pthread_join(capture->writer, NULL);
	if (status)
		describe(capture, status);
	rc = atomic_load(&capture->end);
	capture_put(capture);
	capture_set(NULL);
	return rc == -ETIME || rc == -EOVERFLOW ? 0 : rc;
}

int weir_capture_status(struct weir_capture_status *status)
{
	struct capture *capture = capture_get_any();

	if (!capture)
		return -ENOENT;
	describe(capture, status);
	capture_put(capture);
	return 0;
}
