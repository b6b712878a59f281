/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the facts about memory: hugepages, limits and /dev/shm. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include <linux/capability.h>

#include "cgroup.h"
#include "facts.h"
#include "sysfile.h"

#define NODE "/sys/devices/system/node/node%u"

/* A limit of at least so many bytes means that there is no limit. */
#define UNLIMITED (UINT64_C(1) << 60)

/* The names of a size of hugepages: in files of the kernel, and in those of cgroups. */
static const struct {
	const char *folder;
	const char *cgroup;
} names[PAGE_SIZES] = {
	[PAGES_2M] = {"hugepages-2048kB", "2MB"},
	[PAGES_1G] = {"hugepages-1048576kB", "1GB"},
};

static void read_pages(const char *root, struct page_facts *pages, const char *folder)
{
	uint64_t reserved = 0;

	pages->exist = sysfile_number(root, &pages->total, "%s/nr_hugepages", folder);
	(void)sysfile_number(root, &pages->free, "%s/free_hugepages", folder);
	/* A NUMA node has no such file. */
	(void)sysfile_number(root, &reserved, "%s/resv_hugepages", folder);
	pages->free -= reserved < pages->free ? reserved : pages->free;
}

static void read_node(struct facts *facts, uint32_t number)
{
	struct node_facts *node = &facts->nodes[number];
	char text[SYSFILE_BYTES], folder[128];

	node->exists = sysfile_line(facts->root, text, sizeof(text), NODE "/cpulist", number);
	if (!node->exists)
		return;
	facts->nnodes++;
	(void)cpus_parse(text, &node->cpus);
	(void)sysfile_line(facts->root, text, sizeof(text), NODE "/distance", number);
	for (char *rest = text, *end; *rest; rest = end) {
		uint32_t other = 0;

		/* The distances are those to the nodes that exist, in their order. Their numbers
		 * rarely have gaps. */
		while (other < FACTS_NODES_MAX && node->distance[other] != 0)
			other++;
		unsigned long distance = strtoul(rest, &end, 10);

		if (end == rest || other == FACTS_NODES_MAX)
			break;
		node->distance[other] = (uint32_t)distance;
	}
	for (uint32_t size = 0; size < PAGE_SIZES; size++) {
		snprintf(folder, sizeof(folder), NODE "/hugepages/%s", number, names[size].folder);
		read_pages(facts->root, &node->pages[size], folder);
	}
}

/* The search for a limit on hugepages of one size. */
struct page_search {
	enum page_size size;
	struct limit_facts *limit;
};

/* Lowers the number of bytes of hugepages that the cgroup at 'folder' still allows. */
static void look_at_pages(const char *folder, bool is_v2, void *arg)
{
	static const char *const v1[] = {"limit_in_bytes", "rsvd.limit_in_bytes"};
	static const char *const v2[] = {"max", "rsvd.max"};
	static const char *const usage[2][2] = {{"usage_in_bytes", "rsvd.usage_in_bytes"},
						{"current", "rsvd.current"}};
	const struct page_search *search = arg;
	struct limit_facts *limit = search->limit;
	const char *size = names[search->size].cgroup;

	for (uint32_t i = 0; i < 2; i++) {
		char name[64];
		uint64_t most, used;

		snprintf(name, sizeof(name), "hugetlb.%s.%s", size, usage[is_v2][i]);
		used = cgroup_number(folder, name, 0);
		snprintf(name, sizeof(name), "hugetlb.%s.%s", size, is_v2 ? v2[i] : v1[i]);
		most = cgroup_number(folder, name, UINT64_MAX);
		if (most >= UNLIMITED)
			continue;
		most = most > used ? most - used : 0;
		if (limit->exists && (double)most >= limit->value)
			continue;
		limit->exists = true;
		limit->value = (double)most;
		limit->used = used;
		snprintf(limit->file, sizeof(limit->file), "%s/%s", folder, name);
	}
}

static void read_hugepages(struct facts *facts)
{
	char folder[128];

	for (uint32_t size = 0; size < PAGE_SIZES; size++) {
		struct page_search search = {(enum page_size)size, &facts->page_limit[size]};

		snprintf(folder, sizeof(folder), "/sys/kernel/mm/hugepages/%s", names[size].folder);
		read_pages(facts->root, &facts->pages[size], folder);
		cgroup_each(facts->root, "hugetlb", look_at_pages, &search);
	}
}

/* Returns the number of bytes in a text such as "8388608" or "unlimited", and moves *text after
 * it. */
static uint64_t limit_of(char **text)
{
	uint64_t value;

	*text += strspn(*text, " ");
	if (strncmp(*text, "unlimited", 9) == 0) {
		*text += 9;
		return UINT64_MAX;
	}
	value = strtoull(*text, text, 10);
	return value;
}

static void read_memlock(struct facts *facts)
{
	char text[128], *rest = text;

	facts->has_memlock = sysfile_find(facts->root, "/proc/self/limits", "Max locked memory",
					  text, sizeof(text));
	if (facts->has_memlock) {
		facts->memlock_bytes = limit_of(&rest);
		facts->memlock_hard_bytes = limit_of(&rest);
	}
	if (sysfile_find(facts->root, "/proc/self/status", "CapEff:", text, sizeof(text)))
		facts->may_lock_all = strtoull(text, NULL, 16) >> CAP_IPC_LOCK & 1;
}

static void read_dev_shm(struct facts *facts)
{
	char path[SYSFILE_PATH_BYTES];
	struct statvfs fs;

	sysfile_path(path, facts->root, "/dev/shm");
	facts->has_dev_shm = statvfs(path, &fs) == 0;
	if (!facts->has_dev_shm)
		return;
	facts->dev_shm_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	facts->dev_shm_used_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
}

void facts_read_memory(struct facts *facts)
{
	char text[64];

	for (uint32_t i = 0; i < FACTS_NODES_MAX; i++)
		read_node(facts, i);
	read_hugepages(facts);
	facts->available_bytes = UINT64_MAX;
	if (sysfile_find(facts->root, "/proc/meminfo", "MemAvailable:", text, sizeof(text)))
		facts->available_bytes = strtoull(text, NULL, 10) << 10;
	if (sysfile_find(facts->root, "/proc/meminfo", "Hugepagesize:", text, sizeof(text)))
		facts->default_page_bytes = strtoull(text, NULL, 10) << 10;
	(void)sysfile_line(facts->root, facts->thp, sizeof(facts->thp),
			   "/sys/kernel/mm/transparent_hugepage/enabled");
	memory_room(facts->root, &facts->room);
	read_memlock(facts);
	read_dev_shm(facts);
}
