/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a profile's keys. profile_values.c reads and prints what they hold. */
#include "profile_keys.h"

#include <string.h>

#include "engine.h"

#define LCORES_MAX 128u

static const struct profile_choice idles[] = {
	{"auto", WEIR_IDLE_AUTO},
	{"spin", WEIR_IDLE_SPIN},
	{"yield", WEIR_IDLE_YIELD},
	{"sleep", WEIR_IDLE_SLEEP},
	{NULL, 0},
};

static const struct profile_choice pages[] = {
	{"auto", 0}, {"thp", WEIR_PAGES_THP}, {"4k", 4 * KIB}, {"2m", 2 * MIB}, {"1g", GIB},
	{NULL, 0},
};

static const struct profile_choice sharings[] = {
	{"auto", WEIR_SHARED_RECEIVES_AUTO},
	{"on", WEIR_SHARED_RECEIVES_ON},
	{"off", WEIR_SHARED_RECEIVES_OFF},
	{NULL, 0},
};

static const struct profile_choice exposures[] = {
	{"auto", WEIR_EXPOSURE_AUTO},
	{"window", WEIR_EXPOSURE_WINDOW},
	{"pool", WEIR_EXPOSURE_POOL},
	{NULL, 0},
};

static const struct profile_choice protections[] = {
	{"shared", WEIR_PROTECTION_SHARED},
	{"connection", WEIR_PROTECTION_CONNECTION},
	{NULL, 0},
};

static const struct profile_choice reconnects[] = {
	{"off", WEIR_RECONNECT_OFF},
	{"on", WEIR_RECONNECT_ON},
	{NULL, 0},
};

static const struct profile_choice protocols[] = {
	{"v1", WEIR_PROTOCOL_V1},
	{"v2", WEIR_PROTOCOL_V2},
	{"auto", WEIR_PROTOCOL_AUTO},
	{NULL, 0},
};

static const struct profile_choice extensions[] = {
	{"off", WEIR_EXTENSION_OFF},
	{"continuation", WEIR_EXTENSION_CONTINUATION},
	{"direction", WEIR_EXTENSION_DIRECTION},
	{"placement", WEIR_EXTENSION_PLACEMENT},
	{"all", WEIR_EXTENSION_ALL},
	{NULL, 0},
};

static const struct profile_choice yes_no[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};

static bool is_lcores(const char *text)
{
	uint32_t cpus[LCORES_MAX];

	return weir_profile_lcores(text, cpus, LCORES_MAX) >= 0;
}

