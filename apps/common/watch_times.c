/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the times of procedures: watch_times.h describes this. */
#include "watch_times.h"

#include <stdio.h>
#include <string.h>

#include "watch_json.h"

#define SUB_BITS    3u /* each power of two has 2^SUB_BITS buckets */
#define LOWEST_LOG2 6u /* times below 2^LOWEST_LOG2 have one bucket */

uint64_t watch_bucket_high(uint32_t bucket)
{
	uint32_t log2, sub;

	if (bucket == 0)
		return (1u << LOWEST_LOG2) - 1;
	if (bucket >= WATCH_BUCKETS - 1)
		return UINT64_MAX;
	log2 = LOWEST_LOG2 + ((bucket - 1) >> SUB_BITS);
	sub = (bucket - 1) & ((1u << SUB_BITS) - 1);
	return ((uint64_t)(sub + (1u << SUB_BITS) + 1) << (log2 - SUB_BITS)) - 1;
}

/* Finds the bucket whose largest time is 'high'. Returns false if there is none. */
static bool bucket_with_high(uint64_t high, uint32_t *bucket)
{
	uint32_t low = 0, end = WATCH_BUCKETS;

	while (low < end) {
		uint32_t middle = (low + end) / 2;

		if (watch_bucket_high(middle) < high)
			low = middle + 1;
		else
			end = middle;
	}
	*bucket = low;
	return low < WATCH_BUCKETS && watch_bucket_high(low) == high;
}

void watch_times_add(struct watch_times *sum, const struct watch_times *times)
{
	sum->count += times->count;
	sum->sum_ns += times->sum_ns;
	if (times->max_ns > sum->max_ns)
		sum->max_ns = times->max_ns;
	for (uint32_t i = 0; i < WATCH_BUCKETS; i++)
		sum->buckets[i] += times->buckets[i];
}

void watch_times_subtract(struct watch_times *times, const struct watch_times *before)
{
	times->count = 0;
	times->sum_ns -= before->sum_ns < times->sum_ns ? before->sum_ns : times->sum_ns;
	for (uint32_t i = 0; i < WATCH_BUCKETS; i++) {
		uint64_t less = before->buckets[i];

		times->buckets[i] -= less < times->buckets[i] ? less : times->buckets[i];
		times->count += times->buckets[i];
	}
}

uint64_t watch_times_quantile(const struct watch_times *times, double fraction)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; times->count > 0 && i < WATCH_BUCKETS; i++) {
		seen += times->buckets[i];
		if (seen > 0 && (double)seen >= fraction * (double)times->count)
			return watch_bucket_high(i) < times->max_ns ? watch_bucket_high(i)
								    : times->max_ns;
	}
	return 0;
}

/* Reads the answer of /weir/buckets. Returns whether it is valid. */
static bool read_times(const json_t *value, struct watch_times *times)
{
	json_t *buckets = json_object_get(value, "buckets"), *count;
	const char *name;

	if (!watch_number(value, "sum_ns", &times->sum_ns) ||
	    !watch_number(value, "max_ns", &times->max_ns) || !json_is_object(buckets))
		return false;
	json_object_foreach(buckets, name, count)
	{
		uint32_t bucket;
		uint64_t high;

		if (!watch_decimal(name, &high) || !bucket_with_high(high, &bucket) ||
		    !watch_number(buckets, name, &times->buckets[bucket]) ||
		    __builtin_add_overflow(times->count, times->buckets[bucket], &times->count))
			return false;
	}
	return true;
}

/* Reads the stages in the answer of /weir/histogram, if there are any. Returns whether they are
 * valid. */
static bool read_stages(const json_t *value, struct watch_procedure *procedure)
{
	static const char *const names[] = {"queued",  "sent",	 "pulled",
					    "handled", "pushed", "replied"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *stage = json_object_get(value, names[i]);
		struct watch_stage *at = &procedure->stages[procedure->nstages];

		if (!stage)
			continue;
		if (procedure->nstages == WATCH_STAGES ||
		    !watch_number(stage, "count", &at->count) ||
		    !watch_number(stage, "sum_ns", &at->sum_ns))
			return false;
		snprintf(at->name, sizeof(at->name), "%s", names[i]);
		procedure->nstages++;
	}
	return true;
}

/* Parses the name of a procedure. Returns whether it is one. */
static bool read_name(const char *name, struct watch_procedure *procedure)
{
	char side[16], again[64];

	if (strlen(name) >= sizeof(procedure->name) ||
	    sscanf(name, "%15[a-z]/%u/%23[0-9-]/%u", side, &procedure->prog, procedure->versions,
		   &procedure->proc) != 4)
		return false;
	procedure->is_requester = strcmp(side, "requester") == 0;
	snprintf(procedure->name, sizeof(procedure->name), "%s", name);
	snprintf(again, sizeof(again), "%s/%u/%s/%u",
		 procedure->is_requester ? "requester" : "responder", procedure->prog,
		 procedure->versions, procedure->proc);
	return strcmp(again, name) == 0;
}

static enum watch_result bad_times(struct watch_socket *sock, const char *name)
{
	watch_close(sock);
	return watch_fail(sock, WATCH_MALFORMED, "%s: malformed answer: the times of '%.80s'",
			  sock->path, name);
}

/* Reads the times of a procedure, whose name is set. Returns WATCH_REFUSED if nobody measures it
 * any more. */
static enum watch_result read_procedure(struct watch_socket *sock, bool with_stages,
					struct watch_procedure *procedure)
{
	enum watch_result result;
	char command[96];
	json_t *value;
	bool is_good;

	snprintf(command, sizeof(command), "/weir/buckets,%s", procedure->name);
	result = watch_ask(sock, command, &value);
	if (result != WATCH_OK)
		return result;
	is_good = read_times(value, &procedure->times);
	json_decref(value);
	if (!is_good)
		return bad_times(sock, procedure->name);
	if (!with_stages || procedure->times.count == 0)
		return WATCH_OK;
	snprintf(command, sizeof(command), "/weir/histogram,%s", procedure->name);
	result = watch_ask(sock, command, &value);
	if (result != WATCH_OK)
		return result;
	is_good = read_stages(value, procedure);
	json_decref(value);
	return is_good ? WATCH_OK : bad_times(sock, procedure->name);
}

enum watch_result watch_procedures(struct watch_socket *sock, bool with_stages, uint64_t until_ms,
				   struct watch_procedures *procedures)
{
	enum watch_result result;
	uint32_t nread = 0;
	json_t *list;

	procedures->n = procedures->left_out = 0;
	result = watch_ask(sock, "/weir/histogram", &list);
	if (result != WATCH_OK)
		return result;
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct watch_procedure *procedure = &procedures->procedures[procedures->n];
		const char *name = json_string_value(json_array_get(list, i));

		if (nread == WATCH_PROCEDURES || watch_clock_ms() >= until_ms) {
			procedures->left_out = (uint32_t)(json_array_size(list) - i);
			break;
		}
		memset(procedure, 0, sizeof(*procedure));
		nread++;
		if (!name || !read_name(name, procedure))
			result = bad_times(sock, name ? name : "");
		else
			result = read_procedure(sock, with_stages, procedure);
		if (result == WATCH_OK && procedure->times.count > 0)
			procedures->n++;
		if (sock->fd < 0)
			break;
		result = WATCH_OK; /* a procedure that is not measured any more is left out */
	}
	json_decref(list);
	return result;
}
