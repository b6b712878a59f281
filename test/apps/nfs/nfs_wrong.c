/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NFSv3 responder that breaks the protocol, or acts in valid but rare ways. weir-nfs must cope
 * with it.
 *
 *     nfs_wrong ADDR BYTES [WAY...]        prints "ready" when it listens; SIGTERM ends it
 *
 * Its root directory has "file" (of BYTES bytes: byte i is i * 7 + i / 256), "link" and "sub". A
 * file that a client creates is "file" under another name. Handles are 8 bytes: an object, a level.
 * The WAYs are the arguments of has() in this file.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/binding_nfs.h>
#include <weir/request.h>

#include "nfs3_list.h"
#include "nfs3_op.h"

#define STORE_BYTES  (16u << 20)
#define SHORT_BYTES  1000u
#define PAGE_ENTRIES 10u

enum { ROOT = 1, FILE_ID, LINK, SUB, GONE };

static char **ways;
static int nways;
static volatile sig_atomic_t stop;
static struct weir_region *region;
static uint8_t *store; /* content of "file" */
static uint8_t *lie;   /* bytes that are sent in addition to those that the client asked for */
static uint64_t size;
static char created[256] = "file";
static uint32_t verf = 1, nrequests, nreads, nwrites, ncommits, njukebox, nremoves;

static bool has(const char *way)
{
	for (int i = 0; i < nways; i++)
		if (strcmp(ways[i], way) == 0)
			return true;
	return false;
}

static void make_fh(struct nfs3_fh *fh, uint32_t id, uint32_t level)
{
	fh->len_bytes = 8;
	memcpy(fh->data, &id, 4);
	memcpy(fh->data + 4, &level, 4);
}

static uint32_t fh_id(const struct nfs3_fh *fh, uint32_t *level)
{
	uint32_t id = GONE;

	*level = 0;
	if (fh->len_bytes == 8) {
		memcpy(&id, fh->data, 4);
		memcpy(level, fh->data + 4, 4);
	}
	return id;
}

static void make_attr(struct nfs3_fattr *attr, uint32_t id)
{
	static const enum nfs3_ftype types[] = {[ROOT] = NFS3_DIR,
						[FILE_ID] = NFS3_REG,
						[LINK] = NFS3_LNK,
						[SUB] = NFS3_DIR,
						[GONE] = NFS3_REG};

	*attr = (struct nfs3_fattr){.type = types[id], .mode = 0644, .nlink = 1, .fileid = id};
	attr->size = id == FILE_ID ? size : 0;
	if (id == FILE_ID && has("size-says-0"))
		attr->size = 0;
	if (id == FILE_ID && has("size-says-more"))
		attr->size = size + 100000;
	if (id == FILE_ID && has("size-says-less"))
		attr->size = size / 2;
}

static void set_post(struct nfs3_post_op_attr *post, uint32_t id)
{
	post->is_set = !has("no-attributes");
	make_attr(&post->attr, id);
}

static void getattr(struct weir_xdr_in *in, struct weir_xdr_out *out)
{
	struct nfs3_getattr_res res = {.status = NFS3_OK};
	struct nfs3_fh fh;
	uint32_t level, id;

	nfs3_fh_get(in, &fh);
	id = fh_id(&fh, &level);
	if (id < ROOT || id >= GONE)
		res.status = NFS3ERR_STALE;
	else
		make_attr(&res.attr, id);
	nfs3_getattr_res_put(out, &res);
}

static uint32_t id_of(const char *name)
{
	if (strcmp(name, "link") == 0)
		return LINK;
	if (strcmp(name, "sub") == 0)
		return SUB;
	return strcmp(name, created) == 0 || strcmp(name, "file") == 0 ? FILE_ID : GONE;
}

static void lookup(struct weir_xdr_in *in, struct weir_xdr_out *out)
{
	struct nfs3_lookup_res res = {.status = NFS3ERR_NOENT};
	struct nfs3_dirop args;
	char name[256] = "";
	uint32_t level, id;

	nfs3_dirop_get(in, &args);
	memcpy(name, args.name.data, args.name.len_bytes < 255 ? args.name.len_bytes : 0);
	fh_id(&args.dir, &level);
	id = id_of(name);
	if (id != GONE) {
		res.status = NFS3_OK;
		make_fh(&res.fh, id, level + 1);
		set_post(&res.attr, id);
	}
	nfs3_lookup_res_put(out, &res);
}

