/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the entries of directories. One hash table has the entries of all directories. In addition,
 * each directory has an array of its own entries in the order of their cookies.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "ram.h"

/*
 * Returns the bucket of a name. The hash uses a secret key, so that no client can choose names that
 * are all in one bucket.
 */
static struct ram_dirent **ram_bucket_of(struct ram_fs *fs, uint32_t dir, const char *name,
					 uint32_t len_bytes)
{
	uint8_t bytes[sizeof(dir) + NFS3_NAME_MAX];
	uint64_t hash;

	memcpy(bytes, &dir, sizeof(dir));
	memcpy(bytes + sizeof(dir), name, len_bytes);
	crypto_shorthash((uint8_t *)&hash, bytes, sizeof(dir) + len_bytes, fs->secret);
	return &fs->buckets[hash & (fs->nbuckets - 1)];
}

struct ram_dirent *ram_entry_find(struct ram_fs *fs, uint32_t dir, const char *name,
				  uint32_t len_bytes)
{
	struct ram_dirent *entry = *ram_bucket_of(fs, dir, name, len_bytes);

	while (entry && (entry->dir != dir || entry->len_bytes != len_bytes ||
			 memcmp(entry->name, name, len_bytes) != 0))
		entry = entry->next;
	return entry;
}

#define CAPACITY_MIN 8u

/* Makes space for one more element of dir->places. Returns false if there is no memory. */
static bool ram_dir_make_room(struct ram_dir *dir)
{
	struct ram_cookie *cookies;
	uint32_t capacity;

	if (dir->ncookies < dir->capacity)
		return true;
	capacity = dir->capacity ? 2 * dir->capacity : CAPACITY_MIN;
	cookies = realloc(dir->cookies, capacity * sizeof(cookies[0]));
	if (!cookies)
		return false;
	dir->cookies = cookies;
	dir->capacity = capacity;
	return true;
}

/* Releases memory of dir->places that the elements do not need. */
static void shrink(struct ram_dir *dir)
{
	uint32_t capacity = dir->capacity;
	struct ram_cookie *cookies;

	if (dir->ncookies == 0) {
		free(dir->cookies);
		dir->cookies = NULL;
		dir->capacity = 0;
		return;
	}
	while (capacity > CAPACITY_MIN && dir->ncookies <= capacity / 4)
		capacity /= 2;
	if (capacity == dir->capacity)
		return;
	cookies = realloc(dir->cookies, capacity * sizeof(cookies[0]));
	if (!cookies)
		return; /* if there is no memory to move the array, the longer array stays */
	dir->cookies = cookies;
	dir->capacity = capacity;
}

/*
 * Removes the gaps if there are more gaps than entries. Afterwards there are no gaps, and each
 * removal makes one gap, so the time per removal is constant on average. Listings in progress still
 * work, because they continue at a cookie and entries keep their cookies.
 */
static void compact(struct ram_dir *dir)
{
	uint32_t n = 0;

	if (dir->ncookies - dir->nlive <= dir->nlive)
		return;
	for (uint32_t i = 0; i < dir->ncookies; i++)
		if (!dir->cookies[i].is_gap)
			dir->cookies[n++] = dir->cookies[i];
	dir->ncookies = n;
	shrink(dir);
}

enum nfs3_status ram_entry_add(struct ram_fs *fs, uint32_t dir, const char *name,
			       uint32_t len_bytes, uint32_t slot)
{
	struct ram_dirent **bucket = ram_bucket_of(fs, dir, name, len_bytes);
	struct ram_inode *parent = &fs->inodes[dir];
	struct ram_dirent *entry;

	if (fs->nentries >= fs->nentries_max || !ram_dir_make_room(&parent->dir))
		return NFS3ERR_NOSPC;
	entry = malloc(sizeof(*entry) + len_bytes);
	if (!entry)
		return NFS3ERR_NOSPC;
	entry->next = *bucket;
	entry->cookie = parent->dir.next_cookie++;
	entry->dir = dir;
	entry->slot = slot;
	entry->len_bytes = len_bytes;
	memcpy(entry->name, name, len_bytes);
	*bucket = entry;
	parent->dir.cookies[parent->dir.ncookies++] = (struct ram_cookie){
		.cookie = entry->cookie & RAM_COOKIE_MAX,
		.entry = entry,
	};
	parent->dir.nlive++;
	fs->nentries++;
	if (fs->inodes[slot].attr.type == NFS3_DIR) {
		fs->inodes[slot].dir.parent = dir;
		parent->attr.nlink++; /* counts the ".." of the new directory */
	}
	ram_touch(parent, true);
	return NFS3_OK;
}

uint32_t ram_dir_seek(const struct ram_dir *dir, uint64_t cookie)
{
	uint32_t low = 0, high = dir->ncookies;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dir->cookies[middle].cookie <= cookie)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t ram_dir_live(struct ram_dir *dir, uint32_t i)
{
	uint32_t live = i, next;

	while (live < dir->ncookies && dir->cookies[live].is_gap)
		live += dir->cookies[live].nskip;
	for (; i < live; i = next) {
		next = i + dir->cookies[i].nskip;
		dir->cookies[i].nskip = live - i;
	}
	return live;
}

void ram_entry_replace(struct ram_fs *fs, struct ram_dirent *entry, uint32_t slot)
{
	entry->slot = slot;
	if (fs->inodes[slot].attr.type == NFS3_DIR)
		fs->inodes[slot].dir.parent = entry->dir;
	ram_touch(&fs->inodes[entry->dir], true);
}

void ram_entry_remove(struct ram_fs *fs, struct ram_dirent *entry)
{
	struct ram_dirent **at = ram_bucket_of(fs, entry->dir, entry->name, entry->len_bytes);
	struct ram_inode *parent = &fs->inodes[entry->dir];
	struct ram_cookie *gap =
		&parent->dir.cookies[ram_dir_seek(&parent->dir, entry->cookie - 1)];

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	gap->is_gap = true;
	gap->nskip = 1;
	parent->dir.nlive--;
	compact(&parent->dir);
	fs->nentries--;
	if (fs->inodes[entry->slot].attr.type == NFS3_DIR)
		parent->attr.nlink--;
	ram_touch(parent, true);
	free(entry);
}

void ram_dir_fini(struct ram_dir *dir)
{
	/* Either all entries were removed earlier, or the whole back end is being closed. */
	for (uint32_t i = 0; i < dir->ncookies; i++)
		if (!dir->cookies[i].is_gap)
			free(dir->cookies[i].entry);
	free(dir->cookies);
	*dir = (struct ram_dir){0};
}
