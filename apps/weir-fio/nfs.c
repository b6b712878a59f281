/* SPDX-License-Identifier: BSD-3-Clause */
/* NFS version 3 as a target: a session of weir-nfs, which reads and writes files of an export. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle_text.h"
#include "session.h"
#include "session_profile.h"
#include "target.h"
#include "tree.h"

#define EXTEND_ATTEMPTS                                                                            \
	100u /* a file that other jobs write changes between GETATTR and SETATTR                   \
	      */

struct nfs_target {
	struct target base;
	struct nfs_options options;
	struct session *session;
	bool is_sync;
	uint32_t read_max, write_max; /* most bytes of one READ and one WRITE of the server */
};

struct target_file {
	struct nfs3_fh fh;
	bool has_verf;
	bool has_lost; /* the server has lost WRITEs that no flush has reported yet */
	uint8_t verf[NFS3_VERF_BYTES]; /* identifies the server's instance (RFC 1813 3.3.7) */
};

struct nfs_io {
	struct target_io io;
	uint64_t done_bytes; /* bytes that are transferred; the rest is requested */
	struct op op;
};

static struct nfs_target *to_nfs(struct target *target)
{
	return (struct nfs_target *)target;
}

static int to_errno(int rc)
{
	return rc > 0 ? nfs3_status_errno((uint32_t)rc) : -rc;
}

static int say(const struct nfs_target *nfs, const char *name, int rc)
{
	return target_say(nfs->base.log, to_errno(rc), "%s: %s", name, tree_strerror(rc));
}

static void on_message(void *arg, const char *line)
{
	const struct nfs_target *nfs = arg;

	nfs->base.log(line);
}

/* Sets the server and the root's handle in the options of the session. */
static int set_server(struct nfs_target *nfs, const struct target_options *options)
{
	struct nfs_options *o = &nfs->options;
	const char *why;

	o->server = options->server;
	o->has_ports = session_profile_has_ports(o->profile.driver);
	if (!o->has_ports)
		snprintf(o->host, sizeof(o->host), "%s", o->server);
	else if (address_split(o->server, o->host, sizeof(o->host), &o->port) != 0)
		return target_say(options->log, EINVAL,
				  "weir_server: expected HOST, HOST:PORT or [V6]:PORT, got '%s'",
				  o->server);
	if (o->port != 0)
		o->port_from = PORT_GIVEN;
	o->export = options->export;
	if (options->handle || !o->export) {
		why = handle_text_read(options->handle, o->handle.data, &o->handle.len_bytes);
		if (why)
			return target_say(
				options->log, EINVAL,
				"weir_handle: %s; give weir_export=NAME, or "
				"weir_handle=@FILE with the handle that the server prints",
				why);
	}
	o->mount.host = options->mount_server;
	if (!o->mount.host)
		o->mount.host = o->has_ports ? o->host : "127.0.0.1";
	return 0;
}

static int set_options(struct nfs_target *nfs, const struct target_options *options)
{
	struct nfs_options *o = &nfs->options;
	int rc = target_profile(options, &o->profile);

	if (rc != 0)
		return rc;
	*o = (struct nfs_options){
		.profile = o->profile,
		.uid = geteuid(),
		.gid = getegid(),
		.depth = options->depth,
		.retries = options->retries,
		.flags = FLAG_FOLLOW,
		.message = on_message,
		.message_arg = nfs,
		.mount.rpcbind_port = 111,
		.mount.port = (uint16_t)options->mount_port,
		.mount.uid = geteuid(),
		.mount.gid = getegid(),
		.mount.timeout_ms = o->profile.connect_timeout_ms,
	};
	mount_find_groups(&o->mount);
	return set_server(nfs, options);
}

/* Asks the server for the most bytes of one READ and of one WRITE (RFC 1813 section 3.3.19). */
static int ask_sizes(struct nfs_target *nfs)
{
	struct op op = {.proc = NFS3_FSINFO, .args.fh = nfs->session->root};
	int rc = session_call(nfs->session, &op);

	if (rc != 0)
		return say(nfs, "FSINFO", rc);
	nfs->read_max = op.res.fsinfo.rtmax > 0 ? op.res.fsinfo.rtmax : UINT32_MAX;
	nfs->write_max = op.res.fsinfo.wtmax > 0 ? op.res.fsinfo.wtmax : UINT32_MAX;
	return 0;
}

static void nfs_close(struct target *target)
{
	session_close(to_nfs(target)->session);
	free(target);
}

