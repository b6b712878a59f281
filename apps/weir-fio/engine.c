/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The I/O engine weir for fio: what fio calls. fio loads the library, and calls setup() in its main
 * thread. Each job then has a process or a thread, which calls all other functions. An I/O ends in
 * a poll of the target. It then waits in job.ended until getevents() returns it.
 *
 * The file includes the headers of fio, which are under the GNU GPL version 2. The library is
 * therefore distributed under the terms of that license only.
 */
#include "fio.h"
#include "optgroup.h"

#include "target.h"

#define RETRIES_MAX    1000
#define TIMEOUT_MAX_MS 86400000
#define STOP_NS	       5000000000ull /* from the stop of a job to the abort of its I/Os */

/* The options of the engine. fio stores them. Offset 0 means no option. */
struct weir_options {
	void *unused;
	unsigned int protocol;
	unsigned int mount_port;
	unsigned int timeout_ms;
	unsigned int retries;
	char *server;
	char *driver;
	char *driver_options;
	char *profile;
	char *export;
	char *handle;
	char *mount_server;
};

struct job {
	struct target *target;
	struct weir_region *region;
	struct io_u **ended; /* a ring of 'depth' I/Os that have ended */
	uint32_t depth, first, nended;
	struct io_u **events; /* what getevents() has returned */
	struct io_u **queued; /* I/Os since the last commit() */
	uint32_t nqueued;
	uint64_t stopped_ns; /* time when the stop of the job was noticed; 0: it runs */
};

static void on_log(const char *line)
{
	log_err("weir: %s\n", line);
}

static const struct target_ops *find_ops(const struct thread_data *td)
{
	const struct weir_options *options = td->eo;

	return options->protocol == TARGET_BLOCK ? &target_block_ops : &target_nfs_ops;
}

/* Reports an error of the job. Returns 1. The macro of fio mixes int and unsigned int. */
static int fail(struct thread_data *td, int error)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
	td_verror(td, error, "weir");
#pragma GCC diagnostic pop
	return 1;
}

static int open_target(struct thread_data *td, struct target **target)
{
	const struct weir_options *options = td->eo;
	const struct target_options how = {
		.server = options->server,
		.driver = options->driver,
		.driver_options = options->driver_options,
		.profile = options->profile,
		.export = options->export,
		.handle = options->handle,
		.mount_server = options->mount_server,
		.mount_port = options->mount_port,
		.timeout_ms = options->timeout_ms,
		.retries = options->retries,
		.depth = td->o.iodepth,
		.is_sync = td->o.sync_io != 0,
		.log = on_log,
	};

	return find_ops(td)->open(&how, target);
}

/* ---- setup, in the main thread of fio ---- */

/* Checks the options of the job. Returns 0 or an errno. */
static int check(struct thread_data *td)
{
	const struct weir_options *options = td->eo;
	const struct target_ops *ops = find_ops(td);

	if (!options->server || options->server[0] == '\0')
		return target_say(on_log, EINVAL,
				  "no server was given: weir_server=HOST[:PORT], or the name of a "
				  "server over shm");
	if (options->protocol == 0)
		return target_say(on_log, EINVAL, "give weir_protocol=nfs or weir_protocol=block");
	if (td_trim(td) && !ops->has_trim)
		return target_say(on_log, EOPNOTSUPP,
				  "NFS version 3 has no trim: use rw= without trim, or "
				  "weir_protocol=block");
	if (!ops->has_files && td->o.nr_files > 1)
		return target_say(on_log, EINVAL, "the device is one file: leave out nrfiles=");
	if (td_max_bs(td) > ops->max_bytes && (td_read(td) || td_write(td)))
		return target_say(on_log, EINVAL, "bs= is at most %llu bytes for this protocol",
				  (unsigned long long)ops->max_bytes);
	if (td_min_bs(td) % ops->block_bytes != 0)
		return target_say(on_log, EINVAL, "bs= must be a multiple of %llu bytes",
				  (unsigned long long)ops->block_bytes);
	return 0;
}

