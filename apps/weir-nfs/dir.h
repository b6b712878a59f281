/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/*
 * Reads directories. The server's results are checked: invalid names are left out, and a listing
 * that repeats itself ends.
 */

#include "tree.h"

#define DIR_ENTRIES_MAX 1000000u /* entries that are kept at a time */

struct dir_entry {
	char name[NAME_BYTES_MAX + 1];
	uint64_t fileid;
	bool has_attr;
	struct nfs3_fattr attr;
	bool has_fh;
	struct nfs3_fh fh;
};

/* Takes an entry. A result other than 0 ends the reading, and is its result. */
typedef int (*dir_take_fn)(const struct dir_entry *entry, void *arg);

/*
 * Reads all entries but "." and "..", in the server's order, with attributes if READDIRPLUS returns
 * them. Invalid names are reported on standard error and left out, and the result is -EBADMSG.
 * Otherwise returns 0, or an error like session_call().
 */
int dir_read(struct session *session, const struct nfs3_fh *dir, dir_take_fn take, void *arg);

struct dir_list {
	uint32_t n;
	uint32_t room;
	struct dir_entry *entries;
};

/*
 * Reads all entries into memory, and sorts them by name if 'is_sorted'. The result is -E2BIG if
 * there are more than DIR_ENTRIES_MAX. The caller frees *list in any case.
 */
int dir_list(struct session *session, const struct nfs3_fh *dir, struct dir_list *list,
	     bool is_sorted);
void dir_list_free(struct dir_list *list);

/*
 * Gets the handle and the attributes of an entry. LOOKUP is used if READDIRPLUS did not return the
 * handle.
 */
int dir_entry_node(struct session *session, const struct nfs3_fh *dir,
		   const struct dir_entry *entry, struct node *node);

#endif