static bool is_name(const char *text)
{
	return *text != '\0' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static bool is_any(const char *text)
{
	(void)text;
	return true;
}

#define FIELD(name)                                                                                \
	.offset = offsetof(struct weir_profile, name),                                             \
	.size = sizeof(((struct weir_profile *)0)->name)

const struct profile_key profile_keys[] = {
	{"engine", "lcores", PROFILE_TEXT, FIELD(lcores), .is_valid = is_lcores,
	 .allowed = "CPUs such as 0,1 or 0-3, each once; any; or empty", .initial = "",
	 .example = "0,1",
	 .help = "CPUs to pin weir's threads to, in the order of its engines; any: pin none; "
		 "empty: the "
		 "program chooses"},
	{"engine", "idle", PROFILE_CHOICE, FIELD(idle), .choices = idles, .initial = "auto",
	 .help = "what a thread does when a poll finds nothing; auto: spin on a CPU of its own, "
		 "else yield"},
	{"engine", "driver", PROFILE_TEXT, FIELD(driver), .is_valid = is_name,
	 .allowed = "the name of a driver, in lower case", .initial = "shm",
	 .help = "how messages and data travel; weir-bench --help lists the drivers"},
	{"engine", "driver_options", PROFILE_TEXT, FIELD(driver_options), .is_valid = is_any,
	 .allowed = "key=value,... or empty", .initial = "", .example = "rnr_retry=7",
	 .help = "options of that driver"},
	{"engine", "poll_budget", PROFILE_NUMBER, FIELD(poll_budget), .min = 1, .max = 4096,
	 .step = 1, .unit = "completions", .initial = "64",
	 .help = "the most that one poll takes before it sends what is queued"},

	{"memory", "pages", PROFILE_CHOICE, FIELD(page_bytes), .choices = pages, .initial = "auto",
	 .help = "the largest page size to use; where there are too few hugepages, ordinary pages "
		 "serve. "
		 "thp: ordinary "
		 "ones, which the kernel may join"},
	{"memory", "send_buffers", PROFILE_NUMBER, FIELD(send_buffers), .min = 16, .max = 1u << 20,
	 .step = 1, .unit = "buffers", .initial = "2048",
	 .help = "messages on their way out, of inline_bytes each, an engine"},
	{"memory", "recv_buffers", PROFILE_NUMBER, FIELD(recv_buffers), .min = 16, .max = 1u << 20,
	 .step = 1, .unit = "buffers", .initial = "2048",
	 .help = "messages coming in, of inline_bytes each, with placement of lead_bytes and "
		 "targets, an "
		 "engine; "
		 "shared by its connections, or each takes its credits, an eighth of these, and 2 "
		 "more; and "
		 "with "
		 "continuation as many as its credits, or transmissions if more, besides"},
	{"memory", "long_buffers", PROFILE_NUMBER, FIELD(long_buffers), .min = 1, .max = 1u << 16,
	 .step = 1, .unit = "buffers", .initial = "64",
	 .help = "calls and replies too long to go inline, at their requester"},
	{"memory", "long_buffer_bytes", PROFILE_BYTES, FIELD(long_buffer_bytes), .min = 4 * KIB,
	 .max = GIB, .step = 64, .initial = "128k", .help = "the longest such call or reply"},
	{"memory", "bulk_buffers", PROFILE_NUMBER, FIELD(bulk_buffers), .min = 1, .max = 1u << 16,
	 .step = 1, .unit = "buffers", .initial = "32",
	 .help = "chunks that a responder pulls, but for short ones while there are send_buffers, "
		 "and long "
		 "results, at a time"},
	{"memory", "bulk_buffer_bytes", PROFILE_BYTES, FIELD(bulk_buffer_bytes), .min = 4 * KIB,
	 .max = GIB, .step = 64, .initial = "1088k",
	 .help = "the longest such chunk or result; inline_bytes at least"},

	{"connection", "protocol", PROFILE_CHOICE, FIELD(protocol), .choices = protocols,
	 .initial = "v1",
	 .help = "the version of RPC-over-RDMA; auto: 2 with peers that speak it, which "
		 "connections begin by "
		 "asking, "
		 "else 1"},
	{"connection", "extension", PROFILE_CHOICE, FIELD(extension), .choices = extensions,
	 .initial = "off", .example = "continuation",
	 .help = "what is used of version 2's extension, with peers that have it, too; "
		 "continuation: long "
		 "calls and replies go in several messages, not by chunks; direction: calls say "
		 "which "
		 "results "
		 "are to be placed, and that short ones are not; placement: data are sent into "
		 "segments of "
		 "the "
		 "receiver's buffers, not by chunks"},
	{"connection", "transmissions", PROFILE_NUMBER, FIELD(transmissions), .min = 2,
	 .max = ENGINE_TRANSMISSIONS_MAX, .step = 1, .unit = "messages", .initial = "8",
	 .help = "the most that a call or a reply is continued over; a requester then has twice as "
		 "many "
		 "receives"},
	{"connection", "lead_bytes", PROFILE_BYTES, FIELD(lead_bytes), .min = 512, .max = 64 * KIB,
	 .step = 512, .initial = "1k",
	 .help = "with placement, of a receive: for the message without its data, in front of the "
		 "targets"},
	{"connection", "targets", PROFILE_NUMBER, FIELD(targets), .min = 1, .max = 64, .step = 1,
	 .unit = "segments", .initial = "2",
	 .help = "of a receive that data are placed in, each item from the start of one on"},
	{"connection", "target_bytes", PROFILE_BYTES, FIELD(target_bytes), .min = 512, .max = MIB,
	 .step = 512, .initial = "4k",
	 .help = "of each; aligned to the power of two that it is a multiple of, 4096 at most"},
	{"connection", "credits", PROFILE_NUMBER, FIELD(credits), .min = 1, .max = 1024, .step = 1,
	 .unit = "calls", .initial = "64",
	 .help = "calls in flight on one connection that this side asks for and grants (RFC 8166 "
		 "3.3.1)"},
	{"connection", "shared_receives", PROFILE_CHOICE, FIELD(shared_receives),
	 .choices = sharings, .initial = "auto", .example = "off",
	 .help = "on: all connections of an engine take their receives from one queue of "
		 "recv_buffers, and "
		 "credits follow use, so that an idle one takes one; off: each has its own for all "
		 "of its "
		 "credits; "
		 "auto: on over shm, where recv_buffers are enough"},
	{"connection", "inline_bytes", PROFILE_BYTES, FIELD(inline_bytes), .min = KIB,
	 .max = 64 * KIB, .step = KIB, .initial = "4k",
	 .help = "the longest message that travels without chunks (RFC 8166 3.3.2); KiB on the "
		 "wire"},
	{"connection", "chunk_bytes", PROFILE_BYTES, FIELD(chunk_bytes), .min = 0, .max = 64 * KIB,
	 .step = 4, .initial = "0", .example = "512",
	 .help = "the longest item of a call's arguments goes by a Read chunk if it has so many "
		 "bytes, even "
		 "where all would fit inline, by version 1; 0: as is faster: over shm from 512 on, "
		 "but with "
		 "policy window; else none, as with 64k"},
	{"connection", "call_timeout_ms", PROFILE_NUMBER, FIELD(call_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "60000",
	 .help = "a call without a reply for so long fails; 0: never"},
	{"connection", "connect_timeout_ms", PROFILE_NUMBER, FIELD(connect_timeout_ms), .min = 1,
	 .max = 3600000, .step = 1, .unit = "ms", .initial = "10000",
	 .help = "a connection that is not open by then fails"},
	{"connection", "reconnect", PROFILE_CHOICE, FIELD(reconnect), .choices = reconnects,
	 .initial = "off",
	 .help = "on: a requester's connection that is lost is remade, and the calls that were in "
		 "flight are "
		 "sent "
		 "again, with the same XID; a responder without a duplicate request cache may "
		 "carry them out "
		 "twice"},
	{"connection", "reconnect_delay_ms", PROFILE_NUMBER, FIELD(reconnect_delay_ms), .min = 1,
	 .max = 3600000, .step = 1, .unit = "ms", .initial = "50",
	 .help = "the pause before the first attempt; each further one doubles it; of each, half "
		 "is by "
		 "chance"},
	{"connection", "reconnect_delay_max_ms", PROFILE_NUMBER, FIELD(reconnect_delay_max_ms),
	 .min = 1, .max = 3600000, .step = 1, .unit = "ms", .initial = "10000",
	 .help = "the longest pause"},
	{"connection", "reconnect_give_up_ms", PROFILE_NUMBER, FIELD(reconnect_give_up_ms),
	 .max = 86400000, .step = 1, .unit = "ms", .initial = "600000",
	 .help = "a connection that nothing was answered on for so long since it was lost ends; 0: "
		 "never"},
	{"connection", "resends", PROFILE_NUMBER, FIELD(resends), .max = 1000, .step = 1,
	 .unit = "times", .initial = "5",
	 .help = "a call that was in flight on more connections that were lost fails (RFC 8166 "
		 "4.5.3)"},

	{"costs", "round_trip_ns", PROFILE_NUMBER, FIELD(round_trip_ns), .max = 1000000000,
	 .step = 1, .unit = "ns", .initial = "3000",
	 .help = "of the network; by these four, long calls of version 2's extension go in several "
		 "messages "
		 "only where "
		 "chunks would cost more; all 0: wherever they can"},
	{"costs", "operation_ns", PROFILE_NUMBER, FIELD(operation_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "600",
	 .help = "of a work request with its completion: a chunk takes three, to expose memory, to "
		 "read or "
		 "write it, and to end that"},
	{"costs", "message_ns", PROFILE_NUMBER, FIELD(message_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "250",
	 .help = "of one message more in a call or a reply, both sides together"},
	{"costs", "copy_ns", PROFILE_NUMBER, FIELD(copy_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "40",
	 .help = "of copying 1024 bytes, which a receiver does with what comes apart"},

	{"limits", "connections", PROFILE_NUMBER, FIELD(connections), .min = 1, .max = 65536,
	 .step = 1, .unit = "connections", .initial = "64",
	 .help = "the most that an engine has at a time; when all are there, a newcomer takes the "
		 "place of "
		 "the one that was idle longest of the peer that has most, if its own peer has two "
		 "fewer at "
		 "least, or, if its own peer has none, of the one of all that was idle longest, 10 "
		 "s at "
		 "least"},
	{"limits", "connections_peer", PROFILE_NUMBER, FIELD(connections_peer), .max = 65536,
	 .step = 1, .unit = "connections", .initial = "0", .example = "16",
	 .help = "the most that one peer opens at a time, which is an address or, over shm, a "
		 "user; 0: no "
		 "fixed limit"},
	{"limits", "waiting_requests", PROFILE_NUMBER, FIELD(waiting_requests), .min = 1,
	 .max = 1u << 20, .step = 1, .unit = "requests", .initial = "4096",
	 .help = "that wait for buffers at a time, of an engine; one more is answered with an "
		 "error"},
	{"limits", "map_bytes_peer", PROFILE_BYTES, FIELD(map_bytes_peer), .min = MIB,
	 .max = 65536 * GIB, .step = 1, .initial = "8192g",
	 .help = "over shm, of a peer's memory that this process maps at a time, for all of its "
		 "connections; "
		 "a connection that needs more ends"},
	{"limits", "mappings_peer", PROFILE_NUMBER, FIELD(mappings_peer), .min = 8, .max = 65536,
	 .step = 1, .unit = "mappings", .initial = "32768",
	 .help = "the same in mappings, of which a connection has 3 or more"},
	{"limits", "pull_bytes_connection", PROFILE_BYTES, FIELD(pull_bytes_connection),
	 .min = 4 * KIB, .max = 1024 * GIB, .step = 1, .initial = "256m",
	 .help = "in Read chunks that are pulled for one connection at a time; more waits, but for "
		 "one call"},
	{"limits", "pull_bytes", PROFILE_BYTES, FIELD(pull_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "1g",
	 .help = "the same for all connections of an engine"},
	{"limits", "first_call_timeout_ms", PROFILE_NUMBER, FIELD(first_call_timeout_ms),
	 .max = 86400000, .step = 1, .unit = "ms", .initial = "300000",
	 .help = "a connection without a call for so long since it was opened is closed by its "
		 "responder; 0: "
		 "never"},
	{"limits", "idle_timeout_ms", PROFILE_NUMBER, FIELD(idle_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "3600000",
	 .help = "a connection that has brought calls and then none for so long is closed by its "
		 "responder; "
		 "a requester "
		 "with reconnect = on remakes it; 0: never"},
	{"limits", "pull_timeout_ms", PROFILE_NUMBER, FIELD(pull_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "120000",
	 .help = "a connection whose call is not pulled by then is closed; 0: never"},
	{"limits", "close_timeout_ms", PROFILE_NUMBER, FIELD(close_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "120000",
	 .help = "an orderly shutdown that takes longer ends at once; 0: never"},
	{"limits", "send_timeout_ms", PROFILE_NUMBER, FIELD(send_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "5000",
	 .help = "a connection on which nothing that was posted completes for so long ends: the "
		 "peer takes "
		 "no "
		 "messages, and buffers wait with them; so does one with a reply that found no "
		 "buffer for so "
		 "long; 0: never"},
	{"limits", "group_timeout_ms", PROFILE_NUMBER, FIELD(group_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "10000",
	 .help = "a message that is continued over several and not complete by then is dropped; 0: "
		 "never"},
	{"limits", "read_segments", PROFILE_NUMBER, FIELD(read_segments), .min = 1, .max = 65535,
	 .step = 1, .unit = "segments", .initial = "256",
	 .help = "in the Read list of one message; more is refused with ERR_CHUNK"},
	{"limits", "read_chunks", PROFILE_NUMBER, FIELD(read_chunks), .min = 1, .max = 64,
	 .step = 1, .unit = "chunks", .initial = "16",
	 .help = "Read chunks, that is positions, in one message"},
	{"limits", "write_chunks", PROFILE_NUMBER, FIELD(write_chunks), .min = 1, .max = 65535,
	 .step = 1, .unit = "chunks", .initial = "16", .help = "in the Write list of one message"},
	{"limits", "segments_per_chunk", PROFILE_NUMBER, FIELD(segments_per_chunk), .min = 1,
	 .max = 65535, .step = 1, .unit = "segments", .initial = "256",
	 .help = "in each Write chunk and in the Reply chunk"},
	{"limits", "read_bytes", PROFILE_BYTES, FIELD(read_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "64m",
	 .help = "sum over the Read list of one message; inline_bytes at least"},
	{"limits", "write_bytes", PROFILE_BYTES, FIELD(write_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "64m",
	 .help = "sum over the Write list and Reply chunk of one message"},
	{"limits", "replay_entries", PROFILE_NUMBER, FIELD(replay_entries), .min = 1,
	 .max = 1u << 20, .step = 1, .unit = "calls", .initial = "4096",
	 .help = "of procedures that are not idempotent: those being carried out, and the latest "
		 "whose "
		 "replies are "
		 "kept, a listener and engine"},
	{"limits", "replay_bytes", PROFILE_BYTES, FIELD(replay_bytes), .min = 4 * KIB, .max = GIB,
	 .step = 8, .initial = "1m",
	 .help = "their replies together; none longer than an eighth of this is kept"},

	{"exposure", "policy", PROFILE_CHOICE, FIELD(exposure), .choices = exposures,
	 .initial = "auto",
	 .help = "what a peer may reach, and when; window: what a call names, until it ends; pool: "
		 "all "
		 "regions that "
		 "are not private, as long as it is connected: for peers that are trusted; auto: "
		 "window "
		 "where that "
		 "keeps peers out, pool over shm"},
	{"exposure", "protection", PROFILE_CHOICE, FIELD(protection), .choices = protections,
	 .initial = "shared",
	 .help = "with policy pool, over which connections a key holds; shared: all of the engine; "
		 "connection: "
		 "the one that it was given away on, as each has a protection domain of its own. "
		 "With policy "
		 "window that is so anyway"},
	{"exposure", "remote_invalidation", PROFILE_CHOICE, FIELD(remote_invalidation),
	 .choices = yes_no, .initial = "yes",
	 .help = "whether responders may end one key of a call with its reply, and do so here (RFC "
		 "8797): "
		 "with policy "
		 "window, devices that can, and peers that say so"},
	{"exposure", "windows", PROFILE_NUMBER, FIELD(windows), .min = 64, .max = 1u << 20,
	 .step = 1, .unit = "windows", .initial = "512",
	 .help = "memory windows of an engine that makes calls, with policy window: a call takes "
		 "one for "
		 "each segment "
		 "that it names, and waits when there are too few"},
};

const uint32_t profile_nkeys = sizeof(profile_keys) / sizeof(profile_keys[0]);

_Static_assert(sizeof(profile_keys) / sizeof(profile_keys[0]) <= PROFILE_KEYS_MAX,
	       "PROFILE_KEYS_MAX");

const struct profile_key *profile_key_find(const char *section, const char *name)
{
	for (uint32_t i = 0; i < profile_nkeys; i++)
		if (strcmp(profile_keys[i].section, section) == 0 &&
		    strcmp(profile_keys[i].name, name) == 0)
			return &profile_keys[i];
	return NULL;
}
