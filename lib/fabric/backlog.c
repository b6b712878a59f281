/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection requests that wait at a listener. backlog.h describes the rule by which they are
 * displaced.
 */
#include "backlog.h"

#include <stddef.h>

void backlog_init(struct backlog *backlog, uint32_t max)
{
	TAILQ_INIT(&backlog->entries);
	backlog->n = 0;
	backlog->max = max;
}

/* Returns how many requests of 'peer' wait, and sets *oldest to the oldest of these requests, or to
 * NULL if there is none. */
static uint32_t count(const struct backlog *backlog, const struct backlog_peer *peer,
		      struct backlog_entry **oldest)
{
	struct backlog_entry *entry;
	uint32_t n = 0;

	*oldest = NULL;
	TAILQ_FOREACH(entry, &backlog->entries, entry)
	{
		if (!backlog_is_same(&entry->peer, peer))
			continue;
		if (n++ == 0)
			*oldest = entry;
	}
	return n;
}

/* Returns the largest number of waiting requests that any peer has, and sets *oldest to the oldest
 * request of that peer, or to NULL if no request waits. */
static uint32_t count_largest(const struct backlog *backlog, struct backlog_entry **oldest)
{
	struct backlog_entry *entry, *first;
	uint32_t most = 0;

	*oldest = NULL;
	TAILQ_FOREACH(entry, &backlog->entries, entry)
	{
		uint32_t n = count(backlog, &entry->peer, &first);

		if (n > most) {
			most = n;
			*oldest = first;
		}
	}
	return most;
}

struct backlog_entry *backlog_displaced(const struct backlog *backlog,
					const struct backlog_peer *peer)
{
	struct backlog_entry *own, *largest;
	uint32_t nown = count(backlog, peer, &own);
	uint32_t most = count_largest(backlog, &largest);

	return most >= nown + 2 ? largest : own;
}

void backlog_add(struct backlog *backlog, struct backlog_entry *entry,
		 const struct backlog_peer *peer)
{
	entry->peer = *peer;
	entry->waits = true;
	TAILQ_INSERT_TAIL(&backlog->entries, entry, entry);
	backlog->n++;
}

void backlog_remove(struct backlog *backlog, struct backlog_entry *entry)
{
	if (!entry->waits)
		return;
	entry->waits = false;
	TAILQ_REMOVE(&backlog->entries, entry, entry);
	backlog->n--;
}
