/* SPDX-License-Identifier: BSD-3-Clause */

/* The hostile side of a connection over any driver (peer.h). */

#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SENDS_AT      (PEER_RECVS * PEER_RECV_BYTES)
#define BUFFERS_BYTES (SENDS_AT + MESSAGE_MAX)
#define IDLE_POLLS    1000u
#define IDLE_US	      100u

uint64_t peer_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

static int map_memory(struct peer *peer, size_t len, uint32_t access, uint8_t **base,
		      struct fabric_mr *mr)
{
	int fd = memfd_create("weir-hostile", MFD_ALLOW_SEALING | MFD_CLOEXEC), rc;
	void *p = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	rc = p == MAP_FAILED ? -errno : 0;
	if (rc == 0) {
		*base = p;
		rc = peer->ops->mr_register(peer->dev, p, len, access, fd, 0, mr);
	}
	close(fd);
	return rc;
}

static void unmap_memory(struct peer *peer, size_t len, uint8_t *base, struct fabric_mr *mr)
{
	if (mr->driver)
		peer->ops->mr_deregister(peer->dev, mr);
	if (base)
		munmap(base, len);
}

int peer_open(struct peer *peer, const struct peer_config *config)
{
	const struct fabric_dev_config dev = {.options = config->driver_options,
					      .max_connections = 16,
					      .max_regions = 4,
					      .numa_node = -1};
	int rc;

	memset(peer, 0, sizeof(*peer));
	peer->config = *config;
	peer->ops = fabric_driver_find(config->driver);
	rc = peer->ops ? peer->ops->open(&dev, &peer->dev) : -ENODEV;
	if (rc == 0)
		peer->ops = peer->dev->ops;
	if (rc == 0)
		rc = map_memory(peer, BUFFERS_BYTES, FABRIC_LOCAL_WRITE, &peer->buffers,
				&peer->buffers_mr);
	if (rc == 0)
		rc = map_memory(peer, EXPOSED_BYTES,
				FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
				&peer->exposed, &peer->mr);
	if (rc != 0) {
		fprintf(stderr, "weir-hostile: driver %s: %s\n", config->driver, strerror(-rc));
		peer_close(peer);
	}
	return rc;
}

void peer_close(struct peer *peer)
{
	peer_disconnect(peer);
	peer_reject(peer);
	if (peer->listener)
		peer->ops->unlisten(peer->listener);
	peer->listener = NULL;
	unmap_memory(peer, BUFFERS_BYTES, peer->buffers, &peer->buffers_mr);
	unmap_memory(peer, EXPOSED_BYTES, peer->exposed, &peer->mr);
	if (peer->dev)
		peer->ops->close(peer->dev);
	peer->dev = NULL;
}

static void post_recv(struct peer *peer, uint32_t i)
{
	const struct fabric_recv_wr wr = {i, peer->buffers + (size_t)i * PEER_RECV_BYTES,
					  PEER_RECV_BYTES, peer->buffers_mr.lkey};

	peer->ops->post_recv(peer->qp, &wr, 1);
}

static struct fabric_qp_attr attributes(struct peer *peer)
{
	const struct fabric_dev_attr *dev = &peer->dev->attr;

	return (struct fabric_qp_attr){
		.exposes = true,
		.max_send_wr = PEER_SENDS,
		.max_recv_wr = PEER_RECVS,
		.max_sge = 1,
		.max_msg_bytes =
			dev->max_msg_bytes < MESSAGE_MAX ? dev->max_msg_bytes : MESSAGE_MAX,
		.max_rd_atomic = 4,
		.ctx = peer,
	};
}

static void begin(struct peer *peer)
{
	peer->is_open = peer->is_closed = peer->is_refused = false;
	peer->nsent = peer->nsent_done = 0;
	peer->first = peer->count = 0;
	for (uint32_t i = 0; i < PEER_RECVS; i++)
		post_recv(peer, i);
}

static void on_event(struct peer *peer, const struct fabric_cm_event *event)
{
	switch (event->kind) {
	case FABRIC_CM_REQUEST:
		if (peer->request)
			/* only one connection request is kept at a time */
			peer->ops->reject(peer->dev, event->req, NULL, 0);
		else
			peer->request = event->req;
		break;
	case FABRIC_CM_ESTABLISHED:
		peer->is_open = true;
		break;
	case FABRIC_CM_REJECTED:
	case FABRIC_CM_FAILED:
		peer->is_refused = true;
		peer->is_closed = true;
		break;
	case FABRIC_CM_DISCONNECTED:
	case FABRIC_CM_UNLISTENED:
		peer->is_closed = true;
		break;
	}
}

static void on_completion(struct peer *peer, const struct fabric_wc *wc)
{
	struct peer_message *message;

	if (wc->op != FABRIC_RECV)
		peer->nsent_done++;
	if (wc->status != FABRIC_OK) {
		peer->is_closed = true;
		return;
	}
	if (wc->op != FABRIC_RECV)
		return;
	if (peer->count < PEER_RECVS) {
		message = &peer->received[(peer->first + peer->count++) % PEER_RECVS];
		message->len = wc->byte_len;
		memcpy(message->bytes, peer->buffers + wc->wr_id * PEER_RECV_BYTES, wc->byte_len);
	}
	post_recv(peer, (uint32_t)wc->wr_id);
}

