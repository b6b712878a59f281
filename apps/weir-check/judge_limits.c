/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the limits of the RDMA device with the needs of the profile. */
#include <inttypes.h>

#include "judge.h"

/* A limit of the device that is too low. */
struct low_limit {
	enum severity severity;
	const char *name; /* as ibv_devinfo prints it */
	uint64_t value, needed;
	const char *use; /* what needs it */
	const char *effect, *remedy;
};

/* Adds a finding if the device has less than is needed. */
static void compare_attr(const struct low_limit *limit, const struct device_facts *device,
			 struct findings *findings)
{
	struct finding *finding;

	if (limit->value >= limit->needed)
		return;
	finding = findings_add(findings, limit->severity, "RDMA limits");
	finding_cause(finding, "%s of %s is %" PRIu64 ", and %s take %" PRIu64, limit->name,
		      device->name, limit->value, limit->use, limit->needed);
	finding_effect(finding, "%s", limit->effect);
	finding_remedy(finding, "%s", limit->remedy);
}

static uint64_t positive(int value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* The needs of all engines that use a device. */
struct use {
	/* of the connection or engine that needs most */
	uint64_t send_queue, send_queue_min, recv_queue, shared_queue, completions, sges,
		largest_bytes;
	/* of all engines together */
	uint64_t connections, registrations, windows;
	uint64_t windows_min;
	bool uses_windows;
};

static void raise_to(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

static struct use use_of(const struct facts *facts, const struct device_facts *device,
			 const struct load *load)
{
	struct use use = {0};

	for (uint32_t i = 0; i < load->nparts; i++) {
		const struct needs *needs = &load->parts[i].needs;
		uint64_t n = load->parts[i].nengines;

		if (load_device(&load->parts[i], facts) != device)
			continue;
		raise_to(&use.send_queue, needs->send_queue);
		raise_to(&use.send_queue_min, needs->send_queue_min);
		raise_to(&use.recv_queue, needs->recv_queue);
		raise_to(&use.shared_queue, needs->shared_queue);
		raise_to(&use.completions, (uint64_t)needs->recv_queue + needs->shared_queue);
		raise_to(&use.sges, needs->sges);
		raise_to(&use.largest_bytes, needs->largest_bytes);
		use.connections += n * needs->connections;
		use.registrations += n * needs->registrations;
		use.windows += needs->uses_windows ? n * needs->windows : 0;
		raise_to(&use.windows_min, needs->windows_min);
		use.uses_windows |= needs->uses_windows;
	}
	return use;
}

/* Compares the limits of one queue. */
static void compare_queues(const struct device_facts *device, const struct use *use,
			   struct findings *findings)
{
	uint64_t wrs = positive(device->attr.max_qp_wr);
	uint64_t sends = wrs < use->send_queue ? wrs : use->send_queue;
	const struct low_limit limits[] = {
		{wrs < use->send_queue_min ? SEVERITY_ERROR : SEVERITY_WARNING, "max_qp_wr", wrs,
		 use->send_queue, "the sends of a connection",
		 wrs < use->send_queue_min ? "Connections can't be made"
					   : "Send queues are shorter, and requests wait for room "
					     "in them",
		 "lower credits in section [connection]"},
		{SEVERITY_ERROR, "max_qp_wr", wrs, use->recv_queue, "the receives of a connection",
		 "Connections can't be made", "lower credits in section [connection]"},
		{SEVERITY_ERROR, "max_srq_wr",
		 positive(device->attr.max_srq) > 0 ? positive(device->attr.max_srq_wr) : 0,
		 use->shared_queue, "the shared receives of an engine", "Engines can't be created",
		 "lower recv_buffers in section [memory], or set 'shared_receives = off'"},
		{SEVERITY_ERROR, "max_cqe", positive(device->attr.max_cqe),
		 sends + use->completions, "the completions of a connection",
		 "Connections can't be made",
		 "lower credits in section [connection], or recv_buffers if receives are shared"},
		{SEVERITY_WARNING, "max_sge", positive(device->attr.max_sge), use->sges,
		 "the parts of a message",
		 "Messages with more parts are copied before they are sent",
		 "nothing can be done with this device"},
		{SEVERITY_ERROR, "max_qp_init_rd_atom", positive(device->attr.max_qp_init_rd_atom),
		 1, "RDMA Reads of a connection", "A responder can't read the chunks of a call",
		 "use another device"},
		{SEVERITY_ERROR, "max_mr_size", device->attr.max_mr_size, use->largest_bytes,
		 "the bytes of the largest pool", "Engines can't be created",
		 "lower the counts in section [memory]"},
	};

	for (uint32_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		compare_attr(&limits[i], device, findings);
}

/* Compares the limits of all objects of the device. Other programs can use some of them. */
static void compare_objects(const struct device_facts *device, const struct use *use,
			    struct findings *findings)
{
	const struct low_limit limits[] = {
		{SEVERITY_WARNING, "max_qp", positive(device->attr.max_qp), use->connections,
		 "the connections of all engines", "Further connections fail",
		 "lower connections in section [limits]"},
		{SEVERITY_ERROR, "max_mr", positive(device->attr.max_mr), use->registrations,
		 "the pools of all engines",
		 "Engines can't be created, or connections can't be made",
		 "set 'protection = shared' in section [exposure], or name fewer CPUs in lcores"},
		{SEVERITY_WARNING, "max_mw", positive(device->attr.max_mw), use->windows,
		 "the memory windows of engines that make calls",
		 positive(device->attr.max_mw) < use->windows_min
			 ? "Programs that make calls can't connect. A responder needs no windows"
			 : "Calls wait for memory windows",
		 "lower windows in section [exposure], or set 'policy = pool' if all peers are "
		 "trusted"},
	};

	for (uint32_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		compare_attr(&limits[i], device, findings);
}

/* Reports a device without memory windows of type 2. */
static void judge_windows(const struct device_facts *device, const struct use *use,
			  struct findings *findings)
{
	uint32_t flags = device->attr.device_cap_flags;
	struct finding *finding;

	if (!use->uses_windows ||
	    flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B))
		return;
	finding = findings_add(findings, SEVERITY_WARNING, "RDMA limits");
	finding_cause(finding,
		      "%s has no memory windows of type 2, and the exposure policy is "
		      "'window'",
		      device->name);
	finding_effect(finding, "Programs that make calls can't connect. A responder needs no "
				"windows");
	finding_remedy(finding, "set 'policy = pool' in section [exposure], if all peers are "
				"trusted");
}

void judge_limits(const struct facts *facts, const struct device_facts *device,
		  const struct load *load, struct findings *findings)
{
	const struct use use = use_of(facts, device, load);

	compare_queues(device, &use, findings);
	compare_objects(device, &use, findings);
	judge_windows(device, &use, findings);
}
