/* SPDX-License-Identifier: BSD-3-Clause */

/* The peer of fuzz_peer.h: carries out the records of an input. */

#include "fuzz_peer.h"

#include "cm_private.h"
#include "wire.h"

#define SENDS	   32u
#define SENDS_AT   (PEER_RECVS * PEER_MSG_MAX)
#define MEM_AT	   (SENDS_AT + SENDS * PEER_MSG_MAX)
#define ALL_BYTES  (MEM_AT + PEER_MEM_BYTES)
#define MAGIC_KEY  0xfeedbee0u
#define MAGIC_CALL 0xca110000u

void peer_open(struct peer *peer, const char *options)
{
	const struct fabric_dev_config config = {
		.options = options, .max_connections = 8, .max_regions = 8, .numa_node = -1};

	memset(peer, 0, sizeof(*peer));
	peer->ops = fabric_driver_find("sim");
	REQUIRE(peer->ops->open(&config, &peer->dev) == 0);
	peer->base = aligned_alloc(4096, ALL_BYTES);
	REQUIRE(peer->base != NULL);
	REQUIRE(peer->ops->mr_register(peer->dev, peer->base, ALL_BYTES,
				       FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ |
					       FABRIC_REMOTE_WRITE,
				       -1, 0, &peer->mr) == 0);
	peer->mem = peer->base + MEM_AT;
}

void peer_listen(struct peer *peer, const char *addr)
{
	REQUIRE(peer->ops->listen(peer->dev, addr, 4, peer, &peer->listener) == 0);
}

static void post_recv(struct peer *peer, uint32_t i)
{
	const struct fabric_recv_wr wr = {i, peer->base + i * PEER_MSG_MAX, PEER_MSG_MAX,
					  peer->mr.lkey};

	peer->ops->post_recv(peer->qp, &wr, 1);
}

static struct fabric_qp_attr qp_attr(struct peer *peer)
{
	return (struct fabric_qp_attr){
		.exposes = true,
		.max_send_wr = 2 * SENDS,
		.max_recv_wr = PEER_RECVS,
		.max_sge = 1,
		.max_msg_bytes = PEER_MSG_MAX,
		.max_rd_atomic = 4,
		.ctx = peer,
	};
}

static uint32_t private_data(const struct peer *peer, uint8_t *buf)
{
	const struct cm_private mine = {.send_bytes = peer->inline_bytes,
					.recv_bytes = peer->inline_bytes};

	if (peer->inline_bytes == 0)
		return 0;
	cm_private_encode(&mine, buf);
	return CM_PRIVATE_SIZE;
}

static void begin(struct peer *peer)
{
	peer->is_established = false;
	peer->nreceived = 0;
	peer->nsent = 0;
	for (uint32_t i = 0; i < PEER_RECVS; i++)
		post_recv(peer, i);
}

void peer_connect(struct peer *peer, const char *addr)
{
	struct fabric_qp_attr attr = qp_attr(peer);
	uint8_t data[CM_PRIVATE_SIZE];
	uint32_t len = private_data(peer, data);

	REQUIRE(peer->ops->connect(peer->dev, addr, &attr, data, len, &peer->qp) == 0);
	begin(peer);
}

static void answer(struct peer *peer, const struct fabric_cm_event *event)
{
	struct fabric_qp_attr attr = qp_attr(peer);
	uint8_t data[CM_PRIVATE_SIZE];
	uint32_t len = private_data(peer, data);

	REQUIRE(!peer->qp);
	REQUIRE(peer->ops->accept(peer->dev, event->req, &attr, data, len, &peer->qp) == 0);
	begin(peer);
}

void peer_disconnect(struct peer *peer)
{
	if (!peer->qp)
		return;
	peer->ops->disconnect(peer->qp);
	peer->ops->qp_destroy(peer->qp);
	peer->qp = NULL;
}

void peer_poll(struct peer *peer)
{
	struct fabric_cm_event events[4];
	struct fabric_wc wcs[16];
	uint32_t n = peer->ops->cm_poll(peer->dev, events, 4);

	for (uint32_t i = 0; i < n; i++) {
		if (events[i].kind == FABRIC_CM_REQUEST)
			answer(peer, &events[i]);
		else
			peer->is_established = events[i].kind == FABRIC_CM_ESTABLISHED;
	}
	n = peer->ops->poll(peer->dev, wcs, 16);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = peer->nreceived % 16;

		if (wcs[i].op != FABRIC_RECV || wcs[i].status != FABRIC_OK)
			continue;
		peer->lens[slot] = wcs[i].byte_len;
		memcpy(peer->msgs[slot], peer->base + wcs[i].wr_id * PEER_MSG_MAX, wcs[i].byte_len);
		peer->nreceived++;
		post_recv(peer, (uint32_t)wcs[i].wr_id);
	}
}

static uint32_t received_word(const struct peer *peer, uint32_t back, uint32_t word)
{
	uint32_t slot = (peer->nreceived - 1 - back) % 16;

	if (back >= peer->nreceived || back >= 16 || word >= peer->lens[slot] / 4)
		return 0;
	return wire_get_u32(peer->msgs[slot] + 4 * word);
}

static void replace_words(const struct peer *peer, uint8_t *msg, uint32_t len)
{
	for (uint32_t i = 0; i + 4 <= len; i += 4) {
		uint32_t word = wire_get_u32(msg + i);

		if ((word & 0xffff0000u) == MAGIC_CALL)
			wire_put_u32(msg + i, received_word(peer, word >> 8 & 0xff, word & 0xff));
		if (word != MAGIC_KEY)
			continue;
		wire_put_u32(msg + i, peer->mr.rkey);
		if (i + 16 <= len)
			wire_put_u64(msg + i + 8,
				     peer->mr.raddr + MEM_AT + wire_get_u64(msg + i + 8));
	}
}

bool peer_play(struct peer *peer, const uint8_t **data, size_t *size, bool *burst)
{
	uint8_t *slot = peer->base + SENDS_AT + peer->nsent % SENDS * PEER_MSG_MAX;
	uint32_t head, len;

	if (*size < 2 || peer->nsent == SENDS)
		return false;
	head = (uint32_t)(*data)[0] << 8 | (*data)[1];
	len = head & PEER_RECORD_LENGTH;
	*data += 2;
	*size -= 2;
	if (len > *size)
		len = (uint32_t)*size;
	*burst = head & PEER_RECORD_BURST;
	if (head & PEER_RECORD_MEMORY) {
		memcpy(peer->mem, *data, len);
	} else if (peer->qp && peer->is_established) {
		struct fabric_sge sge = {slot, len, peer->mr.lkey};
		const struct fabric_wr wr = {
			.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

		memcpy(slot, *data, len);
		replace_words(peer, slot, len);
		peer->ops->post_send(peer->qp, &wr, 1);
		peer->nsent++;
	}
	*data += len;
	*size -= len;
	return true;
}
