/* SPDX-License-Identifier: BSD-3-Clause */
/* Adapts a profile to a requester with one connection. */
#include "session_profile.h"

#include <string.h>

/*
 * Pauses between attempts to connect. Each pause is twice as long as the preceding one, up to
 * RECONNECT_LAST_MS.
 */
#define RECONNECT_FIRST_MS 50u
#define RECONNECT_LAST_MS  5000u

/* Sets the limits that session_profile_size() describes. */
static void limit_retries(struct weir_profile *p, uint32_t retries)
{
	/* a limit of 0 ms would mean no limit */
	uint64_t pause_ms = RECONNECT_FIRST_MS, all_ms = 1;

	for (uint32_t i = 0; i < retries; i++) {
		all_ms += pause_ms;
		pause_ms = pause_ms * 2 < RECONNECT_LAST_MS ? pause_ms * 2 : RECONNECT_LAST_MS;
	}
	p->resends = retries;
	p->reconnect_delay_ms = RECONNECT_FIRST_MS;
	p->reconnect_delay_max_ms = RECONNECT_LAST_MS;
	p->reconnect_give_up_ms = (uint32_t)all_ms;
}

/*
 * Returns the number of receives that one connection needs, in the same way as for the profile's
 * key recv_buffers.
 */
static uint32_t count_receives(const struct weir_profile *p)
{
	uint32_t n = p->credits + p->credits / 8 + 2;

	if (p->protocol == WEIR_PROTOCOL_V1 || !(p->extension & WEIR_EXTENSION_CONTINUATION))
		return n;
	return n + (p->credits > p->transmissions ? p->credits : p->transmissions);
}

void session_profile_size(struct weir_profile *p, bool has_profile, uint32_t depth,
			  uint32_t retries)
{
	if (!has_profile) {
		p->page_bytes = 4096;
		p->send_buffers = 256;
		p->recv_buffers = 256;
		p->long_buffers = 8;
		p->bulk_buffers = 8;
		p->bulk_buffer_bytes = p->long_buffer_bytes;
		p->credits = 16;
	}
	if (p->credits < depth)
		p->credits = depth;
	/*
	 * The buffers must suffice for two connections, because the old connection might still
	 * exist when the next one is established.
	 */
	if (p->recv_buffers < 2 * count_receives(p))
		p->recv_buffers = 2 * count_receives(p);
	if (p->send_buffers < 4 * (p->credits + 4))
		p->send_buffers = 4 * (p->credits + 4);
	if (p->connections < 2)
		p->connections = 2;
	limit_retries(p, retries);
}

bool session_profile_has_ports(const char *driver)
{
	static const char *const names[] = {"shm", "sim", "fault"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(driver, names[i]) == 0)
			return false;
	return true;
}
