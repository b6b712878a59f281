/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes a device and queries its limits. This file also has the table of the driver's
 * operations.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "verbs.h"

/* The data path of ConnectX devices. NULL: it is not in this build. */
#ifdef WEIR_MLX5
static const struct verbs_path *const direct_path = &mlx5_path;
#else
static const struct verbs_path *const direct_path;
#endif

#define INLINE_MAX    1024u /* more than any device supports */
#define VENDOR_OF_RXE 0xffffffu

/* Returns the number of the first active port of a device, and stores its attributes in *port.
 * Returns 0 if no port is active. */
static uint8_t active_port(struct ibv_context *context, const struct ibv_device_attr *device,
			   struct ibv_port_attr *port)
{
	for (uint8_t i = 1; i <= device->phys_port_cnt; i++)
		if (ibv_query_port(context, i, port) == 0 && port->state == IBV_PORT_ACTIVE)
			return i;
	return 0;
}

extern const struct fabric_ops verbs_ops;

static bool supports(const struct verbs_path *path, struct ibv_context *context)
{
	return !path || path->supports(context);
}

static void log_devices(const struct verbs_path *path)
{
	for (uint32_t i = 0; verbs_hub_context(i); i++) {
		struct ibv_context *context = verbs_hub_context(i);

		if (supports(path, context))
			VERBS_LOG(ERROR, "there is a device %s",
				  ibv_get_device_name(context->device));
		else
			VERBS_LOG(
				ERROR,
				"there is a device %s, which is not a ConnectX device of libmlx5: "
				"use the driver verbs with direct=auto or direct=off",
				ibv_get_device_name(context->device));
	}
}

static int choose(struct verbs_dev *dev, const char *name, struct ibv_port_attr *port)
{
	for (uint32_t i = 0; verbs_hub_context(i); i++) {
		struct ibv_context *context = verbs_hub_context(i);

		if (name[0] && strcmp(name, ibv_get_device_name(context->device)) != 0)
			continue;
		if (!supports(dev->path, context) || ibv_query_device(context, &dev->device) != 0)
			continue;
		dev->port = active_port(context, &dev->device, port);
		if (dev->port == 0)
			continue;
		dev->context = context;
		dev->name = ibv_get_device_name(context->device);
		return 0;
	}
	VERBS_LOG(
		ERROR,
		"no %sdevice%s%s with an active port: see 'rdma link'. Its network interface must "
		"be up",
		dev->path ? "ConnectX " : "", name[0] ? " " : "", name);
	log_devices(dev->path);
	return -ENODEV;
}

/*
 * Sets the data path that the device must have: that of another driver, or the one that the option
 * 'direct' demands. NULL: any. Returns 0 or -errno.
 */
static int demand_path(struct verbs_dev *dev, const struct verbs_path *path,
		       enum verbs_direct direct)
{
	dev->path = path;
	if (path && direct == VERBS_DIRECT_OFF) {
		VERBS_LOG(ERROR,
			  "the driver %s is the direct path: for direct=off, use the driver "
			  "verbs",
			  path->ops->name);
		return -EINVAL;
	}
	if (path || direct != VERBS_DIRECT_ON)
		return 0;
	dev->path = direct_path;
	if (direct_path)
		return 0;
	VERBS_LOG(ERROR, "direct=on: this build has no direct path");
	return -EOPNOTSUPP;
}

/* Logs the data path when the process first has a device object with it. */
static void log_path(const struct verbs_dev *dev)
{
	static atomic_flag is_logged[2];

	if (atomic_flag_test_and_set(&is_logged[dev->path != NULL]))
		return;
	if (dev->path)
		VERBS_LOG(NOTICE,
			  "%s: direct path, without libibverbs, by the driver %s (direct=off turns "
			  "it off)",
			  dev->name, dev->path->ops->name);
	else
		VERBS_LOG(INFO, "%s: path of libibverbs", dev->name);
}

/* Opens the data path that the device must have. If it may have any, opens the direct path where
 * that is possible, and uses the path of libibverbs otherwise. Returns 0 or -errno. */
