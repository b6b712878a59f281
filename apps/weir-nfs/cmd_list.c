/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands ls, stat, readlink, df, ping and exports. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "commands.h"
#include "dir.h"
#include "histogram.h"
#include "mount3_text.h"
#include "terminal.h"

static const char *type_text(enum nfs3_ftype type)
{
	static const char *const texts[] = {
		[NFS3_REG] = "regular file",  [NFS3_DIR] = "directory",
		[NFS3_BLK] = "block device",  [NFS3_CHR] = "character device",
		[NFS3_LNK] = "symbolic link", [NFS3_SOCK] = "socket",
		[NFS3_FIFO] = "FIFO",
	};

	return texts[type];
}

static void mode_text(const struct nfs3_fattr *attr, char text[11])
{
	static const char types[] = "?-dbclsp", bits[] = "rwxrwxrwx";

	text[0] = types[attr->type];
	for (uint32_t i = 0; i < 9; i++)
		text[1 + i] = attr->mode & 0400u >> i ? bits[i] : '-';
	if (attr->mode & 04000)
		text[3] = attr->mode & 0100 ? 's' : 'S';
	if (attr->mode & 02000)
		text[6] = attr->mode & 0010 ? 's' : 'S';
	if (attr->mode & 01000)
		text[9] = attr->mode & 0001 ? 't' : 'T';
	text[10] = '\0';
}

