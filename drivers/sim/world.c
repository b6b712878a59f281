/* SPDX-License-Identifier: BSD-3-Clause */
/* A world: its random numbers, its clock, and the heap of events. */
#include "sim_world.h"

#include <inttypes.h>
#include <stdlib.h>

#define WORLDS_MAX 64u

/* Worlds by number; 0 is the default world. */
static struct sim_world *worlds[WORLDS_MAX];

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* xoshiro256** */
uint64_t sim_random(struct sim_world *world)
{
	uint64_t *s = world->rng, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t sim_random_below(struct sim_world *world, uint64_t limit)
{
	return sim_random(world) % limit; /* the bias does not matter here */
}

uint64_t sim_draw(struct sim_world *world, const struct sim_latency *latency)
{
	return latency->min_ns + sim_random_below(world, latency->max_ns - latency->min_ns + 1);
}

void sim_options_init(struct sim_options *options)
{
	*options = (struct sim_options){
		.start = {20, 400},
		.wire = {500, 3000},
		.completion = {100, 4000},
		.cm = {5000, 50000},
		.cm_timeout_ns = 10000000000ull,
		.rnr_timer_ns = 10000,
		.rnr_retry = 0,
		.attr =
			{
				.max_inline = 64,
				.max_sge = FABRIC_SGE_MAX,
				.max_send_wr = 4096,
				.max_recv_wr = 4096,
				.max_srq_wr = 65536,
				.max_msg_bytes = 1u << 20,
				.max_rd_atomic = 4,
				.has_mw = true,
				.has_send_inv = true,
				.revokes_access = true,
			},
	};
}

static struct sim_world *world_new(uint32_t id, uint64_t seed, const struct sim_options *options)
{
	struct sim_world *world = calloc(1, sizeof(*world));

	if (!world)
		return NULL;
	if (options)
		world->options = *options;
	else
		sim_options_init(&world->options);
	world->id = id;
	for (int i = 0; i < 4; i++)
		world->rng[i] = splitmix(&seed);
	world->key_mask = (uint32_t)sim_random(world);
	world->hash = 0xcbf29ce484222325ull;
	world->nqps = 1; /* there is no queue pair 0 */
	TAILQ_INIT(&world->devs);
	TAILQ_INIT(&world->listeners);
	TAILQ_INIT(&world->reqs);
	worlds[id] = world;
	return world;
}

static bool latency_ok(const struct sim_latency *latency)
{
	return latency->min_ns <= latency->max_ns && latency->max_ns < UINT32_MAX;
}

struct sim_world *sim_world_create(uint64_t seed, const struct sim_options *options)
{
	if (options && (!latency_ok(&options->start) || !latency_ok(&options->wire) ||
			!latency_ok(&options->completion) || !latency_ok(&options->cm) ||
			options->attr.max_sge > FABRIC_SGE_MAX))
		return NULL;
	for (uint32_t id = 1; id < WORLDS_MAX; id++)
		if (!worlds[id])
			return world_new(id, seed, options);
	return NULL;
}

struct sim_world *sim_world_default(uint64_t seed)
{
	struct sim_world *world = worlds[0];

	if (!world) {
		world = world_new(0, seed, NULL);
		if (world)
			world->runs_itself = true;
	}
	return world;
}

struct sim_world *sim_world_find(uint32_t id)
{
	return id < WORLDS_MAX ? worlds[id] : NULL;
}

void sim_world_free(struct sim_world *world)
{
	worlds[world->id] = NULL;
	free(world->qps);
	free(world->heap);
	free(world);
}

uint32_t sim_reads_most(const struct sim_world *world)
{
	return world->reads_most;
}

uint32_t sim_world_id(const struct sim_world *world)
{
	return world->id;
}

uint64_t sim_now(const struct sim_world *world)
{
	return world->now_ns;
}

uint64_t sim_trace_hash(const struct sim_world *world)
{
	return world->hash;
}

uint64_t sim_sources_changed(const struct sim_world *world)
{
	return world->sources_changed;
}

struct sim_qp *sim_world_qp(const struct sim_world *world, uint32_t number)
{
	return number < world->nqps && number > 0 ? world->qps[number] : NULL;
}

uint32_t sim_world_add_qp(struct sim_world *world, struct sim_qp *qp)
{
	if (world->nqps >= world->qps_size) {
		uint32_t size = world->qps_size ? world->qps_size * 2 : 64;
		struct sim_qp **qps = realloc(world->qps, size * sizeof(struct sim_qp *));

		if (!qps)
			return 0;
		world->qps = qps;
		world->qps_size = size;
	}
	world->qps[world->nqps] = qp;
	return world->nqps++;
}

static void hash_word(struct sim_world *world, uint64_t word)
{
	world->hash = rotate((world->hash ^ word) * 0x9e3779b97f4a7c15ull, 29);
}

void sim_note(struct sim_world *world, const char *what, uint32_t qp, uint64_t a, uint64_t b)
{
	hash_word(world, world->now_ns);
	for (const char *p = what; *p; p++)
		hash_word(world, (uint8_t)*p);
	hash_word(world, qp);
	hash_word(world, a);
	hash_word(world, b);
	if (world->options.trace)
		fprintf(world->options.trace,
			"%12" PRIu64 " qp %-4" PRIu32 " %-12s %" PRIu64 " %" PRIu64 "\n",
			world->now_ns, qp, what, a, b);
}

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

void sim_schedule(struct sim_world *world, const struct sim_event *event)
{
	uint32_t at = world->nevents;
	struct sim_event added = *event;

	if (world->nevents == world->heap_size) {
		uint32_t size = world->heap_size ? world->heap_size * 2 : 256;
		struct sim_event *heap = realloc(world->heap, size * sizeof(*heap));

		if (!heap) {
			world->is_over = true;
			return;
		}
		world->heap = heap;
		world->heap_size = size;
	}
	added.seq = world->seq++;
	world->nevents++;
	for (; at > 0 && is_before(&added, &world->heap[(at - 1) / 2]); at = (at - 1) / 2)
		world->heap[at] = world->heap[(at - 1) / 2];
	world->heap[at] = added;
}

void sim_pop(struct sim_world *world)
{
	struct sim_event last = world->heap[--world->nevents];
	uint32_t at = 0, child;

	for (; (child = at * 2 + 1) < world->nevents; at = child) {
		if (child + 1 < world->nevents &&
		    is_before(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (!is_before(&world->heap[child], &last))
			break;
		world->heap[at] = world->heap[child];
	}
	world->heap[at] = last;
}
