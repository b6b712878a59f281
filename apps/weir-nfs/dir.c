/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the entries of directories with READDIRPLUS, or with READDIR if the server lacks it. */
#include "dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Limits for the bytes of results that one READDIR asks for. The memory of a long message, which
 * the profile sets, can be less than the maximum.
 */
#define PAGE_BYTES_MAX 65536u
#define PAGE_BYTES_MIN 2048u

struct reader {
	dir_take_fn take;
	void *arg;
	bool plus;
	bool is_end;	   /* the directory has no entries after this page */
	uint32_t nentries; /* entries that the present page contained, including those that were
			      left out */
	uint32_t nbad;	   /* entries of the directory that were left out because of their names */
	int rc;		   /* first result of 'take' that is not 0 */
	uint64_t cookie;   /* cookie of the latest entry */
	/*
	 * 'marked' detects a server that repeats cookies. Each cookie is compared with it. The
	 * latest cookie replaces it whenever the number of entries has doubled. Repeated cookies
	 * are therefore detected, however many entries lie between two repetitions.
	 */
	uint64_t marked;
	uint64_t steps;	    /* number of entries whose cookies were compared */
	uint64_t next_mark; /* value of 'steps' at which the next cookie becomes 'marked' */
	bool is_circle;	    /* the server repeated a cookie */
};

/* Returns true if the cookie is 'marked', so that the server has repeated it. */
static bool is_seen(struct reader *reader, uint64_t cookie)
{
	if (reader->steps > 0 && cookie == reader->marked)
		return true;
	if (++reader->steps == reader->next_mark) {
		reader->next_mark *= 2;
		reader->marked = cookie;
	}
	return false;
}

static void take_entry(struct reader *reader, const struct nfs3_entryplus *from)
{
	uint32_t len = from->name.len_bytes;
	struct dir_entry entry;

	if ((len == 1 && from->name.data[0] == '.') ||
	    (len == 2 && memcmp(from->name.data, "..", 2) == 0))
		return;
	/* If a name exceeds NFS3_NAME_MAX, only its length was decoded. */
	if (len > NAME_BYTES_MAX || !name_is_safe(from->name.data, len)) {
		reader->nbad++;
		return;
	}
	memcpy(entry.name, from->name.data, len);
	entry.name[len] = '\0';
	entry.fileid = from->fileid;
	entry.has_attr = from->attr.is_set;
	entry.attr = from->attr.attr;
	entry.has_fh = from->fh.is_set;
	entry.fh = from->fh.fh;
	reader->rc = reader->take(&entry, reader->arg);
}

/*
 * Decodes the entries of one page, and passes them to 'take'. Returns 0, or -EBADMSG if they are
 * malformed.
 */
static int take_page(struct op *op, struct weir_xdr_in *in)
{
	struct reader *reader = op->entries_arg;
	struct nfs3_entryplus entry;
	bool more;

	for (;;) {
		if (nfs3_list_get(in, &entry, reader->plus, &more, &reader->is_end) != 0)
			return -EBADMSG;
		if (!more)
			return 0;
		reader->nentries++;
		reader->cookie = entry.cookie;
		if (is_seen(reader, entry.cookie)) {
			reader->is_circle = true;
			return -EBADMSG;
		}
		if (reader->rc == 0)
			take_entry(reader, &entry);
	}
}

static uint32_t page_bytes(const struct session *session)
{
	uint64_t room = session->options->profile.long_buffer_bytes - NFS3_RESULTS_XDR_MAX -
			WEIR_RPC_REPLY_HEADER_MIN - 256;

	if (room > PAGE_BYTES_MAX)
		return PAGE_BYTES_MAX;
	return room < PAGE_BYTES_MIN ? PAGE_BYTES_MIN : (uint32_t)room;
}

/*
 * Reads one page of the directory, from reader->cookie on. Returns 0, or an error like
 * session_call().
 */
static int read_page(struct session *session, struct reader *reader, struct op *op)
{
	int rc;

	reader->nentries = 0;
	op->proc = reader->plus ? NFS3_READDIRPLUS : NFS3_READDIR;
	rc = session_call(session, op);
	if (rc == 0)
		memcpy(op->args.readdir.verf, op->res.readdir.verf, NFS3_VERF_BYTES);
	op->args.readdir.cookie = reader->cookie;
	return rc;
}

int dir_read(struct session *session, const struct nfs3_fh *dir, dir_take_fn take, void *arg)
{
	struct reader reader = {.take = take, .arg = arg, .plus = true, .next_mark = 1};
	uint32_t bytes = page_bytes(session);
	struct op op = {.args.readdir = {.dir = *dir, .dircount = bytes, .maxcount = bytes},
			.take_entries = take_page,
			.entries_arg = &reader};
	int rc;

	do {
		rc = read_page(session, &reader, &op);
		/* A server does not have to support READDIRPLUS (RFC 1813 section 3.3.17). */
		if (reader.plus && reader.steps == 0 &&
		    (rc == NFS3ERR_NOTSUPP || rc == -EOPNOTSUPP)) {
			reader.plus = false;
			rc = read_page(session, &reader, &op);
		}
		if (rc == 0 && reader.nentries == 0 && !reader.is_end) {
			fprintf(stderr, "weir-nfs: the server returned a part of a directory "
					"without entries\n");
			rc = -EBADMSG;
		}
		if (reader.is_circle)
			fprintf(stderr, "weir-nfs: the directory does not end: the server repeated "
					"a cookie\n");
		if (rc == 0)
			rc = reader.rc;
	} while (rc == 0 && !reader.is_end);
	if (reader.nbad > 0) {
		fprintf(stderr, "weir-nfs: %u invalid names were left out\n", reader.nbad);
		rc = rc ? rc : -EBADMSG;
	}
	return rc;
}

static int keep(const struct dir_entry *entry, void *arg)
{
	struct dir_list *list = arg;

	if (list->n == DIR_ENTRIES_MAX)
		return -E2BIG;
	if (list->n == list->room) {
		uint32_t room = list->room ? 2 * list->room : 64;
		void *entries = realloc(list->entries, room * sizeof(list->entries[0]));

		if (!entries)
			return -ENOMEM;
		list->entries = entries;
		list->room = room;
	}
	list->entries[list->n++] = *entry;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct dir_entry *)a)->name, ((const struct dir_entry *)b)->name);
}

int dir_list(struct session *session, const struct nfs3_fh *dir, struct dir_list *list,
	     bool is_sorted)
{
	int rc;

	*list = (struct dir_list){0};
	rc = dir_read(session, dir, keep, list);
	if (is_sorted && list->n > 0)
		qsort(list->entries, list->n, sizeof(list->entries[0]), by_name);
	return rc;
}

void dir_list_free(struct dir_list *list)
{
	free(list->entries);
	*list = (struct dir_list){0};
}

int dir_entry_node(struct session *session, const struct nfs3_fh *dir,
		   const struct dir_entry *entry, struct node *node)
{
	if (!entry->has_fh)
		return tree_lookup(session, dir, entry->name, node);
	node->fh = entry->fh;
	if (!entry->has_attr)
		return tree_getattr(session, &node->fh, &node->attr);
	node->attr = entry->attr;
	return 0;
}
