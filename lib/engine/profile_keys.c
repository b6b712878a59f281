/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a profile's keys. profile_values.c parses and describes the values of the keys. */
#include "profile_keys.h"

#include <ctype.h>
#include <string.h>

#include "engine.h"

#define LCORES_MAX 128u

static const struct profile_choice idles[] = {
	{"auto", WEIR_IDLE_AUTO},
	{"spin", WEIR_IDLE_SPIN},
	{"yield", WEIR_IDLE_YIELD},
	{"adaptive", WEIR_IDLE_ADAPTIVE},
	{"event", WEIR_IDLE_EVENT},
	{"sleep", WEIR_IDLE_ADAPTIVE},
	{NULL, 0},
};

static const struct profile_choice latencies[] = {
	{"off", WEIR_LATENCY_OFF},
	{"calls", WEIR_LATENCY_CALLS},
	{"stages", WEIR_LATENCY_STAGES},
	{NULL, 0},
};

static const struct profile_choice telemetries[] = {
	{"auto", WEIR_TELEMETRY_AUTO},
	{"off", WEIR_TELEMETRY_OFF},
	{"on", WEIR_TELEMETRY_ON},
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
	{"continuation+direction", WEIR_EXTENSION_CONTINUATION | WEIR_EXTENSION_DIRECTION},
	{"continuation+placement", WEIR_EXTENSION_CONTINUATION | WEIR_EXTENSION_PLACEMENT},
	{"direction+placement", WEIR_EXTENSION_DIRECTION | WEIR_EXTENSION_PLACEMENT},
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

/* Returns whether a line of a file can have the text as its value. */
static bool is_value(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]) || text[i] == '#' || text[i] == '\\')
			return false;
	return len == 0 || (text[0] != ' ' && text[len - 1] != ' ');
}

#define FIELD(name)                                                                                \
	.offset = offsetof(struct weir_profile, name),                                             \
	.size = sizeof(((struct weir_profile *)0)->name)