static int open_path(struct verbs_dev *dev, enum verbs_direct direct)
{
	bool may_choose = !dev->path && direct == VERBS_DIRECT_AUTO;
	int rc = 0;

	if (may_choose && direct_path && direct_path->supports(dev->context))
		dev->path = direct_path;
	if (dev->path)
		rc = dev->path->dev_open(dev);
	if (rc != 0 && may_choose) {
		VERBS_LOG(NOTICE, "%s: the direct path is not possible: libibverbs is used",
			  dev->name);
		dev->path->dev_close(dev);
		dev->path = NULL;
		rc = 0;
	}
	dev->fabric.ops = dev->path ? dev->path->ops : &verbs_ops;
	if (rc == 0)
		log_path(dev);
	return rc;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void fill_attr(struct verbs_dev *dev, const struct ibv_port_attr *port)
{
	const struct ibv_device_attr *device = &dev->device;
	uint32_t wrs = smaller((uint32_t)device->max_qp_wr, VERBS_WRS_MAX);
	uint32_t flags = device->device_cap_flags;

	dev->fabric.attr = (struct fabric_dev_attr){
		.max_inline = INLINE_MAX,
		.max_sge = smaller((uint32_t)device->max_sge, FABRIC_SGE_MAX),
		.max_send_wr = wrs,
		.max_recv_wr = wrs,
		.max_srq_wr = device->max_srq > 0
				      ? smaller((uint32_t)device->max_srq_wr, VERBS_SRQ_MAX)
				      : 0,
		.max_msg_bytes = port->max_msg_sz,
		.max_rd_atomic = smaller((uint32_t)device->max_qp_init_rd_atom, UINT8_MAX),
		.has_mw = (flags &
			   (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0,
		.has_send_inv = (flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0,
		.revokes_access = true,
	};
	if (device->max_sge_rd > 0)
		dev->fabric.attr.max_sge =
			smaller(dev->fabric.attr.max_sge, (uint32_t)device->max_sge_rd);
	/*
	 * rxe reports a Send with Invalidate by the kernel's flag IB_WC_WITH_INVALIDATE. In user
	 * space this bit is IBV_WC_IP_CSUM_OK, which otherwise has no meaning for this driver.
	 */
	dev->invalidated_flags =
		IBV_WC_WITH_INV | (device->vendor_id == VENDOR_OF_RXE ? IBV_WC_IP_CSUM_OK : 0);
	dev->responder_resources = (uint8_t)smaller((uint32_t)device->max_qp_rd_atom, UINT8_MAX);
}

/* Creates and destroys a queue pair to find out how many inline bytes the device supports, because
 * only a queue pair reports this number. Returns 0 or -errno. */
static int probe_inline(struct verbs_dev *dev)
{
	const struct fabric_qp_attr attr = {.max_send_wr = 1,
					    .max_recv_wr = 1,
					    .max_sge = dev->fabric.attr.max_sge,
					    .max_inline = INLINE_MAX};
	struct verbs_qp *qp;
	int rc = verbs_qp_create(dev, &attr, &qp);

	if (rc != 0)
		return rc;
	dev->fabric.attr.max_inline = qp->fabric.max_inline;
	verbs_qp_free(qp);
	return 0;
}

void verbs_dev_close(struct fabric_dev *fdev)
{
	struct verbs_dev *dev = (struct verbs_dev *)fdev;
	struct verbs_link *link;

	if (!dev)
		return;
	/* These are requests that the engine neither accepted nor rejected. */
	while ((link = TAILQ_FIRST(&dev->links)))
		verbs_reject(fdev, link, NULL, 0);
	verbs_srq_reap(dev, true);
	verbs_srq_destroy((struct fabric_srq *)dev->srq);
	verbs_cq_destroy_all(dev);
	if (dev->path)
		dev->path->dev_close(dev);
	if (dev->channel)
		ibv_destroy_comp_channel(dev->channel);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	verbs_hub_leave(dev);
	mem_free(dev->own_mrs);
	mem_free(dev->own_sges);
	mem_free(dev->by_num);
	mem_free(dev->table);
	mem_free(dev);
}

static int make_table(struct verbs_dev *dev)
{
	uint32_t size = 16;

	while (size < 2 * dev->max_connections)
		size <<= 1;
	dev->table = mem_zalloc(size * sizeof(dev->table[0]));
	dev->by_num = mem_zalloc(size * sizeof(dev->by_num[0]));
	dev->table_mask = size - 1;
	return dev->table && dev->by_num ? 0 : -ENOMEM;
}

int verbs_options_check(const char *text)
{
	struct verbs_options options;

	return verbs_options_parse(text, &options);
}

static int open_dev(const struct fabric_dev_config *config, struct fabric_dev **out);

const struct fabric_ops verbs_ops = {
	.name = "verbs",
	.summary = "RDMA devices, by ADDR[:PORT] (options: device=NAME, default: the first that is "
		   "active; rnr_retry=0..7, 7: wait for ever; direct=auto|on|off, "
		   "default auto: without libibverbs on ConnectX devices)",
	.open = open_dev,
	VERBS_SHARED_OPS,
	.post_recv = verbs_post_recv,
	.post_send = verbs_post_send,
	.poll = verbs_poll,
	.srq_post_recv = verbs_srq_post_recv,
};

static int open_dev(const struct fabric_dev_config *config, struct fabric_dev **out)
{
	return verbs_dev_open(config, NULL, out);
}

int verbs_dev_open(const struct fabric_dev_config *config, const struct verbs_path *path,
		   struct fabric_dev **out)
{
	struct ibv_port_attr port;
	struct verbs_options options;
	struct verbs_dev *dev;
	int rc = verbs_options_parse(config->options, &options);

	if (rc != 0)
		return rc;
	dev = mem_zalloc(sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	rc = demand_path(dev, path, options.direct);
	if (rc != 0) {
		mem_free(dev);
		return rc;
	}
	dev->rnr_retry = options.rnr_retry;
	dev->max_mrs = config->max_regions ? config->max_regions : 1;
	dev->max_connections = config->max_connections ? config->max_connections : 1;
	TAILQ_INIT(&dev->cqs);
	TAILQ_INIT(&dev->mrs);
	TAILQ_INIT(&dev->own);
	TAILQ_INIT(&dev->broken);
	TAILQ_INIT(&dev->leaving);
	TAILQ_INIT(&dev->events);
	TAILQ_INIT(&dev->links);
	TAILQ_INIT(&dev->listeners);
	rc = verbs_hub_join(dev);
	if (rc != 0) {
		mem_free(dev);
		return rc;
	}
	rc = choose(dev, options.device, &port);
	if (rc == 0)
		rc = make_table(dev);
	if (rc == 0) {
		dev->pd = ibv_alloc_pd(dev->context);
		rc = dev->pd ? 0 : -errno;
	}
	if (rc == 0)
		rc = open_path(dev, options.direct);
	if (rc == 0)
		rc = verbs_channel_create(dev);
	if (rc == 0) {
		fill_attr(dev, &port);
		rc = probe_inline(dev);
	}
	if (rc != 0) {
		verbs_dev_close(&dev->fabric);
		return rc;
	}
	*out = &dev->fabric;
	return 0;
}