static void poll_once(struct peer *peer)
{
	struct fabric_cm_event events[4];
	struct fabric_wc wcs[16];
	uint32_t nevents = peer->ops->cm_poll(peer->dev, events, 4);
	uint32_t nwcs = peer->ops->poll(peer->dev, wcs, 16);

	for (uint32_t i = 0; i < nwcs; i++)
		on_completion(peer, &wcs[i]);
	for (uint32_t i = 0; i < nevents; i++)
		on_event(peer, &events[i]);
	/* Gives up the CPU, because the other side may need it. */
	peer->idle = nevents + nwcs == 0 ? peer->idle + 1 : 0;
	if (peer->idle > IDLE_POLLS)
		usleep(IDLE_US);
	else if (peer->idle > 0)
		sched_yield();
}

int peer_connect(struct peer *peer, const char *addr, const void *private_data,
		 uint32_t private_len)
{
	struct fabric_qp_attr attr = attributes(peer);
	uint64_t end = peer_now_ms() + peer->config.timeout_ms;
	int rc = peer->ops->connect(peer->dev, addr, &attr, private_data, private_len, &peer->qp);

	if (rc != 0)
		return rc;
	begin(peer);
	while (!peer->is_open && !peer->is_closed && peer_now_ms() < end)
		poll_once(peer);
	if (peer->is_open)
		return 0;
	rc = peer->is_refused ? -ECONNREFUSED : -ETIMEDOUT;
	peer_disconnect(peer);
	return rc;
}

int peer_listen(struct peer *peer, const char *addr)
{
	return peer->ops->listen(peer->dev, addr, 8, peer, &peer->listener);
}

bool peer_wait_request(struct peer *peer, uint32_t ms)
{
	uint64_t end = peer_now_ms() + ms;

	do
		poll_once(peer);
	while (!peer->request && peer_now_ms() < end);
	return peer->request != NULL;
}

int peer_accept(struct peer *peer, const void *private_data, uint32_t private_len)
{
	struct fabric_qp_attr attr = attributes(peer);
	uint64_t end = peer_now_ms() + peer->config.timeout_ms;
	struct fabric_conn_req *request = peer->request;
	int rc;

	peer->request = NULL;
	rc = peer->ops->accept(peer->dev, request, &attr, private_data, private_len, &peer->qp);
	if (rc != 0)
		return rc;
	begin(peer);
	while (!peer->is_open && !peer->is_closed && peer_now_ms() < end)
		poll_once(peer);
	if (peer->is_open)
		return 0;
	peer_disconnect(peer);
	return -ECONNRESET;
}

void peer_reject(struct peer *peer)
{
	if (peer->request)
		peer->ops->reject(peer->dev, peer->request, "no", 2);
	peer->request = NULL;
}

void peer_disconnect(struct peer *peer)
{
	if (!peer->qp)
		return;
	peer->ops->disconnect(peer->qp);
	peer->ops->qp_destroy(peer->qp);
	peer->qp = NULL;
	peer->is_open = false;
}

/*
 * Posts a work request and waits until its buffer can be reused. Returns false if the connection
 * ended, or if that took too long.
 */
static bool post(struct peer *peer, const struct fabric_wr *wr)
{
	uint64_t end = peer_now_ms() + peer->config.timeout_ms;

	while (peer->is_open && !peer->is_closed && peer->ops->post_send(peer->qp, wr, 1) != 1) {
		if (peer_now_ms() > end)
			return false;
		poll_once(peer);
	}
	if (!peer->is_open || peer->is_closed)
		return false;
	peer->nsent++;
	while (peer->nsent_done < peer->nsent && !peer->is_closed) {
		if (peer_now_ms() > end)
			return false;
		poll_once(peer);
	}
	return true;
}

bool peer_send(struct peer *peer, const uint8_t *bytes, uint32_t len)
{
	struct fabric_sge sge = {peer->buffers + SENDS_AT, len, peer->buffers_mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	memcpy(sge.addr, bytes, len);
	return post(peer, &wr);
}

static bool transfer(struct peer *peer, enum fabric_op op, uint32_t key, uint64_t address,
		     uint32_t len)
{
	struct fabric_sge sge = {peer->exposed, len, peer->mr.lkey};
	const struct fabric_wr wr = {.op = op,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = key,
				     .raddr = address};

	return post(peer, &wr);
}

bool peer_write(struct peer *peer, uint32_t key, uint64_t address, uint32_t len)
{
	return transfer(peer, FABRIC_WRITE, key, address, len);
}

bool peer_read(struct peer *peer, uint32_t key, uint64_t address, uint32_t len)
{
	return transfer(peer, FABRIC_READ, key, address, len);
}

enum peer_event peer_wait(struct peer *peer, uint32_t ms, struct peer_message *message)
{
	uint64_t end = peer_now_ms() + ms;

	for (;;) {
		if (peer->count > 0) {
			const struct peer_message *next = &peer->received[peer->first];

			message->len = next->len;
			memcpy(message->bytes, next->bytes, next->len);
			peer->first = (peer->first + 1) % PEER_RECVS;
			peer->count--;
			return PEER_MESSAGE;
		}
		if (peer->is_closed || !peer->qp)
			return PEER_CLOSED;
		if (peer_now_ms() >= end)
			return PEER_NOTHING;
		poll_once(peer);
	}
}