static void do_read(struct weir_request *req, struct weir_xdr_in *in, struct weir_xdr_out *out)
{
	struct nfs3_read_head res = {.status = NFS3_OK};
	struct nfs3_read_args args = {0};
	const uint8_t *data = store;
	uint32_t len = 0;

	nfs3_read_args_get(in, &args);
	nreads++;
	if (args.offset < size)
		len = size - args.offset < args.count ? (uint32_t)(size - args.offset) : args.count;
	if (has("short-reads") && len > SHORT_BYTES)
		len = SHORT_BYTES;
	if (has("read-fails-late") && args.offset >= size / 2)
		res.status = NFS3ERR_IO;
	if (has("nothing-and-no-end") && args.offset >= size / 2)
		len = 0;
	res.eof = args.offset + len >= size && !has("nothing-and-no-end");
	if (has("end-is-apart"))
		res.eof = len == 0;
	res.count = len;
	if (has("count-differs"))
		res.count++;
	if (has("more-than-asked")) {
		data = lie;
		len = args.count + 1;
		res.count = len;
	} else {
		data = store + (args.offset < size ? args.offset : 0);
	}
	set_post(&res.attr, FILE_ID);
	nfs3_read_head_put(out, &res);
	if (res.status == NFS3_OK)
		weir_request_result_item(req, region, data, len);
}

static void set_verf(uint8_t bytes[NFS3_VERF_BYTES])
{
	memset(bytes, 0, NFS3_VERF_BYTES);
	memcpy(bytes, &verf, sizeof(verf));
}

/* Acts like a server that restarts: discards data that were not committed. */
static void lose_all(void)
{
	memset(store, 0, STORE_BYTES);
	verf++;
}

static void do_write(struct weir_xdr_in *in, struct weir_xdr_out *out)
{
	struct nfs3_write_res res = {.status = NFS3_OK};
	struct nfs3_write_head args = {0};
	const void *data = NULL;
	uint32_t len = 0;

	nfs3_write_head_get(in, &args);
	weir_xdr_get_opaque_ref(in, &data, STORE_BYTES, &len);
	nwrites++;
	if (has("short-writes") && len > SHORT_BYTES)
		len = SHORT_BYTES;
	if (has("restart-at-write") && nwrites == 3)
		lose_all();
	if (args.offset > STORE_BYTES - len)
		res.status = NFS3ERR_NOSPC;
	else if (data)
		memcpy(store + args.offset, data, len);
	if (res.status == NFS3_OK && size < args.offset + len)
		size = args.offset + len;
	if (has("no-room-late") && args.offset > 0)
		res.status = NFS3ERR_NOSPC;
	res.count = has("writes-more") ? len + 1 : has("writes-nothing") ? 0 : len;
	res.committed = has("less-stable") ? NFS3_UNSTABLE : args.stable;
	set_verf(res.verf);
	nfs3_write_res_put(out, &res);
}

static void commit(struct weir_xdr_out *out)
{
	struct nfs3_commit_res res = {.status = NFS3_OK};

	ncommits++;
	if ((has("restart-at-commit") && ncommits == 1) || has("restart-always"))
		lose_all();
	set_verf(res.verf);
	nfs3_commit_res_put(out, &res);
}

static void create(struct weir_xdr_in *in, struct weir_xdr_out *out)
{
	struct nfs3_create_res res = {.status = NFS3_OK};
	struct nfs3_create_args args = {0};

	nfs3_create_args_get(in, &args);
	memset(created, 0, sizeof(created));
	memcpy(created, args.where.name.data, args.where.name.len_bytes);
	if (args.attr.set_size)
		size = args.attr.size;
	memset(store, 0, STORE_BYTES);
	res.fh.is_set = !has("no-attributes");
	make_fh(&res.fh.fh, FILE_ID, 1);
	set_post(&res.attr, FILE_ID);
	nfs3_create_res_put(out, &res);
}

static void do_remove(struct weir_xdr_out *out)
{
	/*
	 * Only the first REMOVE finds the file. The client must know that its second call is a
	 * retransmission.
	 */
	struct nfs3_wcc_res res = {.status = nremoves++ == 0 ? NFS3_OK : NFS3ERR_NOENT};

	nfs3_wcc_res_put(out, &res);
}

static void do_readlink(struct weir_request *req, struct weir_xdr_out *out)
{
	struct nfs3_readlink_head res = {.status = NFS3_OK};
	const char *target = has("link-to-itself") ? "link"
			     : has("link-up")	   ? "../../sub/../file"
						   : "file";
	uint32_t len = (uint32_t)strlen(target);

	if (has("link-with-nul")) {
		target = "fi\0le";
		len = 5;
	}
	set_post(&res.attr, LINK);
	nfs3_readlink_head_put(out, &res);
	memcpy(lie, target, len);
	weir_request_result_item(req, region, lie, len);
}

