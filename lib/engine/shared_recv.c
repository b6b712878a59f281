/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives that the connections of an engine share. shared_recv.h describes them. */
#include "shared_recv.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "compiler.h"
#include "log.h"

#define POST_BURST 32u

/* Posts free buffers by srq_post_recv(), up to POST_BURST of them: those that srq_post_again() did
 * not post. Returns how many buffers the device accepted. */
static out_of_line uint32_t post_anew(const struct engine_srq *srq)
{
	uint32_t n = srq->nfree < POST_BURST ? srq->nfree : POST_BURST;
	struct fabric_recv_wr wrs[POST_BURST];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t wr_id = srq->free[srq->nfree - 1 - i];
		const struct mem_buf *buf = (const struct mem_buf *)(uintptr_t)wr_id;

		wrs[i] = (struct fabric_recv_wr){wr_id, buf->data, buf->size_bytes, buf->lkey};
	}
	return srq->ep.engine->ops->srq_post_recv(srq->fabric, wrs, n);
}

void engine_srq_post(struct engine_srq *srq)
{
	const struct fabric_ops *ops = srq->ep.engine->ops;

	while (srq->nfree > 0) {
		uint32_t n = 0;

		if (ops->srq_post_again)
			n = ops->srq_post_again(srq->fabric, srq->free, srq->nfree);
		if (n == 0)
			n = post_anew(srq);
		if (n == 0)
			/* the device accepts none at present; the next tick or a later call posts
			 * them */
			return;
		srq->nfree -= n;
	}
}

/* Takes back a receive that a message of a connection had taken before the connection ended. */
static void on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	engine_srq_put((struct engine_srq *)ep, (struct mem_buf *)(uintptr_t)wc->wr_id);
}

static void on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event)
{
	(void)ep;
	(void)event;
}

static bool on_tick(struct engine_endpoint *ep, uint64_t now_ns)
{
	(void)ep;
	(void)now_ns;
	return false;
}

static uint64_t next_tick(struct engine_endpoint *ep)
{
	(void)ep;
	return ENGINE_NEVER_NS;
}

static void on_flush(struct engine_endpoint *ep)
{
	engine_srq_post((struct engine_srq *)ep);
}

static void on_reap(struct engine_endpoint *ep)
{
	(void)ep;
}

/* Takes all buffers of recv_pool for the SRQ. Returns 0, or -ENOMEM or -ENOBUFS. */
static int take_buffers(struct engine_srq *srq, struct weir_engine *engine)
{
	srq->free = mem_zalloc(srq->nbufs * sizeof(srq->free[0]));
	srq->bufs = mem_zalloc(srq->nbufs * sizeof(srq->bufs[0]));
	if (!srq->free || !srq->bufs)
		return -ENOMEM;
	for (uint32_t i = 0; i < srq->nbufs; i++) {
		struct mem_buf *buf = mem_pool_get(engine->recv_pool);

		if (!buf)
			return -ENOBUFS;
		LIST_NEXT(buf, held) = NULL;
		buf->held.le_prev = NULL;
		srq->bufs[i] = buf;
		srq->free[srq->nfree++] = (uintptr_t)buf;
	}
	return 0;
}

bool engine_shares(const struct weir_profile *profile, const struct fabric_dev_attr *attr)
{
	if (profile->shared_receives != WEIR_SHARED_RECEIVES_AUTO)
		return profile->shared_receives == WEIR_SHARED_RECEIVES_ON;
	/* With 'shared_receives = auto', RDMA devices, which are those that can revoke access, do
	 * not share receives. No test on an RDMA device has yet proved that all receives that a
	 * queue pair had taken are returned when the queue pair ends. */
	return engine_may_share(profile) && !attr->revokes_access &&
	       attr->max_srq_wr >= profile->recv_buffers;
}

int engine_srq_create(struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;
	struct fabric_srq_attr attr = {.max_wr = profile->recv_buffers};
	struct engine_srq *srq;
	int rc;

	if (engine->dev->attr.max_srq_wr < profile->recv_buffers) {
		LOG(ENGINE, ERROR,
		    "driver %s: a shared receive queue has at most %u receives here, and "
		    "recv_buffers is %u: lower recv_buffers, or set shared_receives = off in the "
		    "profile's "
		    "[connection]",
		    engine->ops->name, engine->dev->attr.max_srq_wr, profile->recv_buffers);
		return -EOPNOTSUPP;
	}
	srq = mem_zalloc(sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	engine->srq = srq;
	srq->ep = (struct engine_endpoint){.on_wc = on_wc,
					   .on_cm = on_cm,
					   .on_tick = on_tick,
					   .next_tick = next_tick,
					   .on_flush = on_flush,
					   .on_reap = on_reap,
					   /* engine_add() is not called, so that this endpoint is
					    * in no list of endpoints */
					   .engine = engine};
	srq->nbufs = profile->recv_buffers;
	srq->slack = engine_srq_slack(srq->nbufs);
	srq->few = srq->slack / 2;
	credit_pool_init(&srq->credits, engine_srq_capacity(srq->nbufs), profile->connections);
	rc = take_buffers(srq, engine);
	if (rc != 0)
		return rc;
	attr.ctx = &srq->ep;
	engine->dev->may_deliver = true;
	rc = engine->ops->srq_create(engine->dev, &attr, &srq->fabric);
	if (rc != 0)
		return rc;
	engine_srq_post(srq);
	return 0;
}

void engine_srq_destroy(struct weir_engine *engine)
{
	struct engine_srq *srq = engine->srq;

	if (!srq)
		return;
	if (srq->ep.is_flushing)
		TAILQ_REMOVE(&engine->to_flush, &srq->ep, flush);
	if (srq->fabric)
		engine->ops->srq_destroy(srq->fabric);
	for (uint32_t i = 0; srq->bufs && i < srq->nbufs && srq->bufs[i]; i++)
		mem_pool_put(srq->bufs[i]);
	mem_free(srq->bufs);
	mem_free(srq->free);
	mem_free(srq);
	engine->srq = NULL;
}