static void time_text(const struct nfs3_time *time, char *text, size_t bytes)
{
	time_t seconds = (time_t)time->seconds;
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || strftime(text, bytes, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(text, bytes, "%u", time->seconds);
}

struct ls {
	struct session *session;
	const struct nfs3_fh *dir;
	bool is_long;
	bool is_terminal;
};

static void print_name(const struct ls *ls, const char *name)
{
	char text[PATH_BYTES_MAX];

	if (ls->is_terminal) {
		terminal_text(name, text, sizeof(text));
		name = text;
	}
	fputs(name, stdout);
}

static int print_long(const struct ls *ls, const char *name, const struct node *node)
{
	const struct nfs3_fattr *attr = &node->attr;
	char mode[11], time[32], target[NFS3_PATH_MAX + 1];
	int rc;

	mode_text(attr, mode);
	time_text(&attr->mtime, time, sizeof(time));
	printf("%s %3u %5u %5u %12" PRIu64 " %s ", mode, attr->nlink, attr->uid, attr->gid,
	       attr->size, time);
	print_name(ls, name);
	if (attr->type == NFS3_LNK) {
		rc = tree_readlink(ls->session, &node->fh, target);
		if (rc != 0) {
			putchar('\n');
			return rc;
		}
		fputs(" -> ", stdout);
		print_name(ls, target);
	}
	putchar('\n');
	return 0;
}

static int print_entry(const struct dir_entry *entry, void *arg)
{
	const struct ls *ls = arg;
	struct node node;
	int rc;

	if (!ls->is_long) {
		print_name(ls, entry->name);
		putchar('\n');
		return 0;
	}
	rc = dir_entry_node(ls->session, ls->dir, entry, &node);
	/* Another client might have removed the entry after it was listed. */
	if (rc == NFS3ERR_NOENT || rc == NFS3ERR_STALE)
		return 0;
	return rc == 0 ? print_long(ls, entry->name, &node) : rc;
}

/*
 * Lists a directory. Unless -U is given without -l, all entries are read first and then printed.
 * With -l they are read first even if they are not sorted, because each entry can need another
 * call, and no call can be made while the results of READDIR are being decoded.
 */
static int ls_dir(struct ls *ls, bool is_unsorted)
{
	struct dir_list list;
	int rc;

	if (is_unsorted && !ls->is_long)
		return dir_read(ls->session, ls->dir, print_entry, ls);
	rc = dir_list(ls->session, ls->dir, &list, !is_unsorted);
	for (uint32_t i = 0; i < list.n && (rc == 0 || rc == -EBADMSG) && ls->session->error == 0;
	     i++) {
		int entry_rc = print_entry(&list.entries[i], ls);

		rc = entry_rc ? entry_rc : rc;
	}
	dir_list_free(&list);
	return rc;
}

int cmd_ls(const struct nfs_options *options)
{
	const char *text = options->nargs > 0 ? options->args[0] : "/";
	struct ls ls = {.is_long = options->flags & FLAG_LONG,
			.is_terminal = isatty(STDOUT_FILENO)};
	struct node node;
	int status = cmd_open(options, &ls.session), rc = 0;

	if (status != EXIT_OK)
		return status;
	status = cmd_walk(ls.session, "ls", text, &node);
	if (status == EXIT_OK && node.attr.type == NFS3_DIR) {
		ls.dir = &node.fh;
		rc = ls_dir(&ls, options->flags & FLAG_UNSORTED);
	} else if (status == EXIT_OK && ls.is_long) {
		rc = print_long(&ls, text, &node);
	} else if (status == EXIT_OK) {
		print_name(&ls, text);
		putchar('\n');
	}
	if (rc != 0)
		status = tree_report_error("ls", text, rc);
	return cmd_close(ls.session, status);
}

int cmd_stat(const struct nfs_options *options)
{
	const char *const time_names[] = {"access", "modify", "change"};
	struct session *session;
	struct node node;
	int status = cmd_open(options, &session);

	if (status != EXIT_OK)
		return status;
	status = cmd_walk(session, "stat", options->args[0], &node);
	if (status == EXIT_OK) {
		const struct nfs3_fattr *a = &node.attr;
		const struct nfs3_time *const times[] = {&a->atime, &a->mtime, &a->ctime};
		char mode[11], time[32];

		mode_text(a, mode);
		printf("type    %s\nmode    %04o %s\nlinks   %u\nuid     %u\ngid     %u\n",
		       type_text(a->type), a->mode & 07777, mode, a->nlink, a->uid, a->gid);
		printf("size    %" PRIu64 "\nused    %" PRIu64 "\n", a->size, a->used);
		if (a->type == NFS3_BLK || a->type == NFS3_CHR)
			printf("device  %u:%u\n", a->rdev.major, a->rdev.minor);
		printf("fsid    %" PRIx64 "\nfileid  %" PRIu64 "\n", a->fsid, a->fileid);
		for (uint32_t i = 0; i < 3; i++) {
			time_text(times[i], time, sizeof(time));
			printf("%s  %s.%09u\n", time_names[i], time, times[i]->nseconds);
		}
		printf("handle  ");
		for (uint32_t i = 0; i < node.fh.len_bytes; i++)
			printf("%02x", node.fh.data[i]);
		putchar('\n');
	}
	return cmd_close(session, status);
}

int cmd_readlink(const struct nfs_options *options)
{
	struct ls out = {.is_terminal = isatty(STDOUT_FILENO)};
	char target[NFS3_PATH_MAX + 1];
	struct session *session;
	struct node node;
	int status = cmd_open(options, &session), rc;

	if (status != EXIT_OK)
		return status;
	status = cmd_walk(session, "readlink", options->args[0], &node);
	if (status == EXIT_OK) {
		rc = tree_readlink(session, &node.fh, target);
		if (rc == 0) {
			print_name(&out, target);
			putchar('\n');
		} else {
			status = tree_report_error("readlink", options->args[0], rc);
		}
	}
	return cmd_close(session, status);
}

int cmd_df(const struct nfs_options *options)
{
	struct session *session;
	int status = cmd_open(options, &session), rc;
	struct op op = {.proc = NFS3_FSSTAT};

	if (status != EXIT_OK)
		return status;
	op.args.fh = session->root;
	rc = session_call(session, &op);
	if (rc == 0) {
		const struct nfs3_fsstat_res *res = &op.res.fsstat;

		printf("        %20s %20s %20s\n", "total", "free", "available");
		printf("bytes   %20" PRIu64 " %20" PRIu64 " %20" PRIu64 "\n", res->tbytes,
		       res->fbytes, res->abytes);
		printf("files   %20" PRIu64 " %20" PRIu64 " %20" PRIu64 "\n", res->tfiles,
		       res->ffiles, res->afiles);
	} else {
		status = tree_report_error("df", "/", rc);
	}
	return cmd_close(session, status);
}

int cmd_ping(const struct nfs_options *options)
{
	char *end = NULL;
	unsigned long n = options->nargs > 0 ? strtoul(options->args[0], &end, 10) : 1;
	static struct weir_histogram rtt;
	struct session *session;
	int status, rc = 0;

	if (n == 0 || n > 1000000 || (end && *end != '\0')) {
		fprintf(stderr,
			"weir-nfs: ping %s: expected a number from 1 to 1000000. See --help\n",
			options->args[0]);
		return EXIT_USAGE;
	}
	status = cmd_open(options, &session);
	if (status != EXIT_OK)
		return status;
	histogram_init(&rtt);
	for (unsigned long i = 0; i < n && rc == 0; i++) {
		struct op op = {.proc = NFS3_NULL};
		uint64_t begin = bench_clock_ns(&session->clock);

		rc = session_call(session, &op);
		histogram_add(&rtt, bench_clock_ns(&session->clock) - begin);
	}
	if (rc == 0)
		printf("%s: %lu answers, min %.1f us, median %.1f us, max %.1f us\n",
		       session->where, n, (double)rtt.min / 1e3,
		       (double)histogram_quantile(&rtt, 0.5) / 1e3, (double)rtt.max / 1e3);
	else
		status = tree_report_error("ping", session->where, rc);
	return cmd_close(session, status);
}

int cmd_exports(const struct nfs_options *options)
{
	struct mount_options mount = options->mount;
	static struct mount_exports res;
	char why[ONCRPC_CLIENT_TEXT], path[MOUNT3_PATH_MAX + 1], text[MOUNT3_PATH_MAX + 1];
	int rc = mount_find_port(&mount, &mount.port, why);

	if (rc == 0)
		rc = mount_exports(&mount, &res, why);
	if (rc != 0) {
		fprintf(stderr, "weir-nfs: MOUNT at %s: %s\n", mount.host, why);
		return EXIT_TRANSPORT;
	}
	for (const struct mount3_export *export = res.first; export; export = export->next) {
		/* mount_exports() has checked that this succeeds. */
		(void)mount3_text(&export->path, path, sizeof(path));
		terminal_text(path, text, sizeof(text));
		puts(text);
	}
	return EXIT_OK;
}
