/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests of reassembly: the stream of a message from inline bytes and Read chunks. */

#include <errno.h>

#include "reassemble.h"

#include "rdma1_msg.h"
#include "reduce_message.h"
#include "xdr_ref.h"

#define FOREIGN_SEEDS 20000u
#define HOSTILE_SEEDS 50000u

static int list(const struct msg *m, struct reassemble_chunk *chunks, uint32_t max)
{
	enum rdma1_reason reason;
	struct rdma1_header hdr;

	assert_int_equal(
		rdma1_decode(m->buf, m->len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	return reassemble_chunks(&hdr, chunks, max);
}

static void chunks__none_in_a_short_call(void **state)
{
	struct reassemble_chunk chunks[1];
	struct msg m;

	(void)state;
	msg_short(&m, 40);
	assert_int_equal(list(&m, chunks, 1), 0);
	assert_int_equal(list(&m, chunks, 0), 0);
}

static void chunks__3_4_5_are_sorted_and_their_segments_added_up(void **state)
{
	struct reassemble_chunk chunks[4];
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_MSG);
	msg_read(&m, 60, 1, 3, 0);
	msg_read(&m, 44, 2, 5, 0);
	msg_read(&m, 60, 3, 4, 0);
	msg_read(&m, 52, 4, 0, 0);
	msg_read(&m, 44, 5, 0, 0);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	msg_payload(&m, 64);
	assert_int_equal(list(&m, chunks, 4), 3);
	assert_int_equal(chunks[0].position, 44);
	assert_int_equal(chunks[0].len_bytes, 5);
	assert_int_equal(chunks[1].position, 52);
	assert_int_equal(chunks[1].len_bytes, 0);
	assert_int_equal(chunks[2].position, 60);
	assert_int_equal(chunks[2].len_bytes, 7);
	assert_int_equal(list(&m, chunks, 2), -E2BIG);
}

static void chunks__position_zero_comes_first(void **state)
{
	struct reassemble_chunk chunks[2];
	struct msg m;

	(void)state;
	msg_begin(&m, RDMA1_NOMSG);
	msg_read(&m, 48, 1, 40, 0);
	msg_read(&m, 0, 2, 100, 0);
	msg_read(&m, 0, 3, 50, 0);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	assert_int_equal(list(&m, chunks, 2), 2);
	assert_int_equal(chunks[0].position, 0);
	assert_int_equal(chunks[0].len_bytes, 150);
	assert_int_equal(chunks[1].len_bytes, 40);
}

static void chunks__4_5_2_lengths_that_wrap_32_bits_are_refused(void **state)
{
	/* The decoder also checks this sum, but this function must not depend on that. */
	struct rdma1_header hdr = {.nread_segments = 2};
	struct reassemble_chunk chunks[1];
	struct msg m;

	(void)state;
	for (uint32_t second = 1; second < 4; second++) {
		msg_begin(&m, RDMA1_MSG);
		hdr.reads = m.buf + m.len;
		msg_read(&m, 44, 1, UINT32_MAX - 2, 0);
		msg_read(&m, 44, 1, second, 0);
		assert_int_equal(reassemble_chunks(&hdr, chunks, 1), second < 3 ? 1 : -E2BIG);
	}
}

/*
 * The next function sets up a stream of 40 bytes, followed by count words with 'gap' bytes between.
 */
static uint8_t stream[256];

static void put_count(uint32_t at, uint32_t count)
{
	for (uint32_t i = 0; i < 4; i++)
		stream[at + i] = (uint8_t)(count >> (24 - 8 * i));
}

static void parts__3_4_5_item_stands_where_the_unreduced_stream_has_it(void **state)
{
	static uint8_t data[2][16];
	/*
	 * The stream has 44 bytes, 5 in a chunk and 3 of padding, 8 bytes, 4 in a chunk, and 12
	 * bytes.
	 */
	const struct reassemble_chunk chunks[] = {
		{.position = 44, .len_bytes = 5, .dst = data[0]},
		{.position = 60, .len_bytes = 4, .dst = data[1]},
	};
	struct weir_xdr_part parts[5];

	(void)state;
	put_count(40, 5);
	put_count(48, 4);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), 5);
	assert_ptr_equal(parts[0].base, stream);
	assert_int_equal(parts[0].len_bytes, 44);
	assert_ptr_equal(parts[1].base, data[0]);
	assert_int_equal(parts[1].len_bytes, 5);
	assert_int_equal(parts[1].is_item, 1);
	assert_ptr_equal(parts[2].base, stream + 44);
	assert_int_equal(parts[2].len_bytes, 8);
	assert_int_equal(parts[2].is_item, 0);
	assert_int_equal(parts[3].len_bytes, 4);
	assert_ptr_equal(parts[4].base, stream + 52);
	assert_int_equal(parts[4].len_bytes, 12);
	/* If the last item ends the stream, there is no part after it. */
	assert_int_equal(reassemble_parts(stream, 52, chunks, 2, parts, 4), 4);
	/* The count word of the second item is not in the stream, although it follows in memory. */
	assert_int_equal(reassemble_parts(stream, 51, chunks, 2, parts, 5), -EBADMSG);
	for (uint32_t max = 0; max < 5; max++)
		assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, max), -EBADMSG);
}

