/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs cases against a responder. Each case has its own connection. The message of the case is
 * sent, followed by a NULL call, the probe. If the message must be answered, the test waits for
 * that answer. If it must not be answered, the test waits for the answer to the probe and some more
 * time. If the connection was closed, a probe is sent on a new connection, because the responder
 * can have died.
 */
#include "hostile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma2.h"
#include "wire.h"

#define OFTEN_TIMES  200u
#define BURST_TIMES  48u
#define VANISH_TIMES 8u
#define HEAD	     "xid v:1 c:8 p:msg "
#define HEAD_V2	     "xid v:2 c:8 p:msg dir inv "
#define FILL	     "b:1 item seg:65536 b:0 b:0 b:0 write:65536"
#define BAD_ANSWERS  (GOT_UNSOUND | GOT_DEAD)

/*
 * Returns the outcome of an answer. Answers are judged by version 2, except those of version 1. An
 * ERR_VERS can have any version.
 */
static enum outcome judge(struct hostile *h, const struct peer_message *answer, char detail[48])
{
	bool is_v2 = h->is_v2 && answer->len >= 20 &&
		     (wire_get_u32(answer->bytes + 4) != 1 ||
		      (wire_get_u32(answer->bytes + 12) == RDMA2_ERROR &&
		       wire_get_u32(answer->bytes + 16) == RDMA2_ERR_VERS));

	return is_v2 ? judge_answer_v2(h, answer, detail)
		     : judge_answer(&h->peer, answer, &h->sent, detail);
}

static bool send_bytes(struct hostile *h, const uint8_t *bytes, uint32_t len)
{
	if (len >= 4)
		h->sent.xids[h->sent.count++ % SENT_MAX] = wire_get_u32(bytes);
	return peer_send(&h->peer, bytes, len);
}

/* Sends a message that does not belong to the case, with a new XID. */
static bool send_other(struct hostile *h, const char *text)
{
	static struct message message;
	struct values values;
	const char *error;
	uint8_t bytes[256];

	message_parse(&message, text, &h->parse, &error);
	h->xid++;
	values = own_values(h);
	return send_bytes(h, bytes, message_encode(&message, &values, bytes, h->peer.exposed));
}

/*
 * Sends the properties with which a connection of version 2 begins. Returns false if the answer is
 * not as expected.
 */
static bool open_v2(struct hostile *h)
{
	struct peer_message answer;
	char detail[48];

	if (!send_other(h, PROPERTIES_V2) ||
	    peer_wait(&h->peer, h->config.timeout_ms, &answer) != PEER_MESSAGE ||
	    judge(h, &answer, detail) != GOT_REPLY ||
	    wire_get_u32(answer.bytes + 12) != RDMA2_CONNPROP)
		return false;
	judge_structure(&answer, &h->theirs);
	return true;
}

/*
 * Connects to the responder. Tries again while the responder can still be ending earlier
 * connections. Returns false if it accepts no connection.
 */
static bool connect_to(struct hostile *h, const struct hostile_case *c)
{
	uint64_t end = peer_now_ms() + h->config.timeout_ms;
	uint8_t data[FABRIC_PRIVATE_DATA_MAX];
	uint32_t len = private_data(c, data);

	peer_disconnect(&h->peer);
	h->sent.count = 0;
	do {
		if (peer_connect(&h->peer, h->addr, data, len) == 0)
			return !h->is_v2 || open_v2(h);
	} while (peer_now_ms() < end);
	return false;
}

/*
 * Sends the messages of a case, with a new XID. If 'rng' is not NULL, it changes the message with
 * number 'mutated'.
 */
static bool send_case(struct hostile *h, const char *text, struct rng *rng, uint32_t mutated)
{
	struct values values;

	h->xid++;
	h->len = 0;
	for (uint32_t i = 0; text && i < CASE_MESSAGES_MAX; i++) {
		const uint8_t *bytes = h->bytes + h->len;

		text = parse_case(h, text);
		if (rng && i == mutated)
			message_mutate(&h->message, rng);
		values = own_values(h);
		if (!send_bytes(h, bytes, append_message(h, &values)))
			return false;
	}
	return true;
}

/* Sends a probe on this connection. The XID of the probe is h->xid. */
static bool send_probe(struct hostile *h)
{
	return send_other(h, h->is_v2 ? HEAD_V2 "none null" : HEAD "none null");
}

/*
 * Sends a probe, on a new connection if this one is closed. Returns true if the probe is answered.
 * Answers to earlier calls can precede its answer.
 */
static bool is_alive(struct hostile *h)
{
	struct peer_message answer;
	char detail[48];

	for (int i = 0; i < 2; i++) {
		uint64_t end = peer_now_ms() + h->config.timeout_ms;

		if ((i > 0 || !peer_is_usable(&h->peer)) && !connect_to(h, NULL))
			return false;
		if (!send_probe(h))
			continue;
		while (peer_now_ms() < end && peer_wait(&h->peer, 50, &answer) != PEER_CLOSED) {
			if (answer.len >= 4 && wire_get_u32(answer.bytes) == h->xid)
				return judge(h, &answer, detail) == GOT_REPLY;
			answer.len = 0;
		}
	}
	return false;
}

