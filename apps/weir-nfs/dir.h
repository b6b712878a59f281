/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DIR_H
#define DIR_H

/*
 * Reads directories. The server's results are checked: invalid names are left out, and a listing
 * whose cookies repeat ends with an error.
 */

#include "tree.h"

#define DIR_ENTRIES_MAX 1000000u /* maximum number of entries in a struct dir_list */

struct dir_entry {
	char name[NAME_BYTES_MAX + 1];
	uint64_t fileid;
	bool has_attr; /* 'attr' is set */
	struct nfs3_fattr attr;
	bool has_fh; /* 'fh' is set */
	struct nfs3_fh fh;
};

/*
 * Takes an entry. If the result is not 0, no further entries are taken, and dir_read() returns the
 * result.
 */
typedef int (*dir_take_fn)(const struct dir_entry *entry, void *arg);

/*
 * Reads all entries of a directory except "." and "..", and passes them to 'take' in the server's
 * order. They have attributes and handles if READDIRPLUS returns them. Entries with invalid names
 * are left out. Then their number is printed on standard error and the result is -EBADMSG.
 * Otherwise returns 0, the result of 'take', or an error like session_call().
 */
int dir_read(struct session *session, const struct nfs3_fh *dir, dir_take_fn take, void *arg);

struct dir_list {
	uint32_t n;
	uint32_t room; /* number of entries for which 'entries' has memory */
	struct dir_entry *entries;
};

/*
 * Reads all entries into memory, and sorts them by name if 'is_sorted' is true. Returns the same as
 * dir_read(), or -E2BIG if there are more than DIR_ENTRIES_MAX entries. *list has the entries that
 * were read before an error. The caller frees *list with dir_list_free() in all cases.
 */
int dir_list(struct session *session, const struct nfs3_fh *dir, struct dir_list *list,
	     bool is_sorted);
void dir_list_free(struct dir_list *list);

/*
 * Gets the handle and the attributes of an entry of 'dir'. Uses LOOKUP if READDIRPLUS did not
 * return the handle, and GETATTR if it did not return the attributes. Returns 0 or an error like
 * session_call().
 */
int dir_entry_node(struct session *session, const struct nfs3_fh *dir,
		   const struct dir_entry *entry, struct node *node);

#endif
