/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes single calls between a requester and a responder in virtual time, and measures their cost.
 */
#include "sides.h"

#include <weir/engine.h>
#include <weir/metrics.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define PROG	   0x20000000u
#define ADDR	   "round-trips"
#define DATA_BYTES (4u << 20)
#define BUFFERS	   8u
/* Bytes of a buffer that are reserved for headers, in addition to the data. */
#define BESIDE	  4096u
#define STEPS_MAX 1000000u
#define CREDITS	  64u

struct trips_sides {
	struct sim_world *world;
	struct weir_engine *requester, *responder;
	struct weir_listener *listener;
	struct weir_region *source, *sink;
	uint8_t *source_base, *sink_base;
	struct weir_conn *conn;
	bool is_open, is_over;
	uint64_t rtt_ns;
	/* The members below belong to the call that is being measured. */
	uint32_t bytes;
	bool is_done, is_right; /* is_right: the call had the expected results */
	int status;
	uint64_t done_ns;
	bool arrived_right; /* the responder got the expected arguments */
};

static const struct weir_ulb_proc ulb_procs[] = {
	{.proc = TRIPS_WRITE, .arg_items_max = 1},
	{.proc = TRIPS_READ, .result_items_max = 1},
};
static const struct weir_ulb ulb = {.struct_bytes = sizeof(ulb),
				    .name = "round trips",
				    .prog = PROG,
				    .vers_low = 1,
				    .vers_high = 1,
				    .nprocs = 2,
				    .procs = ulb_procs};

static uint8_t byte_at(uint32_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + 5);
}

static bool is_pattern(const void *data, uint32_t len)
{
	const uint8_t *bytes = data;

	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] != byte_at(i))
			return false;
	return true;
}

static void handle(struct weir_request *req, void *arg)
{
	struct trips_sides *sides = arg;
	struct weir_xdr_out *out;
	const void *data;
	uint32_t len = 0;

	switch (weir_request_header(req)->proc) {
	case TRIPS_WRITE:
	case TRIPS_CALL:
		sides->arrived_right = weir_xdr_get_opaque_ref(weir_request_args(req), &data,
							       DATA_BYTES, &len) == 0 &&
				       len == sides->bytes && is_pattern(data, len);
		weir_request_results(req, 0);
		break;
	case TRIPS_READ:
		if (!weir_request_results(req, 4) ||
		    weir_request_result_item(req, sides->source, sides->source_base,
					     sides->bytes) != 0)
			sides->arrived_right = false;
		break;
	case TRIPS_REPLY:
		out = weir_request_results(req, sides->bytes + 8);
		if (out)
			weir_xdr_put_opaque(out, sides->source_base, sides->bytes);
		else
			sides->arrived_right = false;
		break;
	default:
		weir_request_results(req, 0);
	}
	weir_request_reply(req);
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct trips_sides *sides = arg;

	(void)conn;
	(void)error;
	sides->is_open = event == WEIR_CONN_OPEN;
	sides->is_over = event != WEIR_CONN_OPEN;
}

static void done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct trips_sides *sides = arg;
	const void *data = NULL;
	uint32_t len = 0;

	sides->is_done = true;
	sides->status = result->status;
	sides->done_ns = sim_now(sides->world);
	sides->is_right = sides->arrived_right;
	if (result->status != 0)
		return;
	if (result->nitems > 0)
		sides->is_right = weir_result_opaque(call, result, 0, &data, DATA_BYTES, &len) == 0;
	else if (weir_xdr_remaining(result->results) > 0)
		sides->is_right =
			weir_xdr_get_opaque_ref(result->results, &data, DATA_BYTES, &len) == 0;
	else
		return;
	sides->is_right = sides->is_right && len == sides->bytes && is_pattern(data, len);
}

/*
 * Polls both sides until neither has work at the present time, and then advances time to the next
 * event.
 */
static void step(struct trips_sides *sides)
{
	uint32_t work;

	do {
		work = weir_engine_poll(sides->requester, 0, sim_now(sides->world) + 1);
		work += weir_engine_poll(sides->responder, 0, sim_now(sides->world) + 1);
	} while (work > 0);
	if (!sim_step(sides->world))
		sim_run_until(sides->world, sim_now(sides->world) + sides->rtt_ns);
}

