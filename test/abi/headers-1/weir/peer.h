/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PEER_H
#define WEIR_PEER_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

#define WEIR_PEER_ADDRESS_BYTES 128u
#define WEIR_PEER_GROUPS_MAX	64u

struct weir_peer {
	size_t struct_bytes;

	char address[WEIR_PEER_ADDRESS_BYTES];
	bool has_credentials;
	uint32_t uid;
	uint32_t gid;
	int32_t pid;

	bool has_more_groups;
	uint32_t ngroups;
	uint32_t groups[WEIR_PEER_GROUPS_MAX];
};

WEIR_END_DECLS

#endif
