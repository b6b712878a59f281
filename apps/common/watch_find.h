/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_FIND_H
#define WATCH_FIND_H

/* Finds the telemetry sockets of processes of this user. */

#include "watch_socket.h"

#define WATCH_PLACES_MAX 64u
#define WATCH_NAME_BYTES WATCH_PATH_BYTES /* a name is a part of the path */

/* A socket. Its name is the prefix of EAL, and ":1" for the second process with this prefix. */
struct watch_place {
	char name[WATCH_NAME_BYTES];
	char path[WATCH_PATH_BYTES];
};

struct watch_places {
	uint32_t n;
	uint32_t left_out; /* sockets that do not fit into 'places' */
	struct watch_place places[WATCH_PLACES_MAX];
	char folder[WATCH_PATH_BYTES];
	char why[WATCH_WHY_BYTES]; /* what watch_find() could not read */
};

/*
 * Finds the sockets below a folder, in the order of their names.
 *
 * - folder: the folder that has a folder for each prefix; NULL: that of EAL for this user
 * - prefix: the prefix of the processes; NULL: any
 *
 * Returns 0, or -errno with the reason in 'why' if the folder cannot be read. A folder that does
 * not exist has no sockets.
 */
int watch_find(const char *folder, const char *prefix, struct watch_places *places);

/* Has the places consist of one socket, whose name is its path. A path that is too long is cut. */
void watch_one(const char *path, struct watch_places *places);

#endif