const struct profile_key profile_keys[] = {
	{"engine", "lcores", PROFILE_TEXT, FIELD(lcores), .is_valid = is_lcores,
	 .allowed = "CPUs such as 0,1 or 0-3, each once; any; or empty", .initial = "",
	 .example = "0,1", .is_of_process = true,
	 .memory = "each CPU has an engine with all buffers of section [memory]",
	 .help = "CPUs to which a runtime (weir/runtime.h) pins its threads, each with an engine, "
		 "in this order. any: threads are not pinned. empty: the program chooses"},
	{"engine", "idle", PROFILE_CHOICE, FIELD(idle), .choices = idles, .initial = "auto",
	 .memory = "none",
	 .help = "what a thread does when a poll finds no work. auto: spin on a CPU of its own, "
		 "otherwise yield. spin: poll again. yield: give the CPU to other threads. "
		 "adaptive: spin for 20 us, then pause between polls, and sleep from 200 us on "
		 "until there is work. event: sleep at once. sleep: another name of adaptive"},
	{"engine", "driver", PROFILE_TEXT, FIELD(driver), .is_valid = is_name,
	 .allowed = "the name of a driver, in lower case", .initial = "shm", .is_of_process = true,
	 .memory = "none",
	 .help = "how messages and data are transferred. weir-bench --help lists the drivers"},
	{"engine", "driver_options", PROFILE_TEXT, FIELD(driver_options), .is_valid = is_value,
	 .allowed = "key=value,... or empty", .initial = "", .example = "rnr_retry=7",
	 .memory = "none", .help = "options of the driver"},
	{"engine", "poll_budget", PROFILE_NUMBER, FIELD(poll_budget), .min = 1, .max = 4096,
	 .step = 1, .unit = "completions", .initial = "64", .memory = "none",
	 .help = "maximum number of completions that one poll processes before it sends what is "
		 "queued"},
	{"engine", "stuck_call_ms", PROFILE_NUMBER, FIELD(stuck_call_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "10000", .memory = "none",
	 .help = "a call that has not ended, or a request that was not answered, after this time "
		 "is logged once. 0: never"},
	{"engine", "latency", PROFILE_CHOICE, FIELD(latency), .choices = latencies,
	 .initial = "off", .example = "calls",
	 .memory = "calls and stages: each histogram takes memory from its first use on",
	 .help = "which times are measured. calls: a histogram for each procedure, of calls and of "
		 "requests. stages: also one for each of their stages. Each call then takes a "
		 "slower path"},
	{"engine", "telemetry", PROFILE_CHOICE, FIELD(telemetry), .choices = telemetries,
	 .initial = "auto", .example = "on", .is_of_process = true,
	 .memory = "none; while a command is answered, up to 512 KiB",
	 .help = "whether the commands of rte_telemetry describe the engine. auto: if the "
		 "application has started EAL with telemetry, or another engine has on. on: also "
		 "has weir start EAL with telemetry, if it starts EAL for this engine. off: never"},

	{"memory", "pages", PROFILE_CHOICE, FIELD(page_bytes), .choices = pages, .initial = "auto",
	 .memory = "rounds the size of each pool up to a multiple of the page size",
	 .help = "largest page size to use. If there are too few hugepages, weir uses ordinary "
		 "pages. thp: ordinary pages, which the kernel may join to transparent hugepages"},
	{"memory", "send_buffers", PROFILE_NUMBER, FIELD(send_buffers), .min = 16, .max = 1u << 20,
	 .step = 1, .unit = "buffers", .initial = "2048", .memory = "inline_bytes + 512 bytes each",
	 .help = "buffers per engine for outgoing messages. Each has inline_bytes"},
	{"memory", "recv_buffers", PROFILE_NUMBER, FIELD(recv_buffers), .min = 16, .max = 1u << 20,
	 .step = 1, .unit = "buffers", .initial = "2048",
	 .memory = "inline_bytes each or, with placement, the size of a receive if that is more",
	 .help = "buffers per engine for incoming messages. Each has inline_bytes or, with "
		 "placement, lead_bytes and the targets. Connections share them "
		 "(shared_receives). Otherwise each connection takes credits + credits / 8 + 2. "
		 "With "
		 "continuation it takes the same number again, or transmissions if that is more"},
	{"memory", "long_buffers", PROFILE_NUMBER, FIELD(long_buffers), .min = 1, .max = 1u << 16,
	 .step = 1, .unit = "buffers", .initial = "64", .memory = "long_buffer_bytes each",
	 .help = "buffers per engine for calls and replies that do not fit inline, at their "
		 "requester"},
	{"memory", "long_buffer_bytes", PROFILE_BYTES, FIELD(long_buffer_bytes), .min = 4 * KIB,
	 .max = GIB, .step = 64, .initial = "128k", .memory = "this size for each of long_buffers",
	 .help = "size of a long buffer, at the side that makes calls. A call and 512 bytes must "
		 "fit into one, and so must a reply. A call that may be longer fails with "
		 "EMSGSIZE"},
	{"memory", "bulk_buffers", PROFILE_NUMBER, FIELD(bulk_buffers), .min = 1, .max = 1u << 16,
	 .step = 1, .unit = "buffers", .initial = "32", .memory = "bulk_buffer_bytes each",
	 .help = "buffers per engine for Read chunks that a responder pulls, and for long results. "
		 "Short chunks use send_buffers while these are free"},
	{"memory", "bulk_buffer_bytes", PROFILE_BYTES, FIELD(bulk_buffer_bytes), .min = 4 * KIB,
	 .max = GIB, .step = 64, .initial = "1088k", .memory = "this size for each of bulk_buffers",
	 .help = "size of a bulk buffer: the longest such chunk or result. Over shm, and with the "
		 "exposure policy pool, a requester copies long replies to bulk buffers, too. At "
		 "least inline_bytes"},

	{"connection", "protocol", PROFILE_CHOICE, FIELD(protocol), .choices = protocols,
	 .initial = "v1", .memory = "v2 and auto: 256 bytes for each of connections",
	 .help = "version of RPC-over-RDMA. auto: version 2 if the peer supports it, otherwise "
		 "version 1. Each connection asks the peer first. If the peer does not answer "
		 "within a quarter of connect_timeout_ms, version 1 is used"},
	{"connection", "extension", PROFILE_CHOICE, FIELD(extension), .choices = extensions,
	 .initial = "off", .example = "continuation", .memory = "none",
	 .help = "parts of version 2's extension to use if the peer supports them, too. "
		 "continuation: long calls and replies travel in several messages instead of "
		 "chunks. direction: calls say which results are to be placed, and that short ones "
		 "are not. placement: data travel in segments of the receiver's buffers instead of "
		 "chunks"},
	{"connection", "transmissions", PROFILE_NUMBER, FIELD(transmissions), .min = 2,
	 .max = ENGINE_TRANSMISSIONS_MAX, .step = 1, .unit = "messages", .initial = "8",
	 .memory = "none; with continuation, a requester takes more of recv_buffers",
	 .help = "maximum number of messages per call or reply with continuation. A requester then "
		 "has twice as many receives"},
	{"connection", "lead_bytes", PROFILE_BYTES, FIELD(lead_bytes), .min = 512, .max = 64 * KIB,
	 .step = 512, .initial = "1k", .memory = "with placement, a part of each of recv_buffers",
	 .help = "with placement: bytes of a receive before the targets, for the message without "
		 "its data. Set lead_bytes, targets and target_bytes to the same values on both "
		 "sides"},
	{"connection", "targets", PROFILE_NUMBER, FIELD(targets), .min = 1, .max = 64, .step = 1,
	 .unit = "segments", .initial = "2",
	 .memory = "with placement, target_bytes each in each of recv_buffers",
	 .help = "with placement: number of segments of a receive for data. Each item starts in a "
		 "segment of its own"},
	{"connection", "target_bytes", PROFILE_BYTES, FIELD(target_bytes), .min = 512, .max = MIB,
	 .step = 512, .initial = "4k",
	 .memory = "with placement, this size for each of targets in each of recv_buffers",
	 .help = "with placement: size of a segment. It is aligned to the largest power of two "
		 "that divides its size, up to 4096"},
	{"connection", "credits", PROFILE_NUMBER, FIELD(credits), .min = 1, .max = 1024, .step = 1,
	 .unit = "calls", .initial = "64",
	 .memory = "tables of each open connection; its messages are in recv_buffers",
	 .help = "number of calls in flight on one connection that this side requests and grants "
		 "(RFC 8166 section 3.3.1)"},
	{"connection", "shared_receives", PROFILE_CHOICE, FIELD(shared_receives),
	 .choices = sharings, .initial = "auto", .example = "off",
	 .memory = "none; off: each connection takes its receives from recv_buffers, on: few",
	 .help = "on: all connections of an engine take their receives from one queue of "
		 "recv_buffers, and credits adapt to load, so that an idle connection takes one "
		 "receive. "
		 "off: each connection has receives for all of its credits. auto: on over shm if "
		 "recv_buffers is large enough, otherwise off"},
	{"connection", "inline_bytes", PROFILE_BYTES, FIELD(inline_bytes), .min = KIB,
	 .max = 64 * KIB, .step = KIB, .initial = "4k",
	 .memory = "this size for each of send_buffers and recv_buffers",
	 .help = "inline threshold: the longest message that travels without chunks (RFC 8166 "
		 "section 3.3.2). The smaller value of the two sides counts, so set it on both. "
		 "In version 1, a peer without private data (RFC 8797) counts as 1k"},
	{"connection", "chunk_bytes", PROFILE_BYTES, FIELD(chunk_bytes), .min = 0, .max = 64 * KIB,
	 .step = 4, .initial = "0", .example = "512", .memory = "none",
	 .help = "version 1: the longest argument item becomes a Read chunk from this size on, "
		 "even if the message fits inline. 0: the driver's choice, which is 512 over shm "
		 "with the exposure policy pool, and none otherwise. 64k: none"},
	{"connection", "call_timeout_ms", PROFILE_NUMBER, FIELD(call_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "60000", .memory = "none",
	 .help = "a call without a reply fails after this time. 0: never"},
	{"connection", "connect_timeout_ms", PROFILE_NUMBER, FIELD(connect_timeout_ms), .min = 1,
	 .max = 3600000, .step = 1, .unit = "ms", .initial = "10000", .memory = "none",
	 .help = "a connection that is not established after this time fails"},
	{"connection", "reconnect", PROFILE_CHOICE, FIELD(reconnect), .choices = reconnects,
	 .initial = "off", .memory = "none",
	 .help = "on: a requester re-establishes a lost connection and retransmits the calls that "
		 "were in flight, with their XIDs. A responder without a duplicate request cache "
		 "may execute them twice"},
	{"connection", "reconnect_delay_ms", PROFILE_NUMBER, FIELD(reconnect_delay_ms), .min = 1,
	 .max = 3600000, .step = 1, .unit = "ms", .initial = "50", .memory = "none",
	 .help = "pause before the first attempt to reconnect. It doubles with each attempt. Half "
		 "of each pause is random"},
	{"connection", "reconnect_delay_max_ms", PROFILE_NUMBER, FIELD(reconnect_delay_max_ms),
	 .min = 1, .max = 3600000, .step = 1, .unit = "ms", .initial = "10000", .memory = "none",
	 .help = "longest pause between attempts to reconnect"},
	{"connection", "reconnect_give_up_ms", PROFILE_NUMBER, FIELD(reconnect_give_up_ms),
	 .max = 86400000, .step = 1, .unit = "ms", .initial = "600000", .memory = "none",
	 .help = "a lost connection closes if no attempt succeeds for this time. 0: never"},
	{"connection", "resends", PROFILE_NUMBER, FIELD(resends), .max = 1000, .step = 1,
	 .unit = "times", .initial = "5", .memory = "none",
	 .help = "a call fails if it was in flight on more lost connections than this (RFC 8166 "
		 "section 4.5.3)"},

	{"costs", "round_trip_ns", PROFILE_NUMBER, FIELD(round_trip_ns), .max = 1000000000,
	 .step = 1, .unit = "ns", .initial = "3000", .memory = "none",
	 .help = "network round trip. By the four costs, weir decides whether a long call of "
		 "version 2's extension travels in several messages or by chunks. All 0: in "
		 "several messages wherever that is possible"},
	{"costs", "operation_ns", PROFILE_NUMBER, FIELD(operation_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "600", .memory = "none",
	 .help = "a work request with its completion. A chunk takes three: to expose memory, to "
		 "read or write it, and to end the access"},
	{"costs", "message_ns", PROFILE_NUMBER, FIELD(message_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "250", .memory = "none",
	 .help = "one more message of a call or a reply, on both sides together"},
	{"costs", "copy_ns", PROFILE_NUMBER, FIELD(copy_ns), .max = 1000000000, .step = 1,
	 .unit = "ns", .initial = "40", .memory = "none",
	 .help = "copying 1024 bytes, which a receiver does with data that arrive in several "
		 "messages"},

	{"limits", "connections", PROFILE_NUMBER, FIELD(connections), .min = 1, .max = 65536,
	 .step = 1, .unit = "connections", .initial = "64",
	 .memory = "about 20 KiB for each open connection over shm, on both sides together",
	 .help = "maximum number of connections per engine. If all are in use, a new connection "
		 "replaces the longest idle one of the peer with the most connections, provided "
		 "that its own peer has at least two fewer. If its own peer has none, it replaces "
		 "the longest idle connection of all, after at least 10 s without a call"},
	{"limits", "connections_peer", PROFILE_NUMBER, FIELD(connections_peer), .max = 65536,
	 .step = 1, .unit = "connections", .initial = "0", .example = "16", .memory = "none",
	 .help = "maximum number of connections that one peer opens: an address or, over shm, a "
		 "user. 0: no fixed limit"},
	{"limits", "waiting_requests", PROFILE_NUMBER, FIELD(waiting_requests), .min = 1,
	 .max = 1u << 20, .step = 1, .unit = "requests", .initial = "4096", .memory = "none",
	 .help = "maximum number of requests per engine that wait for buffers. weir answers "
		 "further requests with an error"},
	{"limits", "map_bytes_peer", PROFILE_BYTES, FIELD(map_bytes_peer), .min = MIB,
	 .max = 65536 * GIB, .step = 1, .initial = "8192g",
	 .memory = "none; mapped memory is memory of the peer",
	 .help = "shm only: maximum number of bytes of one peer's memory that this process maps, "
		 "for all of its connections. A connection that needs more closes"},
	{"limits", "mappings_peer", PROFILE_NUMBER, FIELD(mappings_peer), .min = 8, .max = 65536,
	 .step = 1, .unit = "mappings", .initial = "32768",
	 .memory = "none; mapped memory is memory of the peer",
	 .help = "shm only: maximum number of mappings of one peer's memory. A connection has 3 or "
		 "more"},
	{"limits", "pull_bytes_connection", PROFILE_BYTES, FIELD(pull_bytes_connection),
	 .min = 4 * KIB, .max = 1024 * GIB, .step = 1, .initial = "256m",
	 .memory = "none; pulled data are in bulk_buffers or in memory of the program",
	 .help = "maximum number of bytes in Read chunks that are pulled for one connection at a "
		 "time. Further calls wait. One call may always be pulled"},
	{"limits", "pull_bytes", PROFILE_BYTES, FIELD(pull_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "1g",
	 .memory = "none; pulled data are in bulk_buffers or in memory of the program",
	 .help = "maximum number of bytes in Read chunks that are pulled for all connections of an "
		 "engine at a time"},
	{"limits", "first_call_timeout_ms", PROFILE_NUMBER, FIELD(first_call_timeout_ms),
	 .max = 86400000, .step = 1, .unit = "ms", .initial = "300000", .memory = "none",
	 .help = "a responder closes a connection if no call arrives for this time after it "
		 "opened. 0: never"},
	{"limits", "idle_timeout_ms", PROFILE_NUMBER, FIELD(idle_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "3600000", .memory = "none",
	 .help = "a responder closes a connection if no further call arrives for this time. A "
		 "requester with reconnect = on re-establishes it. 0: never"},
	{"limits", "pull_timeout_ms", PROFILE_NUMBER, FIELD(pull_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "120000", .memory = "none",
	 .help = "a responder closes a connection if it has not pulled all Read chunks of a call "
		 "within this time. The time begins when it starts to process the call, and "
		 "includes waits for bulk_buffers and for pull_bytes. 0: never"},
	{"limits", "close_timeout_ms", PROFILE_NUMBER, FIELD(close_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "120000", .memory = "none",
	 .help = "an orderly shutdown that takes longer than this closes the connection at once. "
		 "0: never"},
	{"limits", "send_timeout_ms", PROFILE_NUMBER, FIELD(send_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "5000", .memory = "none",
	 .help = "a connection closes if no posted message completes for this time, because the "
		 "peer takes no messages while they hold buffers. It also closes if a reply finds "
		 "no buffer for this time. 0: never"},
	{"limits", "group_timeout_ms", PROFILE_NUMBER, FIELD(group_timeout_ms), .max = 86400000,
	 .step = 1, .unit = "ms", .initial = "10000", .memory = "none",
	 .help = "a message in several transmissions that is incomplete after this time is "
		 "dropped. The connection stays open. 0: never"},
	{"limits", "read_segments", PROFILE_NUMBER, FIELD(read_segments), .min = 1, .max = 65535,
	 .step = 1, .unit = "segments", .initial = "256", .memory = "none",
	 .help = "maximum number of segments in the Read list of one message. weir answers more "
		 "with ERR_CHUNK"},
	{"limits", "read_chunks", PROFILE_NUMBER, FIELD(read_chunks), .min = 1, .max = 64,
	 .step = 1, .unit = "chunks", .initial = "16", .memory = "none",
	 .help = "maximum number of Read chunks, that is, of positions, in one message"},
	{"limits", "write_chunks", PROFILE_NUMBER, FIELD(write_chunks), .min = 1, .max = 65535,
	 .step = 1, .unit = "chunks", .initial = "16", .memory = "none",
	 .help = "maximum number of chunks in the Write list of one message"},
	{"limits", "segments_per_chunk", PROFILE_NUMBER, FIELD(segments_per_chunk), .min = 1,
	 .max = 65535, .step = 1, .unit = "segments", .initial = "256", .memory = "none",
	 .help = "maximum number of segments in a Write chunk and in the Reply chunk"},
	{"limits", "read_bytes", PROFILE_BYTES, FIELD(read_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "64m", .memory = "none",
	 .help = "maximum total length of the Read list of one message. At least inline_bytes"},
	{"limits", "write_bytes", PROFILE_BYTES, FIELD(write_bytes), .min = 4 * KIB,
	 .max = 1024 * GIB, .step = 1, .initial = "64m", .memory = "none",
	 .help = "maximum total length of the Write list and the Reply chunk of one message"},
	{"limits", "replay_entries", PROFILE_NUMBER, FIELD(replay_entries), .min = 1,
	 .max = 1u << 20, .step = 1, .unit = "calls", .initial = "4096",
	 .memory = "about 200 bytes each, per listener and engine",
	 .help = "duplicate request cache, per listener and engine: maximum number of executing "
		 "calls and kept replies of procedures that are not idempotent"},
	{"limits", "replay_bytes", PROFILE_BYTES, FIELD(replay_bytes), .min = 4 * KIB, .max = GIB,
	 .step = 8, .initial = "1m", .memory = "this size, per listener and engine",
	 .help = "duplicate request cache: total size of the kept replies. A reply longer than one "
		 "eighth of it is not kept"},

	{"exposure", "policy", PROFILE_CHOICE, FIELD(exposure), .choices = exposures,
	 .initial = "auto", .memory = "none",
	 .help = "which memory peers can access, and when. window: what a call names, until the "
		 "call ends. pool: all regions that are not private, at any time, so only for "
		 "trusted peers. auto: pool over shm, otherwise window"},
	{"exposure", "protection", PROFILE_CHOICE, FIELD(protection), .choices = protections,
	 .initial = "shared",
	 .memory = "connection: each connection registers all regions, which takes memory of the "
		   "device",
	 .help = "with policy pool: the connections on which a key is valid. shared: all "
		 "connections of the engine. connection: the connection to which it was given, "
		 "because each connection has a protection domain. With policy window a key is "
		 "always valid on one connection only"},
	{"exposure", "remote_invalidation", PROFILE_CHOICE, FIELD(remote_invalidation),
	 .choices = yes_no, .initial = "yes", .memory = "none",
	 .help = "whether a responder may invalidate a key of a call with its reply (RFC 8797). It "
		 "takes effect with policy window, if the device and the peer support it"},
	{"exposure", "windows", PROFILE_NUMBER, FIELD(windows), .min = 64, .max = 1u << 20,
	 .step = 1, .unit = "windows", .initial = "512",
	 .memory = "a few bytes each, and a memory window of the device",
	 .help = "memory windows per engine that makes calls, with policy window. A call needs one "
		 "per segment that it names, and waits if too few are free"},
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
