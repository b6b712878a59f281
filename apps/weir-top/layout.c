/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the rows of the screen among the tables. */
#include "layout.h"

void layout_divide(const struct section sections[SECTIONS], uint32_t rows,
		   uint32_t firsts[SECTIONS], struct layout layouts[SECTIONS])
{
	uint32_t left = rows > SECTIONS ? rows - SECTIONS : 0;
	bool has_grown = true;

	for (uint32_t i = 0; i < SECTIONS; i++)
		layouts[i].n = 0;
	while (has_grown) {
		has_grown = false;
		for (uint32_t i = 0; i < SECTIONS && left > 0; i++) {
			if (layouts[i].n == sections[i].n)
				continue;
			layouts[i].n++;
			left--;
			has_grown = true;
		}
	}
	for (uint32_t i = 0; i < SECTIONS; i++) {
		if (firsts[i] > sections[i].n - layouts[i].n)
			firsts[i] = sections[i].n - layouts[i].n;
		layouts[i].first = firsts[i];
	}
}
