/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PEER_H
#define WEIR_PEER_H

/*
 * The identity of a peer: the process or host at the other end of a connection. The driver
 * determines it. Applications and limits use it.
 *
 * Over shm, the kernel reports the credentials (SO_PEERCRED, SO_PEERGROUPS). These are the
 * credentials that the peer had when it connected or, if this side connected, when the peer began
 * to listen. A network address is only as trustworthy as the network.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

#define WEIR_PEER_ADDRESS_BYTES 128u /**< size of weir_peer.address, with its NUL */
#define WEIR_PEER_GROUPS_MAX	64u  /**< entries of weir_peer.groups */

/** Who a peer is. */
struct weir_peer {
	/**
	 * Size of the structure. The application sets it before weir_conn_peer(); see
	 * weir/common.h. weir sets it before it calls an accept callback.
	 */
	size_t struct_bytes;
	/** Address in the driver's form, such as "192.0.2.1:1023" or "process 4711". */
	char address[WEIR_PEER_ADDRESS_BYTES];
	bool has_credentials; /**< the kernel reported uid, gid and pid, so that they are valid */
	uint32_t uid;	      /**< effective user ID */
	uint32_t gid;	      /**< effective group ID */
	int32_t pid;	      /**< process ID; 0 if it is not visible in this PID namespace */
	/**
	 * True if the peer has, or might have, supplementary groups that 'groups' does not list,
	 * because they are too many, they have no number in this user namespace, or the kernel did
	 * not report them.
	 */
	bool has_more_groups;
	uint32_t ngroups;		       /**< entries of groups in use */
	uint32_t groups[WEIR_PEER_GROUPS_MAX]; /**< supplementary group IDs */
};

WEIR_END_DECLS

#endif
