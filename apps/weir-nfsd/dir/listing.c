/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the entries of a directory from the kernel, and adds them to the reply. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "list.h"

#define LIST_BYTES 16384u

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Adds the attributes and the handle of an entry for READDIRPLUS. The name is opened as the caller.
 * Nothing is added if the caller may not search the directory, or if another file system is mounted
 * on the name.
 */
static void add_attr(struct dir_fs *fs, struct op *op, int dir, struct nfs3_entryplus *entry)
{
	struct handle_id id;
	struct stat st;
	int fd = dir_open_name(dir, &entry->name, O_PATH, 0);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && dir_id_of(fs, fd, "", &id) == 0) {
		entry->attr.is_set = entry->fh.is_set = true;
		dir_fattr(fs, &st, &entry->attr.attr);
		op_make_fh(op, &id, &entry->fh.fh);
	}
	close(fd);
}

bool listing_put(struct listing *list, const char *name, uint64_t ino, uint64_t cookie)
{
	struct nfs3_entryplus entry = {.fileid = ino, .cookie = cookie};

	/* For clients, the export's root is its own parent. */
	if (list->is_root && strcmp(name, "..") == 0)
		entry.fileid = list->fs->root_ino;
	entry.name.len_bytes = (uint32_t)strlen(name);
	memcpy(entry.name.data, name, entry.name.len_bytes);
	if (list->op->proc == NFS3_READDIRPLUS && !is_dots(name))
		add_attr(list->fs, list->op, list->dir, &entry);
	return op_entry(list->op, &entry);
}

int listing_each(struct listing *list,
		 bool (*take)(struct listing *list, const struct kernel_dirent *d, void *arg),
		 void *arg)
{
	_Alignas(struct kernel_dirent) uint8_t buf[LIST_BYTES];

	for (;;) {
		long n = syscall(SYS_getdents64, list->dir, buf, sizeof(buf));

		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long at = 0; at < n;) {
			const struct kernel_dirent *d = (const void *)(buf + at);

			if (!take(list, d, arg))
				return 1;
			at += d->len;
		}
	}
}
