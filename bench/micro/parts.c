/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weir-micro-parts: runs each part of the data path many times in its own function, so that
 * callgrind can count the instructions of each part. bench/micro/check_budget.py runs this program
 * under callgrind. The program itself measures no time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/xdr.h>

#include "compiler.h"
#include "credit.h"
#include "eal.h"
#include "mem.h"
#include "rdma1.h"
#include "reduce.h"
#include "requester.h"
#include "ring.h"
#include "rpc_msg.h"
#include "shape.h"

#define ROUNDS	      1000u
#define INLINE_BYTES  4096u
#define SEGMENTS      8u
#define SLOTS	      64u
#define RING_SIZE     65536u
#define SHORT_MESSAGE 68u

#if defined(__has_attribute) && __has_attribute(noipa)
#define PART __attribute__((noipa))
#else
#define PART out_of_line
#endif

/*
 * Makes the compiler assume that all memory that was written is read, and that all memory might
 * have changed.
 */
#define BARRIER() __asm__ volatile("" ::: "memory")

static uint8_t short_call[INLINE_BYTES], chunk_call[INLINE_BYTES], list_call[INLINE_BYTES],
	buf[INLINE_BYTES];
static uint32_t list_bytes;
static uint8_t rpc_call[256], rpc_reply[256];
static struct piece pieces[2];
static uint8_t data[8192];
static struct mem_pool *pool;
static struct requester requester;
static struct call_slot slots[SLOTS];
static struct weir_call calls[SLOTS];
static struct ring_writer writer;
static struct ring_reader reader;
static uint64_t failed; /* operations that did not have the expected result */

static const struct rdma1_segment segment = {.handle = 7, .length = 4096, .offset = 0x10000};

static void check(bool good)
{
	failed += !good;
}

static PART void measure_header_encode_short(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		shape_encode(buf, SHAPE_INLINE, i, 32, 0, NULL);
		BARRIER();
	}
}

static PART void measure_header_encode_one_chunk(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		shape_encode(buf, SHAPE_ONE_WRITE, i, 32, 0, &segment);
		BARRIER();
	}
}

static uint32_t encode_lists(uint8_t *to)
{
	struct rdma1_writer w;

	rdma1_write_begin(&w, to, INLINE_BYTES, 1, 32, RDMA1_MSG);
	for (uint32_t i = 0; i < SEGMENTS; i++)
		rdma1_write_read_segment(&w, 48, &segment);
	rdma1_write_list_end(&w);
	rdma1_write_chunk(&w, SEGMENTS);
	for (uint32_t i = 0; i < SEGMENTS; i++)
		rdma1_write_segment(&w, &segment);
	rdma1_write_list_end(&w);
	rdma1_write_no_reply_chunk(&w);
	return rdma1_writer_len(&w);
}

static PART void measure_header_encode_lists(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(encode_lists(buf) == list_bytes);
		BARRIER();
	}
}

static void decode(const uint8_t *msg, uint32_t len)
{
	struct rdma1_header header;
	enum rdma1_reason reason;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(rdma1_decode(msg, len, RDMA1_CALL, &rdma1_limits_default, &header, &reason) ==
		      RDMA1_V_OK);
		BARRIER();
	}
}

static PART void measure_header_decode_short(void)
{
	decode(short_call, RDMA1_HEADER_MIN + 40);
}

static PART void measure_header_decode_one_chunk(void)
{
	decode(chunk_call, RDMA1_ONE_WRITE_SIZE + 52);
}

static PART void measure_header_decode_lists(void)
{
	decode(list_call, list_bytes + 52);
}

static PART void measure_rpc_call_encode(void)
{
	const struct weir_rpc_call_header header = {
		.xid = 1, .rpcvers = 2, .prog = 100003, .vers = 3, .proc = 6};
	struct weir_xdr_out out;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		weir_xdr_out_init(&out, buf, sizeof(buf));
		check(rpc_call_encode(&out, &header) == 0);
		BARRIER();
	}
}

