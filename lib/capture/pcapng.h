/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PCAPNG_H
#define PCAPNG_H

/*
 * Writes a file in the format pcapng, with one interface of Ethernet frames. The file never gets
 * longer than its limit.
 *
 * rte_pcapng of DPDK 22.11 is not used for it: it describes interfaces of ethdev ports only, and
 * gets its frames in mbufs that rte_pcapng_copy() makes for such a port. weir has no ethdev port.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCAPNG_COMMENT_MAX 256u	 /* the longest comment, with its NUL */
#define PCAPNG_BYTES_MIN   4096u /* the smallest limit of a file */

struct pcapng {
	int fd;
	uint64_t bytes;	    /* of the file, with those in 'buffer' */
	uint64_t written;   /* of the file, without those in 'buffer' */
	uint64_t bytes_max; /* limit of the file */
	uint32_t used;	    /* bytes in 'buffer' */
	int error;	    /* the first error of a write: -errno */
	uint8_t buffer[256 * 1024];
};

/* Begins the file 'fd', which is empty, with the names of the program and of the interface. Returns
 * 0 or -errno. */
int pcapng_begin(struct pcapng *file, int fd, uint64_t bytes_max, const char *program,
		 const char *interface);

/* Returns whether 'nframes' frames of at most FRAME_BYTES_MAX bytes, with 'bytes' bytes in total,
 * and a comment fit in the file, and pcapng_end() after them. */
bool pcapng_has_room(const struct pcapng *file, uint64_t nframes, uint64_t bytes);

/* Appends a frame: 'kept' bytes of the 'len' bytes that it has. The time is that of CLOCK_REALTIME.
 * 'comment' can be NULL. */
void pcapng_frame(struct pcapng *file, uint64_t time_ns, const uint8_t *frame, uint32_t kept,
		  uint32_t len, const char *comment);

/* Writes what is buffered to the file. Returns 0, or the first error of any write: -errno. */
int pcapng_flush(struct pcapng *file);

/* Appends the statistics of the interface, and writes everything to the file. 'comment' says why
 * the capture ended. Returns 0, or the first error of any write: -errno. */
int pcapng_end(struct pcapng *file, uint64_t time_ns, uint64_t nframes, uint64_t ndropped,
	       const char *comment);

#endif
