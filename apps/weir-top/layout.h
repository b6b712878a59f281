/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LAYOUT_H
#define LAYOUT_H

/* Divides the rows of the screen among the tables. */

#include "sections.h"

#define LAYOUT_ROWS_MIN	   24u
#define LAYOUT_COLUMNS_MIN 80u

/* The rows of a table that the screen has. */
struct layout {
	uint32_t first, n;
};

/* Divides 'rows' rows, which include one for the head of each table. A table gets no more rows than
 * it has. Small tables get all of their rows before large ones. 'firsts' has the first row of each
 * table that the user wants, and is limited to those that leave no room empty. */
void layout_divide(const struct section sections[SECTIONS], uint32_t rows,
		   uint32_t firsts[SECTIONS], struct layout layouts[SECTIONS]);

#endif
