/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERSION_NEEDS_H
#define VERSION_NEEDS_H

/*
 * The needs of the protocol versions that a profile allows: parts of the extension, the length of
 * messages, and buffers for control messages. The engine sizes its pools by these values, so no
 * other file of it asks for the version. Connections have a table of operations for that:
 * conn/protocol.h.
 */

#include <weir/profile.h>

#include <stdbool.h>
#include <stdint.h>

struct version_needs {
	uint32_t extension; /* the parts of the extension that the versions can use: a mask */
	uint32_t msg_bytes; /* the minimum length of messages; 0: the profile's inline_bytes */
	uint32_t controls;  /* buffers for control messages per connection */
};

/* Returns the needs of all versions that the profile allows. */
const struct version_needs *version_needs(const struct weir_profile *profile);

/* Returns whether the profile uses a part of the extension. */
static inline bool version_extends(const struct weir_profile *profile, enum weir_extension part)
{
	return (profile->extension & version_needs(profile)->extension & part) != 0;
}

#endif
