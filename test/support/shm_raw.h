/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_RAW_H
#define SHM_RAW_H

/*
 * A raw peer over shm, which does not use the driver. It can send any message and write anything to
 * shared memory.
 */

#include "mux.h"
#include "ring.h"
#include "shm_ends.h"
#include "shm_wire.h"

#define RAW_RING_BYTES	 8192u
#define RAW_REGION_BYTES 65536u
#define RAW_REGION_ID	 (SHM_REGIONS_MAX + 3)
#define RAW_CONN_ID	 4711u

struct raw {
	int fd;
	int fds[SHM_FDS_MAX +
		1]; /* descriptors that HELLO passes: rings and key table; a test may add more */
	uint32_t nfds;
	/* the region that 'hello' describes; only the message REGION passes this descriptor */
	int region_fd;
	struct shm_msg hello;	  /* a valid message HELLO */
	struct mux_memory *muxes; /* NULL if the raw peer offers no muxes */
	uint8_t *rings;
	struct key_entry *keys;
	uint8_t *region;
	struct shm_msg answer; /* the latest message that arrived */
	struct ring_writer tx; /* to the ring that the driver under test reads */
	struct ring_writer mux_tx;
	struct ring_reader mux_rx;
	uint64_t mux_tag;
	/*
	 * The shared words that the raw peer writes: the position up to which it has read messages
	 * ('head'), and the key of a copy that is in progress ('busy').
	 */
	struct ring_shared *mark;
};

/*
 * Makes a sealed memfd of 'len' bytes. If 'map' is not NULL, maps it and stores the address in
 * *map.
 */
int raw_memfd(size_t len, void **map);
void raw_init(struct raw *raw);
void raw_fini(struct raw *raw);
/*
 * Ends all raw peers of a test, destroys the queue pairs that 'end' has for them, and closes 'end'.
 */
void raw_close_all(struct raw *raws, struct fabric_qp **qps, uint32_t n, struct end *end);
/* Adds the offer of muxes to 'hello'. */
void raw_offer_mux(struct raw *raw);
/* Begins to use the mux that 'answer' names. Its rings are read and written from their start. */
void raw_begin_mux(struct raw *raw);
/* Connects, sends 'hello', and waits for the message WELCOME. */
void raw_connect(struct raw *raw, const char *addr);
/*
 * Connects and disconnects. Returns true if the listener at 'addr' sent anything before it closed
 * the connection.
 */
bool raw_is_welcome(const char *addr);
/* Connects and sends nothing. */
void raw_connect_only(struct raw *raw, const char *addr);
/*
 * Accepts a connection at a listener that raw_listen() returned, and receives the message HELLO
 * into 'answer'.
 */
void raw_welcome(struct raw *raw, int listener, struct end *polled);
int raw_listen(const char *addr);
void raw_send(const struct raw *raw, const void *data, size_t len, const int *fds, uint32_t nfds);
/*
 * Sends a message as raw_send() does, on a connection that the other side can have closed. Returns
 * false if the message could not be sent.
 */
bool raw_try_send(const struct raw *raw, const void *data, size_t len, const int *fds,
		  uint32_t nfds);
void raw_send_type(const struct raw *raw, enum shm_msg_type type);
/*
 * Waits for a message, stores it in 'answer', and closes the descriptors that it passes. Returns
 * false if the other side has closed the connection.
 */
bool raw_recv(struct raw *raw, struct end *polled);
/* Sends the message REGION, whether or not the driver under test asked for the region. */
void raw_send_region(const struct raw *raw);
/*
 * Waits until the driver under test asks for the region, and then sends it. Returns earlier if a
 * completion or an event arrives. Requests for other regions are not answered.
 */
void raw_give_region(struct raw *raw, struct end *polled);
/*
 * Writes random words at random offsets in 'len' bytes, 'times' times. 'base' is the start of a
 * cell of a ring, or any multiple of 8. A word is one of:
 * - any value
 * - a small value
 * - a header that the cell at its offset could have in one of the first laps, in a ring that begins
 *   at 'base', or whose shared part begins at 'base'
 */
void raw_scribble(uint8_t *base, size_t len, uint32_t times);
/* Makes an open connection between the raw peer and 'end'. The queue pair of 'end' is end->qp. */
void raw_pair(struct raw *raw, struct end *end);

#endif
