/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes good answers to the calls of a requester of version 2. */
#include <string.h>

#include <weir/rpc.h>

#include "parsed_call.h"

#define CREDITS	    8u
#define MESSAGE_LEN 4096u /* every requester of version 2 accepts this length */
/* The position of a result in the reply, after the RPC header and the count word. */
#define DISPLACED 28u

struct values asked_values(const struct hostile *h, const struct parsed_call *parsed_call)
{
	struct values values = own_values(h);

	values.xid = parsed_call->xid;
	values.call_length = parsed_call->answer_bytes;
	values.answer = parsed_call->answer;
	if (parsed_call->has_result) {
		values.call_key = parsed_call->result.handle;
		values.call_address = parsed_call->result.offset;
	}
	return values;
}

static bool write_to(struct hostile *h, const struct rdma1_segment *seg, const uint8_t *bytes,
		     uint32_t len)
{
	if (len > seg->length || len > EXPOSED_BYTES)
		return false;
	memcpy(h->peer.exposed, bytes, len);
	return len == 0 || peer_write(&h->peer, seg->handle, seg->offset, len);
}

bool asked_write(struct hostile *h, const struct parsed_call *parsed_call)
{
	return !parsed_call->has_result ||
	       write_to(h, &parsed_call->result, parsed_call->answer, parsed_call->answer_bytes);
}

/* Encodes the RPC reply. If 'has_data' is false, the data of the result are elsewhere. */
static void put_rpc(struct weir_xdr_out *out, const struct parsed_call *parsed_call, bool has_data)
{
	const uint32_t words[] = {parsed_call->xid, WEIR_RPC_REPLY, WEIR_RPC_MSG_ACCEPTED, 0, 0,
				  WEIR_RPC_SUCCESS};

	for (uint32_t i = 0; i < 6; i++)
		weir_xdr_put_u32(out, words[i]);
	if (parsed_call->proc == 3) /* for WRITE, the result says that the data are correct */
		weir_xdr_put_u32(out, 1);
	if (parsed_call->proc != 0)
		weir_xdr_put_u32(out, parsed_call->answer_bytes);
	if ((parsed_call->proc == 1 || parsed_call->proc == 2) && has_data) {
		uint32_t pad = weir_xdr_pad(parsed_call->answer_bytes);
		uint8_t *at = weir_xdr_reserve(out, parsed_call->answer_bytes + pad);

		if (!at)
			return;
		memcpy(at, parsed_call->answer, parsed_call->answer_bytes);
		memset(at + parsed_call->answer_bytes, 0, pad);
	}
}

/* ---- by the base protocol, and by version 1 ---- */

static uint32_t put_lists(struct hostile *h, const struct parsed_call *parsed_call,
			  const struct rdma1_segment *chunk, const struct rdma1_segment *reply)
{
	const uint32_t extra = parsed_call->vers == RDMA2_VERSION ? RDMA2_EXTRA : 0;
	struct rdma1_writer w;

	rdma1_write_begin(&w, h->bytes + extra, MESSAGE_LEN, parsed_call->xid, CREDITS,
			  reply ? RDMA1_NOMSG : RDMA1_MSG);
	rdma1_write_list_end(&w);
	if (chunk) {
		rdma1_write_chunk(&w, 1);
		rdma1_write_segment(&w, chunk);
	}
	rdma1_write_list_end(&w);
	if (reply) {
		rdma1_write_reply_chunk(&w, 1);
		rdma1_write_segment(&w, reply);
	} else {
		rdma1_write_no_reply_chunk(&w);
	}
	if (extra)
		rdma2_write_over(h->bytes, RDMA1_REPLY, 0);
	return extra + rdma1_writer_len(&w);
}

static bool answer_by_base(struct hostile *h, const struct parsed_call *parsed_call)
{
	static uint8_t rpc[ASKED_BYTES_MAX + 64];
	struct rdma1_segment chunk = parsed_call->result, reply = parsed_call->reply;
	bool is_long = parsed_call->has_reply && parsed_call->answer_bytes > 900;
	struct weir_xdr_out out;
	uint32_t header, len;

	chunk.length = parsed_call->answer_bytes;
	weir_xdr_out_init(&out, rpc, sizeof(rpc));
	put_rpc(&out, parsed_call, !parsed_call->has_result);
	len = reply.length = (uint32_t)weir_xdr_out_len(&out);
	if (parsed_call->has_result && !asked_write(h, parsed_call))
		return false;
	if (is_long && !write_to(h, &parsed_call->reply, rpc, len))
		return false;
	header = put_lists(h, parsed_call, parsed_call->has_result ? &chunk : NULL,
			   is_long ? &reply : NULL);
	if (is_long)
		return peer_send(&h->peer, h->bytes, header);
	memcpy(h->bytes + header, rpc, len);
	return peer_send(&h->peer, h->bytes, header + len);
}

/* ---- by the extension ---- */

/* Encodes the entry for the only direction of the call. */
static void put_entry(struct weir_xdr_out *out, const struct parsed_call *parsed_call)
{
	struct rdma1_segment seg = parsed_call->result;

	seg.length = parsed_call->answer_bytes;
	rtr_put_count(out, parsed_call->ndirections);
	if (parsed_call->ndirections == 0)
		return;
	if (parsed_call->has_result)
		rtr_put_item_exrw(out, DISPLACED, parsed_call->answer_bytes, &seg, 1);
	else
		rtr_put_item_inline(out, RTR_TOOSHORT, DISPLACED, parsed_call->answer_bytes);
}

static bool answer_by_extension(struct hostile *h, const struct parsed_call *parsed_call)
{
	static uint8_t rpc[ASKED_BYTES_MAX + 64];
	bool is_written = parsed_call->ndirections > 0 && parsed_call->has_result;
	struct rtr_split split = {.send_bytes_max = MESSAGE_LEN};
	struct weir_xdr_out out;
	uint32_t count;

	weir_xdr_out_init(&out, rpc, sizeof(rpc));
	put_rpc(&out, parsed_call, !is_written);
	split.payload_bytes = (uint32_t)weir_xdr_out_len(&out);
	split.header_bytes = RTR_XMTRESP_SIZE + parsed_call->ndirections * 32;
	count = rtr_split_count(&split);
	if (is_written && !asked_write(h, parsed_call))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset, len, header;

		rtr_split_part(&split, i, &offset, &len);
		rtr_put_begin(&out, h->bytes, MESSAGE_LEN, parsed_call->xid, CREDITS, RDMA1_REPLY,
			      parsed_call->base, i == 0 ? RTR_XMTRESP : RTR_XMTCONT);
		if (i == 0) {
			put_entry(&out, parsed_call);
			rtr_put_response(&out, count, len);
		} else {
			rtr_put_cont(&out, i, parsed_call->base + RTR_XMTRESP, len);
		}
		header = rtr_put_end(&out);
		memcpy(h->bytes + header, rpc + offset, len);
		if (!peer_send(&h->peer, h->bytes, header + len))
			return false;
	}
	return true;
}

bool asked_answer(struct hostile *h, const struct parsed_call *parsed_call)
{
	return parsed_call->base ? answer_by_extension(h, parsed_call)
				 : answer_by_base(h, parsed_call);
}
