/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: their options, their death and their operations. */
#include "sim_world.h"

#include <errno.h>
#include <rte_kvargs.h>
#include <stdlib.h>

#include "log.h"

#define NUMBER_ABSENT UINT64_MAX

struct dev_options {
	uint64_t world, seed, rnr_retry, max_inline, max_rd_atomic;
};

static int parse_number(const char *key, const char *value, void *opaque)
{
	uint64_t *number = opaque;
	char *end;

	(void)key;
	if (!value || *value < '0' || *value > '9')
		return -1;
	errno = 0;
	*number = strtoull(value, &end, 0);
	return errno == 0 && *end == '\0' && *number != NUMBER_ABSENT ? 0 : -1;
}

static int options_refuse(const char *text, const char *why)
{
	LOG(DRIVER, ERROR, "sim: options '%s': %s", text, why);
	return -EINVAL;
}

static int parse_options(const char *text, struct dev_options *options)
{
	static const char *const names[] = {"world",	  "seed",	   "rnr_retry",
					    "max_inline", "max_rd_atomic", NULL};
	uint64_t *const values[] = {&options->world, &options->seed, &options->rnr_retry,
				    &options->max_inline, &options->max_rd_atomic};
	struct rte_kvargs *args;
	int rc = 0;

	for (uint32_t i = 0; names[i]; i++)
		*values[i] = NUMBER_ABSENT;
	if (!text || !*text)
		return 0;
	args = rte_kvargs_parse(text, names);
	if (!args)
		return options_refuse(
			text,
			"expected world=N,seed=N,rnr_retry=0..7,max_inline=N,max_rd_atomic=N");
	for (uint32_t i = 0; names[i] && rc == 0; i++)
		rc = rte_kvargs_process(args, names[i], parse_number, values[i]);
	rte_kvargs_free(args);
	if (rc != 0 || (options->rnr_retry != NUMBER_ABSENT && options->rnr_retry > 7) ||
	    (options->max_inline != NUMBER_ABSENT && options->max_inline > 65536) ||
	    (options->max_rd_atomic != NUMBER_ABSENT &&
	     (options->max_rd_atomic == 0 || options->max_rd_atomic > UINT32_MAX)))
		return options_refuse(text, "all are numbers: rnr_retry 0 to 7, max_inline 0 to "
					    "65536, max_rd_atomic 1 or more");
	return 0;
}

static int sim_options_check(const char *text)
{
	struct dev_options options;

	return parse_options(text, &options);
}

static struct sim_world *find_world(const struct dev_options *options)
{
	if (options->world == NUMBER_ABSENT || options->world == 0)
		return sim_world_default(options->seed == NUMBER_ABSENT ? 1 : options->seed);
	return options->world <= UINT32_MAX ? sim_world_find((uint32_t)options->world) : NULL;
}

static void end_default_world(struct sim_world *world)
{
	if (world->runs_itself && TAILQ_EMPTY(&world->devs))
		sim_world_destroy(world);
}

static int sim_open(const struct fabric_dev_config *config, struct fabric_dev **out)
{
	const struct sim_options *defaults;
	struct dev_options options;
	struct sim_world *world;
	struct sim_dev *dev;
	int rc = parse_options(config->options, &options);

	if (rc != 0)
		return rc;
	world = find_world(&options);
	if (!world)
		return -ENODEV;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		end_default_world(world);
		return -ENOMEM;
	}
	defaults = &world->options;
	dev->base.ops = &sim_ops;
	dev->base.attr = defaults->attr;
	if (options.max_inline != NUMBER_ABSENT)
		dev->base.attr.max_inline = (uint32_t)options.max_inline;
	if (options.max_rd_atomic != NUMBER_ABSENT)
		dev->base.attr.max_rd_atomic = (uint32_t)options.max_rd_atomic;
	dev->world = world;
	dev->number = ++world->dev_count;
	dev->rnr_retry = options.rnr_retry == NUMBER_ABSENT ? defaults->rnr_retry
							    : (uint32_t)options.rnr_retry;
	dev->regions_max = config->max_regions;
	dev->qps_max = config->max_connections;
	TAILQ_INIT(&dev->cm);
	TAILQ_INSERT_TAIL(&world->devs, dev, entry);
	*out = &dev->base;
	return 0;
}

static void sim_close(struct fabric_dev *fdev)
{
	struct sim_world *world;

	if (!fdev)
		return;
	world = ((struct sim_dev *)fdev)->world;
	sim_dev_free((struct sim_dev *)fdev);
	end_default_world(world);
}

void sim_kill(struct sim_world *world, struct fabric_dev *fdev)
{
	struct sim_dev *dev = (struct sim_dev *)fdev;
	const struct fabric_conn_req *req;

	sim_note(world, "kill", 0, dev->number, 0);
	dev->is_dead = true;
	TAILQ_FOREACH(req, &world->reqs, entry)
	if (req->listener && req->listener->dev == dev && sim_world_qp(world, req->qp))
		sim_cm_lose(sim_world_qp(world, req->qp));
	for (uint32_t i = 1; i < world->nqps; i++) {
		struct sim_qp *qp = world->qps[i], *peer;

		if (!qp || qp->dev != dev)
			continue;
		peer = sim_world_qp(world, qp->peer);
		if (peer && qp->state != SIM_BROKEN)
			sim_cm_lose(peer);
		qp->state = SIM_BROKEN;
	}
}

const struct fabric_ops sim_ops = {
	.name = "sim",
	.summary = "simulated devices in one thread and virtual time, for tests: world, seed, "
		   "rnr_retry, max_inline, max_rd_atomic",
	.options_check = sim_options_check,
	.open = sim_open,
	.close = sim_close,
	.own_domains = sim_own_domains,
	.mr_register = sim_mr_register,
	.mr_deregister = sim_mr_deregister,
	.mw_alloc = sim_mw_alloc,
	.mw_free = sim_mw_free,
	.listen = sim_listen,
	.unlisten = sim_unlisten,
	.connect = sim_connect,
	.accept = sim_accept,
	.reject = sim_reject,
	.cm_poll = sim_cm_poll,
	.goodbye = sim_goodbye,
	.has_left = sim_has_left,
	.disconnect = sim_disconnect,
	.qp_destroy = sim_qp_destroy,
	.qp_rkey = sim_qp_rkey,
	.post_recv = sim_post_recv,
	.post_send = sim_post_send,
	.poll = sim_poll,
	.wake_attach = sim_wake_attach,
	.arm = sim_arm,
	.disarm = sim_disarm,
	.srq_create = sim_srq_create,
	.srq_destroy = sim_srq_destroy,
	.srq_post_recv = sim_srq_post_recv,
};
