/* SPDX-License-Identifier: BSD-3-Clause */

/* Starts and stops the server, connects to it, and makes calls (client.h). */

#include "client.h"

#include <weir/binding_nfs.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *client_program;
const char *client_backend = "ram";
bool client_has_two;
char client_dir[64];

#define WAIT_NS (60ull * 1000000000u)
/* tries of a call of a patient client; on a busy machine, a call can take longer than the server
 * waits for it */
#define PATIENCE 4

/* If another implementation's server runs: its address, and the handle of its root. */
static const char *others_addr, *others_root;

static pid_t main_process;

static void remove_dir(void)
{
	pid_t child;
	int status;

	if (getpid() != main_process)
		return;
	child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", client_dir, (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
}

void client_main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");

	if (argc > 3 && strcmp(argv[1], "kernel") == 0) {
		client_backend = argv[1];
		others_addr = argv[2];
		others_root = argv[3];
		return;
	}
	if (argc > 1)
		client_program = argv[1];
	if (argc > 2)
		client_backend = argv[2];
	client_has_two = argc > 3 && strcmp(argv[3], "two") == 0;
	if (!client_program) {
		fprintf(stderr, "usage: %s PATH-OF-WEIR-NFSD [ram|dir [two]]\n", argv[0]);
		exit(2);
	}
	if (snprintf(client_dir, sizeof(client_dir), "%s/weir-nfsd-test-XXXXXX",
		     tmp ? tmp : "/tmp") >= (int)sizeof(client_dir) ||
	    !mkdtemp(client_dir)) {
		perror("mkdtemp");
		exit(2);
	}
	main_process = getpid();
	atexit(remove_dir);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the server ---- */

static void parse_handle(struct nfs3_fh *fh, const char *hex)
{
	fh->len_bytes = 0;
	for (; fh->len_bytes < NFS3_FH_MAX && hex[0] > ' ' && hex[1] > ' '; hex += 2) {
		char byte[3] = {hex[0], hex[1], '\0'};

		fh->data[fh->len_bytes++] = (uint8_t)strtoul(byte, NULL, 16);
	}
}

static void read_handles(struct client *c, uint32_t n)
{
	FILE *out = fdopen(c->server_out, "r");
	char line[512];

	assert_non_null(out);
	c->nroots = 0;
	while (c->nroots < n && fgets(line, sizeof(line), out)) {
		const char *hex = strstr(line, " handle ");

		if (hex)
			parse_handle(&c->roots[c->nroots++], hex + strlen(" handle "));
	}
	assert_int_equal(c->nroots, n);
	fclose(out);
}

/* Writes the profile of the servers, whose threads share their CPUs with other tests and therefore
 * sleep while they have no work. Returns its path. */
static const char *write_profile(void)
{
	static char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s/profile.ini", client_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "[engine]\nidle = event\n%s", client_has_two ? "lcores = 0,1\n" : "");
	fclose(file);
	return path;
}

/* Returns the number of exports in a file, which is the number of its sections. */
static uint32_t sections_of(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];
	uint32_t n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		n += line[0] == '[';
	fclose(file);
	return n;
}

