/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WATCH_SOCKET_H
#define WATCH_SOCKET_H

/*
 * A client of the telemetry socket of a process (rte_telemetry of DPDK). Nothing that the process
 * sends is trusted. Each request has a time limit.
 *
 * The files:
 *
 *   watch_find.[ch]    finds the sockets of processes
 *   watch_socket.[ch]  sends commands
 *   watch_json.[ch]    reads the members of answers
 *   watch_state.[ch]   reads the engines, connections and calls of a process
 *   watch_times.[ch]   reads the times of procedures
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include <jansson.h>

#include "compiler.h"

#define WATCH_PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define WATCH_WHY_BYTES	 320u

/* The result of a request. */
enum watch_result {
	WATCH_OK,
	WATCH_REFUSED,	   /* the process cannot carry the command out: an ID is gone */
	WATCH_UNKNOWN,	   /* the process does not know the command */
	WATCH_UNREACHABLE, /* there is no such socket, or it may not be used */
	WATCH_ENDED,	   /* the process has closed the connection */
	WATCH_SILENT,	   /* the process did not answer in time */
	WATCH_MALFORMED,   /* the answer is not valid */
};

/* A connection to a process. */
struct watch_socket {
	int fd;		   /* -1: not connected */
	uint32_t wait_ms;  /* for one request */
	uint64_t until_ms; /* the end of all requests; 0: none */
	int64_t pid;
	char version[64]; /* of DPDK */
	char *answer;	  /* of answer_bytes */
	uint32_t answer_bytes;
	char path[WATCH_PATH_BYTES];
	char why[WATCH_WHY_BYTES]; /* what the latest result other than WATCH_OK means */
};

/* Connects to the socket at a path. 'wait_ms' limits the time of this and of each request. The
 * result is WATCH_OK, or one that says why not; watch_close() need not be called then. */
enum watch_result watch_open(struct watch_socket *sock, const char *path, uint32_t wait_ms);

/*
 * Sends a command such as "/weir/conn,3". If the result is WATCH_OK, *value is what the answer has
 * for the command, an object or an array that the caller frees by json_decref(). WATCH_REFUSED and
 * WATCH_UNKNOWN leave the connection as it is. Any other result closes it.
 */
enum watch_result watch_ask(struct watch_socket *sock, const char *command, json_t **value);

/* Closes the connection, unless it is closed. */
void watch_close(struct watch_socket *sock);

/* Sets 'why', and returns 'result'. */
printf_like(3, 4) enum watch_result
	watch_fail(struct watch_socket *sock, enum watch_result result, const char *format, ...);

/* Returns a time in ms of a clock that only runs forward. */
uint64_t watch_clock_ms(void);

#endif
