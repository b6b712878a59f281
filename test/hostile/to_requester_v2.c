/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs cases against a requester that speaks version 2. The requester connects to this side, begins
 * with RDMA2_CONNPROP and makes calls, one at a time. Either RDMA2_CONNPROP or the first call gets
 * the answer of the case. The outcome is what the requester does next:
 * - another call: the call with the bad answer has ended
 * - the same call by the base protocol
 * - an error or a report
 * - the end of the connection
 * - nothing
 *
 * If the call has not ended, it then gets a good answer. All further calls get good answers too, on
 * any number of connections, and must succeed.
 */
#include "parsed_call.h"

#include <stdio.h>
#include <string.h>

#include "wire.h"

#define OFTEN_TIMES	   200u
#define BURST_TIMES	   48u
#define ECHO_TRANSMISSIONS 3u
#define MUTATIONS_OF_A_CALL                                                                        \
	64u /* consecutive ones of one call: a mutation's number also selects the call             \
	     */

/* The outcome of the attack so far. */
struct seen {
	uint32_t got; /* 0 if there is no outcome yet */
	char detail[48];
	bool has_call; /* a call has arrived and has not been answered */
};

static struct parsed_call parsed_call; /* the latest call of the requester */
static struct parsed_call attacked;    /* the call that gets the answer of the case */
static struct parsing parsing;

static enum came take_next(struct hostile *h, uint32_t ms, char detail[48])
{
	static struct peer_message message;
	uint64_t end = peer_now_ms() + ms;
	enum came came = CAME_PART;

	while (came == CAME_PART) {
		uint64_t now = peer_now_ms();

		switch (peer_wait(&h->peer, now < end ? (uint32_t)(end - now) : 0, &message)) {
		case PEER_MESSAGE:
			came = parsing_take(h, &parsing, &message, detail);
			break;
		case PEER_CLOSED:
			return CAME_CLOSED;
		default:
			return CAME_NOTHING;
		}
	}
	return came;
}

/*
 * Waits for a limited time for a message of the kind 'wanted'. Other messages are ignored. Returns
 * the kind of the last message.
 */
static enum came wait_for(struct hostile *h, enum came wanted, char detail[48])
{
	uint64_t end = peer_now_ms() + h->config.timeout_ms, now;
	enum came came = CAME_NOTHING;

	while ((now = peer_now_ms()) < end) {
		came = take_next(h, (uint32_t)(end - now), detail);
		if (came == wanted || came == CAME_CLOSED || came == CAME_UNSOUND)
			break;
	}
	return came;
}

/* ---- sending ---- */

static bool send_message(struct hostile *h, const uint8_t *bytes, uint32_t len)
{
	parsing_note_sent(&parsing, bytes, len);
	return peer_send(&h->peer, bytes, len);
}

/*
 * Sends the messages of a text. If 'rng' is not NULL, it changes the message with number 'mutated'.
 */
static bool send_text(struct hostile *h, const char *text, const struct values *values,
		      struct rng *rng, uint32_t mutated)
{
	h->len = 0;
	for (uint32_t i = 0; text && i < CASE_MESSAGES_MAX; i++) {
		const uint8_t *bytes = h->bytes + h->len;

		text = parse_case(h, text);
		if (rng && i == mutated)
			message_mutate(&h->message, rng);
		if (!send_message(h, bytes, append_message(h, values)))
			return false;
	}
	return true;
}

static bool send_properties(struct hostile *h, const char *text)
{
	struct values values = own_values(h);

	values.xid = parsing.xid;
	return send_text(h, text ? text : PROPERTIES_V2, &values, NULL, 0);
}

/* ---- observation ---- */

/*
 * Records an outcome. The first outcome counts, with two exceptions. A retransmitted call replaces
 * it, because a retransmission follows the other outcomes. An unsound message replaces any outcome.
 */
static void note(struct seen *seen, enum outcome got, const char *detail)
{
	if (seen->got && got != GOT_AGAIN && got != GOT_UNSOUND)
		return;
	seen->got = got;
	snprintf(seen->detail, sizeof(seen->detail), "%s", detail);
}

