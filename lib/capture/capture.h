/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CAPTURE_H
#define CAPTURE_H

/*
 * Captures (weir/capture.h). The files of this folder:
 *
 *   capture.c         starts and stops the capture of the process
 *   capture_current.c knows the capture of the process, and its rings
 *   tap.c             records what connections send and receive, on the threads of engines
 *   capture_ring.[ch] the ring from the thread of an engine to the writer
 *   writer.c          the thread that makes frames of records, and writes them to the file
 *   handles.[ch]      the handles of chunks, as Wireshark needs them
 *   frame.[ch]        RoCEv2 frames
 *   cm_mad.[ch]       messages of the connection manager, which are payloads of frames
 *   crc32.[ch]        the CRC of frames
 *   pcapng.[ch]       the format of the file
 *
 * Lifecycle. 'is_on' says whether records are wanted. It becomes false when the capture is stopped,
 * and when the writer reaches a limit or cannot write. A connection that then sends or receives
 * removes its tap. A connection that is idle keeps the tap until its end or until the next capture,
 * and costs nothing meanwhile. The capture has a reference of the process, from
 * weir_capture_start() to weir_capture_stop(), and one of each engine with taps. The last one frees
 * it.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weir/capture.h>
#include <weir/peer.h>

#include "capture_ring.h"
#include "cm_private.h"
#include "mem.h"

struct pcapng;
struct weir_conn;
struct weir_engine;

/* The rings of a capture. An engine that ends leaves its ring to the next one. */
#define CAPTURE_RINGS_MAX MEM_SLOTS_MAX

struct capture {
	atomic_bool is_on;	 /* records are wanted */
	atomic_bool is_stopping; /* the writer must end when the rings are empty */
	_Atomic uint32_t refs;
	_Atomic uint32_t nconns;	     /* connections that were numbered */
	struct weir_capture_options options; /* with the defaults; without 'path' */
	uint64_t deadline_ns;		     /* of CLOCK_MONOTONIC */
	pthread_t writer;
	struct pcapng *file;
	char path[1024]; /* for log lines */
	/* what the writer has done */
	_Atomic uint64_t frames, bytes, written_conns;
	_Atomic int end;	 /* as in weir_capture_status */
	atomic_bool is_written;	 /* the file is complete */
	_Atomic uint32_t nrings; /* rings are added only; the first 'nrings' are valid */
	struct capture_ring *rings[CAPTURE_RINGS_MAX];
};

/* The data of a CAPTURE_OPEN. */
struct capture_opened {
	uint64_t conn_id;
	uint32_t is_requester;			  /* 1: this side is the requester */
	uint8_t private_data[2][CM_PRIVATE_SIZE]; /* of this side and of the peer */
	char peer[WEIR_PEER_ADDRESS_BYTES];
};

/*
 * capture_current.c. Any thread.
 *
 * - capture_claim() reserves the place of the capture of the process. It returns whether the place
 *   was free. No lock is held until capture_set(), because a file system can be slow.
 * - capture_set() sets the capture, or frees the place if it is NULL.
 * - capture_withdraw() removes the capture and returns it, or NULL. The place stays reserved.
 */
void capture_at_fork(void);
bool capture_claim(void);
void capture_set(struct capture *capture);
struct capture *capture_withdraw(void);

/*
 * - capture_get() returns the capture that is on, with a reference, or NULL.
 * - capture_get_any() returns one that has ended, too.
 * - capture_put() ends a reference.
 * - capture_take_ring() returns a ring for an engine, or NULL if there is no memory.
 * - capture_leave_ring() gives it back.
 */
struct capture *capture_get(void);
struct capture *capture_get_any(void);
void capture_put(struct capture *capture);
struct capture_ring *capture_take_ring(struct capture *capture);
void capture_leave_ring(struct capture_ring *ring);
/* Creates rings for 'n' engines, whose threads then need not touch the memory. If there is too
 * little memory, creates fewer. */
void capture_prepare_rings(struct capture *capture, uint32_t n);
/* Returns the number of dropped records. */
uint64_t capture_dropped(struct capture *capture);

/* tap.c */
void capture_tap_register(void);
/* Taps the connections of an engine. Returns 0, -ENOENT or -ENOMEM. */
int capture_tap_engine(struct weir_engine *engine);

/* writer.c. Starts the thread of a capture. Returns 0 or -errno. */
int capture_writer_start(struct capture *capture);

#endif
