/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and stops the server: the pollers, and everything that the pollers own. */
#include "server.h"

#include <errno.h>
#include <sodium.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weir/inspect.h>

#include "server_clock.h"

#define REPLY_ROOM   8192u /* bytes of a bulk buffer that are reserved for headers and attributes */
#define TRANSFER_MAX (1u << 20)
#define READDIR_MAX  (64u << 10)
#define READDIR_MIN  (4u << 10)

static uint32_t smaller(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Returns the size of the bulk buffers of the engine whose ones are the smallest. */
static uint64_t least_bulk_bytes(const struct weir_profile *profile)
{
	uint32_t cpus[WEIR_RUNTIME_THREADS_MAX];
	int n = weir_profile_lcores(profile->lcores, cpus, WEIR_RUNTIME_THREADS_MAX);
	struct weir_profile own = {.struct_bytes = sizeof(own)};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < n; i++)
		if (weir_profile_for_cpu(profile, (int)cpus[i], &own) == 0 &&
		    own.bulk_buffer_bytes < least)
			least = own.bulk_buffer_bytes;
	return least == UINT64_MAX ? profile->bulk_buffer_bytes : least;
}

/*
 * Sets the maximum sizes of one call. They depend on the profile's buffers, which hold data that
 * cannot be placed directly. Returns 0 or -EINVAL after an error.
 */
static int set_limits(struct server *server)
{
	const struct weir_profile *profile = &server->profile;
	uint64_t bulk_bytes = least_bulk_bytes(profile);

	if (bulk_bytes < READDIR_MIN + REPLY_ROOM) {
		fprintf(stderr,
			"weir-nfsd: the profile's bulk_buffer_bytes must be at least 12k\n");
		return -EINVAL;
	}
	server->transfer_max = smaller(bulk_bytes, TRANSFER_MAX);
	server->transfer_max = smaller(profile->read_bytes, server->transfer_max);
	server->transfer_max = smaller(profile->write_bytes, server->transfer_max) & ~4095u;
	server->readdir_max = smaller(bulk_bytes - REPLY_ROOM, READDIR_MAX);
	return 0;
}

/*
 * Loads or makes the secret that signs handles. If the files of an export outlive the server, the
 * secret must outlive the server as well, so that their handles stay valid. Returns 0 or -errno.
 */
static int load_secret(struct server *server, const char *state)
{
	bool is_needed = false;

	handle_key_init(&server->key);
	for (uint32_t i = 0; i < server->exports.n; i++)
		is_needed |= !server->exports.all[i].ops->is_volatile;
	if (!is_needed)
		return 0;
	return handle_key_load(&server->key, state);
}

