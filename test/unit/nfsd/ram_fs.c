/* SPDX-License-Identifier: BSD-3-Clause */

/* A file system of the back end 'ram' for tests (ram_fs.h). */

#include "ram_fs.h"

#include <stdlib.h>

#include "ram/ram.h"

#define NBUCKETS 8192u

int ram_fs_make(struct ram_fs *fs, struct export *export, uint32_t ninodes, struct ram_inode **root)
{
	*fs = (struct ram_fs){
		.export = export,
		.inodes = calloc(ninodes, sizeof(fs->inodes[0])),
		.ninodes_max = ninodes,
		.nentries_max = 2 * ninodes,
		.nbuckets = NBUCKETS,
		.buckets = calloc(NBUCKETS, sizeof(struct ram_dirent *)),
		.free_slot = RAM_NO_SLOT,
	};
	if (!fs->inodes || !fs->buckets)
		return -1;
	*root = ram_inode_make(fs, NFS3_DIR, 0777, 0, 0);
	(*root)->dir.parent = ram_slot(fs, *root);
	return 0;
}

void ram_fs_free(struct ram_fs *fs)
{
	for (uint32_t i = 0; i < fs->nslots; i++)
		if (fs->inodes[i].is_used)
			ram_inode_free(fs, &fs->inodes[i]);
	free(fs->inodes);
	free(fs->buckets);
}
