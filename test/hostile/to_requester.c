/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs cases against a requester. The requester connects to this side and makes READ calls of
 * weir-bench's program, with one Write chunk each. Its first call gets the answer of the case. The
 * outcome is what the requester does next:
 * - another call: the call with the bad answer has ended
 * - the end of the connection
 * - nothing: this side then sends a good answer
 *
 * All further calls get good answers until the process ends, on any number of connections.
 */
#include "hostile.h"

#include <stdio.h>
#include <string.h>

#include "cm_private.h"
#include "rdma1.h"

#define OFTEN_TIMES 200u
#define BURST_TIMES 48u

/*
 * Finds the memory that the call offers. Returns false if the call is not valid, or if the memory
 * is too long.
 */
static bool take_call(const struct hostile *h, const struct hostile_case *c,
		      const struct peer_message *call, struct values *values, char detail[48])
{
	uint8_t data[FABRIC_PRIVATE_DATA_MAX];
	struct rdma1_segment_iter segments;
	struct rdma1_write_iter chunks;
	struct rdma1_segment segment;
	struct cm_private mine;
	struct rdma1_header hdr;
	enum rdma1_reason reason;

	cm_private_decode(data, private_data(c, data), &mine);
	if (rdma1_decode(call->bytes, call->len, RDMA1_CALL, &rdma1_limits_default, &hdr,
			 &reason) != RDMA1_V_OK) {
		snprintf(detail, 48, "a call: %s", rdma1_reason_name(reason));
		return false;
	}
	if (call->len > mine.recv_bytes) {
		snprintf(detail, 48, "a call of %u bytes, of %u", call->len, mine.recv_bytes);
		return false;
	}
	*values = own_values(h);
	values->xid = hdr.xid;
	rdma1_writes_begin(&hdr, &chunks);
	if (rdma1_writes_next(&chunks, &segments) && rdma1_segments_next(&segments, &segment)) {
		values->call_key = segment.handle;
		values->call_length = segment.length;
		values->call_address = segment.offset;
	}
	return true;
}

/*
 * Returns the text of the answer. For a call without a chunk, such as NULL, the good answer is
 * another text.
 */
static const char *answer_text(const char *text, const struct values *values)
{
	return strcmp(text, "good") == 0 && values->call_length == 0 ? "xid v:1 c:8 p:msg none void"
								     : text;
}

static bool send_good(struct hostile *h, const struct values *values)
{
	parse_case(h, answer_text("good", values));
	return peer_send(&h->peer, h->bytes, make_message(h, values));
}

/* Sends the answer of the case. */
static void attack(struct hostile *h, const struct hostile_case *c, const struct values *values)
{
	uint32_t times = c->delivery == OFTEN	? OFTEN_TIMES
			 : c->delivery == BURST ? BURST_TIMES
						: 1;

	parse_case(h, answer_text(c->message, values));
	if (c->delivery == VANISH) {
		peer_disconnect(&h->peer);
	} else if (c->delivery == WRITE) {
		peer_write(&h->peer, values->call_key + (uint32_t)h->message.fields[0].value,
			   values->call_address + h->message.fields[1].value, 64);
	} else {
		uint32_t len = make_message(h, values);

		while (times-- > 0 && peer_send(&h->peer, h->bytes, len))
			;
	}
}

/*
 * Waits for what the requester does next, and returns it as an outcome. If the requester makes a
 * call, it is copied to *next.
 */
static enum outcome observe(struct hostile *h, const struct hostile_case *c,
			    struct peer_message *next)
{
	bool may_drop = c->allowed & GOT_DROPPED;

	next->len = 0;
	if (!h->peer.qp)
		return GOT_CLOSED;
	switch (peer_wait(&h->peer, may_drop ? h->config.settle_ms : h->config.timeout_ms, next)) {
	case PEER_MESSAGE:
		return GOT_ENDED;
	case PEER_CLOSED:
		return GOT_CLOSED;
	default:
		return GOT_DROPPED;
	}
}

/*
 * Sends good answers to all calls until the process of the requester ends, on any number of
 * connections. Without a process, until the connection ends. Returns the exit status.
 */
static int serve(struct hostile *h, const struct hostile_case *c, int pid,
		 struct peer_message *call, struct result *result)
{
	uint64_t end = peer_now_ms() + 4 * h->config.timeout_ms;
	struct values values;
	int status = REQUESTER_RUNS;

