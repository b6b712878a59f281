/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out READDIR on a file system whose own offsets are not steady. In tmpfs before Linux 6.6,
 * an offset is the number of entries before an entry. If a client removes the entries that it has
 * listed, the offsets of all others change. The client then misses as many entries as it has
 * removed.
 *
 * Here the cookie of an entry is a hash of the entry's name. A reply has the entries with the
 * smallest hashes after the last cookie, so no cookie depends on another entry. Each call reads the
 * whole directory, which is in memory, and keeps a limited number of entries.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

#define KEPT 1024u /* entries that one call keeps; a reply hardly has space for more */

/*
 * First byte of the text that is hashed. Other texts that are hashed with the secret begin with
 * other bytes.
 */
#define NAME_PREFIX 'n'

enum { COOKIE_DOT = 1, COOKIE_DOT_DOT, COOKIE_FIRST };

struct entry {
	uint64_t cookie, ino;
	char name[NFS3_NAME_MAX + 1];
};

struct kept {
	uint32_t n;
	bool is_cut; /* entries were dropped; each of them has a greater cookie than those that are
			kept */
	struct entry entries[2 * KEPT];
};

/*
 * Returns the cookie of a name. The hash uses the server's secret as its key, so that no client can
 * choose two names with the same cookie.
 */
static uint64_t cookie_of(const struct dir_fs *fs, const char *name)
{
	uint8_t text[1 + NFS3_NAME_MAX] = {NAME_PREFIX};
	uint8_t hash[crypto_shorthash_BYTES];
	size_t len = strlen(name);
	uint64_t cookie;

	if (strcmp(name, ".") == 0)
		return COOKIE_DOT;
	if (strcmp(name, "..") == 0)
		return COOKIE_DOT_DOT;
	memcpy(text + 1, name, len);
	crypto_shorthash(hash, text, 1 + len, fs->server->key.secret);
	memcpy(&cookie, hash, sizeof(cookie));
	/* The highest bit is zero, because some clients treat cookies as signed numbers. */
	cookie >>= 1;
	return cookie < COOKIE_FIRST ? COOKIE_FIRST : cookie;
}

static int compare(const void *a_, const void *b_)
{
	const struct entry *a = a_, *b = b_;

	return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

static void sort(struct kept *kept)
{
	qsort(kept->entries, kept->n, sizeof(kept->entries[0]), compare);
	if (kept->n > KEPT) {
		kept->n = KEPT;
		kept->is_cut = true;
	}
}

static bool keep(struct listing *list, const struct kernel_dirent *d, void *arg)
{
	struct kept *kept = arg;
	struct entry *entry;
	uint64_t cookie;

	if (strlen(d->name) > NFS3_NAME_MAX)
		return true; /* such a name is left out, because no client could use it */
	cookie = cookie_of(list->fs, d->name);
	if (cookie <= list->op->args.readdir.cookie)
		return true;
	/*
	 * If entries were dropped before, the first KEPT entries are sorted, and the last of these
	 * has the greatest cookie that can be in the reply.
	 */
	if (kept->is_cut && cookie > kept->entries[KEPT - 1].cookie)
		return true;
	entry = &kept->entries[kept->n++];
	entry->cookie = cookie;
	entry->ino = d->ino;
	memcpy(entry->name, d->name, strlen(d->name) + 1);
	if (kept->n == 2 * KEPT)
		sort(kept);
	return true;
}

int listing_sorted(struct listing *list)
{
	struct kept *kept = malloc(sizeof(*kept));
	bool fits = true;
	int rc;

	if (!kept)
		return -ENOMEM;
	kept->n = 0;
	kept->is_cut = false;
	rc = listing_each(list, keep, kept);
	if (rc == 0) {
		sort(kept);
		for (uint32_t i = 0; fits && i < kept->n; i++) {
			const struct entry *entry = &kept->entries[i];

			fits = listing_put(list, entry->name, entry->ino, entry->cookie);
		}
		list->op->eof = fits && !kept->is_cut;
	}
	free(kept);
	return rc;
}
