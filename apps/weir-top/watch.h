/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_H
#define WATCH_H

/* Reads a process at each interval. When it has ended, connects to the next one at its socket. */

#include "rates.h"

struct watch {
	char path[WATCH_PATH_BYTES];
	struct watch_socket sock;
	enum watch_result result;     /* of the latest reading */
	bool has_state;		      /* 'state' and 'rates' are those of the latest reading */
	struct watch_state states[2]; /* two readings in turn */
	uint32_t current;	      /* the index of the latest one */
	bool has_before;	      /* the other one is of the same process */
	struct rates rates;
};

/* Reads the process, and connects first if necessary. watch->sock.why says why the result is not
 * WATCH_OK; the state of the latest reading remains then. */
enum watch_result watch_update(struct watch *watch);

/* Returns the latest reading. */
static inline const struct watch_state *watch_state(const struct watch *watch)
{
	return &watch->states[watch->current];
}

#endif