void client_start_server(struct client *c, const char *const *args)
{
	const char *argv[32] = {client_program, "--driver", "shm",
				"--foreground", "--listen", c->addr};
	bool has_profile = false;
	uint32_t n = 6, nexports = 0;
	int fds[2];

	for (; *args; args++) {
		has_profile |= strcmp(*args, "--profile") == 0;
		argv[n++] = *args;
		nexports += strcmp(*args, "--export") == 0;
		if (strcmp(*args, "--exports") == 0)
			nexports += sections_of(args[1]);
	}
	if (!has_profile) {
		argv[n++] = "--profile";
		argv[n++] = write_profile();
	}
	assert_int_equal(pipe(fds), 0);
	c->server = fork();
	assert_true(c->server >= 0);
	if (c->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execv(client_program, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fds[1]);
	c->server_out = fds[0];
	if (nexports > 0)
		read_handles(c, nexports);
}

void client_kill_server(struct client *c, int signo)
{
	int status;

	kill(c->server, signo);
	assert_int_equal(waitpid(c->server, &status, 0), c->server);
	if (signo != SIGKILL) {
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	c->server = 0;
}

/* ---- the connection ---- */

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct client *c = arg;

	(void)conn;
	(void)error;
	if (event == WEIR_CONN_OPEN)
		c->opened++;
	else
		c->closed++;
}

void client_poll(struct client *c)
{
	uint64_t now = now_ns();

	weir_engine_idle(c->engine, weir_engine_poll(c->engine, 0, now), now);
}

static void wait_for(struct client *c, const int *flag)
{
	uint64_t end = now_ns() + WAIT_NS;

	while (!*flag && now_ns() < end)
		client_poll(c);
	assert_true(*flag);
}

void client_connect(struct client *c)
{
	struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_event, .arg = c};

	c->opened = c->closed = 0;
	assert_int_equal(weir_connect(c->engine, c->addr, &options, &c->conn), 0);
	wait_for(c, &c->opened);
}

void client_disconnect(struct client *c)
{
	if (!c->closed) {
		weir_conn_close(c->conn);
		wait_for(c, &c->closed);
	}
}

void client_export(char *text, size_t bytes)
{
	static int serial;

	if (strcmp(client_backend, "ram") == 0) {
		snprintf(text, bytes, "vol=ram:64m");
		return;
	}
	snprintf(text, bytes, "vol=dir:%s/%d", client_dir, serial++);
	assert_int_equal(mkdir(strchr(text, ':') + 1, 0777), 0);
	assert_int_equal(chmod(strchr(text, ':') + 1, 01777), 0);
}

/* Creates an engine and a region, and connects to the server. */
static void open_client(struct client *c, const struct weir_profile *profile)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options),
					      .len_bytes = CLIENT_MEM,
					      .page_bytes = 4096,
					      .flags = WEIR_REGION_NO_HUGE,
					      .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};

	assert_int_equal(weir_engine_create(profile, &c->engine), 0);
	assert_int_equal(weir_region_create(&options, &c->region), 0);
	assert_int_equal(weir_engine_add_region(c->engine, c->region), 0);
	weir_region_info(c->region, &info);
	c->mem = info.base;
	client_connect(c);
}

void client_join(struct client *c, const struct client *first)
{
	struct weir_profile profile;

	memset(c, 0, sizeof(*c));
	c->uid = first->uid;
	c->gid = first->gid;
	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_EVENT;
	memcpy(c->addr, first->addr, sizeof(c->addr));
	open_client(c, &profile);
}

void client_start(struct client *c, const char *const *args)
{
	static int serial;
	struct weir_profile profile;
	char export[128];
	const char *usual[] = {"--export", export, "--state", client_dir, NULL};

	memset(c, 0, sizeof(*c));
	c->uid = c->gid = 1000;
	weir_profile_defaults(&profile);
	profile.idle = WEIR_IDLE_EVENT;
	if (others_addr) {
		snprintf(profile.driver, sizeof(profile.driver), "verbs");
		snprintf(c->addr, sizeof(c->addr), "%s", others_addr);
		parse_handle(&c->roots[0], others_root);
	} else {
		client_export(export, sizeof(export));
		snprintf(c->addr, sizeof(c->addr), "nfsd-test-%d-%d", (int)getpid(), serial++);
		client_start_server(c, args ? args : usual);
	}
	open_client(c, &profile);
}

void client_stop(struct client *c)
{
	client_disconnect(c);
	weir_engine_destroy(c->engine);
	weir_region_destroy(c->region);
	if (c->server)
		client_kill_server(c, SIGTERM);
}

/* ---- calls ---- */