static int one(uint32_t position, uint32_t len, uint32_t count, struct weir_xdr_part *parts)
{
	static uint8_t data[64];
	const struct reassemble_chunk chunk = {.position = position, .len_bytes = len, .dst = data};

	put_count(40, count);
	return reassemble_parts(stream, 64, &chunk, 1, parts, 3);
}

static void parts__3_4_5_roundup_padding_in_a_chunk_is_exact_or_absent(void **state)
{
	struct weir_xdr_part parts[3];

	(void)state;
	for (uint32_t count = 0; count < 12; count++) {
		uint32_t padded = (count + 3) & ~3u;

		for (uint32_t len = 0; len < 20; len++) {
			bool is_sound = len == count || len == padded;

			assert_int_equal(one(44, len, count, parts), is_sound ? 3 : -EBADMSG);
			if (is_sound) /* the length of the data themselves in either case */
				assert_int_equal(parts[1].len_bytes, count);
		}
	}
}

static void parts__4_5_2_chunk_that_does_not_meet_its_count_is_refused(void **state)
{
	struct weir_xdr_part parts[3];

	(void)state;
	assert_int_equal(one(44, 8, UINT32_MAX, parts), -EBADMSG); /* padding would wrap 32 bits */
	assert_int_equal(one(44, 0, UINT32_MAX, parts), -EBADMSG);
	assert_int_equal(one(40, 8, 8, parts), -EBADMSG); /* at the offset of the count */
	assert_int_equal(one(48, 8, 8, parts), -EBADMSG); /* after the first bytes of the item */
	assert_int_equal(one(44, 7, 8, parts), -EBADMSG);
	assert_int_equal(one(44, 9, 8, parts), -EBADMSG);
	assert_int_equal(one(44, 12, 8, parts), -EBADMSG);
	/* at the end of the stream, where no count can be */
	assert_int_equal(one(64, 8, 8, parts), -EBADMSG);
	assert_int_equal(one(0, 8, 8, parts), -EBADMSG); /* no room for a count before the item */
	assert_int_equal(one(68, 8, 8, parts), -EBADMSG);
	assert_int_equal(one(0xfffffffc, 8, 8, parts), -EBADMSG);
	assert_int_equal(one(44, 8, 8, parts), 3);
}

static void parts__4_5_2_chunks_that_overlap_are_refused(void **state)
{
	static uint8_t data[16];
	struct reassemble_chunk chunks[] = {
		{.position = 44, .len_bytes = 8, .dst = data},
		{.position = 48, .len_bytes = 8, .dst = data},
	};
	struct weir_xdr_part parts[5];

	(void)state;
	put_count(40, 8);
	put_count(44, 8);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5),
			 -EBADMSG); /* inside the other chunk */
	chunks[1].position = 52;    /* directly after the other chunk, so that there is no count */
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), -EBADMSG);
	chunks[1].position = 56;
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), 5);
}

static void parts__4_5_2_position_does_not_wrap_behind_a_chunk(void **state)
{
	static uint8_t data[16];
	/*
	 * The end of the first chunk exceeds 2^32. As a 32-bit number, it would be 8 bytes before
	 * the second chunk.
	 */
	const struct reassemble_chunk chunks[] = {
		{.position = 44, .len_bytes = 0xfffffffc, .dst = data},
		{.position = 48, .len_bytes = 8, .dst = data},
	};
	struct weir_xdr_part parts[5];

	(void)state;
	put_count(40, 0xfffffffc);
	put_count(48, 8);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 1, parts, 5), 3);
	assert_int_equal(reassemble_parts(stream, 64, chunks, 2, parts, 5), -EBADMSG);
}

