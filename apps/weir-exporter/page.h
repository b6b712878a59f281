/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAGE_H
#define PAGE_H

/*
 * weir-exporter answers HTTP requests with the metrics of processes that use weir.
 *
 * The files of this folder:
 *
 *   main.c       the command line, and the server
 *   accept.[ch]  chooses the format by the header Accept
 *   page.[ch]    reads the processes, and writes the page
 *   metrics.[ch] the metrics of processes
 *   family.[ch]  the text of metrics, in both formats
 */

#include <stddef.h>
#include <stdint.h>

#include "family.h"

/* The processes that are read, and the limits. */
struct page_options {
	const char *folder; /* of the sockets; NULL: that of EAL */
	const char *prefix; /* NULL: any */
	const char *socket; /* the only socket; NULL: all that are found */
	uint32_t conns;	    /* connections of a process, at most WATCH_CONNS */
	uint32_t wait_ms;   /* the time for one request to a process */
};

/* Reads the processes, and returns the page, which the caller frees. Sets *bytes to its length.
 * Returns NULL if there is no memory. */
char *page_make(const struct page_options *options, enum page_format format, size_t *bytes);

#endif
