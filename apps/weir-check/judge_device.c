/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the RDMA device: its state, its distance from the CPUs, and the IOMMU. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"

#define CHECK "RDMA device"

/* Writes the names of all devices. */
static void list_devices(const struct facts *facts, char *text, size_t bytes)
{
	size_t used = 0;

	snprintf(text, bytes, "none");
	for (uint32_t i = 0; i < facts->ndevices && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
					 facts->devices[i].name);
}

/* Reports that a device does not exist, and what can therefore not be examined. */
static void add_absent(const struct facts *facts, const struct load_part *part,
		       struct findings *findings)
{
	struct finding *finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	char names[512];

	list_devices(facts, names, sizeof(names));
	finding_cause(finding, "There is no RDMA device%s%s; the devices of this machine: %s",
		      part->device[0] ? " " : "", part->device, names);
	finding_effect(finding, "Programs with this profile do not start");
	if (facts->ndevices > 0)
		finding_remedy(finding,
			       "set 'driver_options = device=NAME' in section [%s] to one of "
			       "them",
			       part->section);
	finding_remedy(finding, "install the driver of the device and rdma-core; 'rdma link' then "
				"lists the device");
	finding_remedy(finding, "or, for a device in software, as root: modprobe -a rdma_rxe "
				"rdma_ucm; rdma link add rxe0 type rxe netdev INTERFACE");
	finding = findings_add(findings, SEVERITY_NOTE, CHECK);
	finding_cause(finding, "There is no device to examine");
	finding_effect(finding, "Its limits, its NUMA node and the IOMMU are not examined");
	finding_remedy(finding, "run weir-check again when there is a device");
}

static void judge_rdma_cm(const struct facts *facts, struct findings *findings)
{
	struct finding *finding;

	if (facts->has_rdma_cm)
		return;
	finding = findings_add(findings, SEVERITY_ERROR, CHECK);
	finding_cause(finding, "/dev/infiniband/rdma_cm does not exist");
	finding_effect(finding, "Connections over RDMA devices can't be made");
	finding_remedy(finding, "as root: modprobe rdma_ucm");
	if (facts->root[0] == '\0')
		finding_run(finding, (const char *const[]){"/usr/sbin/modprobe", "rdma_ucm", NULL});
}

static void judge_state(const struct device_facts *device, struct findings *findings)
{
	struct finding *finding;

	if (!device->is_active) {
		finding = findings_add(findings, SEVERITY_ERROR, CHECK);
		finding_cause(finding, "No port of %s is active", device->name);
		finding_effect(finding, "Programs with this profile do not start");
		finding_remedy(finding,
			       "connect the cable, and set the network interface up: 'rdma link' "
			       "names it, then as root: ip link set INTERFACE up");
	}
	if (device->open_error != 0) {
		finding = findings_add(findings, SEVERITY_ERROR, CHECK);
		finding_cause(finding, "%s can't be opened: %s", device->name,
			      strerror(device->open_error));
		finding_effect(finding, "Programs of this user do not start with this profile");
		finding_remedy(finding, "give this user access to /dev/infiniband/uverbs*, by a "
					"rule of udev or, in a container, by --device");
	} else if (!device->has_attr) {
		finding = findings_add(findings, SEVERITY_NOTE, "RDMA limits");
		finding_cause(finding, "The limits of %s can't be read", device->name);
		finding_effect(finding, "They are not compared with the profile");
		finding_remedy(finding, "ibv_devinfo -v -d %s prints them", device->name);
	}
}

/* Returns the CPUs whose engines use a device. */
static cpu_set_t cpus_of(const struct facts *facts, const struct load *load,
			 const struct device_facts *device)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (uint32_t i = 0; i < load->nparts; i++)
		if (load_device(&load->parts[i], facts) == device)
			CPU_OR(&set, &set, &load->parts[i].cpus);
	return set;
}

/* Returns those of the CPUs that are on another node than the device. Sets *distance to the largest
 * distance, or to 0 if it is unknown. */
