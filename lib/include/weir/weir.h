/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

/*
 * All of weir's public interface. A program may include the headers that it needs instead:
 *
 *  - weir/engine.h      engines: create, poll, statistics
 *  - weir/profile.h     what an engine is configured by
 *  - weir/memory.h      registered memory
 *  - weir/connection.h  connections of a requester, and what both sides do with connections
 *  - weir/peer.h        who a peer is
 *  - weir/call.h        calls: the requester
 *  - weir/request.h     programs, listeners and requests: the responder
 *  - weir/rpc.h         RPC headers
 *  - weir/xdr.h         encoding and decoding
 *  - weir/binding.h     which data of a program may be placed directly
 *  - weir/binding_nfs.h the bindings of NFS
 *  - weir/common.h      what all of them use
 */

#include <weir/binding.h>
#include <weir/binding_nfs.h>
#include <weir/call.h>
#include <weir/common.h>
#include <weir/connection.h>
#include <weir/engine.h>
#include <weir/memory.h>
#include <weir/peer.h>
#include <weir/profile.h>
#include <weir/request.h>
#include <weir/rpc.h>
#include <weir/xdr.h>

#endif
