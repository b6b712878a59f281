/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes RoCEv2 frames: frame.h describes them. */
#include "frame.h"

#include <string.h>

#include "crc32.h"
#include "wire.h"

#define ETHERNET_BYTES 14u
#define IP_BYTES       20u
#define UDP_BYTES      8u
#define BTH_BYTES      12u
#define ICRC_BYTES     4u
#define ROCE_PORT      4791u
#define P_KEY	       0xffffu
#define Q_KEY	       0x80010000u /* of the queue pair for connection management */
#define AETH_ACK       0x1f000000u /* an acknowledgement that says nothing about credits */
/* The ICRC covers 8 bytes of ones instead of the local route header, before the IP header. */
#define ICRC_ONES 8u

static void put_u16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_ethernet(uint8_t *at, const struct frame_path *path)
{
	/* These addresses are locally administered. Their last bytes are the IP addresses. */
	put_u16(at, 0x0200);
	wire_put_u32(at + 2, path->to_ip);
	put_u16(at + 6, 0x0200);
	wire_put_u32(at + 8, path->from_ip);
	put_u16(at + 12, 0x0800);
}

static uint32_t ip_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < IP_BYTES; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static void put_ip(uint8_t *at, const struct frame_path *path, uint32_t bytes)
{
	memset(at, 0, IP_BYTES);
	at[0] = 0x45;
	put_u16(at + 2, bytes);
	put_u16(at + 6, 0x4000); /* do not fragment */
	at[8] = 64;
	at[9] = 17;
	wire_put_u32(at + 12, path->from_ip);
	wire_put_u32(at + 16, path->to_ip);
	put_u16(at + 10, ip_checksum(at));
}

static void put_udp(uint8_t *at, const struct frame_path *path, uint32_t bytes)
{
	put_u16(at, path->from_port);
	put_u16(at + 2, ROCE_PORT);
	put_u16(at + 4, bytes);
	put_u16(at + 6, 0); /* RoCEv2 needs no checksum */
}

static void put_bth(uint8_t *at, const struct frame_path *path, const struct frame *frame,
		    uint32_t pad)
{
	at[0] = (uint8_t)frame->opcode;
	at[1] = (uint8_t)(pad << 4);
	put_u16(at + 2, P_KEY);
	wire_put_u32(at + 4, path->to_qpn & FRAME_PSN_MASK);
	wire_put_u32(at + 8, frame->psn & FRAME_PSN_MASK);
}

/* Writes the extended header of the opcode. Returns its length. */
static uint32_t put_extended(uint8_t *at, const struct frame *frame)
{
	switch (frame->opcode) {
	case FRAME_WRITE_FIRST:
	case FRAME_WRITE_ONLY:
	case FRAME_READ_REQUEST:
		wire_put_u64(at, frame->raddr);
		wire_put_u32(at + 8, frame->rkey);
		wire_put_u32(at + 12, frame->operation_bytes);
		return 16;
	case FRAME_READ_RESPONSE_FIRST:
	case FRAME_READ_RESPONSE_LAST:
	case FRAME_READ_RESPONSE_ONLY:
		wire_put_u32(at, AETH_ACK | (frame->msn & FRAME_PSN_MASK));
		return 4;
	case FRAME_SEND_LAST_INV:
	case FRAME_SEND_ONLY_INV:
		wire_put_u32(at, frame->rkey);
		return 4;
	case FRAME_UD_SEND_ONLY:
		wire_put_u32(at, Q_KEY);
		wire_put_u32(at + 4, 1); /* the number of the sender's queue pair */
		return 8;
	default:
		return 0;
	}
}

/* The ICRC is the CRC of the frame from the IP header on, with ones in place of all fields that
 * change on the way. */
uint32_t frame_icrc(uint8_t *frame, uint32_t bytes)
{
	uint8_t *ip = frame + ETHERNET_BYTES, *udp = ip + IP_BYTES, *bth = udp + UDP_BYTES;
	uint8_t saved[ETHERNET_BYTES + IP_BYTES + UDP_BYTES + BTH_BYTES];
	uint32_t crc;

	memcpy(saved, frame, sizeof(saved));
	memset(ip - ICRC_ONES, 0xff, ICRC_ONES);
	ip[1] = 0xff;		  /* type of service */
	ip[8] = 0xff;		  /* time to live */
	memset(ip + 10, 0xff, 2); /* checksum */
	memset(udp + 6, 0xff, 2); /* checksum */
	bth[4] = 0xff;		  /* congestion notification */
	crc = crc32_of(ip - ICRC_ONES, bytes - (ETHERNET_BYTES - ICRC_ONES));
	memcpy(frame, saved, sizeof(saved));
	return crc;
}

/* Writes the ICRC, which has its lowest byte first. */
static void put_icrc(uint8_t *at, uint32_t crc)
{
	for (uint32_t i = 0; i < ICRC_BYTES; i++)
		at[i] = (uint8_t)(crc >> 8 * i);
}

uint32_t frame_write(uint8_t *out, const struct frame_path *path, const struct frame *frame,
		     uint32_t *wire_bytes)
{
	uint8_t *ip = out + ETHERNET_BYTES, *udp = ip + IP_BYTES, *bth = udp + UDP_BYTES;
	uint8_t *at = bth + BTH_BYTES;
	uint32_t pad = (0u - frame->len) & 3u, udp_bytes;

	at += put_extended(at, frame);
	udp_bytes = (uint32_t)(at - udp) + frame->len + pad + ICRC_BYTES;
	*wire_bytes = ETHERNET_BYTES + IP_BYTES + udp_bytes;
	put_ethernet(out, path);
	put_ip(ip, path, IP_BYTES + udp_bytes);
	put_udp(udp, path, udp_bytes);
	put_bth(bth, path, frame, pad);
	if (frame->kept > 0)
		memcpy(at, frame->payload, frame->kept);
	at += frame->kept;
	if (frame->kept < frame->len)
		return (uint32_t)(at - out);
	memset(at, 0, pad);
	at += pad;
	put_icrc(at, frame_icrc(out, (uint32_t)(at - out)));
	return (uint32_t)(at - out) + ICRC_BYTES;
}

enum frame_opcode frame_opcode_of(enum frame_kind kind, uint32_t index, uint32_t count)
{
	static const enum frame_opcode opcodes[][4] = {
		[FRAME_KIND_SEND] = {FRAME_SEND_FIRST, FRAME_SEND_MIDDLE, FRAME_SEND_LAST,
				     FRAME_SEND_ONLY},
		[FRAME_KIND_SEND_INV] = {FRAME_SEND_FIRST, FRAME_SEND_MIDDLE, FRAME_SEND_LAST_INV,
					 FRAME_SEND_ONLY_INV},
		[FRAME_KIND_WRITE] = {FRAME_WRITE_FIRST, FRAME_WRITE_MIDDLE, FRAME_WRITE_LAST,
				      FRAME_WRITE_ONLY},
		[FRAME_KIND_READ_RESPONSE] = {FRAME_READ_RESPONSE_FIRST, FRAME_READ_RESPONSE_MIDDLE,
					      FRAME_READ_RESPONSE_LAST, FRAME_READ_RESPONSE_ONLY},
	};

	if (count == 1)
		return opcodes[kind][3];
	if (index == 0)
		return opcodes[kind][0];
	return opcodes[kind][index == count - 1 ? 2 : 1];
}
