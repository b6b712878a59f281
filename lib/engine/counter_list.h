/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of an engine (weir/metrics.h). This list is the only one: the members of struct
 * engine_counters, the table that programs read and a page of the manual are made from it.
 *
 * The file can be included several times. Code that includes it defines one of these macros or
 * both:
 *
 *   COUNTER(group, name, unit, help)  a value that never decreases
 *   GAUGE(group, name, unit, help)    a value at present
 *
 * The names are stable: programs and their users know them. Add a counter at the end of its group.
 * 'group' is the end of a name of enum weir_counter_group. 'unit' says what is counted, in the
 * plural. The help text is one paragraph, and has no quotation marks and no backslashes.
 */
#ifndef COUNTER
#define COUNTER(group, name, unit, help)
#endif
#ifndef GAUGE
#define GAUGE(group, name, unit, help)
#endif

/* Polls. */
COUNTER(POLLS, polls, "polls", "Calls of weir_engine_poll().")
COUNTER(POLLS, idle_polls, "polls", "Polls that found nothing to do.")

/* Messages. */
COUNTER(MESSAGES, calls_sent, "calls", "Calls sent, including retransmissions.")
COUNTER(MESSAGES, calls_completed, "calls", "Calls that ended, with or without error.")
COUNTER(MESSAGES, calls_failed, "calls", "Of calls_completed: calls that ended with an error.")
COUNTER(MESSAGES, calls_timed_out, "calls", "Of calls_failed: calls that timed out.")
COUNTER(MESSAGES, requests_received, "requests", "Requests that arrived.")
COUNTER(MESSAGES, replies_sent, "replies", "Replies sent.")
COUNTER(MESSAGES, long_calls, "calls", "Long Calls, sent or received.")
COUNTER(MESSAGES, long_replies, "replies", "Long Replies, sent or received.")
COUNTER(MESSAGES, read_chunks, "chunks",
	"Read chunks listed in calls sent, or pulled for requests.")
COUNTER(MESSAGES, write_chunks, "chunks",
	"Write chunks listed in calls sent, or filled by replies.")
COUNTER(MESSAGES, errors_sent, "messages", "RDMA_ERROR answers sent.")
COUNTER(MESSAGES, errors_received, "messages", "RDMA_ERROR answers received for calls.")
COUNTER(MESSAGES, dropped, "messages", "Messages discarded as RFC 8166 section 4.5 requires.")
COUNTER(MESSAGES, replies_unmatched, "replies", "Discarded replies whose XID no call waits for.")
COUNTER(MESSAGES, zero_grants, "replies", "Replies that granted 0 credits; treated as 1.")
COUNTER(MESSAGES, calls_queued, "calls", "Calls queued by weir_call_submit(), mostly for a credit.")
COUNTER(MESSAGES, replays, "replies", "Duplicates answered from the duplicate request cache.")
COUNTER(MESSAGES, stuck_calls, "calls", "Calls and requests that took longer than stuck_call_ms.")

/* Buffers, quotas and limits. */
COUNTER(LIMITS, buffer_waits, "times",
	"Times that a request or a message began to wait, for a buffer or until others of its "
	"connection had got theirs.")
COUNTER(LIMITS, quota_refusals, "times",
	"Times that a pool had free buffers, but the connection or its peer had used up its quota, "
	"and connections that were refused because their peer had used up its quota.")
COUNTER(LIMITS, waits_rejected, "requests",
	"Requests that were not allowed to wait for a buffer, because of waiting_requests.")
COUNTER(LIMITS, replays_refused, "calls",
	"Calls not executed because executing calls occupied all of replay_entries.")