int server_prepare(struct server *server)
{
	for (uint32_t i = 0; i < server->exports.n; i++) {
		struct export *export = &server->exports.all[i];
		int rc = export->ops->prepare ? export->ops->prepare(export) : 0;

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int open_exports(struct server *server)
{
	for (uint32_t i = 0; i < server->exports.n; i++) {
		struct export *export = &server->exports.all[i];
		int rc = export->ops->open(export, server);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/*
 * Stops the server after the device was removed. A device that returns under the same name cannot
 * be used either, because all engines and registrations belong to the removed device. A supervisor
 * has to restart the server until the device is back.
 */
static void on_lost(struct weir_listener *listener, int error, void *arg)
{
	struct server *server = arg;

	(void)listener;
	fprintf(stderr,
		"weir-nfsd: the device was removed, so no client can connect (%s). The server "
		"ends: start it again when the device is back\n",
		strerror(-error));
	server->is_lost = true;
	server_quit(server);
}

/*
 * Decides on the connection of a client. Returns 0, or -EACCES if the client may mount no export.
 * Any thread is allowed to call this function.
 */
static int may_connect(const struct weir_peer *peer, void *arg)
{
	struct server *server = arg;
	struct client client;

	client_of_peer(&client, peer, &server->exports);
	return client_may_connect(&client, &server->exports) ? 0 : -EACCES;
}

static int start_listening(struct server *server, const char *addr)
{
	struct weir_program program = nfs3_v3_program(NULL);
	struct weir_listen_options options = {
		.struct_bytes = sizeof(options),
		.programs = &program,
		.nprograms = 1,
		.on_lost = on_lost,
		.on_event = op_conn_event,
		.accept = may_connect,
		.arg = server,
	};
	int rc;

	program.handle = op_handle;
	program.arg_sink = op_place;
	program.arg = server;
	rc = weir_runtime_listen(server->runtime, addr, &options);

	server->is_listening = rc == 0;
	if (rc != 0)
		fprintf(stderr, "weir-nfsd: can't listen on '%s' (driver %s): %s\n", addr,
			server->profile.driver, strerror(-rc));
	return rc;
}

void server_root(struct server *server, const struct export *export, struct nfs3_fh *fh)
{
	struct handle_id id;

	export->ops->root(export->fs, &id);
	handle_make(&server->key, export, &id, fh);
}

static uint32_t on_poll(struct weir_runtime *runtime, uint32_t thread, uint64_t now_ns, void *arg)
{
	struct server *server = arg;

	struct poller *poller = &server->pollers[thread];
	uint64_t npolls = atomic_load_explicit(&poller->npolls, memory_order_relaxed);

	(void)runtime;
	/* Only this thread writes the number, so the increment need not be atomic. */
	atomic_store_explicit(&poller->npolls, npolls + 1, memory_order_relaxed);
	return poller_poll(poller, now_ns);
}

/*
 * Starts the runtime, and makes a poller for each of its threads. If the profile names no lcores,
 * there is one thread, which runs on any core. Returns 0, or -errno after it has printed the
 * reason.
 */
static int make_pollers(struct server *server)
{
	char error[512];
	const struct weir_runtime_options options = {
		.struct_bytes = sizeof(options),
		.name = "weir-nfsd",
		.poll = on_poll,
		.arg = server,
		.err = error,
		.err_bytes = sizeof(error),
	};
	struct weir_runtime *runtime;
	int rc = weir_runtime_create(&server->profile, &options, &runtime);

	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: %s\n", error);
		return rc;
	}
	server->runtime = runtime;
	/* The threads of exports and of MOUNT, which this thread creates later, inherit this. If
	 * the process may use no other core, they share the pollers' ones. */
	(void)weir_runtime_keep_off();
	server->npollers = weir_runtime_threads(runtime);
	for (uint32_t i = 0; i < server->npollers; i++)
		poller_init(&server->pollers[i], server, i);
	for (uint32_t i = 0; i < server->exports.n; i++)
		server->exports.all[i].owner = &server->pollers[i % server->npollers];
	return 0;
}

int server_start(struct server *server, const struct weir_profile *profile, const char *addr,
		 const char *state)
{
	int rc;

	server->profile = *profile;
	if (sodium_init() < 0) {
		fprintf(stderr, "weir-nfsd: libsodium can't start\n");
		return -EIO;
	}
	randombytes_buf(server->write_verf, sizeof(server->write_verf));
	rc = set_limits(server);
	if (rc == 0)
		rc = exports_complete(&server->exports);
	if (rc == 0)
		rc = load_secret(server, state);
	if (rc == 0)
		rc = make_pollers(server);
	if (rc == 0)
		rc = open_exports(server);
	if (rc == 0)
		rc = start_listening(server, addr);
	return rc;
}

uint32_t server_poll(struct server *server)
{
	return server->runtime ? weir_runtime_poll(server->runtime) : 0;
}

static bool is_busy(const struct server *server)
{
	for (uint32_t i = 0; i < server->npollers; i++)
		if (server->pollers[i].naway > 0 || server->pollers[i].nreleases > 0)
			return true;
	for (uint32_t i = 0; i < server->exports.n; i++) {
		const struct export *export = &server->exports.all[i];

		if (export->ops->is_busy && export->ops->is_busy(export->fs))
			return true;
	}
	return false;
}

/*
 * Returns true if a request has not been answered, or its reply is not sent yet. Its client would
 * have to call again, so the server waits for it, but only for a limited time.
 */
static bool has_requests(const struct server *server)
{
	for (uint32_t i = 0; i < server->npollers; i++)
		if (weir_engine_requests(server->pollers[i].engine, NULL, 0) > 0)
			return true;
	return false;
}

static void log_hanging(const struct server *server)
{
	for (uint32_t i = 0; i < server->exports.n; i++) {
		const struct export *export = &server->exports.all[i];

		if (export->ops->is_busy && export->ops->is_busy(export->fs))
			fprintf(stderr,
				"weir-nfsd: export %s: the file system of %s has not answered for "
				"%u seconds: the server ends without waiting for it. Data that "
				"were not stable may be lost, as in a crash. See 'dmesg' and "
				"'findmnt --target %s' for the disk, host or process that it waits "
				"for; until that answers, the kernel may keep this process\n",
				export->name, export->path, SERVER_DRAIN_S, export->path);
	}
}

/*
 * Waits until all calls have ended. Until then, replies use the exports' memory, and pollers use
 * the memory of other pollers. Returns true if all calls have ended. Returns false if a file system
 * does not answer. The caller must then not release memory, because threads and the kernel still
 * use memory of this process.
 */
static bool drain(struct server *server)
{
	uint64_t end_ns = server_now_ns() + SERVER_DRAIN_S * 1000000000ull;

	/* A poll without work shows that all messages that had arrived were processed. */
	while (server_poll(server) > 0 || is_busy(server) || has_requests(server)) {
		if (server_now_ns() < end_ns)
			continue;
		if (!is_busy(server))
			break; /* clients go on to call, or do not receive their replies */
		log_hanging(server);
		return false;
	}
	for (uint32_t i = 0; i < server->exports.n; i++)
		if (server->exports.all[i].ops->stop)
			server->exports.all[i].ops->stop(server->exports.all[i].fs);
	return true;
}

bool server_drain(struct server *server)
{
	/* If the start failed, the threads have not run yet. */
	if (server->runtime)
		(void)weir_runtime_stop(server->runtime, 0);
	server->is_single = server->is_stopping = true;
	if (!server->is_listening)
		return true;
	server_poll(server); /* this takes over the connections that are not yet assigned to an
				engine */
	return drain(server);
}

void server_stop(struct server *server)
{
	struct weir_runtime *runtime = server->runtime;

	server->runtime = NULL;
	/* Connections must end before the exports, because replies use the exports' memory. */
	weir_runtime_destroy(runtime);
	for (uint32_t i = server->exports.n; i-- > 0;)
		if (server->exports.all[i].ops)
			server->exports.all[i].ops->close(server->exports.all[i].fs);
	for (uint32_t i = 0; i < server->npollers; i++)
		poller_fini(&server->pollers[i]);
	exports_free(&server->exports);
}

int server_make_wake(struct server *server)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), error = errno;

	if (fd < 0) {
		fprintf(stderr, "weir-nfsd: eventfd: %s\n", strerror(error));
		return -error;
	}
	server->wake_fd = fd;
	return 0;
}

void server_wait(struct server *server, int wait_ms)
{
	struct pollfd pfd = {.fd = server->wake_fd, .events = POLLIN};
	uint64_t count;

	if (poll(&pfd, 1, wait_ms) > 0)
		(void)!read(server->wake_fd, &count, sizeof(count));
}

void server_wake(struct server *server)
{
	uint64_t one = 1;
	int error = errno;

	/* write(2) fails only if the counter is full. Then the descriptor is readable already. */
	if (server->wake_fd >= 0)
		(void)!write(server->wake_fd, &one, sizeof(one));
	errno = error;
}

void server_quit(struct server *server)
{
	atomic_store(server->stop, true);
	server_wake(server);
}

void server_begin(struct server *server)
{
	(void)weir_runtime_start(server->runtime);
}

void server_halt(struct server *server)
{
	(void)weir_runtime_stop(server->runtime, 0);
	server->is_single = true;
}
