/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SESSION_PROFILE_H
#define SESSION_PROFILE_H

/* Adapts a profile to a requester with one connection. */

#include <stdbool.h>

#include <weir/profile.h>

/*
 * Sets the numbers of buffers in the profile, so that 'depth' calls can be in flight. If no profile
 * file was given, the numbers are small, so that the requester starts at once. 'retries' is the
 * maximum number of retransmissions of a call. Attempts to connect continue for as long as that
 * many pauses take together.
 */
void session_profile_size(struct weir_profile *profile, bool has_profile, uint32_t depth,
			  uint32_t retries);

/*
 * Returns true if the driver's addresses are hosts with ports, and false if they are names.
 */
bool session_profile_has_ports(const char *driver);

#endif