/*
 * Checks the fast path for one chunk. It must give the result of the general path, or refuse. A
 * decoder that is set up in the middle of a message must continue as one that has read up to there.
 */
static void one__3_4_5_is_as_parts_says(void **state)
{
	static uint8_t data[64];
	uint32_t accepted = 0;

	(void)state;
	rng = 1;
	for (uint32_t round = 0; round < HOSTILE_SEEDS; round++) {
		uint32_t bytes = below(65), at = below(80),
			 count = one_in(20) ? UINT32_MAX - below(4) : below(20);
		const struct reassemble_chunk chunk = {.position = one_in(4) ? below(80) : at + 4,
						       .len_bytes = count + below(5),
						       .dst = data};
		struct weir_xdr_part parts[2][3];
		struct weir_xdr_in in[2];
		uint32_t n = 0, words[2];
		int want;

		if (at <= 60)
			put_count(at, count);
		want = reassemble_parts(stream, bytes, &chunk, 1, parts[0], 3);
		n = reassemble_one(stream, bytes, &chunk, parts[1]);
		assert_int_equal(n, want < 0 ? 0 : want);
		if (n == 0)
			continue;
		accepted++;
		assert_memory_equal(parts[0], parts[1], n * sizeof(parts[0][0]));
		weir_xdr_in_init_parts(&in[0], parts[0], n);
		at = below(chunk.position);
		assert_int_equal(weir_xdr_get_bytes(&in[0], NULL, at), 0);
		memset(&in[1], 0xee, sizeof(in[1]));
		xdr_in_init_at(&in[1], parts[0], n, bytes, stream + at);
		assert_true(weir_xdr_remaining(&in[0]) == weir_xdr_remaining(&in[1]));
		for (uint32_t i = 0; i < 12; i++) {
			int rc[2];

			for (uint32_t which = 0; which < 2; which++) {
				const void *ref;

				words[which] = 0;
				rc[which] = i % 3 == 2
						    ? weir_xdr_get_opaque_ref(&in[which], &ref, 64,
									      &words[which])
						    : weir_xdr_get_u32(&in[which], &words[which]);
			}
			assert_int_equal(rc[0], rc[1]);
			assert_int_equal(words[0], words[1]);
			assert_int_equal(in[0].failed, in[1].failed);
			assert_true(weir_xdr_remaining(&in[0]) == weir_xdr_remaining(&in[1]));
		}
	}
	assert_in_range(accepted, HOSTILE_SEEDS / 50, HOSTILE_SEEDS);
}

/* ---- calls as other implementations may make them ---- */

#define FOREIGN_CHUNKS_MAX 8u
#define FOREIGN_CUTS_MAX   4u

/*
 * A Read chunk: the bytes of 'base' from 'at' to 'end', which are divided into segments when they
 * are listed.
 */
struct foreign_chunk {
	const uint8_t *base;
	uint32_t position, at, end;
	uint32_t cuts; /* segments that are not listed yet */
};

static struct foreign_chunk foreign[FOREIGN_CHUNKS_MAX];
static uint32_t nforeign;
static uint8_t left_over[STREAM_MAX]; /* the reduced Payload stream */
static uint32_t left_over_bytes;

static void add_chunk(const uint8_t *base, uint32_t position, uint32_t len)
{
	foreign[nforeign++] =
		(struct foreign_chunk){base, position, 0, len, 1 + below(FOREIGN_CUTS_MAX)};
}

/* Moves some items to Read chunks. These can be empty, and can have roundup padding. */
static void reduce_some(void)
{
	uint32_t position = 0;

	nforeign = 0;
	left_over_bytes = 0;
	for (uint32_t i = 0; i < message.n; i++) {
		const struct piece *piece = &message.pieces[i];
		uint32_t pad = piece->kind == PIECE_XDR ? 0 : weir_xdr_pad(piece->len);

		if (piece->kind == PIECE_ITEM && !one_in(4)) {
			/*
			 * The bytes after the item in memory are used as padding, which is not
			 * read.
			 */
			add_chunk(piece->base, position, piece->len + (one_in(2) ? pad : 0));
		} else {
			memcpy(left_over + left_over_bytes, message.stream + position,
			       piece->len + pad);
			left_over_bytes += piece->len + pad;
		}
		position += piece->len + pad;
	}
}

