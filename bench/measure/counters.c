/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums the counters of engines, and writes counters and round trip times as text or JSON. */
#include "counters.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(field)                                                                             \
	{                                                                                          \
#field, offsetof(struct weir_engine_stats, field)                                  \
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
	COUNTER(buffer_waits),
	COUNTER(quota_refusals),
	COUNTER(waits_rejected),
	COUNTER(send_pool_empty),
	COUNTER(recv_pool_empty),
	COUNTER(long_pool_empty),
	COUNTER(bulk_pool_empty),
	COUNTER(limits_exceeded),
	COUNTER(pull_waits),
	COUNTER(connect_timeouts),
	COUNTER(first_call_timeouts),
	COUNTER(pull_timeouts),
	COUNTER(close_timeouts),
	COUNTER(send_timeouts),
	COUNTER(connections_refused),
	COUNTER(peer_limit_refused),
	COUNTER(connections_evicted),
	COUNTER(requests_displaced),
	COUNTER(idle_timeouts),
	COUNTER(users_refused),
	COUNTER(maps_refused),
	COUNTER(credits_exceeded),
	COUNTER(log_lines_left_out),
	COUNTER(windows_bound),
	COUNTER(keys_ended_local),
	COUNTER(keys_ended_remote),
	COUNTER(window_waits),
	COUNTER(connections_opened),
	COUNTER(connections_lost),
	COUNTER(connections_v2),
	COUNTER(versions_refused),
	COUNTER(properties_refused),
	COUNTER(extended_calls),
	COUNTER(continued_calls),
	COUNTER(directed_calls),
	COUNTER(placed_sent),
	COUNTER(placed_received),
	COUNTER(continued_replies),
	COUNTER(groups_received),
	COUNTER(fallbacks_credits),
	COUNTER(fallbacks_limits),
	COUNTER(fallbacks_buffers),
	COUNTER(fallbacks_costs),
	COUNTER(fallbacks_refused),
	COUNTER(groups_broken),
	COUNTER(group_timeouts),
	COUNTER(reports_sent),
	COUNTER(reports_received),
	COUNTER(replies_resent),
	COUNTER(reconnect_attempts),
	COUNTER(reconnects),
	COUNTER(reconnects_given_up),
	COUNTER(calls_resent),
	COUNTER(calls_given_up),
	COUNTER(replays),
	COUNTER(replays_refused),
	COUNTER(replay_cache_overflows),
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

double bench_idle_ratio(const struct weir_engine_stats *stats)
{
	return stats->polls ? (double)stats->idle_polls / (double)stats->polls : 0;
}

void bench_rtt_print(const struct hist *rtt)
{
	struct bench_figures figures;

	bench_figures_of(0, 0, 0, rtt, &figures);
	bench_figures_print(&figures);
}

void bench_figures_print(const struct bench_figures *figures)
{
	printf("  round trip  ");
	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		printf(" %s%s %.0f", m == METRIC_MIN ? "" : " ", bench_metric_name(m),
		       figures->values[m]);
	printf(" ns\n");
}

json_t *bench_rtt_json(const struct hist *rtt)
{
	struct bench_figures figures;

	bench_figures_of(0, 0, 0, rtt, &figures);
	return bench_figures_rtt_json(&figures);
}

json_t *bench_figures_rtt_json(const struct bench_figures *figures)
{
	json_t *object = json_object();

	for (uint32_t m = METRIC_MIN; m < METRICS; m++)
		json_object_set_new(object, bench_metric_name(m),
				    json_integer((json_int_t)figures->values[m]));
	return object;
}

json_t *bench_counters_json(const struct weir_engine_stats *requester,
			    const struct weir_engine_stats *responder)
{
	json_t *object = json_object();

	for (size_t i = 0; i < NCOUNTERS; i++)
		json_object_set_new(
			object, counters[i].name,
			json_integer((json_int_t)((requester ? counter_get(requester, i) : 0) +
						  (responder ? counter_get(responder, i) : 0))));
	return object;
}
