/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a listener's programs. The connections of the listener share the table, which exists
 * until the listener and all of these connections are freed. */
#include "alloc.h"
#include "responder.h"

void program_table_put(struct program_table *table)
{
	if (--table->refs > 0)
		return;
	for (uint32_t i = 0; i < table->ndrcs; i++)
		drc_destroy(table->drcs[i]);
	mem_free(table);
}
