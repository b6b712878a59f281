/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the progress of a transfer on standard error. */
#include <stdio.h>
#include <unistd.h>

#include "transfer.h"
#include "terminal.h"

#define SHOW_EVERY_NS 200000000ull

void progress_begin(struct progress *progress, const struct session *session, const char *name,
		    uint64_t total)
{
	*progress = (struct progress){
		.name = name,
		.total = total,
		.is_shown = !session->options->quiet && isatty(STDERR_FILENO),
		.begin_ns = session->now_ns,
		.shown_ns = session->now_ns,
	};
}

void progress_show(struct progress *progress, uint64_t now_ns)
{
	double seconds = (double)(now_ns - progress->begin_ns) / 1e9;
	char name[48];

	if (!progress->is_shown || now_ns - progress->shown_ns < SHOW_EVERY_NS)
		return;
	progress->shown_ns = now_ns;
	terminal_text(progress->name, name, sizeof(name));
	fprintf(stderr, "\r%-47s %9.1f MB", name, (double)progress->done / 1e6);
	if (progress->total > 0)
		fprintf(stderr, " %5.1f %%",
			100.0 * (double)progress->done / (double)progress->total);
	fprintf(stderr, " %8.1f MB/s  ", seconds > 0 ? (double)progress->done / 1e6 / seconds : 0);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	/* A line must be cleared only if one was printed. */
	if (progress->is_shown && progress->shown_ns != progress->begin_ns)
		fprintf(stderr, "\r%79s\r", "");
	progress->is_shown = false;
}
