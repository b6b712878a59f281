/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVER_H
#define DRIVER_H

/*
 * The contract between a driver and the engine. It describes the task of each operation of a
 * driver.
 *
 * Threads. The engine calls every operation on a device, and on the objects of that device, on the
 * thread that owns the engine. Exceptions are stated at the operation. No operation blocks, sleeps
 * or waits for the peer. In steady state the operations of the data path (post_send, post_recv,
 * poll) allocate no memory and make no system call.
 *
 * Lifecycle.
 *
 *   open -> mr_register -> listen or connect -> (events)
 *        -> qp_destroy, unlisten, mr_deregister -> close
 *
 * The engine calls close when no object of the device exists. Every destroy and close operation
 * accepts NULL.
 *
 * Connecting.
 *
 * - connect does not wait for the peer. It provides a queue pair, to which receives may be posted
 *   at once.
 * - Exactly one event reports the outcome: ESTABLISHED, REJECTED or FAILED.
 * - A driver may return a failure from connect or accept instead, without an event, if the failure
 *   is known at once. For example, connect fails if nobody listens at the address, and accept fails
 *   if the requesting process has ended.
 * - A REQUEST event passes a conn_req to the engine. The engine ends the conn_req with exactly one
 *   accept or reject, on any device of the same driver in this process.
 * - Receives may be posted between accept and the ESTABLISHED event that follows it.
 * - Sends may be posted after ESTABLISHED. Before that event, post_send accepts no work request.
 *
 * Order. A driver keeps the order of a reliable connection:
 *
 * - The work requests of a queue pair start in the order in which they were posted.
 * - Sends arrive in that order.
 * - If a WRITE was posted before a Send, its data is visible to the peer's CPU before the Send
 *   completes at the peer.
 * - A WRITE has no order with respect to other WRITEs or to READs.
 * - A work request that was posted after a READ does not wait for the READ, unless it has FENCE.
 * - The completions of a send queue are in the order of the posts. A completion means that all
 *   earlier work requests are done, with or without SIGNALED.
 *
 * Queue space. Each posted work request occupies one entry of its queue. The entry is free again
 * when the completion of this work request, or of a later one in the queue, was polled. A post
 * operation accepts the first work requests of the array, as many as fit in the queue, and returns
 * how many these are.
 *
 * Errors.
 *
 * - A failed work request completes with its status. The queue pair is then in the error state: all
 *   other posted work requests complete as FLUSHED, and the peer is disconnected.
 * - A mistake of the peer ends only the connection on which it was made. Such mistakes are an
 *   unknown key, an access outside of the bounds or rights, a message longer than the receive, and
 *   invalid data in any memory that the peer can write.
 * - After DISCONNECTED or disconnect(), every posted work request completes as FLUSHED.
 * - qp_destroy discards the completions that were not polled.
 * - A driver may complete a Send when it was transmitted, before the peer accepted it. If the peer
 *   then has no receive for the Send, or one that is too short, the sender gets DISCONNECTED
 *   instead of a failed completion.
 * - A side whose own work request failed does not always get DISCONNECTED.
 *
 * Receives. A message that finds no posted receive waits. If no receive is posted in time, the
 * sender's work request fails with RNR. The driver option 'rnr_retry' sets the time. 0: the work
 * request fails at once. 1 to 6: the number of further tries. 7: the number of tries is not
 * limited.
 *
 * Shared receives. A device has at most one shared receive queue (SRQ). It is created before, and
 * destroyed after, the queue pairs that use it.
 *
 * - A queue pair with an 'srq' has no receives of its own: its post_recv accepts none.
 * - Each message takes a receive from the SRQ. The driver chooses which one. The completion has the
 *   ctx of the queue pair on which the message arrived.
 * - The end of a queue pair flushes no receive that is posted to the SRQ.
 * - If a message had taken a receive on a queue pair, and the queue pair is destroyed before the
 *   completion was polled, the receive completes as FLUSHED with the ctx of the SRQ.
 * - Each receive occupies an entry of the SRQ until its completion is polled.
 *
 * Delivery. If may_deliver of the device is set, the ctx of each queue pair with shared receives is
 * a struct fabric_receiver. Inside poll, the driver may then call the receiver's function to
 * deliver a message, instead of returning a completion.
 *
 * - The message must be complete in its receive, and all earlier completions of that queue pair
 *   must have been returned.
 * - Most messages are processed before the function returns. The receive of such a message never
 *   leaves the queue. This saves the work of posting the receive again.
 * - The function may call any operation of the device except poll, cm_poll and close. It may call
 *   qp_destroy only for a queue pair that the function itself created.
 * - A delivered message increments 'ndelivered' of the device. It also counts as one of the at most
 *   'max' completions that poll may return.
 *
 * Memory. sge.lkey must be the key of a registration that covers the buffer, except with INLINE. If
 * the driver itself chooses the keys, it must choose keys that a peer cannot guess.
 *
 * Memory windows. All windows are of type 2.
 *
 * - A window is bound over a part of a registration that has FABRIC_BIND. If the peer may write,
 *   the registration also needs FABRIC_LOCAL_WRITE.
 * - Only the peer of the queue pair that binds the window can use the window.
 * - Each bind creates a new key. The key is known when the post of the bind returns. It is valid
 *   from the execution of the bind until a LOCAL_INV of this side, a SEND_INV of the peer, mw_free,
 *   or the end of the queue pair.
 * - A bind of a window that is already bound fails with LOCAL_PROT.
 * - If a LOCAL_INV and the peer's SEND_INV name the same key, the one that is executed later might
 *   fail.
 * - A byte in a window has the same raddr as in its registration.
 * - A registration with FABRIC_BIND and without remote rights has the rkey 0.
 * - The completion of a LOCAL_INV means that the peer does not access the memory of the window any
 *   more. If it is possible that the peer still uses the key, the work request must have
 *   FABRIC_IN_USE.
 *
 * Fork. Memory that a device shares with peers or with a child is mapped with MADV_DONTFORK. Each
 * descriptor has FD_CLOEXEC. In a child, abandon is the only operation that is called.
 *
 * Protection domains. By default, a device is one protection domain: its keys are valid on all of
 * its connections. After own_domains(), each queue pair is a protection domain:
 *
 * - An lkey is still valid for all queue pairs of the device.
 * - The rkey of a registration is not a key, but an identifier. For each queue pair with 'exposes',
 *   qp_rkey() returns the key that belongs to this identifier. The other queue pairs expose
 *   nothing.
 * - Such a key is valid on this one connection, until the connection or the registration ends.
 * - The device has neither memory windows nor an SRQ, because each of these belongs to a single
 *   domain. Their operations return -EOPNOTSUPP.
 *
 * Sleeping. A thread that finds no work can sleep until there is some: see waker.h.
 *
 * - wake_attach is called at most once, before the first arm. The driver keeps the pointer to the
 *   waker until close, and may add descriptors to waker->epoll_fd, edge-triggered.
 * - The engine sets waker->is_armed, makes a full barrier, and calls arm. arm makes the device
 *   report work by the waker, and then checks whether there is work that poll or cm_poll would
 *   find. If there is, it returns -EAGAIN, and the engine calls disarm and polls.
 * - While the device is armed, the driver makes a descriptor of the waker readable when a
 *   completion, a message or an event arrives. It may do so once per arm, and without a cause.
 * - Work that a peer announces by nothing, such as room in a ring, is found by polls. arm reduces
 *   *timeout_ns to the time after which the engine has to poll for such work.
 * - Between arm and disarm, the engine calls no other operation of the device.
 * - While a device is not armed, neither the device nor its peers make a system call to wake it.
 *
 * Files. Every driver uses the same file names for the same parts:
 *
 *   dev.c     options, open, close, fork       end.c   goodbye, disconnect, qp_destroy
 *   domain.c  protection domains               post.c  posts to the send queue
 *   memory.c  registrations and windows        srq.c   receives, shared or of one queue pair
 *   listen.c  listen, unlisten                 poll.c  completions and deliveries
 *   cm.c      connect, accept, reject, events  qp.c    creating and freeing queue pairs
 *   wake.c    sleeping
 *
 * send.c and rdma.c have the direct operations. All other files of a driver contain functions for
 * these files.
 */