COUNTER(LIMITS, replay_cache_overflows, "replies", "Replies too long to keep in replay_bytes.")
COUNTER(LIMITS, send_pool_empty, "allocations", "Failed allocations from send_buffers.")
COUNTER(LIMITS, recv_pool_empty, "allocations", "Failed allocations from recv_buffers.")
COUNTER(LIMITS, long_pool_empty, "allocations", "Failed allocations from long_buffers.")
COUNTER(LIMITS, bulk_pool_empty, "allocations", "Failed allocations from bulk_buffers.")
COUNTER(LIMITS, limits_exceeded, "messages",
	"Messages that exceeded the profile's limits on chunks, segments or bytes.")
COUNTER(LIMITS, pull_waits, "calls",
	"Calls whose Read chunks waited until those of other calls were pulled, because of "
	"pull_bytes or pull_bytes_connection.")
COUNTER(LIMITS, connect_timeouts, "connections", "Connections ended by connect_timeout_ms.")
COUNTER(LIMITS, first_call_timeouts, "connections", "Connections ended by first_call_timeout_ms.")
COUNTER(LIMITS, pull_timeouts, "connections", "Connections ended by pull_timeout_ms.")
COUNTER(LIMITS, close_timeouts, "connections", "Connections ended by close_timeout_ms.")
COUNTER(LIMITS, send_timeouts, "connections", "Connections ended by send_timeout_ms.")
COUNTER(LIMITS, connections_refused, "connections", "Connections refused to peers.")
COUNTER(LIMITS, peer_limit_refused, "connections",
	"Of connections_refused: because of connections_peer.")
COUNTER(LIMITS, connections_evicted, "connections",
	"Connections that ended to make room for those of peers with fewer connections.")
COUNTER(LIMITS, requests_displaced, "connections",
	"Connection requests that were displaced by newer ones before the engine processed them: "
	"too many were waiting at a listener.")
COUNTER(LIMITS, idle_timeouts, "connections", "Connections ended by idle_timeout_ms.")
COUNTER(LIMITS, users_refused, "connections",
	"Shm only: connections refused because the driver's options do not name the peer's user, "
	"or because too many descriptors of that user's earlier connections are not closed yet.")
COUNTER(LIMITS, maps_refused, "connections",
	"Shm only: connections ended because memory of their peer cannot be mapped, or a limit "
	"does not allow it.")
COUNTER(LIMITS, credits_exceeded, "connections",
	"Connections ended because the peer sent more calls than it had credits.")
COUNTER(LIMITS, log_lines_left_out, "lines",
	"Log lines left out. At most five lines per second are about each of: refused connections, "
	"ended connections, refused calls, and stuck calls.")

/* Exposure policy 'window'. */
COUNTER(EXPOSURE, windows_bound, "windows", "Memory windows bound for calls.")
COUNTER(EXPOSURE, keys_ended_local, "keys", "Keys invalidated by this side.")
COUNTER(EXPOSURE, keys_ended_remote, "keys",
	"Keys invalidated by the responder's reply (RFC 8797).")
COUNTER(EXPOSURE, window_waits, "times", "Times that a call waited for free windows.")

/* Connections. */
COUNTER(CONNECTIONS, connections_opened, "connections",
	"Connections opened; each reconnection counts.")
COUNTER(CONNECTIONS, connections_lost, "connections", "Connections lost; each loss counts.")
COUNTER(CONNECTIONS, connections_v2, "connections",
	"Connections opened by this side that use version 2.")
COUNTER(CONNECTIONS, versions_refused, "times",
	"Times that a peer did not support version 2, or did not answer in time.")
COUNTER(CONNECTIONS, properties_refused, "times",
	"Attempts of a peer to change a property that must not change.")

/* Version 2's extension (draft-dnoveck-nfsv4-rpcrdma-rtrext-01). */
COUNTER(EXTENSION, extended_calls, "calls", "Calls sent by Transmit Request.")
COUNTER(EXTENSION, continued_calls, "calls", "Of extended_calls: calls in several transmissions.")
COUNTER(EXTENSION, directed_calls, "calls",
	"Of extended_calls: with items or directions for results.")
