/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_RAW_H
#define SHM_RAW_H

/* A peer over shm without a driver: it can say and write anything. */

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
		1]; /* rings and key table: what a HELLO takes along; more are the test's */
	uint32_t nfds;
	int region_fd; /* of the region that 'hello' describes, although only a REGION passes it */
	struct shm_msg hello;	  /* a good one */
	struct mux_memory *muxes; /* NULL: none were offered */
	uint8_t *rings;
	struct key_entry *keys;
	uint8_t *region;
	struct shm_msg answer; /* the last that came */
	struct ring_writer tx; /* to the driver under test */
	struct ring_writer mux_tx;
	struct ring_reader mux_rx;
	uint64_t mux_tag;
	/* how far the driver under test believes that its messages were read */
	struct ring_shared *mark;
};

/* A sealed memfd of that size, mapped to *map unless NULL. */
int raw_memfd(size_t len, void **map);
void raw_init(struct raw *raw);
void raw_fini(struct raw *raw);
/* The same for all of a test's, with the queue pairs that 'end' has for them; then close 'end'. */
void raw_close_all(struct raw *raws, struct fabric_qp **qps, uint32_t n, struct end *end);
/* Have muxes in 'hello'. */
void raw_offer_mux(struct raw *raw);
/* Have the mux that 'answer' names, from its beginning. */
void raw_begin_mux(struct raw *raw);
/* Connect, and wait for WELCOME. */
void raw_connect(struct raw *raw, const char *addr);
/* Connect and leave. Returns whether the listener at 'addr' sent anything before it closed the
 * connection. */
bool raw_is_welcome(const char *addr);
/* Connect only. */
void raw_connect_only(struct raw *raw, const char *addr);
/* The other side of that, at a listener of raw_listen(): accept a connection, and receive its HELLO
 * into 'answer'. */
void raw_welcome(struct raw *raw, int listener, struct end *polled);
int raw_listen(const char *addr);
void raw_send(const struct raw *raw, const void *data, size_t len, const int *fds, uint32_t nfds);
/* The same where the other side may have closed the connection. False: it did not go. */
bool raw_try_send(const struct raw *raw, const void *data, size_t len, const int *fds,
		  uint32_t nfds);
void raw_send_type(const struct raw *raw, enum shm_msg_type type);
/* Wait for a message, whose descriptors are dropped. False: the other side has closed the
 * connection. */
bool raw_recv(struct raw *raw, struct end *polled);
/* Send the region, asked for or not. */
void raw_send_region(const struct raw *raw);
/* Until the driver under test asks for the region, and is given it, or a completion or an event
 * comes. Requests for other regions are not answered. */
void raw_give_region(struct raw *raw, struct end *polled);
/* Words at random in 'len' bytes from a cell of a ring on, or from anywhere at a multiple of 8: of
 * any value, small ones, and headers that the cell could have that they come to lie in, be it of a
 * ring from there on or of one from its shared part on, in one of the first laps. */
void raw_scribble(uint8_t *base, size_t len, uint32_t times);
/* All of it, up to an open connection whose other queue pair is end->qp. */
void raw_pair(struct raw *raw, struct end *end);

#endif