#include "fabric.h"
#include "waker.h"

struct fabric_dev_config {
	/* "key=value,..." of this driver (rte_kvargs); NULL and "" are allowed */
	const char *options;
	uint32_t max_connections;
	/* connection requests of peers that can wait for accept or reject, in addition to
	 * max_connections */
	uint32_t max_requests;
	uint32_t max_regions;
	int numa_node; /* node of the engine's core; -1: unknown */
	/* Limits for the memory of one peer that a driver maps into this process: the number of
	 * bytes, and the number of mappings. 0: the driver's own limit. */
	uint64_t map_bytes_peer;
	uint32_t mappings_peer;
};

struct fabric_ops {
	const char *name;
	/* a list of the driver's options, as one line for the output of --help */
	const char *summary;

	/* The driver uses RDMA devices, with which memory is registered, and its addresses are
	 * those of a network. */
	bool is_rdma;
	/*
	 * The attributes of a device, each with the highest value that any device of the driver
	 * reports. NULL: these values are known only for an open device.
	 */
	const struct fabric_dev_attr *attr_max;
	/* Checks whether a device could have these options. Returns 0 or -EINVAL. Any thread. */
	int (*options_check)(const char *options);
	/* Opens a device. Returns 0 and sets *dev, whose 'attr' is filled in. Its 'ops' are the
	 * operations of the device, which can be those of another driver. Returns -errno if it
	 * fails. */
	int (*open)(const struct fabric_dev_config *config, struct fabric_dev **dev);
	/*
	 * Ends everything of the device that abandon() would close in a child, except parts whose
	 * end peers do not notice. close() is the only operation that is called after stop(). If
	 * the process forks before stop() returns, abandon() is called in the child. If it forks
	 * later, abandon() is not called. NULL: the driver has nothing to stop.
	 */
	void (*stop)(struct fabric_dev *dev);
	void (*close)(struct fabric_dev *dev);
	/* The engine calls abandon() in a child, inside fork(), at most once, instead of close().
	 * abandon() closes the child's descriptors of the device and touches nothing else of the
	 * device, because the memory, the threads and the connections to peers belong to the
	 * parent. Other threads of the parent might have been changing data when the process
	 * forked, and their locks stay locked in the child. NULL: a child shares nothing with its
	 * parent. */
	void (*abandon)(struct fabric_dev *dev);

