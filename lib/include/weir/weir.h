/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

/*
 * Includes all public headers of weir. A program can include only the headers that it needs
 * instead:
 *
 *  - weir/engine.h      engines: create, poll, register regions
 *  - weir/histogram.h   histograms
 *  - weir/inspect.h     connections, calls and requests at present
 *  - weir/latency.h     the times of calls and requests
 *  - weir/log.h         the log
 *  - weir/metrics.h     the counters of an engine
 *  - weir/profile.h     the configuration of an engine
 *  - weir/memory.h      registered memory
 *  - weir/connection.h  connecting, as a requester; functions on connections, for both sides
 *  - weir/capture.h     captures of messages for Wireshark
 *  - weir/peer.h        the identity of a peer
 *  - weir/call.h        calls: the requester
 *  - weir/request.h     programs, listeners and requests: the responder
 *  - weir/rpc.h         RPC headers
 *  - weir/runtime.h     threads with engines, as a profile says
 *  - weir/xdr.h         encoding and decoding
 *  - weir/codec.h       what the code of weirgen uses
 *  - weir/binding.h     which data of a program are allowed to be placed directly
 *  - weir/binding_nfs.h the bindings of NFS
 *  - weir/version.h     the version of the headers and of the library
 *  - weir/common.h      definitions for all of these headers
 */

#include <weir/binding.h>
#include <weir/binding_nfs.h>
#include <weir/call.h>
#include <weir/capture.h>
#include <weir/codec.h>
#include <weir/common.h>
#include <weir/connection.h>
#include <weir/engine.h>
#include <weir/histogram.h>
#include <weir/inspect.h>
#include <weir/latency.h>
#include <weir/log.h>
#include <weir/memory.h>
#include <weir/metrics.h>
#include <weir/peer.h>
#include <weir/profile.h>
#include <weir/request.h>
#include <weir/rpc.h>
#include <weir/runtime.h>
#include <weir/version.h>
#include <weir/xdr.h>

#endif
