/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_H
#define MODEL_H

/*
 * A model of a ConnectX device behind the unmodified libibverbs, libmlx5 and librdmacm
 * (README.rst). Each header includes only headers of files above it in this list:
 *
 *   model.c     the lock, the count of violations, and the start
 *   libc.c      the functions of libc that the model replaces, and the originals
 *   sysfs.c     the tree of files that describes the device
 *   link.c      links to other processes
 *   file.c      open files of the model, and queues of events that a program reads from them
 *   attr.c      attributes of an ioctl of uverbs
 *   object.c    handles of objects
 *   memory.c    protection domains, memory regions and memory windows
 *   uar.c       pages of doorbell registers
 *   cq.c        completion queues
 *   srq.c       shared receive queues
 *   qp.c        queue pairs and their states
 *   receive.c   takes a receive for a message
 *   umr.c       binds and invalidates windows
 *   late.c      late effects of work requests, and the order of completions
 *   remote.c    work requests for a queue pair of another process
 *   send.c      executes one work request of a send queue
 *   query.c     attributes of the device and of its port
 *   cm_id.c     identifiers of the connection manager, with their addresses and events
 *   cm_peer.c   connections, and the messages between the two identifiers of one
 *   device.c    runs all send queues, and the thread that does so
 *   uverbs.c    methods of the ioctl
 *   cm.c        commands of rdma_ucm
 *
 * faults.h has the faults that a test has set.
 *
 * The model has only one lock, which guards all of its data.
 */

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

void model_lock(void);
void model_unlock(void);
uint64_t model_now_ns(void);

/* Counts and prints a violation of the device's rules. The caller holds the lock. */
void model_violation(const char *format, ...) printf_like(1, 2);

#endif
