/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/binding.h>
#include <weir/binding_nfs.h>
#include <weir/call.h>
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
