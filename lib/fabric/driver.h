/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DRIVER_H
#define DRIVER_H

/*
 * The contract of a driver.
 *
 * Threads: every op on a device, and on what belongs to it, is called on the thread of the engine
 * that owns the device, except where it says otherwise. No op blocks, sleeps or waits for the peer;
 * ops of the data path (post_send, post_recv, poll) allocate nothing and make no system call in
 * steady state.
 *
 * Lifecycle: open -> mr_register -> listen or connect -> (events) -> qp_destroy, unlisten,
 * mr_deregister
 * -> close. close is called when nothing of the device is left. destroy and close accept NULL.
 *
 * Connecting: connect returns at once with a queue pair to which receives may be posted; the
 * outcome is one event: ESTABLISHED, REJECTED or FAILED. A REQUEST event hands over a conn_req,
 * which ends with exactly one accept or reject, on any device of the same driver in this process.
 * Receives may be posted between accept and the ESTABLISHED event that follows it; sends only after
 * ESTABLISHED (a post takes none before). What is seen to fail at once (nobody listens; the one to
 * accept is gone) may be returned instead, without an event.
 *
 * Order, as on a reliable connection: work requests of a queue pair start in the order posted.
 * Sends arrive in order. WRITEs that were posted before a Send are visible to the peer's CPU before
 * that Send completes there. A WRITE has no order with respect to other WRITEs or to READs. What is
 * posted after a READ does not wait for it unless FENCEd. Completions of one queue pair's send
 * queue come in the order posted, and a completion says that all earlier ones, signalled or not,
 * are done.
 *
 * Counting: each posted work request takes a place in its queue until a completion at or after it
 * is polled. A post that does not fit is refused: posts return how many were taken (a prefix).
 *
 * Errors: a failed work request completes with its status; the queue pair is then in error, all
 * that is posted on it completes FLUSHED, and the peer is disconnected. A peer's mistake (unknown
 * key, bounds, rights; message longer than the receive; garbage in anything that the peer can
 * write) ends that one connection and nothing else. After DISCONNECTED, or after disconnect(),
 * everything posted completes FLUSHED; qp_destroy drops what has not been polled.
 *
 * A driver may complete a Send when it is on its way rather than taken: that it met no receive, or
 * one too short, then shows at the sender as DISCONNECTED. A side whose own request failed may or
 * may not get DISCONNECTED.
 *
 * Receives: a message that finds none posted waits; if none is posted in time (driver option
 * 'rnr_retry': 0 fails at once, 1 to 6 that many tries, 7 for ever) the sender's request fails with
 * RNR.
 *
 * Shared receives: a queue pair that is made with an 'srq' has no receives of its own (post_recv
 * takes none): each message takes one of the shared queue, whichever the driver likes, and
 * completes it with the ctx of the queue pair that it came on. A device has one such queue at most,
 * made before and destroyed after the queue pairs that use it. The end of a queue pair flushes none
 * of what waits there. A receive that a queue pair had taken, and whose completion was not polled
 * when it was destroyed, completes FLUSHED with the shared queue's ctx. Each takes a place until
 * its completion is polled.
 *
 * Delivery: if the device's may_deliver was set, ctx of queue pairs with shared receives is a
 * struct fabric_receiver. From within poll, a driver may then deliver a message by the receiver's
 * function instead of a completion. The message has to be in its receive, and all completions of
 * that queue pair that came before it have to be handed over. Most messages are done with before
 * the function returns: their receive never leaves the queue, which is what this saves. The
 * function may call any op of the device except poll, cm_poll and close, and qp_destroy only for a
 * queue pair that it has made itself. A delivered message counts in 'ndelivered', and as one of the
 * completions that poll may give.
 *
 * Memory: sge.lkey must be of a registration that covers the buffer, except with INLINE. Keys can't
 * be guessed where the driver makes them up.
 *
 * Windows: of type 2. A window is bound over part of a registration that has FABRIC_BIND (for a
 * peer that writes: FABRIC_LOCAL_WRITE, too), by the queue pair whose peer is to use it, and for
 * nobody else's. Its key, a new one with each bind, is known as soon as the bind is posted, and
 * holds from when it is carried out until LOCAL_INV, the peer's SEND_INV, mw_free, or the end of
 * the queue pair. A window that is bound can't be bound again (LOCAL_PROT). Which of LOCAL_INV and
 * the peer's SEND_INV of one key comes second may fail. Bytes in a window have the names (raddr)
 * that they have in their registration. A registration with FABRIC_BIND and without remote rights
 * has rkey 0. The completion of a LOCAL_INV says that the peer does not touch that memory any more;
 * where it may be about to, the request has to have FABRIC_IN_USE.
 *
 * Fork: memory that a device shares with peers or with a child is mapped with MADV_DONTFORK, and
 * each descriptor is closed by exec. No op but abandon is called in a child.
 *
 * Domains: a device is one protection domain, whose keys hold on all of its connections, unless
 * own_domains() was called. Then each queue pair is a domain. lkeys hold on all of them all the
 * same. The rkey of a registration is no key any more but stands for one of each queue pair:
 * qp_rkey(), for those made with 'exposes'; the others expose nothing. Such a key holds over that
 * one connection, until it or the registration ends. A device with such domains has neither windows
 * nor shared receives, which are of one domain by their nature (-EOPNOTSUPP).
 *
 * Files: each part of a driver is in a file of the same name in each driver.
 *
 *   dev.c     options, open, close, fork       end.c   goodbye, disconnect, qp_destroy
 *   domain.c  protection domains               post.c  what is posted to the send queue
 *   memory.c  registrations and windows        srq.c   receives, shared or a queue pair's own
 *   listen.c  listen, unlisten                 poll.c  completions and deliveries
 *   cm.c      connect, accept, reject, events  qp.c    making and freeing queue pairs
 *
 * send.c and rdma.c have the short cuts. A driver's other files serve these.
 */

