/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the load of a profile. */
#include "load.h"

#include <stdio.h>
#include <string.h>

#include "profile_engines.h"
#include "program_options.h"
#include "verbs_options.h"

enum page_size load_page_size(const struct load_part *part, const struct facts *facts,
			      const struct needs_pool *pool)
{
	for (uint32_t i = 0; pool->hugepages[i] != 0; i++) {
		enum page_size size =
			pool->hugepages[i] == facts_page_bytes(PAGES_1G) ? PAGES_1G : PAGES_2M;

		/* With 'pages = auto', hugepages of 1 GiB are used if there are some. They are not
		 * missed otherwise, because those of 2 MiB are almost as fast. */
		if (facts->pages[size].exist &&
		    (size == PAGES_2M || part->page_bytes != 0 || facts->pages[size].total > 0))
			return size;
	}
	return PAGE_SIZES;
}

bool load_has_pages(const struct load *load, uint64_t page_bytes)
{
	for (uint32_t i = 0; i < load->nparts; i++)
		if (load->parts[i].page_bytes == page_bytes)
			return true;
	return false;
}

/* Adds the hugepages of one engine, which runs on a NUMA node or, if 'node' is -1, on any. */
static void add_pages(struct load *load, const struct load_part *part, const struct facts *facts,
		      int node)
{
	for (uint32_t i = 0; i < part->needs.npools; i++) {
		const struct needs_pool *pool = &part->needs.pools[i];
		enum page_size size = load_page_size(part, facts, pool);
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

/* Adds engines with the same profile. 'cpus' is empty if they are not pinned. */
static void add_part(struct load *load, const struct facts *facts, const char *section,
		     const struct weir_profile *profile, uint32_t nengines, const cpu_set_t *cpus)
{
	struct load_part *part = &load->parts[load->nparts++];
	struct verbs_options options;

	snprintf(part->section, sizeof(part->section), "%s", section);
	part->nengines = nengines;
	part->page_bytes = profile->page_bytes;
	part->cpus = *cpus;
	part->spins = profile->idle == WEIR_IDLE_SPIN ||
		      (profile->idle == WEIR_IDLE_AUTO && load->is_pinned);
	if (load->is_rdma && verbs_options_parse(profile->driver_options, &options) == 0)
		snprintf(part->device, sizeof(part->device), "%s", options.device);
	needs_compute(profile, NULL, &part->needs);
	load->nengines += nengines;
	load->nspinning += part->spins ? nengines : 0;
	load->bytes += nengines * part->needs.bytes;
	load->registered_bytes += nengines * part->needs.registered_bytes;
	for (uint32_t i = 0; !load->is_pinned && i < nengines; i++)
		add_pages(load, part, facts, -1);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET(cpu, cpus))
			add_pages(load, part, facts, facts->cpus[cpu].node);
}

/* Adds the engines of each section, after those without a section. */
static void add_pinned(struct load *load, const struct facts *facts)
{
	const struct weir_profile *profile = load->profile;
	struct profile_section section = {0};
	struct weir_profile own;
	cpu_set_t rest = load->pinned;

	while (profile_section_next(profile, &section))
		rest = cpus_and(&rest, &section.cpus, false);
	if (!cpus_is_empty(&rest))
		add_part(load, facts, "engine", profile, (uint32_t)CPU_COUNT(&rest), &rest);
	section = (struct profile_section){0};
	while (profile_section_next(profile, &section)) {
		own = *profile;
		profile_section_apply(&section, &own);
		add_part(load, facts, section.name, &own, (uint32_t)CPU_COUNT(&section.cpus),
			 &section.cpus);
	}
}

void load_compute(const struct weir_profile *profile, uint32_t nengines, const struct facts *facts,
		  struct load *load)
{
	memset(load, 0, sizeof(*load));
	load->profile = profile;
	load->is_rdma = option_driver_is_rdma(profile);
	profile_cpus(profile->lcores, &load->pinned);
	load->is_pinned = !cpus_is_empty(&load->pinned);
	load->is_assumed = !load->is_pinned && nengines == 0;
	if (load->is_pinned)
		add_pinned(load, facts);
	else
		add_part(load, facts, "engine", profile, nengines > 0 ? nengines : 1,
			 &load->pinned);
}

const struct device_facts *load_device(const struct load_part *part, const struct facts *facts)
{
	const struct device_facts *first = NULL;

	for (uint32_t i = 0; i < facts->ndevices; i++) {
		const struct device_facts *device = &facts->devices[i];

		if (part->device[0] ? strcmp(part->device, device->name) == 0 : device->is_active)
			return device;
		if (!first && !part->device[0])
			first = device;
	}
	return first;
}