/* Returns true if the job does not say how long its files are. */
static bool has_no_size(const struct thread_data *td)
{
	const struct thread_options *o = &td->o;

	return (o->size == 0 && o->file_size_low == 0) || o->start_offset_percent > 0 ||
	       o->offset_increment_percent > 0;
}

/* Sets the sizes of the files to those that the server reports. */
static int setup_ask_sizes(struct thread_data *td)
{
	struct target *target;
	struct fio_file *f;
	unsigned int i;
	int rc = open_target(td, &target);

	if (rc != 0)
		return rc;
	for_each_file(td, f, i)
	{
		uint64_t bytes = 0;

		rc = target->ops->size(target, f->file_name, &bytes);
		if (rc != 0)
			break;
		f->real_file_size = bytes;
	}
	target->ops->close(target);
	return rc;
}

static void set_sizes(struct thread_data *td)
{
	const struct thread_options *o = &td->o;
	struct fio_file *f;
	unsigned int i;

	for_each_file(td, f, i) f->real_file_size =
		o->file_size_low
			? o->file_size_high
			: o->start_offset + o->size + o->offset_increment * td->subjob_number;
}

static struct ioengine_ops *own_ops(void);

static int weir_setup(struct thread_data *td)
{
	int rc;

	if (td->io_ops != own_ops()) {
		target_say(on_log, EINVAL,
			   "this fio has other structures than the sources that weir-fio.so was "
			   "built with: build weir with fio_source= of this fio");
		return fail(td, EINVAL);
	}
	rc = check(td);
	if (rc == 0 && has_no_size(td))
		rc = setup_ask_sizes(td);
	else if (rc == 0)
		set_sizes(td);
	return rc == 0 ? 0 : fail(td, rc);
}

static int get_file_size(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	fio_file_set_size_known(f);
	return 0;
}

/* ---- begin and end of a job ---- */

static void weir_cleanup(struct thread_data *td)
{
	struct job *job = td->io_ops_data;

	if (!job)
		return;
	if (job->target)
		job->target->ops->close(job->target);
	weir_region_destroy(job->region);
	free(job->ended);
	free(job->events);
	free(job->queued);
	free(job);
	td->io_ops_data = NULL;
}

static int weir_init(struct thread_data *td)
{
	struct job *job = calloc(1, sizeof(*job));
	int rc = ENOMEM;

	td->io_ops_data = job;
	if (job) {
		job->depth = td->o.iodepth;
		job->ended = calloc(job->depth, sizeof(job->ended[0]));
		job->events = calloc(job->depth, sizeof(job->events[0]));
		job->queued = calloc(job->depth, sizeof(job->queued[0]));
		if (job->ended && job->events && job->queued)
			rc = open_target(td, &job->target);
	}
	if (rc == 0)
		return 0;
	weir_cleanup(td);
	return fail(td, rc);
}