/*
 * Returns 'got' if the responder still serves calls, and otherwise GOT_DEAD. It is called when a
 * connection was closed, and at the end of a case.
 */
static enum outcome dead_or(struct hostile *h, enum outcome got)
{
	return is_alive(h) ? got : GOT_DEAD;
}

static void judge_end(struct hostile *h, struct result *result)
{
	if (!exposure_is_kept(h)) {
		result->got = GOT_UNSOUND;
		snprintf(result->detail, sizeof(result->detail),
			 "memory that was not offered was written");
	}
	if (result->got == GOT_CLOSED)
		result->got = dead_or(h, GOT_CLOSED);
}

/*
 * Receives the answers up to the answer to the probe. Returns the outcome of the first of them, but
 * GOT_UNSOUND if any of them is unsound.
 */
static enum outcome collect(struct hostile *h, uint32_t allowed, uint32_t settle_ms,
			    char detail[48])
{
	uint64_t end = peer_now_ms() + h->config.timeout_ms;
	enum outcome got = GOT_DROPPED;
	bool is_probed = false;

	while (peer_now_ms() < end) {
		/*
		 * After the answer to the probe, the function waits longer only if an answer is
		 * required.
		 */
		bool must_wait = !is_probed || (got == GOT_DROPPED && !(allowed & GOT_DROPPED));
		uint32_t ms = must_wait ? (uint32_t)(end - peer_now_ms()) : settle_ms;
		struct peer_message answer;
		enum peer_event event;
		enum outcome one;

		if (is_probed && got != GOT_DROPPED)
			ms = 0;
		event = peer_wait(&h->peer, ms, &answer);
		if (event == PEER_CLOSED)
			return got == GOT_DROPPED ? GOT_CLOSED : got;
		if (event == PEER_NOTHING)
			break;
		one = judge(h, &answer, detail);
		if (one == GOT_UNSOUND)
			return one;
		if (answer.len >= 4 && wire_get_u32(answer.bytes) == h->xid)
			is_probed = true;
		else if (got == GOT_DROPPED)
			got = one;
	}
	if (is_probed)
		return got;
	snprintf(detail, 48, "the connection is open and answers nothing");
	return GOT_DEAD;
}

static enum outcome vanish(struct hostile *h, const struct hostile_case *c)
{
	for (uint32_t i = 0; i < VANISH_TIMES; i++) {
		if (!connect_to(h, c))
			return GOT_DEAD;
		if (c->message[0] != '\0')
			send_case(h, c->message, NULL, 0);
		peer_disconnect(&h->peer);
	}
	return dead_or(h, GOT_CLOSED);
}

/* Sends the message several times. This side always has enough receives for all answers. */
static enum outcome repeat(struct hostile *h, const struct hostile_case *c, char detail[48])
{
	uint32_t times = c->delivery == OFTEN	? OFTEN_TIMES
			 : c->delivery == BURST ? BURST_TIMES
						: 1;
	enum outcome got = GOT_DROPPED;

	for (uint32_t i = 0; i < times; i++) {
		if (!send_case(h, c->message, NULL, 0))
			break;
		if (c->delivery != OFTEN || i + 1 == times)
			continue;
		/* The answer to each call frees a receive for the next answer. */
		if (i % 16 == 15 || !(c->allowed & GOT_DROPPED)) {
			if (!send_probe(h))
				break;
			got = collect(h, c->allowed, h->config.settle_ms, detail);
			if (got & (GOT_CLOSED | BAD_ANSWERS))
				return got;
		}
	}
	send_probe(h);
	return collect(h, c->allowed, h->config.settle_ms, detail);
}

void to_responder_run(struct hostile *h, const struct hostile_case *c, struct result *result)
{
	*result = (struct result){.c = c};
	expose(h);
	if (c->delivery == VANISH) {
		result->got = vanish(h, c);
		return;
	}
	if (!connect_to(h, c)) {
		result->got = is_alive(h) ? GOT_REFUSED : GOT_DEAD;
		return;
	}
	result->got = repeat(h, c, result->detail);
	judge_end(h, result);
	peer_disconnect(&h->peer);
}

const struct hostile_case *responder_cases_of(const struct hostile *h)
{
	return h->is_v2 ? responder_cases_v2 : responder_cases;
}

static uint32_t count_messages(const char *text)
{
	uint32_t n = 1;

	while ((text = strstr(text, " / "))) {
		text += 3;
		n++;
	}
	return n;
}

