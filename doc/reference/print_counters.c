/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the table of an engine's counters for doc/statistics.rst. tools/build-doc compiles and
 * runs this program. Each line has four fields, with tabs between them: group, name, unit, meaning.
 */
#include <stdio.h>
#include <stdlib.h>

#define COUNTER(group, name, unit, help) #group "\t" #name "\t" unit "\t" help "\n"
#define GAUGE(group, name, unit, help)	 #group "\t" #name "\t" unit "\t" help "\n"

static const char table[] =
#include "counter_list.h"
	;

int main(void)
{
	fputs(table, stdout);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