/* Allocates the buffers of the I/Os as one region, so that data are placed there directly. */
static int iomem_alloc(struct thread_data *td, size_t bytes)
{
	struct job *job = td->io_ops_data;
	struct weir_region_options how = {.struct_bytes = sizeof(how),
					  .len_bytes = bytes,
					  .page_bytes = job->target->page_bytes,
					  .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc;

	if (bytes < 1u << 20)
		how.flags |= WEIR_REGION_NO_HUGE;
	rc = weir_region_create(&how, &job->region);
	if (rc != 0)
		return target_say(on_log, -rc,
				  "no memory for buffers of %zu bytes: %s; reduce iodepth= or bs=",
				  bytes, strerror(-rc));
	rc = job->target->ops->add_region(job->target, job->region);
	if (rc != 0)
		return rc;
	weir_region_info(job->region, &info);
	td->orig_buffer = info.base;
	return 0;
}

/* The region must exist until the target is closed. weir_cleanup() frees it. */
static void iomem_free(struct thread_data *td)
{
	td->orig_buffer = NULL;
}

static int init_io(struct thread_data *td, struct io_u *io_u)
{
	io_u->engine_data = calloc(1, find_ops(td)->io_bytes);
	return io_u->engine_data ? 0 : 1;
}

static void free_io(struct thread_data *td, struct io_u *io_u)
{
	(void)td;
	free(io_u->engine_data);
	io_u->engine_data = NULL;
}

/* ---- files ---- */

static int open_file(struct thread_data *td, struct fio_file *f)
{
	struct job *job = td->io_ops_data;
	struct target_file *file = NULL;
	int rc = job->target->ops->open_file(job->target, f->file_name, f->file_offset + f->io_size,
					     td_write(td), &file);

	if (rc != 0)
		return fail(td, rc);
	f->engine_data = file;
	return 0;
}

static int close_file(struct thread_data *td, struct fio_file *f)
{
	struct job *job = td->io_ops_data;

	if (job)
		job->target->ops->close_file(job->target, f->engine_data);
	f->engine_data = NULL;
	return 0;
}

static int unlink_file(struct thread_data *td, struct fio_file *f)
{
	struct job *job = td->io_ops_data;

	return job ? job->target->ops->unlink(job->target, f->file_name) : 0;
}

static int invalidate(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0; /* nothing is cached on this side */
}

/* ---- I/O ---- */

static void io_on_done(struct target_io *io)
{
	struct io_u *io_u = io->arg;
	struct job *job = (struct job *)(void *)io_u->mmap_data;

	io_u->error = (unsigned int)io->error;
	io_u->resid = io->error ? io_u->xfer_buflen : 0;
	job->ended[(job->first + job->nended++) % job->depth] = io_u;
}

static enum fio_q_status queue(struct thread_data *td, struct io_u *io_u)
{
	static const enum target_op ops[] = {
		[DDIR_READ] = TARGET_READ,	[DDIR_WRITE] = TARGET_WRITE,
		[DDIR_TRIM] = TARGET_TRIM,	[DDIR_SYNC] = TARGET_FLUSH,
		[DDIR_DATASYNC] = TARGET_FLUSH, [DDIR_SYNC_FILE_RANGE] = TARGET_FLUSH,
	};
	struct job *job = td->io_ops_data;
	struct target_io *io = io_u->engine_data;

	io->op = ops[io_u->ddir];
	io->file = io_u->file->engine_data;
	io->offset = io_u->offset;
	io->len_bytes = io_u->xfer_buflen;
	io->data = io_u->xfer_buf;
	io->done = io_on_done;
	io->arg = io_u;
	io_u->mmap_data = job;
	job->queued[job->nqueued++] = io_u;
	job->target->ops->submit(job->target, io);
	return FIO_Q_QUEUED;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Aborts the I/Os of a job that fio stops, if the server does not answer for long. */
static void check_stop(const struct thread_data *td, struct job *job)
{
	if (!td->terminate)
		return;
	if (job->stopped_ns == 0)
		job->stopped_ns = now_ns();
	else if (now_ns() - job->stopped_ns > STOP_NS)
		job->target->ops->abort(job->target);
}

/* Reports to fio that the queued I/Os are sent, which ends their submission latency. */
static void set_issue_times(struct thread_data *td, struct job *job)
{
	struct timespec now;

	if (fio_fill_issue_time(td)) {
		fio_gettime(&now, NULL);
		for (uint32_t i = 0; i < job->nqueued; i++) {
			job->queued[i]->issue_time = now;
			io_u_queued(td, job->queued[i]);
		}
	}
	job->nqueued = 0;
}

/* Sends the queued I/Os together. */
static int commit(struct thread_data *td)
{
	struct job *job = td->io_ops_data;

	set_issue_times(td, job);
	job->target->ops->poll(job->target, false);
	return 0;
}

static int getevents(struct thread_data *td, unsigned int min, unsigned int max,
		     const struct timespec *limit)
{
	struct job *job = td->io_ops_data;
	uint64_t until_ns = UINT64_MAX;
	unsigned int n;

	if (limit)
		until_ns =
			now_ns() + (uint64_t)limit->tv_sec * 1000000000u + (uint64_t)limit->tv_nsec;
	if (job->nended < max)
		job->target->ops->poll(job->target, false);
	while (job->nended < min && (!limit || now_ns() < until_ns)) {
		job->target->ops->poll(job->target, true);
		check_stop(td, job);
	}
	for (n = 0; n < max && job->nended > 0; n++) {
		job->events[n] = job->ended[job->first];
		job->first = (job->first + 1) % job->depth;
		job->nended--;
	}
	return (int)n;
}

static struct io_u *event(struct thread_data *td, int number)
{
	const struct job *job = td->io_ops_data;

	return job->events[number];
}

#define TEXT_OPTION(option, member, text)                                                          \
	{                                                                                          \
		.name = option, .lname = option, .type = FIO_OPT_STR_STORE,                        \
		.off1 = offsetof(struct weir_options, member), .help = text,                       \
		.category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_NETIO,                            \
	}
#define NUMBER_OPTION(option, member, most, usual, text)                                           \
	{                                                                                          \
		.name = option, .lname = option, .type = FIO_OPT_INT,                              \
		.off1 = offsetof(struct weir_options, member), .minval = 0, .maxval = most,        \
		.def = usual, .help = text, .category = FIO_OPT_C_ENGINE,                          \
		.group = FIO_OPT_G_NETIO,                                                          \
	}

static struct fio_option options[] = {
	{
		.name = "weir_protocol",
		.lname = "weir_protocol",
		.type = FIO_OPT_STR,
		.off1 = offsetof(struct weir_options, protocol),
		.help = "Protocol of the server",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_NETIO,
		.posval = {{.ival = "nfs", .oval = TARGET_NFS, .help = "NFS version 3"},
			   {.ival = "block",
			    .oval = TARGET_BLOCK,
			    .help = "the block store of weir's examples"}},
	},
	TEXT_OPTION("weir_server", server, "HOST[:PORT], [V6]:PORT, or the name of a server"),
	TEXT_OPTION("weir_driver", driver, "Driver of weir, such as shm or verbs"),
	TEXT_OPTION("weir_driver_options", driver_options, "key=value,... for the driver"),
	TEXT_OPTION("weir_profile", profile, "Profile of weir: an INI file"),
	TEXT_OPTION("weir_export", export, "NFS: export to request from MOUNT"),
	TEXT_OPTION("weir_handle", handle, "NFS: @FILE with the export's root handle"),
	TEXT_OPTION("weir_mount_server", mount_server, "NFS: host of MOUNT"),
	NUMBER_OPTION("weir_mount_port", mount_port, 65535, "0", "NFS: MOUNT's TCP port"),
	NUMBER_OPTION("weir_timeout", timeout_ms, TIMEOUT_MAX_MS, "0",
		      "Time limit for an answer in ms; 0: the profile's"),
	NUMBER_OPTION("weir_retries", retries, RETRIES_MAX, "10",
		      "Retransmissions of a call, and attempts to reconnect"),
	{.name = NULL},
};

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name = "weir",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_NO_OFFLOAD |
		 FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup = weir_setup,
	.init = weir_init,
	.cleanup = weir_cleanup,
	.iomem_alloc = iomem_alloc,
	.iomem_free = iomem_free,
	.io_u_init = init_io,
	.io_u_free = free_io,
	.open_file = open_file,
	.close_file = close_file,
	.unlink_file = unlink_file,
	.invalidate = invalidate,
	.get_file_size = get_file_size,
	.queue = queue,
	.commit = commit,
	.getevents = getevents,
	.event = event,
	.options = options,
	.option_struct_size = sizeof(struct weir_options),
};

static struct ioengine_ops *own_ops(void)
{
	return &ioengine;
}
