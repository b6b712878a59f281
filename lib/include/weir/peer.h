/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PEER_H
#define WEIR_PEER_H

/*
 * Who the other side of a connection is. Drivers find it out; applications and limits use it.
 *
 * Over shm the kernel vouches for the credentials (SO_PEERCRED, SO_PEERGROUPS): those that the peer
 * had when it connected or, if this side connected, when the peer began to listen. A network
 * address is as trustworthy as the network is.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

#define WEIR_PEER_ADDRESS_BYTES 128u
#define WEIR_PEER_GROUPS_MAX	64u

struct weir_peer {
	/**
	 * Its size. For weir_conn_peer() the application sets it, see weir/common.h; for an accept
	 * callback weir does.
	 */
	size_t struct_bytes;
	char address[WEIR_PEER_ADDRESS_BYTES]; /**< in the driver's form: "192.0.2.1:1023", "process
						  4711" */
	bool has_credentials; /**< uid, gid and pid are valid: the kernel named them */
	uint32_t uid;	      /**< effective user */
	uint32_t gid;	      /**< effective group */
	int32_t pid;	      /**< 0: a process that this one's PID namespace does not show */
	/**
	 * The peer also has supplementary groups that 'groups' does not list, or may have them:
	 * they are too many, they have no number in this user namespace, or the kernel did not say.
	 */
	bool has_more_groups;
	uint32_t ngroups;		       /**< 0 to WEIR_PEER_GROUPS_MAX */
	uint32_t groups[WEIR_PEER_GROUPS_MAX]; /**< supplementary ones */
};

WEIR_END_DECLS

#endif
