/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the load of a profile. */
#include "load.h"

#include <stdio.h>
#include <string.h>

#include "verbs_options.h"

enum page_size load_page_size(const struct load *load, const struct facts *facts,
			      const struct needs_pool *pool)
{
	for (uint32_t i = 0; pool->hugepages[i] != 0; i++) {
		enum page_size size =
			pool->hugepages[i] == facts_page_bytes(PAGES_1G) ? PAGES_1G : PAGES_2M;

		/* With 'pages = auto', hugepages of 1 GiB are used if there are some. They are not
		 * missed otherwise, because those of 2 MiB are almost as fast. */
		if (facts->pages[size].exist &&
		    (size == PAGES_2M || load->profile->page_bytes != 0 ||
		     facts->pages[size].total > 0))
			return size;
	}
	return PAGE_SIZES;
}

/* Adds the hugepages of one engine, which runs on a NUMA node or, if 'node' is -1, on any. */
static void add_pages(struct load *load, const struct facts *facts, int node)
{
	for (uint32_t i = 0; i < load->needs.npools; i++) {
		const struct needs_pool *pool = &load->needs.pools[i];
		enum page_size size = load_page_size(load, facts, pool);
		uint64_t bytes, pages;

		if (size == PAGE_SIZES)
			continue;
		bytes = facts_page_bytes(size);
		pages = (pool->bytes + bytes - 1) / bytes;
		load->pages[size] += pages;
		if (node >= 0)
			load->node_pages[node][size] += pages;
	}
}

static void place_engines(struct load *load, uint32_t nengines)
{
	int n = weir_profile_lcores(load->profile->lcores, load->cpus, CPUS_MAX);

	load->is_pinned = n > 0;
	load->is_assumed = n <= 0 && nengines == 0;
	load->nengines = n > 0 ? (uint32_t)n : nengines > 0 ? nengines : 1;
	for (int i = 0; i < n; i++)
		CPU_SET(load->cpus[i], &load->pinned);
	load->spins = load->profile->idle == WEIR_IDLE_SPIN ||
		      (load->profile->idle == WEIR_IDLE_AUTO && load->is_pinned);
}

void load_compute(const struct weir_profile *profile, uint32_t nengines, const struct facts *facts,
		  struct load *load)
{
	struct verbs_options options;

	memset(load, 0, sizeof(*load));
	load->profile = profile;
	place_engines(load, nengines);
	load->is_verbs = strcmp(profile->driver, "verbs") == 0;
	if (load->is_verbs && verbs_options_parse(profile->driver_options, &options) == 0)
		snprintf(load->device, sizeof(load->device), "%s", options.device);
	needs_compute(profile, NULL, &load->needs);
	load->bytes = load->nengines * load->needs.bytes;
	for (uint32_t i = 0; i < load->nengines; i++)
		add_pages(load, facts, load->is_pinned ? facts->cpus[load->cpus[i]].node : -1);
}

const struct device_facts *load_device(const struct load *load, const struct facts *facts)
{
	const struct device_facts *first = NULL;

	for (uint32_t i = 0; i < facts->ndevices; i++) {
		const struct device_facts *device = &facts->devices[i];

		if (load->device[0] ? strcmp(load->device, device->name) == 0 : device->is_active)
			return device;
		if (!first && !load->device[0])
			first = device;
	}
	return first;
}