/*
 * Returns true if the only message that was sent must be answered, so that the test must wait for
 * the answer. Otherwise the answer could arrive during the next mutation, to which the memory then
 * belongs. The answer could not be judged, and its RDMA Writes would seem to go to memory that was
 * not offered. A responder that waits for a disk answers late.
 */
static bool must_be_answered(const struct hostile *h)
{
	struct rdma2_header v2;
	struct rdma1_header v1;
	enum rdma1_reason reason_v1;
	uint32_t reason, proc;

	if (h->len < RDMA1_FIXED_SIZE)
		return false;
	proc = wire_get_u32(h->bytes + 12);
	/* A reply in the chunk of a Long Call is dropped as well. */
	if (proc == RDMA1_NOMSG && wire_get_u32(h->peer.exposed + EXPOSED_LONG + 4) == RDMA1_REPLY)
		return false;
	if (!h->is_v2 || wire_get_u32(h->bytes + 4) == RDMA1_VERSION)
		return rdma1_decode(h->bytes, h->first_len, RDMA1_CALL, &judge_no_limits, &v1,
				    &reason_v1) != RDMA1_V_DROP;
	return rdma2_decode(h->bytes, h->first_len, &judge_no_limits, &v2, &reason) !=
		       RDMA2_V_DROP &&
	       proc <= RDMA2_NOMSG && v2.direction == RDMA1_CALL;
}

void to_responder_mutated(struct hostile *h, uint64_t seed, struct result *result)
{
	const struct hostile_case *cases = responder_cases_of(h);
	struct rng rng = {seed};
	uint32_t nvalid = 0, pick, nmessages;
	bool must;

	for (const struct hostile_case *c = cases; c->name; c++)
		nvalid += case_is_valid(c);
	pick = rng_below(&rng, nvalid);
	*result = (struct result){.c = cases};
	while (!case_is_valid(result->c) || pick-- > 0)
		result->c++;
	nmessages = count_messages(result->c->message);
	expose(h);
	if (!peer_is_usable(&h->peer) && !connect_to(h, NULL)) {
		result->got = GOT_DEAD;
		return;
	}
	send_case(h, result->c->message, &rng, nmessages > 1 ? rng_below(&rng, nmessages) : 0);
	must = nmessages == 1 && must_be_answered(h);
	if (h->len >= 4 && wire_get_u32(h->bytes) == h->xid + 1)
		/*
		 * without a new XID, its answer could not be distinguished from that of the probe
		 */
		h->xid++;
	send_probe(h);
	result->got = collect(h, must ? ~(uint32_t)GOT_DROPPED : UINT32_MAX, 0, result->detail);
	judge_end(h, result);
	/*
	 * The connection is not used again if a late answer can still arrive on it. An answer that
	 * is not expected at all can also arrive, for example to a message of the extension.
	 */
	if (result->got & BAD_ANSWERS || (result->got == GOT_DROPPED && (must || h->is_v2)))
		peer_disconnect(&h->peer);
}

/*
 * Copies the handle from the results of CREATE (RFC 1813 section 3.3.8). It follows the status, and
 * the word that says that there is a handle. Returns 0, or -1 if there is none.
 */
static int parse_handle(struct hostile *h, const struct peer_message *answer)
{
	const uint32_t at = (h->is_v2 ? 36 : 28) + 24 + 8;
	uint32_t len;

	if (answer->len < at + 4 || wire_get_u32(answer->bytes + at - 8) != 0 ||
	    wire_get_u32(answer->bytes + at - 4) != 1)
		return -1;
	len = wire_get_u32(answer->bytes + at);
	if (len > HANDLE_MAX || len % 4 != 0 || answer->len < at + 4 + len)
		return -1;
	h->parse.file.len_bytes = len;
	memcpy(h->parse.file.data, answer->bytes + at + 4, len);
	return 0;
}

static enum outcome call(struct hostile *h, const char *text, struct peer_message *answer)
{
	char detail[48];

	if (!send_case(h, text, NULL, 0) ||
	    peer_wait(&h->peer, h->config.timeout_ms, answer) != PEER_MESSAGE)
		return GOT_DEAD;
	return judge(h, answer, detail);
}

int to_responder_prepare(struct hostile *h)
{
	struct peer_message answer;
	bool is_ready = connect_to(h, NULL);

	expose(h);
	if (is_ready && h->parse.program->create)
		is_ready = call(h, h->is_v2 ? HEAD_V2 "none create" : HEAD "none create",
				&answer) == GOT_REPLY &&
			   parse_handle(h, &answer) == 0 &&
			   call(h, h->is_v2 ? HEAD_V2 FILL : HEAD FILL, &answer) == GOT_REPLY;
	peer_disconnect(&h->peer);
	if (is_ready)
		return 0;
	fprintf(stderr, "weir-hostile: no responder of program %s answers at %s%s\n",
		h->parse.program->name, h->addr,
		h->parse.program->create ? ", or it lets no file be made (--handle)" : "");
	return -1;
}
