/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/* Reading directories. What the server says is not believed: names are checked, and a listing that
 * goes round ends. */

#include "tree.h"

#define DIR_ENTRIES_MAX 1000000u /* that are kept at a time */

struct dir_entry {
	char name[NAME_BYTES_MAX + 1];
	uint64_t fileid;
	bool has_attr;
	struct nfs3_fattr attr;
	bool has_fh;
	struct nfs3_fh fh;
};

/* Takes an entry; anything but 0 ends the reading with that. */
typedef int (*dir_take_fn)(const struct dir_entry *entry, void *arg);

/* All entries but "." and "..", in the server's order, with attributes where the server has them
 * cheaply. Names that are none are said on standard error and left out; the result is -EBADMSG
 * then. 0; or as session_call(). */
int dir_read(struct session *session, const struct nfs3_fh *dir, dir_take_fn take, void *arg);

struct dir_list {
	uint32_t n;
	uint32_t room;
	struct dir_entry *entries;
};

/* The same into memory, by name if 'is_sorted'. -E2BIG: more than DIR_ENTRIES_MAX. *list is to be
 * freed either way. */
int dir_list(struct session *session, const struct nfs3_fh *dir, struct dir_list *list,
	     bool is_sorted);
void dir_list_free(struct dir_list *list);

/* Handle and attributes of an entry, by LOOKUP where READDIRPLUS did not have both. */
int dir_entry_node(struct session *session, const struct nfs3_fh *dir,
		   const struct dir_entry *entry, struct node *node);

#endif