#include "fabric.h"

struct fabric_dev_config {
	const char *options; /* "key=value,..." of this driver (rte_kvargs); may be NULL or "" */
	uint32_t max_connections;
	uint32_t max_requests; /* of peers for connections, besides: those that wait for accept or
				  reject */
	uint32_t max_regions;
	int numa_node; /* of the engine's core; -1: unknown */
	/* Of memory of one peer's that a driver maps into this process; 0: the driver's own limit
	 */
	uint64_t map_bytes_peer;
	uint32_t mappings_peer;
};

struct fabric_ops {
	const char *name;
	const char *summary; /* one line for --help, with the driver's options */

	/* The most that any device of the driver has; NULL: only a device says. */
	const struct fabric_dev_attr *attr_max;
	/* Whether 'options' could be those of a device: 0 or -EINVAL. Any thread. */
	int (*options_check)(const char *options);
	/* 0 and *dev with attr filled in, or -errno. */
	int (*open)(const struct fabric_dev_config *config, struct fabric_dev **dev);
	/*
	 * Before close(), which is the only op after it: end all that abandon() would close in a
	 * child, except what peers do not notice. A child that is forked during this call abandons
	 * the device; one that is forked later does not. NULL: there is no such thing.
	 */
	void (*stop)(struct fabric_dev *dev);
	void (*close)(struct fabric_dev *dev);
	/* In a child, inside fork(), in place of close(): close the descriptors that the device
	 * has, and touch nothing else of it, as memory, threads and the peers' view of it are the
	 * parent's. Other threads of the parent may have been in the midst of a change, and their
	 * locks stay locked. Once at most. NULL: a child shares nothing with its parent. */
	void (*abandon)(struct fabric_dev *dev);

	/* From now on each queue pair is a protection domain: see above. Before the first
	 * registration and queue pair. 0 or -errno. */
	int (*own_domains)(struct fabric_dev *dev);

	/* Register memory. 'fd' is the memfd that backs it (at fd_offset, a page boundary), or -1:
	 * a driver that must share memory with another process refuses remote access and windows
	 * (-EOPNOTSUPP) for memory without one. */
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
	/* Up to 'max' events; cheap when there are none (no system call). */
	uint32_t (*cm_poll)(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max);
	/* Before disconnect(): this side leaves in order, so that the peer's DISCONNECTED has the
	 * error -ESHUTDOWN. Idempotent. NULL: the driver's DISCONNECTED does not tell. */
	void (*goodbye)(struct fabric_qp *qp);
	/* Whether the peer is known to have left in order: asked when work requests were FLUSHED
	 * and its DISCONNECTED is still to come. NULL: the event comes first. */
	bool (*has_left)(const struct fabric_qp *qp);
	/* End the connection from this side. Idempotent. No DISCONNECTED event follows. */
	void (*disconnect)(struct fabric_qp *qp);
	/* After disconnect(): whether the peer has done with what it was just writing. Until then,
	 * memory that it could name by this queue pair may not be used for anything else. It will
	 * be true soon, whatever the peer does. NULL: disconnect() itself sees to it. */
	bool (*is_quiet)(struct fabric_qp *qp);
	void (*qp_destroy)(struct fabric_qp *qp);
	/* With domains of their own: what the peer of 'qp' is to be told, for the rkey of a
	 * registration. 0: it has none. */
	uint32_t (*qp_rkey)(const struct fabric_qp *qp, uint32_t rkey);

	uint32_t (*post_recv)(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n);
	uint32_t (*post_send)(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n);
	uint32_t (*poll)(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max);

	/* Shared receives, for devices whose max_srq_wr is not 0. */
	int (*srq_create)(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
			  struct fabric_srq **srq);
	/* What is posted there is dropped. NULL is allowed. */
	void (*srq_destroy)(struct fabric_srq *srq);
	uint32_t (*srq_post_recv)(struct fabric_srq *srq, const struct fabric_recv_wr *wrs,
				  uint32_t n);
	/* NULL where a driver gains nothing by it: post receives of these wr_ids, from the last to
	 * the first, as srq_post_recv() had them before, with registrations that have lasted since.
	 * How many were posted: those that the driver still has in this order; the caller posts the
	 * others anew. */
	uint32_t (*srq_post_again)(struct fabric_srq *srq, const uint64_t *wr_ids, uint32_t n);

	/* Short cuts, all of them NULL where a driver gains nothing by them: carry out at once, in
	 * full, what would be posted, in its order with what was; without a completion and without
	 * a place in the queue. The local memory is the caller's again on return. False: it can't
	 * be done so now, and nothing happened; the caller posts it, and an error, if that is why,
	 * shows there. */
	bool (*send_direct)(struct fabric_qp *qp, const void *data,
			    uint32_t len); /* as INLINE: no key needed */
	bool (*write_direct)(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			     uint64_t raddr);
	bool (*read_direct)(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			    uint64_t raddr);
};

/* Registry: the drivers built in, by name. NULL when there is none of that name. */
const struct fabric_ops *fabric_driver_find(const char *name);
const struct fabric_ops *fabric_driver_at(uint32_t index); /* NULL past the last */

#endif
