/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what an engine needs of a machine. needs.h describes it. */
#include "needs.h"

#include <unistd.h>

#include "conn.h"
#include "exposure.h"
#include "profile_engines.h"
#include "shared_recv.h"

/* the attributes of an RDMA device that supports all that weir can use */
static const struct fabric_dev_attr largest_device = {
	.max_sge = FABRIC_SGE_MAX,
	.max_send_wr = UINT32_MAX,
	.max_recv_wr = UINT32_MAX,
	.max_srq_wr = UINT32_MAX,
	.max_msg_bytes = UINT32_MAX,
	.has_mw = true,
	.revokes_access = true,
};

static const struct fabric_dev_attr *any_device(const struct weir_profile *profile)
{
	const struct fabric_ops *ops = fabric_driver_find(profile->driver);

	return ops && ops->attr_max ? ops->attr_max : &largest_device;
}

/* Adds a pool. Its length is rounded up to ordinary pages. */
static void add_pool(struct needs *needs, const char *name, const struct mem_pool_options *options)
{
	struct needs_pool *pool = &needs->pools[needs->npools++];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct weir_region_options region;

	mem_pool_region(options, &region);
	pool->name = name;
	pool->bytes = (region.len_bytes + page - 1) & ~(page - 1);
	for (uint32_t i = 0; i < NEEDS_PAGES_MAX; i++)
		pool->hugepages[i] = mem_region_hugepage(&region, i);
	needs->bytes += pool->bytes;
	if (pool->bytes > needs->largest_bytes)
		needs->largest_bytes = pool->bytes;
}

/* Computes the registrations. If each connection is a protection domain, it registers all regions
 * again. */
static void count_registrations(const struct weir_profile *profile, struct needs *needs)
{
	bool has_domains =
		profile->protection == WEIR_PROTECTION_CONNECTION && !needs->uses_windows;
	uint32_t domains = has_domains ? profile->connections : 1;

	needs->registrations = needs->npools * domains;
	needs->registered_bytes = needs->bytes * domains;
}

void needs_compute(const struct weir_profile *profile, const struct fabric_dev_attr *attr,
		   struct needs *needs)
{
	struct mem_pool_options pools[ENGINE_POOLS];

	if (!attr)
		attr = any_device(profile);
	engine_pools_size(profile, attr, pools);
	*needs = (struct needs){
		.shares_receives = engine_shares(profile, attr),
		.send_queue = conn_sq_wanted(profile->credits),
		.send_queue_min = CONN_SQ_MIN,
		.sges = CONN_MSG_SGES,
		.connections = profile->connections,
		.uses_windows = exposure_policy(profile, attr) == WEIR_EXPOSURE_WINDOW,
		.windows = profile->windows,
		.windows_min = ENGINE_WINDOWS_MIN,
	};
	for (uint32_t i = 0; i < ENGINE_POOLS; i++)
		if (pools[i].count > 0)
			add_pool(needs, engine_pool_name((enum engine_pool)i), &pools[i]);
	if (needs->shares_receives)
		needs->shared_queue = profile->recv_buffers;
	else
		needs->recv_queue = engine_recvs(profile->credits) +
				    engine_reply_recvs(profile, profile->credits);
	count_registrations(profile, needs);
}

uint64_t needs_bytes(const struct weir_profile *profile, const uint32_t *cpus, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct weir_profile own = *profile;
		struct needs needs;

		profile_for_cpu(&own, cpus ? (int)cpus[i] : -1);
		needs_compute(&own, NULL, &needs);
		bytes += needs.bytes;
	}
	return bytes;
}