static PART void measure_rpc_call_decode(void)
{
	struct weir_rpc_call_header header;
	struct weir_xdr_in in;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		weir_xdr_in_init(&in, rpc_call, 40);
		check(rpc_call_decode(&in, &header) == 0);
		BARRIER();
	}
}

static PART void measure_rpc_reply_decode(void)
{
	struct weir_rpc_reply_header header;
	struct weir_xdr_in in;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		weir_xdr_in_init(&in, rpc_reply, 24);
		check(rpc_reply_decode(&in, &header) == 0);
		BARRIER();
	}
}

static void plan_and_encode(const struct reduce_call_in *in, enum reduce_form form)
{
	struct reduce_call_plan plan;
	uint32_t len;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(reduce_call_plan(in, &plan) == 0 && plan.form == form);
		check(reduce_call_encode(in, &plan, i, 32, NULL, 0, NULL, buf, sizeof(buf), &len) ==
		      0);
		BARRIER();
	}
}

/* Measures the encoding of a call that is completely inline. */
static PART void measure_reduce_call_short(void)
{
	const struct reduce_call_in in = {.pieces = pieces,
					  .npieces = 1,
					  .call_inline_bytes = INLINE_BYTES,
					  .reply_inline_bytes = INLINE_BYTES,
					  .reply_max_bytes = 32,
					  .may_reduce = true};

	plan_and_encode(&in, REDUCE_SHORT);
}

/* Measures the encoding of a WRITE whose data are in a Read chunk. */
static PART void measure_reduce_call_chunked(void)
{
	const struct reduce_call_in in = {.pieces = pieces,
					  .npieces = 2,
					  .call_inline_bytes = INLINE_BYTES,
					  .reply_inline_bytes = INLINE_BYTES,
					  .reply_max_bytes = 32,
					  .may_reduce = true};

	plan_and_encode(&in, REDUCE_CHUNKED);
}

/* Measures the encoding of the reply to a READ whose data are placed in a Write chunk. */
static PART void measure_reduce_reply_chunked(void)
{
	struct rdma1_header call;
	enum rdma1_reason reason;
	const struct reduce_reply_in in = {.call = &call,
					   .pieces = pieces,
					   .npieces = 2,
					   .reply_inline_bytes = INLINE_BYTES,
					   .zeros = {.base = data, .len = 3},
					   .credit = 32,
					   .may_reduce = true};
	struct reduce_xfer xfers[4];
	struct reduce_reply_plan plan;

	check(rdma1_decode(chunk_call, RDMA1_ONE_WRITE_SIZE + 52, RDMA1_CALL, &rdma1_limits_default,
			   &call, &reason) == RDMA1_V_OK);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(reduce_reply(&in, buf, sizeof(buf), xfers, 4, &plan) == 0 &&
		      plan.nxfers == 1);
		BARRIER();
	}
}

static PART void measure_xid_find(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t slot = i % SLOTS;

		check(call_find(&requester, requester.slots[slot].xid) == &calls[slot]);
		/* the XID of an earlier call in that slot is not found */
		check(!call_find(&requester, slot));
		BARRIER();
	}
}

static PART void measure_credit_take_and_reply(void)
{
	struct credit_requester book;

	credit_requester_init(&book, 32);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(credit_available(&book) > 0);
		credit_take(&book);
		check(credit_reply(&book, 32));
		BARRIER();
	}
}

static PART void measure_pool_get_and_put(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct mem_buf *taken = mem_pool_get(pool);

		BARRIER();
		check(taken != NULL);
		mem_pool_put(taken);
		BARRIER();
	}
}

static void pass(uint32_t len)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t word;

		check(ring_put_one(&writer, data, len) == 1);
		word = ring_peek(&reader);
		check(ring_msg_len(&reader, word) == len);
		ring_take(&reader, word, buf, sizeof(buf), len);
		BARRIER();
	}
}

static PART void measure_ring_put_and_take_one_cell(void)
{
	pass(RING_DATA);
}

static PART void measure_ring_put_and_take_two_cells(void)
{
	pass(SHORT_MESSAGE);
}

static PART void measure_ring_peek_at_nothing(void)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		check(ring_peek(&reader) == 0);
		BARRIER();
	}
}

