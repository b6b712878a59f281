/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERSION_NEEDS_H
#define VERSION_NEEDS_H

/*
 * The needs of the protocol versions that a profile allows: parts of the extension, the length of
 * messages, and buffers for control messages. The engine sizes its pools by these values. Its other
 * files have the pools and values of the extension in any build, but call no code of version 2.
 * Connections have a table of operations per version: conn/protocol.h.
 */

#include <weir/profile.h>

#include <stdbool.h>
#include <stdint.h>

struct version_needs {
	/* mask of the parts of version 2's extension that the versions can use */
	uint32_t extension;
	/* the minimum of engine->msg_bytes in bytes; 0: the profile's inline_bytes are enough */
	uint32_t msg_bytes;
	/* number of buffers per connection for messages that belong to no call */
	uint32_t controls;
};

/* Returns the needs of the versions that the profile allows. If it allows several, these are the
 * largest needs. */
const struct version_needs *version_needs(const struct weir_profile *profile);

/* Returns whether the profile enables this part of version 2's extension, and allows a version that
 * has it. */
static inline bool version_extends(const struct weir_profile *profile, enum weir_extension part)
{
	return (profile->extension & version_needs(profile)->extension & part) != 0;
}

#endif
