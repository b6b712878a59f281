/* SPDX-License-Identifier: BSD-3-Clause */
/* What was measured, for people and for programs. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(field)                                                                                       \
	{                                                                                                    \
#field, offsetof(struct weir_engine_stats, field)                                            \
	}
	COUNTER(bulk_copies),
	COUNTER(long_copies),
	COUNTER(allocations),
	COUNTER(registrations),
	COUNTER(doorbells),
	COUNTER(sends),
	COUNTER(recvs),
	COUNTER(writes),
	COUNTER(reads),
	COUNTER(calls_sent),
	COUNTER(calls_completed),
	COUNTER(calls_failed),
	COUNTER(calls_timed_out),
	COUNTER(calls_queued),
	COUNTER(requests_received),
	COUNTER(replies_sent),
	COUNTER(long_calls),
	COUNTER(long_replies),
	COUNTER(read_chunks),
	COUNTER(write_chunks),
	COUNTER(errors_sent),
	COUNTER(errors_received),
	COUNTER(dropped),
	COUNTER(replies_unmatched),
	COUNTER(zero_grants),
	COUNTER(buffers_waited),
	COUNTER(connections_opened),
	COUNTER(connections_lost),
	COUNTER(rnr),
	COUNTER(remote_access_errors),
	COUNTER(protocol_errors),
	COUNTER(polls),
	COUNTER(idle_polls),
#undef COUNTER
};

#define NCOUNTERS (sizeof(counters) / sizeof(counters[0]))

static uint64_t *counter_of(struct weir_engine_stats *stats, size_t i)
{
	return (uint64_t *)(void *)((char *)stats + counters[i].offset);
}

static uint64_t counter_get(const struct weir_engine_stats *stats, size_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + counters[i].offset, sizeof(value));
	return value;
}

void bench_counters_add_difference(struct weir_engine_stats *a, const struct weir_engine_stats *b,
				   const struct weir_engine_stats *c)
{
	for (size_t i = 0; i < NCOUNTERS; i++)
		*counter_of(a, i) += counter_get(b, i) - counter_get(c, i);
}

static double idle_ratio(const struct weir_engine_stats *stats)
{
	return stats->polls ? (double)stats->idle_polls / (double)stats->polls : 0;
}

static const struct {
	const char *name;
	double fraction;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}};

#define NQUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static double rate(double count, const struct bench_result *result)
{
	return result->seconds > 0 ? count / result->seconds : 0;
}

void bench_report_text(const struct bench_options *options, const struct bench_shared *shared,
		       const struct bench_result *result)
{
	const struct weir_engine_stats *rq = &result->stats, *rs = &shared->responder.stats;

	printf("%s: driver %s, %u bytes, depth %u, %u connection%s, %s, %.2f s\n",
	       bench_workload_name(options->workload), options->profile.driver, options->size_bytes,
	       options->depth, options->connections, options->connections == 1 ? "" : "s",
	       options->side != SIDE_BOTH ? "responder elsewhere"
	       : options->use_threads	  ? "threads"
					  : "processes",
	       result->seconds);
	printf("  calls        %12.0f RPC/s   %9.3f GB/s of bulk data\n", rate((double)result->calls, result),
	       rate((double)result->bytes, result) / 1e9);
	printf("  round trip   min %llu", (unsigned long long)(result->rtt.count ? result->rtt.min : 0));
	for (size_t i = 0; i < NQUANTILES; i++)
		printf("  %s %llu", quantiles[i].name,
		       (unsigned long long)hist_quantile(&result->rtt, quantiles[i].fraction));
	printf("  max %llu ns\n", (unsigned long long)result->rtt.max);
	printf("  errors %llu, verify failures %llu%s\n", (unsigned long long)result->errors,
	       (unsigned long long)result->verify_failures + shared->verify_failures,
	       options->verify ? "" : " (lengths only: --verify checks each byte)");
	printf("  idle polls   requester %.1f %%", 100 * idle_ratio(rq));
	if (shared->responder.valid)
		printf(", responder %.1f %%", 100 * idle_ratio(rs));
	printf("\n  since warm-up: %llu copies of bulk data, %llu allocations, %llu registrations, %.2f "
	       "doorbells per RPC\n",
	       (unsigned long long)(rq->bulk_copies + rs->bulk_copies),
	       (unsigned long long)(rq->allocations + rs->allocations),
	       (unsigned long long)(rq->registrations + rs->registrations),
	       result->calls ? (double)(rq->doorbells + rs->doorbells) / (double)result->calls : 0.0);
}

static json_t *counters_json(const struct weir_engine_stats *requester,
			     const struct weir_engine_stats *responder)
{
	json_t *object = json_object();

	for (size_t i = 0; i < NCOUNTERS; i++)
		json_object_set_new(object, counters[i].name,
				    json_integer((json_int_t)((requester ? counter_get(requester, i) : 0) +
							      (responder ? counter_get(responder, i) : 0))));
	return object;
}

int bench_report_json(const struct bench_options *options, const struct bench_shared *shared,
		      const struct bench_result *result)
{
	const struct weir_engine_stats *responder = shared->responder.valid ? &shared->responder.stats : NULL;
	json_t *root = json_object(), *rtt = json_object();
	bool to_stdout = strcmp(options->json, "-") == 0;
	int rc;

	json_object_set_new(root, "schema", json_integer(1));
	json_object_set_new(root, "driver", json_string(options->profile.driver));
	json_object_set_new(root, "workload", json_string(bench_workload_name(options->workload)));
	json_object_set_new(root, "mode",
			    json_string(options->side != SIDE_BOTH ? "remote"
					: options->use_threads	   ? "threads"
								   : "processes"));
	json_object_set_new(root, "size", json_integer(options->size_bytes));
	json_object_set_new(root, "depth", json_integer(options->depth));
	json_object_set_new(root, "connections", json_integer(options->connections));
	json_object_set_new(root, "inline_bytes", json_integer(options->profile.inline_bytes));
	json_object_set_new(root, "seconds", json_real(result->seconds));
	json_object_set_new(root, "calls", json_integer((json_int_t)result->calls));
	json_object_set_new(root, "rpc_per_s", json_real(rate((double)result->calls, result)));
	json_object_set_new(root, "bytes_per_s", json_real(rate((double)result->bytes, result)));
	json_object_set_new(rtt, "min", json_integer((json_int_t)(result->rtt.count ? result->rtt.min : 0)));
	for (size_t i = 0; i < NQUANTILES; i++)
		json_object_set_new(
			rtt, quantiles[i].name,
			json_integer((json_int_t)hist_quantile(&result->rtt, quantiles[i].fraction)));
	json_object_set_new(rtt, "max", json_integer((json_int_t)result->rtt.max));
	json_object_set_new(root, "rtt_ns", rtt);
	json_object_set_new(root, "errors", json_integer((json_int_t)result->errors));
	json_object_set_new(root, "verify", json_boolean(options->verify));
	json_object_set_new(root, "verify_failures",
			    json_integer((json_int_t)(result->verify_failures + shared->verify_failures)));
	json_object_set_new(root, "idle_poll_ratio", json_real(idle_ratio(&result->stats)));
	json_object_set_new(root, "counters", counters_json(&result->stats, responder));
	json_object_set_new(root, "requester_counters", counters_json(&result->stats, NULL));
	if (responder) {
		json_object_set_new(root, "responder_idle_poll_ratio", json_real(idle_ratio(responder)));
		json_object_set_new(root, "responder_counters", counters_json(NULL, responder));
	}
	if (to_stdout) {
		rc = json_dumpf(root, stdout, JSON_INDENT(2));
		putchar('\n');
		if (fflush(stdout) != 0)
			rc = -1;
	} else {
		rc = json_dump_file(root, options->json, JSON_INDENT(2));
	}
	json_decref(root);
	if (rc != 0) {
		fprintf(stderr, "weir-bench: can't write '%s': %s\n", options->json, strerror(errno));
		return -EIO;
	}
	return 0;
}