static int put_args(struct weir_xdr_out *out, uint32_t proc, const union client_args *a)
{
	switch (proc) {
	case NFS3_NULL:
		return 0;
	case NFS3_SETATTR:
		return nfs3_setattr_args_put(out, &a->setattr);
	case NFS3_LOOKUP:
	case NFS3_REMOVE:
	case NFS3_RMDIR:
		return nfs3_dirop_put(out, &a->dirop);
	case NFS3_ACCESS:
		return nfs3_access_args_put(out, &a->access);
	case NFS3_READ:
		return nfs3_read_args_put(out, &a->read);
	case NFS3_WRITE:
		return nfs3_write_head_put(out, &a->write);
	case NFS3_CREATE:
		return nfs3_create_args_put(out, &a->create);
	case NFS3_MKDIR:
	case NFS3_SYMLINK:
		return nfs3_mkdir_args_put(out, &a->mkdir);
	case NFS3_MKNOD:
		return nfs3_mknod_args_put(out, &a->mknod);
	case NFS3_RENAME:
		return nfs3_rename_args_put(out, &a->rename);
	case NFS3_LINK:
		return nfs3_link_args_put(out, &a->link);
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		return nfs3_list_put_args(out, &a->readdir, proc == NFS3_READDIRPLUS);
	case NFS3_COMMIT:
		return nfs3_commit_args_put(out, &a->commit);
	default:
		return nfs3_fh_put(out, &a->fh);
	}
}

static int get_res(struct weir_xdr_in *in, uint32_t proc, union client_res *r)
{
	switch (proc) {
	case NFS3_NULL:
		r->status = NFS3_OK;
		return 0;
	case NFS3_GETATTR:
		return nfs3_getattr_res_get(in, &r->getattr);
	case NFS3_SETATTR:
	case NFS3_REMOVE:
	case NFS3_RMDIR:
		return nfs3_wcc_res_get(in, &r->wcc);
	case NFS3_LOOKUP:
		return nfs3_lookup_res_get(in, &r->lookup);
	case NFS3_ACCESS:
		return nfs3_access_res_get(in, &r->access);
	case NFS3_READLINK:
		return nfs3_readlink_head_get(in, &r->readlink);
	case NFS3_READ:
		return nfs3_read_head_get(in, &r->read);
	case NFS3_WRITE:
		return nfs3_write_res_get(in, &r->write);
	case NFS3_RENAME:
		return nfs3_rename_res_get(in, &r->rename);
	case NFS3_LINK:
		return nfs3_link_res_get(in, &r->link);
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		return nfs3_readdir_head_get(in, &r->readdir);
	case NFS3_FSSTAT:
		return nfs3_fsstat_res_get(in, &r->fsstat);
	case NFS3_FSINFO:
		return nfs3_fsinfo_res_get(in, &r->fsinfo);
	case NFS3_PATHCONF:
		return nfs3_pathconf_res_get(in, &r->pathconf);
	case NFS3_COMMIT:
		return nfs3_commit_res_get(in, &r->commit);
	default:
		return nfs3_create_res_get(in, &r->create);
	}
}

static void get_entries(struct client *c, struct weir_xdr_in *in, bool plus)
{
	bool more = true;

	for (c->nentries = 0; more; c->nentries += more) {
		assert_true(c->nentries < CLIENT_ENTRIES);
		assert_int_equal(nfs3_list_get(in, &c->entries[c->nentries], plus, &more, &c->eof),
				 0);
	}
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct client *c = arg;
	const void *data;

	c->done++;
	c->status = result->status;
	if (result->status != 0)
		return;
	c->reply_stat = result->reply->reply_stat;
	c->accept_stat = result->reply->accept_stat;
	if (c->reply_stat != WEIR_RPC_MSG_ACCEPTED || c->accept_stat != WEIR_RPC_SUCCESS)
		return;
	assert_int_equal(get_res(result->results, c->proc, &c->res), 0);
	c->njukebox += c->res.status == NFS3ERR_JUKEBOX;
	if (c->res.status == NFS3_OK && (c->proc == NFS3_READ || c->proc == NFS3_READLINK)) {
		uint8_t *to = c->mem + CLIENT_MEM / 2;

		assert_int_equal(
			weir_result_opaque(call, result, 0, &data, CLIENT_MEM / 2, &c->data_bytes),
			0);
		if (data != to && c->data_bytes > 0)
			memcpy(to, data, c->data_bytes);
		c->data = to;
	}
	if (c->res.status == NFS3_OK && (c->proc == NFS3_READDIR || c->proc == NFS3_READDIRPLUS))
		get_entries(c, result->results, c->proc == NFS3_READDIRPLUS);
	assert_int_equal(weir_xdr_remaining(result->results), 0);
}