static void note_call(struct seen *seen, bool is_first)
{
	seen->has_call = true;
	if (is_first || parsed_call.xid != attacked.xid)
		note(seen, GOT_ENDED, parsed_call.vers == RDMA1_VERSION ? "by version 1" : "");
	else if (parsed_call.base)
		note(seen, GOT_UNSOUND, "the call again, by the extension");
	else
		note(seen, GOT_AGAIN, "");
}

/*
 * Waits up to 'ms' milliseconds for a message and records the outcome. Returns false if no message
 * arrived, or if the connection ended.
 */
static bool look(struct hostile *h, uint32_t ms, bool is_first, struct seen *seen)
{
	char detail[48] = "";

	if (!h->peer.qp) {
		note(seen, GOT_CLOSED, "");
		return false;
	}
	switch (take_next(h, ms, detail)) {
	case CAME_CALL:
		note_call(seen, is_first);
		return true;
	case CAME_REPORT:
		note(seen, GOT_REPORT, detail);
		return true;
	case CAME_ERROR:
		note(seen, strcmp(detail, "VERS") == 0 ? GOT_ERR_VERS : GOT_ERROR, detail);
		return true;
	case CAME_UNSOUND:
		note(seen, GOT_UNSOUND, detail);
		return true;
	case CAME_CLOSED:
		note(seen, GOT_CLOSED, "");
		return false;
	case CAME_NOTHING:
		return false;
	default:
		return true;
	}
}

/* Records the outcomes of messages until a call arrives, for up to 'ms' milliseconds. */
static void look_for_call(struct hostile *h, const struct hostile_case *c, uint32_t ms,
			  struct seen *seen)
{
	uint64_t end = peer_now_ms() + ms, now;

	while (!seen->has_call && (now = peer_now_ms()) < end &&
	       look(h, (uint32_t)(end - now), c->is_first, seen))
		;
}

/* Waits for the outcome. If the case requires an outcome, waits longer for it. */
static void observe(struct hostile *h, const struct hostile_case *c, struct seen *seen)
{
	const uint32_t errors = GOT_REPORT | GOT_ERROR | GOT_ERR_VERS,
		       ends = GOT_REPLY | GOT_ENDED | GOT_AGAIN;
	bool may_drop = c->allowed & GOT_DROPPED;
	uint64_t end = peer_now_ms() + (may_drop ? h->config.settle_ms : h->config.timeout_ms), now;

	while (!seen->got && (now = peer_now_ms()) < end &&
	       look(h, (uint32_t)(end - now), c->is_first, seen))
		;
	/*
	 * The requester can have reported an error and also ended the call. In that case the call
	 * must not get a good answer as well.
	 */
	if (seen->got & errors && c->allowed & ends)
		look_for_call(h, c, h->config.timeout_ms, seen);
	if (!seen->got)
		seen->got = GOT_DROPPED;
}

/*
 * Sends the messages of the case. Meanwhile receives messages, so that the send queue does not
 * fill.
 */
static void attack(struct hostile *h, const struct hostile_case *c, const struct values *values,
		   struct seen *seen)
{
	uint32_t times = c->delivery == OFTEN	? OFTEN_TIMES
			 : c->delivery == BURST ? BURST_TIMES
						: 1;

	while (times-- > 0 && (c->message[0] == '\0' || send_text(h, c->message, values, NULL, 0)))
		while (h->peer.count > 0 && look(h, 0, c->is_first, seen))
			;
	if (c->delivery == VANISH)
		peer_disconnect(&h->peer);
}

/* ---- a case ---- */

static bool goes_on(const struct seen *seen)
{
	return seen->got & (GOT_DROPPED | GOT_REPORT | GOT_ERROR | GOT_ERR_VERS) && !seen->has_call;
}

static void attack_first(struct hostile *h, const struct hostile_case *c, struct seen *seen)
{
	struct values values = own_values(h);

	values.xid = parsing.xid;
	attack(h, c, &values, seen);
	observe(h, c, seen);
	if (goes_on(seen))
		send_properties(h, NULL);
}

