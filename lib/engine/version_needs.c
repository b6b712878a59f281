/* SPDX-License-Identifier: BSD-3-Clause */
/* The needs of the protocol versions. version_needs.h describes them. */
#include "version_needs.h"

#include "engine.h"

/* Version 1 has no extension and no control messages. */
static const struct version_needs version1 = {0};

static const struct version_needs version2 = {
	.extension = WEIR_EXTENSION_ALL,
	.msg_bytes = ENGINE_LONGER_MSG_BYTES,
	.controls = ENGINE_CONTROLS,
};

const struct version_needs *version_needs(const struct weir_profile *profile)
{
	return profile->protocol == WEIR_PROTOCOL_V1 ? &version1 : &version2;
}