/* Encodes the Read list: the segments of each chunk are in order, and the chunks are mixed. */
static void list_foreign(struct msg *m)
{
	for (uint32_t left = nforeign; left > 0;) {
		uint32_t pick = below(nforeign), len;
		struct foreign_chunk *chunk = &foreign[pick];

		if (chunk->cuts == 0)
			continue;
		len = chunk->end - chunk->at;
		if (--chunk->cuts > 0)
			len = one_in(4) ? 0 : below(len + 1);
		else
			left--;
		msg_read(m, chunk->position, pick, len, chunk->at);
		chunk->at += len;
	}
}

/* Copies the segments to the memory of their chunks. */
static void pull_foreign(const struct rdma1_header *hdr, struct reassemble_chunk *chunks,
			 uint32_t n)
{
	static uint8_t pulled[2 * STREAM_MAX];
	struct rdma1_read_segment seg;
	struct rdma1_read_iter it;
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		chunks[i].dst = pulled + used;
		used += chunks[i].len_bytes;
	}
	rdma1_reads_begin(hdr, &it);
	while (rdma1_reads_next(&it, &seg)) {
		struct reassemble_chunk *chunk = chunks;

		while (chunk->position != seg.position)
			chunk++;
		memcpy(chunk->dst + chunk->filled,
		       foreign[seg.target.handle].base + seg.target.offset, seg.target.length);
		chunk->filled += seg.target.length;
	}
}

static void foreign_call(bool is_long)
{
	struct reassemble_chunk chunks[REASSEMBLE_CHUNKS_MAX];
	struct weir_xdr_part parts[REASSEMBLE_PARTS_MAX];
	const uint8_t *inline_stream = left_over;
	enum rdma1_reason reason;
	struct rdma1_header hdr;
	struct msg m;
	int n;

	if (is_long)
		add_chunk(left_over, 0, left_over_bytes);
	msg_begin(&m, is_long ? RDMA1_NOMSG : RDMA1_MSG);
	list_foreign(&m);
	msg_end(&m);
	msg_end(&m);
	msg_end(&m);
	if (!is_long) {
		inline_stream = memcpy(m.buf + m.len, left_over, left_over_bytes);
		m.len += left_over_bytes;
	}
	assert_int_equal(
		rdma1_decode(m.buf, m.len, RDMA1_CALL, &rdma1_limits_default, &hdr, &reason),
		RDMA1_V_OK);
	n = reassemble_chunks(&hdr, chunks, REASSEMBLE_CHUNKS_MAX);
	assert_int_equal(n, nforeign);
	pull_foreign(&hdr, chunks, nforeign);
	if (is_long) {
		assert_int_equal(chunks[0].position, 0);
		inline_stream = chunks[0].dst;
	}
	n = reassemble_parts(inline_stream, left_over_bytes, chunks + is_long, nforeign - is_long,
			     parts, REASSEMBLE_PARTS_MAX);
	assert_true(n >= 0);
	expect_message(parts, (uint32_t)n);
}

static uint32_t failing;

static int print_seed(void **state)
{
	(void)state;
	if (failing)
		print_message("seed %u\n", failing);
	failing = 0;
	return 0;
}

static void all__3_4_5_chunks_in_any_segments_and_order_make_the_message(void **state)
{
	uint32_t nlong = 0;

	(void)state;
	for (failing = 1; failing <= FOREIGN_SEEDS; failing++) {
		bool is_long;

		rng = failing;
		make_message(RPC_HEADER, 1024);
		reduce_some();
		is_long = left_over_bytes > 4096;
		nlong += is_long;
		foreign_call(is_long);
	}
	failing = 0;
	assert_true(nlong > FOREIGN_SEEDS / 10 && nlong < FOREIGN_SEEDS - FOREIGN_SEEDS / 10);
}

/* ---- chunks that no requester should make ---- */

/*
 * Checks the parts that result from invalid chunks: they are inside the given memory, complete, and
 * usable by a decoder.
 */