/* Repeats step() until no event is pending. */
static void settle(struct trips_sides *sides)
{
	do
		step(sides);
	while (sim_next(sides->world) != UINT64_MAX);
}

static int call(struct trips_sides *sides, enum trips_work work, uint32_t bytes)
{
	struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = PROG,
		.vers = 1,
		.proc = work,
		.args_max_bytes = work == TRIPS_CALL ? bytes + 8 : 4,
		.results_max_bytes = work == TRIPS_REPLY ? bytes + 8 : 4,
		.ulb = &ulb,
		.done = done,
		.arg = sides,
	};
	struct weir_call *made = weir_call_begin(sides->conn, &params);
	int rc = made ? 0 : -errno;

	sides->bytes = bytes;
	sides->is_done = false;
	sides->arrived_right = true;
	if (made && work == TRIPS_READ)
		rc = weir_call_result_item(made, sides->sink, sides->sink_base, bytes);
	else if (made && work == TRIPS_WRITE)
		rc = weir_call_arg_item(made, sides->sink, sides->sink_base, bytes);
	else if (made && work == TRIPS_CALL)
		rc = weir_xdr_put_opaque(weir_call_args(made), sides->source_base, bytes);
	if (rc == 0)
		rc = weir_call_submit(made);
	for (uint32_t i = 0; rc == 0 && i < STEPS_MAX && !sides->is_done; i++)
		step(sides);
	if (rc == 0)
		rc = sides->is_done ? sides->status : -ETIMEDOUT;
	return rc;
}

struct sums {
	uint64_t lent, messages, writes, reads, copied, fallbacks;
};

static uint64_t counter_value(const struct weir_engine *engine, const char *name)
{
	int index = weir_counter_find(name);

	if (index < 0) {
		fprintf(stderr, "the library has no counter %s\n", name);
		abort();
	}
	return weir_engine_counter(engine, (uint32_t)index);
}

static void sum_up(const struct trips_sides *sides, struct sums *sums)
{
	const struct weir_engine *a = sides->requester, *b = sides->responder;

	*sums = (struct sums){
		.lent = counter_value(a, "windows_bound"),
		.messages = counter_value(a, "sends") + counter_value(b, "sends"),
		.writes = counter_value(b, "writes"),
		.reads = counter_value(b, "reads"),
		.copied = counter_value(a, "bulk_copies") + counter_value(b, "bulk_copies"),
		.fallbacks = counter_value(a, "fallbacks_credits") +
			     counter_value(a, "fallbacks_limits") +
			     counter_value(a, "fallbacks_buffers") +
			     counter_value(a, "fallbacks_costs") +
			     counter_value(a, "fallbacks_refused"),
	};
}

int trips_measure(struct trips_sides *sides, enum trips_work work, uint32_t bytes,
		  struct trips_cost *cost)
{
	struct sums before, after;
	uint64_t start;
	int rc;

	settle(sides);
	for (uint32_t i = 0; work != TRIPS_READ && i < bytes; i++)
		sides->sink_base[i] = byte_at(i);
	if (work == TRIPS_READ)
		memset(sides->sink_base, 0, bytes);
	sum_up(sides, &before);
	start = sim_now(sides->world);
	rc = call(sides, work, bytes);
	if (rc != 0 || !sides->is_right) {
		fprintf(stderr, "weir-round-trips: a call of %u bytes: %s\n", bytes,
			rc ? strerror(-rc) : "received other data than were sent");
		return -1;
	}
	settle(sides);
	sum_up(sides, &after);
	*cost = (struct trips_cost){
		.round_trips = (double)(sides->done_ns - start) / (double)sides->rtt_ns,
		.lent = after.lent - before.lent,
		.messages = after.messages - before.messages,
		.writes = after.writes - before.writes,
		.reads = after.reads - before.reads,
		.copied = after.copied - before.copied,
		.fallbacks = after.fallbacks - before.fallbacks,
	};
	return 0;
}

