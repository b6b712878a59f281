/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices: their options, and the table of operations. */
#include "fault_dev.h"

#include <errno.h>
#include <rte_kvargs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define INNER_OPTIONS_MAX 512u
#define NAMES_MAX	  512u
#define OPTIONS                                                                                    \
	"over=DRIVER,seed=N,kinds=KIND+KIND...,nth=N,rate=N,status=STATUS and options of that "    \
	"driver"

struct options {
	const char *over;
	uint64_t seed, nth, rate;
	uint32_t kinds;
	int how;
	char inner[INNER_OPTIONS_MAX]; /* options of the driver below */
};

static int parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return errno == 0 && *end == '\0' ? 0 : -EINVAL;
}

static int pass_on(struct options *options, const char *key, const char *value)
{
	size_t used = strlen(options->inner);
	int n = snprintf(options->inner + used, INNER_OPTIONS_MAX - used, "%s%s=%s",
			 used ? "," : "", key, value);

	return n >= 0 && (size_t)n < INNER_OPTIONS_MAX - used ? 0 : -EINVAL;
}

static int refuse(const char *key, const char *value, const char *why, const char *names)
{
	LOG(DRIVER, ERROR, "fault: option '%s%s%s': %s%s", key, value ? "=" : "",
	    value ? value : "", why, names);
	return -EINVAL;
}

static int parse_option(struct options *options, const char *key, const char *value)
{
	uint64_t *number = strcmp(key, "seed") == 0   ? &options->seed
			   : strcmp(key, "nth") == 0  ? &options->nth
			   : strcmp(key, "rate") == 0 ? &options->rate
						      : NULL;
	char names[NAMES_MAX];

	if (!value)
		return refuse(key, NULL, "it has no value: expected " OPTIONS, "");
	if (number)
		return parse_number(value, number) == 0
			       ? 0
			       : refuse(key, value, "expected a number", "");
	if (strcmp(key, "over") == 0) {
		options->over = value;
		return 0;
	}
	if (strcmp(key, "kinds") == 0) {
		if (fault_kinds_parse(value, &options->kinds) == 0)
			return 0;
		fault_kinds_list(names, sizeof(names));
		return refuse(key, value, "expected all, or joined by +: ", names);
	}
	if (strcmp(key, "status") == 0) {
		if (fault_status_parse(value, &options->how) == 0)
			return 0;
		fault_statuses_list(names, sizeof(names));
		return refuse(key, value, "expected one of ", names);
	}
	return pass_on(options, key, value) == 0
		       ? 0
		       : refuse(key, value, "the options for the driver underneath are too long",
				"");
}

static int refuse_driver(const char *over)
{
	char names[NAMES_MAX] = "";

	for (uint32_t i = 0; fabric_driver_at(i); i++)
		if (fabric_driver_at(i) != &fault_ops)
			fault_list_add(names, sizeof(names), fabric_driver_at(i)->name);
	return refuse("over", over, over ? "expected one of " : "it is missing: expected one of ",
		      names);
}

/*
 * Parses the options, and finds the driver below, which the option 'over' names. Returns 0, or logs
 * an error and returns -EINVAL. *options has pointers into *args. Therefore the caller must free
 * *args after the last use of *options, also after an error.
 */
static int parse_options(const char *text, struct options *options, struct rte_kvargs **args,
			 const struct fabric_ops **inner)
{
	int rc = 0;

	*options = (struct options){.kinds = FAULT_ALL, .seed = 1, .how = FAULT_SOME_HOW};
	*args = rte_kvargs_parse(text ? text : "", NULL);
	if (!*args)
		return refuse(text, NULL, "expected " OPTIONS, "");
	for (uint32_t i = 0; i < (*args)->count && rc == 0; i++)
		rc = parse_option(options, (*args)->pairs[i].key, (*args)->pairs[i].value);
	if (rc != 0)
		return rc;
	*inner = options->over ? fabric_driver_find(options->over) : NULL;
	return *inner && *inner != &fault_ops ? 0 : refuse_driver(options->over);
}