static void expect_sound(const uint8_t *base, uint32_t len, const struct reassemble_chunk *chunks,
			 uint32_t nchunks, const struct weir_xdr_part *parts, uint32_t n)
{
	uint32_t taken = 0, items = 0;
	struct weir_xdr_in in;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (parts[i].is_item) {
			assert_true(items < nchunks);
			assert_ptr_equal(parts[i].base, chunks[items].dst);
			assert_true(parts[i].len_bytes <= chunks[items].len_bytes);
			assert_true(chunks[items].len_bytes - parts[i].len_bytes <= 3);
			items++;
		} else {
			assert_ptr_equal(parts[i].base, base + taken);
			assert_true(parts[i].len_bytes <= len - taken);
			taken += parts[i].len_bytes;
		}
		sum += parts[i].len_bytes;
	}
	assert_int_equal(taken, len);
	assert_int_equal(items, nchunks);
	weir_xdr_in_init_parts(&in, parts, n);
	assert_int_equal(weir_xdr_remaining(&in), sum);
	for (uint32_t i = 0; i < n; i++) {
		bool has_count = i + 1 < n && parts[i + 1].is_item;
		const void *data;
		uint32_t count;

		if (parts[i].is_item) {
			assert_int_equal(weir_xdr_get_opaque_ref(&in, &data, UINT32_MAX, &count),
					 0);
			assert_int_equal(count, parts[i].len_bytes);
			assert_true(count == 0 || data == parts[i].base);
		} else {
			count = parts[i].len_bytes - (has_count ? 4 : 0);
			assert_int_equal(weir_xdr_get_bytes(&in, NULL, count), 0);
		}
	}
}

static void parts__4_5_2_random_positions_and_counts_never_lead_astray(void **state)
{
	static uint8_t data[64];
	uint32_t accepted = 0;

	(void)state;
	for (failing = 1; failing <= HOSTILE_SEEDS; failing++) {
		struct reassemble_chunk chunks[3];
		struct weir_xdr_part parts[7];
		uint32_t words, n = 1, position = 0;
		uint8_t *exact;
		int rc;

		rng = failing;
		words = below(12);
		n += below(3);
		exact = test_malloc(4 * words + 1); /* reads past its end are detected */
		for (uint32_t i = 0; i < words; i++)
			wire_put_u32(exact + 1 + 4 * i,
				     one_in(9) ? UINT32_MAX - below(8) : below(9));
		for (uint32_t i = 0; i < n; i++) {
			position += 4 * below(6);
			chunks[i] = (struct reassemble_chunk){
				.position = one_in(20) ? UINT32_MAX - 3 - 4 * below(4) : position,
				.len_bytes = one_in(9) ? UINT32_MAX - below(8) : below(9),
				.dst = data,
			};
		}
		rc = reassemble_parts(exact + 1, 4 * words, chunks, n, parts, 7);
		if (rc >= 0) {
			accepted++;
			expect_sound(exact + 1, 4 * words, chunks, n, parts, (uint32_t)rc);
		} else {
			assert_int_equal(rc, -EBADMSG);
		}
		test_free(exact);
	}
	failing = 0;
	assert_true(accepted > HOSTILE_SEEDS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks__none_in_a_short_call),
		cmocka_unit_test(chunks__3_4_5_are_sorted_and_their_segments_added_up),
		cmocka_unit_test(chunks__position_zero_comes_first),
		cmocka_unit_test(chunks__4_5_2_lengths_that_wrap_32_bits_are_refused),
		cmocka_unit_test(parts__3_4_5_item_stands_where_the_unreduced_stream_has_it),
		cmocka_unit_test(parts__3_4_5_roundup_padding_in_a_chunk_is_exact_or_absent),
		cmocka_unit_test(parts__4_5_2_chunk_that_does_not_meet_its_count_is_refused),
		cmocka_unit_test(parts__4_5_2_chunks_that_overlap_are_refused),
		cmocka_unit_test(parts__4_5_2_position_does_not_wrap_behind_a_chunk),
		cmocka_unit_test(one__3_4_5_is_as_parts_says),
		cmocka_unit_test_teardown(
			all__3_4_5_chunks_in_any_segments_and_order_make_the_message, print_seed),
		cmocka_unit_test_teardown(
			parts__4_5_2_random_positions_and_counts_never_lead_astray, print_seed),
	};

	return cmocka_run_group_tests_name("reassemble", tests, NULL, NULL);
}