	while (status == REQUESTER_RUNS && peer_now_ms() < end) {
		if (!peer_is_usable(&h->peer)) {
			peer_disconnect(&h->peer);
			if (pid < 0)
				return 0;
			c = NULL;
			if (peer_wait_request(&h->peer, 1)) {
				uint8_t data[FABRIC_PRIVATE_DATA_MAX];

				peer_accept(&h->peer, data, private_data(NULL, data));
			}
		}
		if (call->len > 0 || peer_wait(&h->peer, 1, call) == PEER_MESSAGE) {
			if (take_call(h, c, call, &values, result->detail))
				send_good(h, &values);
			else
				result->got = GOT_UNSOUND;
			call->len = 0;
		}
		status = requester_poll(&pid);
	}
	requester_kill(pid);
	return status;
}

bool requester_connect(struct hostile *h, const struct hostile_case *c)
{
	uint8_t data[FABRIC_PRIVATE_DATA_MAX];

	peer_disconnect(&h->peer);
	if (!peer_wait_request(&h->peer, h->config.timeout_ms))
		return false;
	if (c->delivery == REJECT) {
		peer_reject(&h->peer);
		return true;
	}
	return peer_accept(&h->peer, data, private_data(c, data)) == 0;
}

/*
 * Waits for the first call of a connection. Returns false if there is none. A requester without a
 * process can first connect only to test if that is possible.
 */
static bool wait_call(struct hostile *h, struct peer_message *call)
{
	return peer_wait(&h->peer, h->config.timeout_ms, call) == PEER_MESSAGE;
}

void to_requester_run(struct hostile *h, const struct hostile_case *c, struct result *result)
{
	int pid = requester_start(h, c);
	bool has_command = pid > 0, has_connection;
	struct peer_message call = {0};
	struct values values;

	*result = (struct result){.c = c, .got = GOT_UNTESTED};
	expose(h);
	do
		has_connection = requester_connect(h, c);
	while (has_connection && c->delivery != REJECT && !wait_call(h, &call) && !has_command);
	if (!has_connection)
		snprintf(result->detail, sizeof(result->detail), "no connection came");
	else if (c->delivery == REJECT)
		result->got = GOT_REFUSED;
	else if (call.len == 0)
		snprintf(result->detail, sizeof(result->detail), "no call came");
	else if (!take_call(h, c, &call, &values, result->detail))
		result->got = GOT_UNSOUND;
	else {
		attack(h, c, &values);
		result->got = observe(h, c, &call);
		if (result->got == GOT_DROPPED)
			send_good(h, &values);
	}
	requester_judge(h, result, serve(h, c, pid, &call, result), has_command);
	peer_disconnect(&h->peer);
}

uint32_t to_requester_mutated(struct hostile *h, uint64_t seed, uint32_t count,
			      struct result *result)
{
	const struct hostile_case *c = requester_cases; /* a case that has the good answer */
	int pid = requester_start(h, c);
	bool has_command = pid > 0;
	struct peer_message call = {0};
	struct values values;
	uint32_t n = 0;

	*result = (struct result){.c = c, .got = GOT_ENDED};
	expose(h);
	if (!requester_connect(h, c)) {
		result->got = GOT_UNTESTED;
		snprintf(result->detail, sizeof(result->detail), "no connection came");
	}
	while (n < count && wait_call(h, &call)) {
		struct rng rng = {seed + n};

		if (!take_call(h, c, &call, &values, result->detail)) {
			result->got = GOT_UNSOUND;
			break;
		}
		parse_case(h, c->message);
		message_mutate(&h->message, &rng);
		n++;
		if (!peer_send(&h->peer, h->bytes, make_message(h, &values)) ||
		    !send_good(h, &values))
			break;
	}
	if (peer_is_usable(&h->peer) && n < count && result->got == GOT_ENDED)
		result->got = GOT_DROPPED; /* the requester made no further call */
	else if (!peer_is_usable(&h->peer) && result->got == GOT_ENDED)
		result->got = GOT_CLOSED;
	call.len = 0;
	requester_judge(h, result, serve(h, c, pid, &call, result), has_command);
	peer_disconnect(&h->peer);
	return n;
}