	/* Makes each queue pair a protection domain, as "Protection domains" above describes. It is
	 * called before the first registration and the first queue pair. Returns 0 or -errno. */
	int (*own_domains)(struct fabric_dev *dev);

	/* Registers memory and fills in *mr. 'fd' is the memfd from which the memory is mapped, at
	 * fd_offset, which is a multiple of the page size. 'fd' is -1 if there is no memfd. If the
	 * driver must then share the memory with another process, it refuses remote access and
	 * windows with -EOPNOTSUPP. Returns 0 or -errno. */
	int (*mr_register)(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
			   uint64_t fd_offset, struct fabric_mr *mr);
	void (*mr_deregister)(struct fabric_dev *dev, struct fabric_mr *mr);
	int (*mw_alloc)(struct fabric_dev *dev, struct fabric_mw *mw);
	void (*mw_free)(struct fabric_dev *dev, struct fabric_mw *mw);

	int (*listen)(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
		      struct fabric_listener **listener);
	void (*unlisten)(struct fabric_listener *listener);
	int (*connect)(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
		       const void *private_data, uint32_t private_len, struct fabric_qp **qp);
	int (*accept)(struct fabric_dev *dev, struct fabric_conn_req *req,
		      const struct fabric_qp_attr *attr, const void *private_data,
		      uint32_t private_len, struct fabric_qp **qp);
	int (*reject)(struct fabric_dev *dev, struct fabric_conn_req *req, const void *private_data,
		      uint32_t private_len);
	/* Returns up to 'max' events in the array, and their number. If there are no events, the
	 * call is cheap and makes no system call. */
	uint32_t (*cm_poll)(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);
	/* Announces an orderly end to the peer, before disconnect(). The peer's DISCONNECTED event
	 * then has the error -ESHUTDOWN. Idempotent. NULL: the driver's DISCONNECTED event does not
	 * distinguish an orderly end. */
	void (*goodbye)(struct fabric_qp *qp);
	/* Returns whether the peer is known to have ended the connection in order. The engine calls
	 * this when work requests were FLUSHED and the DISCONNECTED event has not arrived yet.
	 * NULL: the DISCONNECTED event always arrives before the FLUSHED completions. */
	bool (*has_left)(const struct fabric_qp *qp);
	/* Ends the connection from this side. Idempotent. No DISCONNECTED event follows. */
	void (*disconnect)(struct fabric_qp *qp);
	/* Returns, after disconnect(), whether the RDMA Writes of the peer that were in progress
	 * have ended. Until then, memory that the peer could name by this queue pair must not be
	 * used for anything else. The result becomes true soon, whatever the peer does. NULL: these
	 * Writes have ended when disconnect() returns. */
	bool (*writes_have_ended)(struct fabric_qp *qp);
	void (*qp_destroy)(struct fabric_qp *qp);
	/* With a protection domain per queue pair: returns the key that the peer of 'qp' must use
	 * for the registration that is identified by 'rkey'. Returns 0 if the peer has no key for
	 * this registration. */
	uint32_t (*qp_rkey)(const struct fabric_qp *qp, uint32_t rkey);