/*
 * Returns true if the call has the form that the case needs. Cases about transmissions need an ECHO
 * of a requester that has enough credits, receives and buffers.
 */
static bool is_as_needed(const struct hostile_case *c)
{
	return c->properties || !c->call || strcmp(c->call, "echo") != 0 ||
	       (parsed_call.count >= ECHO_TRANSMISSIONS &&
		parsed_call.reply_count >= ECHO_TRANSMISSIONS);
}

static void attack_call(struct hostile *h, const struct hostile_case *c, struct seen *seen)
{
	struct values values;

	send_properties(h, c->properties);
	if (wait_for(h, CAME_CALL, seen->detail) != CAME_CALL) {
		seen->got = seen->detail[0] ? GOT_UNSOUND : GOT_UNTESTED;
		return;
	}
	if (!is_as_needed(c)) {
		snprintf(seen->detail, sizeof(seen->detail),
			 "a call of %u transmissions, %u for its reply", parsed_call.count,
			 parsed_call.reply_count);
		seen->got = GOT_UNTESTED;
		seen->has_call = true;
		return;
	}
	attacked = parsed_call;
	values = asked_values(h, &attacked);
	asked_write(h, &attacked); /* writes the data to the memory that the answer names */
	attack(h, c, &values, seen);
	observe(h, c, seen);
	if (goes_on(seen))
		asked_answer(h, &attacked);
}

/*
 * Waits for a requester that connects and begins correctly. Returns false if there is none, with
 * the reason in *seen.
 */
static bool open_connection(struct hostile *h, const struct hostile_case *c, struct seen *seen)
{
	static struct peer_message first;

	seen->got = GOT_UNTESTED;
	parsing_begin(&parsing, &parsed_call);
	if (!requester_connect(h, c)) {
		snprintf(seen->detail, sizeof(seen->detail), "no connection came");
		return false;
	}
	if (peer_wait(&h->peer, h->config.timeout_ms, &first) != PEER_MESSAGE ||
	    parsing_take(h, &parsing, &first, seen->detail) != CAME_PROPERTIES) {
		snprintf(seen->detail, sizeof(seen->detail), "no RDMA2_CONNPROP came");
		return false;
	}
	judge_structure(&first, &h->theirs);
	*seen = (struct seen){0};
	return true;
}

static void accept_again(struct hostile *h)
{
	uint8_t data[FABRIC_PRIVATE_DATA_MAX];

	peer_disconnect(&h->peer);
	parsing_begin(&parsing, &parsed_call);
	if (peer_wait_request(&h->peer, 1))
		peer_accept(&h->peer, data, private_data(NULL, data));
}

/*
 * Sends good answers to all calls until the process of the requester ends, on any number of
 * connections. Without a process, until the connection ends. Returns the exit status.
 */
static int serve(struct hostile *h, int pid, struct seen *seen)
{
	uint64_t end = peer_now_ms() + 4 * h->config.timeout_ms;
	char detail[48] = "";
	int status = REQUESTER_RUNS;

	while (status == REQUESTER_RUNS && peer_now_ms() < end) {
		enum came came = CAME_NOTHING;

		if (seen->has_call)
			came = CAME_CALL;
		else if (peer_is_usable(&h->peer))
			came = take_next(h, 1, detail);
		else if (pid < 0)
			return 0;
		else
			accept_again(h);
		seen->has_call = false;
		if (came == CAME_CALL)
			asked_answer(h, &parsed_call);
		else if (came == CAME_PROPERTIES && strcmp(detail, "connection") == 0)
			send_properties(h, NULL);
		else if (came == CAME_UNSOUND)
			note(seen, GOT_UNSOUND, detail);
		status = requester_poll(&pid);
	}
	requester_kill(pid);
	return status;
}

static void end_case(struct hostile *h, int pid, bool has_command, struct seen *seen,
		     struct result *result)
{
	int status = serve(h, pid, seen);

	result->got = (enum outcome)seen->got;
	snprintf(result->detail, sizeof(result->detail), "%s", seen->detail);
	requester_judge(h, result, status, has_command);
	peer_disconnect(&h->peer);
}