static void put_name(struct weir_xdr_out *out, uint64_t *cookie, const char *name, uint32_t len,
		     uint32_t id, uint32_t level, bool plus)
{
	struct nfs3_entryplus entry = {.fileid = id, .cookie = ++*cookie};

	if (has("same-cookie"))
		entry.cookie = 1;
	if (has("cookies-go-round"))
		entry.cookie = *cookie % 7 + 1;
	entry.name.len_bytes = len < 255 ? len : 255;
	memcpy(entry.name.data, name, entry.name.len_bytes);
	entry.attr.is_set = entry.fh.is_set = !has("no-attributes");
	make_attr(&entry.attr.attr, id);
	make_fh(&entry.fh.fh, id, level + 1);
	nfs3_list_put(out, &entry, plus);
}

/* Encodes a name of 300 bytes by hand, because the codec would shorten it. */
static void put_long_name(struct weir_xdr_out *out, bool plus)
{
	char name[300];

	memset(name, 'n', sizeof(name));
	weir_xdr_put_u32(out, 1);
	weir_xdr_put_u64(out, 9);
	weir_xdr_put_opaque(out, name, sizeof(name));
	weir_xdr_put_u64(out, 99);
	if (plus) {
		weir_xdr_put_u32(out, 0);
		weir_xdr_put_u32(out, 0);
	}
}

static void put_names(struct weir_xdr_out *out, uint32_t level, bool plus)
{
	uint64_t cookie = 100;

	put_name(out, &cookie, ".", 1, ROOT, level, plus);
	put_name(out, &cookie, "..", 2, ROOT, level, plus);
	if (has("bad-names")) {
		put_name(out, &cookie, "../escaped", 10, FILE_ID, level, plus);
		put_name(out, &cookie, "/tmp/escaped", 12, FILE_ID, level, plus);
		put_name(out, &cookie, "nul\0name", 8, FILE_ID, level, plus);
		put_name(out, &cookie, "", 0, FILE_ID, level, plus);
		put_long_name(out, plus);
	}
	if (has("terminal-names"))
		put_name(out, &cookie, "\033[2Jcleared", 11, FILE_ID, level, plus);
	if (has("link-then-directory")) {
		/*
		 * The listing has the name "sub" twice, first as a link. If the client accepted
		 * both, it would write the files of the directory to the target of the link.
		 */
		put_name(out, &cookie, "sub", 3, LINK, level, plus);
		put_name(out, &cookie, "sub", 3, SUB, level, plus);
		return;
	}
	put_name(out, &cookie, "file", 4, FILE_ID, level, plus);
	put_name(out, &cookie, "link", 4, LINK, level, plus);
	if (level == 0 || has("without-bottom"))
		put_name(out, &cookie, "sub", 3, SUB, level, plus);
}

static void readdir(struct weir_xdr_in *in, struct weir_xdr_out *out, bool plus)
{
	bool is_endless = has("same-cookie") || has("cookies-go-round") || has("many");
	struct nfs3_readdir_head res = {.status = NFS3_OK};
	struct nfs3_readdirplus_args args = {0};
	uint32_t level;

	nfs3_list_get_args(in, &args, plus);
	fh_id(&args.dir, &level);
	if (has("no-readdirplus") && plus)
		res.status = NFS3ERR_NOTSUPP;
	if (has("cookie-is-bad") && args.cookie != 0)
		res.status = NFS3ERR_BAD_COOKIE;
	set_post(&res.dir_attr, ROOT);
	nfs3_readdir_head_put(out, &res);
	if (res.status != NFS3_OK)
		return;
	if (has("empty-pages")) {
		nfs3_list_put_end(out, false);
		return;
	}
	for (uint32_t i = 0; is_endless && i < PAGE_ENTRIES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "n%llu", (unsigned long long)args.cookie);
		put_name(out, &args.cookie, name, (uint32_t)strlen(name), FILE_ID, level, plus);
	}
	if (!is_endless)
		put_names(out, level, plus);
	nfs3_list_put_end(out, !is_endless && !has("cookie-is-bad"));
	if (has("many") && args.cookie >= 5000)
		out->p[-1] = 1;
}

static void fsinfo(struct weir_xdr_out *out)
{
	struct nfs3_fsinfo_res res = {.status = NFS3_OK,
				      .rtmax = 65536,
				      .rtpref = 65536,
				      .wtmax = 65536,
				      .wtpref = 65536};

	if (has("fsinfo-zero"))
		res.rtmax = res.rtpref = res.wtmax = res.wtpref = 0;
	if (has("fsinfo-huge"))
		res.rtmax = res.rtpref = res.wtmax = res.wtpref = UINT32_MAX;
	nfs3_fsinfo_res_put(out, &res);
}

/*
 * Carries out the ways that do not depend on the procedure. Returns true if it has answered the
 * call.
 */