static cpu_set_t far_cpus(const struct facts *facts, const cpu_set_t *cpus, int node,
			  uint32_t *distance)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	*distance = 0;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		int own = facts->cpus[cpu].node;

		if (!CPU_ISSET(cpu, cpus) || own < 0 || own == node)
			continue;
		CPU_SET(cpu, &set);
		if (facts->nodes[own].distance[node] > *distance)
			*distance = facts->nodes[own].distance[node];
	}
	return set;
}

static void judge_distance(const struct facts *facts, const struct load *load,
			   const struct device_facts *device, struct findings *findings)
{
	char list[CPUS_TEXT_BYTES], near[CPUS_TEXT_BYTES], distance_text[48] = "";
	struct finding *finding;
	cpu_set_t cpus = cpus_of(facts, load, device), set;
	uint32_t distance;

	if (facts->nnodes < 2 || !load->is_pinned)
		return;
	if (device->node < 0) {
		finding = findings_add(findings, SEVERITY_NOTE, "NUMA distance");
		finding_cause(finding, "The NUMA node of %s is not known", device->name);
		finding_effect(finding, "Its distance from the CPUs of the profile is not known");
		finding_remedy(finding, "the manual of the machine says which socket has the slot");
		return;
	}
	set = far_cpus(facts, &cpus, device->node, &distance);
	if (cpus_is_empty(&set))
		return;
	if (distance > 0)
		snprintf(distance_text, sizeof(distance_text), ", at a distance of %u (10: local)",
			 distance);
	finding = findings_add(findings, SEVERITY_WARNING, "NUMA distance");
	finding_cause(
		finding,
		"%s of the profile and %s, which is on NUMA node %d, are on different nodes%s",
		cpus_named(&set, list), device->name, device->node, distance_text);
	finding_effect(finding, "Each access of the device to buffers, and of the cores to the "
				"device, crosses the link between the sockets");
	finding_remedy(finding,
		       "in section [engine], name some of %s in lcores, or a device of the "
		       "other node by 'driver_options = device=NAME'",
		       cpus_named(&facts->nodes[device->node].cpus, near));
	finding_remedy(finding, "or name that device in a section [engine:%s]",
		       cpus_list(&set, list));
}

static void judge_iommu(const struct facts *facts, const struct device_facts *device,
			struct findings *findings)
{
	struct finding *finding;

	if (strncmp(device->iommu, "DMA", 3) == 0) {
		finding = findings_add(findings, SEVERITY_WARNING, "IOMMU");
		finding_cause(finding, "The IOMMU translates the addresses that %s uses (%s)",
			      device->name, device->iommu);
		finding_effect(finding, "The registration of memory takes longer, and the device "
					"waits for translations");
		finding_remedy(finding, "on the kernel's command line: iommu=pt, if the device is "
					"trusted with all memory");
	} else if (device->iommu[0] == '\0' && facts->has_iommu) {
		finding = findings_add(findings, SEVERITY_NOTE, "IOMMU");
		finding_cause(finding, "/sys does not say how the IOMMU treats %s", device->name);
		finding_effect(finding, "It is not known whether addresses are translated");
		finding_remedy(finding, "look for 'iommu' in the output of dmesg");
	}
}

/* Returns whether engines of an earlier part use the same device, or miss the same one. */
static bool is_judged(const struct facts *facts, const struct load *load, uint32_t part)
{
	const struct device_facts *device = load_device(&load->parts[part], facts);

	for (uint32_t i = 0; i < part; i++)
		if (load_device(&load->parts[i], facts) == device &&
		    (device || strcmp(load->parts[i].device, load->parts[part].device) == 0))
			return true;
	return false;
}

void judge_device(const struct facts *facts, const struct load *load, struct findings *findings)
{
	bool has_device = false;

	for (uint32_t i = 0; i < load->nparts; i++) {
		const struct device_facts *device = load_device(&load->parts[i], facts);

		if (is_judged(facts, load, i))
			continue;
		if (!device) {
			add_absent(facts, &load->parts[i], findings);
			continue;
		}
		has_device = true;
		judge_state(device, findings);
		if (device->has_attr)
			judge_limits(facts, device, load, findings);
		judge_distance(facts, load, device, findings);
		judge_iommu(facts, device, findings);
	}
	if (has_device)
		judge_rdma_cm(facts, findings);
}