static int nfs_open(const struct target_options *options, struct target **target)
{
	struct nfs_target *nfs = calloc(1, sizeof(*nfs));
	int rc;

	if (!nfs)
		return target_say(options->log, ENOMEM, "no memory for the target");
	nfs->base = (struct target){.ops = &target_nfs_ops, .log = options->log};
	nfs->is_sync = options->is_sync;
	rc = set_options(nfs, options);
	nfs->base.page_bytes = nfs->options.profile.page_bytes;
	if (rc == 0) {
		rc = session_open(&nfs->options, 0, 0, &nfs->session);
		rc = rc > 0 ? EACCES : -rc;
	}
	if (rc == 0)
		rc = ask_sizes(nfs);
	if (rc != 0) {
		nfs_close(&nfs->base);
		return rc;
	}
	*target = &nfs->base;
	return 0;
}

static int nfs_add_region(struct target *target, struct weir_region *region)
{
	return target_add_region(target, to_nfs(target)->session->engine, region);
}

/* Finds the directory of 'name'. Returns 0 or an error like session_call(). */
static int find_dir(struct nfs_target *nfs, const char *name, struct path *path, struct node *dir)
{
	if (path_parse(name, path) != 0)
		return NFS3ERR_NAMETOOLONG;
	if (path->nnames == 0)
		return NFS3ERR_ISDIR;
	return tree_walk_parent(nfs->session, path, dir);
}

static int nfs_size(struct target *target, const char *name, uint64_t *size_bytes)
{
	struct nfs_target *nfs = to_nfs(target);
	struct path path, last;
	struct node node;
	int rc = path_parse(name, &path) == 0 ? 0 : NFS3ERR_NAMETOOLONG;

	if (rc == 0)
		rc = tree_walk(nfs->session, &path, &node, &last);
	if (rc == NFS3ERR_NOENT)
		return target_say(target->log, ENOENT,
				  "%s: the server has no such file; give size=, and run a job that "
				  "writes first",
				  name);
	if (rc != 0)
		return say(nfs, name, rc);
	*size_bytes = node.attr.size;
	return 0;
}

/*
 * Extends the file to 'end_bytes' with zeroes, if it is shorter. Other jobs can extend or write the
 * file meanwhile. Therefore the SETATTR is guarded, so that it never truncates the file. Returns 0
 * or an error like session_call().
 */
static int extend(struct nfs_target *nfs, const struct nfs3_fh *fh, uint64_t end_bytes)
{
	int rc = NFS3ERR_NOT_SYNC;

	for (uint32_t i = 0; i < EXTEND_ATTEMPTS && rc == NFS3ERR_NOT_SYNC; i++) {
		struct op op = {.proc = NFS3_SETATTR};
		struct nfs3_fattr attr;

		rc = tree_getattr(nfs->session, fh, &attr);
		if (rc != 0 || attr.size >= end_bytes)
			return rc;
		op.args.setattr = (struct nfs3_setattr_args){
			.fh = *fh,
			.attr = {.set_size = true, .size = end_bytes},
			.is_guarded = true,
			.guard = attr.ctime,
		};
		rc = session_call(nfs->session, &op);
	}
	return rc;
}

/* Finds or creates the file. Returns 0 or an error like session_call(). */
static int find_file(struct nfs_target *nfs, const char *name, bool creates, struct node *node)
{
	const struct nfs3_sattr attr = {.set_mode = true, .mode = 0644};
	struct path path, last;
	struct node dir;
	int rc = path_parse(name, &path) == 0 ? 0 : NFS3ERR_NAMETOOLONG;

	if (rc == 0)
		rc = tree_walk(nfs->session, &path, node, &last);
	if (rc != NFS3ERR_NOENT || !creates)
		return rc;
	rc = find_dir(nfs, name, &path, &dir);
	if (rc == 0)
		rc = tree_create(nfs->session, &dir.fh, path_name(&path, path.nnames - 1), &attr,
				 node);
	return rc;
}

static int nfs_open_file(struct target *target, const char *name, uint64_t end_bytes, bool creates,
			 struct target_file **file)
{
	struct nfs_target *nfs = to_nfs(target);
	struct node node;
	int rc = find_file(nfs, name, creates, &node);

	if (rc == 0 && creates)
		rc = extend(nfs, &node.fh, end_bytes);
	if (rc == NFS3ERR_NOENT)
		return target_say(target->log, ENOENT,
				  "%s: the server has no such file or directory; run a job that "
				  "writes first, and create directories by weir-nfs mkdir",
				  name);
	if (rc != 0)
		return say(nfs, name, rc);
	if (!creates && node.attr.size < end_bytes)
		return target_say(
			target->log, EINVAL,
			"%s has %llu bytes, but the job reads %llu; run a job that writes "
			"first, or reduce size=",
			name, (unsigned long long)node.attr.size, (unsigned long long)end_bytes);
	*file = calloc(1, sizeof(**file));
	if (!*file)
		return target_say(target->log, ENOMEM, "no memory for a file");
	(*file)->fh = node.fh;
	return 0;
}

static void nfs_close_file(struct target *target, struct target_file *file)
{
	(void)target;
	free(file);
}