static int check_options(const char *text)
{
	const struct fabric_ops *inner = NULL;
	struct options options;
	struct rte_kvargs *args;
	int rc = parse_options(text, &options, &args, &inner);

	if (rc == 0 && inner->options_check)
		rc = inner->options_check(options.inner);
	rte_kvargs_free(args);
	return rc;
}

/* Creates the device, and opens the device below. Returns 0 or -errno. If the driver below refuses
 * its options, it logs the reason. */
static int open_over(const struct fabric_dev_config *config, const struct fabric_ops *ops,
		     const struct options *options, struct fault_dev **dev)
{
	struct fabric_dev_config inner = *config;
	int rc;

	*dev = calloc(1, sizeof(**dev));
	if (!*dev)
		return -ENOMEM;
	inner.options = options->inner;
	rc = ops->open(&inner, &(*dev)->inner);
	if (rc != 0)
		free(*dev);
	return rc;
}

static int fault_open(const struct fabric_dev_config *config, struct fabric_dev **out)
{
	const struct fabric_ops *inner = NULL;
	struct options options;
	struct rte_kvargs *args;
	struct fault_dev *dev;
	int rc = parse_options(config->options, &options, &args, &inner);

	if (rc == 0)
		rc = open_over(config, inner, &options, &dev);
	rte_kvargs_free(args); /* holds the text of 'over' */
	if (rc != 0)
		return rc;
	dev->ops = dev->inner->ops;
	dev->base.ops = &fault_ops;
	dev->base.attr = dev->inner->attr;
	dev->rng = options.seed;
	LIST_INIT(&dev->qps);
	LIST_INIT(&dev->listeners);
	fault_rate(&dev->base, options.kinds,
		   options.rate < UINT32_MAX ? (uint32_t)options.rate : 0);
	for (uint32_t kind = 0; options.nth > 0 && kind < FAULT_NKINDS; kind++)
		if (options.kinds >> kind & 1)
			fault_at(&dev->base, kind, options.nth, options.how);
	fault_sync(dev);
	*out = &dev->base;
	return 0;
}

static void fault_close(struct fabric_dev *fdev)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	if (!dev)
		return;
	dev->ops->close(dev->inner);
	free(dev->events);
	free(dev->cq);
	free(dev);
}

static void fault_stop(struct fabric_dev *fdev)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	if (dev->ops->stop)
		dev->ops->stop(dev->inner);
}

static void fault_abandon(struct fabric_dev *fdev)
{
	struct fault_dev *dev = (struct fault_dev *)fdev;

	if (dev->ops->abandon)
		dev->ops->abandon(dev->inner);
}

struct fabric_dev *fault_inner(struct fabric_dev *dev)
{
	return ((struct fault_dev *)dev)->inner;
}

const struct fabric_ops fault_ops = {
	.name = "fault",
	.summary = "makes another driver fail, for tests: over, seed, kinds (joined by +), nth, "
		   "rate, status; others are that driver's",
	.options_check = check_options,
	.open = fault_open,
	.stop = fault_stop,
	.close = fault_close,
	.abandon = fault_abandon,
	.own_domains = fault_own_domains,
	.mr_register = fault_mr_register,
	.mr_deregister = fault_mr_deregister,
	.mw_alloc = fault_mw_alloc,
	.mw_free = fault_mw_free,
	.listen = fault_listen,
	.unlisten = fault_unlisten,
	.connect = fault_connect,
	.accept = fault_accept,
	.can_accept = fault_can_accept,
	.reject = fault_reject,
	.cm_poll = fault_cm_poll,
	.goodbye = fault_goodbye,
	.has_left = fault_has_left,
	.disconnect = fault_disconnect,
	.writes_have_ended = fault_writes_have_ended,
	.qp_destroy = fault_qp_destroy,
	.qp_rkey = fault_qp_rkey,
	.post_recv = fault_post_recv,
	.post_send = fault_post_send,
	.poll = fault_poll,
	.wake_attach = fault_wake_attach,
	.arm = fault_arm,
	.disarm = fault_disarm,
	.srq_create = fault_srq_create,
	.srq_destroy = fault_srq_destroy,
	.srq_post_recv = fault_srq_post_recv,
};