static struct weir_call *begin(struct client *c, uint32_t proc, uint32_t results_max)
{
	static uint8_t body[WEIR_RPC_AUTH_BODY_MAX];
	struct weir_rpc_auth_sys sys = {
		.name = "test", .name_len_bytes = 4, .uid = c->uid, .gid = c->gid};
	struct weir_rpc_auth cred;
	struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = NFS3_PROGRAM,
		.vers = NFS3_V3,
		.proc = proc,
		.args_max_bytes = 8192,
		.results_max_bytes = results_max,
		.cred = c->is_anonymous ? NULL : &cred,
		.ulb = c->sends_inline ? NULL : weir_ulb_nfs(3),
		.done = on_done,
		.arg = c,
	};
	struct weir_call *call;

	assert_int_equal(weir_rpc_auth_sys_encode(&sys, body, &cred), 0);
	call = weir_call_begin(c->conn, &params);
	assert_non_null(call);
	c->proc = proc;
	return call;
}

void client_begin(struct client *c, uint32_t proc)
{
	uint32_t max = weir_ulb_nfs_results_max(3, proc, c->args.readdir.maxcount);
	uint32_t wants = proc == NFS3_READ ? c->args.read.count : NFS3_PATH_MAX;
	struct weir_call *call;

	if (wants > CLIENT_MEM / 2)
		wants = CLIENT_MEM / 2;
	if (max > 96u << 10)
		max = 96u << 10;
	if (c->sends_inline && (proc == NFS3_READ || proc == NFS3_READLINK))
		max += wants + 4;
	call = begin(c, proc, max);
	put_args(weir_call_args(call), proc, &c->args);
	if (proc == NFS3_WRITE)
		assert_int_equal(weir_call_arg_item(call, c->region, c->mem, c->args.write.count),
				 0);
	else if (proc == NFS3_SYMLINK)
		assert_int_equal(weir_call_arg_item(call, c->region, c->mem, c->data_bytes), 0);
	else if ((proc == NFS3_READ || proc == NFS3_READLINK) && !c->sends_inline)
		assert_int_equal(weir_call_result_item(call, c->region, c->mem + CLIENT_MEM / 2,
						       wants ? wants : 4),
				 0);
	assert_int_equal(weir_call_submit(call), 0);
}

void client_end(struct client *c, int n)
{
	uint64_t end = now_ns() + WAIT_NS;

	while (c->done < n && now_ns() < end)
		client_poll(c);
	assert_int_equal(c->done, n);
	c->done = 0;
}

void client_try(struct client *c, uint32_t proc)
{
	client_begin(c, proc);
	client_end(c, 1);
}

enum nfs3_status client_call(struct client *c, uint32_t proc)
{
	int tries = c->is_patient ? PATIENCE : 1;

	do {
		client_try(c, proc);
		assert_int_equal(c->status, 0);
		assert_int_equal(c->reply_stat, WEIR_RPC_MSG_ACCEPTED);
		assert_int_equal(c->accept_stat, WEIR_RPC_SUCCESS);
	} while (c->res.status == NFS3ERR_JUKEBOX && --tries > 0);
	return c->res.status;
}

void client_call_raw(struct client *c, uint32_t proc, const void *raw, uint32_t bytes)
{
	struct weir_call *call = begin(c, proc, 4096);

	assert_int_equal(weir_xdr_put_opaque_fixed(weir_call_args(call), raw, bytes), 0);
	assert_int_equal(weir_call_submit(call), 0);
	client_end(c, 1);
}