static int nfs_unlink(struct target *target, const char *name)
{
	struct nfs_target *nfs = to_nfs(target);
	struct path path;
	struct node dir;
	int rc = find_dir(nfs, name, &path, &dir);

	if (rc == 0)
		rc = tree_remove(nfs->session, &dir.fh, path_name(&path, path.nnames - 1), false);
	return rc == 0 ? 0 : say(nfs, name, rc);
}

static void on_op(struct op *op);

/* Submits the part of the I/O that is not transferred yet, up to the most bytes of one call. */
static void submit_rest(struct nfs_target *nfs, struct nfs_io *io)
{
	uint64_t offset = io->io.offset + io->done_bytes, rest = io->io.len_bytes - io->done_bytes;
	uint32_t max = io->io.op == TARGET_READ ? nfs->read_max : nfs->write_max;
	uint32_t count = rest < max ? (uint32_t)rest : max;
	struct op *op = &io->op;

	op->done = on_op;
	op->arg = io;
	op->region = nfs->base.region;
	op->item = io->io.data + io->done_bytes;
	op->item_bytes = count;
	if (io->io.op == TARGET_READ) {
		op->proc = NFS3_READ;
		op->args.read = (struct nfs3_read_args){io->io.file->fh, offset, count};
	} else if (io->io.op == TARGET_WRITE) {
		op->proc = NFS3_WRITE;
		op->args.write = (struct nfs3_write_args){.fh = io->io.file->fh,
							  .offset = offset,
							  .count = count,
							  .stable = nfs->is_sync ? NFS3_FILE_SYNC
										 : NFS3_UNSTABLE};
	} else {
		op->proc = NFS3_COMMIT;
		op->args.commit = (struct nfs3_commit_args){.fh = io->io.file->fh};
	}
	session_submit(nfs->session, op);
}

/*
 * Compares the verifier of a WRITE or COMMIT with the one before. If they differ, the server has
 * restarted, and can have lost WRITEs that were not stable (RFC 1813 section 3.3.21).
 */
static void check_verf(struct target_file *file, const uint8_t verf[NFS3_VERF_BYTES])
{
	if (file->has_verf && memcmp(file->verf, verf, NFS3_VERF_BYTES) != 0)
		file->has_lost = true;
	file->has_verf = true;
	memcpy(file->verf, verf, NFS3_VERF_BYTES);
}

static void end_flush(struct nfs_target *nfs, struct nfs_io *io)
{
	struct target_file *file = io->io.file;
	bool has_lost;

	check_verf(file, io->op.res.commit.verf);
	has_lost = file->has_lost;
	file->has_lost = false;
	target_io_end(&nfs->base, &io->io, has_lost ? EIO : 0,
		      "the server restarted and has lost writes that were not stable; "
		      "run the job again, or give sync=1");
}

static void on_op(struct op *op)
{
	struct nfs_io *io = op->arg;
	struct nfs_target *nfs = op->session->options->message_arg;
	uint32_t count;

	if (op_result(op) != 0) {
		target_io_end(&nfs->base, &io->io, to_errno(op_result(op)),
			      tree_strerror(op_result(op)));
		return;
	}
	if (op->proc == NFS3_COMMIT) {
		end_flush(nfs, io);
		return;
	}
	if (op->proc == NFS3_WRITE && op->args.write.stable == NFS3_UNSTABLE)
		check_verf(io->io.file, op->res.write.verf);
	count = op->proc == NFS3_READ ? op->res.read.count : op->res.write.count;
	io->done_bytes += count;
	if (io->done_bytes == io->io.len_bytes)
		target_io_end(&nfs->base, &io->io, 0, "");
	else if (count == 0 || (op->proc == NFS3_READ && op->res.read.eof))
		target_io_end(&nfs->base, &io->io, EIO,
			      "the file has become shorter; another program truncates it");
	else
		submit_rest(nfs, io);
}

static void nfs_submit(struct target *target, struct target_io *io)
{
	struct nfs_io *nfs_io = (struct nfs_io *)io;

	nfs_io->done_bytes = 0;
	if (io->op == TARGET_TRIM)
		target_io_end(target, io, EOPNOTSUPP, "NFS version 3 has no trim");
	else
		submit_rest(to_nfs(target), nfs_io);
}

static void nfs_poll(struct target *target, bool waits)
{
	(void)waits;
	session_poll(to_nfs(target)->session);
}

static void nfs_abort(struct target *target)
{
	session_fail(to_nfs(target)->session, -EINTR);
}

const struct target_ops target_nfs_ops = {
	.io_bytes = sizeof(struct nfs_io),
	.block_bytes = 1,
	.max_bytes = UINT64_MAX,
	.has_files = true,
	.open = nfs_open,
	.close = nfs_close,
	.add_region = nfs_add_region,
	.size = nfs_size,
	.open_file = nfs_open_file,
	.close_file = nfs_close_file,
	.unlink = nfs_unlink,
	.submit = nfs_submit,
	.poll = nfs_poll,
	.abort = nfs_abort,
};
