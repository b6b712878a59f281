/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_H
#define FRAME_H

/*
 * RoCEv2 frames: Ethernet, IPv4, UDP and the headers of InfiniBand, as the InfiniBand Architecture
 * Specification and its annex 17 describe them. These functions are pure. They write frames of
 * operations that another transport might have carried, so that Wireshark understands them.
 *
 * A frame has these parts:
 *
 *   Ethernet 14 | IPv4 20 | UDP 8 | BTH 12 | extended header 0 to 20 | payload | pad | ICRC 4
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MTU 4096u /* the longest payload: the largest path MTU of InfiniBand */
/* the length of a frame without its extended header, payload and pad */
#define FRAME_BASE_BYTES 58u
/* the length of the longest frame */
#define FRAME_BYTES_MAX (FRAME_BASE_BYTES + 20u + FRAME_MTU)
/* the largest number of bytes before the payload */
#define FRAME_HEADERS_MAX 74u
#define FRAME_PSN_MASK	  0xffffffu

/* The operation codes of the reliable connection, and the one of unreliable datagrams. */
enum frame_opcode {
	FRAME_SEND_FIRST = 0x00,
	FRAME_SEND_MIDDLE = 0x01,
	FRAME_SEND_LAST = 0x02,
	FRAME_SEND_ONLY = 0x04,
	FRAME_WRITE_FIRST = 0x06,
	FRAME_WRITE_MIDDLE = 0x07,
	FRAME_WRITE_LAST = 0x08,
	FRAME_WRITE_ONLY = 0x0a,
	FRAME_READ_REQUEST = 0x0c,
	FRAME_READ_RESPONSE_FIRST = 0x0d,
	FRAME_READ_RESPONSE_MIDDLE = 0x0e,
	FRAME_READ_RESPONSE_LAST = 0x0f,
	FRAME_READ_RESPONSE_ONLY = 0x10,
	FRAME_SEND_LAST_INV = 0x16,
	FRAME_SEND_ONLY_INV = 0x17,
	FRAME_UD_SEND_ONLY = 0x64,
};

/* This structure has the addresses of a frame. IP addresses are in the byte order of the CPU. */
struct frame_path {
	uint32_t from_ip, to_ip;
	uint16_t from_port; /* the UDP port of the sender */
	uint32_t to_qpn;    /* the number of the receiver's queue pair, of 24 bits */
};

/* The content of a frame. */
struct frame {
	enum frame_opcode opcode;
	uint32_t psn; /* packet sequence number, of 24 bits */
	/* WRITE_FIRST, WRITE_ONLY and READ_REQUEST: the memory of the peer, and the length of the
	 * whole operation */
	uint64_t raddr;
	uint32_t rkey; /* also of SEND_LAST_INV and SEND_ONLY_INV: the key to invalidate */
	uint32_t operation_bytes;
	uint32_t msn; /* READ_RESPONSE_*: message sequence number, of 24 bits */
	/* The payload: 'len' bytes, at most FRAME_MTU. READ_REQUEST has none. Only the first 'kept'
	 * bytes are known. If 'kept' is smaller than 'len', the frame is cut off behind them. */
	const uint8_t *payload;
	uint32_t len;
	uint32_t kept;
};

/* Writes a frame to 'out', which has FRAME_BYTES_MAX bytes. Returns how many bytes were written.
 * *wire_bytes is set to the length of the whole frame, which is more if the frame is cut off. A
 * whole frame has a valid ICRC. */
uint32_t frame_write(uint8_t *out, const struct frame_path *path, const struct frame *frame,
		     uint32_t *wire_bytes);

/* Returns the ICRC of a frame, whose first 'bytes' bytes are those before the ICRC. The frame is
 * changed meanwhile. */
uint32_t frame_icrc(uint8_t *frame, uint32_t bytes);

/* Returns how many frames the payload of an operation takes. */
static inline uint32_t frame_count(uint32_t len)
{
	return len == 0 ? 1 : (len - 1) / FRAME_MTU + 1;
}

/* The kinds of operations that are split in frames. */
enum frame_kind {
	FRAME_KIND_SEND,
	FRAME_KIND_SEND_INV,
	FRAME_KIND_WRITE,
	FRAME_KIND_READ_RESPONSE,
};

/* Returns the opcode of frame 'index' of the 'count' frames of an operation. */
enum frame_opcode frame_opcode_of(enum frame_kind kind, uint32_t index, uint32_t count);

#endif
