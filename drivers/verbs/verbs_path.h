/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_PATH_H
#define VERBS_PATH_H

/* The interface for another driver that has a data path of its own. */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct fabric_ops;
struct verbs_cq;
struct verbs_dev;
struct verbs_qp;
struct verbs_srq;

/*
 * The data path of another driver, which uses all other parts of this driver. It takes over the
 * queues of completion queues, queue pairs and the SRQ, and keeps its own data about an object in
 * the member 'direct' of the object. Each 'open' is called when the object of libibverbs has been
 * created, and returns 0 or -errno. Each 'close' accepts an object whose 'open' was not called or
 * has failed.
 */
struct verbs_path {
	const struct fabric_ops *ops; /* the table of the other driver */
	/* Returns whether the data path can use a device. */
	bool (*supports)(struct ibv_context *context);
	int (*dev_open)(struct verbs_dev *dev);
	void (*dev_close)(struct verbs_dev *dev);
	int (*cq_open)(struct verbs_cq *cq);
	void (*cq_close)(struct verbs_cq *cq);
	/* Has the device report the next completion of a queue. Returns 0, or -EAGAIN if there is a
	 * completion already. */
	int (*cq_arm)(struct verbs_cq *cq);
	int (*srq_open)(struct verbs_srq *srq);
	void (*srq_close)(struct verbs_srq *srq);
	/* Creates the ibv_qp in the domain 'pd'. Returns NULL and sets errno if it fails. */
	struct ibv_qp *(*qp_create)(struct verbs_qp *qp, struct ibv_pd *pd,
				    struct ibv_qp_init_attr *init);
	int (*qp_open)(struct verbs_qp *qp);
	/* Called after the ibv_qp, which had the number 'num', was destroyed. */
	void (*qp_close)(struct verbs_qp *qp, uint32_t num);
};

extern const struct verbs_path mlx5_path;

/* Operations that a driver with another data path shares, as rows of its table. */
#define VERBS_SHARED_OPS                                                                           \
	.is_rdma = true, .options_check = verbs_options_check, .close = verbs_dev_close,           \
	.own_domains = verbs_own_domains, .mr_register = verbs_mr_register,                        \
	.mr_deregister = verbs_mr_deregister, .mw_alloc = verbs_mw_alloc,                          \
	.mw_free = verbs_mw_free, .listen = verbs_listen, .unlisten = verbs_unlisten,              \
	.connect = verbs_connect, .accept = verbs_accept, .can_accept = verbs_can_accept,          \
	.reject = verbs_reject, .cm_poll = verbs_cm_poll, .has_left = verbs_has_left,              \
	.disconnect = verbs_disconnect, .qp_destroy = verbs_qp_destroy, .qp_rkey = verbs_qp_rkey,  \
	.wake_attach = verbs_wake_attach, .arm = verbs_arm, .disarm = verbs_disarm,                \
	.srq_create = verbs_srq_create, .srq_destroy = verbs_srq_destroy

#endif
