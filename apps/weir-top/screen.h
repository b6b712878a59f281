/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCREEN_H
#define SCREEN_H

/* The screen of weir-top, and its keys. */

#include "sections.h"
#include "watch.h"

/* How the program shows a process. */
struct show_options {
	uint64_t interval_ms;
	enum sort sort;
	uint32_t count; /* readings to print; 0: without end */
};

/* Shows the process until the user or a signal ends this. Returns the exit status. */
int screen_run(struct watch *watch, const struct show_options *options);

/* Writes the line about the process: which one it is, and whether it answers. */
void screen_title(const struct watch *watch, const struct show_options *options, bool is_paused,
		  char title[SECTION_COLUMNS]);

#endif
