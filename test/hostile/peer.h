/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * The hostile side of a connection: bytes over any driver, without weir's protocol. Each function
 * waits for an event for a limited time. If there is none, the caller decides what that means.
 */

#include "driver.h"
#include "message.h"

#define PEER_RECVS	64u
#define PEER_RECV_BYTES 8192u
#define PEER_SENDS	64u

struct peer_config {
	const char *driver;
	const char *driver_options;
	uint32_t timeout_ms; /* an expected event happens within this time */
	uint32_t settle_ms;  /* an unexpected event would have happened within this time */
};

struct peer_message {
	uint32_t len;
	uint8_t bytes[PEER_RECV_BYTES];
};

struct peer {
	struct peer_config config;
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	struct fabric_listener *listener;
	/* a request that waits for peer_accept() or peer_reject() */
	struct fabric_conn_req *request;
	struct fabric_qp *qp;
	uint8_t *buffers; /* receives, then the send buffer; the other side has no access to them */
	struct fabric_mr buffers_mr;
	uint8_t *exposed; /* EXPOSED_BYTES that the other side may read and write */
	struct fabric_mr mr;
	bool is_open, is_closed, is_refused;
	uint32_t nsent, nsent_done;
	uint32_t idle;	       /* consecutive polls that found nothing */
	uint32_t first, count; /* of 'received', which is a ring */
	struct peer_message received[PEER_RECVS];
};

/* Returns 0, or -errno after a line on standard error. */
int peer_open(struct peer *peer, const struct peer_config *config);
void peer_close(struct peer *peer);

/* Connects. Returns 0, -ECONNREFUSED if the connection was refused or nobody listens, -ETIMEDOUT,
 * or another -errno. */
int peer_connect(struct peer *peer, const char *addr, const void *private_data,
		 uint32_t private_len);
int peer_listen(struct peer *peer, const char *addr);
/* Waits for a connection request. Returns false if there was none within the time. */
bool peer_wait_request(struct peer *peer, uint32_t ms);
int peer_accept(struct peer *peer, const void *private_data, uint32_t private_len);
void peer_reject(struct peer *peer);
void peer_disconnect(struct peer *peer);

static inline bool peer_is_usable(const struct peer *peer)
{
	return peer->qp && peer->is_open && !peer->is_closed;
}

/* Queues a Send. Returns false if the connection has ended, or does not accept the Send within the
 * time. */
bool peer_send(struct peer *peer, const uint8_t *bytes, uint32_t len);
/* Post an RDMA Write from the start of the exposed memory, or an RDMA Read to it, of up to
 * EXPOSED_BYTES. */
bool peer_write(struct peer *peer, uint32_t key, uint64_t address, uint32_t len);
bool peer_read(struct peer *peer, uint32_t key, uint64_t address, uint32_t len);

enum peer_event { PEER_MESSAGE, PEER_CLOSED, PEER_NOTHING };
/* Waits for an event: the next message, which is copied to *message; the end of the connection,
 * after all messages; or nothing for 'ms'. */
enum peer_event peer_wait(struct peer *peer, uint32_t ms, struct peer_message *message);

uint64_t peer_now_ms(void);

#endif
