/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PEER_H
#define PEER_H

/*
 * The hostile side of a connection: it sends and receives bytes over any driver, without weir's
 * protocol code. Each function that waits for an event waits for a limited time. If there is no
 * event, the caller decides what that means.
 */

#include "driver.h"
#include "message.h"

#define PEER_RECVS	64u
#define PEER_RECV_BYTES 8192u
#define PEER_SENDS	64u

struct peer_config {
	const char *driver;
	const char *driver_options;
	uint32_t timeout_ms; /* an expected event must happen within this time */
	/* an event that is not expected would have happened within this time */
	uint32_t settle_ms;
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
	/* A connection request that peer_accept() or peer_reject() must answer. */
	struct fabric_conn_req *request;
	struct fabric_qp *qp;
	/* memory of receives, and then of the send buffer, to which the other side has no access */
	uint8_t *buffers;
	struct fabric_mr buffers_mr;
	uint8_t *exposed; /* EXPOSED_BYTES of memory that the other side can read and write */
	struct fabric_mr mr;
	bool is_open, is_closed, is_refused;
	uint32_t nsent, nsent_done;
	uint32_t idle; /* consecutive polls that found nothing */
	/* index of the first message, and number of messages, in the ring 'received' */
	uint32_t first, count;
	struct peer_message received[PEER_RECVS];
};

/*
 * Opens the device and its memory. Returns 0, or -errno after an error message on standard error.
 */
int peer_open(struct peer *peer, const struct peer_config *config);
void peer_close(struct peer *peer);

/*
 * Connects to 'addr'. Returns:
 * - 0
 * - -ECONNREFUSED if the connection was refused or nobody listens
 * - -ETIMEDOUT
 * - another -errno
 */
int peer_connect(struct peer *peer, const char *addr, const void *private_data,
		 uint32_t private_len);
int peer_listen(struct peer *peer, const char *addr);
/* Waits up to 'ms' milliseconds for a connection request. Returns false if none arrived. */
bool peer_wait_request(struct peer *peer, uint32_t ms);
int peer_accept(struct peer *peer, const void *private_data, uint32_t private_len);
void peer_reject(struct peer *peer);
void peer_disconnect(struct peer *peer);

static inline bool peer_is_usable(const struct peer *peer)
{
	return peer->qp && peer->is_open && !peer->is_closed;
}

/*
 * Posts a Send. Returns false if the connection has ended, or if the driver does not accept the
 * Send in time.
 */
bool peer_send(struct peer *peer, const uint8_t *bytes, uint32_t len);
/*
 * Post an RDMA Write from the start of the exposed memory, or an RDMA Read to it. 'len' is at most
 * EXPOSED_BYTES.
 */
bool peer_write(struct peer *peer, uint32_t key, uint64_t address, uint32_t len);
bool peer_read(struct peer *peer, uint32_t key, uint64_t address, uint32_t len);

enum peer_event { PEER_MESSAGE, PEER_CLOSED, PEER_NOTHING };
/*
 * Waits for an event. Returns:
 * - PEER_MESSAGE: a message arrived, which is copied to *message
 * - PEER_CLOSED: the connection has ended, and all its messages were returned before
 * - PEER_NOTHING: nothing happened for 'ms' milliseconds
 */
enum peer_event peer_wait(struct peer *peer, uint32_t ms, struct peer_message *message);

uint64_t peer_now_ms(void);

#endif