static bool answer_wrong(struct weir_request *req, uint32_t proc)
{
	struct weir_xdr_out *out;

	nrequests++;
	if (has("drops") && nrequests % 5 == 0 && weir_request_conn(req)) {
		if (proc == NFS3_REMOVE)
			nremoves++;
		weir_conn_close(weir_request_conn(req));
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return true;
	}
	if (has("drops-removes") && proc == NFS3_REMOVE && nremoves == 0) {
		nremoves++;
		weir_conn_close(weir_request_conn(req));
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return true;
	}
	if (has("denies") && proc != NFS3_NULL) {
		weir_request_reply_denied(req, WEIR_RPC_AUTH_TOOWEAK);
		return true;
	}
	if (has("fails") && proc != NFS3_NULL) {
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return true;
	}
	if (has("is-slow-at-first") && proc == NFS3_READ && njukebox++ < 3) {
		struct nfs3_read_head res = {.status = NFS3ERR_JUKEBOX};

		nfs3_read_head_put(weir_request_results(req, 512), &res);
		weir_request_reply(req);
		return true;
	}
	if (!has("garbage") && !has("truncated") && !has("unknown-status"))
		return false;
	out = weir_request_results(req, 512);
	if (has("garbage"))
		for (uint32_t i = 0; i < 100; i++)
			weir_xdr_put_u32(out, 0xdeadbeef * (i + nrequests));
	else if (has("unknown-status"))
		weir_xdr_put_u32(out, 4711);
	else
		weir_xdr_put_u32(out, NFS3_OK);
	weir_request_reply(req);
	return true;
}

static void handle(struct weir_request *req, void *arg)
{
	struct weir_xdr_in *in = weir_request_args(req);
	uint32_t proc = weir_request_header(req)->proc;
	struct weir_xdr_out *out;

	(void)arg;
	if (answer_wrong(req, proc))
		return;
	out = weir_request_results(req, 16384);
	if (!out) { /* a client can have more calls in flight than its share of the buffers */
		if (weir_request_retry_when_buffers(req) != 0)
			weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	switch (proc) {
	case NFS3_NULL:
		break;
	case NFS3_GETATTR:
		getattr(in, out);
		break;
	case NFS3_LOOKUP:
		lookup(in, out);
		break;
	case NFS3_READ:
		do_read(req, in, out);
		break;
	case NFS3_WRITE:
		do_write(in, out);
		break;
	case NFS3_COMMIT:
		commit(out);
		break;
	case NFS3_CREATE:
		create(in, out);
		break;
	case NFS3_REMOVE:
		do_remove(out);
		break;
	case NFS3_READLINK:
		do_readlink(req, out);
		break;
	case NFS3_READDIR:
	case NFS3_READDIRPLUS:
		readdir(in, out, proc == NFS3_READDIRPLUS);
		break;
	case NFS3_FSINFO:
		fsinfo(out);
		break;
	default:
		weir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);
		return;
	}
	weir_request_reply(req);
}

static void on_signal(int signo)
{
	(void)signo;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	struct weir_region_options options = {.struct_bytes = sizeof(options),
					      .len_bytes = 2 * STORE_BYTES,
					      .page_bytes = 4096,
					      .numa_node = -1};
	struct weir_program program = {
		.struct_bytes = sizeof(program),
		.prog = WEIR_NFS_PROGRAM,
		.vers_low = 3,
		.vers_high = 3,
		.nprocs = NFS3_NPROCS,
		.ulb = weir_ulb_nfs(3),
		.handle = handle,
	};
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_profile profile;
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	struct weir_listener *listener;
	struct weir_engine *engine;

	if (argc < 3)
		return 2;
	ways = argv + 3;
	nways = argc - 3;
	size = strtoull(argv[2], NULL, 10);
	if (has("version-4"))
		program.vers_low = program.vers_high = 4;
	weir_profile_defaults(&profile);
	profile.page_bytes = 4096;
	if (size > STORE_BYTES || weir_engine_create(&profile, &engine) != 0 ||
	    weir_region_create(&options, &region) != 0 ||
	    weir_engine_add_region(engine, region) != 0 ||
	    weir_listen(engine, argv[1], &listen, &listener) != 0)
		return 1;
	weir_region_info(region, &info);
	store = info.base;
	lie = store + STORE_BYTES;
	for (uint64_t i = 0; i < size; i++)
		store[i] = (uint8_t)(i * 7 + i / 256);
	signal(SIGTERM, on_signal);
	puts("ready");
	fflush(stdout);
	while (!stop)
		if (weir_engine_poll(engine, 0, now_ns()) == 0)
			usleep(50);
	printf("reads %u writes %u commits %u removes %u\n", nreads, nwrites, ncommits, nremoves);
	weir_listener_close(listener);
	weir_engine_destroy(engine);
	weir_region_destroy(region);
	return 0;
}