void to_requester_v2_run(struct hostile *h, const struct hostile_case *c, struct result *result)
{
	int pid = requester_start(h, c);
	bool has_command = pid > 0;
	bool is_open;
	struct seen seen = {0};

	*result = (struct result){.c = c};
	expose(h);
	do { /* a requester without a process can first connect only to test if that is possible */
		is_open = open_connection(h, c, &seen);
		if (is_open && c->is_first)
			attack_first(h, c, &seen);
		else if (is_open)
			attack_call(h, c, &seen);
	} while (is_open && !has_command && seen.got == GOT_UNTESTED && !seen.has_call);
	end_case(h, pid, has_command, &seen, result);
}

/* ---- mutations ---- */

static const char *call_of(const struct hostile_case *c)
{
	return c->call ? c->call : "read";
}

static bool is_base(const struct hostile_case *c, const char *call)
{
	return case_is_valid(c) && !c->properties && strcmp(call_of(c), call) == 0;
}

/* Selects at random a good answer to the call. */
static const struct hostile_case *pick_base(const char *call, struct rng *rng)
{
	const struct hostile_case *c;
	uint32_t n = 0, pick;

	for (c = requester_cases_v2; c->name; c++)
		n += is_base(c, call);
	pick = rng_below(rng, n);
	for (c = requester_cases_v2; !is_base(c, call) || pick-- > 0; c++)
		;
	return c;
}

static uint32_t count_messages(const char *text)
{
	uint32_t n = 1;

	for (; (text = strstr(text, " / ")); text += 3)
		n++;
	return n;
}

/*
 * Sends a mutated answer to a call, and then a good answer. No requester accepts a second answer of
 * several transmissions. Therefore such a good answer is sent only if the call has not ended.
 */
static bool mutate(struct hostile *h, uint64_t seed, const char *call, struct seen *seen)
{
	struct rng rng = {seed};
	const struct hostile_case *c = pick_base(call, &rng);
	struct values values;

	attacked = parsed_call;
	values = asked_values(h, &attacked);
	asked_write(h, &attacked);
	if (!send_text(h, c->message, &values, &rng, rng_below(&rng, count_messages(c->message))))
		return false;
	if (strcmp(call, "echo") == 0)
		look_for_call(h, c, h->config.settle_ms, seen);
	return seen->has_call || asked_answer(h, &attacked);
}

uint32_t to_requester_v2_mutated(struct hostile *h, uint64_t seed, uint32_t count,
				 struct result *result)
{
	static const char *const calls[] = {"read", "echo", "write", "read"};
	const char *call = calls[seed / MUTATIONS_OF_A_CALL % 4];
	const uint32_t most = MUTATIONS_OF_A_CALL - (uint32_t)(seed % MUTATIONS_OF_A_CALL);
	struct rng rng = {0};
	const struct hostile_case *c = pick_base(call, &rng);
	int pid = requester_start(h, c);
	bool has_command = pid > 0;
	struct seen seen = {0};
	enum came came = CAME_CLOSED;
	uint32_t n = 0;

	*result = (struct result){.c = c};
	expose(h);
	if (count > most)
		count = most;
	if (open_connection(h, c, &seen)) {
		send_properties(h, NULL);
		while (n < count && seen.got != GOT_UNSOUND) {
			came = seen.has_call ? CAME_CALL : wait_for(h, CAME_CALL, seen.detail);
			seen.got = 0;
			seen.has_call = false;
			if (came != CAME_CALL || !mutate(h, seed + n++, call, &seen))
				break;
		}
		seen.got = came == CAME_UNSOUND || seen.got == GOT_UNSOUND ? GOT_UNSOUND
			   : !peer_is_usable(&h->peer)			   ? GOT_CLOSED
			   : n < count ? GOT_DROPPED /* the requester made no further call */
				       : GOT_ENDED;
		if (seen.got != GOT_UNSOUND)
			seen.detail[0] = '\0';
	}
	end_case(h, pid, has_command, &seen, result);
	if (result->got == GOT_REPLY)
		result->got = GOT_ENDED;
	return n;
}