static int reg(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
	       struct mem_keys *keys)
{
	(void)ctx, (void)base, (void)len, (void)fd, (void)fd_offset, (void)remote;
	keys->lkey = 1;
	return 0;
}

static void dereg(void *ctx, struct mem_keys *keys)
{
	(void)ctx, (void)keys;
}

static const struct mem_registrar registrar = {.reg = reg, .dereg = dereg};

static void set_up_messages(void)
{
	const struct weir_rpc_call_header call = {
		.xid = 1, .rpcvers = 2, .prog = 100003, .vers = 3, .proc = 6};
	const struct weir_rpc_reply_header reply = {.xid = 1};
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, rpc_call, sizeof(rpc_call));
	check(rpc_call_encode(&out, &call) == 0);
	weir_xdr_out_init(&out, rpc_reply, sizeof(rpc_reply));
	check(rpc_reply_encode(&out, &reply) == 0);
	shape_encode(short_call, SHAPE_INLINE, 1, 32, 0, NULL);
	memcpy(short_call + RDMA1_HEADER_MIN, rpc_call, 40);
	shape_encode(chunk_call, SHAPE_ONE_WRITE, 1, 32, 0, &segment);
	memcpy(chunk_call + RDMA1_ONE_WRITE_SIZE, rpc_call, 40);
	list_bytes = encode_lists(list_call);
	memcpy(list_call + list_bytes, rpc_call, 40);
	pieces[0] = (struct piece){.base = rpc_call, .len = 48, .kind = PIECE_XDR, .lkey = 1};
	pieces[1] = (struct piece){.base = data,
				   .len = 4096,
				   .kind = PIECE_ITEM,
				   .lkey = 1,
				   .rkey = 2,
				   .raddr = 0x20000};
}

static void set_up(void)
{
	/*
	 * The pool is larger than the cache of a DPDK pool. Otherwise the pool would have no such
	 * cache.
	 */
	const struct mem_pool_options options = {.name = "parts",
						 .count = 1024,
						 .buf_bytes = 256,
						 .page_bytes = 4096,
						 .numa_node = -1};
	void *memory = aligned_alloc(RING_CELL, ring_footprint(RING_SIZE));

	set_up_messages();
	requester.nslots = SLOTS;
	requester.slot_mask = 63;
	requester.slots = slots;
	if (!memory || mem_eal_start(NULL) != 0 ||
	    mem_pool_create(&options, &registrar, &pool) != 0) {
		fprintf(stderr, "weir-micro-parts: can't allocate memory\n");
		exit(1);
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct call_slot){.call = &calls[i], .xid = 5u << 6 | i};
	memset(memory, 0, ring_footprint(RING_SIZE));
	ring_writer_init(&writer, memory, RING_SIZE);
	ring_reader_init(&reader, memory, RING_SIZE, ring_msg_max(RING_SIZE));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		bool is_help = strcmp(argv[1], "--help") == 0;

		fputs("Usage: weir-micro-parts\n"
		      "Runs each part of the data path many times. bench/micro/check_budget.py "
		      "counts the instructions with callgrind.\n",
		      is_help ? stdout : stderr);
		return is_help ? 0 : 2;
	}
	set_up();
	measure_header_encode_short();
	measure_header_encode_one_chunk();
	measure_header_encode_lists();
	measure_header_decode_short();
	measure_header_decode_one_chunk();
	measure_header_decode_lists();
	measure_rpc_call_encode();
	measure_rpc_call_decode();
	measure_rpc_reply_decode();
	measure_reduce_call_short();
	measure_reduce_call_chunked();
	measure_reduce_reply_chunked();
	measure_xid_find();
	measure_credit_take_and_reply();
	measure_pool_get_and_put();
	measure_ring_put_and_take_one_cell();
	measure_ring_put_and_take_two_cells();
	measure_ring_peek_at_nothing();
	printf("%u rounds of each, %llu failed\n", ROUNDS, (unsigned long long)failed);
	mem_pool_destroy(pool, &registrar);
	return failed == 0 ? 0 : 1;
}