COUNTER(EXTENSION, placed_sent, "items", "Items sent into targets of the peer's receives.")
COUNTER(EXTENSION, placed_received, "items", "Items received in targets of this side's receives.")
COUNTER(EXTENSION, continued_replies, "replies", "Replies sent in several transmissions.")
COUNTER(EXTENSION, groups_received, "groups",
	"Calls and replies received in several transmissions.")
COUNTER(EXTENSION, fallbacks_credits, "calls",
	"Calls sent with chunks instead of the extension: too few credits.")
COUNTER(EXTENSION, fallbacks_limits, "calls",
	"Calls sent with chunks instead of the extension: a limit of either side.")
COUNTER(EXTENSION, fallbacks_buffers, "calls",
	"Calls sent with chunks instead of the extension: too few receives or buffers.")
COUNTER(EXTENSION, fallbacks_costs, "calls",
	"Calls sent with chunks instead of the extension: explicit RDMA costs less, by [costs].")
COUNTER(EXTENSION, fallbacks_refused, "calls",
	"Calls sent again with chunks instead of the extension: the peer refused the call.")
COUNTER(EXTENSION, groups_broken, "groups",
	"Groups of transmissions that were dropped: malformed, interrupted or too late.")
COUNTER(EXTENSION, group_timeouts, "groups", "Of groups_broken: incomplete after group_timeout_ms.")
COUNTER(EXTENSION, reports_sent, "messages", "Report Error messages sent.")
COUNTER(EXTENSION, reports_received, "messages", "Report Error messages received.")
COUNTER(EXTENSION, replies_resent, "replies",
	"Replies sent again by the base protocol after the requester reported an error.")

/* Reconnection. */
COUNTER(RECONNECTION, reconnect_attempts, "attempts", "Attempts to re-establish a lost connection.")
COUNTER(RECONNECTION, reconnects, "attempts", "Of reconnect_attempts: successful ones.")
COUNTER(RECONNECTION, reconnects_given_up, "connections",
	"Connections ended by reconnect_give_up_ms.")
COUNTER(RECONNECTION, calls_resent, "calls", "Calls retransmitted; calls_sent includes them.")
COUNTER(RECONNECTION, calls_given_up, "calls", "Calls ended because of the profile's resends.")

/* Work. */
COUNTER(WORK, bulk_copies, "copies",
	"Copies of DDP-eligible data by weir or its driver, in addition to the transfer itself.")
COUNTER(WORK, long_copies, "copies",
	"Long messages copied once before validation because the device cannot revoke access.")
COUNTER(WORK, allocations, "allocations",
	"Allocations by weir and the drivers shm and verbs; not those of other libraries.")
COUNTER(WORK, registrations, "registrations", "Memory registrations with the device.")
COUNTER(WORK, doorbells, "posts", "Posts that notified the peer or the device.")
COUNTER(WORK, sends, "operations", "Sends that the driver carried out.")
COUNTER(WORK, recvs, "operations", "Receives that the driver carried out.")
COUNTER(WORK, writes, "operations", "RDMA Writes that the driver carried out.")
COUNTER(WORK, reads, "operations", "RDMA Reads that the driver carried out.")
COUNTER(WORK, wakes, "messages", "Over shm: messages that woke a peer whose thread slept.")
COUNTER(WORK, rnr, "errors", "Receiver-not-ready events; see the driver.")
COUNTER(WORK, remote_access_errors, "errors", "Remote access errors; see the driver.")
COUNTER(WORK, protocol_errors, "errors", "Protocol errors; see the driver.")

/* The state at present. */
GAUGE(STATE, connections, "connections", "Connections that are opening, open or being reconnected.")
GAUGE(STATE, buffer_waiters, "messages", "Requests and messages that wait for a buffer.")
GAUGE(STATE, replies_pending, "replies", "Replies that are queued or posted, and not sent yet.")
GAUGE(STATE, pulling_bytes, "bytes",
      "Length of the Read chunks that are being pulled for requests.")

#undef COUNTER
#undef GAUGE
