/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REDUCE_MESSAGE_H
#define REDUCE_MESSAGE_H

/*
 * Random messages for the tests of the reducer: as pieces, as the naive stream (all pieces one
 * after the other), and as sent bytes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <weir/xdr.h>

#include "reduce.h"
#include "wire.h"

#define XID	   0x5eed0001u
#define RPC_HEADER 40u
#define STREAM_MAX (64u << 10)
#define MSG_MAX	   4096u
#define ITEMS_MAX  6u

/* ---- random numbers ---- */

static uint64_t rng;

static inline uint32_t below(uint32_t limit)
{
	uint64_t z = (rng += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 16) % limit;
}

static inline bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* Returns a random length: a short one, one near the inline threshold, or a long one. */
static inline uint32_t any_length(uint32_t inline_bytes)
{
	switch (below(4)) {
	case 0:
		return below(10);
	case 1:
		return inline_bytes - 140 + below(148);
	case 2:
		return below(200);
	default:
		return below(5000);
	}
}

/* ---- a message: pieces in one buffer, and the naive stream ---- */

static struct message {
	struct piece pieces[REDUCE_PIECES_MAX];
	uint32_t n;
	uint32_t used;
	uint32_t stream_bytes;
	uint8_t memory[STREAM_MAX];
	uint8_t stream[STREAM_MAX];
} message;

static inline void add_piece(enum piece_kind kind, uint32_t len)
{
	struct piece *piece = &message.pieces[message.n];
	uint32_t pad = kind == PIECE_XDR ? 0 : (4 - len % 4) % 4;

	*piece = (struct piece){
		.base = message.memory + message.used,
		.len = len,
		.kind = kind,
		.lkey = message.n + 1,
		.rkey = message.n + 1,
		.raddr = (uint64_t)below(UINT32_MAX) << 20 | below(1000),
	};
	for (uint32_t i = 0; i < len; i++)
		piece->base[i] = (uint8_t)(1 + below(255));
	memcpy(message.stream + message.stream_bytes, piece->base, len);
	memset(message.stream + message.stream_bytes + len, 0, pad);
	message.stream_bytes += len + pad;
	message.used += len;
	message.n++;
}

static inline void add_opaque(enum piece_kind kind, uint32_t len)
{
	wire_put_u32(message.memory + message.used - 4, len);
	wire_put_u32(message.stream + message.stream_bytes - 4, len);
	add_piece(kind, len);
}

static inline void make_message(uint32_t header_bytes, uint32_t inline_bytes)
{
	uint32_t nitems = below(ITEMS_MAX + 1);

	message.n = 0;
	message.used = 0;
	message.stream_bytes = 0;
	add_piece(PIECE_XDR, header_bytes + 4 * below(8) + 4);
	wire_put_u32(message.memory, XID);
	wire_put_u32(message.stream, XID);
	for (uint32_t i = 0; i < nitems; i++) {
		if (i > 0)
			add_piece(PIECE_XDR, 4 + 4 * below(4));
		add_opaque(one_in(4) ? PIECE_OPAQUE : PIECE_ITEM, any_length(inline_bytes));
	}
	if (one_in(2))
		add_piece(PIECE_XDR, 4 * (1 + (one_in(3) ? below(300) : below(3))));
}

/*
 * Checks that a decoder reads the message from its parts, item by item. Each byte must be correct,
 * and none may be left.
 */
static inline void expect_message(const struct weir_xdr_part *parts, uint32_t nparts)
{
	static uint8_t plain[STREAM_MAX];
	struct weir_xdr_in in;

	weir_xdr_in_init_parts(&in, parts, nparts);
	for (uint32_t i = 0; i < message.n; i++) {
		const struct piece *piece = &message.pieces[i];
		bool has_count = i + 1 < message.n && piece[1].kind != PIECE_XDR;
		uint32_t len = piece->len - (has_count ? 4 : 0);
		const void *data = plain;

		if (piece->kind == PIECE_XDR)
			assert_int_equal(weir_xdr_get_bytes(&in, plain, len), 0);
		else
			assert_int_equal(weir_xdr_get_opaque_ref(&in, &data, UINT32_MAX, &len), 0);
		assert_int_equal(len, piece->len - (has_count ? 4 : 0));
		assert_memory_equal(data, piece->base, len);
	}
	assert_int_equal(weir_xdr_remaining(&in), 0);
}

/* ---- the wire ---- */

static uint8_t wire[MSG_MAX];
static uint32_t wire_len;

/* Copies the inline pieces after the header, which 'wire' already contains. */
static inline void send_inline(uint32_t header_bytes, uint32_t reduced, uint32_t inline_bytes)
{
	uint32_t start = header_bytes;

	wire_len = header_bytes;
	for (uint32_t i = 0; inline_bytes > 0 && i < message.n; i++) {
		const struct piece *piece = &message.pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : (4 - piece->len % 4) % 4;

		if (reduced & 1u << i)
			continue;
		assert_true(wire_len + piece->len + pad <= sizeof(wire));
		memcpy(wire + wire_len, piece->base, piece->len);
		memset(wire + wire_len + piece->len, 0, pad);
		wire_len += piece->len + pad;
	}
	assert_int_equal(wire_len - start, inline_bytes);
}

#endif
