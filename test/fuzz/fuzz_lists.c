/* SPDX-License-Identifier: BSD-3-Clause */

/* Encodes the chunk lists of a decoded header again (fuzz_lists.h). */

#include "fuzz_lists.h"

#include "fuzz.h"

static void encode_segments(struct rdma1_writer *w, struct rdma1_segment_iter chunk,
			    uint64_t *bytes)
{
	struct rdma1_segment seg;

	while (rdma1_segments_next(&chunk, &seg)) {
		REQUIRE(seg.length <= UINT64_MAX - seg.offset);
		*bytes += seg.length;
		rdma1_write_segment(w, &seg);
	}
}

void fuzz_encode_lists(const struct rdma1_header *hdr, const struct rdma1_limits *limits,
		       struct rdma1_writer *w)
{
	uint64_t read_bytes = 0, write_bytes = 0, reply_bytes = 0;
	struct rdma1_segment_iter chunk;
	struct rdma1_write_iter writes;
	struct rdma1_read_segment read;
	struct rdma1_read_iter reads;

	rdma1_reads_begin(hdr, &reads);
	while (rdma1_reads_next(&reads, &read)) {
		REQUIRE(read.position % 4 == 0);
		read_bytes += read.target.length;
		rdma1_write_read_segment(w, read.position, &read.target);
	}
	rdma1_write_list_end(w);
	rdma1_writes_begin(hdr, &writes);
	while (rdma1_writes_next(&writes, &chunk)) {
		REQUIRE(chunk.left <= limits->segments_per_chunk_max);
		rdma1_write_chunk(w, chunk.left);
		encode_segments(w, chunk, &write_bytes);
	}
	rdma1_write_list_end(w);
	rdma1_reply_begin(hdr, &chunk);
	if (hdr->has_reply_chunk)
		rdma1_write_reply_chunk(w, chunk.left);
	else
		rdma1_write_no_reply_chunk(w);
	encode_segments(w, chunk, &reply_bytes);

	REQUIRE(hdr->nread_segments <= limits->read_segments_max);
	REQUIRE(hdr->nread_chunks <= limits->read_chunks_max);
	REQUIRE(hdr->nread_chunks <= hdr->nread_segments);
	REQUIRE(hdr->nwrite_chunks <= limits->write_chunks_max);
	REQUIRE(hdr->nreply_segments <= limits->segments_per_chunk_max);
	REQUIRE(read_bytes == hdr->read_bytes && read_bytes <= limits->read_bytes_max);
	REQUIRE(write_bytes + reply_bytes == hdr->write_bytes &&
		hdr->write_bytes <= limits->write_bytes_max);
	REQUIRE(reply_bytes == hdr->reply_bytes);
}
