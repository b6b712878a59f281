/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of the back end 'ram': opens and closes it, walks for MOUNT, and calls the
 * procedures by a table.
 */
#include "ram.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "op_name.h"
#include "region.h"

static void ram_close(struct fs *fs_)
{
	struct ram_fs *fs = (struct ram_fs *)fs_;

	if (!fs)
		return;
	for (uint32_t i = 0; fs->inodes && i < fs->nslots; i++)
		if (fs->inodes[i].is_used)
			ram_inode_free(fs, &fs->inodes[i]);
	free(fs->inodes);
	free(fs->buckets);
	ram_placements_fini(fs);
	block_pool_fini(&fs->pool);
	weir_region_destroy(fs->region);
	free(fs);
}

static int take_memory(struct ram_fs *fs)
{
	struct ram_inode *root;
	void *base;
	int rc = region_make(fs->server, fs->size_bytes, &fs->region, &base);

	if (rc == 0)
		rc = block_pool_init(&fs->pool, base, fs->size_bytes);
	if (rc != 0)
		return rc;
	fs->inodes = calloc(fs->ninodes_max, sizeof(fs->inodes[0]));
	fs->buckets = calloc(fs->nbuckets, sizeof(fs->buckets[0]));
	if (!fs->inodes || !fs->buckets)
		return -ENOMEM;
	fs->zeros = block_pool_get(&fs->pool, RAM_CHUNK);
	root = ram_inode_make(fs, NFS3_DIR, 01777, 0, 0);
	if (fs->zeros == BLOCK_POOL_NONE || !root)
		return -ENOMEM;
	memset(block_pool_data(&fs->pool, fs->zeros), 0, RAM_CHUNK);
	root->dir.parent = ram_slot(fs, root);
	return 0;
}

/* Prints the limit of the address space, if there is one. */
static void explain_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		fprintf(stderr,
			"weir-nfsd: the address space of this process is limited to %llu MiB "
			"(RLIMIT_AS): lift the limit by 'ulimit -v unlimited', or by "
			"LimitAS=infinity of a systemd unit\n",
			(unsigned long long)limit.rlim_cur >> 20);
}

static int ram_open(struct export *export, struct server *server)
{
	struct ram_fs *fs = calloc(1, sizeof(*fs));
	int rc;

	if (!fs)
		return -ENOMEM;
	fs->server = server;
	fs->export = export;
	fs->size_bytes = export->size_bytes / BLOCK_POOL_PAGE * BLOCK_POOL_PAGE;
	fs->ninodes_max = (uint32_t)(fs->size_bytes / BLOCK_POOL_PAGE);
	fs->nentries_max = 2 * fs->ninodes_max;
	fs->nodes.max = fs->ninodes_max;
	fs->free_slot = RAM_NO_SLOT;
	fs->nbuckets = 1024;
	while (fs->nbuckets < fs->ninodes_max)
		fs->nbuckets *= 2;
	randombytes_buf(fs->secret, sizeof(fs->secret));
	LIST_INIT(&fs->free_placements);
	rc = take_memory(fs);
	if (rc != 0) {
		fprintf(stderr,
			"weir-nfsd: export %s: can't allocate %llu bytes of memory: %s. Lower the "
			"size of the export (ram:SIZE)\n",
			export->name, (unsigned long long)fs->size_bytes, strerror(-rc));
		explain_limit();
		region_remove(server, fs->region);
		ram_close((struct fs *)fs);
		return rc;
	}
	export->fs = (struct fs *)fs;
	return 0;
}

static void ram_root(struct fs *fs, struct handle_id *id)
{
	ram_id_of((struct ram_fs *)fs, &((struct ram_fs *)fs)->inodes[0], id);
}

static enum nfs3_status ram_walk(struct fs *fs_, const struct cred *cred, const char *path,
				 struct handle_id *id)
{
	struct ram_fs *fs = (struct ram_fs *)fs_;
	struct ram_inode *inode = &fs->inodes[0];
	enum nfs3_status status;
	struct nfs3_name name;

	while ((status = name_next(&path, &name)) == NFS3_OK && name.len_bytes > 0) {
		const struct nfs3_fattr *attr = &inode->attr;
		const struct ram_dirent *entry;

		if (!cred_may(cred, attr->uid, attr->gid, attr->mode, true, MAY_EXEC))
			return NFS3ERR_ACCES;
		entry = ram_entry_find(fs, ram_slot(fs, inode), name.data, name.len_bytes);
		if (!entry)
			return NFS3ERR_NOENT;
		inode = &fs->inodes[entry->slot];
		if (inode->attr.type != NFS3_DIR)
			return NFS3ERR_NOTDIR;
	}
	ram_id_of(fs, inode, id);
	return status;
}

typedef enum nfs3_status (*ram_proc)(struct ram_fs *fs, struct op *op);

static const ram_proc procs[NFS3_NPROCS] = {
	[NFS3_GETATTR] = ram_getattr, [NFS3_SETATTR] = ram_setattr,	[NFS3_LOOKUP] = ram_lookup,
	[NFS3_ACCESS] = ram_access,   [NFS3_READLINK] = ram_readlink,	[NFS3_READ] = ram_read,
	[NFS3_WRITE] = ram_write,     [NFS3_CREATE] = ram_create,	[NFS3_MKDIR] = ram_make,
	[NFS3_SYMLINK] = ram_make,    [NFS3_MKNOD] = ram_make,		[NFS3_REMOVE] = ram_remove,
	[NFS3_RMDIR] = ram_remove,    [NFS3_RENAME] = ram_rename,	[NFS3_LINK] = ram_link,
	[NFS3_READDIR] = ram_readdir, [NFS3_READDIRPLUS] = ram_readdir, [NFS3_FSSTAT] = ram_fsstat,
	[NFS3_FSINFO] = ram_fsstat,   [NFS3_PATHCONF] = ram_fsstat,	[NFS3_COMMIT] = ram_commit,
};

static void ram_start(struct fs *fs, struct op *op)
{
	op->res.status = procs[op->proc]((struct ram_fs *)fs, op);
	op_done(op);
}

static uint32_t ram_transfer_max(const struct fs *fs)
{
	(void)fs;
	return RAM_CHUNK;
}

static uint64_t ram_file_max(const struct fs *fs)
{
	(void)fs;
	return RAM_FILE_MAX;
}

static uint32_t ram_link_max(const struct fs *fs)
{
	(void)fs;
	return RAM_LINKS_MAX;
}

const struct fs_ops ram_ops = {
	.name = "ram",
	.is_volatile = true,
	.open = ram_open,
	.close = ram_close,
	.root = ram_root,
	.start = ram_start,
	.walk = ram_walk,
	.place = ram_place,
	.transfer_max = ram_transfer_max,
	.file_max = ram_file_max,
	.link_max = ram_link_max,
};
