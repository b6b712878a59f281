/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LINK_H
#define LINK_H

/*
 * Links to other processes. The environment variable MLX5_MODEL_NETWORK names the folder that is
 * the network. Its ports are Unix sockets with abstract names, of which nothing is left when a
 * process is killed. A link is a socket between two processes. It carries the messages of one
 * connection in order: those of the connection managers, and those of the queue pairs.
 *
 * The caller of each function holds the lock, except where a comment says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum link_kind {
	LINK_CM,      /* a message of the connection manager, which is its data */
	LINK_REQUEST, /* a work request; the data are those of a SEND or of an RDMA WRITE */
	LINK_ANSWER,  /* the result of a work request; the data are those of an RDMA READ */
	LINK_AGAIN,   /* a SEND that found no receive can be tried again */
};

struct link_message {
	uint32_t kind;
	uint32_t len;	   /* bytes of data that follow */
	uint32_t qpn;	   /* the queue pair of the sender of this message */
	uint32_t sequence; /* of a request, or of the request that is answered */
	uint64_t addr;	   /* of the memory of an RDMA operation */
	uint64_t bytes;
	uint32_t key;	/* of that memory, or to be invalidated by a SEND */
	uint8_t opcode; /* of a request: MLX5_OPCODE_* */
	/* of an answer */
	uint8_t result; /* enum result */
	uint8_t syndrome;
	uint8_t rnr_timer; /* of the queue pair that answers */
};

struct link_bytes {
	uint8_t *at;
	size_t used, room;
};

/* A link, or a port. */
struct link {
	TAILQ_ENTRY(link) entry;
	int fd;
	uint16_t port; /* of a port, and of a link that came by it; as in struct sockaddr_in */
	uint32_t users;
	bool is_port;
	bool is_new;  /* no message has arrived by it yet, and it is a user of itself */
	bool is_lost; /* the other process has closed it */
	uint32_t qpn; /* the queue pair of this process; 0: none yet */
	struct link_bytes in, out;
};

/* Makes the model part of the network of a folder. Returns 0 or -errno. Needs no lock. */
int link_init(const char *folder);
/* Returns whether the model is part of a network. Needs no lock. */
bool link_has_network(void);

/* Takes a port of the network. Returns NULL and sets errno, to EADDRINUSE if the port is taken. */
struct link *link_claim_port(uint16_t port);
/* Lets other processes make links to a port. Returns 0 or a positive errno. */
int link_listen(struct link *port);
/* Makes a link to a port. Returns NULL and sets errno, to ECONNREFUSED if nobody listens. */
struct link *link_connect(uint16_t port);

/* NULL is allowed. A port is closed when it has no user. A link is closed later, when its messages
 * were sent. */
struct link *link_ref(struct link *link);
void link_unref(struct link *link);

/* Appends a message, and returns where its 'len' bytes of data are stored. The caller stores them,
 * and calls link_flush(). */
uint8_t *link_append(struct link *link, const struct link_message *message);
/* Sends what the socket has room for. The rest is sent later. */
void link_flush(struct link *link);

struct link_handlers {
	void (*message)(struct link *link, const struct link_message *message, const uint8_t *data);
	void (*lost)(struct link *link);
};

/* Sends and receives what can be. Returns whether anything has arrived. */
bool link_run_all(const struct link_handlers *handlers);
/* Waits until something arrives, at most for this time. The caller does not hold the lock. */
void link_wait(uint32_t microseconds);

#endif
