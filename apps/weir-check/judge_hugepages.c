/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the hugepages of the machine with those that the load wants. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "judge.h"
#include "sysfile.h"

#define CHECK "hugepages"
#define THP   "/sys/kernel/mm/transparent_hugepage/enabled"

/* How the kernel, hugeadm and dpdk-hugepages.py name the sizes. */
static const struct {
	const char *text, *folder, *hugeadm, *dpdk;
} sizes[PAGE_SIZES] = {
	[PAGES_2M] = {"2 MiB", "hugepages-2048kB", "2MB", "2M"},
	[PAGES_1G] = {"1 GiB", "hugepages-1048576kB", "1GB", "1G"},
};

/* A comparison of hugepages of one size, on a NUMA node or, if 'node' is -1, on the machine. */
struct comparison {
	const struct facts *facts;
	const struct load *load;
	enum page_size size;
	int node;
	uint64_t needed;
	const struct page_facts *pages;
	uint64_t target;	   /* the number to reserve */
	uint64_t *available_bytes; /* of memory, after the hugepages of earlier comparisons */
};

/* Returns the path of hugeadm, or NULL if it is not installed. */
static const char *find_hugeadm(void)
{
	static const char *const paths[] = {"/usr/bin/hugeadm", "/usr/sbin/hugeadm",
					    "/usr/local/bin/hugeadm"};

	for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

/* Writes the path of the file that has the number of hugepages. */
static void nr_path(const struct comparison *c, const char *root, char *path)
{
	if (c->node >= 0)
		sysfile_path(path, root,
			     "/sys/devices/system/node/node%d/hugepages/%s/nr_hugepages", c->node,
			     sizes[c->size].folder);
	else
		sysfile_path(path, root, "/sys/kernel/mm/hugepages/%s/nr_hugepages",
			     sizes[c->size].folder);
}

/* Adds the commands that reserve the hugepages. */
static void add_commands(const struct comparison *c, struct finding *finding)
{
	uint64_t mib = c->target * (facts_page_bytes(c->size) >> 20);
	const char *size = sizes[c->size].dpdk;
	char path[SYSFILE_PATH_BYTES];

	nr_path(c, "", path);
	if (c->node >= 0) {
		finding_remedy(finding, "as root: dpdk-hugepages.py -p %s -n %d -r %" PRIu64 "M",
			       size, c->node, mib);
		finding_remedy(finding, "or: echo %" PRIu64 " > %s", c->target, path);
		return;
	}
	finding_remedy(finding, "as root: hugeadm --pool-pages-min %s:%" PRIu64,
		       sizes[c->size].hugeadm, c->target);
	finding_remedy(finding, "or: dpdk-hugepages.py -p %s -r %" PRIu64 "M", size, mib);
	if (c->facts->default_page_bytes == facts_page_bytes(c->size))
		finding_remedy(finding,
			       "or: sysctl vm.nr_hugepages=%" PRIu64
			       " (in /etc/sysctl.d/60-weir.conf also after the next boot)",
			       c->target);
	else
		finding_remedy(finding, "or: echo %" PRIu64 " > %s", c->target, path);
}

/* Adds the step that reserves the hugepages: hugeadm or, if that is not installed or cannot choose
 * the node, a write to the file. */
static void add_step(const struct comparison *c, struct finding *finding)
{
	const char *hugeadm = c->facts->root[0] == '\0' && c->node < 0 ? find_hugeadm() : NULL;
	char path[SYSFILE_PATH_BYTES], number[48];

	if (hugeadm) {
		snprintf(number, sizeof(number), "%s:%" PRIu64, sizes[c->size].hugeadm, c->target);
		finding_run(finding,
			    (const char *const[]){hugeadm, "--pool-pages-min", number, NULL});
		return;
	}
	nr_path(c, c->facts->root, path);
	snprintf(number, sizeof(number), "%" PRIu64, c->target);
	finding_write(finding, path, number);
}

/* Returns the severity of missing hugepages. If no engine asks for hugepages, they are a note. */
static enum severity missing_severity(const struct load *load)
{
	for (uint32_t i = 0; i < load->nparts; i++)
		if (load->parts[i].page_bytes != 0)
			return SEVERITY_WARNING;
	return SEVERITY_NOTE;
}

static void add_missing(const struct comparison *c, struct findings *findings)
{
	struct finding *finding = findings_add(findings, missing_severity(c->load), CHECK);
	uint64_t missing = c->needed - c->pages->free;
	uint64_t missing_bytes = missing * facts_page_bytes(c->size);
	char where[32] = "";

	if (c->node >= 0)
		snprintf(where, sizeof(where), " on NUMA node %d", c->node);
	finding_cause(finding,
		      "The buffers take %" PRIu64 " hugepages of %s%s, and %" PRIu64 " of %" PRIu64
		      " are free",
		      c->needed, sizes[c->size].text, where, c->pages->free, c->pages->total);
	finding_effect(finding,
		       "Pools that find too few hugepages get ordinary pages%s. The cores and the "
		       "device then wait for the translation of addresses more often",
		       c->node >= 0 ? ", or hugepages of another node" : "");
	if (missing_bytes > *c->available_bytes) {
		finding_remedy(finding,
			       "%" PRIu64 " more hugepages take %" PRIu64 " MiB, and %" PRIu64
			       " MiB of memory are available: lower the counts in section [memory] "
			       "of the profile, or name fewer CPUs in lcores",
			       missing, missing_bytes >> 20, *c->available_bytes >> 20);
		return;
	}
	*c->available_bytes -= missing_bytes;
	add_commands(c, finding);
	if (c->size == PAGES_1G)
		finding_remedy(finding,
			       "or, if the memory is fragmented, on the kernel's command line: "
			       "hugepagesz=1G hugepages=%" PRIu64,
			       c->target);
	add_step(c, finding);
}

/* Returns the number of hugepages that are missing. */
static uint64_t compare(struct comparison c, struct findings *findings)
{
	if (c.needed <= c.pages->free)
		return 0;
	c.target = c.pages->total + c.needed - c.pages->free;
	add_missing(&c, findings);
	return c.needed - c.pages->free;
}

/* Compares the hugepages of one size: those of each node, or of the machine if it has one node. */
static void compare_size(const struct facts *facts, const struct load *load, enum page_size size,
			 uint64_t *available_bytes, struct findings *findings)
{
	struct comparison c = {
		.facts = facts, .load = load, .size = size, .available_bytes = available_bytes};
	uint64_t elsewhere = load->pages[size], missing = 0, before = *available_bytes;

	for (int node = 0; facts->nnodes > 1 && node < (int)FACTS_NODES_MAX; node++) {
		c.node = node;
		c.needed = load->node_pages[node][size];
		c.pages = &facts->nodes[node].pages[size];
		elsewhere -= c.needed;
		if (c.needed > 0 && facts->nodes[node].exists)
			missing += compare(c, findings);
	}
	/* If some engines can be on any node, the machine needs enough hugepages for all engines,
	 * also after the remedies for its nodes. */
	c.node = -1;
	c.needed = load->pages[size];
	c.pages = &facts->pages[size];
	if (elsewhere == 0 || c.needed <= c.pages->free + missing)
		return;
	*available_bytes = before; /* this remedy includes the others */
	compare(c, findings);
}

/* Compares the hugepages of one size with the limits of cgroups. */
static void compare_page_limit(const struct facts *facts, const struct load *load,
			       enum page_size size, struct findings *findings)
{
	const struct limit_facts *limit = &facts->page_limit[size];
	uint64_t bytes = load->pages[size] * facts_page_bytes(size);
	struct finding *finding;

	if (!limit->exists || (double)bytes <= limit->value)
		return;
	finding = findings_add(findings, missing_severity(load), "cgroup hugetlb");
	finding_cause(finding,
		      "The buffers take %" PRIu64 " MiB in hugepages of %s, and the cgroup allows "
		      "%.0f MiB (%s)",
		      bytes >> 20, sizes[size].text, limit->value / (1 << 20), limit->file);
	finding_effect(finding, "Pools beyond the limit get ordinary pages, which are slower");
	finding_remedy(finding,
		       "raise the limit, in the configuration of the container or of the service, "
		       "or as root: echo %" PRIu64 " > %s",
		       limit->used + bytes, limit->file);
}

/* Reports a size of hugepages that the profile names and that does not exist. */
static void compare_kernel(const struct facts *facts, const struct load *load, enum page_size size,
			   struct findings *findings)
{
	struct finding *finding;

	if (facts->pages[size].exist || !load_has_pages(load, facts_page_bytes(size)))
		return;
	finding = findings_add(findings, SEVERITY_WARNING, CHECK);
	finding_cause(finding,
		      "The profile has 'pages = %s', and this kernel has no hugepages of %s",
		      size == PAGES_1G ? "1g" : "2m", sizes[size].text);
	finding_effect(finding, "The buffers get smaller pages, which are slower");
	finding_remedy(finding,
		       size == PAGES_1G
			       ? "set 'pages = 2m', or use a processor with the flag "
				 "pdpe1gb"
			       : "set 'pages = thp', or mount /sys where it is missing, or "
				 "use a kernel with CONFIG_HUGETLBFS");
}

static void judge_thp(const struct facts *facts, const struct load *load, struct findings *findings)
{
	struct finding *finding;
	char path[SYSFILE_PATH_BYTES];

	if (!load_has_pages(load, WEIR_PAGES_THP) ||
	    (facts->thp[0] != '\0' && !strstr(facts->thp, "[never]")))
		return;
	if (facts->thp[0] == '\0') {
		finding = findings_add(findings, SEVERITY_NOTE, "transparent hugepages");
		finding_cause(finding,
			      "The profile has 'pages = thp', and /sys does not say whether "
			      "this kernel has transparent hugepages");
		finding_effect(finding, "If it has none, the buffers get ordinary pages, which are "
					"slower");
		finding_remedy(finding, "set 'pages = 2m', or mount /sys where it is missing, or "
					"use a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
		return;
	}
	finding = findings_add(findings, SEVERITY_WARNING, "transparent hugepages");
	finding_cause(finding,
		      "The profile has 'pages = thp', and transparent hugepages are turned off");
	finding_effect(finding, "The kernel does not join ordinary pages, which are slower");
	finding_remedy(finding, "as root: hugeadm --thp-madvise");
	finding_remedy(finding, "or: echo madvise > " THP);
	sysfile_path(path, facts->root, THP);
	finding_write(finding, path, "madvise");
}

void judge_hugepages(const struct facts *facts, const struct load *load, struct findings *findings)
{
	uint64_t available_bytes = facts->available_bytes;

	for (uint32_t size = 0; size < PAGE_SIZES; size++) {
		compare_kernel(facts, load, (enum page_size)size, findings);
		compare_size(facts, load, (enum page_size)size, &available_bytes, findings);
		compare_page_limit(facts, load, (enum page_size)size, findings);
	}
	judge_thp(facts, load, findings);
}
