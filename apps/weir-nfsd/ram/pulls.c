/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps lists of the WRITEs whose data are being pulled to their blocks, one for each inode. See
 * ram/place.c.
 */
#include <stdlib.h>

#include "ram.h"

#define PLACEMENTS_MAX 65536u

struct ram_placement *ram_placement_take(struct ram_fs *fs)
{
	struct ram_placement *placement = LIST_FIRST(&fs->free_placements);

	if (placement) {
		LIST_REMOVE(placement, entry);
		return placement;
	}
	if (fs->nplacements == PLACEMENTS_MAX)
		return NULL;
	placement = malloc(sizeof(*placement));
	fs->nplacements += placement != NULL;
	return placement;
}

void ram_placement_give_back(struct ram_placement *placement)
{
	LIST_INSERT_HEAD(&placement->fs->free_placements, placement, entry);
}

bool ram_placement_overlaps(const struct ram_inode *inode, uint32_t block, uint64_t from,
			    uint64_t to, const struct ram_placement *except)
{
	const struct ram_placement *p;

	LIST_FOREACH(p, &inode->placements, entry)
	if (p != except && p->block == block && p->offset < to && p->offset + p->len_bytes > from)
		return true;
	return false;
}

void ram_placement_done(struct ram_placement *placement)
{
	placement->is_done = true;
}

void ram_placements_forget(struct ram_inode *inode)
{
	struct ram_placement *p;

	while ((p = LIST_FIRST(&inode->placements)))
		LIST_REMOVE(p, entry);
}

void ram_placements_fini(struct ram_fs *fs)
{
	struct ram_placement *p;

	while ((p = LIST_FIRST(&fs->free_placements))) {
		LIST_REMOVE(p, entry);
		free(p);
	}
}
