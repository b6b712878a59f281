/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_RAW_H
#define SHM_RAW_H

/* A peer over shm without a driver, which can send and write anything. */

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
	int region_fd; /* of the region that 'hello' describes; only a message REGION passes it */
	struct shm_msg hello;	  /* a valid HELLO */
	struct mux_memory *muxes; /* NULL: no muxes were offered */
	uint8_t *rings;
	struct key_entry *keys;
	uint8_t *region;
	struct shm_msg answer; /* the latest message that arrived */
	struct ring_writer tx; /* to the driver under test */
	struct ring_writer mux_tx;
	struct ring_reader mux_rx;
	uint64_t mux_tag;
	/* The position up to which the driver under test believes that its messages were read. */
	struct ring_shared *mark;
};

/* Makes a sealed memfd of that size. Maps it and sets *map, unless 'map' is NULL. */
int raw_memfd(size_t len, void **map);
void raw_init(struct raw *raw);
void raw_fini(struct raw *raw);
/* Ends all raw peers of a test and destroys the queue pairs that 'end' has for them, then closes
 * 'end'. */
void raw_close_all(struct raw *raws, struct fabric_qp **qps, uint32_t n, struct end *end);
/* Adds muxes to 'hello'. */
void raw_offer_mux(struct raw *raw);
/* Begins to use the mux that 'answer' names, from the start of its rings. */
void raw_begin_mux(struct raw *raw);
/* Connects and waits for WELCOME. */
void raw_connect(struct raw *raw, const char *addr);
/* Connects and disconnects. Returns whether the listener at 'addr' sent anything before it closed
 * the connection. */
bool raw_is_welcome(const char *addr);
/* Connects, and sends nothing. */
void raw_connect_only(struct raw *raw, const char *addr);
/* Accepts a connection at a listener from raw_listen(), and receives its HELLO into 'answer'. */
void raw_welcome(struct raw *raw, int listener, struct end *polled);
int raw_listen(const char *addr);
void raw_send(const struct raw *raw, const void *data, size_t len, const int *fds, uint32_t nfds);
/* Like raw_send(), if the other side may have closed the connection. Returns false if the message
 * could not be sent. */
bool raw_try_send(const struct raw *raw, const void *data, size_t len, const int *fds,
		  uint32_t nfds);
void raw_send_type(const struct raw *raw, enum shm_msg_type type);
/* Waits for a message and drops its descriptors. Returns false if the other side has closed the
 * connection. */
bool raw_recv(struct raw *raw, struct end *polled);
/* Sends the region, whether or not it was asked for. */
void raw_send_region(const struct raw *raw);
/* Waits until the driver under test asks for the region, and sends it, or until a completion or an
 * event arrives. Does not answer requests for other regions. */
void raw_give_region(struct raw *raw, struct end *polled);
/* Writes random words at random offsets in 'len' bytes. 'base' is at a cell of a ring, or at any
 * multiple of 8. A word is one of:
 * - any value
 * - a small value
 * - a header that the cell at its offset could have in one of the first laps. The ring begins
 *   either at 'base' or with its shared part at 'base'. */
void raw_scribble(uint8_t *base, size_t len, uint32_t times);
/* Makes an open connection whose other queue pair is end->qp. */
void raw_pair(struct raw *raw, struct end *end);

#endif
