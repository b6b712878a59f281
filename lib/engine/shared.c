/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "log.h"

#define POST_BURST 32u

/* Those that the device does not know, or not as the next ones. How many it took. */
static __attribute__((noinline)) uint32_t post_anew(const struct engine_shared *shared)
{
	uint32_t n = shared->nfree < POST_BURST ? shared->nfree : POST_BURST;
	struct fabric_recv_wr wrs[POST_BURST];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t wr_id = shared->free[shared->nfree - 1 - i];
		const struct mem_buf *buf = (const struct mem_buf *)(uintptr_t)wr_id;

		wrs[i] = (struct fabric_recv_wr){wr_id, buf->data, buf->size_bytes, buf->lkey};
	}
	return shared->ep.engine->ops->srq_post_recv(shared->srq, wrs, n);
}

void engine_shared_post(struct engine_shared *shared)
{
	const struct fabric_ops *ops = shared->ep.engine->ops;

	while (shared->nfree > 0) {
		uint32_t n = 0;

		if (ops->srq_post_again)
			n = ops->srq_post_again(shared->srq, shared->free, shared->nfree);
		if (n == 0)
			n = post_anew(shared);
		if (n == 0)
			return; /* the device takes none now: with the next flush */
		shared->nfree -= n;
	}
}

/* One that a connection had taken. */
static void on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	engine_shared_put((struct engine_shared *)ep, (struct mem_buf *)(uintptr_t)wc->wr_id);
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

static void on_flush(struct engine_endpoint *ep)
{
	engine_shared_post((struct engine_shared *)ep);
}

static void on_reap(struct engine_endpoint *ep)
{
	(void)ep;
}

static int take_buffers(struct engine_shared *shared, struct weir_engine *engine)
{
	shared->free = mem_zalloc(shared->nbufs * sizeof(shared->free[0]));
	shared->bufs = mem_zalloc(shared->nbufs * sizeof(shared->bufs[0]));
	if (!shared->free || !shared->bufs)
		return -ENOMEM;
	for (uint32_t i = 0; i < shared->nbufs; i++) {
		struct mem_buf *buf = mem_pool_get(engine->recv_pool);

		if (!buf)
			return -ENOBUFS;
		buf->owner = NULL;
		shared->bufs[i] = buf;
		shared->free[shared->nfree++] = (uintptr_t)buf;
	}
	return 0;
}

bool engine_shared_is_wanted(const struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;

	if (profile->shared_receives != WEIR_SHARED_RECEIVES_AUTO)
		return profile->shared_receives == WEIR_SHARED_RECEIVES_ON;
	/* Not with RDMA devices, which are those that can take memory back: that all receives which a queue pair had taken come back
	 * when it ends was not yet seen on one. */
	return engine_may_share(profile) && !engine->dev->attr.revokes_access &&
	       engine->dev->attr.max_srq_wr >= profile->recv_buffers;
}

int engine_shared_create(struct weir_engine *engine)
{
	const struct weir_profile *profile = &engine->profile;
	struct fabric_srq_attr attr = {.max_wr = profile->recv_buffers};
	struct engine_shared *shared;
	int rc;

	if (engine->dev->attr.max_srq_wr < profile->recv_buffers) {
		LOG(ERR,
		    "driver %s: a shared receive queue has at most %u places here, and recv_buffers is %u: "
		    "lower "
		    "it, or "
		    "set shared_receives = off in the profile's [connection]",
		    engine->ops->name, engine->dev->attr.max_srq_wr, profile->recv_buffers);
		return -EOPNOTSUPP;
	}
	shared = mem_zalloc(sizeof(*shared));
	if (!shared)
		return -ENOMEM;
	engine->shared = shared;
	shared->ep = (struct engine_endpoint){.on_wc = on_wc,
					      .on_cm = on_cm,
					      .on_tick = on_tick,
					      .on_flush = on_flush,
					      .on_reap = on_reap,
					      .engine = engine}; /* on no list, and asked by none */
	shared->nbufs = profile->recv_buffers;
	shared->slack = engine_shared_slack(shared->nbufs);
	shared->few = shared->slack / 2;
	credit_pool_init(&shared->credits, engine_shared_capacity(shared->nbufs), profile->connections);
	rc = take_buffers(shared, engine);
	if (rc != 0)
		return rc;
	attr.ctx = &shared->ep;
	engine->dev->may_deliver = true;
	rc = engine->ops->srq_create(engine->dev, &attr, &shared->srq);
	if (rc != 0)
		return rc;
	engine_shared_post(shared);
	return 0;
}

void engine_shared_destroy(struct weir_engine *engine)
{
	struct engine_shared *shared = engine->shared;

	if (!shared)
		return;
	if (shared->ep.is_flushing)
		TAILQ_REMOVE(&engine->to_flush, &shared->ep, flush);
	if (shared->srq)
		engine->ops->srq_destroy(shared->srq);
	for (uint32_t i = 0; shared->bufs && i < shared->nbufs && shared->bufs[i]; i++)
		mem_pool_put(shared->bufs[i]);
	mem_free(shared->bufs);
	mem_free(shared->free);
	mem_free(shared);
	engine->shared = NULL;
}
