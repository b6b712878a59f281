/* SPDX-License-Identifier: BSD-3-Clause */
/* What was measured, for people and for programs. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static double rate(double count, const struct bench_result *result)
{
	return result->seconds > 0 ? count / result->seconds : 0;
}

static const char *exposure_name(enum weir_exposure exposure)
{
	return exposure == WEIR_EXPOSURE_WINDOW ? "window" : "pool";
}

void bench_report_text(const struct bench_options *options, const struct bench_shared *shared,
		       const struct bench_result *result)
{
	const struct weir_engine_stats *rq = &result->stats, *rs = &shared->responder.stats;

	printf("%s: driver %s, exposure %s, %u bytes, depth %u, %u connection%s, %s, %.2f s\n",
	       bench_workload_name(options->workload), options->profile.driver,
	       exposure_name(result->exposure), options->size_bytes, options->depth, options->connections,
	       options->connections == 1 ? "" : "s",
	       options->side != SIDE_BOTH ? "responder elsewhere"
	       : options->use_threads	  ? "threads"
					  : "processes",
	       result->seconds);
	printf("  calls        %12.0f RPC/s   %9.3f GB/s of bulk data\n", rate((double)result->calls, result),
	       rate((double)result->bytes, result) / 1e9);
	bench_rtt_print(&result->rtt);
	printf("  errors %llu, verify failures %llu%s\n", (unsigned long long)result->errors,
	       (unsigned long long)result->verify_failures + shared->verify_failures,
	       options->verify ? "" : " (lengths only: --verify checks each byte)");
	printf("  idle polls   requester %.1f %%", 100 * bench_idle_ratio(rq));
	if (shared->responder.valid)
		printf(", responder %.1f %%", 100 * bench_idle_ratio(rs));
	printf("\n  since warm-up: %llu copies of bulk data, %llu allocations, %llu registrations, %.2f "
	       "doorbells per RPC\n",
	       (unsigned long long)(rq->bulk_copies + rs->bulk_copies),
	       (unsigned long long)(rq->allocations + rs->allocations),
	       (unsigned long long)(rq->registrations + rs->registrations),
	       result->calls ? (double)(rq->doorbells + rs->doorbells) / (double)result->calls : 0.0);
}

int bench_report_json(const struct bench_options *options, const struct bench_shared *shared,
		      const struct bench_result *result)
{
	const struct weir_engine_stats *responder = shared->responder.valid ? &shared->responder.stats : NULL;
	json_t *root = json_object();

	json_object_set_new(root, "schema", json_integer(1));
	json_object_set_new(root, "driver", json_string(options->profile.driver));
	json_object_set_new(root, "exposure", json_string(exposure_name(result->exposure)));
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
	json_object_set_new(root, "rtt_ns", bench_rtt_json(&result->rtt));
	json_object_set_new(root, "errors", json_integer((json_int_t)result->errors));
	json_object_set_new(root, "verify", json_boolean(options->verify));
	json_object_set_new(root, "verify_failures",
			    json_integer((json_int_t)(result->verify_failures + shared->verify_failures)));
	json_object_set_new(root, "idle_poll_ratio", json_real(bench_idle_ratio(&result->stats)));
	json_object_set_new(root, "counters", bench_counters_json(&result->stats, responder));
	json_object_set_new(root, "requester_counters", bench_counters_json(&result->stats, NULL));
	if (responder) {
		json_object_set_new(root, "responder_idle_poll_ratio",
				    json_real(bench_idle_ratio(responder)));
		json_object_set_new(root, "responder_counters", bench_counters_json(NULL, responder));
	}
	return bench_json_write(root, options->json);
}
