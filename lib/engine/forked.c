/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the engines of a child after fork(2) harmless. forked.h describes this. */
#include "forked.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "compiler.h"
#include "log.h"

/* The engines of this process by their slot. In a child, a destroyed engine stays in this array, so
 * that its connections remain reachable. */
static _Atomic(struct weir_engine *) engines[MEM_SLOTS_MAX];

/* The operations of an engine's driver in a child. Operations that create something fail with
 * -ECHILD, and the others do nothing. */
static int dead_mr_register(struct fabric_dev *dev, void *addr, size_t len, uint32_t access, int fd,
			    uint64_t fd_offset, struct fabric_mr *mr)
{
	(void)dev, (void)addr, (void)len, (void)access, (void)fd, (void)fd_offset, (void)mr;
	return -ECHILD;
}

static void dead_mr_deregister(struct fabric_dev *dev, struct fabric_mr *mr)
{
	(void)dev, (void)mr;
}

static int dead_mw_alloc(struct fabric_dev *dev, struct fabric_mw *mw)
{
	(void)dev, (void)mw;
	return -ECHILD;
}

static void dead_mw_free(struct fabric_dev *dev, struct fabric_mw *mw)
{
	(void)dev, (void)mw;
}

static int dead_listen(struct fabric_dev *dev, const char *addr, uint32_t backlog, void *ctx,
		       struct fabric_listener **listener)
{
	(void)dev, (void)addr, (void)backlog, (void)ctx, (void)listener;
	return -ECHILD;
}

static void dead_unlisten(struct fabric_listener *listener)
{
	(void)listener;
}

static int dead_connect(struct fabric_dev *dev, const char *addr, const struct fabric_qp_attr *attr,
			const void *private_data, uint32_t private_len, struct fabric_qp **qp)
{
	(void)dev, (void)addr, (void)attr, (void)private_data, (void)private_len, (void)qp;
	return -ECHILD;
}

static int dead_accept(struct fabric_dev *dev, struct fabric_conn_req *req,
		       const struct fabric_qp_attr *attr, const void *private_data,
		       uint32_t private_len, struct fabric_qp **qp)
{
	(void)dev, (void)req, (void)attr, (void)private_data, (void)private_len, (void)qp;
	return -ECHILD;
}

static int dead_reject(struct fabric_dev *dev, struct fabric_conn_req *req,
		       const void *private_data, uint32_t private_len)
{
	(void)dev, (void)req, (void)private_data, (void)private_len;
	return -ECHILD;
}

static uint32_t dead_cm_poll(struct fabric_dev *dev, struct fabric_cm_event *events, uint32_t max)
{
	(void)dev, (void)events, (void)max;
	return 0;
}

static void dead_qp(struct fabric_qp *qp)
{
	(void)qp;
}

static bool dead_has_left(const struct fabric_qp *qp)
{
	(void)qp;
	return false;
}

static uint32_t dead_qp_rkey(const struct fabric_qp *qp, uint32_t rkey)
{
	(void)qp, (void)rkey;
	return 0;
}

/* The post operations accept all work requests, none of which ever completes. */
static uint32_t dead_post_recv(struct fabric_qp *qp, const struct fabric_recv_wr *wrs, uint32_t n)
{
	(void)qp, (void)wrs;
	return n;
}

static uint32_t dead_post_send(struct fabric_qp *qp, const struct fabric_wr *wrs, uint32_t n)
{
	(void)qp, (void)wrs;
	return n;
}

static uint32_t dead_poll(struct fabric_dev *dev, struct fabric_wc *wcs, uint32_t max)
{
	(void)dev, (void)wcs, (void)max;
	return 0;
}

static int dead_srq_create(struct fabric_dev *dev, const struct fabric_srq_attr *attr,
			   struct fabric_srq **srq)
{
	(void)dev, (void)attr, (void)srq;
	return -ECHILD;
}

static void dead_srq_destroy(struct fabric_srq *srq)
{
	(void)srq;
}

static uint32_t dead_srq_post_recv(struct fabric_srq *srq, const struct fabric_recv_wr *wrs,
				   uint32_t n)
{
	(void)srq, (void)wrs;
	return n;
}

static uint32_t dead_srq_post_again(struct fabric_srq *srq, const uint64_t *wr_ids, uint32_t n)
{
	(void)srq, (void)wr_ids;
	return n;
}

static bool dead_send_direct(struct fabric_qp *qp, const void *data, uint32_t len)
{
	(void)qp, (void)data, (void)len;
	return false;
}

static bool dead_rdma_now(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			  uint64_t raddr)
{
	(void)qp, (void)local, (void)rkey, (void)raddr;
	return false;
}

/*
 * The operations of an engine's driver in a child. Every operation that an engine with an open
 * device can call is set, because the driver of the device could be any.
 */
static const struct fabric_ops dead_ops = {
	.name = "none, after fork",
	.mr_register = dead_mr_register,
	.mr_deregister = dead_mr_deregister,
	.mw_alloc = dead_mw_alloc,
	.mw_free = dead_mw_free,
	.listen = dead_listen,
	.unlisten = dead_unlisten,
	.connect = dead_connect,
	.accept = dead_accept,
	.reject = dead_reject,
	.cm_poll = dead_cm_poll,
	.goodbye = dead_qp,
	.has_left = dead_has_left,
	.disconnect = dead_qp,
	.qp_destroy = dead_qp,
	.qp_rkey = dead_qp_rkey,
	.post_recv = dead_post_recv,
	.post_send = dead_post_send,
	.poll = dead_poll,
	.srq_create = dead_srq_create,
	.srq_destroy = dead_srq_destroy,
	.srq_post_recv = dead_srq_post_recv,
	.srq_post_again = dead_srq_post_again,
	.send_direct = dead_send_direct,
	.write_direct = dead_rdma_now,
	.read_direct = dead_rdma_now,
};

/* Makes all engines of the process harmless. It runs in the child, inside fork(). */
static void in_child(void)
{
	for (uint32_t i = 0; i < MEM_SLOTS_MAX; i++) {
		struct weir_engine *engine = atomic_load(&engines[i]);

		if (!engine)
			continue;
		engine->driver = dead_ops;
		/* If the child kept a copy of the parent's socket, the parent's peers would not
		 * notice the end of the parent. */
		if (engine->dev && engine->dev->ops->abandon)
			engine->dev->ops->abandon(engine->dev);
		fabric_waker_close(&engine->waker);
		engine->is_forked = true;
		/* No message is as short as 0 bytes. Therefore calls and results get their buffers
		 * on the slow path, which checks is_forked. */
		engine->small_bytes = 0;
		engine->msg_bytes = 0;
		TAILQ_INIT(&engine->to_flush);
		TAILQ_INIT(&engine->to_reap);
		TAILQ_INIT(&engine->late);
	}
}

static int watch_result;

static void watch(void)
{
	watch_result = -pthread_atfork(NULL, NULL, in_child);
}

int engine_fork_watch(struct weir_engine *engine)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch);
	if (watch_result == 0)
		atomic_store(&engines[engine->slot], engine);
	return watch_result;
}

void engine_fork_forget(struct weir_engine *engine)
{
	atomic_store(&engines[engine->slot], NULL);
}

cold_code int engine_fork_refuse(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&done))
		LOG(ENGINE, ERROR,
		    "this process is a child of the one that made the engine (fork), and "
		    "can't use it: make engines in the process that uses them, after the "
		    "fork, or call exec in the child");
	errno = ECHILD;
	return -ECHILD;
}
