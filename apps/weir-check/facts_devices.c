/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the facts about RDMA devices, from /sys and from libibverbs. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "sysfile.h"

#define CLASS "/sys/class/infiniband"

/* Returns whether a folder has an entry. */
static bool has_entry(const char *root, const char *folder)
{
	char path[SYSFILE_PATH_BYTES];
	const struct dirent *entry;
	bool is_found = false;
	DIR *dir;

	sysfile_path(path, root, "%s", folder);
	dir = opendir(path);
	while (dir && !is_found && (entry = readdir(dir)) != NULL)
		is_found = entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return is_found;
}

/* Returns whether a port of the device is active. The file of a port's state contains for example
 * "4: ACTIVE". */
static bool has_active_port(const char *root, const char *name)
{
	char path[SYSFILE_PATH_BYTES], state[32];
	const struct dirent *entry;
	bool is_active = false;
	DIR *dir;

	sysfile_path(path, root, CLASS "/%s/ports", name);
	dir = opendir(path);
	while (dir && !is_active && (entry = readdir(dir)) != NULL)
		is_active = entry->d_name[0] != '.' &&
			    sysfile_line(root, state, sizeof(state), CLASS "/%s/ports/%s/state",
					 name, entry->d_name) &&
			    strstr(state, "ACTIVE") != NULL;
	if (dir)
		closedir(dir);
	return is_active;
}

static void read_device(struct facts *facts, const char *name)
{
	struct device_facts *device = &facts->devices[facts->ndevices++];
	uint64_t node;

	*device = (struct device_facts){.node = -1};
	snprintf(device->name, sizeof(device->name), "%.63s", name);
	if (sysfile_number(facts->root, &node, CLASS "/%s/device/numa_node", name) &&
	    node < FACTS_NODES_MAX)
		device->node = (int)node;
	device->is_active = has_active_port(facts->root, name);
	(void)sysfile_line(facts->root, device->iommu, sizeof(device->iommu),
			   CLASS "/%s/device/iommu_group/type", name);
}

static struct device_facts *find_device(struct facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->ndevices; i++)
		if (strcmp(facts->devices[i].name, name) == 0)
			return &facts->devices[i];
	return NULL;
}

/* Reads the attributes of the devices. */
static void query_devices(struct facts *facts)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	for (int i = 0; list && i < n; i++) {
		struct device_facts *device = find_device(facts, ibv_get_device_name(list[i]));
		struct ibv_context *context;

		if (!device)
			continue;
		errno = 0;
		context = ibv_open_device(list[i]);
		if (!context) {
			device->open_error = errno ? errno : EIO;
			continue;
		}
		device->has_attr = ibv_query_device(context, &device->attr) == 0;
		ibv_close_device(context);
	}
	if (list)
		ibv_free_device_list(list);
}

static int compare_devices(const void *a, const void *b)
{
	const struct device_facts *first = a, *second = b;

	return strcmp(first->name, second->name);
}

void facts_read_devices(struct facts *facts)
{
	char path[SYSFILE_PATH_BYTES];
	const struct dirent *entry;
	DIR *dir;

	facts->has_iommu = has_entry(facts->root, "/sys/class/iommu");
	facts->has_rdma_cm = sysfile_exists(facts->root, "/dev/infiniband/rdma_cm");
	sysfile_path(path, facts->root, CLASS);
	dir = opendir(path);
	while (dir && facts->ndevices < FACTS_DEVICES_MAX && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			read_device(facts, entry->d_name);
	if (dir)
		closedir(dir);
	qsort(facts->devices, facts->ndevices, sizeof(facts->devices[0]), compare_devices);
	if (facts->root[0] == '\0')
		query_devices(facts);
}
