/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes messages of InfiniBand's connection manager. Offsets are those of the specification, from
 * the end of the header of the MAD on. Members that mean nothing here are 0. */
#include "cm_mad.h"

#include <string.h>

#include "wire.h"

#define HEADER_BYTES 24u
#define RDMA_PS_TCP                                                                                \
	0x0000000001060000ull /* service IDs of rdma_cm; the last 16 bits are a port               \
			       */
#define MTU_4096   5u
#define RETRIES	   7u
#define DEPTH	   16u /* RDMA Reads that a side can have in flight */
#define PRIVATE_AT 140u
/* In a request, a header of rdma_cm with the addresses is before the private data. */
#define CMA_BYTES 36u

enum attribute {
	CONNECT_REQUEST = 0x0010,
	CONNECT_REPLY = 0x0013,
	READY_TO_USE = 0x0014,
	DISCONNECT_REQUEST = 0x0015,
};

/* Writes the header. Returns the place after it. The transaction is named by the requester. */
static uint8_t *put_header(uint8_t *out, const struct cm_mad_conn *conn, enum attribute attribute)
{
	memset(out, 0, CM_MAD_BYTES);
	out[0] = 1;    /* base version */
	out[1] = 0x07; /* class: communication management */
	out[2] = 2;    /* version of the class */
	out[3] = 0x03; /* method: Send */
	wire_put_u64(out + 8, conn->sides[0].comm_id);
	wire_put_u32(out + 16, (uint32_t)attribute << 16);
	return out + HEADER_BYTES;
}

/* Writes a GID: the IPv4 address, mapped to IPv6. */
static void put_gid(uint8_t *at, uint32_t ip)
{
	at[10] = at[11] = 0xff;
	wire_put_u32(at + 12, ip);
}

/* Writes a value of 24 bits, and the byte after it. */
static void put_u24(uint8_t *at, uint32_t value, uint32_t next)
{
	wire_put_u32(at, value << 8 | next);
}

void cm_mad_request(uint8_t *out, const struct cm_mad_conn *conn)
{
	const struct cm_mad_side *from = &conn->sides[0], *to = &conn->sides[1];
	uint8_t *at = put_header(out, conn, CONNECT_REQUEST);
	uint8_t *cma = at + PRIVATE_AT;

	wire_put_u32(at, from->comm_id);
	wire_put_u64(at + 8, RDMA_PS_TCP | conn->port);
	wire_put_u64(at + 16, from->ip); /* GUID of the channel adapter */
	put_u24(at + 32, from->qpn, DEPTH);
	put_u24(at + 36, 0, DEPTH);
	put_u24(at + 44, from->psn, RETRIES);
	at[48] = at[49] = 0xff; /* partition key */
	at[50] = MTU_4096 << 4 | RETRIES;
	at[51] = RETRIES << 4;
	memset(at + 52, 0xff, 4); /* RoCE has no local identifiers */
	put_gid(at + 56, from->ip);
	put_gid(at + 72, to->ip);
	at[93] = 64;	 /* hop limit */
	cma[1] = 4 << 4; /* version of IP */
	wire_put_u32(cma + 16, from->ip);
	wire_put_u32(cma + 32, to->ip);
	memcpy(cma + CMA_BYTES, from->private_data, from->private_bytes);
}

void cm_mad_reply(uint8_t *out, const struct cm_mad_conn *conn)
{
	const struct cm_mad_side *from = &conn->sides[1], *to = &conn->sides[0];
	uint8_t *at = put_header(out, conn, CONNECT_REPLY);

	wire_put_u32(at, from->comm_id);
	wire_put_u32(at + 4, to->comm_id);
	put_u24(at + 12, from->qpn, 0);
	put_u24(at + 20, from->psn, 0);
	at[24] = at[25] = DEPTH;
	at[27] = RETRIES << 5;
	wire_put_u64(at + 28, from->ip); /* GUID of the channel adapter */
	memcpy(at + 36, from->private_data, from->private_bytes);
}

void cm_mad_ready(uint8_t *out, const struct cm_mad_conn *conn)
{
	uint8_t *at = put_header(out, conn, READY_TO_USE);

	wire_put_u32(at, conn->sides[0].comm_id);
	wire_put_u32(at + 4, conn->sides[1].comm_id);
}

void cm_mad_disconnect(uint8_t *out, const struct cm_mad_conn *conn, uint32_t from)
{
	uint8_t *at = put_header(out, conn, DISCONNECT_REQUEST);

	wire_put_u32(at, conn->sides[from].comm_id);
	wire_put_u32(at + 4, conn->sides[1 - from].comm_id);
	put_u24(at + 8, conn->sides[1 - from].qpn, 0);
}
