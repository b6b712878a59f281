/* SPDX-License-Identifier: BSD-3-Clause */
/* Adapts the numbers and sizes of the profile's buffers to a load. */
#include <string.h>

#include "options.h"

#define PROFILE_BUFFERS_MAX 65536u /* maximum of the profile's long_buffers and bulk_buffers */

#define PROFILE_WINDOWS_MAX (1u << 20)
#define SHARED_RECEIVES_MAX 32768u /* the smallest maximum of all known devices */
#define RECEIVES_KEPT	    48u
/* Maximum size of a pool, unless more buffers are needed. */
#define LARGE_BYTES (256u << 20)

/*
 * Returns true if calls or replies of this load can need a long message: they do not fit inline,
 * and are not only placed by a Write chunk.
 */
static bool may_be_long(const struct bench_options *o)
{
	if (o->workload == WORKLOAD_NULL)
		return (uint64_t)o->size_bytes + 256 >
		       o->profile.inline_bytes; /* 256 bytes are for headers */
	return o->workload != WORKLOAD_READ;
}

/*
 * Raises the number of receives. Either each connection has its own receives, or all connections
 * share a receive queue. A shared queue needs one receive per connection, twice the number of calls
 * in flight, twice the credits for which one connection can ask, and the receives that such a queue
 * reserves.
 */
static void size_receives(struct weir_profile *p, uint32_t own, uint64_t in_flight)
{
	uint64_t shared = (p->connections + 2 * in_flight + 2 * p->credits + RECEIVES_KEPT) * 9 / 8;
	bool may_share = strcmp(p->driver, "shm") == 0 &&
			 p->protection != WEIR_PROTECTION_CONNECTION && shared < own &&
			 shared <= SHARED_RECEIVES_MAX;
	uint64_t needed = own;

	if (p->shared_receives == WEIR_SHARED_RECEIVES_ON ||
	    (p->shared_receives == WEIR_SHARED_RECEIVES_AUTO && may_share))
		needed = shared;
	if (p->recv_buffers < needed)
		p->recv_buffers = (uint32_t)needed;
}

/*
 * Returns the number of receives that a requester reserves on each connection for continued
 * replies, if each connection has its own receives.
 */
static uint32_t reply_receives(const struct weir_profile *p)
{
	if (p->protocol == WEIR_PROTOCOL_V1 || !(p->extension & WEIR_EXTENSION_CONTINUATION))
		return 0;
	return p->credits > p->transmissions ? p->credits : p->transmissions;
}

/*
 * Returns 'n', or 'needed' if 'n' buffers would be larger than LARGE_BYTES and no profile sets the
 * number. All buffers are touched before the first call, so too many would delay the start.
 */
static uint32_t not_too_many(const struct bench_options *o, uint32_t n, uint64_t bytes,
			     uint64_t needed)
{
	return !o->has_profile && n > needed && n * bytes > LARGE_BYTES ? (uint32_t)needed : n;
}

/*
 * Raises the numbers and sizes of buffers to those that this load needs, if the profile's are
 * lower.
 */
void bench_size_buffers(struct bench_options *o)
{
	struct weir_profile *p = &o->profile;
	uint64_t message = (uint64_t)bench_largest_bytes(o) + p->inline_bytes + 4096;
	uint64_t in_flight = bench_load_slots(o, bench_active(o));
	uint64_t buffers;
	uint32_t per_connection;

	if (p->credits < o->depth)
		p->credits = o->depth;
	if (p->connections < o->connections + 1)
		p->connections = o->connections + 1;
	per_connection =
		/* computed in the same way as for the profile's key recv_buffers */
		p->credits + p->credits / 8 + 2;
	size_receives(p, (per_connection + reply_receives(p)) * o->connections, in_flight);
	if (p->send_buffers < 2 * per_connection * bench_active(o))
		p->send_buffers = 2 * per_connection * bench_active(o);
	if (p->long_buffer_bytes < message)
		p->long_buffer_bytes = (message + 63) / 64 * 64;
	if (p->bulk_buffer_bytes < message)
		p->bulk_buffer_bytes = (message + 63) / 64 * 64;
	/*
	 * A call that uses chunks holds up to two buffers of each kind. A call whose callback
	 * starts the next one holds one more. At the responder, replies whose Sends are not
	 * complete hold one more.
	 */
	buffers = 2 * in_flight + (in_flight < BENCH_DEPTH_MAX ? in_flight : BENCH_DEPTH_MAX);
	if (may_be_long(o) && buffers <= PROFILE_BUFFERS_MAX) {
		if (p->long_buffers < buffers)
			p->long_buffers = (uint32_t)buffers;
		if (p->bulk_buffers < buffers) {
			p->bulk_buffers = (uint32_t)buffers;
			p->bulk_buffer_bytes = (message + 63) / 64 * 64;
		}
	}
	p->long_buffers = not_too_many(o, p->long_buffers, p->long_buffer_bytes, buffers);
	p->bulk_buffers = not_too_many(o, p->bulk_buffers, p->bulk_buffer_bytes, buffers);
	/* A call has up to three segments: for the message, for its item, and for the reply. */
	if (p->windows < 3 * in_flight)
		p->windows = 3 * in_flight < PROFILE_WINDOWS_MAX ? (uint32_t)(3 * in_flight)
								 : PROFILE_WINDOWS_MAX;
	if (p->read_bytes < message)
		p->read_bytes = message;
	if (p->write_bytes < message)
		p->write_bytes = message;
}