static int region_make(struct weir_engine *engine, struct weir_region **region, uint8_t **base)
{
	const struct weir_region_options options = {.struct_bytes = sizeof(options),
						    .len_bytes = DATA_BYTES,
						    .flags = WEIR_REGION_NO_HUGE,
						    .numa_node = -1};
	struct weir_region_info info = {.struct_bytes = sizeof(info)};
	int rc = weir_region_create(&options, region);

	if (rc == 0)
		rc = weir_engine_add_region(engine, *region);
	if (rc != 0)
		return rc;
	weir_region_info(*region, &info);
	*base = info.base;
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		(*base)[i] = byte_at(i);
	return 0;
}

static int start(struct trips_sides *sides, const struct weir_profile *profile)
{
	const struct weir_program program = {.struct_bytes = sizeof(program),
					     .prog = PROG,
					     .vers_low = 1,
					     .vers_high = 1,
					     .nprocs = TRIPS_WORKS,
					     .ulb = &ulb,
					     .handle = handle,
					     .arg = sides};
	const struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	const struct weir_connect_options options = {.struct_bytes = sizeof(options),
						     .on_event = on_event,
						     .arg = sides,
						     .credits = CREDITS};
	int rc = weir_engine_create(profile, &sides->requester);

	if (rc == 0)
		rc = weir_engine_create(profile, &sides->responder);
	if (rc == 0)
		rc = region_make(sides->responder, &sides->source, &sides->source_base);
	if (rc == 0)
		rc = region_make(sides->requester, &sides->sink, &sides->sink_base);
	if (rc == 0)
		rc = weir_listen(sides->responder, ADDR, &listen, &sides->listener);
	if (rc == 0)
		rc = weir_connect(sides->requester, ADDR, &options, &sides->conn);
	for (uint32_t i = 0; rc == 0 && i < STEPS_MAX && !sides->is_open && !sides->is_over; i++)
		step(sides);
	if (rc == 0 && !sides->is_open)
		rc = -ECONNREFUSED;
	if (rc == 0)
		rc = call(sides, TRIPS_NULL,
			  0); /* its reply grants all credits (RFC 8166 section 3.3.3) */
	return rc;
}

struct trips_sides *trips_sides_create(enum weir_protocol protocol, enum weir_extension extension,
				       uint64_t rtt_ns, uint32_t transmissions)
{
	struct trips_sides *sides = calloc(1, sizeof(*sides));
	struct weir_profile profile;
	struct sim_options options;
	int rc = -ENOMEM;

	sim_options_init(&options);
	options.start = options.completion = (struct sim_latency){0, 0};
	options.wire = options.cm = (struct sim_latency){rtt_ns / 2, rtt_ns / 2};
	if (sides) {
		sides->rtt_ns = rtt_ns;
		sides->world = sim_world_create(1, &options);
	}
	if (sides && sides->world) {
		weir_profile_defaults(&profile);
		snprintf(profile.driver, sizeof(profile.driver), "sim");
		snprintf(profile.driver_options, sizeof(profile.driver_options), "world=%u",
			 sim_world_id(sides->world));
		profile.protocol = protocol;
		profile.extension = extension;
		profile.transmissions = transmissions;
		profile.round_trip_ns = (uint32_t)rtt_ns;
		/* Few buffers are enough. Each of them can hold any message. */
		profile.long_buffers = profile.bulk_buffers = BUFFERS;
		profile.long_buffer_bytes = profile.bulk_buffer_bytes = TRIPS_BYTES_MAX + BESIDE;
		profile.exposure = WEIR_EXPOSURE_WINDOW; /* the segments that the responder may
							    access can then be counted */
		rc = start(sides, &profile);
	}
	if (rc == 0)
		return sides;
	fprintf(stderr, "weir-round-trips: can't connect: %s\n", strerror(-rc));
	trips_sides_destroy(sides);
	return NULL;
}

void trips_sides_destroy(struct trips_sides *sides)
{
	if (!sides)
		return;
	weir_engine_destroy(sides->requester);
	weir_engine_destroy(sides->responder);
	weir_region_destroy(sides->source);
	weir_region_destroy(sides->sink);
	sim_world_destroy(sides->world);
	free(sides);
}
