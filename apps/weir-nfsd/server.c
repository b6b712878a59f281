/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and stop of all that the poller owns, and its loop. */
#include "server.h"

#include <errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op_table.h"
#include "weir_ulb_nfs.h"

#define REPLY_ROOM    8192u /* of a bulk buffer, for headers and attributes */
#define TRANSFER_MAX  (1u << 20)
#define READDIR_MAX   (64u << 10)
#define READDIR_MIN   (4u << 10)
#define IDLE_POLLS    64u
#define IDLE_SLEEP_US 50u

static uint32_t smaller(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* What one call may move, by the buffers that the profile has for data that can't be placed. */
static int set_limits(struct server *server)
{
	const struct weir_profile *profile = &server->profile;

	if (profile->bulk_buffer_bytes < READDIR_MIN + REPLY_ROOM) {
		fprintf(stderr, "weir-nfsd: the profile's bulk_buffer_bytes must be at least 12k\n");
		return -EINVAL;
	}
	server->transfer_max = smaller(profile->bulk_buffer_bytes, TRANSFER_MAX);
	server->transfer_max = smaller(profile->read_bytes, server->transfer_max);
	server->transfer_max = smaller(profile->write_bytes, server->transfer_max) & ~4095u;
	server->readdir_max = smaller(profile->bulk_buffer_bytes - REPLY_ROOM, READDIR_MAX);
	return 0;
}

/* Handles of files that outlive the server need a secret that does, too. */
static int load_secret(struct server *server, const char *state)
{
	bool is_needed = false;
	char path[4096];
	int rc;

	handle_key_init(&server->key);
	for (uint32_t i = 0; i < server->exports.n; i++)
		is_needed |= !server->exports.all[i].ops->is_volatile;
	if (!is_needed)
		return 0;
	if (mkdir(state, 0700) != 0 && errno != EEXIST) {
		fprintf(stderr, "weir-nfsd: can't make %s: %s. Name another directory with --state\n", state,
			strerror(errno));
		return -EIO;
	}
	if (snprintf(path, sizeof(path), "%s/secret", state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	rc = handle_key_load(&server->key, path);
	if (rc != 0)
		fprintf(stderr,
			"weir-nfsd: no secret for file handles in %s: %s. It must be a file of mode 600, of "
			"16 bytes\n",
			path, strerror(-rc));
	return rc;
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

static int start_listening(struct server *server, const char *addr)
{
	struct weir_program program = {
		.prog = NFS3_PROGRAM,
		.vers_low = NFS3_VERSION,
		.vers_high = NFS3_VERSION,
		.nprocs = NFS3_NPROCS,
		.ulb = weir_ulb_nfs(NFS3_VERSION),
		.handle = op_handle,
		.place = op_place,
		.arg = server,
		.non_idempotent = op_non_idempotent,
	};
	struct weir_listen_options options = {.programs = &program, .nprograms = 1};
	int rc = weir_listen(server->engine, addr, &options, &server->listener);

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

int server_start(struct server *server, const struct weir_profile *profile, const char *addr,
		 const char *state)
{
	int rc;

	TAILQ_INIT(&server->free_ops);
	server->profile = *profile;
	if (sodium_init() < 0) {
		fprintf(stderr, "weir-nfsd: libsodium can't start\n");
		return -EIO;
	}
	randombytes_buf(server->write_verf, sizeof(server->write_verf));
	rc = set_limits(server);
	if (rc == 0)
		rc = load_secret(server, state);
	if (rc != 0)
		return rc;
	rc = weir_engine_create(profile, &server->engine);
	if (rc != 0) {
		fprintf(stderr, "weir-nfsd: no engine (driver %s): %s\n", profile->driver, strerror(-rc));
		return rc;
	}
	rc = open_exports(server);
	if (rc == 0)
		rc = start_listening(server, addr);
	return rc;
}

void server_stop(struct server *server)
{
	weir_listener_close(server->listener);
	server->is_stopping = true;
	/* Connections end first: until then replies use the exports' memory. */
	for (uint32_t i = 0; i < server->exports.n; i++) {
		struct export *export = &server->exports.all[i];

		if (export->fs && export->ops->drain)
			export->ops->drain(export->fs);
	}
	if (server->engine)
		weir_engine_destroy(server->engine);
	server->engine = NULL;
	for (uint32_t i = server->exports.n; i-- > 0;)
		if (server->exports.all[i].ops)
			server->exports.all[i].ops->close(server->exports.all[i].fs);
	op_free_all(server);
}

uint64_t server_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A thread that was given cores polls on them; any other lets others run when there is nothing to do. */
static bool pin(const struct weir_profile *profile)
{
	uint32_t cpus[256];
	cpu_set_t set;

	if (weir_profile_lcores(profile->lcores, cpus, 256) <= 0)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpus[0], &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		return true;
	fprintf(stderr, "weir-nfsd: can't run on core %u: %s; running on any\n", cpus[0], strerror(errno));
	return false;
}

void server_run(struct server *server, const volatile sig_atomic_t *stop)
{
	bool is_pinned = pin(&server->profile);
	enum weir_idle idle = server->profile.idle;
	bool spins = idle == WEIR_IDLE_SPIN || (idle == WEIR_IDLE_AUTO && is_pinned);
	bool is_known = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
	uint32_t empty = 0;

	while (!*stop) {
		uint32_t work = weir_engine_poll(server->engine, 0, server_now_ns());

		for (uint32_t i = 0; i < server->exports.n; i++) {
			struct export *export = &server->exports.all[i];

			if (export->ops->poll)
				work += export->ops->poll(export->fs);
		}
		empty = work > 0 ? 0 : empty + 1;
		if (spins || empty < IDLE_POLLS)
			continue;
		empty = 0;
		if (idle == WEIR_IDLE_SLEEP)
			usleep(IDLE_SLEEP_US);
		else
			sched_yield();
	}
	if (is_known)
		rte_thread_unregister();
}