	uint32_t (*post_recv)(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
	uint32_t (*post_send)(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
	uint32_t (*poll)(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

	/* Sleeping. All three pointers are NULL if the driver cannot wake a thread. */
	/* Adds the descriptors of the device to the waker. Returns 0 or -errno. */
	int (*wake_attach)(struct fabric_dev *dev, struct fabric_waker *waker);
	/* Returns 0, or -EAGAIN if there is work. Reduces *timeout_ns if necessary. */
	int (*arm)(struct fabric_dev *dev, uint64_t *timeout_ns);
	/* Ends arm. It is called after each arm, also if arm returned -EAGAIN. */
	void (*disarm)(struct fabric_dev *dev);

	/* Shared receives, for devices with max_srq_wr > 0. */
	int (*srq_create)(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
			  struct fabric_srq **srq);
	/* Destroys the SRQ, and discards the receives that are posted to it. Accepts NULL. */
	void (*srq_destroy)(struct fabric_srq *srq);
	uint32_t (*srq_post_recv)(struct fabric_srq *srq, const struct fabric_recv_wr *wrs,
				  uint32_t n);
	/* Posts receives again. 'wr_ids' names them. The last receive of the array is posted first.
	 * Each of these receives was posted by srq_post_recv() before, and its registration has
	 * existed ever since. The driver posts the receives at the end of the array that it still
	 * holds in this order, and returns how many these are. The caller posts the others by
	 * srq_post_recv(). NULL: the driver gains nothing by this operation. */
	uint32_t (*srq_post_again)(struct fabric_srq *srq, const uint64_t *wr_ids, uint32_t n);

	/* Direct operations. Each one carries out a Send, Write or Read at once and completely, in
	 * order with the posted work requests. It creates no completion and occupies no entry of
	 * the send queue. The result is
	 *
	 * - true if the operation was carried out. The caller may use the local memory again.
	 * - false if the operation is not possible at the moment, or has an error. Nothing has
	 *   happened. The caller posts a work request instead, which then reports the error if
	 *   there is one.
	 *
	 * All three pointers are NULL if the driver gains nothing by direct operations. */
	bool (*send_direct)(struct fabric_qp *qp, const void *data,
			    uint32_t len); /* as with INLINE: no key is needed */
	bool (*write_direct)(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			     uint64_t raddr);
	bool (*read_direct)(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			    uint64_t raddr);

	/* Returns whether accept() can succeed on this device for a request that arrived at a
	 * listener of another device, which can be of other hardware. The thread that owns the
	 * request calls it, while it has not been accepted or rejected. NULL: all requests can be
	 * accepted on each device of the driver. */
	bool (*can_accept)(const struct fabric_dev *dev, const struct fabric_conn_req *req);
};

/* fabric_driver_find() returns the driver with this name, of the drivers that are in this build.
 * Returns NULL if no driver has the name. */
const struct fabric_ops *fabric_driver_find(const char *name);
/* driver number 'index'; NULL after the last driver */
const struct fabric_ops *fabric_driver_at(uint32_t index);

#endif
