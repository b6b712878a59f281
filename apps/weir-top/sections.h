/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SECTIONS_H
#define SECTIONS_H

/* The tables that weir-top shows, as texts. */

#include "rates.h"

#define SECTION_ROWS	132u /* at least the most of any table */
#define SECTION_COLUMNS 200u /* a longer row is cut off */

/* The tables. */
enum section_id {
	SECTION_ENGINES,
	SECTION_TIMES,
	SECTION_WAITING,
	SECTION_CONNS,
	SECTION_CALLS,
	SECTIONS,
};

/* The orders of connections. */
enum sort {
	SORT_ID,
	SORT_CALLS,
	SORT_BYTES,
	SORT_CREDITS,
	SORTS,
};

struct section {
	char head[SECTION_COLUMNS]; /* the names of the columns; the first one names the table */
	uint32_t n;
	uint32_t total; /* rows that there would be without a limit, at least n */
	char rows[SECTION_ROWS][SECTION_COLUMNS];
};

/* Returns the name of an order, such as "id", or -1 and the number of an order for a name. */
const char *sort_name(enum sort sort);
int sort_find(const char *name);

/* Writes the head of a table without rows: its name, and that it has none. */
void section_empty(const struct section *section, char head[SECTION_COLUMNS]);

/* Fills in all tables. */
void sections_fill(const struct watch_state *state, const struct rates *rates, enum sort sort,
		   struct section sections[SECTIONS]);

#endif
